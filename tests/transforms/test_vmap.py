"""`vmap`'s interface: axes in and out, trees, nesting, sizes; always compared with the loop."""

import collections
import functools

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import errors

RNG = np.random.default_rng(0)
T = RNG.normal(size=(2, 3, 4))
V = RNG.normal(size=3)
Point = collections.namedtuple("Point", "x y")


def take(x, i, axis):
    return x if axis is None else np.take(x, i, axis)


def loop(f, in_axes, out_axes, size, *args):
    """The direct answer for arrays in and one array out."""
    each = [f(*(take(x, i, a) for x, a in zip(args, in_axes))) for i in range(size)]
    return np.stack(each, out_axes)


def same(found, wanted):
    found, definition = fg.tree.flatten(found)
    wanted, expected = fg.tree.flatten(wanted)
    assert definition == expected
    for a, b in zip(found, wanted, strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


# ------------------------------------------------------------------------------------ axes


@pytest.mark.parametrize("out_axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("in_axis", [0, 1, 2, -1, -2, -3])
def test_every_axis_in_and_out(in_axis, out_axis):
    f = lambda x: np.sin(x) @ np.cos(x).T
    found = fg.vmap(f, in_axis, out_axis)(T)
    same(found, loop(f, (in_axis,), out_axis, T.shape[in_axis], T))


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (1, 0), (-1, None), (1, -2)], ids=str)
def test_axes_of_several_arguments(axes):
    x, y = T[0], T[0].T
    f = lambda x, y: np.sum(x) * np.sum(y, axis=-1) + np.sum(x * 2.0)
    size = next(np.shape(v)[a] for v, a in zip((x, y), axes) if a is not None)
    same(fg.vmap(f, axes)(x, y), loop(f, axes, 0, size, x, y))


def test_none_for_a_list_too():
    f = lambda x, y: x * y
    same(fg.vmap(f, [0, None])(T, V[0]), T * V[0])


def test_axes_of_trees():
    p = {"w": T, "b": (V, 2.0)}
    f = lambda p, s: p["w"] @ p["w"].T * p["b"][0] * s + p["b"][1]
    # one entry for a whole tree, for a branch, and for each leaf
    in_axes = ({"w": 1, "b": (0, None)}, None)
    wanted = np.stack([f({"w": T[:, i], "b": (V[i], 2.0)}, 3.0) for i in range(3)])
    same(fg.vmap(f, in_axes)(p, 3.0), wanted)
    q = {"w": T.transpose(1, 0, 2), "b": (V, V)}
    wanted = np.stack([f({"w": T[:, i], "b": (V[i], V[i])}, 3.0) for i in range(3)])
    same(fg.vmap(f, (0, None))(q, 3.0), wanted)
    same(fg.vmap(f, ({"w": 0, "b": 0}, None))(q, 3.0), wanted)
    same(fg.vmap(f, ({"w": None, "b": 0}, None))({**q, "w": T[:, 0]}, 1.0), np.stack(
        [f({"w": T[:, 0], "b": (V[i], V[i])}, 1.0) for i in range(3)]
    ))  # fmt: skip


def test_named_tuples_and_none_in_trees():
    p = Point(T, None)
    found = fg.vmap(lambda p: Point(p.x * 2.0, None), in_axes=(Point(1, None),))(p)
    assert isinstance(found, Point)
    same(found, Point(np.moveaxis(T * 2.0, 1, 0), None))


def test_out_axes_of_trees():
    f = lambda x: {"a": x, "b": (x[0], 2.0 * x)}
    found = fg.vmap(f, 1, {"a": 1, "b": (0, -1)})(T)
    wanted = {
        "a": T,
        "b": (np.moveaxis(T, 1, 0)[:, 0], 2.0 * np.moveaxis(T, 1, -1)),
    }
    same(found, wanted)
    same(fg.vmap(f, 1, {"a": 1, "b": 0})(T)["b"][1], 2.0 * np.moveaxis(T, 1, 0))


def test_out_axes_none_for_what_is_not_mapped():
    f = lambda x, y: (x + y, np.sum(y), 3.0)
    out = fg.vmap(f, (0, None), (0, None, None))(V, T)
    same(out, (np.stack([v + T for v in V]), np.sum(T), 3.0))


