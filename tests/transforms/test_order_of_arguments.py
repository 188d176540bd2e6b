"""The order of dictionaries and of keyword arguments is part of what a function is traced for."""

import collections
import itertools

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import tree

BACKENDS = ("llvm", "interpreter")


@pytest.fixture(params=BACKENDS)
def backend(request, monkeypatch):
    monkeypatch.setattr(fg.config, "backend", request.param)


def first(d):
    return next(iter(d.values())) * 1.0


def by_name(**given):
    return sum((k + 1.0) * x for k, x in enumerate(given.values()))


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: fg.value_and_grad(f)], ids=["f", "grad"])
def test_the_order_of_a_dictionary(wrap):
    jitted, plain = fg.jit(wrap(first)), wrap(first)
    orders = [
        dict(zip(p, map(float, range(3)), strict=True)) for p in itertools.permutations("abc")
    ]
    for d in orders * 3:
        want, got = plain(d), jitted(d)
        assert got == want
        if isinstance(want, tuple):
            assert list(got[1]) == list(want[1])


@pytest.mark.usefixtures("backend")
def test_the_order_within_other_containers():
    f = lambda x: [first(x[0]["d"]), *x[0]["d"]]
    jitted = fg.jit(lambda x: first(x[0]["d"]))
    for d in ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}) * 3:
        assert jitted([{"d": d}]) == f([{"d": d}])[0]


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize(
    "kind", [lambda d: collections.defaultdict(float, d), collections.OrderedDict]
)
def test_the_order_within_other_kinds_of_dictionaries(kind):
    jitted = fg.jit(first)
    for d in ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}) * 3:
        assert jitted(kind(d)) == first(d)


@pytest.mark.usefixtures("backend")
def test_the_order_of_keyword_arguments():
    jitted = fg.jit(by_name)
    for given in ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}, {"b": 1.0, "a": 2.0}) * 3:
        assert jitted(**given) == by_name(**given)


@pytest.mark.usefixtures("backend")
def test_static_keywords_keep_their_place():
    jitted = fg.jit(by_name, static_argnames="s")
    for given in ({"a": 1.0, "s": 2}, {"s": 2, "a": 1.0}) * 3:
        assert jitted(**given) == by_name(**given)


@pytest.mark.usefixtures("backend")
def test_keys_that_are_equal_and_not_the_same():
    f = lambda d: d[1] * (2.0 if type(next(iter(d))) is bool else 1.0)
    jitted = fg.jit(f)
    for d in ({1: 3.0}, {True: 3.0}, {1.0: 3.0}, {1: 3.0}, {np.int64(1): 3.0}) * 3:
        assert jitted(d) == f(d)
    words = ["ke", "y"]
    jitted = fg.jit(first)
    for _ in range(4):  # texts that are equal, each an object of its own
        assert jitted({"".join(words): 2.0, "z": 3.0}) == 2.0


@pytest.mark.usefixtures("backend")
def test_auxiliary_data_that_is_equal_and_not_the_same():
    class Node:
        def __init__(self, x, aux):
            self.x, self.aux = x, aux

    tree.register_node(Node, lambda n: ((n.x,), n.aux), lambda aux, c: Node(c[0], aux))
    f = lambda n: n.x * (2.0 if n.aux is True else 3.0)
    jitted = fg.jit(f)
    for aux in (True, 1, True, 1):
        assert jitted(Node(1.0, aux)) == f(Node(1.0, aux))


@pytest.mark.usefixtures("backend")
def test_auxiliary_data_with_an_attribute_called_order():
    class Polynomial(collections.namedtuple("Polynomial", "order name")):
        """Equal where both are."""

    class Node:
        def __init__(self, x, aux):
            self.x, self.aux = x, aux

    tree.register_node(Node, lambda n: ((n.x,), n.aux), lambda aux, c: Node(c[0], aux))
    jitted = fg.jit(lambda n: n.x * len(n.aux.name))
    for name in ("a", "bb", "ccc") * 2:
        assert jitted(Node(1.0, Polynomial((2,), name))) == len(name)


@pytest.mark.usefixtures("backend")
def test_static_values_that_are_equal_and_not_the_same():
    pair = collections.namedtuple("pair", "a")
    jitted = fg.jit(lambda x, s: x * (2.0 if s.a is True else 3.0), static_argnums=1)
    for a in (True, 1, True, 1.0):
        assert jitted(1.0, pair(a)) == (2.0 if a is True else 3.0)
    jitted = fg.jit(lambda x, s: x * np.copysign(1.0, s), static_argnums=1)
    for zero in (0.0, -0.0, np.float32(0.0), np.float32(-0.0), np.float16(-0.0)):
        assert jitted(1.0, zero) == np.copysign(1.0, zero)


@pytest.mark.parametrize(
    "transform", [fg.jit, fg.grad, fg.vmap, lambda f: lambda x: tree.leaves(x)]
)
def test_a_container_in_itself_is_no_tree(transform):
    held = [1.0]
    held.append(held)
    named = {"a": 1.0}
    named["b"] = named
    for x in (held, named):
        with pytest.raises(fg.errors.TreeError, match="holds itself"):
            transform(lambda x: x[0])(x)
    assert transform(lambda x: np.sum(x))(np.ones(3)) is not None


def test_the_facade_sees_orders():
    import funcgrad.torch as torch

    def f(x, **given):
        a, _ = x.values()
        b, _ = given.values()
        return a - b

    compiled = torch.compile(f)
    a, b = torch.tensor([1.0]), torch.tensor([2.0])
    for d in ({"a": a, "b": b}, {"b": b, "a": a}) * 3:
        for given in ({"c": a, "d": b}, {"d": b, "c": a}):
            assert torch.equal(compiled(d, **given), f(d, **given))
