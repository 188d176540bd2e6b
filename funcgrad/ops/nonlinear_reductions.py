"""Reductions stated by a partial derivative: variance, deviation, product and extrema.

They stand on sums and cumulative products. Ties of an extremum share the cotangent equally; a NaN
is the extremum, as in NumPy; `std` has gradient 0 where there is no spread; the derivatives of a
product are exact where factors are zero.
"""

from __future__ import annotations

from builtins import max as larger
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.forms import Explicit, Samples, explicit
from funcgrad.core.layout import ordered
from funcgrad.core.primitive import Params, Primitive, Sample
from funcgrad.core.tracer import Operand, bind, operand, type_of
from funcgrad.core.types import Array
from funcgrad.ops.arithmetic import (
    add,
    cast,
    conjugate,
    divide,
    equal,
    isnan,
    logical_and,
    logical_or,
    maximum,
    minimum,
    multiply,
    scale,
    subtract,
    where,
)
from funcgrad.ops.cumulative import before, cumprod
from funcgrad.ops.reduction import (
    ROWS,
    Axes,
    Axis,
    complex_rows,
    extent,
    given_dtype,
    given_number,
    kept,
    keywords,
    mask_of,
    normalize_axes,
    operands,
    reduced,
    shift,
    standard_samples,
    with_samples,
)
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import flip, reshape, transpose
from funcgrad.ops.sums import counted, mean, sum, wide

__all__ = [
    "graded", "max", "min", "prod", "prod_partial", "std", "std_partial", "var", "var_partial",
]  # fmt: skip

# ------------------------------------------------- reductions stated by a partial derivative


def graded(
    name: str,
    impl: Callable[..., Any],
    numpy_function: Callable[..., Any],
    partial: Callable[..., tuple[Array | None, Array]],
    sample: Samples,
) -> Explicit:
    """A reduction from its partial derivative by each element.

    ``partial(y, x, *mask, **params)`` is given the result with the reduced axes kept. It returns
    the elements that matter (None is all) and the derivative by them: what arrives at the others
    is dropped before it can meet an infinity.
    """

    def weighted(c: Array, y: Array, x: Array, mask: Any, params: Params) -> Array:
        lines = kept(type_of(x).shape, params["axes"])
        chosen, d = partial(reshape(y, lines), x, *mask, **params)
        c = reshape(c, lines)
        return scale(c if chosen is None else where(chosen, c, 0.0), d)

    def vjp(g: Any, y: Any, x: Any, *mask: Any, needs: Any, **params: Any) -> list[Any]:
        aval = type_of(x)
        c = weighted(g, y, x, mask, params)
        return [cast(c, aval.dtype), *(None for _ in mask)]

    made = explicit(
        name,
        impl,
        type_rule=reduced(numpy_function),
        vjp=vjp,
        batch=shift(name),
        sample=sample,
    )
    made.lies = ordered
    return made


# ------------------------------------------------------------------ variance and deviation


def _moment(f: Callable[..., Any]) -> Callable[..., Any]:
    def impl(x: Any, *mask: Any, axes: Axes, keepdims: bool, dtype: Any, ddof: float) -> Any:
        return f(x, axis=axes, dtype=dtype, ddof=ddof, keepdims=keepdims, **keywords(mask))

    return impl


def _deviation(x: Any, mask: Any, axes: Axes, dtype: Any, ddof: float) -> tuple[Any, Any]:
    """The conjugate of x minus its mean, and the divisor of the variance.

    The result is real: dx enters it through Re(conj(x - mean) dx).
    """
    x = cast(x, wide(dtype or type_of(x).dtype))
    chosen = None if not mask else mask[0]
    if 0 not in type_of(x).shape:  # of a mean of nothing NumPy warns
        x = subtract(x, mean(x, axes, keepdims=True, where=chosen))
    away = conjugate(x)
    count = counted(type_of(x), mask, axes)
    if not mask:
        return away, larger(count - ddof, 0.0)
    return away, maximum(subtract(count, float(ddof)), 0.0)


def var_partial(
    _: Any, x: Any, *mask: Any, axes: Axes, keepdims: bool, dtype: Any, ddof: float
) -> tuple[Any, Any]:
    away, divisor = _deviation(x, mask, axes, dtype, ddof)
    return mask_of(x, mask), divide(multiply(2.0, away), divisor)


