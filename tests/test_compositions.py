"""Every ordered pair and triple of the transforms on the programs, against the direct answer.

Each transform is an operator on functions of one vector; the direct answer uses differences for
derivatives, loops for `vmap`, and nothing for `jit` and `checkpoint`.
"""

import itertools

import numpy as np
import pytest
from programs import PROGRAMS, X

import funcgrad as fg
from funcgrad.testing import derivative_along

T = np.array([0.7, -0.2, 0.4])
W = np.array([0.5, 1.5, -1.0])


def weigh(out):
    """A scalar of any output."""
    total = 0.0
    for k, leaf in enumerate(fg.tree.leaves(out)):
        total = total + np.sum(leaf * (0.3 + 0.1 * k)) + 0.1 * np.sum(leaf * leaf)
    return total


def grad(f):
    return fg.grad(lambda x: weigh(f(x)))


def jvp(f):
    return lambda x: fg.jvp(f, (x,), (T,))[1]


def vmap(f):
    return lambda x: fg.vmap(lambda s: f(s * x))(W)


def jet(f):
    """The tangent, as the first of two coefficients."""

    def tangent(x):
        out, series = fg.jet(f, (x,), ([T, T],))
        flat = [s[0] for s in fg.tree.leaves(series, is_leaf=lambda s: isinstance(s, list))]
        return fg.tree.unflatten(fg.tree.structure(out), flat)

    return tangent


def saving(f):
    return fg.checkpoint(f, policy=fg.checkpoint_policies.dots_saveable)


def named(f):
    """`vmap` of a function that asks for all examples of a named axis."""
    every = lambda s, x: fg.tree.map(lambda o: o + 0.0 * fg.lax.pmean(o, "i"), f(s * x))
    return lambda x: fg.vmap(lambda s: every(s, x), axis_name="i")(W)


TRANSFORMS = {
    "grad": grad,
    "jvp": jvp,
    "vmap": vmap,
    "jit": fg.jit,
    "checkpoint": fg.checkpoint,
}
MORE = {**TRANSFORMS, "jet": jet, "saving": saving, "named": named}
SAME = {"jet": "jvp", "named": "vmap"}  # by what the direct answer is found


def leaves(out):
    return [np.asarray(leaf) for leaf in fg.tree.leaves(out)]


def direct(name, f):
    """The same as the transform by differences and loops."""
    name = SAME.get(name, name)
    if name == "grad":
        return lambda x: np.array(
            [derivative_along(lambda v: weigh(f(v)), (x,), (e,))[0][0] for e in np.eye(3)]
        )
    if name == "jvp":

        def tangent(x):
            out = f(x)
            moved = derivative_along(f, (x,), (T,))[0]
            return fg.tree.unflatten(fg.tree.structure(out), moved)

        return tangent
    if name == "vmap":

        def loop(x):
            outs = [f(s * x) for s in W]
            return fg.tree.map(lambda *o: np.stack(o), *outs)

        return loop
    return f


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("names", list(itertools.product(MORE, repeat=2)), ids="-".join)
def test_pairs(names, program):
    outer, inner = names
    transformed = MORE[outer](MORE[inner](program))
    # one level by differences at a time keeps the oracle accurate
    expected = direct(outer, MORE[inner](program))
    for got, want in zip(leaves(transformed(X)), leaves(expected(X)), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-7, atol=2e-8)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("names", list(itertools.product(TRANSFORMS, repeat=3)), ids="-".join)
def test_triples(names, program):
    outer, middle, inner = names
    pair = TRANSFORMS[middle](TRANSFORMS[inner](program))
    expected = direct(outer, pair)
    for got, want in zip(leaves(TRANSFORMS[outer](pair)(X)), leaves(expected(X)), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("names", list(itertools.product(["grad", "jvp"], repeat=4)), ids="-".join)
def test_nesting_to_order_four(names):
    def f(x):
        return np.sin(x) * np.exp(x)

    d = {"grad": fg.grad, "jvp": lambda f: lambda x: fg.jvp(f, (x,), (1.0,))[1]}
    g = f
    for name in names:
        g = d[name](g)
    # d⁴/dx⁴ of sin(x) eˣ is -4 sin(x) eˣ
    np.testing.assert_allclose(g(0.7), -4 * np.sin(0.7) * np.exp(0.7), rtol=1e-12)


@pytest.mark.parametrize("outer", ["grad", "jvp"])
@pytest.mark.parametrize("inner", ["grad", "jvp"])
def test_perturbation_confusion(outer, inner):
    """d/dx (x · d/dy (x + y)) is 1 (Siskind and Pearlmutter 2005)."""
    d = {"grad": fg.grad, "jvp": lambda f: lambda x: fg.jvp(f, (x,), (1.0,))[1]}
    assert d[outer](lambda x: x * d[inner](lambda y: x + y)(1.0))(1.0) == 1.0


def test_closure_over_traced_values_at_every_level():
    def f(x):
        def g(y):
            def h(z):
                return x * y**2 * z**3

            return fg.grad(h)(y)

        return fg.grad(g)(x)

    # h' = 3 x y² z² at z = y: 3 x y⁴; d/dy = 12 x y³ at y = x: 12 x⁴; d/dx = 48 x³
    np.testing.assert_allclose(fg.grad(f)(1.3), 48 * 1.3**3, rtol=1e-13)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_value_law(program):
    """The value is untouched, bit for bit, with its dtype and type."""
    for x in (X, X.astype(np.float32)):
        plain = program(x)
        traced = fg.vjp(program, x)[0]
        forward = fg.jvp(program, (x,), (np.ones_like(x),))[0]
        for want, *found in zip(
            fg.tree.leaves(plain), fg.tree.leaves(traced), fg.tree.leaves(forward), strict=True
        ):
            for got in found:
                assert type(got) is type(want)
                assert got.dtype == want.dtype
                assert got.tobytes() == want.tobytes()
