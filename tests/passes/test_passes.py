"""The passes: sound graphs after each, the same values, and what each is there for."""

import numpy as np
import pytest
from programs import PROGRAMS, X

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.compile.execute import executable
from funcgrad.graph.check import check
from funcgrad.graph.interpret import evaluate
from funcgrad.passes.common import common_subexpressions
from funcgrad.passes.constants import constants
from funcgrad.passes.dead_code import dead_code
from funcgrad.passes.expand import expand
from funcgrad.passes.indexing import one_hot, sink_gathers
from funcgrad.passes.pipeline import optimize
from funcgrad.passes.simplify import simplify

SPECIAL = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 5e-324])


def verified(graph):
    return optimize(graph, lambda name, g: check(g))


def names(graph):
    return [e.prim.name for e in graph.equations]


def run(graph, *args):
    with np.errstate(all="ignore"):
        return [np.asarray(o) for o in evaluate(graph, *args)]


def assert_same_bits(got, want):
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype and g.shape == w.shape
        np.testing.assert_array_equal(g, w)
        np.testing.assert_array_equal(np.signbit(g) | np.isnan(g), np.signbit(w) | np.isnan(w))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("derive", ["value", "grad", "hessian"])
def test_programs_keep_their_values(program, derive):
    def loss(x):
        return sum(np.sum(leaf * leaf) for leaf in fg.tree.leaves(program(x)))

    f = {"value": program, "grad": fg.grad(loss), "hessian": fg.hessian(loss)}[derive]
    graph = fg.make_graph(f)(X)
    for got, want in zip(run(verified(graph), X), run(graph, X), strict=True):
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * 1.0,
        lambda x: 1.0 * x,
        lambda x: x * -1.0,
        lambda x: x * 0.0,
        lambda x: x + 0.0,
        lambda x: x + (-0.0),
        lambda x: x - 0.0,
        lambda x: x - (-0.0),
        lambda x: x / 1.0,
        lambda x: x / 4.0,
        lambda x: x / 3.0,
        lambda x: np.negative(np.negative(x)),
        lambda x: 2.0 - (-x),
        lambda x: x**2,
        lambda x: x**1,
        lambda x: x**0,
        lambda x: x**0.5,
        lambda x: np.where(x > 0, x, x),
        lambda x: x - x,
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_algebra_keeps_special_values(f, dtype):
    x = SPECIAL.astype(dtype)
    graph = fg.make_graph(lambda v: f(v))(x)
    check(simplify(graph))
    assert_same_bits(run(simplify(graph), x), run(graph, x))
    assert_same_bits(run(verified(graph), x), run(graph, x))


def test_products_with_one_vanish():
    graph = verified(fg.make_graph(fg.grad(lambda x: np.sum(np.sin(x))))(X))
    assert names(graph) == ["cos"]


def test_products_with_an_infinite_partial_are_products():
    graph = verified(fg.make_graph(fg.grad(lambda x: np.sum(np.sqrt(x) ** 2)))(X))
    assert "where" not in names(graph)
    np.testing.assert_array_equal(run(graph, np.zeros(3)), [np.full(3, np.nan)])


def test_a_choice_that_is_known_is_made_also_of_a_number_of_python():
    graph = fg.make_graph(lambda x: [np.where(False, x, 0.0), np.where(True, x, 0.0)])(X)
    made = simplify(graph)
    assert "where" not in names(made)
    assert_same_bits(run(made, X), run(graph, X))


def test_numbers_that_numbers_are_made_of_do_not_cut_a_kernel():
    """What a number that is used in a loop is used for besides stands before that loop, too."""

    def f(x, p, q):
        half = 0.5 * p
        y = np.sin(x * half)
        later = half * q
        z = y * later + x
        return np.exp(z) * (later + half)

    x, p, q = np.linspace(0.1, 2.0, 50), np.float64(0.7), np.float64(1.3)
    made = executable(fg.make_graph(f)(x, p, q))
    assert len(made.plan.steps) == 1, made.explain()
    np.testing.assert_allclose(made(x, p, q)[0], f(x, p, q), rtol=1e-14)


def test_one_choice_masks_a_chain():
    def f(x):
        return np.sum(np.where(x > 0, np.log(np.sqrt(np.sqrt(x))), 0.0))

    graph = verified(fg.make_graph(fg.grad(f))(X))
    assert names(graph).count("where") == 1


def test_common_subexpressions_are_found_after_simplification():
    graph = fg.make_graph(lambda x: np.exp(x * 1.0) + np.exp(x))(X)
    assert names(verified(graph)).count("exp") == 1


def test_scopes_of_checkpoints_stay_apart():
    graph = fg.make_graph(fg.grad(fg.checkpoint(lambda x: np.sum(np.sin(np.exp(x))))))(X)
    before = names(graph).count("exp")
    assert names(common_subexpressions(graph)).count("exp") == before


