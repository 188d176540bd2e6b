"""Choosing between values: where, clamp, maximum and minimum, masked_fill, nan_to_num.

Where two values tie, `maximum` and `minimum` share the cotangent, `fmax`, `fmin` and a bound of
`clamp` give all of it to the first operand, as PyTorch has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import (
    NodeClass,
    boxed,
    computed,
    inplace,
    install,
    into,
    method,
    named,
    shape_of,
    told,
)
from funcgrad.torch.operations.promotion import (
    NUMBERS,
    content,
    dtype_of,
    kind_of,
    number,
    promoted,
    wrong_type,
)
from funcgrad.torch.operations.recorded import binary
from funcgrad.torch.remembered import remembered
from funcgrad.torch.writing import check_writable

__all__ = [
    "clamp", "clamp_max", "clamp_min", "clip", "fmax", "fmin", "masked_fill", "maximum", "minimum",
    "nan_to_num", "where",
]  # fmt: skip

# ----------------------------------------------------------------------------------- extrema

BOTH = ("", "self", "other")


def _extremum(name: str, core: Any, node: str) -> Any:
    made = binary(f"_{name}", core, named(node, *BOTH), changing=False)
    delattr(Tensor, f"_{name}")

    def function(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        x, y = content(input, name), content(other, name, "other", 2)
        if dtype_of(x).kind == "c" or dtype_of(y).kind == "c":
            raise RuntimeError(f"{name} not implemented for complex tensors.")
        found: Tensor = made(input, other, out=out)
        return found

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of each pair of elements."
    install(**{name: function})
    return function


def _first_of_ties(core: Any, better: Any) -> Any:
    """The extremum that ignores NaN; of equal elements the first one counts."""

    def chosen(x: Array, y: Array) -> Array:
        first = a.logical_or(better(x, y), a.isnan(y))
        return a.where(first, x, y)

    return chosen


maximum = _extremum("maximum", a.maximum, "MaximumBackward0")
minimum = _extremum("minimum", a.minimum, "MinimumBackward0")
FMAX = Composite("fmax", _first_of_ties(a.fmax, a.greater_equal))
FMIN = Composite("fmin", _first_of_ties(a.fmin, a.less_equal))
fmax = _extremum("fmax", FMAX, "FmaxBackward0")
fmin = _extremum("fmin", FMIN, "FminBackward0")

# ------------------------------------------------------------------------------------- clamp


def _limited(x: Array, low: Array | None, high: Array | None) -> Array:
    """`x` within bounds: a NaN of `x` or of a bound is kept, the upper bound wins."""
    if low is not None:
        keep = a.logical_or(a.greater_equal(x, low), a.isnan(x))
        x = a.where(keep, x, low)
    if high is not None:
        keep = a.logical_or(a.less_equal(x, high), a.isnan(x))
        x = a.where(keep, x, high)
    return x


def _clamp(x: Array, *bounds: Array, low: bool, high: bool) -> Array:
    return _limited(x, bounds[0] if low else None, bounds[-1] if high else None)


def _clamp_numbers(x: Array, low: Any, high: Any) -> Array:
    """One choice: where `x` lies inside it is handed on, elsewhere the result is a constant."""
    if any(b is not None and b != b for b in (low, high)):
        return a.where(np.ones((), bool), np.asarray(np.nan, dtype_of(x))[()], x)
    outside: Any = a.isnan(x) if dtype_of(x).kind == "f" else np.zeros((), bool)
    edge: Any = np.asarray(np.nan if dtype_of(x).kind == "f" else 0, dtype_of(x))[()]
    for bound, beyond in ((low, a.less), (high, a.greater)):
        if bound is not None:
            past = beyond(x, bound)
            if bound is high and low is not None and low > high:
                past = a.logical_not(a.isnan(x)) if dtype_of(x).kind == "f" else np.ones((), bool)
            outside, edge = a.logical_or(outside, past), a.where(past, bound, edge)
    return a.where(outside, edge, x)


CLAMP = Composite("clamp", _clamp)
CLAMP_NUMBERS = Composite("clamp_numbers", _clamp_numbers)
CLAMP_NODE = named("ClampBackward1", "", "self")


def _clamp_node(low: bool, high: bool) -> NodeClass:
    """PyTorch counts a missing bound as an input."""
    if low and high:
        return named("ClampBackward0", "", "self", "min", "max")
    return named(
        "ClampBackward0", "", "self", "min" if low else "max", shown=(0, 1, -1) if low else
        (0, -1, 1)
    )  # fmt: skip


def _check_bound(name: str, argument: str, bound: Any, position: int) -> None:
    if bound is not None and not isinstance(bound, (Tensor, *NUMBERS)):
        wrong_type(name, argument, position, "Number", bound)


@remembered
def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The elements, limited to [min, max]: numbers, or tensors.

    At a bound the derivative by the element is 1.
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    _check_bound("clamp", "min", min, 2)
    _check_bound("clamp", "max", max, 3)
    x = content(input, "clamp")
    bounds = [b for b in (min, max) if b is not None]
    if any(isinstance(b, Tensor) for b in bounds):
        if not all(isinstance(b, Tensor) for b in bounds):
            wrong_type(
                "clamp", "min", 2, "Tensor", next(b for b in bounds if type(b) is not Tensor)
            )
        x, *limits = promoted("clamp", input, *bounds)
        _check_real(x)
        low, high = min is not None, max is not None
        found = computed(CLAMP, x, *limits, low=low, high=high)
        result = boxed(found, _clamp_node(low, high))
    else:
        _check_real(x)
        x, *limits = promoted("clamp", input, *bounds, exact=True)
        ends = iter(limits)
        low_, high_ = (None if b is None else next(ends) for b in (min, max))
        result = boxed(computed(CLAMP_NUMBERS, x, low=low_, high=high_), CLAMP_NODE)
        told(result, min=min, max=max)
    return result if out is None else into(out, result, "clamp")


def _check_real(x: Array) -> None:
    if dtype_of(x).kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")


clip = clamp
install(clamp=clamp, clip=clamp, clamp_=inplace(clamp, "clamp_"), clip_=inplace(clamp, "clip_"))


def _one_sided(name: str, argument: str, nodes: tuple[NodeClass, NodeClass]) -> Any:
    def function(input: Tensor, bound: Any, *, out: Tensor | None = None) -> Tensor:
        content(input, name)
        _check_bound(name, argument, bound, 2)
        x, limit = promoted(name, input, bound, exact=True)
        if dtype_of(x).kind == "c":
            raise NotImplementedError(
                f"{name.replace('_', ' ')} is not supported for complex types"
            )
        low = argument == "min"
        if isinstance(bound, Tensor):
            result = boxed(computed(CLAMP, x, limit, low=low, high=not low), nodes[1])
        else:
            ends = (limit, None) if low else (None, limit)
            result = boxed(computed(CLAMP_NUMBERS, x, low=ends[0], high=ends[1]), nodes[0])
            told(result, **{argument: bound})
        return result if out is None else into(out, result, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The elements, limited by the {argument}imum."
    function = remembered(function)
    install(**{name: function, f"{name}_": inplace(function, f"{name}_")})
    return function


clamp_min = _one_sided(
    "clamp_min", "min",
    (
        named("ClampMinBackward0", "", "self"),
        named("ClampMinBackward1", "", "self", "min"),
    ),
)  # fmt: skip
clamp_max = _one_sided(
    "clamp_max", "max",
    (
        named("ClampMaxBackward0", "", "self"),
        named("ClampMaxBackward1", "", "self", "max"),
    ),
)  # fmt: skip


# ------------------------------------------------------------------------------------- where

WHERE = named("WhereBackward0", "", "condition", shown=(1, 2))


@remembered
def where(
    condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None
) -> Any:
    """`input` where the condition holds, else `other`; alone, the indices where it holds."""
    mask = content(condition, "where", "condition")
    if input is None and other is None:
        from funcgrad.torch.operations.searching import nonzero

        return nonzero(condition, as_tuple=True)
    if dtype_of(mask).kind != "b" and dtype_of(mask) != np.uint8:
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{dtypes.scalar_name(kind_of(mask))}"
        )
    for x, name, position in ((input, "input", 2), (other, "other", 3)):
        if not isinstance(x, (Tensor, *NUMBERS)):
            wrong_type("where", name, position, "Tensor", x)
    x, y = promoted("where", input, other, exact=True)
    result = boxed(computed(_chosen, a.cast(mask, bool), x, y), WHERE)
    return result if out is None else into(out, result, "where")


def _chosen(mask: Array, x: Array, y: Array) -> Array:
    return a.where(mask, x, y)


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """`self` where the condition holds, else `other`."""
    found: Tensor = where(condition, self, other)
    return found


install(where=_where_method)


# ------------------------------------------------------------------------------- masked_fill

MASKED_FILL = named("MaskedFillBackward0", "", "mask", shown=(2,))
MASKED_FILL_TENSOR = named("MaskedFillBackward1", "", "mask", shown=(2, 1))


@method()
@remembered
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`value` where the mask holds, else the element; both shapes broadcast."""
    x, m = content(input, "masked_fill"), content(mask, "masked_fill", "mask", 2)
    if dtype_of(m).kind != "b":
        raise RuntimeError(
            "masked_fill_ only supports boolean masks, but got mask with dtype "
            f"{dtypes.c_name(kind_of(m))}"
        )
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.ndim} dimension(s)."
            )
        v = a.cast(value.content(), dtype_of(x))
        return boxed(computed(_chosen, m, v, x), MASKED_FILL_TENSOR)
    v = number(value, dtype_of(x))
    return boxed(computed(_chosen, m, v, x), MASKED_FILL)


