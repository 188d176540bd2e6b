"""`jit` of everything that can be called, in every place where a function may stand."""

import copy
import dataclasses
import functools
import inspect
import pickle
import typing

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import TreeError


class Model:
    """An object whose methods are jitted; it is no tree of arrays."""

    scale = 2.0

    def __init__(self, weight):
        self.weight = np.array(weight)
        self.name = "a text"

    @fg.jit
    def apply(self, x):
        return self.weight * x

    @functools.partial(fg.jit, static_argnums=(0, 2), donate_argnums=-1)
    def power(self, x, n, y):
        return self.weight * x**n + y

    @staticmethod
    @fg.jit
    def inside(x):
        return 3.0 * x

    @fg.jit
    @staticmethod
    def outside(x):
        return 3.0 * x

    @classmethod
    @fg.jit
    def of_class(cls, x):
        return cls.scale * x

    def __call__(self, x):
        return self.weight * x

    def plain(self, x):
        return self.weight * x


@fg.jit
def module_level(x):
    return 2.0 * x


def test_methods_see_their_object():
    a, b = Model([1.0, 2.0]), Model([3.0, 4.0])
    for _ in range(3):
        np.testing.assert_array_equal(a.apply(2.0), [2.0, 4.0])
        np.testing.assert_array_equal(b.apply(2.0), [6.0, 8.0])
    a.weight[0] = 7.0
    np.testing.assert_array_equal(a.apply(2.0), [14.0, 4.0])
    a.weight = np.ones(3)
    np.testing.assert_array_equal(a.apply(2.0), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(b.power(2.0, 3, np.ones(2)), [25.0, 33.0])
    np.testing.assert_array_equal(b.power(x=2.0, n=3, y=np.ones(2)), [25.0, 33.0])
    assert fg.grad(lambda x: np.sum(b.apply(x)))(1.0) == 7.0
    assert fg.jit(fg.grad(lambda x: np.sum(b.apply(x))))(1.0) == 7.0


def test_methods_of_two_objects_share_what_was_traced():
    models = [Model([float(k), 1.0]) for k in range(5)]
    for m in models:
        m.apply(2.0)
    assert Model.apply.report().count("\n") == models[-1].apply.report().count("\n")
    assert sum("content" in line for line in models[0].apply.report().splitlines()) <= 5


def test_methods_of_classes():
    m = Model([1.0])
    assert Model.inside(2.0) == m.inside(2.0) == Model.outside(2.0) == m.outside(2.0) == 6.0
    assert Model.of_class(2.0) == m.of_class(2.0) == 4.0
    Model.scale = 5.0
    try:
        assert Model.of_class(2.0) == m.of_class(2.0) == 10.0
    finally:
        Model.scale = 2.0


def test_methods_of_trees_take_their_arrays_as_arguments():
    @dataclasses.dataclass
    class Pair:
        x: typing.Any
        y: typing.Any

        @fg.jit
        def swapped(self):
            return Pair(self.y, 2.0 * self.x)

    pair = Pair(1.0, np.ones(2))
    assert pair.swapped().y == 2.0
    pair.x = 4.0
    assert pair.swapped().y == 8.0
    assert Pair.swapped.report().startswith("1. ")
    assert "2. " not in Pair.swapped.report()


class Slotted:
    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k


def test_static_objects_are_looked_at():
    f = fg.jit(lambda s, x: s.k * x, static_argnums=0)
    for make in (lambda k: type("A", (), {"k": k})(), Slotted):
        one, two = make(3.0), make(4.0)
        for _ in range(3):
            assert (f(one, 2.0), f(two, 2.0)) == (6.0, 8.0)
        two.k = 5.0
        assert (f(one, 2.0), f(two, 2.0)) == (6.0, 10.0)
        one.k = np.array([1.0, 2.0])
        np.testing.assert_array_equal(f(one, 2.0), [2.0, 4.0])
        one.k[0] = 9.0
        np.testing.assert_array_equal(f(one, 2.0), [18.0, 4.0])
        assert "a static argument" in f.report()


def test_static_functions_are_looked_at():
    c = 2.0

    def h(x):
        return c * x

    f = fg.jit(lambda g, x: g(x), static_argnames="g")
    assert [f(h, 1.0), f(g=h, x=1.0)] == [2.0, 2.0]
    c = 3.0
    assert [f(h, 1.0), f(g=h, x=1.0), f(np.sin, 0.0)] == [3.0, 3.0, 0.0]


def test_functions_in_a_loop():
    late = [fg.jit(lambda x: x * k) for k in range(3)]
    early = [fg.jit(lambda x, k=k: x * k) for k in range(3)]
    assert [f(1.0) for f in late] == [2.0, 2.0, 2.0]
    assert [f(1.0) for f in early] == [0.0, 1.0, 2.0]


def test_a_closure_that_is_bound_anew():
    c = 2.0

    @fg.jit
    def f(x):
        return c * x

    assert f(1.0) == 2.0
    c = 3.0
    assert f(1.0) == 3.0
    c = np.ones(2)
    np.testing.assert_array_equal(f(1.0), c)


def test_default_arguments():
    d = np.ones(2)

    @fg.jit
    def f(x, w=d, *, n=2):
        return w * x**n

    np.testing.assert_array_equal(f(3.0), [9.0, 9.0])
    d[0] = 2.0
    np.testing.assert_array_equal(f(3.0), [18.0, 9.0])
    np.testing.assert_array_equal(f(3.0, np.ones(1), n=1), [3.0])


def test_every_kind_of_parameter():
    @fg.jit
    def f(first, /, *rest, only, **named):
        return first + sum(rest) * only + named.get("a", 0.0) - named.get("b", 0.0)

    assert f(1.0, 2.0, 3.0, only=2.0) == 11.0
    assert f(1.0, only=2.0, b=1.0, a=5.0) == f(1.0, a=5.0, b=1.0, only=2.0) == 5.0
    with pytest.raises(TypeError, match="only"):
        f(1.0)
    assert str(inspect.signature(f)) == "(first, /, *rest, only, **named)"


@pytest.mark.parametrize(
    "f",
    [
        functools.partial(lambda x, y: x * y, 3.0),
        functools.partial(lambda x, y: x * y, y=3.0),
        Model([3.0]),
        Model([3.0]).plain,
        functools.partial(np.multiply, 3.0),
    ],
)
def test_other_callables(f):
    assert fg.jit(f)(2.0) == 6.0
    assert fg.jit(fg.grad(lambda x: np.sum(f(x))))(2.0) == 3.0


def numbers(x):
    for k in range(3):
        yield k * x


def test_generators():
    assert fg.jit(lambda x: sum(numbers(x)))(2.0) == 6.0
    with pytest.raises(TreeError, match="output of numbers is 'generator'"):
        fg.jit(numbers)(2.0)
    with pytest.raises(TreeError, match="'generator'"):
        fg.jit(sum)(numbers(2.0))


def test_recursion():
    f = fg.jit(lambda x, n: x if n == 0 else x * f(x, n - 1), static_argnums=1)
    assert f(2.0, 3) == 16.0

    @fg.jit
    def endless(x):
        return endless(x)

    with pytest.raises(RecursionError):
        endless(1.0)
    assert f(2.0, 4) == 32.0


def test_an_exception_half_way_leaves_nothing_behind():
    calls = []

    @fg.jit
    def f(x):
        calls.append(1)
        y = np.sin(x)
        if len(calls) == 1:
            raise ValueError("half way")
        return y

    with pytest.raises(ValueError, match="half way"):
        f(1.0)
    assert f(1.0) == f(1.0) == np.sin(1.0)


def test_pickles_and_copies():
    again = pickle.loads(pickle.dumps(module_level))
    assert again is module_level
    model = Model([3.0])
    model.apply(1.0)
    for made in (
        copy.copy(module_level),
        copy.deepcopy(module_level),
        pickle.loads(pickle.dumps(fg.jit(numbers_sum, static_argnums=1))),
        copy.deepcopy(fg.jit(lambda x: 2.0 * x)),
        pickle.loads(pickle.dumps(fg.jit(Model([2.0]).plain))),
        pickle.loads(pickle.dumps(Model([2.0]).apply)),
        copy.deepcopy(Model([2.0]).apply),
    ):
        assert made(4.0) == 8.0
    other = copy.copy(model)
    other.weight = np.array([5.0])
    assert (model.apply(1.0), other.apply(1.0)) == (3.0, 5.0)
    assert pickle.loads(pickle.dumps(model)).apply(1.0) == 3.0


def numbers_sum(x, n=2):
    return n * x


@fg.grad
def decorated(x):
    return x**3


TRANSFORMED = {
    "grad": fg.grad,
    "value and gradient": lambda f: fg.value_and_grad(f, (0,)),
    "of the second order": lambda f: fg.grad(fg.grad(f)),
    "jit of grad": lambda f: fg.jit(fg.grad(f)),
    "grad of jit": lambda f: fg.grad(fg.jit(f)),
    "jacobian": fg.jacobian,
    "hessian": fg.hessian,
    "vmap": lambda f: fg.vmap(f, axis_size=3, in_axes=None),
    "checkpoint": lambda f: fg.grad(fg.checkpoint(f)),
    "partial": lambda f: fg.jit(functools.partial(f, n=3)),
}


def cubic(x, n=2):
    return n * x**3


@pytest.mark.parametrize("name", TRANSFORMED)
@pytest.mark.parametrize(
    "again", [lambda f: pickle.loads(pickle.dumps(f)), copy.copy, copy.deepcopy]
)
def test_what_transforms_make_is_pickled_and_copied(name, again):
    f = TRANSFORMED[name](cubic)
    made = again(f)
    for got, want in zip(fg.tree.leaves(made(2.0)), fg.tree.leaves(f(2.0)), strict=True):
        np.testing.assert_array_equal(got, want)
    assert again(decorated) is decorated


def test_what_transforms_make_is_as_the_function():
    f = fg.grad(cubic)
    assert (f.__name__, f.__module__, str(inspect.signature(f))) == (
        "cubic",
        __name__,
        "(x, n=2)",
    )
    assert repr(f) == "<grad of cubic>"

    class Potential:
        k = 2.0

        @fg.grad
        def energy(self, x):
            return self.k * x**2

        @functools.partial(fg.grad, argnums=1)
        def force(self, x):
            return self.k * x**2

    assert Potential().force(3.0) == 12.0
    with pytest.raises(TreeError, match="argument 0 of"):
        Potential().energy(3.0)


def test_what_it_says_of_itself():
    assert repr(module_level) == "<jit of module_level>"
    assert repr(Model([1.0]).apply) == "<jit of Model.apply>"
    with pytest.raises(TypeError, match=r"jit: 3 is no function\n  at .*test_callables"):
        fg.jit(3)
