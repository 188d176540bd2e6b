"""Each elementwise kernel gives what the rule of the primitive gives in NumPy."""

import numpy as np
import pytest
from amount import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.core.forms import elementwise as elementwise_form
from funcgrad.core.types import type_of_raw
from funcgrad.kernels import elementwise, write
from funcgrad.kernels.choice import entries
from funcgrad.transforms.node import OpNode

RECORDS = write.records()
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-310]
# Where a sum of parts cancels, the error is one of the parts, which are at most of this size.
CANCELS = {"gelu": 2.0, "silu": 2.0}


def test_file_is_current():
    assert write.PATH.read_text() == write.text(), "run python -m funcgrad.kernels.write"


def test_a_primitive_of_the_same_name_gets_no_kernel(monkeypatch):
    """Kernels belong to records: a user's operation may be called as one of ours is."""
    prim = elementwise_form(np.sin, lambda _, x: 2 * x, name="tanh", sample=list)
    x = np.linspace(-1, 1, 1 << 16)
    monkeypatch.setattr(fg.config, "kernels", "always")
    before = len(entries)
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(prim(x)))(x), 2 * x)
    assert len(entries) == before
    assert prim.primitive.backward_kernel is None


def node_of(name, xs, wanted):
    prim, exponent = RECORDS[name]
    if exponent is not None:
        xs = [xs[0], exponent]
    node = OpNode()
    node.prim, node.params, node.seq = prim, {}, 0
    node.parents = tuple(OpNode() if w else None for w in wanted)
    node.avals = tuple(type_of_raw(x) for x in xs)
    mask = sum(1 << k for k, w in enumerate(wanted) if w)
    with np.errstate(all="ignore"):
        z = prim.impl(*xs)
    flags = prim.saved_flags(mask, len(xs))
    node.saved = tuple(v if f else None for v, f in zip((z, *xs), flags, strict=True))
    return node, z


def check(name, xs, g, wanted):
    """The kernel against the rule; what is no picture of rows and columns is the rule itself."""
    node, _ = node_of(name, xs, wanted)
    before = [a if a is None or not isinstance(a, np.ndarray) else a.copy() for a in node.saved]
    with np.errstate(all="ignore"):
        expected = node.prim.vjp(node, g.copy())
        found, own = elementwise.pull(node, g)
        check_owned(node, g, found)
        for e, f in zip(expected, found, strict=True):
            assert (e is None) == (f is None)
            if e is None:
                continue
            e, f = np.asarray(e), np.asarray(f)
            assert (e.shape, e.dtype) == (f.shape, f.dtype)
            eps = np.finfo(f.dtype).eps
            np.testing.assert_array_equal(np.isnan(e), np.isnan(f))
            gap = np.where(e == f, 0, np.abs(e - f))  # also of infinities
            size = np.abs(e) + (CANCELS[name] * np.abs(g) if name in CANCELS else 0)
            close = gap <= 16 * eps * size + np.finfo(f.dtype).smallest_normal
            assert np.all(close | np.isnan(e))
            if name not in CANCELS and e.shape == g.shape and e.dtype.kind == "f":
                # where a NaN is masked, the rule gives every 0 of g the result +0
                zero = (e == 0) & (f == 0) & (g != 0)
                np.testing.assert_array_equal(np.signbit(e[zero]), np.signbit(f[zero]))
    for a, b in zip(node.saved, before, strict=True):
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)
    return own


def check_owned(node, g, expected):
    """A cotangent may take the place of the one that arrived, with the same bits."""
    given = np.array(g)
    found, own = elementwise.pull(node, given, True)
    places = [k for k, c in enumerate(found) if c is not None and np.may_share_memory(c, given)]
    assert len(places) <= 1 or not own  # a rule hands on what it is given, to both operands
    for e, f in zip(expected, found, strict=True):
        assert (e is None) == (f is None)
        if e is not None:
            np.testing.assert_array_equal(e, f)


def numbers(rng, shape, dtype, special):
    x = rng.normal(0.5, 1.5, shape).astype(dtype)
    if special and x.size:
        flat = x.reshape(-1)
        places = rng.integers(0, flat.size, min(flat.size, 4))
        flat[places] = rng.choice(SPECIAL, places.size)
    return x