def test_what_is_not_mapped_is_repeated():
    out = fg.vmap(lambda x, y: (y, 1.0), (0, None))(V, T[0])
    same(out, (np.stack([T[0]] * 3), np.ones(3)))
    out[0][0] = 0.0  # our own copy
    assert np.all(out[0][1] == T[0])


def test_keywords_are_mapped_over_axis_0():
    same(fg.vmap(lambda x, *, k: x * np.sum(k))(V, k=T[0]), V * np.sum(T[0], 1))


def test_axis_size():
    same(fg.vmap(lambda x: x * 2.0, None, axis_size=3)(V), np.stack([V * 2.0] * 3))
    same(fg.vmap(lambda: 1.0, axis_size=2)(), np.ones(2))
    same(fg.vmap(lambda x: x, axis_size=3)(V), V)


def test_sizes_0_and_1():
    f = lambda x: np.sum(np.sin(x))
    assert fg.vmap(f)(np.zeros((0, 3))).shape == (0,)
    same(fg.vmap(f)(V[None]), np.array([f(V)]))
    assert fg.vmap(fg.grad(f))(np.zeros((0, 3))).shape == (0, 3)


def test_dtypes_and_integers():
    same(fg.vmap(lambda i: i * 2)(np.arange(3)), np.arange(3) * 2)
    same(fg.vmap(lambda x: x > 0)(V), V > 0)
    same(fg.vmap(lambda x: x * 2.0)(V.astype(np.float32)), V.astype(np.float32) * 2)
    table = np.arange(10.0)
    for at in (lambda i: fnp.take(table, i), lambda i: fnp.array(table)[i]):
        same(fg.vmap(at)(np.array([3, 1])), table[[3, 1]])


# --------------------------------------------------------------------------------- nesting


def test_nested_axes():
    f = lambda x, y: x * np.sin(y)
    x, y = V, T[0, 0]
    outer = fg.vmap(fg.vmap(f, (None, 0)), (0, None))(x, y)
    same(outer, x[:, None] * np.sin(y))
    other = fg.vmap(fg.vmap(f, (None, 0)), (0, None), 1)(x, y)
    same(other, (x[:, None] * np.sin(y)).T)
    three = fg.vmap(fg.vmap(fg.vmap(np.sin)))(T)
    same(three, np.sin(T))


@pytest.mark.parametrize("inner", [0, 1, -1])
@pytest.mark.parametrize("outer", [0, 1, 2, -1])
def test_nested_loops(outer, inner):
    f = lambda x: np.cumsum(x) * x[0]
    found = fg.vmap(fg.vmap(f, inner, inner), outer, outer)(T)
    wanted = loop(
        lambda m: loop(f, (inner,), inner, m.shape[inner], m), (outer,), outer, T.shape[outer], T
    )
    same(found, wanted)


def test_closing_over_mapped_values():
    found = fg.vmap(lambda a: fg.vmap(lambda b: a * b + fg.vmap(lambda c: a * c)(T[0, 0]))(V))(V)
    wanted = np.stack([np.stack([a * b + a * T[0, 0] for b in V]) for a in V])
    same(found, wanted)


@pytest.mark.parametrize("in_axis", [0, 1, -1])
def test_gradients_of_and_in_a_map(in_axis):
    f = lambda x, w: np.sum(np.tanh(x) * w)
    x, w = T[0], T[1].take(0, in_axis)
    size = x.shape[in_axis]
    found = fg.vmap(fg.grad(f, (0, 1)), (in_axis, None), (in_axis, 0))(x, w)
    each = [fg.grad(f, (0, 1))(x.take(i, in_axis), w) for i in range(size)]
    same(found, (np.stack([a for a, _ in each], in_axis), np.stack([b for _, b in each])))
    total = lambda x, w: np.sum(fg.vmap(f, (in_axis, None))(x, w))
    gx, gw = fg.grad(total, (0, 1))(x, w)
    same(gx, found[0])
    same(gw, np.sum(found[1], 0))
    tx, tw = np.ones_like(x), np.ones_like(w)
    moved = fg.jvp(fg.vmap(f, (in_axis, None)), (x, w), (tx, tw))[1]
    steps = [fg.jvp(f, (x.take(i, in_axis), w), (tx.take(i, in_axis), tw))[1] for i in range(size)]
    same(moved, np.stack(steps))


