"""Rules that are stated for one mode: the other one is derived, and kept as a graph."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.core.forms import Explicit
from funcgrad.core.primitive import PRIMITIVES
from funcgrad.core.tracer import bind
from funcgrad.core.types import is_inexact
from funcgrad.extend import ArrayType, explicit
from funcgrad.graph.ir import Graph

X = np.array([[0.3, -0.6, 0.9], [1.5, 0.2, -0.1]])


def ours():
    return [p for p in PRIMITIVES.values() if isinstance(p, Explicit) and p.is_ours]


def test_a_record_that_states_both_modes_says_why():
    stated = {p.name: p for p in ours() if p.vjp_rule is not None and p.jvp_stated is not None}
    assert len(stated) > 5
    assert [name for name, p in stated.items() if not p.both] == []
    assert [p.name for p in ours() if p.both and p.name not in stated] == []


def derived_cases():
    for p in ours():
        of_its_own = type(p).jvp is not Explicit.jvp  # of the composition that its vjp is of
        # those of native steps keep what only their way back reads, and have tests of their own
        if p.sample is None or of_its_own:
            continue
        if p.vjp_rule is None or p.jvp_stated is None:
            yield p.name


def _ones(y):
    """A cotangent; of integers, which have none, nothing."""
    return np.ones_like(y) if is_inexact(np.asarray(y).dtype) else np.zeros_like(y)


@pytest.mark.parametrize("name", list(derived_cases()))
def test_what_is_kept_of_a_derived_rule_is_what_is_derived_anew(name):
    p = PRIMITIVES[name]
    sample = p.sample()[0]
    moving = [k for k, x in enumerate(sample.args) if is_inexact(np.asarray(x).dtype)]

    def f(*xs):
        args = list(sample.args)
        for k, x in zip(moving, xs, strict=True):
            args[k] = x
        return bind(p, args, sample.params)

    primals = tuple(np.asarray(sample.args[k]) for k in moving)
    tangents = tuple(
        np.linspace(-1.0, 1.0, x.size).reshape(x.shape).astype(x.dtype) for x in primals
    )
    p.derived.clear()
    found = [fg.tree.leaves(fg.jvp(f, primals, tangents)) for _ in range(3)]
    cotangents = fg.tree.map(_ones, fg.vjp(f, *primals)[0])
    back = [fg.tree.leaves(fg.vjp(f, *primals)[1](cotangents)) for _ in range(3)]
    kept = [g for g in p.derived.values() if isinstance(g, Graph)]
    assert kept
    for runs in (found, back):
        for again in runs[1:]:
            for got, want in zip(again, runs[0], strict=True):
                np.testing.assert_array_equal(got, want)


def test_of_other_types_another_graph_is_kept_and_not_too_many():
    p = PRIMITIVES["layer_norm"]
    params = {"axes": (1,), "eps": 1e-5, "scaled": False, "moved": False}
    f = lambda x: bind(p, (x, 1.0, 0.0), params)
    for rows in range(2, 150):
        x = np.ones((rows, 3)) * X[0]
        for _ in range(2):
            moved = fg.jvp(f, (x,), (np.ones_like(x),))[1]
        np.testing.assert_allclose(moved, 0.0, atol=1e-12)
    assert len(p.derived) <= 64


def test_rules_of_users_are_not_kept():
    factor = [2.0]
    op = explicit(
        "derived.scaled",
        lambda x: 2.0 * x,
        type_rule=lambda x: ArrayType(x.shape, x.dtype),
        vjp=[lambda g, y, x: g * factor[0]],
    )
    for factor[0] in (2.0, 2.0, 2.0, 5.0):
        np.testing.assert_array_equal(fg.jvp(op, (X,), (X,))[1], factor[0] * X)


def test_a_tangent_that_is_traced_meets_the_kept_graph():
    f = lambda x: np.sum(np.sin(np.max(x, axis=1)) + np.prod(x, axis=1) + np.var(x, axis=1))
    want = fg.jacrev(fg.grad(f))(X)
    for _ in range(3):
        np.testing.assert_allclose(fg.hessian(f)(X), want, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(fg.jit(fg.hessian(f))(X), want, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(fg.jacfwd(fg.jacfwd(f))(X), want, rtol=1e-10, atol=1e-12)
