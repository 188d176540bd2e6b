"""Dimensions in another order, dimensions of extent one, and expanding. All give views."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from funcgrad.core.tracer import type_of
from funcgrad.ops import shape as shapes
from funcgrad.torch._tensor import Link, Tensor
from funcgrad.torch.modes import modes
from funcgrad.torch.nodes import AccumulateGrad, GradNode
from funcgrad.torch.operations.common import (
    axes_of,
    axis_of,
    install,
    mismatch,
    shape_of,
    told,
    warn_once,
)
from funcgrad.torch.operations.record import (
    Function,
    NodeClass,
    alias,
    method_in_place,
    node,
    operation,
)
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.root import RootTracer
from funcgrad.torch.size import Size
from funcgrad.torch.views import make_view

__all__ = [
    "broadcast_shapes", "broadcast_tensors", "broadcast_to", "moveaxis", "movedim",
    "permute", "squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze",
]  # fmt: skip

# ------------------------------------------------------------------------- in another order


PERMUTE = node("Permute", tells="dims", of="transpose")
TRANSPOSE = node("Transpose", tells="dim0 dim1")
T = node("T")
ALIAS = node("Alias")


@operation("permute", "input, ints dims", variants="method", remembers=True)
@requires("""
    len(dims) == rank(input): permute(sparse_coo): number of dimensions in the tensor input does not
        match the length of the desired ordering of dimensions i.e. input.dim() = {rank(input)} is
        not equal to len(dims) = {len(dims)}
""")
def permute(input: Tensor, dims: Sequence[int]) -> Tensor:
    """The dimensions in another order."""
    n = len(shape_of(input))
    axes = tuple(axis_of(d, n) for d in dims)
    if len(set(axes)) != n:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return permuted(input, axes, PERMUTE)


def permuted(x: Tensor, axes: tuple[int, ...], node: NodeClass) -> Tensor:
    """A view with the axes in an order that has been checked."""
    return make_view(x, partial(np.transpose, axes=axes), lambda c: shapes.transpose(c, axes), node)


@operation(
    "transpose", "input, int dim0, int dim1", variants="method", remembers=True,
)  # fmt: skip
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    n = len(shape_of(input))
    axes = list(range(n))
    i, j = axis_of(dim0, n), axis_of(dim1, n)
    if n:
        axes[i], axes[j] = axes[j], axes[i]
    return permuted(input, tuple(axes), TRANSPOSE)


swapdims = alias("swapdims", transpose)
swapaxes = alias("swapaxes", transpose, "input, int axis0, int axis1", "method")


@operation("t", "input", variants="method", remembers=True)
@requires("rank(input) <= 2: t() expects a tensor with <= 2 dimensions, but self is {rank(input)}D")
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix."""
    n = len(shape_of(input))
    return permuted(input, tuple(range(n))[::-1], T)


