"""The irregular kernels give NumPy's bits: scatters, running sums, recurrences, permutations."""

import numpy as np
import pytest
from amount import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.numpy as fnp
import funcgrad.torch as torch
from funcgrad.core.types import type_of_raw
from funcgrad.kernels import irregular
from funcgrad.kernels.choice import entries
from funcgrad.ops.cumulative import CUMPROD, CUMSUM, RECURRENCE
from funcgrad.ops.index import ADD_AT, GATHER, SCATTER_ADD
from funcgrad.ops.order import RUNNING_EXTREMUM
from funcgrad.ops.sort import ARGSORT, PERMUTE
from funcgrad.transforms.node import OpNode

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 2.0]
DTYPES = st.sampled_from([np.float64, np.float32])
LAYOUTS = st.sampled_from(["plain", "reversed", "strided", "fortran", "broadcast", "read-only"])
SHAPES = st.lists(st.integers(0, 5), min_size=1, max_size=3).map(tuple)


@pytest.fixture(autouse=True)
def any_size(monkeypatch, always):
    monkeypatch.setattr(irregular, "FEWEST", 1)


def calls(name):
    return sum(e.calls for (key, _), e in entries.items() if key == name)


def check(prim, *operands, eps=0.0, **params):
    rule = prim.impl.args[0]
    with np.errstate(all="ignore"):
        expected, found = rule(*operands, **params), prim.impl(*operands, **params)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=eps, atol=eps)