def operands(name, rng, shapes, dtype, special):
    xs = [numbers(rng, s, dtype, special) for s in shapes]
    if name == "where":
        xs[0] = xs[0] > 0
    return xs


def arity(name):
    prim, exponent = RECORDS[name]
    return 3 if name == "where" else 1 if exponent is not None else prim.ufunc.nin


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.usefixtures("always")
def test_kernel_is_the_rule(name, dtype):
    rng = np.random.default_rng(0)
    for special in (False, True):
        xs = operands(name, rng, [(37,)] * arity(name), dtype, special)
        wanted = [x.dtype.kind == "f" for x in xs]
        if RECORDS[name][1] is not None:
            wanted.append(False)
        _, z = node_of(name, xs, wanted)
        g = numbers(rng, z.shape, dtype, special)
        own = check(name, xs, g, wanted)
        assert own or name in ("add", "subtract")


LAYOUTS = st.sampled_from(["C", "F", "reversed", "strided", "read-only", "broadcast"])


def laid_out(x, layout):
    if layout == "F":
        return np.asfortranarray(x)
    if layout == "reversed":
        return x[::-1].copy()[::-1] if x.ndim else x
    if layout == "strided" and x.ndim:
        wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    if layout == "read-only":
        x = np.array(x)
        x.flags.writeable = False
    if layout == "broadcast" and x.ndim:
        return np.broadcast_to(x[:1], x.shape)
    return x


@pytest.mark.parametrize(
    "name", ["add", "multiply", "divide", "maximum", "where", "power_2", "tanh"]
)
@pytest.mark.usefixtures("always")
@settings(max_examples=examples(30), deadline=None)
@given(data=st.data())
def test_layouts_and_broadcasting(name, data):
    shape = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple))
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    shapes = [
        tuple(1 if data.draw(st.booleans()) else n for n in shape)[data.draw(st.integers(0, 1)) :]
        if data.draw(st.booleans())
        else shape
        for _ in range(arity(name))
    ]
    dtype = data.draw(st.sampled_from([np.float64, np.float32]))
    xs = [laid_out(x, data.draw(LAYOUTS)) for x in operands(name, rng, shapes, dtype, True)]
    wanted = [x.dtype.kind == "f" and data.draw(st.booleans()) for x in xs]
    if RECORDS[name][1] is not None:
        wanted.append(False)
    if not any(wanted):
        return
    _, z = node_of(name, xs, wanted)
    g = laid_out(numbers(rng, np.shape(z), dtype, True), data.draw(LAYOUTS))
    if isinstance(g, np.ndarray):
        check(name, xs, np.asarray(g), wanted)


@pytest.mark.parametrize(
    "shapes",
    [[(3, 4, 5), (3, 1, 5)], [(3, 1, 5), (4, 1)], [(3, 4, 5), (4, 5)], [(3, 1, 1), (1, 4, 5)]],
)
@pytest.mark.usefixtures("always")
def test_every_way_of_repeating_takes_the_kernel(shapes):
    rng = np.random.default_rng(0)
    for name in ("multiply", "divide", "maximum", "power"):
        xs = [rng.uniform(0.5, 1.5, s) for s in shapes]
        _, z = node_of(name, xs, [True, True])
        for g in (rng.normal(size=z.shape), np.broadcast_to(rng.normal(size=(3, 1, 5)), z.shape)):
            for wanted in ([True, True], [True, False], [False, True]):
                assert check(name, xs, g, wanted)


@pytest.mark.parametrize("number", [2.5, 3, np.float64(0.5)])
@pytest.mark.usefixtures("always")
def test_numbers_as_operands(number):
    x = np.linspace(-1, 2, 24).reshape(4, 6)
    g = np.cos(x)
    for name in ("multiply", "divide", "maximum", "power"):
        check(name, [x, number], g, [True, False])
        check(name, [number, x], g, [False, True])


@pytest.mark.usefixtures("always")
def test_other_types_go_to_the_rule():
    before = len(entries)
    x = np.ones(5, np.complex128)
    assert not check("multiply", [x, x], x, [True, True])
    half = np.ones(5, np.float16)
    assert not check("multiply", [half, half], half, [True, True])
    assert not check("multiply", [np.ones(5), np.ones(5, np.float32)], np.ones(5), [True, True])
    assert len(entries) == before
