"""A compiled function sees every change of what it reaches, in whatever way it reaches it."""

import collections
import contextvars
import enum
import functools
import itertools
import operator
import types
import weakref

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import funcgrad as fg
from funcgrad.compile.guards import Look
from funcgrad.transforms.captures import capture


class Number:
    """A number in a list, read by every special method."""

    def __init__(self):
        self.held = [2.0]

    def put(self, v):
        self.held[0] = v

    def __getitem__(self, k):
        return self.held[k]

    def __iter__(self):
        return iter(self.held)

    def __len__(self):
        return int(self.held[0])

    def __float__(self):
        return self.held[0]

    def __index__(self):
        return int(self.held[0])

    def __bool__(self):
        return self.held[0] > 2.5

    def __contains__(self, v):
        return v in self.held

    def __eq__(self, other):
        return self.held[0] == other

    __hash__ = None

    def __rmul__(self, other):
        return other * self.held[0]

    def __neg__(self):
        return -self.held[0]

    def __abs__(self):
        return abs(self.held[0])

    def __enter__(self):
        return self.held[0]

    def __exit__(self, *_):
        pass


def within(n, x):
    with n as k:
        return k * x


OPERATORS = {
    "item": lambda n, x: x * n[0],
    "iterated": lambda n, x: x * sum(n),
    "unpacked": lambda n, x: x * next(iter([*n])),
    "length": lambda n, x: x * len(n),
    "float": lambda n, x: x * float(n),
    "index": lambda n, x: x * [0, 1, 2, 3][n],
    "truth": lambda n, x: x if n else 2.0 * x,
    "contains": lambda n, x: x if 2.0 in n else 2.0 * x,
    "equal": lambda n, x: x if n == 2.0 else 2.0 * x,
    "reflected product": lambda n, x: x * n,
    "negative": lambda n, x: x * -n,
    "absolute": lambda n, x: x * abs(n),
    "context": within,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_objects_are_followed(name):
    n, use = Number(), OPERATORS[name]
    sees_the_change(lambda x: use(n, x), lambda: n.put(3.0))


def sees_the_change(f, change):
    jitted = fg.jit(f)
    for _ in range(3):
        assert jitted(2.0) == f(2.0)
    change()
    changed = f(2.0)
    for _ in range(3):
        assert jitted(2.0) == changed
    return changed


class Passing:
    """Its attributes are those of a dictionary that it holds."""

    def __init__(self):
        self.held = {"k": 2.0}

    def __getattr__(self, name):
        return self.__dict__["held"][name]


class Reader:
    def __get__(self, instance, owner):
        return instance._k


class Described:
    k = Reader()

    def __init__(self):
        self._k = 2.0


class Meta(type):
    @property
    def k(cls):
        return cls._k


class OfMeta(metaclass=Meta):
    _k = 2.0


class Choice(enum.Enum):
    TWO = 2.0
    THREE = 3.0


class Referred:
    k = 2.0


def attribute_of_a_function():
    def f(x):
        return x * f.k

    f.k = 2.0
    return f, lambda: setattr(f, "k", 3.0)


def context_variable():
    v = contextvars.ContextVar("v", default=2.0)
    return lambda x: x * v.get(), lambda: v.set(3.0)


def chain_map():
    m = collections.ChainMap({"k": 2.0}, {})
    return lambda x: x * m["k"], lambda: m.__setitem__("k", 3.0)


def passing():
    p = Passing()
    return lambda x: x * p.k, lambda: p.held.__setitem__("k", 3.0)


def getter():
    space, get = types.SimpleNamespace(k=2.0), operator.attrgetter("k")
    return lambda x: x * get(space), lambda: setattr(space, "k", 3.0)


def caller():
    held, call = [{"k": 2.0}], operator.methodcaller("get", "k")
    return lambda x: x * call(held[0]), lambda: held[0].__setitem__("k", 3.0)


def name_that_is_captured():
    space, name = types.SimpleNamespace(k=2.0), "k"
    return lambda x: x * getattr(space, name), lambda: setattr(space, "k", 3.0)


def enumeration():
    space = types.SimpleNamespace(choice=Choice.TWO)
    return lambda x: x * space.choice.value, lambda: setattr(space, "choice", Choice.THREE)


def weak_reference():
    held = Referred()
    reference = weakref.ref(held)
    return lambda x: x * reference().k, lambda: setattr(held, "k", 3.0)


def polynomial():
    p = np.polynomial.Polynomial([1.0, 2.0])
    return lambda x: p(x), lambda: p.coef.__setitem__(0, 5.0)


def spline():
    s = CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])
    return lambda x: x * s(1.5), lambda: s.c.__setitem__((3, 1), 9.0)


