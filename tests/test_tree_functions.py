"""The functions on trees, and what users declare to be one."""

import collections
import copy
import dataclasses
import functools
import operator
import pickle

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import tree, tree_util
from funcgrad.errors import TreeError
from funcgrad.flatten_util import ravel_pytree

Point = collections.namedtuple("Point", "x y")


@tree.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: object
    activation: str = tree.static(default="tanh")


@dataclasses.dataclass
class Unregistered:
    weight: object
    name: str = dataclasses.field(default="n", metadata={"static": True})


@functools.partial(
    tree.register_dataclass, data_fields=["x"], meta_fields=["mode"], drop_fields=["cache"]
)
@dataclasses.dataclass
class Dropping:
    x: object
    mode: str
    cache: list = dataclasses.field(default_factory=list)


class Plain:
    def __init__(self, a, b):
        self.a, self.b = a, b


tree.register_dataclass(Plain, ["a"], ["b"])


@tree.register_static
@dataclasses.dataclass(frozen=True)
class Option:
    name: str


def test_a_dataclass_with_a_text_is_usable():
    for layer in (Layer(np.array([1.0, 2.0])), Unregistered(np.array([1.0, 2.0]))):
        f = lambda layer: np.sum(layer.weight**2)
        for way in (fg.grad(f), fg.jit(fg.grad(f))):
            g = way(layer)
            np.testing.assert_array_equal(g.weight, [2.0, 4.0])
            assert type(g) is type(layer)
            assert dataclasses.replace(g, weight=0) == dataclasses.replace(layer, weight=0)
    stacked = Layer(np.arange(6.0).reshape(3, 2), "relu")
    out = fg.vmap(lambda layer: dataclasses.replace(layer, weight=layer.weight.sum()))(stacked)
    np.testing.assert_array_equal(out.weight, [1.0, 5.0, 9.0])
    assert out.activation == "relu"


def test_jit_traces_anew_for_another_static_field():
    @fg.jit
    def f(layer):
        return np.tanh(layer.weight) if layer.activation == "tanh" else layer.weight

    for name in ("tanh", "none", "tanh"):
        want = np.tanh(0.5) if name == "tanh" else 0.5
        np.testing.assert_allclose(f(Layer(0.5, name)), want)
    assert "2. " in f.report()
    assert "3. " not in f.report()


def test_a_function_in_a_static_field_is_looked_at():
    scale = {"k": 2.0}

    @dataclasses.dataclass
    class Unit:
        weight: object
        act: object = tree.static()

    act = lambda x: x * scale["k"]
    f = fg.jit(lambda u: u.act(u.weight))
    assert f(Unit(3.0, act)) == 6.0
    scale["k"] = 5.0
    assert f(Unit(3.0, act)) == 15.0
    g = fg.jit(lambda p, x: p(x))
    part = tree.Partial(lambda a, x: a * x * scale["k"], 2.0)
    assert g(part, 1.0) == 10.0
    scale["k"] = 7.0
    assert g(part, 1.0) == 14.0


def test_dropped_fields_have_their_defaults():
    made = tree.map(lambda x: x + 1, Dropping(1.0, "m", [1, 2]))
    assert (made.x, made.mode, made.cache) == (2.0, "m", [])


def test_a_class_that_is_no_dataclass():
    made = fg.grad(lambda p: p.a**2)(Plain(3.0, "text"))
    assert (made.a, made.b) == (6.0, "text")


def test_static_instances():
    assert tree.leaves({"o": Option("a"), "w": 1.0}) == [1.0]
    f = fg.jit(lambda x, o: x * len(o.name))
    assert [f(2.0, Option(n)) for n in ("a", "bb", "a")] == [2.0, 4.0, 2.0]
    assert "3. " not in f.report()


@pytest.mark.parametrize(
    "given, kind, text",
    [
        ((Plain, ["a"], None), TypeError, "give both"),
        ((float, None, None), TypeError, "is no dataclass"),
        ((Unregistered, ["weight"], []), ValueError, r"leave out \['name'\]"),
        ((Unregistered, ["weight", "v"], ["name"]), ValueError, r"name \['v'\]"),
        ((Unregistered, ["weight", "name"], ["name"]), ValueError, "are data and static"),
        ((Layer, None, None), ValueError, "registered as a container of trees already"),
        ((list, ["a"], []), ValueError, "registered as a container of trees already"),
    ],
)
def test_wrong_registrations_are_named(given, kind, text):
    with pytest.raises(kind, match=text):
        tree.register_dataclass(*given)


def test_an_array_in_a_static_part_is_named():
    a, b = (Layer(1.0, np.zeros(2)) for _ in range(2))
    with pytest.raises(TreeError, match="static part of a container cannot be compared"):
        tree.map(operator.add, a, b)


# -------------------------------------------------------------------------------- containers


def test_dicts_of_every_kind_come_back():
    d = collections.defaultdict(list, {"b": 1.0, "a": 2.0})
    o = collections.OrderedDict([("b", 1.0), ("a", 2.0)])
    for given in (d, o):
        made = tree.map(lambda x: 2 * x, given)
        assert type(made) is type(given)
        assert list(made.items()) == [("b", 2.0), ("a", 4.0)]
        assert fg.grad(lambda d: d["a"] ** 2)(given)["a"] == 4.0
    assert tree.map(abs, d).default_factory is list
    assert tree.leaves(d) == [2.0, 1.0]
    assert tree.leaves(o) == [1.0, 2.0]
    with pytest.raises(TreeError):
        tree.map(operator.add, d, collections.defaultdict(dict, d))


