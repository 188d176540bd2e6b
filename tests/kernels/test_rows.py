"""The native code of reductions gives what the rule of the primitive gives in NumPy."""

import numpy as np
import pytest
from amount import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from funcgrad.core.primitive import PRIMITIVES
from funcgrad.core.types import type_of_raw
from funcgrad.kernels import rows
from funcgrad.transforms.node import OpNode

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 2.0]
PARAMS = {
    "softmax": {},
    "log_softmax": {},
    "logsumexp": {},
    "max": {"initial": None},
    "min": {"initial": None},
    "var": {"dtype": None, "ddof": 1},
    "std": {"dtype": None, "ddof": 0},
    "prod": {"dtype": None, "initial": None},
    "norm": {"ord": None},
}


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    monkeypatch.setattr(rows, "FEWEST", 1)


def node_of(name, x, axes, keepdims=False):
    prim = PRIMITIVES[name]
    one = name in ("softmax", "log_softmax")
    params = {"axis": axes[0]} if one else {"axes": axes, "keepdims": keepdims}
    node = OpNode()
    node.prim, node.params, node.seq = prim, params | PARAMS[name], 0
    node.parents, node.avals = (OpNode(),), (type_of_raw(x),)
    with np.errstate(all="ignore"):
        y = prim.impl(x, **node.params)
    flags = prim.saved_flags(1, 1)
    node.saved = tuple(v if f else None for v, f in zip((y, x), flags, strict=True))
    return node, y


def check(name, x, axes, seed=0, special=False, keepdims=False):
    node, y = node_of(name, x, axes, keepdims)
    rng = np.random.default_rng(seed)
    g = rng.normal(size=np.shape(y)).astype(x.dtype)
    if special and np.ndim(g):
        g.reshape(-1)[rng.integers(g.size)] = 0.0
    with np.errstate(all="ignore"):
        (expected,) = node.prim.vjp(node, g)
        (found,), own = node.prim.backward_kernel.pull(node, g)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(np.isnan(expected), np.isnan(found))
    eps = np.finfo(x.dtype).eps
    # the rounding of a sum over the row is one of its largest terms
    largest = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
    np.testing.assert_allclose(found, expected, rtol=64 * eps, atol=64 * eps * largest)
    return own


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", PARAMS)
def test_kernel_is_the_rule(name, dtype):
    x = np.random.default_rng(1).uniform(0.5, 1.5, (5, 37)).astype(dtype)
    assert check(name, x, (1,))
    assert check(name, x, (0,))
    if name not in ("softmax", "log_softmax"):
        assert check(name, x, (0, 1))


@pytest.mark.parametrize("name", PARAMS)
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_axes_layouts_and_special_values(name, data):
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    x = np.random.default_rng(data.draw(st.integers(0, 99))).normal(size=shape)
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, x.size - 1))
        x.reshape(-1)[place] = data.draw(st.sampled_from(SPECIAL))
    x = data.draw(
        st.sampled_from(
            [x, np.asfortranarray(x), x[::-1], np.repeat(x, 2, -1)[..., ::2], np.swapaxes(x, 0, -1)]
        )
    )
    count = 1 if name in ("softmax", "log_softmax") else data.draw(st.integers(1, len(shape)))
    if name == "norm":
        count = min(count, 2)
    axes = tuple(sorted(data.draw(st.permutations(range(len(shape))))[:count]))
    check(name, x, axes, special=True, keepdims=data.draw(st.booleans()))


SHAPES = [
    ((3, 4, 5), (1,), "beside"),
    ((300, 2, 1), (0,), "beside"),
    ((3, 4, 5), (0, 2), "along"),
    ((2, 3, 4, 5), (1, 3), "along"),
    ((2, 3, 4, 5), (0, 1), "beside"),
    ((2, 3, 4, 5), (1, 2), "beside"),
    ((1, 3, 1, 5, 1), (1, 4), "beside"),
    ((7, 1), (1,), "along"),
    ((3000, 3), (0,), "beside"),
    ((2, 600), (0,), "beside"),
]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape, axes, loop", SHAPES)
def test_any_axes(shape, axes, loop, keepdims):
    x = np.random.default_rng(0).normal(size=shape)
    for name, layout in (("var", x), ("logsumexp", x), ("max", np.asfortranarray(x))):
        assert check(name, layout, axes, keepdims=keepdims)
        node, y = node_of(name, layout, axes, keepdims)
        if layout is x:
            assert rows._prepared(node, np.asarray(y)).loop == loop


def test_the_bits_do_not_depend_on_the_threads(monkeypatch):
    monkeypatch.setattr("funcgrad.kernels.threads.PARALLEL", 1)
    monkeypatch.setattr(rows, "PIECE", 512)
    x = np.random.default_rng(0).normal(size=(60, 70)).astype(np.float32)
    for name in PARAMS:
        for axes in ((0,), (1,)):
            node, y = node_of(name, x, axes)
            found = []
            for count in (1, 3, 3):
                monkeypatch.setattr(rows.config, "threads", count)
                found.append(node.prim.backward_kernel.pull(node, np.array(y))[0][0].tobytes())
            assert found[0] == found[1] == found[2]


def test_other_options_go_to_the_rule():
    x = np.random.default_rng(0).normal(size=(3, 4))
    node, y = node_of("max", x, (1,))
    node.params = node.params | {"initial": 0.0}
    assert not node.prim.backward_kernel.pull(node, y)[1]


@pytest.mark.parametrize("name", PARAMS)
@pytest.mark.parametrize("axes", [(0, 2, 4), (1, 3), (0, 2, 5), (1, 3, 5)])
def test_kept_and_reduced_axes_alternate_as_they_like(name, axes):
    axes = axes[: {"softmax": 1, "log_softmax": 1, "norm": 2}.get(name, 3)]
    deep = np.random.default_rng(0).normal(size=(2, 3, 2, 3, 2, 2))
    assert check(name, deep, axes)


def test_long_columns_are_as_accurate_as_short_ones():
    x = np.random.default_rng(0).normal(size=(300_000, 2)).astype(np.float32)
    node, _ = node_of("var", x + np.float32(100), (0,))
    (found,), own = node.prim.backward_kernel.pull(node, np.ones(2, np.float32))
    assert own
    wide = (x + np.float32(100)).astype(np.float64)
    exact = 2 * (wide - wide.mean(0)) / (len(x) - 1)
    assert np.max(np.abs(found - exact)) < 300 * np.finfo(np.float32).eps / len(x)


def test_long_rows_are_as_accurate_as_short_ones():
    x = np.random.default_rng(0).normal(size=(1, 300_000)).astype(np.float32)
    node, _ = node_of("var", x + np.float32(100), (1,))
    (found,), own = node.prim.backward_kernel.pull(node, np.ones(1, np.float32))
    assert own
    wide = (x + np.float32(100)).astype(np.float64)
    exact = 2 * (wide - wide.mean()) / (x.size - 1)
    assert np.max(np.abs(found - exact)) < 300 * np.finfo(np.float32).eps / x.size
