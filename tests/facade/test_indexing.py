"""Indexing, gathering and scattering: values, memory, graphs and gradients against PyTorch."""

import numpy as np
import pytest

from .both import same
from .cases import Case, cases, check, check_changes, seeded

A = seeded((2, 3))
B = seeded((2, 3, 4))
C = seeded((2, 3), seed=1)
V = seeded((3,))
S = seeded((3, 3))
I = seeded((2, 3), "i")
Z = seeded((2, 3), "c")
SCALAR = np.float32(1.5)
EMPTY = np.zeros((0, 3), np.float32)
AT = np.array([[0, 1, 0]])
AT1 = np.array([[2, 0], [1, 1]])
ROWS = np.array([1, 0, 1])
MASK = seeded((2, 3), "b")

INDICES = {
    "0": 0, "-1": -1, "5": 5, "0,1": (0, 1), ":,1": (slice(None), 1), "...,1": (..., 1),
    "None": None, ":": slice(None), "...": ..., "()": (), "0:1": slice(0, 1),
    "::2": slice(None, None, 2), "::-1": slice(None, None, -1), "::0": slice(None, None, 0),
    "1:,None": (slice(1, None), None), "None,0": (None, 0), "1:0": slice(1, 0),
    "too-many": (0, 0, 0, 0, 0), "1.5": 1.5, "str": "a", "list": [0, 1], "lists": [[0, 1], [1, 0]],
    "two-lists": ([0, 1], [2, 0]), ":,list": (slice(None), [0, 1]), "list,:": ([0, 1], slice(1)),
    "0,list": (0, [0, 1]), "list,0": ([0, 1], 0), "True": True, "False": False,
    "bool-list": [True, False], "mixed-list": [[0], [1]], "list-None": [0, None], "empty-list": [],
    "out-list": [5], "range": range(2),
    "uneven": ([0, 1], [0, 1, 2]), "float-list": [0.5], "negative": [-1, -2],
    "None,list": (None, [0, 1]), "list,None": ([1, 0], None), "...,list": (..., [0, 1]),
    "numpy": np.array([1, 0]), "numpy-bool": np.array([True, False]), "numpy-int": np.int64(1),
}  # fmt: skip
TENSORS = {
    "tensor": lambda t: t.tensor([0, 1]), "tensor-0": lambda t: t.tensor(1),
    "mask": lambda t: t.tensor([True, False]), "int32": lambda t: t.tensor([1], dtype=t.int32),
    "uint8": lambda t: t.tensor([1, 0], dtype=t.uint8), "float": lambda t: t.tensor([1.5]),
    "2d": lambda t: t.tensor([[0, 1], [1, 0]]), "long-mask": lambda t: t.tensor([True] * 5),
    "two": lambda t: (t.tensor([0, 1]), t.tensor([1, 2])),
    "slice-tensor": lambda t: slice(t.tensor(0), t.tensor(1)),
    "spread": lambda t: (t.tensor([[0], [1]]), t.tensor([0, 1])),
    "mask-list": lambda t: (t.tensor([True, True]), [0, 1]),
    "scalar-mask": lambda t: t.tensor(True),
}  # fmt: skip
DEEP = {
    "0,:,list": (0, slice(None), [0, 1]), "list,:,list": ([0, 1], slice(None), [0, 3]),
    "list,0,list": ([0, 1], 0, [0, 3]), ":,list,list": (slice(None), [0, 1], [0, 3]),
    ":,list,:": (slice(None), [0, 2, 1], slice(None)), "...,0": (..., 0), "0,...,0": (0, ..., 0),
    "None,:,None,1": (None, slice(None), None, 1), "list,...,None": ([0], ..., None),
    ":,:,list": (slice(None), slice(None), [1, 1]), "list,None,list": ([0, 1], None, [0, 1]),
    "1:,::2,0": (slice(1, None), slice(None, None, 2), 0),
    ":,lists": (slice(None), [[0, 1], [1, 2]]), "0,list,None": (0, [0, 1], None),
}  # fmt: skip


def reading_cases():
    for array, label in ((A, ""), (A.T, "-transposed"), (I, "-int")):
        for name, index in INDICES.items():
            yield Case(f"[{name}]{label}", lambda t, x, i=index: x[i], array, saved=not label)
        for name, index in TENSORS.items():
            yield Case(f"[{name}]{label}", lambda t, x, i=index: x[i(t)], array, saved=not label)
    for name, index in DEEP.items():
        yield Case(f"3d[{name}]", lambda t, x, i=index: x[i], B)
    for name in ("0", "...", "None", "()", "True", "False", ":"):
        yield Case(f"scalar[{name}]", lambda t, x, i=INDICES[name]: x[i], SCALAR)
    for name in ("0", ":", "list", "empty-list", "mask", "1:0"):
        index = INDICES.get(name)
        if index is not None:
            yield Case(f"empty[{name}]", lambda t, x, i=index: x[i], EMPTY)
    yield Case("[x>0]", lambda t, x: x[x > 0], A)
    yield Case("[2d-mask]", lambda t, x, m: x[m], A, MASK)
    yield Case("[0,mask]", lambda t, x, m: x[0, m], A, MASK[0])
    yield Case("[bad-mask]", lambda t, x, m: x[m], A, MASK.T)
    yield Case("3d[mask]", lambda t, x, m: x[m], B, MASK)
    yield Case("3d[:,mask]", lambda t, x, m: x[:, m], np.moveaxis(B, 2, 0).copy(), MASK)


