"""Matrix products as kernels: values as NumPy's, for all strides."""

import numpy as np
import pytest
from native import check

import funcgrad as fg

rng = np.random.default_rng(0)
SHAPES = [
    ((4, 4), (4, 4)),
    ((7, 5), (5, 33)),
    ((6, 300), (300, 40)),  # deep
    ((13, 257), (257, 70)),
    ((5, 600), (600, 9)),
    ((100, 20), (20, 3)),  # lanes along the rows
    ((400, 20), (20, 20)),  # blocks of rows
    ((205, 30), (30, 100)),
    ((3, 17, 12), (3, 12, 19)),
    ((2, 1, 17, 12), (3, 12, 19)),
    ((9, 12), (3, 12, 19)),
    ((3, 9, 12), (1, 12, 19)),
    ((3, 12), (12, 300)),  # read in place
    ((2, 700), (700, 300)),
    ((30, 40), (40,)),
    ((40,), (40, 30)),
    ((3, 30, 40), (40,)),
    ((40,), (3, 40, 30)),
    ((3, 1, 3), (3, 3, 1)),
]


@pytest.fixture(params=["avx512", "avx2"])
def lanes(request):
    before = fg.config.avx512
    fg.config.avx512 = before and request.param == "avx512"
    yield
    fg.config.avx512 = before


def laid_out(a, form):
    """The same values with other strides."""
    if form == "turned":
        return np.ascontiguousarray(np.swapaxes(a, -1, -2)), lambda m: np.swapaxes(m, -1, -2)
    if form == "part":
        wide = np.zeros((*a.shape[:-2], 2 * a.shape[-2], a.shape[-1] + 3), a.dtype)
        wide[..., ::2, 1:-2] = a
        return wide, lambda m: m[..., ::2, 1:-2]
    if form == "reversed":
        return np.ascontiguousarray(a[..., ::-1, ::-1]), lambda m: m[..., ::-1, ::-1]
    return a, lambda m: m


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_values(shapes, dtype, lanes):
    x, y = (rng.standard_normal(s).astype(dtype) for s in shapes)
    made = check(fg.make_graph(lambda x, y: x @ y)(x, y), x, y)
    assert "NumPy" not in made.explain()


@pytest.mark.parametrize("left", ["turned", "part", "reversed"])
@pytest.mark.parametrize("right", ["turned", "part", "reversed"])
@pytest.mark.parametrize("shapes", [((14, 11), (11, 37)), ((2, 40, 270), (2, 270, 9))], ids=str)
def test_strides(shapes, left, right):
    a, b = (rng.standard_normal(s) for s in shapes)
    x, one = laid_out(a, left)
    y, other = laid_out(b, right)
    made = check(fg.make_graph(lambda x, y: one(x) @ other(y))(x, y), x, y)
    assert "NumPy" not in made.explain()
    np.testing.assert_allclose(made(x, y)[0], a @ b, rtol=1e-11, atol=1e-12)


def test_gradients():
    x, y = rng.standard_normal((30, 20)), rng.standard_normal((20, 50))
    both = fg.value_and_grad(lambda x, y: np.sin(x @ y).sum(), (0, 1))
    made = check(fg.make_graph(both)(x, y), x, y)
    assert "NumPy" not in made.explain()


def test_infinities_and_nan():
    x, y = rng.standard_normal((20, 300)), rng.standard_normal((300, 17))
    x[3, 4], x[5, 299], y[7, 1], y[299, 16] = np.inf, np.nan, -np.inf, np.nan
    with np.errstate(all="ignore"):
        want = x @ y
    np.testing.assert_allclose(fg.jit(lambda x, y: x @ y)(x, y), want, rtol=1e-12, atol=1e-12)


def test_the_bits_are_the_same_for_any_number_of_threads():
    x = rng.standard_normal((500, 300)).astype(np.float32)
    y = rng.standard_normal((300, 200)).astype(np.float32)
    f = fg.jit(lambda x, y: x @ y)
    before = fg.config.threads
    found = []
    try:
        for fg.config.threads in (1, 2, 3):
            found.append(f(x, y).tobytes())
    finally:
        fg.config.threads = before
    assert len(set(found)) == 1


def test_products_in_a_row_share_memory():
    a = rng.standard_normal((20, 20)) / 5
    f = fg.jit(lambda a: a @ a @ a @ a @ a)
    np.testing.assert_allclose(f(a), np.linalg.matrix_power(a, 5), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_very_large_products_are_left_to_blas(dtype):
    """They have NumPy's bits then."""

    def where(rows, terms, columns):
        x, y = (np.empty(s, dtype) for s in ((rows, terms), (terms, columns)))
        return fg.jit(lambda x, y: np.tanh(x @ y)).explain(x, y).count("NumPy: matmul")

    assert where(1024, 1024, 1024) == 0
    assert where(1024, 1024, 1040) == 1
    assert where(4096, 784, 512) == 1
    assert where(4096, 64, 512) == 0
