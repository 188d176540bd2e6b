"""What the bodies of loops may hold: operations whose loops are our own, branches, custom rules.

Each is run in a compiled loop, where nothing may be left to NumPy, and in Python.
"""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

NODES = np.linspace(-2.0, 2.0, 9)
HEIGHTS = np.cos(NODES)


def written(c):
    b = fnp.array(c)
    b[fnp.argmax(c)] = 0.3 * b[1]
    return b


def added(c):
    b = fnp.array(c)
    fnp.add.at(b, np.array([0, 0, 1]), c[:3] ** 2)
    return b


def whole(c):
    k = (c * 8).astype(int)
    return c * (k % 3 - k // 5)


def chosen(c):
    one = fg.cond(c[0] > 0.1, np.sin, lambda v: v * v[1], c)
    return one + fg.switch(fnp.argmax(c), [np.cos, np.tanh, lambda v: v[::-1]], c)


def branch_with_a_loop(c):
    def turned(v):
        return fg.fori_loop(0, 3, lambda i, v: np.roll(v, 1) * 0.9, v)

    return fg.cond(np.sum(c) > 0, turned, lambda v: fg.cond(v[0] > v[1], np.sin, np.cos, v), c)


@fg.custom_vjp
def clipped(x):
    return np.sin(x)


clipped.defvjp(lambda x: (np.sin(x), x), lambda x, g: (np.clip(g, -1.0, 1.0) * np.cos(x),))


@fg.custom_jvp
def doubled(x):
    return np.mean(x) * np.tanh(x)


@doubled.defjvp
def _(primals, tangents):
    return doubled(*primals), 2.0 * tangents[0]


# the shape of the carry, whether values have NumPy's bits, and the step
CASES = {
    "sort": (4, True, np.sort),
    "sort of many": (21, True, np.sort),
    "sort of columns": ((11, 3), True, lambda c: np.sort(c, axis=0)),
    "argsort": (5, True, lambda c: c[np.argsort(-c, kind="stable")] * 1.25),
    "argsort of many": (13, True, lambda c: c[np.argsort(-c, kind="stable")] * 1.25),
    "take along": ((3, 4), True, lambda c: fnp.take_along_axis(c, fnp.argsort(c, axis=1), 1)),
    "searchsorted": (5, True, lambda c: fnp.searchsorted(NODES, c, "right") * 0.125 + c * 0.5),
    "digitize": (5, True, lambda c: fnp.digitize(c, NODES) * 0.125 - c),
    "interp": (5, True, lambda c: np.interp(c, NODES, HEIGHTS)),
    "interp of values": (9, True, lambda c: c * np.interp(0.3, NODES, c)),
    "cumsum": ((3, 4), True, lambda c: np.cumsum(c, axis=1) * 0.5),
    "cumprod": (5, True, np.cumprod),
    "median": (5, True, lambda c: c * np.median(c)),
    "median of two": (6, True, lambda c: c + np.median(c)),
    "write": (5, True, written),
    "add at": (5, True, added),
    "bincount": (5, True, lambda c: fnp.bincount(np.array([0, 1, 1, 2, 0]), c, 5)),
    "modulo": (5, True, lambda c: c % 0.7 + c // 0.25),
    "whole numbers": (5, True, whole),
    "determinant": ((4, 4), False, lambda c: np.sin(c) * np.linalg.det(c)),
    "convolve": (6, False, lambda c: np.convolve(c, NODES[:4], "same") * 0.4),
    "convolve with itself": (4, False, lambda c: np.convolve(c, c[1:], "full")[1:5] * 0.3),
    "convolve with a row": ((3, 5), False, lambda c: c * np.convolve(c[0], c[:, 1], "valid")[1]),
    "cond": (3, False, chosen),
    "loop in a branch": (3, False, branch_with_a_loop),
    "custom vjp": (3, False, clipped),
    "custom jvp": (3, False, doubled),
}  # fmt: skip


def looped(step, shape):
    weights = np.cos(np.arange(float(np.prod(shape)))).reshape(shape)

    def f(x):
        def body(c, _):
            new = step(c)
            return new * 0.75 + c * 0.125, new

        c, rows = fg.scan(body, x, length=3)
        return np.sum(c * weights), (c, rows)

    return f


@pytest.mark.parametrize("name", CASES)
def test_a_step_is_native_and_its_value_and_gradient_those_of_python(name):
    shape, exact, step = CASES[name]
    x = np.random.default_rng(0).normal(size=shape)
    f = looped(step, shape)
    both = fg.value_and_grad(f, has_aux=True)
    compiled = fg.jit(both)
    text = compiled.explain(x)
    assert "in Python" not in text and "NumPy" not in text
    (value, aux), slope = compiled(x)
    (wanted, parts), slope_ = both(x)
    # LAPACK's kernels differ between processors: a factorization moves what it is given by n eps
    steps, n = 3, np.shape(x)[-1]
    moved = steps * n * np.finfo(float).eps * np.linalg.norm(slope_) * np.linalg.norm(x)
    rtol, atol = (0, moved) if name == "determinant" else (1e-13, 0)
    np.testing.assert_allclose(value, wanted, rtol=rtol, atol=atol)
    np.testing.assert_allclose(slope, slope_, rtol=1e-10, atol=1e-12)
    for a, b in zip(fg.tree.leaves(aux), fg.tree.leaves(parts), strict=True):
        np.testing.assert_allclose(a, b, rtol=0 if exact else 1e-12, atol=0)


@pytest.mark.parametrize("kind", ["order", "values"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "bool"])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 33, 100])
def test_lines_are_sorted_with_ties_in_their_order_and_nan_last(n, dtype, kind):
    rng = np.random.default_rng(n)
    x = rng.integers(-3, 4, n).astype(dtype)
    if x.dtype.kind == "f" and n > 2:
        x[rng.integers(0, n, 3)] = np.nan
        x[rng.integers(0, n)] = -0.0
    sort = {"order": lambda v: np.argsort(v, kind="stable"), "values": np.sort}[kind]

    @fg.jit
    def f(x):
        return fg.scan(lambda c, v: (c, (sort(v), v)), 0, x)[1][0]

    np.testing.assert_array_equal(f(x[None])[0], sort(x))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 17])
