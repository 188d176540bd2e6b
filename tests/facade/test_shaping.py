"""Shapes, views, parts and joining: values, memory, graphs and gradients against PyTorch."""

import numpy as np
import pytest

from .both import same
from .cases import Case, cases, check, check_changes, seeded

A = seeded((2, 3))
B = seeded((2, 3, 4))
C = seeded((2, 3), seed=1)
S = seeded((3, 3))
V, W = seeded((3,)), seeded((3,), seed=1)
I = seeded((2, 3), "i")
Z = seeded((2, 3), "c")
D = seeded((2, 3), "d")
SCALAR = np.float32(1.5)
EMPTY = np.zeros((0, 3), np.float32)
WITH_ONES = seeded((1, 3, 1))


def of(name, *args, **kwargs):
    """A method."""
    return lambda torch, x, *more: getattr(x, name)(*more, *args, **kwargs)


def call(name, *args, **kwargs):
    return lambda torch, *xs: getattr(torch, name)(*xs, *args, **kwargs)


def listing(name, *args, **kwargs):
    """A function of a list of tensors."""
    return lambda torch, *xs: getattr(torch, name)(list(xs), *args, **kwargs)


VIEWS = [
    ("view", (3, 2)), ("view", ((3, 2),)), ("view", (-1,)), ("view", (6, 1)), ("view", (5,)),
    ("view", (-1, -1)), ("view", (-1, 4)), ("view", (-2, 3)),
    ("reshape", (3, 2)), ("reshape", ((6,),)), ("reshape", (2, 3)), ("reshape", (4,)),
    ("reshape", (-1,)), ("flatten", ()), ("flatten", (0, 0)), ("flatten", (1, 0)),
    ("ravel", ()), ("unflatten", (1, (3, 1))), ("unflatten", (1, (2, 2))),
    ("unflatten", (1, (-1, 1))), ("permute", (1, 0)), ("permute", ((1, 0),)), ("permute", (0,)),
    ("permute", (0, 0)), ("permute", (-1, 0)), ("transpose", (0, 1)), ("transpose", (0, 3)),
    ("swapaxes", (0, 1)), ("swapdims", (0, -1)), ("t", ()), ("movedim", (0, 1)),
    ("movedim", ((0, 1), (1, 0))), ("movedim", ((0, 0), (0, 1))), ("moveaxis", (0, -1)),
    ("unsqueeze", (0,)), ("unsqueeze", (-1,)), ("unsqueeze", (5,)), ("squeeze", ()),
    ("squeeze", (0,)), ("squeeze", (5,)), ("squeeze", ((0, 1),)), ("expand", (4, 2, 3)),
    ("expand", (-1, 3)), ("expand", (3, 3)), ("expand", (3,)), ("expand", (-1, 2, 3)),
    ("broadcast_to", ((4, 2, 3),)), ("select", (0, 1)), ("select", (1, -1)), ("select", (0, 5)),
    ("narrow", (1, 0, 2)), ("narrow", (1, -2, 1)), ("narrow", (0, 1, 5)), ("narrow", (0, 5, 1)),
    ("narrow", (0, 0, -1)), ("narrow_copy", (1, 0, 2)), ("unbind", ()), ("unbind", (1,)),
    ("split", (1,)), ("split", (2, 1)), ("split", ([1, 2], 1)), ("split", (-1,)),
    ("split", ([1, 1], 1)), ("split_with_sizes", ([1, 2], 1)), ("chunk", (2, 1)),
    ("chunk", (5, 1)), ("chunk", (0,)), ("tensor_split", (2,)), ("tensor_split", (2, 1)),
    ("tensor_split", ([1], 1)), ("tensor_split", (0,)), ("hsplit", (3,)), ("hsplit", (2,)),
    ("vsplit", (2,)), ("diagonal", ()), ("diagonal", (1,)), ("diagonal", (5,)),
    ("diagonal", (0, 0, 0)), ("diagonal", (0, 1, 0)), ("as_strided", ((2, 2), (1, 2))),
    ("as_strided", ((2, 2), (1, 2), 1)), ("as_strided", ((5, 5), (1, 1))),
    ("unfold", (1, 2, 1)), ("unfold", (1, 2, 2)), ("unfold", (0, 5, 1)), ("unfold", (1, 1, 0)),
    ("repeat", (2, 1)), ("repeat", (2, 2, 1)), ("repeat", (2,)), ("repeat", (-1, 1)),
    ("repeat", (0, 1)), ("tile", (2,)), ("tile", (2, 2)), ("repeat_interleave", (2,)),
    ("repeat_interleave", (2, 1)), ("repeat_interleave", (0,)), ("flip", (0,)), ("flip", (0, 1)),
    ("flip", ([0, 1],)), ("flip", (0, 0)), ("flip", (5,)), ("fliplr", ()), ("flipud", ()),
    ("rot90", ()), ("rot90", (2,)), ("rot90", (-1, (1, 0))), ("rot90", (1, (0, 0))),
    ("roll", (1,)), ("roll", (1, 0)), ("roll", ((1, 2), (0, 1))), ("roll", ((1, 2),)),
    ("roll", (1, 5)), ("tril", ()), ("tril", (1,)), ("triu", ()), ("triu", (-1,)),
    ("trace", ()), ("diag", ()), ("diag", (1,)), ("diag_embed", ()), ("diag_embed", (1,)),
    ("diag_embed", (0, 0, 2)), ("diagflat", ()), ("diagflat", (-1,)), ("contiguous", ()),
    ("clone", ()), ("view_as", None), ("T", None),
]  # fmt: skip


