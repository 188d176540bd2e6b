"""Reductions over axes: sums and means, moments, products, extrema, and counts.

A boolean mask (NumPy's `where=`) is a second operand. Ties of an extremum share the cotangent
equally; a NaN is the extremum, as in NumPy; `std` has gradient 0 where there is no spread.
"""

from __future__ import annotations

from builtins import max as larger
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from funcgrad.core.forms import Explicit, Samples, explicit, linear
from funcgrad.core.primitive import PRIMITIVES, Params, Primitive, Sample
from funcgrad.core.tracer import Operand, bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
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
from funcgrad.ops.cumulative import before, cumprod, dtype_of_result
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, conform, flip, reshape, transpose

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "constant",
    "count_nonzero",
    "max",
    "mean",
    "min",
    "normalize_axes",
    "prod",
    "std",
    "sum",
    "var",
]

Axis = int | Sequence[int] | None
Axes = tuple[int, ...]

# ----------------------------------------------------------------------------------- axes


def normalize_axes(axis: Axis, ndim: int) -> Axes:
    """`axis` as a tuple of non-negative axes; AxisError as in NumPy."""
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int:
        return (normalize_axis_index(axis, ndim),)
    return tuple(sorted(normalize_axis_tuple(axis, ndim)))


def _kept(shape: tuple[int, ...], axes: Axes) -> tuple[int, ...]:
    return tuple(1 if a in axes else n for a, n in enumerate(shape))


def _left(shape: tuple[int, ...], axes: Axes, keepdims: bool) -> tuple[int, ...]:
    """The shape after a reduction."""
    return (
        _kept(shape, axes) if keepdims else tuple(n for a, n in enumerate(shape) if a not in axes)
    )


def spread(g: Array, shape: tuple[int, ...], axes: Axes) -> Array:
    """The result of a reduction, repeated along the axes that it reduced."""
    return broadcast_to(reshape(g, _kept(shape, axes)), shape)


def _extent(shape: tuple[int, ...], axes: Axes) -> int:
    count = 1
    for a in axes:
        count *= shape[a]
    return count


def _operands(x: Any, mask: Any) -> tuple[Array, ...]:
    """The operands of a reduction: `x`, and the mask if there is one."""
    x = operand(x)
    if mask is None or mask is True:
        return (x,)
    mask = operand(mask)
    shape = type_of(x).shape
    if np.broadcast_shapes(shape, type_of(mask).shape) != shape:
        raise ValueError(
            f"the mask has shape {type_of(mask).shape}, which does not broadcast to {shape}"
        )
    return x, cast(mask, bool)


def _mask_of(x: Array, mask: tuple[Array, ...]) -> Array | None:
    return broadcast_to(mask[0], type_of(x).shape) if mask else None


def _keywords(mask: tuple[Any, ...], initial: Any = None) -> dict[str, Any]:
    """What is not given must not be handed to NumPy."""
    found: dict[str, Any] = {"where": mask[0]} if mask else {}
    return found if initial is None else {**found, "initial": initial}


def _align(size: int, xs: Sequence[Array], batched: Sequence[bool]) -> list[Array]:
    """Array and mask so that the batch axis is axis 0 of the array."""
    x, mask = xs[0], list(xs[1:])
    if not batched[0]:
        x = broadcast_to(x, (size, *type_of(x).shape))
    if mask and batched[1]:
        shape, ndim = type_of(mask[0]).shape, type_of(x).ndim
        mask[0] = reshape(mask[0], (size,) + (1,) * (ndim - len(shape)) + shape[1:])
    return [x, *mask]