def test_a_decorator():
    @functools.partial(fg.vmap, in_axes=(0, None))
    def scaled(x, k):
        """Documented."""
        return x * k

    assert scaled.__name__ == "scaled" and scaled.__doc__ == "Documented."
    same(scaled(V, 2.0), V * 2.0)


# ---------------------------------------------------------------------------------- errors


def named(x, y):
    return x


BAD = [
    ("sizes", lambda: fg.vmap(named)(V, T), errors.BatchSizeError,
     r"vmap of named: the mapped axes have different sizes \[3, 2\]"),
    ("sizes of axes", lambda: fg.vmap(named, (0, -1))(V, T), errors.BatchSizeError, r"\[3, 4\]"),
    ("sizes in a tree", lambda: fg.vmap(lambda p: p["a"])({"a": V, "b": [T]}),
     errors.BatchSizeError, r"\[3, 2\]"),
    ("axis_size", lambda: fg.vmap(named, axis_size=4)(V, V), errors.BatchSizeError,
     r"\[3, 3, 4\]"),
    ("nothing mapped", lambda: fg.vmap(named, None)(V, V), errors.BatchSizeError,
     "vmap of named: no argument is mapped; give axis_size"),
    ("out of range", lambda: fg.vmap(named, (1, 0))(V, V), errors.BatchSizeError,
     r"vmap of named: axis 1 of in_axes is out of range for an argument of shape \(3,\)"),
    ("out of range below", lambda: fg.vmap(named, (-2, 0))(V, V), errors.BatchSizeError,
     "axis -2 of in_axes"),
    ("a number mapped", lambda: fg.vmap(named)(V, 1.0), errors.BatchSizeError,
     r"out of range for an argument of shape \(\)"),
    ("no integer", lambda: fg.vmap(named, (0.0, 0))(V, V), errors.BatchSizeError, r"axis 0\.0"),
    ("entries of in_axes", lambda: fg.vmap(named, (0,))(V, V), ValueError,
     "in_axes has 1 entries, but there are 2 positional"),
    ("tree of in_axes", lambda: fg.vmap(named, ({"b": 0}, 0))({"a": V}, V), errors.TreeError,
     "do not match"),
    ("tree of out_axes", lambda: fg.vmap(named, 0, (0, 0, 0))(V, V), errors.TreeError,
     "do not match"),
    ("out_axes None", lambda: fg.vmap(named, 0, None)(V, V), ValueError,
     "vmap of named: out_axes is None for an output that is mapped"),
    ("out_axes out of range", lambda: fg.vmap(named, 0, 1)(V, V), errors.BatchSizeError,
     "axis 1 of out_axes is out of range for an output of 1 axes"),
    ("out_axes no integer", lambda: fg.vmap(named, 0, "x")(V, V), errors.BatchSizeError,
     "axis 'x' of out_axes"),
    ("a plain array indexed", lambda: fg.vmap(lambda i: V[i])(np.arange(3)),
     errors.AbstractValueError, r"funcgrad\.numpy\.take\(table, i\)"),
    ("np.take of a plain array", lambda: fg.vmap(lambda i: np.take(V, i))(np.arange(3)),
     errors.AbstractValueError, r"funcgrad\.numpy\.take\(table, i\)"),
    ("no array returned", lambda: fg.vmap(lambda x: "text")(V), errors.TreeError,
     "the output of .* is 'str'"),
    ("no array given", lambda: fg.vmap(named)("text", V), errors.TreeError,
     r"the arguments of named\[0\]\[0\] is 'str'"),
    ("a branch", lambda: fg.vmap(lambda x: x if x > 0 else -x)(V), errors.AbstractValueError,
     "where"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "text"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
    same(fg.vmap(lambda x: x * 2.0)(V), V * 2.0)


def test_a_mapped_value_outside_of_its_map():
    kept = []
    fg.vmap(lambda x: kept.append(x) or x)(V)
    with pytest.raises(errors.LeakedTracerError, match="vmap"):
        np.sin(kept[0])
    with pytest.raises(errors.LeakedTracerError, match="vmap"):
        fg.vmap(lambda x: kept[0])(V)
