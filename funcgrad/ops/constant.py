"""Operations whose result is locally constant: truth, counts, and positions of extrema.

They stand on `reduction`. Nothing is recorded of them, and no cotangent goes through them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core.forms import Elementwise, Samples
from funcgrad.core.layout import ordered
from funcgrad.core.primitive import PRIMITIVES, Params, Primitive, Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.reduction import (
    ROWS,
    Axes,
    Axis,
    extent,
    keywords,
    left,
    normalize_axes,
    operands,
    reduced,
    shift,
    with_samples,
)
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import reshape

__all__ = [
    "STOP_GRADIENT",
    "Constant",
    "all",
    "any",
    "argmax",
    "argmin",
    "constant",
    "count_nonzero",
]


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
    """Make a primitive that is locally constant: no derivative goes through it.

    Parameters
    ----------
    name, impl, type_rule, batch, sample
        As in `linear`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.extend import ArrayType, constant
    >>> steps = constant(
    ...     "example.half_steps",
    ...     lambda x: np.floor(2.0 * x),
    ...     lambda x: ArrayType(x.shape, x.dtype),
    ...     lambda size, xs, batched, params: steps(*xs),
    ... )
    >>> fg.grad(lambda x: x * steps(x))(1.7)
    np.float64(3.0)
    """
    prim = Constant(name, impl, type_rule, batch)
    prim.sample = sample
    return prim


def _truth(f: Callable[..., Any]) -> Callable[..., Any]:
    def impl(x: Any, *mask: Any, axes: Axes, keepdims: bool) -> Any:
        return f(x, axis=axes, keepdims=keepdims, **keywords(mask))

    return impl


def _count_nonzero(x: Any, axes: Axes, keepdims: bool) -> Any:
    whole = len(axes) == np.ndim(x) and not keepdims
    return np.count_nonzero(x, axis=None if whole else axes, keepdims=keepdims)


def _truth_samples() -> list[Sample]:
    x = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    return [
        Sample((x,), ROWS),
        Sample((x > 0,), {"axes": (0, 1), "keepdims": True}),
        Sample((np.float64(2.0),), {"axes": (), "keepdims": False}),
        Sample((draw((2, 0)),), ROWS),
    ]


_TRUTH_SAMPLES = with_samples(
    _truth_samples,
    lambda: [Sample((np.array([[0.0, 1.0, 1.0]]), np.array([True, False, True])), ROWS)],
)
ANY = constant("any", _truth(np.any), reduced(np.any), shift("any"), _TRUTH_SAMPLES)
ALL = constant("all", _truth(np.all), reduced(np.all), shift("all"), _TRUTH_SAMPLES)
COUNT_NONZERO = constant(
    "count_nonzero",
    _count_nonzero,
    reduced(np.count_nonzero),
    shift("count_nonzero"),
    _truth_samples,
)


def any(x: Array, axis: Axis = None, keepdims: bool = False, where: Any = None) -> Array:
    """Whether an element over `axis` is true."""
    args = operands(x, where)
    axes = normalize_axes(axis, type_of(args[0]).ndim)
    return bind(ANY, args, {"axes": axes, "keepdims": keepdims})


def all(x: Array, axis: Axis = None, keepdims: bool = False, where: Any = None) -> Array:
    """Whether all elements over `axis` are true."""
    args = operands(x, where)
    axes = normalize_axes(axis, type_of(args[0]).ndim)
    return bind(ALL, args, {"axes": axes, "keepdims": keepdims})


def count_nonzero(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """The number of elements over `axis` that are not 0."""
    x = operand(x)
    axes = normalize_axes(axis, type_of(x).ndim)
    return bind(COUNT_NONZERO, (x,), {"axes": axes, "keepdims": keepdims})


def _position(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis, keepdims: f(x, axis=axis, keepdims=keepdims)


def _position_type(f: Callable[..., Any]) -> Callable[..., ArrayType]:
    def type_rule(x: ArrayType, *, axis: int | None, keepdims: bool) -> ArrayType:
        if 0 in x.shape:
            f(np.empty(x.shape), axis)  # raises where there is no position, also if nobody reads it
        shape = left(x.shape, normalize_axes(axis, x.ndim), keepdims)
        return ArrayType(shape, np.dtype(np.intp))

    return type_rule


def _position_batch(name: str) -> Callable[..., Any]:
    def batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
        x, axis, keepdims = xs[0], params["axis"], params["keepdims"]
        shape = type_of(x).shape[1:]
        if axis is not None:
            return bind(PRIMITIVES[name], (x,), {"axis": axis + 1, "keepdims": keepdims})
        flat = reshape(x, (size, extent(shape, tuple(range(len(shape))))))
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
    constant(name, _position(f), _position_type(f), _position_batch(name), _position_samples)
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


class StopGradient(Elementwise):
    """The identity, as an elementwise operation that is locally constant."""

    def __init__(self) -> None:
        super().__init__("stop_gradient", np.positive, lambda x: x, ())
        self.cost = 1
        self.sample = lambda: [Sample((np.array([1.0, 2.0]),)), Sample((draw((2, 3)),))]

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> ArrayType:
        return types[0]


STOP_GRADIENT = StopGradient()

ANY.lies = ALL.lies = COUNT_NONZERO.lies = ordered
