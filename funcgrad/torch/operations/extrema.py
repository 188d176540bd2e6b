"""The largest and smallest elements, and where they are.

Along one dimension ``max`` and ``min`` pick one element, to which the cotangent goes; `amax`,
`amin`, `aminmax` and the full ``max`` and ``min`` share it among equal elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import bind
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import constant, nonlinear_reductions, order, sums
from funcgrad.torch import return_types
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.memory_formats import dense
from funcgrad.torch.operations import selection
from funcgrad.torch.operations.common import (
    axes_of,
    axis_of,
    boxed,
    boxed_all,
    computed,
    shape_of,
    told,
)
from funcgrad.torch.operations.dense import dense_composite, dense_or
from funcgrad.torch.operations.elements_at_positions import picked, without_node
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import Function, node, operation, refuse
from funcgrad.torch.operations.restated import restated_reduction

__all__ = [
    "amax", "amin", "aminmax", "argmax", "argmin", "cummax", "cummin", "max", "min",
]  # fmt: skip

# ------------------------------------------------------------------------------- max and min


def _check_extent(name: str, shape: tuple[int, ...], axis: int) -> None:
    if shape and shape[axis] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")


def _check_elements(name: str, x: Array, error: type[Exception] = RuntimeError) -> None:
    if 0 in shape_of(x):
        more = (
            " Specify the reduction dim with the 'dim' argument." if error is RuntimeError else ""
        )
        raise error(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0.{more}"
        )


def _refuse_complex(name: str, x: Array) -> None:
    refuse({"c": RuntimeError(f"{name}(): does not support complex input")}, x)


def _extremum(name: str, reduce: Any, position: Any, elementwise: Any) -> Function[Any]:
    whole = node(f"{name.capitalize()}Backward1", "result self")
    doc = (
        f"The {name}imum of all elements; with `dim`, along it and where it stands; with another "
        "tensor, of each pair of elements."
    )

    @operation(
        name, "input, *, out | input, other, *, out"
        " | input, int dim, bool keepdim=False, *, Tensors out",
        variants="method", remembers=True, doc=doc,
    )  # fmt: skip
    def function(input: Tensor, other: Tensor | None, dim: int | None, keepdim: bool) -> Any:
        if other is not None:
            return elementwise(input, other)
        x = input.content()
        if dim is None:
            refuse({"c": f"{name}_all"}, x)
            _check_elements(name, x)
            return boxed(computed(reduce, x), whole)
        axis = axis_of(dim, len(shape_of(x)))
        _refuse_complex(name, x)
        _check_extent(name, shape_of(x), axis)
        at = position(without_node(x), axis) if shape_of(x) else np.zeros((), np.int64)
        kind = f"{name.capitalize()}Backward0 self_sym_sizes"
        return picked(getattr(return_types, name), x, at, axis, kind, keepdim)

    return function


max = _extremum("max", nonlinear_reductions.max, constant.argmax, selection.maximum)
min = _extremum("min", nonlinear_reductions.min, constant.argmin, selection.minimum)


def _count_of_ties(
    y: Array, x: Array, *, axes: Any, keepdims: bool, initial: Any
) -> tuple[None, Array]:
    """Those equal to the extremum share; to a NaN nothing is, so that no share is a number."""
    chosen = a.cast(a.equal(x, y), dtype_of(x) if dtype_of(x).kind == "f" else np.float64)
    return None, a.divide(chosen, sums.sum(chosen, axes, keepdims=True))


def _known(y: Any) -> Any:
    return y == y


LARGEST = restated_reduction(nonlinear_reductions.MAX, np.max, _count_of_ties, _known)
SMALLEST = restated_reduction(nonlinear_reductions.MIN, np.min, _count_of_ties, _known)


def _largest(x: Array, axis: Any, keepdims: bool) -> Array:
    axes = axes_of(axis, len(shape_of(x)))
    return bind(LARGEST, (x,), {"axes": axes, "keepdims": keepdims, "initial": None})


def _smallest(x: Array, axis: Any, keepdims: bool) -> Array:
    axes = axes_of(axis, len(shape_of(x)))
    return bind(SMALLEST, (x,), {"axes": axes, "keepdims": keepdims, "initial": None})


_largest.primitive, _smallest.primitive = LARGEST, SMALLEST  # type: ignore[attr-defined]


def _shared(name: str, reduce: Any) -> Function[Tensor]:
    kind = node(name.capitalize(), "result self", tells="dim keepdim")
    over = dense_or(name, reduce)

    @operation(
        name, "input, dims? dim=(), bool keepdim=False, *, out", variants="method",
        remembers=True,
        doc=f"The {name[1:]}imum over dimensions; equal elements share the gradient.",
    )  # fmt: skip
    def function(input: Tensor, dim: Any, keepdim: bool) -> Tensor:
        x = input.content()
        refuse({"c": f"{name[1:]}_values_cpu"}, x)
        shape, whole = shape_of(x), dim is None or dim == ()
        axes = axes_of(dim, len(shape))
        if whole:
            _check_elements(name, x)
        for axis in axes:
            _check_extent(name, shape, axis)
        result = boxed(computed(over, x, axis=axes, keepdims=keepdim), kind)
        return told(result, dim=() if whole else axes, keepdim=keepdim)

    return function


amax = _shared("amax", _largest)
amin = _shared("amin", _smallest)


def _both(x: Array, axes: Any, keepdim: bool) -> tuple[Array, Array]:
    return _smallest(x, axes, keepdim), _largest(x, axes, keepdim)


AMINMAX = dense_composite("aminmax", _both, {}, multiple=True)
AMINMAX_NODE = node("Aminmax", "self", tells="dim keepdim")


@operation(
    "aminmax", "input, *, int dim=None, bool keepdim=False, Tensors out", variants="method"
)  # fmt: skip
def aminmax(input: Tensor, dim: int | None, keepdim: bool) -> Any:
    """The minimum and the maximum, of all elements or along a dimension."""
    x = input.content()
    refuse({"c": "aminmax_cpu"}, x)
    shape = shape_of(x)
    axes = axes_of(dim, len(shape))
    if dim is None and 0 in shape:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity."
        )
    for axis in axes:
        _check_extent("aminmax", shape, axis)
    results = boxed_all(computed(AMINMAX, x, axes=axes, keepdim=keepdim), AMINMAX_NODE)
    told(results[0], dim=axes[0] if dim is not None and axes else dim, keepdim=keepdim)
    return return_types.aminmax(*results)


# --------------------------------------------------------------------------------- positions


def _position(name: str, core: Any) -> Function[Tensor]:
    @operation(
        name, "input, int dim=None, bool keepdim=False, *, out", variants="method", remembers=True,
        doc=f"Where the {name[3:]}imum stands: of all elements, or along a dimension.",
    )  # fmt: skip
    def function(input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
        x = input.content()
        refuse({"b": RuntimeError(f"{name}(): does not support bool input")}, x)
        _refuse_complex(name, x)
        shape = shape_of(x)
        if dim is None:
            _check_elements(name, x, IndexError)
            return box(core(x, None, keepdim))
        axis = axis_of(dim, len(shape))
        _check_extent(name, shape, axis)
        return box(core(x, axis, keepdim) if shape else np.zeros((), np.int64))

    return function


argmax = _position("argmax", constant.argmax)
argmin = _position("argmin", constant.argmin)


# --------------------------------------------------------------------------- running extrema


def _running(name: str, largest: bool) -> Function[Any]:
    @operation(
        name, "input, int dim, *, Tensors out", variants="method",
        doc=f"The {name[3:]}imum so far along a dimension, and where it stands.",
    )  # fmt: skip
    def function(input: Tensor, dim: int) -> Any:
        x = input.content()
        refuse({"c": f"{name}_cpu"}, x)
        shape = shape_of(x)
        axis = axis_of(dim, len(shape))
        at = order.running_extremum(x, axis, largest) if shape else np.zeros((), np.int64)
        kind = f"{name.capitalize()}Backward0"
        return picked(getattr(return_types, name), x, dense(at), axis, kind)

    return function


cummax = _running("cummax", True)
cummin = _running("cummin", False)