def std_partial(
    y: Any, x: Any, *mask: Any, axes: Axes, keepdims: bool, dtype: Any, ddof: float
) -> tuple[Any, Any]:
    away, divisor = _deviation(x, mask, axes, dtype, ddof)
    flat = equal(y, 0)
    d = divide(divide(away, where(flat, 1.0, y)), divisor)
    return mask_of(x, mask), where(flat, 0.0, d)


_MOMENT_SAMPLES = with_samples(
    standard_samples(dtype=None, ddof=0),
    lambda: [
        Sample((complex_rows(),), {**ROWS, "dtype": None, "ddof": 0}),
        Sample((draw((2, 3)),), {**ROWS, "dtype": None, "ddof": 1}),
        Sample((draw((2, 3)),), {**ROWS, "dtype": None, "ddof": 0.5}),
        Sample((draw((2, 3)).astype(np.float32),), {**ROWS, "dtype": np.dtype(float), "ddof": 0}),
        Sample((np.full((2, 3), 1.5),), {**ROWS, "dtype": None, "ddof": 0}, smooth=False),
    ],
)
VAR = graded("var", _moment(np.var), np.var, var_partial, _MOMENT_SAMPLES)
STD = graded("std", _moment(np.std), np.std, std_partial, _MOMENT_SAMPLES)


def _apply_moment(
    prim: Primitive, x: Any, axis: Axis, ddof: float, keepdims: bool, dtype: Any, mask: Any
) -> Array:
    args = operands(x, mask)
    axes = normalize_axes(axis, type_of(args[0]).ndim)
    params = {"axes": axes, "keepdims": keepdims, "dtype": given_dtype(dtype), "ddof": ddof}
    return bind(prim, args, params)


def var(
    x: Array,
    axis: Axis = None,
    ddof: float = 0,
    keepdims: bool = False,
    dtype: Any = None,
    where: Any = None,
) -> Array:
    """The variance over `axis`, divided by the number of elements less `ddof`."""
    return _apply_moment(VAR, x, axis, ddof, keepdims, dtype, where)


def std(
    x: Array,
    axis: Axis = None,
    ddof: float = 0,
    keepdims: bool = False,
    dtype: Any = None,
    where: Any = None,
) -> Array:
    """The standard deviation over `axis`; its gradient is 0 where there is no spread."""
    return _apply_moment(STD, x, axis, ddof, keepdims, dtype, where)


# -------------------------------------------------------------------------------- product


def _prod(x: Any, *mask: Any, axes: Axes, keepdims: bool, dtype: Any, initial: Any) -> Any:
    return np.prod(x, axis=axes, dtype=dtype, keepdims=keepdims, **keywords(mask, initial))


def _others(x: Array, axes: Axes) -> Array:
    """For each element the product of the others: those before it times those after it."""
    shape = type_of(x).shape
    rest = tuple(a for a in range(len(shape)) if a not in axes)
    order = (*rest, *axes)
    moved = tuple(shape[a] for a in order)
    last = len(rest)
    line = reshape(transpose(x, order), (*moved[:last], extent(shape, axes)))
    ahead = cumprod(before(line, last, 1.0), last)
    behind = flip(cumprod(before(flip(line, (last,)), last, 1.0), last), (last,))
    back = tuple(np.argsort(order).tolist())
    return transpose(reshape(multiply(ahead, behind), moved), back)


def prod_partial(
    _: Any, x: Any, *mask: Any, axes: Axes, keepdims: bool, dtype: Any, initial: Any
) -> tuple[Any, Any]:
    chosen = mask_of(x, mask)
    x = cast(x, dtype or type_of(x).dtype)
    d = _others(x if chosen is None else where(chosen, x, 1.0), axes)
    return chosen, d if initial is None else multiply(d, initial)


PROD = graded(
    "prod",
    _prod,
    np.prod,
    prod_partial,
    with_samples(
        standard_samples(dtype=None, initial=None),
        lambda: [
            Sample((complex_rows(),), {**ROWS, "dtype": None, "initial": None}),
            Sample((np.array([[2.0, 0.0, 3.0]]),), {**ROWS, "dtype": None, "initial": None}),
            Sample((np.array([[0.0, 0.0, 3.0]]),), {**ROWS, "dtype": None, "initial": None}),
            Sample((np.zeros((1, 3)),), {**ROWS, "dtype": None, "initial": 2.0}),
            Sample((draw((2, 0)),), {**ROWS, "dtype": None, "initial": None}),
        ],
    ),
)