def view_cases():
    for name, args in VIEWS:
        if args is None:
            continue
        label = f"{name}{args}".replace(" ", "")
        for which, array in (("", A), ("-transposed", A.T), ("-3d", B), ("-int", I),
                             ("-scalar", SCALAR), ("-empty", EMPTY),
                             ("-ones", WITH_ONES)):  # fmt: skip
            if which == "-scalar" and name in ("rot90", "fliplr", "flipud", "expand"):
                continue
            if which == "-empty" and args == (-1, 1):
                continue
            if which == "-transposed" and name == "as_strided":
                continue  # PyTorch strides the storage, which NumPy lays out in another order
            yield Case(f"{label}{which}", of(name, *args), array, saved=which == "")


MORE = [
    Case("T", lambda t, x: x.T, A), Case("mT", lambda t, x: x.mT, B),
    Case("mT-1d", lambda t, x: x.mT, V), Case("mH-complex", lambda t, x: x.mH, Z, memory=False),
    Case("H", lambda t, x: x.H, A),
    Case("view-of-view", lambda t, x: x.view(-1)[1:5].view(2, 2).t()[0], A),
    Case("view-transposed", lambda t, x: x.t().view(6), A),
    Case("view-keyword", lambda t, x: x.view(size=(3, 2)), A),
    Case("reshape-keyword", lambda t, x: t.reshape(x, shape=(3, 2)), A),
    Case("reshape-function", call("reshape", (3, 2)), A),
    Case("reshape-copies", lambda t, x: x.t().reshape(6), A),
    Case("reshape-aliases", lambda t, x: x.t().reshape(3, 2, 1), A),
    Case("view-dtype", lambda t, x: x.detach().view(t.int32), A, memory=False),
    Case("view-wider", lambda t, x: x.detach().view(t.float64), seeded((2, 4)),
         memory=False),
    Case("view_as", lambda t, x, y: x.view_as(y), A, seeded((3, 2))),
    Case("reshape_as", lambda t, x, y: x.reshape_as(y), A, seeded((3, 2))),
    Case("expand_as", lambda t, x, y: x.expand_as(y), V, A),
    Case("permute-keyword", lambda t, x: t.permute(x, dims=(1, 0)), A),
    Case("expand-size", lambda t, x: x.expand(t.Size([4, 2, 3])), A),
    Case("broadcast_tensors", lambda t, x, y: t.broadcast_tensors(x, y), A, V),
    Case("broadcast_tensors-bad", lambda t, x, y: t.broadcast_tensors(x, y), A, V[:2]),
    Case("dsplit", lambda t, x: x.dsplit(2), B),
    Case("dsplit-2d", lambda t, x: x.dsplit(2), A),
    Case("unbind-scalar", lambda t, x: x.unbind(), SCALAR),
    Case("iterate", lambda t, x: list(x), A),
    Case("iterate-scalar", lambda t, x: list(x), SCALAR),
    Case("unpack", lambda t, x: [r * 2 for r in x], A),
    Case("as_strided-view", lambda t, x: x[1].as_strided((2,), (1,)), A, graph=False),
    Case("atleast_1d", call("atleast_1d"), SCALAR), Case("atleast_2d", call("atleast_2d"), V),
    Case("atleast_2d-scalar", call("atleast_2d"), SCALAR),
    Case("atleast_3d", call("atleast_3d"), V), Case("atleast_3d-2d", call("atleast_3d"), A),
    Case("atleast-several", lambda t, x, y: t.atleast_2d(x, y), V, A),
    Case("cat", listing("cat"), A, C), Case("cat-1", listing("cat", 1), A, C),
    Case("cat-dim", listing("cat", dim=-1), A, C), Case("cat-axis", listing("cat", axis=1), A, C),
    Case("cat-three", listing("cat"), A, C, A), Case("cat-self", lambda t, x: t.cat([x, x]), A),
    Case("cat-mixed", listing("cat"), A, C.astype(float)), Case("cat-int", listing("cat"), A, I),
    Case("cat-int-bool", listing("cat"), I, I > 0), Case("cat-complex", listing("cat"), A, Z),
    Case("cat-empty-vector", lambda t, x: t.cat([t.zeros(0), x]), A),
    Case("cat-empty-rows", listing("cat"), EMPTY, A), Case("cat-nothing", listing("cat")),
    Case("cat-ranks", listing("cat"), A, V), Case("cat-sizes", listing("cat"), A, A[:, :2]),
    Case("cat-scalars", listing("cat"), SCALAR, SCALAR), Case("cat-beyond", listing("cat", 5), A),
    Case("cat-tensor", lambda t, x: t.cat(x), A), Case("cat-number", lambda t, x: t.cat([x, 1]), A),
    Case("cat-one", listing("cat"), A), Case("concat", listing("concat"), A, C),
    Case("concatenate", listing("concatenate", 1), A, C),
    Case("stack", listing("stack"), A, C), Case("stack-1", listing("stack", 1), A, C),
    Case("stack-last", listing("stack", -1), A, C), Case("stack-beyond", listing("stack", 5), A),
    Case("stack-mixed", listing("stack"), A, D), Case("stack-scalars", listing("stack"), SCALAR,
                                                       SCALAR),
    Case("stack-sizes", listing("stack"), A, V), Case("stack-nothing", listing("stack")),
    Case("stack-tensor", lambda t, x: t.stack(x), A),
    Case("hstack", listing("hstack"), A, C), Case("hstack-1d", listing("hstack"), V, W),
    Case("hstack-scalars", listing("hstack"), SCALAR, SCALAR),
    Case("vstack", listing("vstack"), A, C), Case("vstack-1d", listing("vstack"), V, W),
    Case("row_stack", listing("row_stack"), V, W), Case("dstack", listing("dstack"), A, C),
    Case("dstack-1d", listing("dstack"), V, W), Case("column_stack", listing("column_stack"), V, W),
    Case("column_stack-2d", listing("column_stack"), S, V),
    Case("block_diag", lambda t, x, y: t.block_diag(x, y), A, V),
    Case("block_diag-scalar", lambda t, x, y: t.block_diag(x, y), SCALAR, V),
    Case("block_diag-3d", lambda t, x: t.block_diag(x), B),
    Case("repeat_interleave-tensor", lambda t, x, n: x.repeat_interleave(n, dim=0), A,
         np.array([1, 2])),
    Case("repeat_interleave-bad", lambda t, x, n: x.repeat_interleave(n, dim=0), A,
         np.array([1, 2, 3])),
    Case("repeat_interleave-counts", lambda t, n: t.repeat_interleave(n), np.array([1, 0, 2])),
    Case("tile-function", call("tile", (2, 2)), A), Case("tile-number", call("tile", 2), A),
    Case("diag-vector", call("diag"), V), Case("diag-vector-1", call("diag", 1), V),
    Case("diag-3d", call("diag"), B), Case("diagflat-matrix", call("diagflat"), A),
    Case("trace-int", call("trace"), I), Case("tril-bool", call("tril"), I > 0),
    Case("select_scatter", lambda t, x, v: t.select_scatter(x, v, 0, 1), A, V),
    Case("select_scatter-bad", lambda t, x, v: t.select_scatter(x, v, 0, 1), A, V[:2]),
    Case("slice_scatter", lambda t, x, v: t.slice_scatter(x, v, 0, 0, 1), A, V[None]),
    Case("slice_scatter-step", lambda t, x, v: t.slice_scatter(x, v, 1, 0, 3, 2), A, A[:, :2]),
    Case("diagonal_scatter", lambda t, x, v: t.diagonal_scatter(x, v), S, V),
    Case("meshgrid-ij", lambda t, x, y: t.meshgrid(x, y, indexing="ij"), V, W[:2]),
    Case("meshgrid-xy", lambda t, x, y: t.meshgrid(x, y, indexing="xy"), V, W[:2]),
    Case("meshgrid-list", lambda t, x, y: t.meshgrid([x, y], indexing="ij"), V, W[:2]),
    Case("meshgrid-way", lambda t, x: t.meshgrid(x, indexing="zz"), V),
    Case("meshgrid-dtypes", lambda t, x, y: t.meshgrid(x, y, indexing="ij"), V, W.astype(float)),
    Case("cartesian_prod", lambda t, x, y: t.cartesian_prod(x, y), V, W[:2]),
    Case("cartesian_prod-one", lambda t, x: t.cartesian_prod(x), V),
    Case("combinations", lambda t, x: t.combinations(x), V),
    Case("combinations-replace", lambda t, x: t.combinations(x, 2, True), V),
    Case("combinations-3", lambda t, x: t.combinations(x, 3), seeded((4,))),
    Case("combinations-2d", lambda t, x: t.combinations(x), A),
    Case("vander", lambda t, x: t.vander(x.detach()), V, graph=False),
    Case("vander-increasing", lambda t, x: t.vander(x.detach(), 2, True), V, graph=False),
]  # fmt: skip


