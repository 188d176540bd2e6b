"""Staging, value numbering, the verifier, printing and the interpreter."""

import numpy as np
import pytest
from programs import PROGRAMS, X

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import AbstractValueError, GraphError
from funcgrad.graph.check import check
from funcgrad.graph.interpret import evaluate
from funcgrad.graph.ir import Equation, Graph, Literal


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_graphs_are_sound_and_give_the_same_bits(program):
    graph = fg.make_graph(program)(X)
    check(graph)
    for got, want in zip(evaluate(graph, X), fg.tree.leaves(program(X)), strict=True):
        assert got.tobytes() == want.tobytes()
        assert got.dtype == want.dtype


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_derived_graphs_are_sound(program):
    def loss(x):
        return sum(np.sum(leaf * leaf) for leaf in fg.tree.leaves(program(x)))

    check(fg.make_graph(fg.grad(loss))(X))
    check(fg.make_graph(fg.vmap(fg.grad(loss)))(np.stack([X, 2 * X])))


def test_equal_equations_become_one():
    graph = fg.make_graph(lambda x: np.sin(x) * np.sin(x) + np.cos(x))(1.0)
    assert [e.prim.name for e in graph.equations] == ["sin", "multiply", "cos", "add"]


def test_numbers_of_different_type_and_sign_stay_apart():
    graph = fg.make_graph(lambda x: (x * 0.0, x * -0.0, x * 0, x + float("nan")))(1.0)
    assert len(graph.equations) == 4


def test_dead_code_is_left_out():
    def f(x):
        np.exp(x)
        return x * 2.0

    assert len(fg.make_graph(f)(1.0).equations) == 1


def test_recomputation_is_kept_apart():
    graph = fg.make_graph(fg.grad(fg.checkpoint(lambda x: np.sin(np.exp(x)))))(1.0)
    assert {e.scope for e in graph.equations} != {0}
    assert "@scope" in str(graph)


def test_printed_form():
    graph = fg.make_graph(lambda x, w: {"y": w @ x + 1.0})(np.ones(3), np.ones((2, 3)))
    assert str(graph) == (
        "graph(a: float64[3], b: float64[2,3]) {\n"
        "  c: float64[2] = matmul b a\n"
        "  d: float64[2] = add c 1.0\n"
        "  return d\n"
        "}"
    )


def test_the_verifier_refuses():
    graph = fg.make_graph(lambda x: np.sin(x) * 2.0)(1.0)
    first, second = graph.equations
    with pytest.raises(GraphError, match="used in multiply before it is defined"):
        check(Graph(graph.inputs, (second, first), graph.outputs))
    with pytest.raises(GraphError, match="defined twice"):
        check(Graph(graph.inputs, (first, first, second), graph.outputs))
    wrong = Equation(
        first.prim, (Literal(np.float32(1), fg.core.types.type_of_raw(np.float32(1))),), {},
        first.outputs, 0, first.source,
    )  # fmt: skip
    with pytest.raises(GraphError, match="sin gives float32"):
        check(Graph(graph.inputs, (wrong, second), graph.outputs))


def test_python_branches_name_the_line():
    with pytest.raises(AbstractValueError, match=r"test_graph\.py.*") as caught:
        fg.jit(lambda x: x if x > 0 else -x)(1.0)
    assert "where" in str(caught.value)
    assert "static_argnums" in str(caught.value)


def test_eval_shape_computes_nothing():
    out = fg.eval_shape(lambda x: {"y": fnp.exp(x) @ x.T}, fg.ShapeDtypeStruct((2, 3), np.float32))
    assert out == {"y": fg.ShapeDtypeStruct((2, 2), np.float32)}


@pytest.mark.parametrize("program", [
    lambda x: fnp.zeros(2).__setitem__(slice(None), x),
    lambda x: x + np.ones(2),
    lambda x: x.reshape(2, 2),
    lambda x: np.broadcast_to(x, (2, 2)),
    lambda x: np.ones((2, 2)) @ x,
    lambda x: np.concatenate([x, np.ones((2, 2))]),
    lambda x: np.where(x > 0, x, np.ones(2)),
    lambda x: x[3],
    lambda x: np.sum(x, axis=1),
])  # fmt: skip
def test_shapes_that_do_not_fit_are_refused_while_staging(program):
    """Also where the result is not used: nothing unsound gets into a graph."""

    def f(x):
        program(x)
        return x

    with pytest.raises((ValueError, IndexError)):
        fg.make_graph(f)(np.ones(3))