def written(index, value=None):
    def program(t, x, *more):
        y = x.clone()
        y[index(t) if callable(index) else index] = more[0] if more else value
        return y

    return program


WRITES = {
    "0": (0, (3,)), "0,0": ((0, 0), ()), ":,0": ((slice(None), 0), (2,)), ":": (slice(None), (3,)),
    "...": (..., (2, 3)), "0:1": (slice(0, 1), (3,)), "None": (None, (1, 2, 3)),
    "list": ([0, 1], (3,)), "two-lists": (([0, 1], [0, 1]), (2,)), "0,list": ((0, [0, 1]), (2,)),
    "list-repeated": ([0, 0], (2, 3)), "lead": (0, (1, 3)), "one": (0, (1,)),
    "scalar": (slice(None), ()), "::2": ((slice(None), slice(None, None, 2)), (2, 2)),
    "too-big": (0, (2,)), "too-big-list": ([0], (2,)), "empty": ([], (0, 3)),
    "out": ([5], (3,)), "mask-list": ([True, False], (3,)),
}  # fmt: skip


def writing_cases():
    for name, (index, shape) in WRITES.items():
        value = seeded(shape, seed=3)
        second = name != "list-repeated"
        yield Case(f"set[{name}]", written(index), A, value, first=second, saved=False)
        yield Case(f"set-number[{name}]", written(index, 2.5), A, saved=False)
    yield Case("set[tensor]", written(lambda t: t.tensor([1, 0])), A, C, saved=False)
    yield Case("set[tensor-0]", written(lambda t: t.tensor(0)), A, V, saved=False)
    yield Case("set[mask]", lambda t, x, m: _masked(x, m, 2.0), A, MASK, saved=False)
    yield Case("set-int[0]", written(0, 1.7), I, saved=False)
    yield Case("set-int[list]", written([0], 1.7), I, saved=False)
    yield Case("set-int-tensor[0]", written(0), I, V, saved=False)
    yield Case("set-int-tensor[list]", written([0]), I, V, saved=False)
    yield Case("set-double[0]", written(0), A, V.astype(float), saved=False)
    yield Case("set-double[list]", written([0]), A, V.astype(float), saved=False)
    yield Case("set-int-in-float[0]", written(0), A, I[0], saved=False)
    yield Case("set-numpy[0]", written(0, np.ones(3)), A)
    yield Case("set-list[0]", written(0, [1, 2, 3]), A)
    yield Case("set-str[0]", written(0, "a"), A)
    yield Case("3d-set", written((0, slice(None), [0, 1])), B, seeded((3, 2)), saved=False)
    yield Case("3d-set-far", written(([0, 1], slice(None), [0, 1])), B, seeded((2, 3)),
               saved=False)  # fmt: skip


def _masked(x, mask, value):
    y = x.clone()
    y[mask] = value
    return y


def call(name, *args, **kwargs):
    return lambda torch, *xs: getattr(torch, name)(*xs, *args, **kwargs)


def along(name, dim, *more, **kwargs):
    """``torch.name(x, dim, index, …)``."""
    return lambda torch, x, at, *xs: getattr(torch, name)(x, dim, at, *xs, *more, **kwargs)