@cases(view_cases(), MORE)
def test_shaping(case):
    check(case)


@cases(c for family in (view_cases(), MORE) for c in family if c.saved)
def test_what_may_be_changed_before_backward(case):
    check_changes(case)


def resizing(torch, say):
    x = torch.arange(4.0)
    x.resize_(2, 3)
    say(x.shape, x[0])
    y = torch.ones(2, requires_grad=True)
    y.resize_(3)


def in_place_views(torch, say):
    x = torch.arange(6.0, requires_grad=True)
    y = (x * 1).view(1, 6).clone()
    say(y.squeeze_(), y.shape, y._version, y._is_view())
    say(y.unsqueeze_(1), y.grad_fn.next_functions[0][0].name())
    say(y.transpose_(0, 1), y.t_().shape, y._version)
    (y * y).sum().backward()
    say(x.grad)
    x.unsqueeze_(0)


def sizes(torch, say):
    x = torch.ones(2, 3)
    say(x.shape, x.size(), x.size(0), x.size(-1), x.shape[1:], x.dim(), x.ndim, x.numel(), len(x))
    say(x.stride(), x.t().stride(), x.stride(0), x.is_contiguous(), x.t().is_contiguous())
    say(x.storage_offset(), x[1].storage_offset(), x[:, 1].storage_offset(), x.element_size())
    say(torch.broadcast_shapes((2, 1), (3,)), x.nbytes, x.itemsize)
    say(torch.Size([2, 3]).numel(), torch.Size([2]) + torch.Size([3]))
    torch.broadcast_shapes((2,), (3,))