def made(data, shape, dtype):
    """Numbers with ties and special values, in some layout."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = np.round(rng.normal(size=shape), data.draw(st.integers(0, 3))).astype(dtype)
    for _ in range(data.draw(st.integers(0, 3)) if x.size else 0):
        place = data.draw(st.integers(0, x.size - 1))
        x.reshape(-1)[place] = data.draw(st.sampled_from(SPECIAL))
    layout = data.draw(LAYOUTS)
    if layout == "reversed":
        return np.flip(x, data.draw(st.integers(0, len(shape) - 1)))
    if layout == "strided":
        return np.repeat(x, 2, -1)[..., ::2]
    if layout == "fortran":
        return np.asfortranarray(x)
    if layout == "broadcast" and 0 not in shape:
        return np.broadcast_to(x[:1], shape)
    x.flags.writeable = layout != "read-only"
    return x


@settings(max_examples=examples(100), deadline=None)
@given(st.data(), SHAPES, DTYPES)
def test_cumsum(data, shape, dtype):
    axis = data.draw(st.integers(0, len(shape) - 1))
    check(CUMSUM, made(data, shape, dtype), axis=axis, dtype=None)


@settings(max_examples=examples(100), deadline=None)
@given(st.data(), SHAPES, DTYPES)
def test_cumprod(data, shape, dtype):
    axis = data.draw(st.integers(0, len(shape) - 1))
    check(CUMPROD, made(data, shape, dtype), axis=axis, dtype=None)


@settings(max_examples=examples(100), deadline=None)
@given(st.data(), SHAPES, DTYPES)
def test_backward_of_cumprod(data, shape, dtype):
    """The kernel of the whole backward pass, of zeros and what is infinite, too."""
    axis = data.draw(st.integers(0, len(shape) - 1))
    x, g = made(data, shape, dtype), made(data, shape, dtype)
    node = OpNode()
    node.prim, node.params = CUMPROD, {"axis": axis, "dtype": None}
    node.parents, node.avals = (OpNode(),), (type_of_raw(x),)
    with np.errstate(all="ignore"):
        node.saved = (np.cumprod(x, axis), x)
        (expected,) = CUMPROD.vjp(node, g)
        (found,), _ = CUMPROD.backward_kernel.pull(node, g)
    eps = 64 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, expected, rtol=eps, atol=eps)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (4, 0, 2), (0, 0)])
def test_nothing_is_written_of_lines_without_elements(shape, monkeypatch):
    """A line of no elements has no first one, and writing it would be writing elsewhere."""
    monkeypatch.setattr(irregular.pieces, "run", None)
    x = np.ones(shape)
    node = OpNode()
    for axis in range(len(shape)):
        node.prim, node.params = CUMPROD, {"axis": axis, "dtype": None}
        node.parents, node.avals, node.saved = (OpNode(),), (type_of_raw(x),), (x, x)
        (found,), _ = CUMPROD.backward_kernel.pull(node, x)
        assert found.shape == shape
        lines = irregular._lines(x, axis)
        assert irregular._run(None, [lines, lines])


@settings(max_examples=examples(100), deadline=None)
@given(st.data(), SHAPES, DTYPES, st.booleans())
def test_running_extremum(data, shape, dtype, largest):
    axis = data.draw(st.integers(0, len(shape) - 1))
    check(RUNNING_EXTREMUM, made(data, shape, dtype), axis=axis, largest=largest)


@settings(max_examples=examples(100), deadline=None)
@given(st.data(), st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple), DTYPES)
def test_add_at(data, shape, dtype):
    size, count = int(np.prod(shape)), data.draw(st.integers(0, 9))
    at = np.random.default_rng(count).integers(-size, size, count)
    check(ADD_AT, made(data, shape, dtype), at, made(data, (count,), dtype))


@settings(max_examples=examples(150), deadline=None)
@given(st.data(), st.lists(st.integers(1, 4), min_size=2, max_size=3).map(tuple), DTYPES)
def test_along_an_axis(data, shape, dtype):
    """What `take_along_axis` reads, and its transpose."""
    axis, count = data.draw(st.integers(0, len(shape) - 1)), data.draw(st.integers(0, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    where = (*shape[:axis], count, *shape[axis + 1 :])
    indices = [np.arange(n).reshape(-1, *[1] * (len(shape) - k - 1)) for k, n in enumerate(shape)]
    indices[axis] = rng.integers(-shape[axis], shape[axis], where)
    check(GATHER, made(data, shape, dtype), *indices)
    check(SCATTER_ADD, made(data, where, dtype), *indices, shape=shape)


@settings(max_examples=examples(100), deadline=None)
@given(st.data(), SHAPES, DTYPES)
def test_recurrence(data, shape, dtype):
    axis = data.draw(st.integers(0, len(shape) - 1))
    a, b = made(data, shape, dtype), made(data, shape, dtype)
    # a few lines are Python numbers in the rule, which rounds once
    check(RECURRENCE, a, b, axis=axis, eps=64 * np.finfo(dtype).eps)


@settings(max_examples=examples(150), deadline=None)
@given(st.data(), SHAPES, st.lists(st.integers(1, 6), min_size=1, max_size=3), DTYPES)
def test_scatter_add(data, where, extents, dtype):
    """Repeated, negative and broadcast positions over one or several axes."""
    count = data.draw(st.integers(1, len(extents)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    kind = data.draw(st.sampled_from([np.int64, np.int32, np.int8]))
    indices = []
    for k in range(count):
        own = tuple(1 if k and data.draw(st.booleans()) else n for n in where)
        indices.append(rng.integers(-extents[k], extents[k], own).astype(kind))
    g = made(data, where + tuple(extents[count:]), dtype)
    check(SCATTER_ADD, g, *indices, shape=tuple(extents))


@settings(max_examples=examples(100), deadline=None)
@given(st.data(), SHAPES, DTYPES, st.booleans())
def test_permute(data, shape, dtype, back):
    axis = data.draw(st.integers(0, len(shape) - 1))
    order = np.argsort(np.random.default_rng(0).random(shape), axis)
    check(PERMUTE, made(data, shape, dtype), order, axis=axis, back=back)


@settings(max_examples=examples(100), deadline=None)
@given(st.data(), SHAPES, DTYPES)
def test_argsort_is_stable(data, shape, dtype):
    axis = data.draw(st.integers(0, len(shape) - 1))
    check(ARGSORT, made(data, shape, dtype), axis=axis, kind="stable")


def test_argsort_of_many_equal_elements():
    x = np.random.default_rng(0).integers(0, 3, (2, 5000)).astype(float)
    x[0, ::7] = np.nan
    check(ARGSORT, x, axis=1, kind="stable")


def test_positions_outside_raise_as_in_numpy():
    for at in (np.array([3]), np.array([-4])):
        with pytest.raises(IndexError):
            SCATTER_ADD.impl(np.ones((1, 4)), at, shape=(3, 4))
        with pytest.raises(IndexError):
            SCATTER_ADD.impl(np.ones(1), at, shape=(3,))
        with pytest.raises(IndexError):
            ADD_AT.impl(np.ones(3), at, np.ones(1))
        along = (np.arange(2)[:, None], np.repeat(at[None], 2, 0))
        with pytest.raises(IndexError):
            GATHER.impl(np.ones((2, 3)), *along)
        with pytest.raises(IndexError):
            SCATTER_ADD.impl(np.ones((2, 1)), *along, shape=(2, 3))


ONES = np.ones((6, 1), int)
PROGRAMS = {
    "take": ("scatter_add", lambda x: fnp.take(x, [2, 0, 2, -1], 0)),
    "index": ("scatter_add", lambda x: x[:, [1, 1, 0]]),
    "take_along_axis": ("add_along", lambda x: fnp.take_along_axis(x, ONES, 1)),
    "cumsum": ("cumsum", lambda x: fnp.cumsum(x, 0)),
    "cumprod": ("cumprod", lambda x: fnp.cumprod(x, 1)),
    "sort": ("permute", lambda x: fnp.sort(x, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_take_the_kernels_by_default(name, monkeypatch):
    kernel, f = PROGRAMS[name]
    x = np.random.default_rng(0).normal(size=(6, 4))
    w = np.random.default_rng(1).normal(size=np.shape(f(x)))
    before = calls(kernel)
    found = fg.grad(lambda x: fnp.sum(f(x) * w))(x)
    assert calls(kernel) > before
    assert f"{kernel} (d): native code" in fg.kernels.explain()
    monkeypatch.setattr(irregular, "FEWEST", 1 << 60)
    np.testing.assert_array_equal(found, fg.grad(lambda x: fnp.sum(f(x) * w))(x))


TENSORS = {
    "index_select": ("add_along", lambda t, x: x.index_select(1, t.tensor([0, 2, 2]))),
    "gather": ("add_along", lambda t, x: x.gather(1, t.tensor([[0, 0, 3]] * 6))),
    "embedding": ("scatter_add", lambda t, x: t.nn.functional.embedding(t.tensor([[1, 5, 1]]), x)),
    "topk": ("add_along", lambda t, x: x.topk(2, 1)[0]),
    "logcumsumexp": ("recurrence", lambda t, x: t.logcumsumexp(x, 1)),
    "cumsum": ("cumsum", lambda t, x: x.cumsum(0)),
    "cumprod": ("cumprod", lambda t, x: (x / 9 + 1).cumprod(1)),
    "cummax": ("running_extremum", lambda t, x: x.sin().cummax(1)[0]),
    "scatter_add": ("add_at", lambda t, x: x.scatter_add(1, t.tensor([[0, 0, 3, 1]] * 6), x.cos())),
}


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_tensors_take_the_kernels(name, dtype):
    theirs = pytest.importorskip("torch")
    kernel, f = TENSORS[name]
    grads = []
    before = calls(kernel)
    for t in (torch, theirs):
        x = t.linspace(-1, 1, 24, dtype=getattr(t, dtype)).reshape(6, 4).requires_grad_()
        f(t, x).sin().sum().backward()
        grads.append(x.grad.numpy())
    assert calls(kernel) > before
    tolerance = 16 * np.finfo(dtype).eps
    np.testing.assert_allclose(grads[0], grads[1], rtol=tolerance, atol=tolerance)


def test_the_number_of_threads_changes_no_bit(monkeypatch):
    monkeypatch.setattr("funcgrad.kernels.threads.PARALLEL", 1)
    monkeypatch.setattr("funcgrad.kernels.threads.PIECE", 64)
    rng = np.random.default_rng(0)
    x, at = rng.normal(size=(40, 100)), rng.integers(0, 40, 200)
    f = lambda x: fnp.sum(fnp.sin(fnp.cumsum(x[at], 0)) + fnp.sin(fnp.cumprod(x[at], 1)))
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(fg.config, "threads", threads)
        found.append(fg.grad(f)(x))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("reduce", ["amax", "amin", "prod"])
def test_a_crowded_place_among_many_needs_little_memory(reduce):
    """Rows of one length would hold 4·10^10 numbers."""
    at = torch.cat([torch.zeros(200_000, dtype=torch.int64), torch.arange(200_000)])
    v = torch.linspace(0.9, 1.1, 400_000, dtype=torch.float64).requires_grad_()
    y = torch.ones(200_000, dtype=torch.float64).scatter_reduce(0, at, v, reduce)
    (y[1:] * 2).sum().backward()
    chosen = v.detach()[200_001:].numpy()
    expected = {"prod": chosen, "amax": np.maximum(chosen, 1), "amin": np.minimum(chosen, 1)}
    np.testing.assert_array_equal(y[1:].detach().numpy(), expected[reduce])
    assert not v.grad[:200_001].numpy().any()
    takes_part = {"prod": True, "amax": chosen > 1, "amin": chosen < 1}[reduce]
    np.testing.assert_array_equal(v.grad[200_001:].numpy(), np.where(takes_part, 2.0, 0.0))