def prod(
    x: Array,
    axis: Axis = None,
    keepdims: bool = False,
    dtype: Any = None,
    where: Any = None,
    initial: Any = None,
) -> Array:
    """The product over `axis`; its derivatives are exact where factors are zero."""
    if isinstance(initial, Operand):
        return multiply(prod(x, axis, keepdims, dtype, where), initial)
    args = operands(x, where)
    params = {
        "axes": normalize_axes(axis, type_of(args[0]).ndim),
        "keepdims": keepdims,
        "dtype": given_dtype(dtype),
        "initial": given_number(initial),
    }
    return bind(PROD, args, params)


# -------------------------------------------------------------------------------- extrema


def _extremum(f: Callable[..., Any]) -> Callable[..., Any]:
    def impl(x: Any, *mask: Any, axes: Axes, keepdims: bool, initial: Any) -> Any:
        return f(x, axis=axes, keepdims=keepdims, **keywords(mask, initial))

    return impl


def _extremum_partial(
    y: Any, x: Any, *mask: Any, axes: Axes, keepdims: bool, initial: Any
) -> tuple[Any, Any]:
    """The chosen elements, which share equally; `initial` takes part in a tie."""
    chosen = logical_or(equal(x, y), isnan(x))
    if mask:
        chosen = logical_and(chosen, mask[0])
    count = sum(cast(chosen, float), axes, keepdims=True)
    if initial is not None:
        count = add(count, where(equal(y, initial), 1.0, 0.0))
    return chosen, divide(1.0, maximum(count, 1.0))


def _extremum_samples(sign: float) -> Samples:
    ties = np.array([[1.0, 2.0, 2.0], [2.0, 2.0, 2.0]])
    no = {**ROWS, "initial": None}
    mask = np.array([True, False, True])

    def samples() -> list[Sample]:
        smooth = [s for s in standard_samples(initial=None)() if len(s.args) == 1]
        return [
            *smooth,
            Sample((draw((2, 3)), mask), {**no, "initial": -9.0 * sign}),
            Sample((draw((2, 3)),), {**no, "initial": 9.0 * sign}),
            Sample((draw((0, 2)),), {"axes": (0,), "keepdims": True, "initial": 1.0}),
            Sample((sign * ties,), no, smooth=False),
            Sample((sign * ties,), {**no, "initial": 2.0 * sign}, smooth=False),
            Sample((np.array([[1.0, np.nan, 2.0]]),), no, smooth=False),
        ]

    return samples


MAX = graded("max", _extremum(np.max), np.max, _extremum_partial, _extremum_samples(1.0))
MIN = graded("min", _extremum(np.min), np.min, _extremum_partial, _extremum_samples(-1.0))


def _apply_extremum(
    prim: Primitive, x: Any, axis: Axis, keepdims: bool, mask: Any, initial: Any
) -> Array:
    if isinstance(initial, Operand):
        pair, least = (maximum, -np.inf) if prim is MAX else (minimum, np.inf)
        needed = mask is not None or type_of(operand(x)).size == 0
        return pair(
            _apply_extremum(prim, x, axis, keepdims, mask, least if needed else None), initial
        )
    args = operands(x, mask)
    axes = normalize_axes(axis, type_of(args[0]).ndim)
    return bind(prim, args, {"axes": axes, "keepdims": keepdims, "initial": given_number(initial)})


def max(
    x: Array, axis: Axis = None, keepdims: bool = False, where: Any = None, initial: Any = None
) -> Array:
    """The largest element over `axis`; equal ones share the gradient, NaN propagates."""
    return _apply_extremum(MAX, x, axis, keepdims, where, initial)


def min(
    x: Array, axis: Axis = None, keepdims: bool = False, where: Any = None, initial: Any = None
) -> Array:
    """The smallest element over `axis`; equal ones share the gradient, NaN propagates."""
    return _apply_extremum(MIN, x, axis, keepdims, where, initial)
