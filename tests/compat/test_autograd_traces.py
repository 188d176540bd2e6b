"""`trace` and `Node` of autograd's tracer: what is seen of a computation."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.compat.autograd.numpy as np_
from funcgrad.compat.autograd import grad
from funcgrad.compat.autograd.extend import defvjp, primitive
from funcgrad.compat.autograd.tracer import Node, trace
from funcgrad.compat.autograd.util import subval, toposort
from funcgrad.errors import LeakedTracerError

X = np.array([0.5, -1.0, 2.0])


class Seen(Node):
    def __init__(self, value, fun, args, kwargs, parent_argnums, parents):
        self.value, self.fun, self.args, self.kwargs = value, fun, args, kwargs
        self.parent_argnums, self.parents = parent_argnums, parents

    def initialize_root(self, x=None):
        self.value, self.parents, self.fun = x, [], None


def seen(f, x):
    return trace(Seen.new_root(x), f, x)


def test_every_operation_that_depends_on_the_argument_is_seen():
    value, end = seen(lambda x: np.sum(np.sin(x) * np.exp(np.ones(3)) + x), X)
    assert value == np.sum(np.sin(X) * np.exp(np.ones(3)) + X)
    names = [node.fun.__name__ for node in toposort(end) if node.fun]
    assert names == ["sum", "add", "multiply", "sin"]
    product = end.parents[0].parents[0]
    assert product.parent_argnums == (0,) and np.array_equal(product.args[1], np.exp(np.ones(3)))


def test_operations_can_be_run_again_with_their_arguments():
    _, end = seen(lambda x: np.mean(np.reshape(np.outer(x, x), (3, 3)).T, axis=1)[0], X)
    for node in toposort(end):
        if node.fun:
            assert np.array_equal(node.fun(*node.args, **node.kwargs), node.value), node.fun


def test_operations_of_several_results_have_one_node():
    value, end = seen(lambda x: np.sum(np.linalg.eigh(np.outer(x, x))[1] ** 2), X)
    assert np.allclose(value, 3)
    (power,) = end.parents
    assert power.parents[0].fun.__name__ == "eigh" and isinstance(power.parents[0].value, tuple)


def test_writes_and_branches_on_values():
    def f(x):
        y = x * 2
        y[0] = 7.0
        return np.sum(y) if x[1] < 0 else 0.0

    assert seen(f, X)[0] == 7.0 - 2.0 + 4.0


def test_values_given_to_nodes_cannot_be_written_into():
    _, end = seen(lambda x: x * 2, X)
    for array in (end.value, end.args[0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_gradients_within_and_without():
    cube = lambda x: x * x * x
    assert seen(grad(cube), 2.0)[0] == 12.0
    assert seen(grad(grad(cube)), 2.0)[0] == 12.0
    assert grad(lambda x: seen(cube, x)[0])(2.0) == 12.0
    assert grad(grad(lambda x: seen(cube, x)[0]))(2.0) == 12.0
    assert seen(lambda x: seen(cube, x)[0] + x, 2.0)[0] == 10.0


def test_within_jit_and_vmap():
    f = lambda x: seen(lambda y: np.sin(y) * y, x)[0]
    assert np.isclose(fg.jit(f)(2.0), np.sin(2.0) * 2.0, rtol=1e-15)
    assert np.array_equal(fg.vmap(f)(X), np.sin(X) * X)


def test_primitives_of_users():
    @primitive
    def double(x):
        return 2 * np.asarray(x)

    defvjp(double, lambda ans, x: lambda g: 2 * g)
    assert seen(lambda x: np_.sum(double(x)), X)[0] == 3.0
    assert np.array_equal(seen(grad(lambda x: np_.sum(double(x) * x)), X)[0], 4 * X)


def test_an_output_that_does_not_depend_is_a_warning():
    with pytest.warns(UserWarning, match="independent of input"):
        assert seen(lambda x: 3.0, 1.0) == (3.0, None)


def test_a_value_that_is_kept_is_named():
    kept = []
    seen(lambda x: kept.append(x) or x, 1.0)
    with pytest.raises(LeakedTracerError, match="a value traced by trace"):
        kept[0] + 1


def test_a_class_without_its_methods_says_what_is_missing():
    class Empty(Node):
        pass

    with pytest.raises(NotImplementedError, match=r"Empty\.initialize_root"):
        Empty.new_root()
    start = Empty.__new__(Empty)
    with pytest.raises(NotImplementedError, match=r"Empty\.__init__"):
        trace(start, np.sin, 1.0)


def test_helpers():
    assert subval([1, 2, 3], 1, 9) == (1, 9, 3)
    diamond = {"d": ["b", "c"], "b": ["a"], "c": ["a"], "a": []}
    order = list(toposort("d", diamond.get))
    assert order[0] == "d" and order[-1] == "a" and sorted(order) == list("abcd")