@operation(
    "movedim", "input, int source, int destination | input, ints source, ints destination",
    variants="method",
)  # fmt: skip
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions moved to other places; the others keep their order."""
    n = len(shape_of(input))
    pairs = [d if isinstance(d, (tuple, list)) else (d,) for d in (source, destination)]
    if len(pairs[0]) != len(pairs[1]):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source "
            f"({list(pairs[0])} dims) should contain the same number of dims as destination "
            f"({list(pairs[1])} dims)"
        )
    from_, to = ([axis_of(d, n) for d in dims] for dims in pairs)
    for name, dims, shown in (("source", from_, pairs[0]), ("destination", to, pairs[1])):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(shown)})")
    if not n:
        return permuted(input, (), ALIAS)
    axes = [d for d in range(n) if d not in from_]
    for place, d in sorted(zip(to, from_, strict=True)):
        axes.insert(place, d)
    return permuted(input, tuple(axes), PERMUTE)


moveaxis = alias("moveaxis", movedim)


def _matrix_transpose(self: Tensor) -> Tensor:
    """The last two dimensions exchanged."""
    if not shape_of(self):
        warn_once(IDENTITY.format(name="mT"))
        return self
    if len(shape_of(self)) < 2:
        raise RuntimeError(
            "tensor.mT is only supported on matrices or batches of matrices. Got "
            f"{len(shape_of(self))}-D tensor."
        )
    return transpose(self, -2, -1)


IDENTITY = (
    "Tensor.{name} is deprecated on 0-D tensors. This function is the identity in these cases."
)
REVERSED = (
    "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated "
    "and it will throw an error in a future release. Consider `x.mT` to transpose batches of "
    "matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a "
    "tensor."
)


def _reversed(self: Tensor) -> Tensor:
    """The dimensions in reverse order."""
    n = len(shape_of(self))
    if n != 2:
        warn_once(REVERSED if n else IDENTITY.format(name="T"))
    return permuted(self, tuple(range(len(shape_of(self))))[::-1], PERMUTE)


install(T=property(_reversed), mT=property(_matrix_transpose))


# --------------------------------------------------------------------- dimensions of extent one


UNSQUEEZE = node("Unsqueeze", tells="dim")
SQUEEZE = node("Squeeze", tells="self_sym_sizes")
SQUEEZE_DIM, SQUEEZE_DIMS = (
    node(f"SqueezeBackward{k}", tells="dim self_sym_sizes") for k in (1, 2)
)  # fmt: skip


@operation("unsqueeze", "input, int dim", variants="method", remembers=True)
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A new dimension of extent 1."""
    shape = shape_of(input)
    k = axis_of(dim, len(shape), extra=1)
    new = (*shape[:k], 1, *shape[k:])
    return make_view(
        input, partial(np.expand_dims, axis=k), lambda c: shapes.reshape(c, new), UNSQUEEZE
    )


@operation(
    "squeeze", "input | input, int dim | input, ints dim", variants="method", remembers=True,
)  # fmt: skip
def squeeze(input: Tensor, dim: Any) -> Tensor:
    """Without the dimensions of extent 1, or those among `dim`."""
    shape = shape_of(input)
    n = len(shape)
    if dim is None:
        drop = tuple(k for k in range(n) if shape[k] == 1)
        node = SQUEEZE
    else:
        several = isinstance(dim, (tuple, list))
        axes = () if several and not dim else axes_of(dim, n)
        drop = tuple(k for k in sorted(axes) if n and shape[k] == 1)
        node = SQUEEZE_DIMS if several else SQUEEZE_DIM
    new = tuple(s for k, s in enumerate(shape) if k not in drop)
    made = make_view(input, partial(np.squeeze, axis=drop), lambda c: shapes.reshape(c, new), node)
    return made if dim is None else told(made, dim=axes if several else (*axes, 0)[0])


# --------------------------------------------------------------------------------- expanding


@requires("""
    len(target) >= rank(x): expand({x.type()}{{{sizes(x)}}}, size={list(target)}): the number of
        sizes provided ({len(target)}) must be greater or equal to the number of dimensions in the
        tensor ({rank(x)})
""")
def _expanded_shape(x: Tensor, target: tuple[int, ...]) -> tuple[int, ...]:
    shape = shape_of(x)
    lead = len(target) - len(shape)
    full: list[int] = []
    for k in reversed(range(len(target))):
        n = target[k]
        own = shape[k - lead] if k >= lead else 1
        if n == -1 and k < lead:
            raise RuntimeError(
                "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                f"dimension {k}"
            )
        if n not in (-1, own) and own != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({own}) at "
                f"non-singleton dimension {k}.  Target sizes: {list(target)}.  Tensor sizes: "
                f"{list(shape)}"
            )
        full.append(own if n == -1 else n)
    return tuple(reversed(full))


def _repeated(v: Any, shape: tuple[int, ...]) -> Any:
    """A view of an array in which repeated dimensions have stride 0."""
    lead = len(shape) - v.ndim
    steps = (
        0 if own == 1 and n != 1 else step
        for own, n, step in zip(v.shape, shape[lead:], v.strides, strict=True)
    )
    return np.lib.stride_tricks.as_strided(v, shape, ((0,) * lead) + tuple(steps))