REDUCE = ("sum", "prod", "mean", "amax", "amin")
MORE = [
    Case("gather-0", along("gather", 0), A, AT), Case("gather-1", along("gather", 1), A, AT1),
    Case("gather--1", along("gather", -1), A, AT1), Case("gather-3d", along("gather", 1), B,
                                                          np.zeros((2, 2, 4), int)),
    Case("gather-out", along("gather", 0), A, AT + 5), Case("gather-rank", along("gather", 0), A,
                                                            AT[0]),
    Case("gather-float", along("gather", 0), A, AT.astype(np.float32)),
    Case("gather-large", along("gather", 1), A, np.zeros((3, 1), int)),
    Case("gather-negative", along("gather", 0), A, AT - 1),
    Case("gather-scalar", along("gather", 0), SCALAR, np.array(0)),
    Case("gather-int32", along("gather", 1), A, AT1.astype(np.int32)),
    Case("gather-empty", along("gather", 0), A, np.zeros((0, 3), int)),
    Case("scatter", along("scatter", 0), A, AT, C[:1]), Case("scatter-1", along("scatter", 1), A,
                                                        np.array([[2, 0], [1, 0]]), C[:, :2]),
    Case("scatter-number", along("scatter", 0, 2.0), A, AT),
    Case("scatter-value", along("scatter", 0, value=2.0), A, AT),
    Case("scatter-out", along("scatter", 0, 1.0), A, AT + 5),
    Case("scatter-dtype", along("scatter", 0), A, AT, C.astype(float)),
    Case("scatter-small-src", along("scatter", 0), A, AT[:, :2], C[:1, :2]),
    Case("scatter-reduce-add", along("scatter", 0, reduce="add"), A, AT, C),
    Case("scatter-reduce-multiply", along("scatter", 0, reduce="multiply"), A, AT, C),
    Case("scatter-scalar", along("scatter", 0), SCALAR, np.array(0), np.float32(2)),
    Case("scatter_add", along("scatter_add", 0), A, AT, C[:1]),
    Case("scatter_add-repeated", along("scatter_add", 1), A, np.array([[0, 0, 0], [2, 2, 0]]), C),
    Case("scatter_add-dtype", along("scatter_add", 0), A, AT, C.astype(float)),
    Case("scatter_add-int", along("scatter_add", 1), I, np.array([[0, 0, 0], [2, 2, 0]]), I),
    *(Case(f"scatter_reduce-{how}-{own}", along("scatter_reduce", 1, reduce=how, include_self=own),
           A, np.array([[0, 0, 2], [1, 1, 1]]), C, loose=4)
      for how in REDUCE for own in (True, False)),
    *(Case(f"scatter_reduce-int-{how}", along("scatter_reduce", 1, reduce=how), I,
           np.array([[0, 0, 2], [1, 1, 1]]), I)
      for how in REDUCE),
    Case("scatter_reduce-tie", along("scatter_reduce", 0, reduce="amax"), np.float32([1, 3]),
         np.array([0, 0, 1, 1]), np.float32([2, 2, 3, 1]), second=False),
    Case("scatter_reduce-zero", along("scatter_reduce", 0, reduce="prod"), np.float32([2, 3]),
         np.array([0, 0, 1, 1]), np.float32([0, 2, 0, 0]), second=False),
    Case("scatter_reduce-max", along("scatter_reduce", 0, reduce="max"), I, AT, I[:1]),
    Case("scatter_reduce-bad", along("scatter_reduce", 0, reduce="most"), I, AT, I[:1]),
    Case("index_select", along("index_select", 0), A, ROWS),
    Case("index_select-1", along("index_select", 1), A, ROWS),
    Case("index_select-3d", along("index_select", 1), B, ROWS),
    Case("index_select-out", along("index_select", 0), A, ROWS + 5),
    Case("index_select-2d", along("index_select", 0), A, AT),
    Case("index_select-float", along("index_select", 0), A, V),
    Case("index_select-scalar", along("index_select", 0), SCALAR, np.array(0)),
    Case("index_add", along("index_add", 0), A, np.array([1, 1]), C),
    Case("index_add-1", along("index_add", 1), A, np.array([2, 0]), C[:, :2]),
    Case("index_add-alpha", along("index_add", 0, alpha=2), A, np.array([1, 0]), C),
    Case("index_add-count", along("index_add", 0), A, np.array([1]), C),
    Case("index_add-dtype", along("index_add", 0), A, np.array([1, 0]), C.astype(float)),
    Case("index_copy", along("index_copy", 0), A, np.array([1, 0]), C),
    Case("index_copy-1", along("index_copy", 1), A, np.array([2, 0]), C[:, :2]),
    Case("index_copy-count", along("index_copy", 0), A, np.array([1]), C),
    Case("index_copy-out", along("index_copy", 0), A, np.array([1, 9]), C),
    Case("index_fill", along("index_fill", 0, 2.5), A, np.array([1])),
    Case("index_fill-1", along("index_fill", 1, 2.5), A, np.array([2, -3])),
    Case("index_fill-tensor", along("index_fill", 0), A, np.array([1]), np.float32(2.5)),
    Case("index_fill-out", along("index_fill", 0, 1.0), A, np.array([9])),
    Case("index_fill-vector", along("index_fill", 0), A, np.array([1]), V),
    *(Case(f"index_reduce-{how}-{own}", along("index_reduce", 1, reduce=how, include_self=own), A,
           np.array([0, 0, 2]), C, loose=4)
      for how in REDUCE[1:] for own in (True, False)),
    Case("index_put", lambda t, x, i, v: x.index_put((i,), v), A, np.array([1, 0]), C),
    Case("index_put-two", lambda t, x, i, j, v: x.index_put((i, j), v), A, np.array([1, 0]),
         np.array([2, 0]), V[:2]),
    Case("index_put-add", lambda t, x, i, v: x.index_put((i,), v, accumulate=True), A,
         np.array([1, 1]), C),
    Case("index_put-mask", lambda t, x, m, v: t.index_put(x, (m,), v), A, MASK, SCALAR),
    Case("index_put-dtype", lambda t, x, i, v: x.index_put((i,), v), A, np.array([1]),
         V.astype(float)),
    Case("index_put-shape", lambda t, x, i, v: x.index_put((i,), v), A, np.array([1]), V[:2]),
    Case("masked_select", call("masked_select"), A, MASK),
    Case("masked_select-broadcast", call("masked_select"), A, MASK[0]),
    Case("masked_select-wider", call("masked_select"), A[0], MASK),
    Case("masked_select-int", call("masked_select"), A, I),
    Case("masked_scatter", lambda t, x, m, v: x.masked_scatter(m, v), A, MASK, seeded((6,))),
    Case("masked_scatter-few", lambda t, x, m, v: x.masked_scatter(m, v), A, np.ones((2, 3), bool),
         V[:2]),
    Case("take", call("take"), A, np.array([[0, 5], [5, -1]])),
    Case("take-out", call("take"), A, np.array([9])), Case("take-float", call("take"), A, V),
    Case("put", lambda t, x, i, v: x.put(i, v), A, np.array([0, 5]), V[:2]),
    Case("put-add", lambda t, x, i, v: x.put(i, v, accumulate=True), A, np.array([0, 0, -1]), V),
    Case("take_along_dim", call("take_along_dim", 0), A, AT, saved=False),
    Case("take_along_dim-wide", call("take_along_dim", 1), A, np.array([[0], [1]]), saved=False),
    Case("take_along_dim-flat", call("take_along_dim"), A, np.array([0, 5])),
    Case("take_along_dim-sorted", lambda t, x: t.take_along_dim(x, x.argsort(1), 1), A),
    Case("nonzero", call("nonzero"), MASK), Case("nonzero-tuple", call("nonzero", as_tuple=True),
                                                MASK, memory=False),
    Case("nonzero-scalar", call("nonzero"), SCALAR), Case("argwhere", call("argwhere"), I),
    Case("isin", call("isin"), I, np.array([1, 2])), Case("isin-number", call("isin", 2), I),
    Case("isin-of-number", lambda t, x: t.isin(2, x), I),
    Case("isin-invert", lambda t, x, y: t.isin(x, y, invert=True), I, np.array([1, 2])),
    Case("unravel_index", call("unravel_index", (2, 3)), np.array([[1, 5], [7, -1]]),
         memory=False),
    Case("unravel_index-size", call("unravel_index", 5), np.array(3), memory=False),
    Case("unravel_index-float", call("unravel_index", (2, 3)), V),
    Case("where-alone", call("where"), MASK, memory=False),
]  # fmt: skip


