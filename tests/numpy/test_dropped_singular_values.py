"""Derivatives of pseudoinverses and least squares whose cutoff drops values that are not 0.

Expected: differences of NumPy's and SciPy's own functions.
"""

import re

import numpy as np
import pytest
import scipy.linalg

import funcgrad as fg

KEPT = {"apart": (3.0, 2.4), "equal": (2.0, 2.0)}
DROPPED = {"apart": (1.0, 0.3), "equal": (0.9, 0.9), "zero": (0.0, 0.0)}
CUTOFF = 0.6
SHAPES = [(4, 4), (6, 4), (4, 6), (7, 4)]


def normal(rng, *shape, dtype=float):
    x = rng.normal(size=shape)
    return x + 1j * rng.normal(size=shape) if dtype is complex else x


def drawn(shape, kept, dropped, dtype):
    rng = np.random.default_rng(sum(shape))
    (m, n), s = shape, np.array([*KEPT[kept], *DROPPED[dropped]])
    u, v = (np.linalg.qr(normal(rng, k, k, dtype=dtype))[0][:, :4] for k in (m, n))
    return (u * s) @ v.conj().T, *(normal(rng, *shape, dtype=dtype) for _ in range(2))


def difference(f, a, t, h):
    near, far = (f(a + k * h * t) - f(a - k * h * t) for k in (1, 2))
    return (8 * near - far) / (12 * h)


def along(f, a, t):
    return fg.jvp(f, (a,), (t,))[1]


def pulled(f, a, g):
    return fg.vjp(f, a)[1](g)[0]


def check(f, a, t, t2):
    first = along(f, a, t)
    np.testing.assert_allclose(first, difference(f, a, t, 1e-4), rtol=1e-7, atol=1e-8)
    g = np.cos(np.arange(first.size)).reshape(first.shape).astype(first.dtype)
    back = pulled(f, a, g)
    np.testing.assert_allclose(np.sum(back * t).real, np.sum(g * first).real, rtol=1e-10)
    second = along(lambda a: along(f, a, t), a, t2)
    expected = difference(lambda a: along(f, a, t), a, t2, 1e-3)
    np.testing.assert_allclose(second, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(fg.jit(lambda a: along(f, a, t))(a), first, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(fg.jit(lambda a: pulled(f, a, g))(a), back, rtol=1e-11, atol=1e-12)
    both = fg.vmap(lambda a, t: along(f, a, t))(np.stack([a, 2 * a]), np.stack([t, t2]))
    np.testing.assert_allclose(both[0], first, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(both[1], along(f, 2 * a, t2), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("dropped", DROPPED)
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("shape", SHAPES)
def test_pinv_drops_values_that_are_not_zero(shape, kept, dropped, dtype):
    check(lambda a: np.linalg.pinv(a, CUTOFF), *drawn(shape, kept, dropped, dtype))


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("dropped", DROPPED)
@pytest.mark.parametrize("shape", SHAPES)
def test_lstsq_drops_values_that_are_not_zero(shape, dropped, dtype):
    b = np.sin(np.arange(2.0 * shape[0])).reshape(-1, 2)
    a, t, t2 = drawn(shape, "equal", dropped, dtype)

    def solution(a):
        return np.linalg.lstsq(a, b, CUTOFF)[0]

    first = along(solution, a, t)
    np.testing.assert_allclose(first, difference(solution, a, t, 1e-4), rtol=1e-7, atol=1e-8)
    second = along(lambda a: along(solution, a, t), a, t2)
    expected = difference(lambda a: along(solution, a, t), a, t2, 1e-3)
    np.testing.assert_allclose(second, expected, rtol=1e-6, atol=1e-6)


def test_pinv_of_hermitian_matrices_and_scipys():
    a, t, t2 = (x + x.T for x in drawn((4, 4), "apart", "apart", float))
    w, v = np.linalg.eigh(a)
    a = (v * [3.0, -2.4, 1.0, -0.3]) @ v.T
    for f in (
        lambda a: np.linalg.pinv(a, CUTOFF, hermitian=True),
        lambda a: scipy.linalg.pinvh(a, rtol=CUTOFF),
        lambda a: scipy.linalg.pinv(a, rtol=CUTOFF),
    ):
        np.testing.assert_allclose(along(f, a, t), difference(f, a, t, 1e-4), rtol=1e-7, atol=1e-8)


def test_stacks_of_which_some_drop_and_cutoffs_of_their_own():
    a, t, _ = drawn((6, 4), "apart", "apart", float)
    stack, moves = np.stack([a, np.eye(6, 4), a]), np.stack([t, t, t])
    cutoffs = np.array([CUTOFF, 1e-15, 1e-15])

    def f(a):
        return np.linalg.pinv(a, cutoffs)

    np.testing.assert_allclose(
        along(f, stack, moves), difference(f, stack, moves, 1e-4), rtol=1e-7, atol=1e-8
    )


def test_a_kept_value_equal_to_a_dropped_one_has_no_derivative():
    a = np.diag([3.0, np.nextafter(1.0, 2.0), 1.0])
    f = lambda a: np.sum(np.linalg.pinv(a, 1 / 3))
    assert np.linalg.matrix_rank(np.linalg.pinv(a, 1 / 3)) == 2
    assert np.isnan(fg.grad(f)(a)).all()
    assert np.isnan(fg.jit(fg.grad(f))(a)).all()


@pytest.mark.parametrize("cutoff", [-1.0, 0.0, 1.0, 1.5])
def test_lstsq_takes_cutoffs_that_are_no_fraction_as_rounding(cutoff):
    a, t, _ = drawn((6, 4), "apart", "apart", float)
    b = np.arange(6.0)
    of_numpy = lambda a: np.linalg.lstsq(a, b, cutoff)[0]
    of_scipy = lambda a: scipy.linalg.lstsq(a, b, cond=cutoff)[0]
    expected = along(lambda a: np.linalg.lstsq(a, b)[0], a, t)
    np.testing.assert_allclose(along(of_numpy, a, t), expected, rtol=1e-11)
    try:
        of_scipy(a)
    except ValueError as refused:  # by SciPy 1.18, below 0
        with pytest.raises(ValueError, match=re.escape(str(refused))):
            along(of_scipy, a, t)
        return
    np.testing.assert_allclose(along(of_scipy, a, t), expected, rtol=1e-11)
    assert fg.jit(of_scipy)(a).shape == (4,)
