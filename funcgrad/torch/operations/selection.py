"""Choosing between values: where, clamp, maximum and minimum, masked_fill, nan_to_num.

Where two values tie, `maximum` and `minimum` share the cotangent, `fmax`, `fmin` and a bound of
`clamp` give all of it to the first operand, as PyTorch has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.forms import selecting
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import concrete
from funcgrad.core.types import Array
from funcgrad.kernels.elementwise import serve
from funcgrad.ops import arithmetic as a
from funcgrad.ops.samples import draw
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import boxed, computed, shape_of, told
from funcgrad.torch.operations.promotion import dtype_of, kind_of, number, promoted
from funcgrad.torch.operations.record import (
    Function,
    NodeClass,
    alias,
    common,
    in_place,
    node,
    op,
    operation,
    refuse,
)
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.operations.restated import restated, stated

__all__ = [
    "clamp", "clamp_", "clamp_max", "clamp_max_", "clamp_min", "clamp_min_", "clip", "clip_",
    "fmax", "fmin", "masked_fill", "maximum", "minimum", "nan_to_num", "nan_to_num_", "where",
]  # fmt: skip

# ----------------------------------------------------------------------------------- extrema


def _extremum(name: str, core: Any) -> Function[Tensor]:
    refusal = f"{name} not implemented for complex tensors."

    def promote(name: str, input: Tensor, other: Tensor) -> Sequence[Array]:
        if any(dtype_of(x.content()).kind == "c" for x in (input, other)):
            raise RuntimeError(refusal)
        return common(name, input, other)

    return op(name, "input, other, *, out", core=core, promote=promote, node=name.capitalize(),
              saves="self other", variants="method",
              doc=f"`{name}` of each pair of elements.")  # fmt: skip


def _first_of_ties(better: Any) -> Any:
    """The extremum that ignores NaN; of equal elements the first one counts."""

    def chosen(x: Array, y: Array) -> Array:
        first = a.logical_or(better(x, y), a.isnan(y))
        return a.where(first, x, y)

    return chosen


def _share(worse: Any) -> Any:
    """Half where both tie, all but to what is `worse`: with a NaN neither is."""
    return selecting(lambda _, x, y: a.where(a.equal(x, y), 0.5, a.where(worse(x, y), 0.0, 1.0)))


def _turned(partial: Any) -> Any:
    return selecting(lambda z, x, y: partial(z, y, x))


MAXIMUM = restated(a.maximum, _share(a.less), _turned(_share(a.less)))
MINIMUM = restated(a.minimum, _share(a.greater), _turned(_share(a.greater)))
serve(MAXIMUM.primitive, a.maximum.primitive)  # type: ignore[attr-defined]
serve(MINIMUM.primitive, a.minimum.primitive)  # type: ignore[attr-defined]
maximum = _extremum("maximum", MAXIMUM)
minimum = _extremum("minimum", MINIMUM)
FMAX = Composite("fmax", _first_of_ties(a.greater_equal))
FMIN = Composite("fmin", _first_of_ties(a.less_equal))
fmax = _extremum("fmax", FMAX)
fmin = _extremum("fmin", FMIN)

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


def _inside(x: Array, low: Array, high: Array) -> Array:
    return a.logical_and(a.greater_equal(x, low), a.less_equal(x, high))


_SAMPLE = lambda: [Sample((draw((3, 4)), draw((3, 4), seed=1)))]
# each is chosen where it is what PyTorch compares with what; where a NaN is, none is
AT_LEAST = stated(
    "torch.at_least",
    lambda x, low: _limited(x, low, None),
    selecting(lambda _, x, low: a.greater_equal(x, low)),
    selecting(lambda _, x, low: a.less(x, low)),
    sample=_SAMPLE,
)
AT_MOST = stated(
    "torch.at_most",
    lambda x, high: _limited(x, None, high),
    selecting(lambda _, x, high: a.less_equal(x, high)),
    selecting(lambda _, x, high: a.greater(x, high)),
    sample=_SAMPLE,
)
BETWEEN = stated(
    "torch.between",
    _limited,
    selecting(lambda _, x, low, high: _inside(x, low, high)),
    selecting(lambda _, x, low, high: a.logical_and(a.less(x, low), a.less(low, high))),
    selecting(lambda _, x, low, high: a.logical_or(a.greater(x, high), a.less(high, low))),
    sample=lambda: [Sample((draw((3, 4)), draw((3, 4), seed=1), a.add(draw((3, 4), seed=2), 1.0)))],
)


def _clamp(x: Array, *bounds: Array, low: bool, high: bool) -> Array:
    clamped: Array = (BETWEEN if low and high else AT_LEAST if low else AT_MOST)(x, *bounds)
    return clamped


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
CLAMP_NODE = node("ClampBackward1", "self", tells="min max")
CLAMP_NODES = {  # by the bounds that there are; PyTorch counts a missing one as an input
    (True, True): node("Clamp", "self min max"),
    (True, False): node("Clamp", "self min", shows=(0, 1, -1)),
    (False, True): node("Clamp", "self max", shows=(0, -1, 1)),
}
BOUNDS = (
    "input, Tensor min=None, Tensor max=None, *, out"
    " | input, Number min=None, Number max=None, *, out"
)


@operation("clamp", BOUNDS, remembers=True, lies="operands")
def clamp(input: Tensor, min: Any, max: Any) -> Tensor:
    """The elements, limited to [min, max]: numbers, or tensors.

    At a bound the derivative by the element is 1.
    """
    bounds = [b for b in (min, max) if b is not None]
    if not bounds:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(bounds[0], Tensor):
        x, *limits = promoted("clamp", input, *bounds)
        refuse(NO_COMPLEX, x)
        low, high = min is not None, max is not None
        return boxed(computed(CLAMP, x, *limits, low=low, high=high), CLAMP_NODES[low, high])
    refuse(NO_COMPLEX, input.content())
    x, *limits = promoted("clamp", input, *bounds, exact=True)
    ends = iter(limits)
    low_, high_ = (None if b is None else next(ends) for b in (min, max))
    result = boxed(computed(CLAMP_NUMBERS, x, low=low_, high=high_), CLAMP_NODE)
    return told(result, min=min, max=max)


NO_COMPLEX = {"c": NotImplementedError("clamp is not supported for complex types")}
clip = alias("clip", clamp)


def _one_sided(name: str, argument: str, number: NodeClass, tensor: NodeClass) -> Function[Tensor]:
    said = f"{name.replace('_', ' ')} is not supported for complex types"

    def function(input: Tensor, bound: Any) -> Tensor:
        x, limit = promoted(name, input, bound, exact=True)
        refuse({"c": NotImplementedError(said)}, x)
        low = argument == "min"
        if isinstance(bound, Tensor):
            return boxed(computed(CLAMP, x, limit, low=low, high=not low), tensor)
        ends = (limit, None) if low else (None, limit)
        result = boxed(computed(CLAMP_NUMBERS, x, low=ends[0], high=ends[1]), number)
        return told(result, **{argument: bound})

    function.__doc__ = f"The elements, limited by the {argument}imum."
    signature = f"input, {argument}, *, out | input, Number {argument}, *, out"
    return operation(name, signature, remembers=True)(function)


clamp_min = _one_sided("clamp_min", "min", node("ClampMin", "self", tells="min"),
                       node("ClampMinBackward1", "self min"))  # fmt: skip
clamp_max = _one_sided("clamp_max", "max", node("ClampMax", "self", tells="max"),
                       node("ClampMaxBackward1", "self max"))  # fmt: skip
clamp_, clip_, clamp_max_, clamp_min_ = in_place(clamp, clip, clamp_max, clamp_min)


# ------------------------------------------------------------------------------------- where

WHERE = node("Where", "condition", shows=(1, 2), of="where")


@operation(
    "where",
    "condition | condition, input, other, *, out | condition, Number self, other"
    " | condition, input, Number other | condition, Number self, Number other",
    method_signature="input, condition, other | input, condition, Number other",
    variants="method", remembers=True, lies="operands",
)  # fmt: skip
def where(condition: Tensor, input: Any, other: Any) -> Any:
    """`input` where the condition holds, else `other`; alone, the indices where it holds."""
    if input is None and other is None:
        from funcgrad.torch.operations.searching import nonzero

        return nonzero(condition, as_tuple=True)
    mask = condition.content()
    if dtype_of(mask).kind != "b" and dtype_of(mask) != np.uint8:
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{dtypes.scalar_name(kind_of(mask))}"
        )
    x, y = promoted("where", input, other, exact=True)
    return boxed(computed(_chosen, a.cast(mask, bool), x, y), WHERE)


def _chosen(mask: Array, x: Array, y: Array) -> Array:
    return a.where(mask, x, y)


# ------------------------------------------------------------------------------- masked_fill

MASKED_FILL = node("MaskedFill", "mask", shows=(2,))
MASKED_FILL_TENSOR = node("MaskedFillBackward1", "mask", shows=(2, 1))


def _check_shape(self: Tensor, mask: Tensor, _: Any) -> None:
    shape = np.broadcast_shapes(shape_of(self), shape_of(mask))
    if shape != shape_of(self):
        raise RuntimeError(
            f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(shape)}"
        )


@operation(
    "masked_fill", "input, mask, value | input, mask, Number value", remembers=True, overlap="any",
    before_change=_check_shape, lies="contiguous",
)  # fmt: skip
@requires("""
    kind(mask) == "b": masked_fill_ only supports boolean masks, but got mask with dtype
        {c_name(mask)}
