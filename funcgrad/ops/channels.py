"""`batch_norm` and `group_norm`: channels brought to mean 0 and variance 1, then scaled and moved.

Operands are (samples, channels, …); weight and bias have an element for each channel. Mean and
variance are those of a channel in all samples, or of a group of channels in one. The rules are
those of `layer_norm`, of which these are views; the sums of the values are taken along rows of
neighbouring elements first, as the kernels take them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.forms import Explicit, align, explicit
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import add, multiply, reciprocal, sqrt, subtract
from funcgrad.ops.normalization import layer_norm_pull
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_as, reshape, transpose
from funcgrad.ops.sums import mean

__all__ = ["BATCH_NORM", "GROUP_NORM", "batch_norm", "group_norm"]

ndarray = np.ndarray


def _total(v: Any) -> Any:
    """The sum of each group of (groups, rows, length): along the rows, then of the rows."""
    return np.add.reduce(np.ascontiguousarray(np.add.reduce(v, 2)), 1)


def _normalised(v: Any, eps: float) -> tuple[Any, Any, Any]:
    """(groups, rows, length) with mean 0 and variance 1, the means and the variances."""
    count = v.dtype.type(v.shape[1] * v.shape[2])
    with np.errstate(all="ignore"):  # of no elements the mean is NaN
        middle = _total(v) / count
        y = np.subtract(v, middle[:, None, None])
        variance = _total(np.square(y)) / count
        y *= np.reciprocal(np.sqrt(variance + v.dtype.type(eps)))[:, None, None]
    return y, middle, variance


def _per_channel(w: Array, rank: int) -> Array:
    """A weight or bias next to an operand of `rank` axes."""
    shape = type_of(w).shape
    return reshape(w, (*shape, *(1,) * (rank - 2))) if shape else w


# --------------------------------------------------------------------------------- batch norm


def _batch_norm(x: Any, w: Any, b: Any, eps: float, scaled: bool, moved: bool) -> Any:
    samples, channels = x.shape[:2]
    length = math.prod(x.shape[2:])
    if length == 1:
        v = np.ascontiguousarray(x.reshape(samples, channels).T)[:, None]
    else:
        v = np.ascontiguousarray(x).reshape(samples, channels, length).transpose(1, 0, 2)
    y, middle, variance = _normalised(v, eps)
    if scaled:
        y *= w[:, None, None]
    if moved:
        y += b[:, None, None]
    y = y[:, 0].T if length == 1 else y.transpose(1, 0, 2)
    return np.ascontiguousarray(y).reshape(x.shape), middle, variance


def _around(aval: ArrayType) -> tuple[int, ...]:
    """All axes but that of the channels."""
    return (0, *range(2, aval.ndim))


def batch_norm_composed(
    x: Array, w: Array, b: Array, *, eps: float, scaled: bool, moved: bool
) -> tuple[Array, Array, Array]:
    """`batch_norm` in simpler operations, for the compiler."""
    aval = type_of(x)
    axes = _around(aval)
    middle = mean(x, axes, keepdims=True)
    centred = subtract(x, middle)
    variance = mean(multiply(centred, centred), axes, keepdims=True)
    y = multiply(centred, reciprocal(sqrt(add(variance, eps))))
    y = multiply(y, _per_channel(w, aval.ndim)) if scaled else y
    y = add(y, _per_channel(b, aval.ndim)) if moved else y
    count = aval.shape[1:2]
    return y, reshape(middle, count), reshape(variance, count)


def _nothing(g: Any) -> bool:
    """Whether a cotangent is known to be zero."""
    return type(g) is ndarray and not g.any()


def _batch_norm_pull(
    g: Any, _y: Any, x: Any, w: Any, _b: Any, needs: Sequence[bool], *, eps: float, scaled: bool,
    moved: bool,
) -> list[Array | None]:  # fmt: skip
    aval = type_of(x)
    axes, rank = _around(aval), aval.ndim
    v, c = (_like_channels(z, rank) for z in (w, _b))
    out = layer_norm_pull(
        g[0], None, x, v, c, needs, axes=axes, eps=eps, scaled=scaled, moved=moved
    )
    for k, z in ((1, w), (2, _b)):
        out[k] = None if out[k] is None else reshape(out[k], type_of(z).shape)
    if not needs[0] or (_nothing(g[1]) and _nothing(g[2])):
        return out
    along_mean, along_variance = (_per_channel(z, rank) for z in g[1:])
    spread = multiply(along_variance, 2.0)
    centred = subtract(x, mean(x, axes, keepdims=True))
    rest = add(multiply(spread, centred), along_mean)
    out[0] = add(out[0], multiply(rest, 1.0 / max(aval.size // max(aval.shape[1], 1), 1)))
    return out


def _like_channels(z: Any, rank: int) -> Any:
    """A weight, or the type that is kept of one, next to an operand of `rank` axes."""
    if type(z) is ArrayType:
        return z._replace(shape=(*z.shape, *(1,) * (rank - 2))) if z.shape else z
    return _per_channel(z, rank)


def _affine(
    y: Array, w: Array, b: Array, batched: Sequence[bool], rank: int, params: Params
) -> Array:
    """A normalised `y` whose lanes are its first axis, scaled and moved by operands with lanes."""
    for z, lanes, there, apply in (
        (w, batched[1], params["scaled"], multiply),
        (b, batched[2], params["moved"], add),
    ):
        if there:
            shape = type_of(z).shape
            y = apply(*align((y, reshape(z, (*shape, *(1,) * (rank - 2)))), (True, lanes)))
    return y


PLAIN = {"scaled": False, "moved": False}


def _batch_norm_batch(
    size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params
) -> tuple[Array, ...]:
    """The lanes become channels."""
    x, w, b = xs
    if not batched[0]:
        x = broadcast_as(x, (size, *type_of(x).shape), type_of(x).dtype)
    shape = type_of(x).shape
    rank = len(shape) - 1
    order = (1, 0, *range(2, rank + 1))
    samples, _, channels, *rest = (shape[k] for k in order)
    flat = reshape(transpose(x, order), (samples, size * channels, *rest))
    y, *moments = bind(BATCH_NORM, (flat, 1.0, 0.0), {**params, **PLAIN})
    y = transpose(reshape(y, (samples, size, channels, *rest)), order)
    y = _affine(y, w, b, batched, rank, params)
    return (y, *(reshape(m, (size, channels)) for m in moments))


def _batch_norm_samples() -> list[Sample]:
    w, b = draw((3,), seed=1), draw((3,), seed=2)
    both = {"eps": 1e-5, "scaled": True, "moved": True}
    x = draw((4, 3))
    return [
        Sample((x, w, b), both),
        Sample((draw((2, 3, 4)), w, b), both),
        Sample((draw((2, 3, 2, 2)), w, np.float64(0)), {**both, "moved": False}),
        Sample((x[::-1], np.float64(1), b), {**both, "scaled": False, "eps": 1e-3}),
        Sample(tuple(v.astype(np.float32) for v in (draw((2, 3, 3)), w, b)), both),
        Sample((draw((2, 3, 2)), np.float64(1), np.float64(0)), {**both, **PLAIN}),
    ]


BATCH_NORM: Explicit = explicit(
    "batch_norm",
    _batch_norm,
    type_rule=lambda x, w, b, **_: (
        ArrayType(x.shape, x.dtype),
        *(ArrayType(x.shape[1:2], x.dtype),) * 2,
    ),
    vjp=_batch_norm_pull,
    batch=_batch_norm_batch,
    multiple=True,
    sample=_batch_norm_samples,
)
BATCH_NORM.composed = batch_norm_composed


def batch_norm(
    x: Array, w: Array, b: Array, *, eps: float, scaled: bool, moved: bool
) -> tuple[Array, Array, Array]:
    """The channels of `x` normalised, their means and their variances over all samples.

    `w` and `b` count if `scaled` and `moved`.
    """
    found = bind(BATCH_NORM, (x, w, b), {"eps": eps, "scaled": scaled, "moved": moved})
    return found[0], found[1], found[2]


# --------------------------------------------------------------------------------- group norm


def _group_norm(x: Any, w: Any, b: Any, groups: int, eps: float, scaled: bool, moved: bool) -> Any:
    samples, channels = x.shape[:2]
    length, members = math.prod(x.shape[2:]), channels // groups
    y, _, _ = _normalised(np.ascontiguousarray(x).reshape(samples * groups, members, length), eps)
    y = y.reshape(samples, channels, length)
    if scaled:
        y *= w[:, None]
    if moved:
        y += b[:, None]
    return y.reshape(x.shape)


def _grouped(x: Array, groups: int) -> Array:
    """(samples, groups, channels of a group, elements)."""
    samples, channels, *rest = type_of(x).shape
    return reshape(x, (samples, groups, channels // groups, math.prod(rest)))


def _group_parts(z: Any, groups: int) -> Any:
    """A weight, or the type that is kept of one, next to a grouped operand."""
    aval = z if type(z) is ArrayType else type_of(z)
    if not aval.shape:
        return z
    shape = (groups, aval.shape[0] // groups, 1)
    return z._replace(shape=shape) if type(z) is ArrayType else reshape(z, shape)


def _group_params(params: Params) -> Params:
    return {"axes": (2, 3), **{k: params[k] for k in ("eps", "scaled", "moved")}}


def group_norm_composed(x: Array, w: Array, b: Array, *, groups: int, **params: Any) -> Array:
    """`group_norm` in simpler operations, for the compiler."""
    v = _grouped(x, groups)
    centred = subtract(v, mean(v, (2, 3), keepdims=True))
    variance = mean(multiply(centred, centred), (2, 3), keepdims=True)
    y = multiply(centred, reciprocal(sqrt(add(variance, params["eps"]))))
    y = multiply(y, _group_parts(w, groups)) if params["scaled"] else y
    y = add(y, _group_parts(b, groups)) if params["moved"] else y
    return reshape(y, type_of(x).shape)


def _group_norm_pull(
    g: Any, _y: Any, x: Any, w: Any, _b: Any, needs: Sequence[bool], *, groups: int, **params: Any
) -> list[Array | None]:
    parts = [_group_parts(z, groups) for z in (w, _b)]
    v = _grouped(x, groups)
    out = layer_norm_pull(
        _grouped(g, groups), None, v, parts[0], parts[1], needs, **_group_params(params)
    )
    return [
        None if c is None else reshape(c, (z if type(z) is ArrayType else type_of(z)).shape)
        for c, z in zip(out, (x, w, _b), strict=True)
    ]


def _group_norm_batch(
    size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params
) -> Array:
    """The lanes become samples."""
    x, w, b = xs
    if not batched[0]:
        x = broadcast_as(x, (size, *type_of(x).shape), type_of(x).dtype)
    shape = type_of(x).shape
    flat = reshape(x, (size * shape[1], *shape[2:]))
    if not (batched[1] or batched[2]):
        return reshape(bind(GROUP_NORM, (flat, w, b), params), shape)
    y = reshape(bind(GROUP_NORM, (flat, 1.0, 0.0), {**params, **PLAIN}), shape)
    return _affine(y, w, b, batched, len(shape) - 1, params)


def _group_norm_samples() -> list[Sample]:
    w, b = draw((4,), seed=1), draw((4,), seed=2)
    both = {"groups": 2, "eps": 1e-5, "scaled": True, "moved": True}
    x = draw((2, 4, 3))
    return [
        Sample((x, w, b), both),
        Sample((draw((3, 4)), w, b), both),
        Sample((draw((2, 4, 2, 2)), w, np.float64(0)), {**both, "groups": 1, "moved": False}),
        Sample((x[..., ::-1], np.float64(1), b), {**both, "groups": 4, "scaled": False}),
        Sample(tuple(v.astype(np.float32) for v in (x, w, b)), both),
        Sample((draw((0, 4, 2)), w, b), both),
        Sample((x, np.float64(1), np.float64(0)), {**both, **PLAIN}),
    ]


GROUP_NORM: Explicit = explicit(
    "group_norm",
    _group_norm,
    type_rule=lambda x, w, b, **_: ArrayType(x.shape, x.dtype),
    vjp=_group_norm_pull,
    batch=_group_norm_batch,
    sample=_group_norm_samples,
)
GROUP_NORM.composed = group_norm_composed


def group_norm(
    x: Array, w: Array, b: Array, *, groups: int, eps: float, scaled: bool, moved: bool
) -> Array:
    """Each of `groups` of the channels of a sample normalised; see `batch_norm` for `w`, `b`."""
    params = {"groups": groups, "eps": eps, "scaled": scaled, "moved": moved}
    return bind(GROUP_NORM, (x, w, b), params)