def _shift(name: str) -> Callable[..., Any]:
    """Batching of a reduction: every axis is one further."""

    def batch(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        axes = tuple(a + 1 for a in params["axes"])
        return bind(PRIMITIVES[name], _align(size, xs, batched), {**params, "axes": axes})

    return batch


def _reduced(f: Callable[..., Any]) -> Callable[..., ArrayType]:
    """The type rule of NumPy's reduction `f`."""

    def rule(
        x: ArrayType, *_: Any, axes: Axes, keepdims: bool, dtype: Any = None, **__: Any
    ) -> ArrayType:
        return ArrayType(_left(x.shape, axes, keepdims), dtype_of_result(f, x.dtype, dtype))

    return rule


def _dtype(dtype: Any) -> np.dtype[Any] | None:
    return None if dtype is None else np.dtype(dtype)


def _number(initial: Any) -> Any:
    """A start value as hashable data."""
    return initial if initial is None else np.asarray(initial)[()]


# ------------------------------------------------------------------------------- samples


def _samples(**more: Any) -> Samples:
    """Axes, strides, dtypes and masks that every differentiable reduction has to pass."""

    def samples() -> list[Sample]:
        x = draw((2, 3))
        mask = np.array([True, False, True])
        no = {"axes": (0, 1), "keepdims": False, **more}
        return [
            Sample((x,), no),
            Sample((x,), {**no, "axes": (1,), "keepdims": True}),
            Sample((x[:, ::-1],), {**no, "axes": (0,)}),
            Sample((draw((2, 3, 2)).T,), {**no, "axes": (0, 2)}),
            Sample((x.astype(np.float32),), {**no, "axes": (1,)}),
            Sample((x, mask), {**no, "axes": (1,)}),
            Sample((x, np.array([[True], [True]])), {**no, "keepdims": True}),
            Sample((draw((0, 2)),), {**no, "axes": (1,)}),
        ]

    return samples


def _with(base: Samples, *more: Sample) -> Samples:
    return lambda: [*base(), *more]


_Z = draw((2, 3)) + 1j * draw((2, 3), seed=1)
_ROWS = {"axes": (1,), "keepdims": False}

# ------------------------------------------------------------------------------------ sum


_add_reduce: Any = np.add.reduce


def _sum(x: Any, *mask: Any, axes: Axes, keepdims: bool, dtype: Any) -> Any:
    # np.sum is this call: it adds nothing but time
    if not mask:
        return _add_reduce(x, axes, dtype, None, keepdims)
    return np.add.reduce(x, axis=axes, dtype=dtype, keepdims=keepdims, **_keywords(mask))


def _sum_transpose(g: Any, x: ArrayType, *mask: Any, axes: Axes, **_: Any) -> Any:
    c = spread(g, x.shape, axes)
    return cast(where(mask[0], c, 0.0) if mask else c, x.dtype)


SUM = linear(
    "sum",
    _sum,
    (_sum_transpose,),
    _reduced(np.sum),
    _shift("sum"),
    sample=_with(
        _samples(dtype=None),
        Sample((_Z,), {**_ROWS, "dtype": None}),
        Sample((draw((2, 3)).astype(np.float32),), {**_ROWS, "dtype": np.dtype(float)}),
        Sample((draw((2, 0)),), {**_ROWS, "dtype": None}),
        Sample((np.float64(1.5),), {"axes": (), "keepdims": False, "dtype": None}),
        Sample((np.arange(3) > 1,), {"axes": (0,), "keepdims": False, "dtype": None}),
    ),
)


def _sum_from(x: Any, start: Any, *mask: Any, axes: Axes, keepdims: bool, dtype: Any) -> Any:
    return np.add.reduce(x, axis=axes, dtype=dtype, keepdims=keepdims, **_keywords(mask, start))


def _sum_from_batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
    x, start, *mask = xs
    alone = [x, *mask]
    if not batched[1]:
        lanes = _align(size, alone, (batched[0], *batched[2:]))
        axes = tuple(a + 1 for a in params["axes"])
        return bind(SUM_FROM, (lanes[0], start, *lanes[1:]), {**params, "axes": axes})
    if batched[0] or (mask and batched[2]):
        total = SUM.batch(size, alone, (batched[0], *batched[2:]), params)
    else:
        total = bind(SUM, alone, params)
        total = broadcast_to(total, (size, *type_of(total).shape))
    kind = type_of(total)
    return add(total, cast(reshape(start, (size,) + (1,) * (kind.ndim - 1)), kind.dtype))


SUM_FROM = linear(
    "sum_from",
    _sum_from,
    (
        lambda g, x, start, *mask, **params: _sum_transpose(g, x, *mask, **params),
        lambda g, x, start, *mask, **params: conform(g, start),
    ),
    lambda x, start, *mask, **params: _reduced(np.sum)(x, **params),
    _sum_from_batch,
    sample=lambda: [
        Sample((draw((2, 3)), np.float64(0.5)), {**_ROWS, "dtype": None}),
        Sample((draw((2, 3)), 2.0, np.array([True, False, True])), {**_ROWS, "dtype": None}),
        Sample((draw((0, 2)), 2.0), {"axes": (0,), "keepdims": True, "dtype": None}),
    ],
)


def sum(
    x: Array,
    axis: Axis = None,
    keepdims: bool = False,
    dtype: Any = None,
    where: Any = None,
    initial: Any = None,
) -> Array:
    """The sum over `axis`, of the elements where `where` holds; it starts from `initial`."""
    x, *mask = _operands(x, where)
    params = {
        "axes": normalize_axes(axis, type_of(x).ndim),
        "keepdims": keepdims,
        "dtype": _dtype(dtype),
    }
    if initial is None:
        return bind(SUM, (x, *mask), params)
    return bind(SUM_FROM, (x, operand(initial), *mask), params)


# ----------------------------------------------------------------------------------- mean


def _mean(x: Any, *mask: Any, axes: Axes, keepdims: bool, dtype: Any) -> Any:
    return np.mean(x, axis=axes, dtype=dtype, keepdims=keepdims, **_keywords(mask))


def _count(kind: ArrayType, mask: tuple[Array, ...], axes: Axes) -> Array:
    """How many elements are reduced: a number, or an array that keeps the reduced axes."""
    if not mask:
        return float(_extent(kind.shape, axes))
    return sum(cast(broadcast_to(mask[0], kind.shape), float), axes, keepdims=True)


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """NumPy computes the moments of half precision in single precision."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def _mean_transpose(g: Any, x: ArrayType, *mask: Any, axes: Axes, **_: Any) -> Any:
    own = type_of(g).dtype
    g = reshape(cast(g, _wide(own)), _kept(x.shape, axes))
    count = _count(x, mask, axes)
    c = divide(g, maximum(count, 1.0)) if mask else divide(g, larger(count, 1.0))
    c = broadcast_to(cast(c, x.dtype), x.shape)
    return where(mask[0], c, 0.0) if mask else c


MEAN = linear(
    "mean",
    _mean,
    (_mean_transpose,),
    _reduced(np.mean),
    _shift("mean"),
    sample=_with(
        _samples(dtype=None),
        Sample((_Z,), {**_ROWS, "dtype": None}),
        Sample((draw((2, 3)).astype(np.float32),), {**_ROWS, "dtype": np.dtype(float)}),
        Sample((np.arange(6).reshape(2, 3),), {**_ROWS, "dtype": None}),
        Sample((draw((2, 3)).astype(np.float16),), {**_ROWS, "dtype": None}, smooth=False),
    ),
)


def mean(
    x: Array, axis: Axis = None, keepdims: bool = False, dtype: Any = None, where: Any = None
) -> Array:
    """The mean over `axis`, of the elements where `where` holds."""
    x, *mask = _operands(x, where)
    axes = normalize_axes(axis, type_of(x).ndim)
    return bind(MEAN, (x, *mask), {"axes": axes, "keepdims": keepdims, "dtype": _dtype(dtype)})


# ------------------------------------------------- reductions stated by a partial derivative


def _graded(
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
        y = reshape(y, _kept(type_of(x).shape, params["axes"]))
        chosen, d = partial(y, x, *mask, **params)
        return scale(c if chosen is None else where(chosen, c, 0.0), d)

    def vjp(g: Any, y: Any, x: Any, *mask: Any, needs: Any, **params: Any) -> list[Any]:
        kind = type_of(x)
        c = weighted(spread(g, kind.shape, params["axes"]), y, x, mask, params)
        return [cast(c, kind.dtype), *(None for _ in mask)]

    def jvp(y: Any, xs: Any, ts: Any, **params: Any) -> Any:
        if ts[0] is None:
            return None
        c = weighted(ts[0], y, xs[0], xs[1:], params)
        return cast(sum(c, params["axes"], params["keepdims"]), type_of(y).dtype)

    return explicit(
        name,
        impl,
        type_rule=_reduced(numpy_function),
        vjp=vjp,
        jvp=jvp,
        batch=_shift(name),
        sample=sample,
    )


# ------------------------------------------------------------------ variance and deviation


def _moment(f: Callable[..., Any]) -> Callable[..., Any]:
    def impl(x: Any, *mask: Any, axes: Axes, keepdims: bool, dtype: Any, ddof: float) -> Any:
        return f(x, axis=axes, dtype=dtype, ddof=ddof, keepdims=keepdims, **_keywords(mask))

    return impl


def _deviation(x: Any, mask: Any, axes: Axes, dtype: Any, ddof: float) -> tuple[Any, Any]:
    """The conjugate of x minus its mean, and the divisor of the variance.

    The result is real: dx enters it through Re(conj(x - mean) dx).
    """
    x = cast(x, _wide(dtype or type_of(x).dtype))
    kept = None if not mask else mask[0]
    away = conjugate(subtract(x, mean(x, axes, keepdims=True, where=kept)))
    count = _count(type_of(x), mask, axes)
    if not mask:
        return away, larger(count - ddof, 0.0)
    return away, maximum(subtract(count, float(ddof)), 0.0)


def _var_partial(
    _: Any, x: Any, *mask: Any, axes: Axes, keepdims: bool, dtype: Any, ddof: float
) -> tuple[Any, Any]:
    away, divisor = _deviation(x, mask, axes, dtype, ddof)
    return _mask_of(x, mask), divide(multiply(2.0, away), divisor)


def _std_partial(
    y: Any, x: Any, *mask: Any, axes: Axes, keepdims: bool, dtype: Any, ddof: float
) -> tuple[Any, Any]:
    away, divisor = _deviation(x, mask, axes, dtype, ddof)
    flat = equal(y, 0)
    d = divide(divide(away, where(flat, 1.0, y)), divisor)
    return _mask_of(x, mask), where(flat, 0.0, d)


_MOMENT_SAMPLES = _with(
    _samples(dtype=None, ddof=0),
    Sample((_Z,), {**_ROWS, "dtype": None, "ddof": 0}),
    Sample((draw((2, 3)),), {**_ROWS, "dtype": None, "ddof": 1}),
    Sample((draw((2, 3)),), {**_ROWS, "dtype": None, "ddof": 0.5}),
    Sample((draw((2, 3)).astype(np.float32),), {**_ROWS, "dtype": np.dtype(float), "ddof": 0}),
    Sample((np.full((2, 3), 1.5),), {**_ROWS, "dtype": None, "ddof": 0}, smooth=False),
)
VAR = _graded("var", _moment(np.var), np.var, _var_partial, _MOMENT_SAMPLES)
STD = _graded("std", _moment(np.std), np.std, _std_partial, _MOMENT_SAMPLES)


def _apply_moment(
    prim: Primitive, x: Any, axis: Axis, ddof: float, keepdims: bool, dtype: Any, mask: Any
) -> Array:
    args = _operands(x, mask)
    axes = normalize_axes(axis, type_of(args[0]).ndim)
    params = {"axes": axes, "keepdims": keepdims, "dtype": _dtype(dtype), "ddof": ddof}
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
    return np.prod(x, axis=axes, dtype=dtype, keepdims=keepdims, **_keywords(mask, initial))


def _others(x: Array, axes: Axes) -> Array:
    """For each element the product of the others: those before it times those after it."""
    shape = type_of(x).shape
    rest = tuple(a for a in range(len(shape)) if a not in axes)
    order = (*rest, *axes)
    moved = tuple(shape[a] for a in order)
    last = len(rest)
    line = reshape(transpose(x, order), (*moved[:last], _extent(shape, axes)))
    ahead = cumprod(before(line, last, 1.0), last)
    behind = flip(cumprod(before(flip(line, (last,)), last, 1.0), last), (last,))
    back = tuple(np.argsort(order).tolist())
    return transpose(reshape(multiply(ahead, behind), moved), back)


def _prod_partial(
    _: Any, x: Any, *mask: Any, axes: Axes, keepdims: bool, dtype: Any, initial: Any
) -> tuple[Any, Any]:
    chosen = _mask_of(x, mask)
    x = cast(x, dtype or type_of(x).dtype)
    d = _others(x if chosen is None else where(chosen, x, 1.0), axes)
    return chosen, d if initial is None else multiply(d, initial)


PROD = _graded(
    "prod",
    _prod,
    np.prod,
    _prod_partial,
    _with(
        _samples(dtype=None, initial=None),
        Sample((_Z,), {**_ROWS, "dtype": None, "initial": None}),
        Sample((np.array([[2.0, 0.0, 3.0]]),), {**_ROWS, "dtype": None, "initial": None}),
        Sample((np.array([[0.0, 0.0, 3.0]]),), {**_ROWS, "dtype": None, "initial": None}),
        Sample((np.zeros((1, 3)),), {**_ROWS, "dtype": None, "initial": 2.0}),
        Sample((draw((2, 0)),), {**_ROWS, "dtype": None, "initial": None}),
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
    args = _operands(x, where)
    params = {
        "axes": normalize_axes(axis, type_of(args[0]).ndim),
        "keepdims": keepdims,
        "dtype": _dtype(dtype),
        "initial": _number(initial),
    }
    return bind(PROD, args, params)


# -------------------------------------------------------------------------------- extrema


def _extremum(f: Callable[..., Any]) -> Callable[..., Any]:
    def impl(x: Any, *mask: Any, axes: Axes, keepdims: bool, initial: Any) -> Any:
        return f(x, axis=axes, keepdims=keepdims, **_keywords(mask, initial))

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
    no = {**_ROWS, "initial": None}
    mask = np.array([True, False, True])

    def samples() -> list[Sample]:
        smooth = [s for s in _samples(initial=None)() if len(s.args) == 1]
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


MAX = _graded("max", _extremum(np.max), np.max, _extremum_partial, _extremum_samples(1.0))
MIN = _graded("min", _extremum(np.min), np.min, _extremum_partial, _extremum_samples(-1.0))


def _apply_extremum(
    prim: Primitive, x: Any, axis: Axis, keepdims: bool, mask: Any, initial: Any
) -> Array:
    if isinstance(initial, Operand):
        pair, least = (maximum, -np.inf) if prim is MAX else (minimum, np.inf)
        needed = mask is not None or type_of(operand(x)).size == 0
        return pair(
            _apply_extremum(prim, x, axis, keepdims, mask, least if needed else None), initial
        )
    args = _operands(x, mask)
    axes = normalize_axes(axis, type_of(args[0]).ndim)
    return bind(prim, args, {"axes": axes, "keepdims": keepdims, "initial": _number(initial)})


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


# ----------------------------------------------------------------------- locally constant


class Constant(Primitive):
    """An operation whose result is locally constant: nothing is recorded of it."""

    form = "constant"
    differentiable = False

    def __init__(
        self,
        name: str,
        impl: Callable[..., Any],
        type_rule: Callable[..., Any],
        batch: Callable[..., Any],
    ) -> None:
        super().__init__(name, impl)
        self._type, self._batch = type_rule, batch

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> Any:
        return self._type(*types, **params)

    def batch(self, size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        return self._batch(size, xs, batched, params)


def constant(
    name: str,
    impl: Callable[..., Any],
    type_rule: Callable[..., Any],
    batch: Callable[..., Any],
    sample: Samples | None = None,
) -> Constant:
    """Make a primitive that is locally constant; the arguments are as in `forms.linear`."""
    prim = Constant(name, impl, type_rule, batch)
    prim.sample = sample
    return prim


def _truth(f: Callable[..., Any]) -> Callable[..., Any]:
    def impl(x: Any, *mask: Any, axes: Axes, keepdims: bool) -> Any:
        return f(x, axis=axes, keepdims=keepdims, **_keywords(mask))

    return impl


def _count_nonzero(x: Any, axes: Axes, keepdims: bool) -> Any:
    whole = len(axes) == np.ndim(x) and not keepdims
    return np.count_nonzero(x, axis=None if whole else axes, keepdims=keepdims)


def _truth_samples() -> list[Sample]:
    x = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    return [
        Sample((x,), _ROWS),
        Sample((x > 0,), {"axes": (0, 1), "keepdims": True}),
        Sample((np.float64(2.0),), {"axes": (), "keepdims": False}),
        Sample((draw((2, 0)),), _ROWS),
    ]


_MASKED = Sample((np.array([[0.0, 1.0, 1.0]]), np.array([True, False, True])), _ROWS)
ANY = constant(
    "any", _truth(np.any), _reduced(np.any), _shift("any"), _with(_truth_samples, _MASKED)
)
ALL = constant(
    "all", _truth(np.all), _reduced(np.all), _shift("all"), _with(_truth_samples, _MASKED)
)
COUNT_NONZERO = constant(
    "count_nonzero",
    _count_nonzero,
    _reduced(np.count_nonzero),
    _shift("count_nonzero"),
    _truth_samples,
)


def any(x: Array, axis: Axis = None, keepdims: bool = False, where: Any = None) -> Array:
    """Whether an element over `axis` is true."""
    args = _operands(x, where)
    axes = normalize_axes(axis, type_of(args[0]).ndim)
    return bind(ANY, args, {"axes": axes, "keepdims": keepdims})


def all(x: Array, axis: Axis = None, keepdims: bool = False, where: Any = None) -> Array:
    """Whether all elements over `axis` are true."""
    args = _operands(x, where)
    axes = normalize_axes(axis, type_of(args[0]).ndim)
    return bind(ALL, args, {"axes": axes, "keepdims": keepdims})


def count_nonzero(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """The number of elements over `axis` that are not 0."""
    x = operand(x)
    axes = normalize_axes(axis, type_of(x).ndim)
    return bind(COUNT_NONZERO, (x,), {"axes": axes, "keepdims": keepdims})


def _position(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis, keepdims: f(x, axis=axis, keepdims=keepdims)


def _position_type(x: ArrayType, *, axis: int | None, keepdims: bool) -> ArrayType:
    shape = _left(x.shape, normalize_axes(axis, x.ndim), keepdims)
    return ArrayType(shape, np.dtype(np.intp))


def _position_batch(name: str) -> Callable[..., Any]:
    def batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
        x, axis, keepdims = xs[0], params["axis"], params["keepdims"]
        shape = type_of(x).shape[1:]
        if axis is not None:
            return bind(PRIMITIVES[name], (x,), {"axis": axis + 1, "keepdims": keepdims})
        flat = reshape(x, (size, _extent(shape, tuple(range(len(shape))))))
        found = bind(PRIMITIVES[name], (flat,), {"axis": 1, "keepdims": False})
        return reshape(found, (size,) + (1,) * len(shape)) if keepdims else found

    return batch


def _position_samples() -> list[Sample]:
    x = np.array([[1.0, 2.0, 2.0], [2.0, np.nan, -1.0]])
    return [
        Sample((x,), {"axis": None, "keepdims": False}),
        Sample((x,), {"axis": None, "keepdims": True}),
        Sample((x[:, ::-1],), {"axis": 1, "keepdims": False}),
        Sample((x.astype(np.float32),), {"axis": 0, "keepdims": True}),
        Sample((np.float64(2.0),), {"axis": None, "keepdims": False}),
    ]


ARGMAX, ARGMIN = (
    constant(name, _position(f), _position_type, _position_batch(name), _position_samples)
    for name, f in (("argmax", np.argmax), ("argmin", np.argmin))
)


def _apply_position(prim: Primitive, x: Any, axis: int | None, keepdims: bool) -> Array:
    x = operand(x)
    axis = axis if axis is None else normalize_axis_index(axis, type_of(x).ndim)
    return bind(prim, (x,), {"axis": axis, "keepdims": keepdims})


def argmax(x: Array, axis: int | None = None, keepdims: bool = False) -> Array:
    """The position of the first largest element along `axis`, or in the flat array."""
    return _apply_position(ARGMAX, x, axis, keepdims)


def argmin(x: Array, axis: int | None = None, keepdims: bool = False) -> Array:
    """The position of the first smallest element along `axis`, or in the flat array."""
    return _apply_position(ARGMIN, x, axis, keepdims)
