"""Drawn arrays, and the check that a function of them holds in every transform.

The value is NumPy's bit for bit in every transform, a gradient has the shape and dtype of its
input, both modes agree with each other and with differences in float64, vmap is a loop, and jit
changes nothing. Points are drawn from a grid, so that no two elements are near a tie and none is
near a kink.
"""

import functools
import os

import numpy as np
import pytest
from hypothesis import assume
from strategies import backend

import funcgrad as fg
from funcgrad.testing import derivative_along
from funcgrad.testing.strategies import GAP


@pytest.fixture(autouse=True, scope="module")  # of the files that import it
def run_by_the_interpreter():
    """The reference runs the graphs, unless the environment says otherwise."""
    with backend(os.environ.get("FUNCGRAD_BACKEND", "interpreter")):
        yield


# ------------------------------------------------------------------------------ checking


def eps_of(*xs):
    found = [np.finfo(x.dtype).eps for x in xs if np.asarray(x).dtype.kind in "fc"]
    return float(max(found, default=2.0**-52))


def wide(x):
    x = np.asarray(x)
    return x.astype(np.result_type(x.dtype, np.float64)).astype(
        np.complex128 if x.dtype.kind == "c" else np.float64
    )


def tangent(rng, x):
    """A direction of the dtype and shape of `x`."""
    t = rng.uniform(-1, 1, np.shape(x))
    if x.dtype.kind == "c":
        t = t + 1j * rng.uniform(-1, 1, np.shape(x))
    return t.astype(x.dtype)[()]


def dot(a, b):
    """Re Σ a·b, and the sum of the absolute terms."""
    terms = [np.real(wide(x) * wide(y)) for x, y in zip(a, b, strict=True)]
    return sum(np.sum(t) for t in terms), sum(np.sum(np.abs(t)) for t in terms)


def same(got, want):
    """Bit for bit, with dtype and type."""
    assert type(got) is type(want)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    assert got.tobytes() == want.tobytes()


def near(got, want, slack, what):
    assert np.shape(got) == np.shape(want), what
    miss = np.abs(wide(got) - wide(want))
    assert np.all(miss <= slack), (what, got, want, float(np.max(miss)), slack)


def check(f, *xs, smooth=True, step=GAP / 4, size=0.0):
    """All properties of `f` at the arrays `xs`, which are all differentiated.

    `size` is that of terms of which it adds several, in native code in an order of its own.
    """
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        want = f(*xs)
        assume(np.all(np.isfinite(want)))
        out, pull = fg.vjp(f, *xs)
        same(out, want)
        w = tangent(rng, want)
        ts = [tangent(rng, x) for x in xs]
        gs = pull(w)
        for g, x in zip(gs, xs, strict=True):
            assert g.shape == x.shape
            assert g.dtype == x.dtype
            assert type(g) is (np.ndarray if x.ndim else x.dtype.type)
        out, moved = fg.jvp(f, xs, ts)
        same(out, want)
        assert (moved.dtype, moved.shape) == (want.dtype, want.shape)
        scalar = functools.partial(weighed, f, w)
        value, again = fg.value_and_grad(scalar, tuple(range(len(xs))))(*xs)
        same(value, scalar(*xs))
        eps = eps_of(want, *xs)
        forward, size = dot([w], [moved])
        backward, terms = dot(gs, ts)
        rounding = 64 * eps * (size + terms)
        near(backward, forward, rounding, "⟨g, jvp t⟩ = ⟨vjp g, t⟩")
        for g, h in zip(gs, again, strict=True):
            near(h, g, 64 * eps * (1 + np.abs(wide(g))), "grad of the sum = vjp")
        if smooth:
            exact = [wide(x) for x in xs]
            reference = lambda *a: np.real(np.sum(wide(w) * f(*a)))
            (along,), (error,) = derivative_along(reference, exact, [wide(t) for t in ts], step)
            values = np.sum(np.abs(wide(w) * f(*exact)))
            # rounding of the points, and of the values over the smallest step of the table
            slack = rounding + 10 * error + 64 * eps * abs(along) + 640 * 2.0**-52 / step * values
            near(backward, along, slack, "reverse mode = differences")
        check_jit(f, xs, want, w, gs, eps, size)
        check_vmap(f, xs, w, eps)


def weighed(f, w, *xs):
    return np.real(np.sum(w * f(*xs)))


def check_jit(f, xs, want, w, gs, eps, size=0.0):
    staged = fg.jit(f)(*xs)
    assert type(staged) is type(want[()])  # jit makes no arrays without axes
    assert staged.dtype == want.dtype
    near(staged, want, 4 * eps * (np.abs(wide(want)) + size), "jit = eager")
    pulled = fg.jit(lambda w, *xs: fg.vjp(f, *xs)[1](w))(w, *xs)
    for p, g in zip(pulled, gs, strict=True):
        assert (p.shape, p.dtype) == (g.shape, g.dtype)
        near(p, g, 64 * eps * (1 + np.abs(wide(g))), "jit(vjp) = vjp")


def check_vmap(f, xs, w, eps, size=3):
    """vmap of the function and of its pullback equal loops."""
    scales = [1.0, 0.97, 1.03]
    stacks = [np.stack([(x * np.asarray(s, x.dtype)).astype(x.dtype) for s in scales]) for x in xs]
    loop = [np.asarray(f(*row)) for row in zip(*stacks, strict=True)]
    found = fg.vmap(f)(*stacks)
    assert found.dtype == loop[0].dtype
    for got, want in zip(found, loop, strict=True):
        near(got, want, 64 * eps * (1 + np.abs(wide(want))), "vmap = loop")
    pull = lambda *xs: fg.vjp(f, *xs)[1](w)
    pulled = fg.vmap(pull)(*stacks)
    for k, row in enumerate(zip(*stacks, strict=True)):
        for p, g in zip(pulled, pull(*row), strict=True):
            assert p.dtype == g.dtype
            near(p[k], g, 256 * eps * (1 + np.abs(wide(g))), "vmap(vjp) = loop")
