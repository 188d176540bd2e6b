"""What the functions of `nn.functional` share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.tracer import bind
from funcgrad.core.types import Array
from funcgrad.errors import outside
from funcgrad.ops import sums
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nodes import GradNode, node_class
from funcgrad.torch.operations.common import boxed, computed, mismatch
from funcgrad.torch.operations.promotion import content
from funcgrad.torch.operations.record import Function, operation
from funcgrad.torch.operations.recorded import refuse_kinds
from funcgrad.torch.root import RootTracer
from funcgrad.torch.writing import check_writable, write

__all__ = [
    "apply",
    "broadcast",
    "by_number",
    "check_cast",
    "constant",
    "inplace",
    "reduced",
    "reduced_tensor",
    "reduction_of",
    "renamed",
]

TWINS = ("EluBackward0", "CeluBackward0", "LeakyReluBackward0")


def constant(x: Array) -> Array:
    """`x` with no derivative."""
    return bind(STOP_GRADIENT, (x,))


def apply(
    prim: Callable[..., Any],
    name: str,
    node: type[GradNode],
    input: Any,
    inplace: bool = False,
    kernel: str = "",
    refused: str = "biuc",
    **params: Any,
) -> Tensor:
    """A function of one tensor; `kernel` is PyTorch's, for which kinds of dtypes are refused."""
    x = content(input, name)
    if kernel:
        refuse_kinds(kernel, refused, x)
    if inplace:
        check_writable(input)
        if node.__name__ in TWINS:  # PyTorch has another derivative, by the result
            node = node_class(node.__name__.replace("0", "1"), ("result",))
    out = boxed(computed(prim, x, **params), node)
    return write(input, out._t) if inplace else out


def inplace(function: Callable[..., Tensor], signature: str = "input") -> Function[Tensor]:
    """The function that PyTorch names with an underscore at the end."""
    name, doc = f"{function.__name__}_", f"`{function.__name__}`, in place."
    row = operation(name, signature, variants="", doc=doc)
    return row(lambda *args: function(*args, inplace=True))


def broadcast(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Both in their common shape; PyTorch's RuntimeError where they have none."""
    a, b = tuple(x.shape), tuple(y.shape)
    try:
        shape = np.broadcast_shapes(a, b)
    except ValueError as error:
        raise RuntimeError(mismatch([a, b]) or str(error)) from None
    return x if a == shape else x.expand(shape), y if b == shape else y.expand(shape)


def renamed(x: Tensor, name: str, *saved: str, shown: tuple[int, ...] | None = None) -> Tensor:
    """Give the node of `x` another name: PyTorch's for the same operation, reached otherwise."""
    t = x._t
    if type(t) is RootTracer and isinstance(t.node, GradNode):
        t.node.become(node_class(name, saved or type(t.node).saved_names, shown))
    return x


def by_number(x: Tensor, name: str) -> Tensor:
    """Give the node of `x` the name that PyTorch's C++ gives an operation with a number."""
    return renamed(x, f"{name}Backward1", "", "", "other", shown=(0,))


def check_cast(result: dtypes.dtype, output: dtypes.dtype) -> None:
    """PyTorch's error where what was computed cannot be had in the dtype of the output."""
    if not dtypes.can_cast(result, output):
        raise RuntimeError(
            f"result type {dtypes.scalar_name(result)} can't be cast to the desired output type "
            f"{dtypes.scalar_name(output)}"
        )


def reduced(x: Array, reduction: str) -> Array:
    """An operand of the core, reduced."""
    if reduction == "none":
        return x
    return sums.mean(x) if reduction == "mean" else sums.sum(x)


def reduced_tensor(x: Tensor, reduction: str) -> Tensor:
    """A tensor, reduced."""
    out: Tensor = x if reduction == "none" else x.mean() if reduction == "mean" else x.sum()
    return out


def reduction_of(
    reduction: str, size_average: bool | None = None, reduce: bool | None = None
) -> str:
    """The reduction: ``"none"``, ``"mean"`` or ``"sum"``; PyTorch's ValueError for another."""
    if size_average is not None or reduce is not None:
        average = size_average is None or size_average
        reduction = "none" if reduce is False else "mean" if average else "sum"
        warnings.warn(
            "size_average and reduce args will be deprecated, please use "
            f"reduction='{reduction}' instead.",
            stacklevel=outside(),
        )
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction
