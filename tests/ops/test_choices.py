"""`where` of large arrays, and products over one element: other ways to NumPy's bits."""

import numpy as np
import pytest

from funcgrad.ops import product
from funcgrad.ops.arithmetic import select

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1.5])


def drawn(shape, dtype, seed):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=shape).astype(dtype)
    x.reshape(-1)[: 2 * SPECIAL.size : 2] = SPECIAL
    return x


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64])
@pytest.mark.parametrize("shape", [(3 * select.BLOCK + 7,), (7, select.BLOCK), (19,), ()])
def test_a_choice_has_the_bits_of_numpy(dtype, shape):
    if shape and dtype is not np.int64:
        x, y = drawn(shape, dtype, 0), drawn(shape, dtype, 1)
    else:
        x, y = np.zeros(shape, dtype), np.ones(shape, dtype)
    c = np.random.default_rng(2).random(shape) < 0.5
    for row in [(c, x, y), (c, x, -0.0), (c, 2.5, y), (c, x, y[..., :1] if shape else y)]:
        found, expected = select._where(*row), np.where(*row)
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        assert found.tobytes() == expected.tobytes()
    if len(shape) == 2:
        assert select._where(c.T, x.T, y.T).tobytes() == np.where(c.T, x.T, y.T).tobytes()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex64, np.int64])
def test_a_product_over_one_element_has_the_bits_of_numpy(dtype):
    x = drawn((product.LARGE, 1), np.float64, 0)
    y = SPECIAL[None, :]
    if dtype is np.int64:
        x, y = np.nan_to_num(x, posinf=3, neginf=-3), np.nan_to_num(y, posinf=3, neginf=-3)
    x, y = x.astype(dtype), y.astype(dtype)
    with np.errstate(all="ignore"):
        found, expected = product.MATMUL.impl(x, y), np.matmul(x, y)
    nan = np.isnan(expected)  # whose sign is anything
    np.testing.assert_array_equal(np.isnan(found), nan)
    assert found[~nan].tobytes() == expected[~nan].tobytes()