def test_none_is_a_tree_without_leaves():
    assert tree.leaves(None) == []
    assert tree.map(abs, {"a": None}) == {"a": None}
    assert tree.leaves([None, 1], is_leaf=lambda x: x is None) == [None, 1]
    with pytest.raises(TreeError, match="the first has None"):
        tree.map(lambda a, b: b, None, 1.0)


def test_structures_are_pickled_and_copied():
    whole = {"p": Point(1.0, [2.0]), "l": Layer(3.0), "o": Option("x"), "n": None}
    definition = tree.structure(whole)
    for again in (pickle.loads(pickle.dumps(definition)), copy.deepcopy(definition)):
        assert again == definition
        assert hash(again) == hash(definition)
        assert tree.unflatten(again, tree.leaves(whole)) == whole
    assert str(definition) == (
        "{'l': Layer(weight=*, activation='tanh'), 'n': None, 'o': Option(), "
        "'p': Point(x=*, y=[*])}"
    )
    assert definition.num_leaves == 3
    assert definition.num_nodes == 9


# ------------------------------------------------------------------------------------ errors


MISMATCHES = [
    ([1, 2], [1], r"the root the first has \[\*, \*\], another one \[\*\]"),
    ({"a": {"b": 1}}, {"a": {"c": 1}}, r"\['a'\] the first has {'b': \*}, another one {'c': \*}"),
    ([(1, 2)], [[1, 2]], r"\[0\] the first has \(\*, \*\), another one \[\*, \*\]"),
    (Point(1, (2,)), Point(1, 2), r"\.y the first has \(\*,\), another one \*"),
    ([Layer(1, "a")], [Layer(1, "b")], r"activation='a'.*activation='b'"),
]


@pytest.mark.parametrize("one, other, text", MISMATCHES)
def test_a_mismatch_names_the_path_and_both_structures(one, other, text):
    with pytest.raises(TreeError, match=f"do not match: at {text}" if text[0] != "a" else text):
        tree.map(lambda a, b: a, one, other)


def test_a_prefix_that_does_not_fit_names_both():
    with pytest.raises(TreeError, match=r"at \['a'\] the prefix has \(\*, \*\), the tree \*"):
        tree.broadcast({"a": (1, 2)}, {"a": 3})
    with pytest.raises(TreeError, match=r"the prefix has \(\*, \*\), the tree \[\*, \*\]"):
        fg.vmap(lambda p: p[0], in_axes=((0, None),))([np.ones(2), 1.0])


def test_the_rest_may_go_on_where_the_first_ends():
    assert tree.map(lambda a, b: (a, b), {"x": 1}, {"x": [2, 3]}) == {"x": (1, [2, 3])}


# ---------------------------------------------------------------------------------- vectors


def test_vectors_of_trees():
    p = {"w": np.arange(4.0).reshape(2, 2), "b": np.float32(3.0), "n": None}
    flat, unravel = ravel_pytree(p)
    assert flat.dtype == np.float64
    again = unravel(flat)
    assert again["b"].dtype == np.float32
    assert again["n"] is None
    np.testing.assert_array_equal(again["w"], p["w"])
    f = lambda p: np.sum(p["w"] ** 2) * p["b"]
    g, _ = ravel_pytree(fg.grad(f)(p))
    np.testing.assert_allclose(fg.grad(lambda v: f(unravel(v)))(flat), g, rtol=1e-6)
    np.testing.assert_allclose(
        fg.jit(fg.hessian(lambda v: f(unravel(v))))(flat), fg.hessian(lambda v: f(unravel(v)))(flat)
    )
    rows = fg.vmap(lambda v: f(unravel(v)))(np.stack([flat, 2 * flat]))
    np.testing.assert_allclose(rows, [f(p), 8 * f(p)])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(unravel))(flat)["w"], p["w"])
    with pytest.raises(TreeError, match=r"has shape \(3,\); it has to be \(5,\)"):
        unravel(np.zeros(3))
    with pytest.raises(TreeError, match="has dtype float32"):
        unravel(flat.astype(np.float32))
    assert ravel_pytree(())[0].shape == (0,)


def test_partial_applications_are_trees():
    f = tree.Partial(lambda a, x, *, k: a * x**k, 3.0, k=2.0)
    g = fg.grad(lambda f, x: f(x))(f, 2.0)
    assert (g.args, g.keywords) == ((4.0,), {"k": pytest.approx(12.0 * np.log(2.0))})
    assert fg.jit(lambda f, x: f(x))(f, 2.0) == 12.0
    kept = tree.Partial(functools.partial(operator.mul, 2.0), 3.0)
    assert tree.leaves(kept) == [3.0]
    assert kept() == 6.0
    again = pickle.loads(pickle.dumps(tree.Partial(operator.mul, 2.0)))
    assert again(3.0) == 6.0
    assert type(again) is tree.Partial


def test_tree_util_has_what_tree_has():
    for name in tree_util.__all__:
        assert getattr(tree_util, name).__doc__
    assert tree_util.tree_map is tree.map