def test_positions_in_a_sorted_line(n, side):
    line = np.sort(np.random.default_rng(n).integers(0, 9, n).astype(float))
    line[n - n // 3 :] = np.nan
    keys = np.array([-1.0, *range(10), 3.5, np.nan, np.inf, -np.inf])
    found = fg.jit(lambda a, v: fnp.searchsorted(a, v, side) + 0)
    assert "NumPy" not in found.explain(line, keys)
    np.testing.assert_array_equal(found(line, keys), np.searchsorted(line, keys, side))
    integers = np.arange(-2, 12)
    np.testing.assert_array_equal(found(line, integers), np.searchsorted(line, integers, side))


ODD = [0.0, -0.0, 1.0, -1.0, 3.5, -3.5, np.inf, -np.inf, np.nan, 1e30, -1e-30, 0.1, -0.3, 2.0**40]
WHOLE = [0, 1, -1, 2, -3, 7, -7, -(2**31), 2**31 - 1, 10**6]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32"])
@pytest.mark.parametrize("op", ["remainder", "floor_divide", "fmod", "bitwise_and", "bitwise_xor"])
def test_quotients_and_remainders_have_the_bits_of_numpy(op, dtype):
    exact = np.dtype(dtype).kind == "i"
    if exact == (op == "fmod") or (not exact and op.startswith("bitwise")):
        return
    x, y = (v.ravel() for v in np.meshgrid(*[np.array(WHOLE if exact else ODD, dtype)] * 2))
    f = getattr(np, op)
    with np.errstate(all="ignore"):
        found, wanted = fg.jit(lambda x, y: f(x, y) + y * 0)(x, y), f(x, y) + y * 0
    np.testing.assert_array_equal(found, wanted)
    number = wanted == wanted  # the sign of a NaN says nothing
    np.testing.assert_array_equal(np.signbit(found[number]), np.signbit(wanted[number]))


@pytest.mark.parametrize("source", ["float64", "float32"])
@pytest.mark.parametrize("target", ["int64", "int32"])
def test_floats_become_the_integers_that_numpy_makes_of_them(source, target):
    near = [2.0**31, 2.0**31 - 1, -(2.0**31), -(2.0**31) - 1, 2.0**63, -(2.0**63), 1.7, -1.7]
    x = np.array([*ODD, *near], source)
    with np.errstate(all="ignore"):
        found = fg.jit(lambda x: (x * 1).astype(target) + 0)(x)
        np.testing.assert_array_equal(found, x.astype(target))


def test_a_wrong_position_of_a_write_in_a_loop_names_the_line():
    @fg.jit
    def f(x, n):
        def body(i, c):
            b = fnp.array(c)
            b[i * n] = 1.0
            return b

        return fg.fori_loop(0, 3, body, x)

    np.testing.assert_array_equal(f(np.zeros(5), 2), [1, 0, 1, 0, 1])
    with pytest.raises(IndexError) as error:
        f(np.zeros(5), 3)
    assert any(__file__ in note for note in error.value.__notes__)


def test_small_programs_need_no_numpy_outside_of_loops():
    def f(x):
        y = np.sort(np.cumsum(x)) * np.linalg.det(np.outer(x, x) + np.eye(4))
        return fg.cond(y[0] > 0, np.sum, lambda v: np.sum(v * v), y)

    x = np.array([0.3, -0.2, 0.5, 0.1])
    both = fg.jit(fg.value_and_grad(f))
    assert "NumPy" not in both.explain(x)
    found, wanted = both(x), fg.value_and_grad(f)(x)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-13)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-12)
    long = np.sin(np.arange(5000.0))
    assert "NumPy: cumsum" in fg.jit(np.cumsum).explain(long)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("lengths", [(6, 3), (3, 6), (1, 4), (5, 5), (1, 1)])
