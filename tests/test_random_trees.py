"""Drawn trees of every kind of container go through all transforms and come back as they were."""

import collections
import copy
import dataclasses
import operator
import pickle

import numpy as np
import pytest
from amount import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad import tree
from funcgrad.flatten_util import ravel_pytree

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Layer:
    weight: object
    bias: object
    name: str = tree.static(default="layer")


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b


tree.register_node(Pair, lambda p: ((p.a, p.b), None), lambda _, c: Pair(*c))

KEYS = st.text("abc", min_size=1, max_size=2)
LEAVES = st.floats(0.5, 2.0) | st.integers(0, 2).map(lambda n: np.linspace(0.5, 1.5, n + 1))
PLAIN = lambda kids: (
    st.lists(kids, max_size=3)
    | st.tuples(kids, kids)
    | st.dictionaries(KEYS, kids, max_size=3)
    | st.dictionaries(KEYS, kids, max_size=3).map(collections.OrderedDict)
    | st.dictionaries(KEYS, kids, max_size=3).map(lambda d: collections.defaultdict(list, d))
    | st.builds(Point, kids, kids)
)
OURS = lambda kids: (
    PLAIN(kids)
    | st.builds(Layer, kids, kids, st.sampled_from(["layer", "other"]))
    | st.builds(Pair, kids, kids)
    | kids.map(lambda x: tree.Partial(operator.add, x))
)
TREES = st.recursive(LEAVES | st.none(), OURS, max_leaves=8)
JAXS = st.recursive(st.integers(0, 9) | st.none(), PLAIN, max_leaves=8)


def same(a, b):
    assert tree.structure(a) == tree.structure(b)
    for x, y in zip(tree.leaves(a), tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def total(t):
    return sum((np.sum(x**3) for x in tree.leaves(t)), 0.0)


@settings(max_examples=examples(200), deadline=None)
@given(TREES)
def test_a_tree_comes_back(t):
    leaves, definition = tree.flatten(t)
    same(tree.unflatten(definition, leaves), t)
    for again in (pickle.loads(pickle.dumps(definition)), copy.deepcopy(definition)):
        assert again == definition
        assert hash(again) == hash(definition)
    pairs, other = tree.flatten_with_path(t)
    assert other == definition
    assert [tree.keystr(p) for p, _ in pairs] == tree.paths(definition)
    assert definition.flatten_up_to(t) == leaves
    assert len(tree.flatten_prefix(0, t)) == definition.num_leaves
    rows = [tree.map(lambda x, k=k: x * k, t) for k in (1.0, 2.0)]
    if leaves:
        turned = tree.transpose(tree.structure([0, 0]), None, rows)
        same(tree.transpose(definition, tree.structure([0, 0]), turned), rows)


@settings(max_examples=examples(60), deadline=None)
@given(TREES)
def test_a_tree_goes_through_transforms(t):
    cubes = tree.map(lambda x: 3.0 * x**2, t)
    same(fg.grad(total)(t), cubes)
    same(fg.jit(fg.grad(total))(t), cubes)
    same(fg.checkpoint(lambda t: t)(t), t)
    ones = tree.map(np.ones_like, t)
    same(fg.jvp(lambda t: tree.map(lambda x: x**3, t), (t,), (ones,))[1], cubes)
    if not tree.leaves(t):
        return
    many = tree.map(lambda x: np.stack([x, 2.0 * x]), t)
    rows = fg.vmap(fg.grad(total))(many)
    same(tree.map(lambda x: x[0], rows), cubes)
    vector, unravel = ravel_pytree(t)
    same(unravel(fg.grad(lambda v: total(unravel(v)))(vector)), cubes)


@pytest.mark.peers
@settings(max_examples=examples(200), deadline=None)
@given(JAXS)
def test_leaves_and_paths_are_those_of_jax(t):
    jax = pytest.importorskip("jax")
    assert tree.leaves(t) == jax.tree.leaves(t)
    mine = [tree.keystr(path) for path, _ in tree.leaves_with_path(t)]
    assert mine == [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(t)]
    assert tree.structure(t).num_nodes == jax.tree.structure(t).num_nodes
    none = lambda x: x is None
    assert tree.leaves(t, is_leaf=none) == jax.tree.leaves(t, is_leaf=none)
