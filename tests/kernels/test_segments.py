"""Reductions of segments: kernels and rules give the same, and what the slow way gives."""

import numpy as np
import pytest
from amount import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.numpy as fnp
import funcgrad.torch as torch
from funcgrad.core.types import type_of_raw
from funcgrad.kernels import segments
from funcgrad.kernels.choice import entries
from funcgrad.ops.segment import SEGMENT, segment_reduce
from funcgrad.transforms.node import OpNode

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]
REDUCTIONS = ["max", "min", "prod"]
ONE = {"max": fnp.maximum, "min": fnp.minimum, "prod": lambda x, y: x * y}


@pytest.fixture(autouse=True)
def any_size(monkeypatch, always):
    monkeypatch.setattr(segments, "FEWEST", 1)


def numbers(rng, count, dtype, special):
    x = np.round(rng.normal(size=count), 1).astype(dtype)
    for _ in range(special if count else 0):
        x[rng.integers(count)] = rng.choice(SPECIAL)
    return x


@settings(max_examples=examples(200), deadline=None)
@given(
    st.integers(0, 99), st.integers(1, 5), st.integers(0, 12), st.integers(0, 3),
    st.sampled_from([np.float64, np.float32]), st.sampled_from(REDUCTIONS),
)  # fmt: skip
def test_kernels_are_the_rules(seed, size, count, special, dtype, reduce):
    rng = np.random.default_rng(seed)
    x, v = numbers(rng, size, dtype, special), numbers(rng, count, dtype, special)
    at = rng.integers(-size, size, count)
    with np.errstate(all="ignore"):
        y = SEGMENT.impl.args[0](v, at, x, reduce=reduce)
        np.testing.assert_array_equal(SEGMENT.impl(v, at, x, reduce=reduce), y)
        node = OpNode()
        node.prim, node.params = SEGMENT, {"reduce": reduce}
        node.parents, node.saved = (OpNode(), None, OpNode()), (y, v, at, x)
        node.avals = (type_of_raw(v), type_of_raw(at), type_of_raw(x))
        g = numbers(rng, size, dtype, 0)
        expected, (found, own) = SEGMENT.vjp(node, g), SEGMENT.backward_kernel.pull(node, g)
    assert own and found[1] is None
    eps = 64 * np.finfo(dtype).eps
    for e, f in ((expected[0], found[0]), (expected[2], found[2])):
        np.testing.assert_allclose(f, e, rtol=eps, atol=eps)


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_every_order_is_that_of_one_element_after_the_other(reduce, monkeypatch):
    monkeypatch.setattr(segments, "FEWEST", 1 << 60)
    at = np.array([0, 2, 0, 1, 0, 2])
    x, v = np.array([0.5, -1.5, 0.75]), np.array([1.25, 0.0, 0.25, -2.0, 0.125, 0.0])

    def slowly(v):
        places = [x[0], x[1], x[2]]
        for p, k in zip(at, range(6), strict=True):
            places[p] = ONE[reduce](places[p], v[k])
        return fnp.sum(fnp.stack(places) * np.array([1.0, 2.0, 3.0]) ** 2)

    quickly = lambda v: fnp.sum(segment_reduce(x, at, v, reduce) * np.array([1.0, 2.0, 3.0]) ** 2)
    assert quickly(v) == slowly(v)
    smooth = v if reduce == "prod" else v + np.arange(6) * 0.01  # ties are shared in another way
    for transform in (fg.grad, fg.hessian, fg.jacfwd, lambda f: fg.grad(fg.jit(f))):
        np.testing.assert_allclose(transform(quickly)(smooth), transform(slowly)(smooth))
    pairs = np.stack([smooth, smooth[::-1]])
    np.testing.assert_allclose(
        fg.vmap(fg.grad(quickly))(pairs), np.stack([fg.grad(quickly)(p) for p in pairs])
    )


@pytest.mark.parametrize("name", ["maximum", "minimum", "multiply"])
def test_ufunc_at_of_numpy(name):
    """Repeated positions, by plain NumPy's own name; ties share equally."""
    ufunc = getattr(np, name)
    at = np.array([0, 2, 0, 0])

    def f(v):
        b = fnp.ones((3,))
        ufunc.at(b, at, v)
        return b

    v = np.array([2.0, 0.5, -3.0, 0.25])
    expected = np.ones(3)
    ufunc.at(expected, at, v)
    np.testing.assert_array_equal(fnp.asarray(f(v)), expected)
    jac = {"maximum": [[1, 0, 0, 0], [0] * 4, [0] * 4],
           "minimum": [[0, 0, 1, 0], [0] * 4, [0, 1, 0, 0]],
           "multiply": [[-0.75, 0, 0.5, -6.0], [0] * 4, [0, 1, 0, 0]]}[name]  # fmt: skip
    np.testing.assert_array_equal(fg.jacobian(f)(v), jac)
    ties = fg.grad(lambda v: fnp.sum(f(v) * np.array([6.0, 1.0, 1.0])))(np.ones(4))
    if name != "multiply":
        np.testing.assert_allclose(ties, [1.5, 0.5, 1.5, 1.5])


@pytest.mark.parametrize("reduce", ["amax", "amin", "prod"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("include_self", [True, False])
def test_tensors_are_those_of_pytorch(reduce, dtype, include_self):
    theirs = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x, v = rng.uniform(0.8, 1.2, (50, 90)), rng.uniform(0.8, 1.2, (50, 700))
    at = rng.integers(0, 90, (50, 700))
    before = sum(e.calls for (n, _), e in entries.items() if n.startswith("segment"))
    found = []
    for t in (torch, theirs):
        a, b = (t.tensor(k, dtype=getattr(t, dtype)).requires_grad_() for k in (x, v))
        y = a.scatter_reduce(1, t.tensor(at), b, reduce, include_self=include_self)
        y.cos().sum().backward()
        found.append([k.detach().numpy() for k in (y, a.grad, b.grad)])
    assert sum(e.calls for (n, _), e in entries.items() if n.startswith("segment")) >= before + 2
    for mine, other in zip(*found, strict=True):
        eps = 64 * np.finfo(dtype).eps
        np.testing.assert_allclose(mine, other, rtol=eps, atol=eps)


def test_a_position_outside_is_an_index_error():
    for at in (3, -4):
        with pytest.raises(IndexError):
            segment_reduce(np.ones(3), np.array([at]), np.ones(1), "max")