@pytest.mark.parametrize("dtypes", ["dd", "ff", "ll", "ld", "id"])
def test_convolutions_of_small_vectors_are_those_of_numpy(lengths, mode, dtypes):
    rng = np.random.default_rng(len(mode))
    x, y = (rng.integers(-9, 9, n).astype(t) for n, t in zip(lengths, dtypes, strict=True))
    f = fg.jit(lambda x, y: np.convolve(x[::-1], y, mode))
    wanted = np.convolve(x[::-1], y, mode)
    assert "NumPy" not in f.explain(x, y) and f(x, y).dtype == wanted.dtype
    np.testing.assert_array_equal(f(x, y), wanted)


def test_convolutions_multiply_nothing_beyond_the_ends():
    """Infinity times a zero that stands for what is not there would be NaN."""
    x, y = np.array([1.0, np.inf, 2.0]), np.array([0.5, np.inf])
    np.testing.assert_array_equal(fg.jit(np.convolve)(x, y), np.convolve(x, y))
    long = np.ones(300)
    assert "NumPy: convolve" in fg.jit(np.convolve).explain(long, long)


def test_what_numpy_orders_as_it_likes_is_left_to_it_outside_of_loops():
    assert "NumPy: argsort" in fg.jit(np.argsort).explain(np.ones(5))
    assert "NumPy: partition" in fg.jit(lambda x: np.partition(x, 2)).explain(np.ones(5))


@pytest.mark.parametrize("x", [np.array(0.5), np.float64(0.5), np.array(0.5, np.float32)])
def test_flips_without_axes_read_their_own_memory(x):
    """NumPy gives a number for them, whose address was taken for that of a view: a crash."""
    for f in (fnp.flip, lambda x: fnp.flip(x, ()), lambda x: np.flip(2.0 * x) + 1.0):
        wanted, got = f(x), fg.jit(f)(x)
        assert got.dtype == wanted.dtype and got == wanted and np.shape(got) == ()
        assert fg.jit(fg.grad(lambda x, f=f: f(x) ** 2))(x) == fg.grad(lambda x, f=f: f(x) ** 2)(x)


@pytest.mark.parametrize("n", [2, 5, 40])  # NumPy takes columns of one number otherwise
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_signs_of_zeros_are_numpys(n, dtype):
    """A running sum began from 0, and of two zeros the extremum of columns was the earlier one."""
    zeros = np.zeros(n, dtype)
    zeros[::2] = -0.0
    for f in (
        np.cumsum,
        np.cumulative_sum,
        lambda v: np.max(np.stack([v, -v]), axis=0),
        lambda v: np.min(np.stack([v, -v, v]), axis=0),
        lambda v: np.maximum(v, -v),
        lambda v: np.minimum(v, -v),
    ):
        for x in (zeros, -zeros):
            found = fg.jit(f)(x)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(f(x)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_expm1_of_denormal_numbers_is_the_number(dtype):
    x = np.array([1.0, -1.0, 3.0] * 7, dtype) * np.finfo(dtype).smallest_subnormal
    np.testing.assert_array_equal(fg.jit(np.expm1)(x), x)
