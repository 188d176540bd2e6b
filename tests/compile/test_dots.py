"""Stacks of long scalar products as kernels of their own: values as NumPy's."""

import numpy as np
import pytest
from native import check

import funcgrad as fg


@pytest.fixture(autouse=True)
def seeded():
    """Numbers of a test do not depend on which tests ran before it."""
    global rng
    rng = np.random.default_rng(0)


SHAPES = [
    ((2, 5, 300), (2, 7, 300)),
    ((3, 2, 128), (3, 6, 128)),
    ((2, 4, 129), (2, 4, 129)),
    ((2, 3, 5, 2500), (2, 3, 6, 2500)),  # in blocks
    ((2, 1, 5, 200), (3, 7, 200)),  # stacks are repeated
    ((5, 200), (3, 7, 200)),
    ((3, 5, 200), (1, 7, 200)),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_values_and_gradients(shapes, dtype):
    x, y = (rng.standard_normal(s).astype(dtype) for s in shapes)

    def f(x, y):
        return x @ np.swapaxes(y, -1, -2)

    made = check(fg.make_graph(f)(x, y), x, y)
    assert "NumPy" not in made.explain()
    # a sum that does not cancel: its value is compared relatively
    both = fg.value_and_grad(lambda x, y: (2.0 + np.sin(f(x, y))).sum(), (0, 1))
    check(fg.make_graph(both)(x, y), x, y)


@pytest.mark.parametrize("terms", [8, 9, 16, 30, 31])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 30, 500])
def test_short_products_with_a_vector_need_no_numpy(rows, terms):
    x, y = rng.standard_normal((rows, terms)), rng.standard_normal(terms)
    for f in (np.matmul, lambda x, y: y @ x.T, lambda x, y: x[:, ::-1][:, ::-1] @ y):
        made = check(fg.make_graph(f)(x, y), x, y)
        assert "NumPy" not in made.explain()
    # a sum that does not cancel: its value is compared relatively
    both = fg.value_and_grad(lambda x, y: np.sin(x @ y).sum(), (0, 1))
    check(fg.make_graph(both)(x, y), x, y)


def test_of_an_array_with_itself_and_of_parts_of_it():
    x = rng.standard_normal((4, 6, 400))
    for f in (
        lambda x: x @ np.swapaxes(x, 1, 2),
        lambda x: x[:, 1:4] @ np.swapaxes(x[:, 2:, :], 1, 2),
        lambda x: x[:, :, 100:300] @ np.swapaxes(x[:, ::2, 200:], 1, 2),
        lambda x: x[::-1] @ np.swapaxes(x[:, ::-1], 1, 2),
    ):
        assert "NumPy" not in check(fg.make_graph(f)(x), x).explain()


def test_infinities_and_nan():
    x = rng.standard_normal((2, 5, 300))
    x[0, 1, 7], x[1, 2, 3], x[1, 4, 299] = np.inf, np.nan, -np.inf
    with np.errstate(all="ignore"):
        want = x @ np.swapaxes(x, 1, 2)
    got = fg.jit(lambda x: x @ np.swapaxes(x, 1, 2))(x)
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-12)


def test_the_bits_are_the_same_for_any_number_of_threads():
    x = rng.standard_normal((40, 30, 3000)).astype(np.float32)
    f = fg.jit(lambda x: x @ np.swapaxes(x, 1, 2))
    before = fg.config.threads
    try:
        found = []
        for fg.config.threads in (1, 2, 3):
            found.append(f(x).tobytes())
    finally:
        fg.config.threads = before
    assert len(set(found)) == 1


def test_a_result_that_is_read_afterwards_and_handed_out():
    x = rng.standard_normal((3, 4, 200))

    def f(x):
        g = x @ np.swapaxes(x, 1, 2)
        return g, np.exp(g - g.max()), g[:, 0]

    check(fg.make_graph(f)(x), x)


def test_inside_numba_code():
    x = rng.standard_normal((2, 3, 150))
    f = fg.jit(lambda x: x @ np.swapaxes(x, 1, 2))
    np.testing.assert_allclose(f.njit(x), f(x), rtol=1e-12)