CHANGE_MASKED_FILL = inplace(masked_fill, "masked_fill_")


def _masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Write `value` where the mask holds."""
    check_writable(self)
    shape = np.broadcast_shapes(shape_of(self), shape_of(mask))
    if shape != shape_of(self):
        raise RuntimeError(
            f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(shape)}"
        )
    return CHANGE_MASKED_FILL(self, mask, value)


install(masked_fill_=_masked_fill_)


# -------------------------------------------------------------------------------- nan_to_num


def _replaced(x: Array, nan: Any, above: Any, below: Any) -> Array:
    x = a.where(a.isnan(x), nan, x)
    x = a.where(a.logical_and(a.isinf(x), a.greater(x, 0)), above, x)
    return a.where(a.logical_and(a.isinf(x), a.less(x, 0)), below, x)


NAN_TO_NUM = Composite("nan_to_num", _replaced)
NAN_TO_NUM_NODE = named("NanToNumBackward0", "", "self")


@method(changing=True)
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None,
    neginf: float | None = None, *, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """NaN and infinities replaced by numbers: by default 0 and the largest finite ones."""
    x = content(input, "nan_to_num")
    kind = dtype_of(x)
    if kind.kind not in "fc":
        from funcgrad.torch.operations.converting import clone

        return into(out, clone(input), "nan_to_num")
    if kind.kind == "c":
        result = boxed(computed(COMPLEX_NAN_TO_NUM, x, limits=_limits(kind, nan, posinf, neginf)),
                       NAN_TO_NUM_NODE)  # fmt: skip
    else:
        nan_, above, below = _limits(kind, nan, posinf, neginf)
        result = boxed(computed(NAN_TO_NUM, x, nan=nan_, above=above, below=below), NAN_TO_NUM_NODE)
    return result if out is None else into(out, result, "nan_to_num")


def _limits(kind: np.dtype[Any], nan: Any, above: Any, below: Any) -> tuple[Any, Any, Any]:
    real = np.zeros((), kind).real.dtype
    most = np.finfo(real).max
    given = (0.0 if nan is None else nan, most if above is None else above,
             -most if below is None else below)  # fmt: skip
    return tuple(real.type(v) for v in given)


def _complex_replaced(x: Array, limits: tuple[Any, Any, Any]) -> Array:
    real, imag = (_replaced(part, *limits) for part in (a.real(x), a.imag(x)))
    return a.add(a.cast(real, dtype_of(x)), a.multiply(1j, a.cast(imag, dtype_of(x))))


COMPLEX_NAN_TO_NUM = Composite("complex_nan_to_num", _complex_replaced)