def test_uniform_constants_become_numbers():
    graph = fg.make_graph(lambda x: x + np.full(3, 2.5))(X)
    assert len(graph.constants) == 1
    small = dead_code(constants(graph))
    check(small)
    assert not small.constants
    assert_same_bits(run(small, X), run(graph, X))


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_the_sign_of_a_uniform_zero_is_kept(zero):
    graph = fg.make_graph(lambda x: x * np.full(3, zero))(X)
    assert_same_bits(run(verified(graph), X), run(graph, X))
    mixed = fg.make_graph(lambda x: x * np.array([0.0, -0.0, 0.0]))(X)
    assert constants(mixed).constants


def test_numbers_are_computed_once():
    graph = fg.make_graph(lambda x: x * fnp.exp(fnp.sum(fnp.ones(3)) * 0 + 1.0))(X)
    assert names(verified(graph))[-1] == "multiply"


@pytest.mark.parametrize("name", ["mean", "var", "std", "sum", "max", "min", "prod"])
@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": (0, 2), "keepdims": True}])
def test_reductions_are_written_out(name, options):
    x = np.random.default_rng(0).standard_normal((3, 4, 5))
    mask = x > 0
    for more in ({}, {"where": mask, "initial": 0.5}, {"dtype": np.float32}):
        if name in ("mean", "var", "std") and more:
            continue
        if name in ("max", "min") and "dtype" in more:
            continue
        graph = fg.make_graph(lambda v: getattr(fnp, name)(v, **options, **more))(x)
        small = expand(graph)
        check(small)
        np.testing.assert_allclose(run(small, x)[0], run(graph, x)[0], rtol=1e-6)


def cross_entropy(z, labels):
    z = z - z.max(1, keepdims=True)
    logs = z - np.log(np.exp(z).sum(1, keepdims=True))
    return -logs[np.arange(len(labels)), labels].mean()


def test_a_scatter_into_rows_becomes_a_choice():
    z, labels = np.random.default_rng(0).standard_normal((6, 5)), np.array([0, 4, -1, 2, 1, 1])
    graph = fg.make_graph(fg.value_and_grad(cross_entropy))(z, labels)
    check(one_hot(graph))
    small = verified(graph)
    assert "scatter_add" not in names(small)
    for got, want in zip(run(small, z, labels), run(graph, z, labels), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-16)
    with pytest.raises(IndexError):
        run(small, z, labels + 5)


def test_gathers_sink_to_the_operands():
    z, labels = np.random.default_rng(0).standard_normal((6, 5)), np.arange(6) % 5
    graph = sink_gathers(fg.make_graph(cross_entropy)(z, labels))
    check(graph)
    gathers = [e for e in graph.equations if e.prim.name == "gather"]
    assert [e.inputs[0] for e in gathers] == [graph.inputs[0]]


def test_gathers_sink_past_a_row_that_is_added():
    z, b, labels = (
        np.random.default_rng(0).standard_normal((6, 5)),
        np.arange(5.0),
        np.arange(6) % 5,
    )
    graph = fg.make_graph(lambda z, b: (z @ z.T @ z + b)[np.arange(6), labels] * 2.0)(z, b)
    small = sink_gathers(graph)
    check(small)
    np.testing.assert_array_equal(run(small, z, b)[0], run(graph, z, b)[0])
    assert names(small)[-2:] == ["add", "multiply"]
    check(
        sink_gathers(
            fg.make_graph(lambda z, b: (z + b[:, None, None])[labels, labels, labels])(z, b)
        )
    )


def test_the_transpose_of_a_new_axis_is_a_reshape():
    x = np.arange(6.0).reshape(3, 2)
    graph = fg.make_graph(fg.grad(lambda x: np.sum(np.sin(x[:, None] - x[None, ::-1]))))(x)
    assert names(verified(graph)).count("place") == 1  # of the reversal
    assert_same_bits(run(verified(graph), x), run(graph, x))


def test_no_elements_of_a_value_that_is_computed_on_the_way():
    def f(x):
        y = x.copy()
        y[np.zeros(3, bool)] = np.sum(x) * 0.3
        return np.sum(np.sin(y) * X)

    xs = np.ones((2, 3))
    assert_same_bits(fg.jit(fg.vmap(fg.grad(f)))(xs), fg.vmap(fg.grad(f))(xs))


def test_equal_factorisations_become_one():
    graph = fg.make_graph(lambda x: np.linalg.cholesky(x) + np.linalg.cholesky(x))(np.eye(3))
    assert [e.prim.name for e in common_subexpressions(graph).equations] == ["cholesky", "add"]
