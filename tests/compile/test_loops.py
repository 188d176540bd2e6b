"""Fusion and lowering, executed in plain Python, against the graph interpreter."""

import by_loops
import numpy as np
import pytest
from nests import NESTS, chain, cross_entropy, layer_norm
from programs import PROGRAMS, X

import funcgrad as fg
from funcgrad.compile.loops import show
from funcgrad.compile.lower import lower
from funcgrad.graph.interpret import evaluate
from funcgrad.passes.pipeline import optimize


def assert_close(got, want):
    for g, w in zip(got, want, strict=True):
        w = np.asarray(w)
        assert g.dtype == w.dtype and g.shape == w.shape
        eps = np.finfo(w.dtype).eps if w.dtype.kind in "fc" else 0
        scale = np.max(np.abs(w)) if w.size and eps else 0
        np.testing.assert_allclose(g, w, rtol=256 * eps, atol=1024 * eps * scale)


@pytest.mark.parametrize("name", NESTS)
def test_nests(name):
    f, args = NESTS[name]
    graph = fg.make_graph(f)(*args)
    got, held = by_loops.evaluate(optimize(graph), *args)
    assert held
    assert_close(got, evaluate(graph, *args))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("derive", ["value", "grad", "hessian"])
def test_programs(program, derive):
    def loss(x):
        return sum(np.sum(leaf * leaf) for leaf in fg.tree.leaves(program(x)))

    f = {"value": program, "grad": fg.grad(loss), "hessian": fg.hessian(loss)}[derive]
    graph = fg.make_graph(f)(X)
    got, held = by_loops.evaluate(optimize(graph), X)
    assert held
    assert_close(got, evaluate(graph, X))


@pytest.mark.parametrize(
    ("f", "name", "kernels"),
    [
        (fg.value_and_grad(chain), "chain", 1),
        (fg.value_and_grad(cross_entropy), "cross-entropy", 2),  # the scalars at the end
        (fg.value_and_grad(layer_norm, (0, 1, 2)), "layer norm", 1),
    ],
)
def test_what_belongs_together_is_one_kernel(f, name, kernels):
    plan = by_loops.plan_of(optimize(fg.make_graph(f)(*NESTS[name][1])))
    assert len(plan.steps) == kernels


def test_kernels_carry_no_extents():
    def text(n, m):
        x = np.ones((n, m))
        plan = by_loops.plan_of(optimize(fg.make_graph(lambda x: x.var(1) + x.mean(1))(x)))
        (region,) = by_loops.regions(plan)
        return show(lower(plan, region, by_loops.FUNCTIONS, "k").kernel)

    assert len({text(n, m) for n, m in ((10, 20), (10, 21), (17, 300), (300, 40), (5, 2000))}) == 1


def test_an_index_out_of_bounds_is_noticed():
    x, at = np.arange(5.0), np.array([0, 4, 5])
    graph = optimize(fg.make_graph(lambda x, at: x[at] * 2.0)(x, at))
    assert not by_loops.evaluate(graph, x, at)[1]
    assert by_loops.evaluate(graph, x, at - 1)[1]
    assert not by_loops.evaluate(graph, x, at - 6)[1]