EXPAND = node("Expand", tells="self_sym_sizes", of="broadcast")


@operation(
    "expand", "input, ints size, *, bool implicit=False", variants="method", remembers=True,
)  # fmt: skip
def expand(input: Tensor, size: Sequence[int], implicit: bool = False) -> Tensor:
    """Broadcast to larger sizes, without copying; -1 keeps an extent."""
    final = _expanded_shape(input, tuple(size))
    return make_view(
        input, partial(_repeated, shape=final), lambda c: shapes.broadcast_to(c, final), EXPAND
    )


@operation("expand_as", "input, other", variants="method")
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """`expand` to the shape of another tensor."""
    return expand(input, shape_of(other))


@operation("broadcast_to", "input, ints size", variants="method")
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """`expand` as a function."""
    return expand(input, size)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Tensors expanded to their common shape."""
    xs = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    all_shapes = [shape_of(x) for x in xs]
    message = mismatch(all_shapes)
    if message is not None:
        raise RuntimeError(message)
    shape = np.broadcast_shapes(*all_shapes)
    return tuple(x if shape_of(x) == shape else expand(x, shape) for x in xs)


def broadcast_shapes(*shapes: Any) -> Size:
    """The common shape to which shapes are broadcast."""
    out: list[int] = []
    for k, shape in enumerate(shapes):
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        out = [1] * (len(sizes) - len(out)) + out
        for back in range(1, len(sizes) + 1):
            n = sizes[-back]
            if n != 1 and out[-back] not in (1, n):
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {n} at {-back}! Mismatching "
                    f"argument at index {k} had {sizes}; but expected shape should be "
                    f"broadcastable to {out}"
                )
            out[-back] = n if n != 1 else out[-back]
    return Size(out)


# --------------------------------------------------------------------------- views in place


def _keep_node(t: RootTracer, node: Any) -> None:
    """Where nothing is recorded, a tensor in another shape is what it was: the same leaf, too."""
    t.node = node
    if type(node) is AccumulateGrad:
        node.avals, node.value = (type_of(t.value),), t.value


SQUEEZED = {
    SQUEEZE: node("SqueezeBackward3", tells="self_sym_sizes"),
    SQUEEZE_DIM: node("SqueezeBackward4", tells="dim self_sym_sizes"),
    SQUEEZE_DIMS: node("SqueezeBackward5", tells="dim self_sym_sizes"),
}


def _in_place(function: Function[Tensor], nodes: dict[NodeClass, NodeClass]) -> None:
    """The method that makes the tensor itself the view of it that `function` gives."""
    record = function.operation
    rule = record.rule

    def changed(self: Tensor, *given: Any) -> Tensor:
        made = rule(self, *given)
        old, new = self._t, made._t
        if type(old) is not RootTracer or type(new) is not RootTracer:
            self._t = new
            return self
        if isinstance(new.node, GradNode):
            new.node.become(nodes.get(type(new.node), type(new.node)))
        if not modes.grad:
            _keep_node(new, old.node)
        new.version.count += 1
        self._t = new
        if self._link is not None and made._link is not None:
            link, read = self._link, made._link.read
            seen = new.version.count if modes.grad else link.seen
            self._link = Link(link.base, read, link.refusal, seen)
        return self

    changed.__doc__ = f"`{record.name}`, in place."
    method_in_place(f"{record.name}_", record.signature)(changed)


_in_place(squeeze, SQUEEZED)
_in_place(unsqueeze, {UNSQUEEZE: node("UnsqueezeBackward1", tells="dim")})
_in_place(t, {T: node("TBackward1")})
for _function in (transpose, swapdims, swapaxes):
    _in_place(_function, {TRANSPOSE: node("TransposeBackward1", tells="dim0 dim1")})