def shared_memory(torch, say):
    x = torch.zeros(2, 3)
    v = x[0]
    v[1] = 5
    x.t()[2, 1] = 7
    x.view(-1)[3] = 9
    for part in x.split(1):
        part.add_(1)
    say(x, v)
    w = x.expand(2, 2, 3)
    w.add_(1)


def diagonals_filled(torch, say):
    say(torch.zeros(3, 2).fill_diagonal_(1))
    say(torch.zeros(6, 2).fill_diagonal_(2.0, wrap=True))
    say(torch.zeros(2, 2, 2).fill_diagonal_(1))
    say(torch.tril_indices(3, 3), torch.triu_indices(2, 3, 1))
    x = torch.ones(2, 2, requires_grad=True)
    y = (x * 2).fill_diagonal_(0)
    say(y)
    y.sum().backward()
    say(x.grad)
    torch.zeros(2, 3, 2).fill_diagonal_(1)


PROGRAMS = [resizing, in_place_views, sizes, shared_memory, diagonals_filled]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs(program):
    same(program)


def test_what_is_repeated_lies_in_order():
    def program(torch, say):
        for x in (torch.ones(1, 1, 2, 3), torch.ones(2, 3).t(), torch.ones(3, 1).expand(3, 4)):
            y = x.repeat(2, *(1,) * (x.dim() - 1))
            say(y.stride(), (y * 2).stride(), y.view(-1).shape)

    same(program)
