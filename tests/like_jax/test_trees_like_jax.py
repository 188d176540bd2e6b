"""Programs on trees: the same text with `jax.tree` and `funcgrad.tree` has the same results."""

import pytest
from like_jax.swapped import agree, evaluate, ours, theirs

pytestmark = pytest.mark.peers

SETUP = """
import collections, dataclasses, functools, operator
P = collections.namedtuple("P", "x y")
class Pair:
    def __init__(self, a, b): self.a, self.b = a, b
    def tree_flatten(self): return (self.a, self.b), None
    @classmethod
    def tree_unflatten(cls, aux, c): return cls(*c)
    def __eq__(self, o): return (self.a, self.b) == (o.a, o.b)
Pair = tu.register_pytree_node_class(Pair)
class Keyed(Pair):
    def tree_flatten_with_keys(self):
        return ((tu.GetAttrKey("a"), self.a), (tu.GetAttrKey("b"), self.b)), None
Keyed = tu.register_pytree_with_keys_class(Keyed)
@functools.partial(tu.register_dataclass, data_fields=["w", "b"], meta_fields=["act"])
@dataclasses.dataclass
class Layer:
    w: object
    b: object
    act: str
@tu.register_dataclass
@dataclasses.dataclass
class Op:
    x: object
    op: str = dataclasses.field(default="add", metadata=dict(static=True))
t = {"b": [1.0, (2.0, None)], "a": P(3.0, {"k": 4.0, "j": 5.0}), "l": Layer(6.0, [7.0], "relu")}
d = collections.defaultdict(int, {"z": 1, "a": 2})
o = collections.OrderedDict([("z", 1), ("a", 2)])
"""
PROGRAMS = """
tree.leaves(t)
tree.leaves(d), tree.leaves(o)
tree.map(lambda x: x * 2, t)["l"].b
tree.map(lambda x: x * 2, d) == {"z": 2, "a": 4}
tree.map(lambda x: x * 2, d).default_factory is int
list(tree.map(lambda x: x * 2, o).items()) == [("z", 2), ("a", 4)]
tree.map(lambda x, y: x + y, t, t)["a"].y
tree.map(lambda x, y: len(y), [1, 2], [[1, 2], (3,)])
tree.map(lambda x: x is None, [1, None], is_leaf=lambda x: x is None)
tree.map(lambda x: 0, {"a": (1, 2), "b": [3]}, is_leaf=lambda x: isinstance(x, tuple))
tree.map(lambda *xs: sum(xs), (1, 2), (3, 4), (5, 6))
tree.all([True, (1, {"a": 2})]), tree.all([1, 0]), tree.all(None)
tree.all([(), [1]], is_leaf=lambda x: x == ())
tree.reduce(lambda x, y: x * 10 + y, [1, (2, 3), {"b": 5, "a": 4}])
tree.reduce(operator.add, [[1], [2, 3]], [], is_leaf=lambda x: isinstance(x, list) and 1 in x or x == [2, 3])
tree.reduce(operator.add, [], 7)
tree.reduce_associative(operator.add, [1.0, (2.0, 3.0), 4.0, 5.0])
tree.reduce_associative(lambda x, y: f"({x}{y})", list("abcdefg"))
tree.reduce_associative(operator.add, [], identity=3)
tree.structure(t) == tree.structure(tree.map(str, t))
tree.structure([1, 2]) == tree.structure((1, 2)), tree.structure(d) == tree.structure(dict(d))
tree.structure(t).num_leaves, tree.structure([None, 1, {}]).num_leaves
tree.structure([1, (2, None)]).num_nodes
tree.structure((1, 2)).unflatten([3, 4])
tree.structure((1, 2)).flatten_up_to(([1], {"a": 2}))
tree.structure([1, 2]).compose(tree.structure((1, 1))) == tree.structure([(1, 1), (1, 1)])
tree.unflatten(tree.structure({"b": 1, "a": 2}), [10, 20])
tree.unflatten(tree.structure(P(1, 2)), [3, 4]) == P(3, 4)
tree.transpose(tree.structure([0, 0]), tree.structure({"a": 0, "b": 0}), [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
tree.transpose(tree.structure([0, 0, 0]), None, [(1, 2), (3, 4), (5, 6)])
tree.transpose(tree.structure({"a": 0, "b": 0}), tree.structure([0, 0]), {"a": [1, 2], "b": [3, 4]})
tree.broadcast(1, {"a": 2, "b": [3, 4]})
tree.broadcast((1, {"x": 2}), ([3, 4], {"x": (5, 6)}))
tree.broadcast([1, None], [(2, 3), None])
tree.flatten({"b": 1, "a": [2, None]})[0]
tree.flatten(None)[0], tree.flatten(3.0)[0]
tree.flatten([None, 1], is_leaf=lambda x: x is None)[0]
tree.leaves([(1, 2), [3, (4, 5)]], is_leaf=lambda x: isinstance(x, tuple))
[(tu.keystr(k), v) for k, v in tree.leaves_with_path({"b": [1, (2,)], "a": P(3, 4)})]
[tu.keystr(k, simple=True, separator="/") for k, _ in tree.leaves_with_path({"b": [1, {2: 3}], "a": P(3, 4)})]
[tu.keystr(k) for k, _ in tree.leaves_with_path(t)]
[tu.keystr(k) for k, _ in tree.leaves_with_path([Pair(1, Keyed(2, 3))])]
[tu.keystr(k) for k, _ in tree.leaves_with_path([d, o])]
[repr(k) for k, _ in tree.leaves_with_path({"b": [1], "a": P(3, 4)})]
[repr(k) for k, _ in tree.leaves_with_path(Pair(1, 2))]
tree.map_with_path(lambda p, x: tu.keystr(p), {"w": [1, 2], "b": (3,)})
tree.map_with_path(lambda p, x, y: (len(p), x + y), {"w": [1]}, {"w": [2]})
tree.map_with_path(lambda p, x: x, [(1, 2), 3], is_leaf=lambda p, x: len(p) == 1, is_leaf_takes_path=True)
tree.flatten_with_path([1, None], is_leaf=lambda x: x is None)[0][1][1] is None
tree.flatten_with_path({"a": 1})[0][0][0][0] == tu.DictKey("a")
hash(tu.SequenceKey(1)) == hash(tu.SequenceKey(1)), tu.SequenceKey(1) == tu.SequenceKey(2)
tu.SequenceKey(1).idx, tu.DictKey("k").key, tu.GetAttrKey("n").name, tu.FlattenedIndexKey(3).key
str(tu.DictKey("k")), str(tu.GetAttrKey("n")), str(tu.SequenceKey(0)), str(tu.FlattenedIndexKey(3))
tree.leaves(Pair(1, [2, None])), tree.map(lambda x: -x, Pair(1, [2])) == Pair(-1, [-2])
tree.leaves(Keyed(1, 2)), tree.map(lambda x: -x, Keyed(1, 2)).a
tree.leaves(Op(1.0)), tree.map(lambda x: x + 1, Op(1.0, "mul")).op
tree.structure(Op(1, "a")) == tree.structure(Op(2, "a")), tree.structure(Op(1, "a")) == tree.structure(Op(1, "b"))
tree.map(lambda x: x + 1, Layer(1, [2], "tanh")).act
tu.all_leaves([1, 2.0]), tu.all_leaves([1, (2,)]), tu.all_leaves([None])
tu.is_tree_node(dict), tu.is_tree_node(list), tu.is_tree_node(Pair), tu.is_tree_node(int)
list(tu.flatten_one_level([1, (2, 3)])[0])
tu.treedef_is_leaf(tree.structure(1)), tu.treedef_is_leaf(tree.structure([1]))
[c.num_leaves for c in tu.treedef_children(tree.structure([1, (2, 3)]))]
tu.treedef_tuple([tree.structure(1), tree.structure([1])]) == tree.structure((1, [1]))
tree.leaves(tu.Partial(operator.add, 1, 2)), tu.Partial(operator.add, 1)(2)
tree.leaves(tu.Partial(functools.partial(operator.add, 1), 2))
tree.map(lambda x: x * 10, tu.Partial(operator.add, 1))(2)
tu.Partial(lambda a, k=0: (a, k), 1, k=2).keywords
m.jit(lambda f, x: f(x))(tu.Partial(lambda a, x: a * x, np.asarray(2.0)), np.asarray(3.0))
m.grad(lambda f: f(3.0))(tu.Partial(lambda a, x: a * x ** 2, 2.0)).args
m.grad(lambda l: l.w * l.b[0] ** 2)(Layer(np.asarray(2.0), [np.asarray(3.0)], "act")).b
m.jit(lambda l: l.x * len(l.op))(Op(np.asarray(2.0), "four"))
m.vmap(lambda d: d["a"] * 2)(collections.OrderedDict(a=np.arange(3.0)))
m.vmap(lambda p: p.x + p.y, in_axes=(P(0, None),))(P(np.arange(3.0), 1.0))
m.jacrev(lambda t: {"s": t["a"] * t["b"]})({"a": np.asarray(2.0), "b": np.asarray(3.0)})
m.grad(lambda t: t[0] ** 2 + t[2]["k"])((2.0, None, {"k": 1.0}))
m.grad(lambda d: d["a"] ** 2 * d["z"])(collections.defaultdict(float, a=2.0, z=3.0)) == {"a": 12.0, "z": 4.0}
ravel({"b": np.arange(3.0), "a": np.ones((2, 2))})[0]
ravel({"b": np.arange(3.0), "a": np.ones((2, 2))})[1](np.arange(7.0))
ravel([np.arange(2.0), np.arange(2)])[0]
ravel([np.arange(2.0), np.arange(2)])[1](np.arange(4.0) + 0.5)
ravel(3.0)[0], ravel((1.0, np.asarray([2.0])))[0]
m.grad(lambda v: ravel([1.0, np.ones(2)])[1](v)[1].sum() * v[0])(np.arange(3.0))
m.hessian(lambda v: np.sum(ravel([1.0, np.ones(2)])[1](v)[1] ** 2) * v[0])(np.arange(3.0))
m.vmap(lambda v: ravel({"a": v, "b": v[0]})[0])(np.arange(6.0).reshape(3, 2))
""".strip().split("\n")


