"""A primitive is told by its record: one of a user may have the name of any other, and its own
meaning, in every transform and in native code.
"""

import random

import numba
import numpy as np
import pytest
from amount import examples

import funcgrad as fg
import funcgrad.torch
from funcgrad.compile.scalars import MATHEMATICS
from funcgrad.core.primitive import PRIMITIVES
from funcgrad.errors import NativeCodeError, NotDifferentiableError
from funcgrad.extend import ArrayType, elementwise, explicit, from_numba, linear, multilinear

EVERY_NAME = sorted({n for n, p in PRIMITIVES.items() if p.is_ours} | set(MATHEMATICS))
NAMES = random.Random(0).sample(EVERY_NAME, examples(len(EVERY_NAME)))
X = np.array([0.5, -1.5, 2.0])
Y = np.array([1.0, 2.0, 4.0])
SAME = lambda x, *_: ArrayType(x.shape, x.dtype)


def unary(name):
    return elementwise(lambda x: 100.0 * x, lambda _, x: 100.0 + 0.0 * x, name=name)


def binary(name):
    return elementwise(
        lambda x, y: 3.0 * x - y * y,
        lambda _, x, __: 3.0 + 0.0 * x,
        lambda _, __, y: -2.0 * y,
        name=name,
    )


def agree(named, want, *args):
    """Whether operations, by name, give what is wanted: eager, mapped, and in one program."""
    together = lambda *xs: [op(*xs) for op in named.values()]
    lanes = lambda x: np.stack([x, x])
    mapped = [y[1] for y in fg.vmap(together)(*map(lanes, args))]
    for found in (together(*args), fg.jit(together)(*args), mapped):
        wrong = [n for n, y in zip(named, found, strict=True) if not np.array_equal(y, want)]
        assert not wrong


def agree_in_gradients(named, want, *args):
    """The same of the gradients of sums, taken before and after staging, and of one operation."""
    every = tuple(range(len(args)))
    gradient = lambda op: fg.grad(lambda *xs: np.sum(op(*xs)), every)
    compiled = fg.jit(lambda *xs: [gradient(op)(*xs) for op in named.values()])(*args)
    whole = fg.jit(lambda *xs: [op(*xs) for op in named.values()])
    for k, (name, op) in enumerate(named.items()):
        for found in (gradient(op)(*args), compiled[k]):
            for got, wanted in zip(found, want, strict=True):
                assert np.allclose(got, wanted, rtol=1e-14), name
    total = fg.grad(lambda *xs: sum(np.sum(y) for y in whole(*xs)), every)(*args)
    for got, wanted in zip(total, want, strict=True):
        np.testing.assert_allclose(got, len(named) * wanted, rtol=1e-13)


def test_operations_of_one_operand_with_the_names_of_ours():
    named = {name: unary(name) for name in NAMES}
    agree(named, 100.0 * X, X)
    agree_in_gradients(named, [np.full(3, 100.0)], X)


def test_operations_of_two_operands_with_the_names_of_ours():
    named = {name: binary(name) for name in NAMES}
    agree(named, 3.0 * X - Y * Y, X, Y)
    agree_in_gradients(named, [np.full(3, 3.0), -2.0 * Y], X, Y)
    turned = {name: lambda x, y, op=op: op(x, y) - op(y, x) for name, op in named.items()}
    agree(turned, (3.0 * X - Y * Y) - (3.0 * Y - X * X), X, Y)


def test_linear_operations_with_the_names_of_ours():
    named = {
        name: linear(
            name,
            lambda x: 7.0 * x[..., ::-1],
            lambda g, x: 7.0 * g[..., ::-1],
            SAME,
            lambda size, xs, *_: 7.0 * xs[0][..., ::-1],
        )
        for name in NAMES
    }
    agree(named, 7.0 * X[::-1], X)
    agree_in_gradients(named, [np.full(3, 7.0)], X)


def test_multilinear_operations_with_the_names_of_ours():
    named = {
        name: multilinear(
            name,
            lambda x, y: 5.0 * x * y,
            (lambda g, x, y: 5.0 * g * y, lambda g, x, y: 5.0 * g * x),
            SAME,
            lambda size, xs, *_: 5.0 * xs[0] * xs[1],
        )
        for name in NAMES
    }
    agree(named, 5.0 * X * Y, X, Y)
    agree_in_gradients(named, [5.0 * Y, 5.0 * X], X, Y)