@cases(reading_cases())
def test_reading(case):
    check(case)


@cases(writing_cases())
def test_writing(case):
    check(case)


@cases(MORE)
def test_gathering_and_scattering(case):
    check(case)


@cases(c for family in (reading_cases(), MORE) for c in family if c.saved)
def test_what_may_be_changed_before_backward(case):
    check_changes(case)


def last_write_wins(torch, say):
    x = torch.zeros(3)
    x[[0, 0, 1]] = torch.tensor([1.0, 2.0, 3.0])
    say(x)


def views_and_copies(torch, say):
    x = torch.arange(6.0).view(2, 3)
    x[0][1] = 10
    x[[0]][0, 0] = 99  # a copy
    x[:, 1] += 1
    x[x > 10] = -1
    say(x, x[0]._is_view(), x[[0]]._is_view(), x[0]._base is x._base)


def index_saved(torch, say):
    x = torch.ones(2, 3, requires_grad=True)
    at = torch.tensor([0, 1])
    y = x[at]
    at[0] = 1
    y.sum().backward()


def max_indices_saved(torch, say):
    x = torch.ones(2, 3, requires_grad=True)
    values, indices = x.max(0)
    indices.zero_()
    values.sum().backward()


def leaf_written(torch, say):
    x = torch.ones(2, requires_grad=True)
    x[0] = 1


def items(torch, say):
    x = torch.arange(6).view(2, 3)
    say(x[1, 2].item(), x[1].tolist(), [int(i) for i in x[0]], x[torch.tensor(1), 1])
    say(4 in x, 9 in x, x[0:2, ::2], x.select(0, 1), bool(x[0, 0]))
    say(list(range(5))[torch.tensor(3)])
    bool(x)


PROGRAMS = [last_write_wins, views_and_copies, index_saved, max_indices_saved, leaf_written, items]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs(program):
    same(program)