def metaclass():
    return lambda x: x * OfMeta.k, lambda: setattr(OfMeta, "_k", OfMeta._k + 1.0)


def descriptor():
    d = Described()
    return lambda x: x * d.k, lambda: setattr(d, "_k", 3.0)


def cached():
    held = [2.0]

    @functools.lru_cache
    def number():
        return held[0]

    return lambda x: x * number(), lambda: (held.__setitem__(0, 3.0), number.cache_clear())


PLACES = (
    attribute_of_a_function, context_variable, chain_map, passing, getter, caller, enumeration,
    name_that_is_captured, weak_reference, polynomial, spline, metaclass, descriptor, cached,
)  # fmt: skip


@pytest.mark.parametrize("make", PLACES)
def test_other_ways_to_a_number_are_followed(make):
    f, change = make()
    before = f(2.0)
    assert sees_the_change(f, change) != before


def test_keys_of_dictionaries_are_no_names_of_attributes():
    calls = itertools.count()
    space, parameters = types.SimpleNamespace(step=0), {"step": 2.0}

    def f(x):
        next(calls)
        return x * parameters[next(iter(parameters))] * bool(space)

    jitted = fg.jit(f)
    for k in range(3):
        space.step = k
        jitted(1.0)
    assert next(calls) == 1


def test_a_function_that_counts_its_own_calls_is_traced_once():
    def f(x):
        f.calls += 1
        return x * f.scale

    f.calls, f.scale = 0, 2.0
    jitted = fg.jit(f)
    assert [jitted(1.0) for _ in range(3)] == [2.0, 2.0, 2.0]
    assert f.calls == 1


def test_tables_and_tensors_of_others_are_taken_as_arrays_alone():
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(2, 1)
    f = lambda x: x * layer.weight.detach().numpy().sum()
    assert len(capture(f).seen) < 300
    before = fg.jit(f)(1.0)
    sees_the_change(f, lambda: layer.weight.data.add_(1.0))
    assert f(1.0) == pytest.approx(before + 2.0, rel=1e-5)


def test_a_staged_program_is_taken_as_it_is():
    """Once its push has run, `linearize` holds compiled code, in objects without a hash."""
    x = np.array([0.5, 1.5])
    push = fg.linearize(lambda y: y**3, x)[1]
    push(x)
    np.testing.assert_array_equal(fg.jit(push)(x), push(x))
    assert len(capture(push, ()).key) < 30


class Namespace:
    """Hands names on to another namespace, so that all attributes count."""

    def __init__(self, m):
        self.m = m

    def __getattr__(self, name):
        return getattr(self.m, name)

    def double(self, x):
        return self.m.add(x, x)


def test_computed_names_are_looked_at_without_python():
    names = Namespace(np)
    guards = capture(functools.partial(lambda m, x: m.double(x), names)).guards()
    assert not any(isinstance(g, Look) for g in guards)
    step = fg.jit(lambda x: names.double(x))
    assert step(1.0) == 2.0
    names.double = lambda x: -x
    assert step(1.0) == -1.0
    del names.double
    Namespace.extra = 1.0  # looked at anew, with the same result
    try:
        assert step(1.0) == 2.0
    finally:
        del Namespace.extra
