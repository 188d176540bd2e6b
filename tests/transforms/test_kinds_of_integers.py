"""Positions, axes and sizes that the transforms take: integers of Python and NumPy alone."""

import numpy as np
import pytest

import funcgrad as fg

X = np.arange(6.0).reshape(2, 3)
ONES = [1, -1, np.int64(1), np.int8(-1), np.uint8(1), np.uint64(1)]
NONE = [True, np.True_, 1.0, np.float64(1.0), "1", np.array(1), [True], [1.0]]


def product(x, y):
    return np.sum(x * y * y)


def custom(argnums):
    f = fg.custom_vjp(lambda x, n: x * n, nondiff_argnums=argnums)
    f.defvjp(lambda x, n: (x * n, None), lambda n, _, g: (g * n * 10.0,))
    return fg.grad(f)(2.0, 3.0)


def custom_forward(argnums):
    f = fg.custom_jvp(lambda x, n: x * n, nondiff_argnums=argnums)
    f.defjvp(lambda n, xs, ts: (xs[0] * n, ts[0] * n * 10.0))
    return fg.grad(f)(2.0, 3.0)


USES = {
    "grad": lambda k: fg.grad(product, argnums=k)(2.0, 3.0),
    "value_and_grad": lambda k: fg.value_and_grad(product, argnums=k)(2.0, 3.0),
    "jacfwd": lambda k: fg.jacfwd(product, argnums=k)(2.0, 3.0),
    "jacrev": lambda k: fg.jacrev(product, argnums=k)(2.0, 3.0),
    "hessian": lambda k: fg.hessian(product, argnums=k)(2.0, 3.0),
    "static_argnums": lambda k: fg.jit(lambda x, n: x * n, static_argnums=k)(2.0, 3),
    "donate_argnums": lambda k: fg.jit(lambda x, y: x * y, donate_argnums=k)(X, X + 1.0),
    "in_axes": lambda k: fg.vmap(np.sum, in_axes=k)(X),
    "in_axes of a tuple": lambda k: fg.vmap(lambda x, y: x + y, in_axes=(k, None))(X, 1.0),
    "out_axes": lambda k: fg.vmap(lambda x: 2.0 * x, out_axes=k)(X),
    "custom_vjp": custom,
    "custom_jvp": custom_forward,
}


@pytest.mark.parametrize("use", USES)
def test_every_kind_of_integer(use):
    want = USES[use](1)
    for k in ONES:
        found = USES[use](k)
        for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(want), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("k", NONE, ids=repr)
def test_what_is_no_integer(use, k):
    with pytest.raises((TypeError, fg.errors.BatchSizeError)) as info:
        USES[use](k)
    assert __file__ in str(info.value)


def test_the_size_of_the_mapped_axis():
    constant = lambda x: 3.0
    for size in (2, np.int64(2), np.uint8(2)):
        found = fg.vmap(constant, in_axes=None, axis_size=size)(X)
        np.testing.assert_array_equal(found, [3.0, 3.0])
    for size in (True, 2.0, "2"):
        with pytest.raises(TypeError, match="axis_size must be an integer"):
            fg.vmap(constant, in_axes=None, axis_size=size)(X)
    with pytest.raises(fg.errors.BatchSizeError, match="negative"):
        fg.vmap(constant, in_axes=None, axis_size=-1)(X)


def test_positions_that_are_not_there_or_twice():
    for k, text in ((2, "names argument 2"), (-3, "names argument -3"), ((1, -1), "twice")):
        with pytest.raises(ValueError, match=text):
            custom(k)


# ------------------------------------------------------------------------------------ shifts


def shifted_in_place(n):
    m = n
    m <<= 1
    m |= 1
    m >>= 1
    m ^= 2
    m &= 7
    return n + m


BITS = [
    lambda n: n << 1,
    lambda n: n >> 1,
    lambda n: 1 << n,
    lambda n: 9 >> n,
    lambda n: np.left_shift(n, np.array([1, 2, 63])),
    lambda n: np.right_shift(n, np.array([1, 2, 63])),
    lambda n: np.bitwise_count(n),
    lambda n: np.gcd(n, 4),
    lambda n: np.lcm(4, n),
    shifted_in_place,
]


@pytest.mark.parametrize("k", range(len(BITS)))
def test_bits_of_traced_integers(k):
    f = BITS[k]
    for n in (3, np.int64(3), *(np.arange(3, dtype=d) for d in (int, "i1", "u1", "u4"))):
        want = f(n.copy() if isinstance(n, np.ndarray) else n)
        for transformed in (fg.jit(f), fg.checkpoint(f)):
            found = transformed(n.copy() if isinstance(n, np.ndarray) else n)
            np.testing.assert_array_equal(found, want)
            assert np.asarray(found).dtype == np.asarray(want).dtype
    mapped = fg.vmap(f)(np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(mapped, [f(np.arange(3)), f(np.arange(3, 6))])


def test_i0_has_numpys_value_and_a_derivative():
    special = pytest.importorskip("scipy.special")
    x = np.array([-40.0, -9.0, -0.5, 0.0, 0.3, 7.9, 8.1, 100.0])
    value, pull = fg.vjp(np.i0, x)
    np.testing.assert_array_equal(value, np.i0(x))
    np.testing.assert_allclose(pull(np.ones(8))[0], special.i1(x), rtol=1e-13)
    second = fg.jit(fg.vmap(fg.grad(fg.grad(np.i0))))(x[4:])
    np.testing.assert_allclose(second, special.ivp(0, x[4:], 2), rtol=1e-12)
    assert fg.vjp(np.i0, np.float32(3.0))[0].dtype == np.float32