def test_operations_that_state_a_vjp_with_the_names_of_ours():
    rule = [lambda g, _, x: 3.0 * g * x * x]
    named = {name: explicit(name, lambda x: x * x * x, type_rule=SAME, vjp=rule) for name in NAMES}
    agree(named, X * X * X, X)
    agree_in_gradients(named, [3.0 * X * X], X)


@pytest.mark.parametrize("name", ["sigmoid", "add", "matmul", "sort", "floor_divide", "cumsum"])
def test_what_has_no_native_form_is_refused_by_njit_under_any_name(name):
    f = fg.jit(unary(name)).njit

    @numba.njit
    def call(x):
        return f(x)

    with pytest.raises((NativeCodeError, numba.TypingError), match="no native form"):
        call(X)


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "multiply", "sum"])
def test_a_compiled_function_with_the_name_of_ours(name):
    op = from_numba(numba.njit(lambda x: 100.0 * x), [lambda x: 100.0], name=name)
    np.testing.assert_array_equal(fg.jit(op)(X), 100.0 * X)
    np.testing.assert_array_equal(fg.jit(fg.grad(lambda x: np.sum(op(x))))(X), np.full(3, 100.0))
    f = fg.jit(lambda x: op(x) + x).njit
    np.testing.assert_array_equal(numba.njit(lambda x: f(x))(X), 101.0 * X)


def test_a_primitive_that_is_defined_again_is_another_one():
    for factor in (2.0, 3.0):  # a cell of a notebook that is run twice
        op = elementwise(lambda x: factor * x, lambda _, x: factor + 0.0 * x, name="again.times")
        np.testing.assert_array_equal(fg.jit(op)(X), factor * X)
        np.testing.assert_array_equal(fg.grad(lambda x: np.sum(op(x)))(X), np.full(3, factor))
    assert PRIMITIVES["again.times"] is op.primitive


def test_ours_keep_their_names():
    before = dict(PRIMITIVES)
    op = unary("multiply")
    assert PRIMITIVES["multiply"] is before["multiply"] is not op.primitive
    assert not op.primitive.is_ours
    assert before["multiply"].is_ours


# ------------------------------------------------------------------- linear in what moves


def pulled_back(op):
    """A cotangent's rule that applies `op`, whose jvp is derived by transposing it."""
    made = explicit("names.rule", np.sin, type_rule=SAME, vjp=[lambda g, y, x: op(g)])
    return fg.jvp(made, (X,), (np.ones(3),))[1]


@pytest.mark.parametrize("name", ["multiply", "divide", "negative", "add"])
def test_an_operation_is_linear_by_its_partials_not_by_its_name(name):
    scaled = elementwise(
        lambda x, y: x * y, lambda _, __, y: y, lambda _, x, __: x, name="names.scaled"
    )
    square = elementwise(lambda x: x * x, lambda _, x: 2.0 * x, name=name)
    shifted = elementwise(lambda x: x + 1.0, 1, name=name)
    np.testing.assert_array_equal(pulled_back(lambda g: scaled(g, 4.0)), np.full(3, 4.0))
    for op in (square, shifted):
        with pytest.raises(NotDifferentiableError, match="not linear"):
            pulled_back(op)
        with pytest.raises(NotDifferentiableError, match="not linear"):
            fg.jit(lambda: pulled_back(op))()


def test_a_constant_that_is_added_is_not_linear_in_a_graph_either():
    shifted = elementwise(
        lambda x, y: x * y + 1.0, lambda _, __, y: y, lambda _, x, __: x, name="add"
    )
    made = explicit("names.affine", np.sin, type_rule=SAME, vjp=[lambda g, y, x: shifted(g, x)])
    with pytest.raises(NotDifferentiableError, match="not linear"):
        fg.jit(lambda x: fg.jvp(made, (x,), (x,))[1])(X)


def test_equal_operations_of_one_name_are_not_merged():
    one, two = unary("same.name"), elementwise(lambda x: x + 1.0, 1, name="same.name")
    np.testing.assert_array_equal(fg.jit(lambda x: one(x) - two(x))(X), 99.0 * X - 1.0)
