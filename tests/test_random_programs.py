"""Random programs: the value is NumPy's bit for bit, and every derivative is that of the program.

The programs write into buffers, slices and workspaces, give one array several names, close over
traced values and apply transforms inside. The oracle is the same program in plain NumPy: its value,
its complex-step derivative (Squire and Trapp 1998), and differences of that for second order. The
tolerance is the spread of the oracle when every computed value is moved by some eps, which is what
rounding can do to this program at this point.
"""

import os
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import backend, derandomized, programs

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import errors
from funcgrad.extend import elementwise
from funcgrad.testing import derivative_along

EPS = np.finfo(float).eps
STEP = 1e-30  # of the complex step: its square vanishes
SEEDS = st.integers(0, 2**16)


@pytest.fixture(autouse=True, scope="module")
def run_by_the_interpreter():
    """The reference runs the graphs, unless the environment says otherwise."""
    with backend(os.environ.get("FUNCGRAD_BACKEND", "interpreter")):
        yield


def wave(x):
    return 1.5 * np.sin(x)


def wave_named(name):
    """The function as a primitive of a user's."""
    return elementwise(wave, lambda _, x: 1.5 * np.cos(x), name=name)


class Plain:
    """What the transforms inside a program amount to in plain NumPy."""

    named = staticmethod(lambda name: wave)
    jit = checkpoint = staticmethod(lambda f: f)
    grad = jvp = vjp = hvp = staticmethod(lambda f, closed: closed)
    vmap = staticmethod(lambda f: lambda x: np.stack([f(row) for row in x]))


class Traced:
    """The transforms of funcgrad, called as in `Plain`."""

    named = staticmethod({name: wave_named(name) for name in ("sigmoid", "multiply", "sum")}.get)
    jit, checkpoint, vmap = staticmethod(fg.jit), staticmethod(fg.checkpoint), staticmethod(fg.vmap)
    grad = staticmethod(lambda f, closed: fg.grad(f))
    jvp = staticmethod(lambda f, closed: lambda x, t: fg.jvp(f, (x,), (t,))[1])
    vjp = staticmethod(lambda f, closed: lambda x, g: fg.vjp(f, x)[1](g)[0])
    hvp = staticmethod(lambda f, closed: lambda x, t: fg.hvp(f, (x,), (t,)))


def leaves(out):
    return fg.tree.leaves(out)


def weighed(program):
    """The outputs of a program as one number."""

    def scalar(x):
        total = 0.0
        for k, leaf in enumerate(leaves(program(x))):
            weights = np.cos(np.arange(np.prod(np.shape(leaf))) + k).reshape(np.shape(leaf))
            total = total + np.sum(leaf * weights)
        return total

    return scalar


def copying(f):
    """`f` of a copy: a plain program may write into its argument."""
    return lambda x: f(x.copy())


def point(program, seed):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, program.shape) for _ in range(3)]


def complex_step(program, x, t, note=None):
    """The derivative along `t` of the weighed outputs in plain NumPy."""
    f = weighed(program.function(np, Plain, complex, note))
    return np.imag(f(x + 1j * (STEP * t))) / STEP


def spread(program, x, t, directions=6):
    """How far rounding can move the derivative: every value moved by 8 eps, several times."""
    want = complex_step(program, x, t)
    found = 0.0
    for seed in range(directions):
        rng = np.random.default_rng(seed)

        def note(v, rng=rng):
            return v * (1.0 + 8 * EPS * rng.uniform(-1, 1, np.shape(v)))

        found = max(found, abs(complex_step(program, note(x), note(t), note) - want))
    return want, found


def tame(program, x, t):
    """The value and derivative are finite and of ordinary size."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        value = program.function(np, Plain, float)(x.copy())
        assume(all(np.all(np.abs(leaf) < 1e6) for leaf in leaves(value)))
        want, moved = spread(program, x, t)
    assume(abs(want) < 1e6 and moved < 1e-6)
    return value, want, moved


def traced_program(program):
    """The program with funcgrad's functions and transforms."""
    return program.function(fnp, Traced, float)


def same(got, want):
    """Bit for bit, with dtype and type."""
    for g, w in zip(leaves(got), leaves(want), strict=True):
        assert type(g) is type(w)
        assert g.dtype == w.dtype
        assert np.shape(g) == np.shape(w)
        np.testing.assert_array_equal(g, w)
        np.testing.assert_array_equal(np.signbit(g), np.signbit(w))


def close(got, want, moved, terms):
    """Equal to what rounding of this program and of the `terms` of a scalar product allows."""
    slack = 100 * moved + 100 * EPS * (abs(want) + np.sum(np.abs(terms)))
    assert abs(got - want) <= slack, (got, want, slack)


@derandomized(400)
@given(programs(), SEEDS, st.sampled_from([np.float64, np.float32]))
def test_value_law(program, seed, dtype):
    if not program.exact or program.double:
        dtype = np.float64
    x, t, _ = (v.astype(dtype) for v in point(program, seed))
    with np.errstate(all="ignore"):
        f = program.function(fnp, Traced, dtype)
        want = program.function(np, Plain, dtype)(x.copy()) if program.exact else f(x.copy())
        assume(all(np.all(np.isfinite(leaf)) for leaf in leaves(want)))
        same(f(x.copy()), want)
        same(fg.vjp(f, x.copy())[0], want)
        same(fg.jvp(f, (x.copy(),), (t,))[0], want)
        scalar = weighed(f)
        same(fg.value_and_grad(scalar)(x.copy())[0], scalar(x.copy()))


