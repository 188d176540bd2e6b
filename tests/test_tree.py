"""Trees: flattening, rebuilding, prefixes, and errors that name the path."""

import collections
import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad import tree
from funcgrad.errors import TreeError

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Layer:
    w: object
    b: object = None


@dataclasses.dataclass(frozen=True)
class Frozen:
    v: object


class Registered:
    def __init__(self, a, name):
        self.a, self.name = a, name


tree.register_node(Registered, lambda r: ((r.a,), r.name), lambda name, c: Registered(c[0], name))

NESTED = {"p": Point(1.0, [2.0]), "l": Layer(w=(3.0,)), "n": None, "f": Frozen(4.0)}


def test_round_trip_of_every_kind():
    leaves, definition = tree.flatten(NESTED)
    assert leaves == [4.0, 3.0, 1.0, 2.0]
    again = tree.unflatten(definition, leaves)
    assert again == NESTED
    assert tree.structure(again) == definition
    assert hash(tree.structure(again)) == hash(definition)


@given(
    st.recursive(
        st.floats(allow_nan=False) | st.none(),
        lambda kids: (
            st.lists(kids) | st.dictionaries(st.text(max_size=3), kids) | st.tuples(kids, kids)
        ),
    )
)
def test_round_trip_of_random_trees(x):
    leaves, definition = tree.flatten(x)
    assert tree.unflatten(definition, leaves) == x
    assert definition.size == len(leaves)


def test_paths():
    paths = [tree.keystr(p) for p, _ in tree.leaves_with_path(NESTED)]
    assert paths == ["['f'].v", "['l'].w[0]", "['p'].x", "['p'].y[0]"]


def test_mismatch_is_named():
    with pytest.raises(TreeError, match="do not match"):
        tree.map(lambda a, b: a, [1, 2], [1])
    with pytest.raises(TreeError, match=r"at \['a'\]"):
        tree.flatten_prefix({"a": (0, 1)}, {"a": [1.0, 2.0]})
    with pytest.raises(TreeError, match="2 leaves were given"):
        tree.unflatten(tree.structure([1.0]), [1.0, 2.0])


def test_gradients_of_trees():
    p = {"p": Point(1.0, [2.0]), "l": Layer(np.ones(2)), "r": Registered(3.0, "r"), "n": None}

    def f(p):
        return p["p"].x * p["p"].y[0] + np.sum(p["l"].w) * p["r"].a

    g = fg.grad(f)(p)
    assert g["p"] == Point(2.0, [1.0])
    np.testing.assert_array_equal(g["l"].w, [3, 3])
    assert (g["r"].a, g["r"].name, g["n"]) == (2.0, "r", None)


def test_a_bad_leaf_is_named():
    with pytest.raises(TreeError, match=r"argument 0 of .*\['a'\]\[1\] is 'str'"):
        fg.grad(lambda p: p["a"][0])({"a": [1.0, "text"]})
    with pytest.raises(TypeError, match=r"\['a'\]\[1\] has dtype int64"):
        fg.grad(lambda p: p["a"][0])({"a": [1.0, 2]})


def test_a_dict_comes_back_in_the_order_of_its_keys():
    given = {"w": 1.0, "b": 2.0}
    leaves, definition = tree.flatten(given)
    assert leaves == [2.0, 1.0]
    assert list(tree.unflatten(definition, leaves)) == ["w", "b"]
    assert definition == tree.structure({"b": 0.0, "w": 0.0})
    assert hash(definition) == hash(tree.structure({"b": 0.0, "w": 0.0}))