""")
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`value` where the mask holds, else the element; both shapes broadcast."""
    x, m = input.content(), mask.content()
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.ndim} dimension(s)."
            )
        given = value.content()
        if dtype_of(given).kind == "c" and dtype_of(x).kind != "c" and concrete(given):
            given = number(value.item(), dtype_of(x))  # which refuses an imaginary part
        v = a.cast(given, dtype_of(x))
        return boxed(computed(_chosen, m, v, x), MASKED_FILL_TENSOR)
    v = number(value, dtype_of(x))
    return boxed(computed(_chosen, m, v, x), MASKED_FILL)


# -------------------------------------------------------------------------------- nan_to_num


def _replaced(x: Array, nan: Any, above: Any, below: Any) -> Array:
    x = a.where(a.isnan(x), nan, x)
    x = a.where(a.logical_and(a.isinf(x), a.greater(x, 0)), above, x)
    return a.where(a.logical_and(a.isinf(x), a.less(x, 0)), below, x)


NAN_TO_NUM = Composite("nan_to_num", _replaced)
NAN_TO_NUM_NODE = node("NanToNum", "self")


@operation("nan_to_num", "input, float nan=None, float posinf=None, float neginf=None, *, out")
def nan_to_num(
    input: Tensor, nan: float | None, posinf: float | None, neginf: float | None
) -> Tensor:
    """NaN and infinities replaced by numbers: by default 0 and the largest finite ones."""
    x = input.content()
    kind = dtype_of(x)
    if kind.kind not in "fc":
        from funcgrad.torch.operations.converting import clone

        return clone(input)
    limits = _limits(kind, nan, posinf, neginf)
    if kind.kind == "c":
        return boxed(computed(COMPLEX_NAN_TO_NUM, x, limits=limits), NAN_TO_NUM_NODE)
    nan_, above, below = limits
    return boxed(computed(NAN_TO_NUM, x, nan=nan_, above=above, below=below), NAN_TO_NUM_NODE)


(nan_to_num_,) = in_place(nan_to_num)


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