@derandomized(300)
@given(programs(), SEEDS)
def test_first_order(program, seed):
    x, t, _ = point(program, seed)
    _, want, moved = tame(program, x, t)
    f = weighed(traced_program(program))
    transforms = {
        "grad": fg.grad(f),
        "grad(jit)": fg.grad(fg.jit(f)),
        "jit(grad)": fg.jit(fg.grad(f)),
        "grad(checkpoint)": fg.grad(fg.checkpoint(f)),
    }
    with np.errstate(all="ignore"):
        for gradient in transforms.values():
            g = gradient(x.copy())
            assert type(g) is np.ndarray
            assert (g.shape, g.dtype) == (x.shape, x.dtype)
            close(np.sum(g * t), want, moved, g * t)
        for along in (
            fg.jvp(f, (x.copy(),), (t,)),
            fg.jvp(fg.jit(f), (x.copy(),), (t,)),
            fg.jit(lambda x, t: fg.jvp(f, (x,), (t,)))(x.copy(), t),
        ):
            close(along[1], want, moved, g * t)


@derandomized(150)
@given(programs(), SEEDS, st.integers(1, 3))
def test_vmap_of_grad(program, seed, size):
    rng = np.random.default_rng(seed)
    xs, ts = rng.uniform(-1, 1, (2, size, *program.shape))
    wanted = [tame(program, x, t)[1:] for x, t in zip(xs, ts, strict=True)]
    f = weighed(traced_program(program))
    with np.errstate(all="ignore"):
        for found in (fg.vmap(fg.grad(f))(xs.copy()), fg.jit(fg.vmap(fg.grad(f)))(xs.copy())):
            assert (found.shape, found.dtype) == (xs.shape, xs.dtype)
            for g, t, (want, moved) in zip(found, ts, wanted, strict=True):
                close(np.sum(g * t), want, moved, g * t)
        along = fg.vmap(lambda x, t: fg.jvp(f, (x,), (t,))[1])(xs.copy(), ts)
        for d, g, t, (want, moved) in zip(along, found, ts, wanted, strict=True):
            close(d, want, moved, g * t)


@derandomized(150)
@given(programs(8), SEEDS)
def test_second_order(program, seed):
    x, t, u = point(program, seed)
    tame(program, x, t)
    f = weighed(traced_program(program))
    with np.errstate(all="ignore"):
        forward_over_reverse = np.sum(fg.jvp(fg.grad(f), (x.copy(),), (t,))[1] * u)
        reverse_over_forward = np.sum(fg.grad(lambda x: fg.jvp(f, (x,), (t,))[1])(x.copy()) * u)
        reverse_over_reverse = fg.grad(lambda x: np.sum(fg.grad(f)(x) * t))(x.copy())
        (want,), (error,) = derivative_along(lambda x: complex_step(program, x, t), (x,), (u,))
    terms = np.abs(reverse_over_reverse * u)
    # what rounding of the complex step does to a difference over the smallest step of the table
    rounding = spread(program, x, t)[1] / 6e-4
    slack = 10 * error + rounding + 1e4 * EPS * (abs(want) + np.sum(terms))
    assume(slack < 1e-3)
    found = (forward_over_reverse, reverse_over_forward, np.sum(reverse_over_reverse * u))
    assert np.max(np.abs(np.subtract(found, want))) <= slack, (found, want, slack)


@derandomized(150)
@given(programs(8), SEEDS, st.sampled_from([0, 1 << 16]), st.integers(0, 2))
def test_changes_between_forward_and_backward(program, seed, limit, how):
    """The caller's input and the output handed back may change before the pullback is called."""
    x, t, _ = point(program, seed)
    tame(program, x, t)
    f = traced_program(program)
    before = fg.config.copy_limit
    fg.config.copy_limit = limit
    try:
        with np.errstate(all="ignore"):
            out, pull = fg.vjp(f, x.copy())
            g = fg.tree.map(np.ones_like, out)
            clean = pull(g)[0]
            given = x.copy()
            out, pull = fg.vjp(f, given)
            if how != 1:
                given[(0,) * given.ndim] += 1.0
            if how != 0:
                for leaf in leaves(out):
                    if isinstance(leaf, np.ndarray):
                        leaf *= -3.0
            try:
                changed = pull(g)[0]
            except errors.MutatedCaptureError:
                assert limit == 0 and how != 1
            else:
                np.testing.assert_array_equal(changed, clean)
    finally:
        fg.config.copy_limit = before


@derandomized(12)
@given(programs(8), SEEDS)
def test_native_code(program, seed):
    with backend("llvm"):
        test_first_order.hypothesis.inner_test(program, seed)
        test_vmap_of_grad.hypothesis.inner_test(program, seed, 3)


@derandomized(60)
@given(st.data(), st.sampled_from([0, 1 << 16]))
def test_a_workspace_of_the_caller(data, limit):
    """A plain array refilled while the function runs, over which it closes."""
    n = data.draw(st.integers(1, 300))
    rounds = data.draw(st.integers(1, 4))
    places = [data.draw(st.integers(0, n - 1)) for _ in range(rounds)]
    rng = np.random.default_rng(n)
    x, start = rng.uniform(-1, 1, (2, n))
    workspace = start.copy()

    def f(x):
        s = 0.0
        for k in places:
            workspace[k] += 1.0
            s = s + np.sum(np.sin(x * workspace))
        return s

    want, held = np.zeros(n), start.copy()
    for k in places:
        held[k] += 1.0
        want += held * np.cos(x * held)
    before = fg.config.copy_limit
    fg.config.copy_limit = limit
    try:
        for gradient in (fg.grad(f), fg.jit(fg.grad(f)), fg.grad(fg.jit(f))):
            workspace[:] = start
            try:
                got = gradient(x)
            except errors.MutatedCaptureError:
                assert limit == 0
                continue
            np.testing.assert_allclose(got, want, rtol=16 * EPS, atol=16 * EPS * rounds)
    finally:
        fg.config.copy_limit = before