@pytest.mark.parametrize("program", PROGRAMS)
def test_trees_like_jax(program):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        mine, other = (evaluate(SETUP + program, names) for names in (ours(), theirs()))
        agree(mine, other)


REFUSED = """
tree.map(operator.add, [1, 2], [1])
tree.map(operator.add, {"a": 1}, {"b": 1})
tree.map(operator.add, (1, 2), [1, 2])
tree.map(operator.add, None, 1)
tree.map(operator.add, d, o)
tree.map(operator.add, Op(1, "a"), Op(1, "b"))
tree.unflatten(tree.structure([1, 2]), [1])
tree.broadcast([1, 2], [1, 2, 3])
tree.broadcast({"a": 1}, {"a": 1, "b": 2})
tree.transpose(tree.structure([0, 0]), tree.structure([0, 0]), [1, 2])
tree.reduce(operator.add, [])
tree.reduce_associative(operator.add, [])
tu.flatten_one_level(1)
tu.register_dataclass(Op, ["x"], None)
tu.register_dataclass(Op, ["x"], [])
tu.register_pytree_node(Pair, None, None)
ravel([1.0, 2.0])[1](np.zeros(3))
""".strip().split("\n")


@pytest.mark.parametrize("program", REFUSED)
def test_trees_refused_like_jax(program):
    jax = pytest.importorskip("jax")
    for names in (ours(), theirs()):
        with jax.enable_x64(True), pytest.raises((TypeError, ValueError)):
            evaluate(SETUP + program, names)
