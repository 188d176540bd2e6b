"""The largest and smallest elements, and where they are.

Along one dimension ``max`` and ``min`` pick one element, to which the cotangent goes; `amax`,
`amin`, `aminmax` and the full ``max`` and ``min`` share it among equal elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import constant, nonlinear_reductions, order
from funcgrad.torch import return_types
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.composite import Composite
from funcgrad.torch.dimensions import check_flag
from funcgrad.torch.operations import choosing
from funcgrad.torch.operations.common import (
    axes_of,
    axis_of,
    boxed,
    boxed_all,
    computed,
    install,
    into,
    method,
    named,
    numpy_names,
    shape_of,
    told,
)
from funcgrad.torch.operations.picking import delivered, picked
from funcgrad.torch.operations.promotion import content, dtype_of
from funcgrad.torch.operations.recorded import refuse_kinds
from funcgrad.torch.remembered import remembered

__all__ = [
    "amax", "amin", "aminmax", "argmax", "argmin", "cummax", "cummin", "max", "min",
]  # fmt: skip

# ------------------------------------------------------------------------------- max and min


def _wrong_call(name: str, *given: Any) -> TypeError:
    shown = ", ".join(type(v).__name__ for v in given)
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({shown}), but expected one "
        f"of:\n * (Tensor input)\n * (Tensor input, Tensor other)\n * (Tensor input, int dim, bool "
        "keepdim = False)\n"
    )


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
    if dtype_of(x).kind == "c":
        raise RuntimeError(f"{name}(): does not support complex input")


def _extremum(name: str, reduce: Any, position: Any, elementwise: Any) -> Any:
    whole_node = named(f"{name.capitalize()}Backward1", "result", "self")
    result_type = getattr(return_types, name)

    @numpy_names
    def function(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None,
                 out: Any = None) -> Any:  # fmt: skip
        if isinstance(dim, Tensor) or other is not None:
            return elementwise(input, dim if other is None else other, out=out)
        x = content(input, name)
        if dim is None:
            if keepdim:
                raise _wrong_call(name, input, keepdim)
            refuse_kinds(f"{name}_all", "c", x)
            _check_elements(name, x)
            return into(out, boxed(computed(reduce, x), whole_node), name)
        if isinstance(dim, (tuple, list, str, float)):
            raise _wrong_call(name, input, dim)
        check_flag(name, "keepdim", 2, keepdim)
        axis = axis_of(dim, len(shape_of(x)))
        _refuse_complex(name, x)
        _check_extent(name, shape_of(x), axis)
        at = position(x, axis) if shape_of(x) else np.zeros((), np.int64)
        found = picked(x, at, axis, keepdim, f"{name.capitalize()}Backward0")
        return delivered(result_type, found, out, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"The {name}imum of all elements; with `dim`, along it and where it stands; with another "
        "tensor, of each pair of elements."
    )
    function = remembered(function)
    install(**{name: function})
    return function


max = _extremum("max", nonlinear_reductions.max, constant.argmax, choosing.maximum)
min = _extremum("min", nonlinear_reductions.min, constant.argmin, choosing.minimum)


def _shared(name: str, reduce: Any) -> Any:
    node = named(f"{name.capitalize()}Backward0", "result", "self")

    @numpy_names
    def function(
        input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        x = content(input, name)
        check_flag(name, "keepdim", 2, keepdim)
        refuse_kinds(f"{name[1:]}_values_cpu", "c", x)
        shape = shape_of(x)
        axes = axes_of(dim, len(shape))
        if dim is None or dim == ():
            _check_elements(name, x)
        for axis in axes:
            _check_extent(name, shape, axis)
        result = boxed(computed(reduce, x, axes, keepdim), node)
        told(result, dim=() if dim is None or dim == () else axes, keepdim=keepdim)
        return result if out is None else into(out, result, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {name[1:]}imum over dimensions; equal elements share the gradient."
    function = remembered(function)
    install(**{name: function})
    return function


amax = _shared("amax", nonlinear_reductions.max)
amin = _shared("amin", nonlinear_reductions.min)


def _both(x: Array, axes: Any, keepdim: bool) -> tuple[Array, Array]:
    return nonlinear_reductions.min(x, axes, keepdim), nonlinear_reductions.max(x, axes, keepdim)


AMINMAX = Composite("aminmax", _both, multiple=True)


@method()
@numpy_names
def aminmax(
    input: Tensor, *, dim: int | None = None, keepdim: bool = False, out: Any = None
) -> Any:
    """The minimum and the maximum, of all elements or along a dimension."""
    x = content(input, "aminmax")
    check_flag("aminmax", "keepdim", 2, keepdim)
    refuse_kinds("aminmax_cpu", "c", x)
    shape = shape_of(x)
    axes = axes_of(dim, len(shape))
    if dim is None and 0 in shape:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity."
        )
    for axis in axes:
        _check_extent("aminmax", shape, axis)
    node = named("AminmaxBackward0", "", "self")
    results = boxed_all(computed(AMINMAX, x, axes=axes, keepdim=keepdim), node)
    told(results[0], dim=None if dim is None else axes[0], keepdim=keepdim)
    return delivered(return_types.aminmax, results, out, "aminmax")


# --------------------------------------------------------------------------------- positions


def _position(name: str, core: Any) -> Any:
    @numpy_names
    def function(
        input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        x = content(input, name)
        check_flag(name, "keepdim", 2, keepdim)
        if dtype_of(x).kind == "b":
            raise RuntimeError(f"{name}(): does not support bool input")
        _refuse_complex(name, x)
        shape = shape_of(x)
        if dim is None:
            _check_elements(name, x, IndexError)
            found = core(x, None, keepdim)
        else:
            axis = axis_of(dim, len(shape))
            _check_extent(name, shape, axis)
            found = core(x, axis, keepdim) if shape else np.zeros((), np.int64)
        return into(out, box(found), name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Where the {name[3:]}imum stands: of all elements, or along a dimension."
    function = remembered(function)
    install(**{name: function})
    return function


argmax = _position("argmax", constant.argmax)
argmin = _position("argmin", constant.argmin)


# --------------------------------------------------------------------------- running extrema


def _running(name: str, largest: bool) -> Any:
    @numpy_names
    def function(input: Tensor, dim: int, *, out: Any = None) -> Any:
        x = content(input, name)
        refuse_kinds(f"{name}_cpu", "c", x)
        shape = shape_of(x)
        axis = axis_of(dim, len(shape))
        at = order.running_extremum(x, axis, largest) if shape else np.zeros((), np.int64)
        found = picked(x, at, axis, False, f"{name.capitalize()}Backward0")
        return delivered(getattr(return_types, name), found, out, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {name[3:]}imum so far along a dimension, and where it stands."
    function = remembered(function)
    install(**{name: function})
    return function


cummax = _running("cummax", True)
cummin = _running("cummin", False)
