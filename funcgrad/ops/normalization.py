"""`layer_norm`: the last axes brought to mean 0 and variance 1, then scaled and moved.

One primitive, which the compiler takes apart. It stands on arithmetic and sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.forms import Explicit, align, explicit
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType, zeros
from funcgrad.ops.arithmetic import add, multiply, reciprocal, scale, sqrt, subtract
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_as, unbroadcast
from funcgrad.ops.sums import mean

__all__ = ["LAYER_NORM", "layer_norm", "layer_norm_pull"]


def _normal(x: Array, axes: tuple[int, ...], eps: float) -> tuple[Array, Array]:
    """`x` with mean 0 and variance 1, and the reciprocal of what it was divided by."""
    centred = subtract(x, mean(x, axes, keepdims=True))
    variance = mean(multiply(centred, centred), axes, keepdims=True)
    inverse = reciprocal(sqrt(add(variance, eps)))
    return multiply(centred, inverse), inverse


def layer_norm_composed(
    x: Array, w: Array, b: Array, *, axes: tuple[int, ...], eps: float, scaled: bool, moved: bool
) -> Array:
    """`layer_norm` in simpler operations, for the compiler."""
    y, _ = _normal(x, axes, eps)
    y = multiply(y, w) if scaled else y
    return add(y, b) if moved else y


def _layer_norm(
    x: Any, w: Any, b: Any, axes: tuple[int, ...], eps: float, scaled: bool, moved: bool
) -> Any:
    count = x.dtype.type(1)
    for axis in axes:
        count *= x.shape[axis]
    with np.errstate(all="ignore"):  # of no elements the mean is NaN
        y = np.subtract(x, np.add.reduce(x, axes, keepdims=True) / count)
        spread = np.add.reduce(np.square(y), axes, keepdims=True)
        spread /= count
        spread += eps
        np.sqrt(spread, spread)
        y *= np.reciprocal(spread, spread)
    if scaled:
        y *= w
    if moved:
        y += b
    return y


def _type(x: ArrayType, w: ArrayType, b: ArrayType, **params: Any) -> ArrayType:
    return ArrayType(x.shape, x.dtype)


def layer_norm_pull(
    g: Any, _y: Any, x: Any, w: Any, b: Any, needs: Sequence[bool], *, axes: tuple[int, ...],
    eps: float, scaled: bool, moved: bool,
) -> list[Array | None]:  # fmt: skip
    """Ba, Kiros, Hinton 2016: of h = g w the mean and the part along the result are taken away."""
    out: list[Array | None] = [None, None, None]
    if needs[2]:
        out[2] = unbroadcast(g, type_of(b)) if moved else zeros(type_of(b))
    n, inverse = _normal(x, axes, eps) if needs[0] or (needs[1] and scaled) else (None, None)
    if needs[1]:
        aval = type_of(w)
        out[1] = unbroadcast(scale(g, n), aval) if scaled else zeros(aval)
    if needs[0]:
        out[0] = multiply(_across(scale(g, w) if scaled else g, n, axes), inverse)
    return out


def _across(h: Any, n: Any, axes: tuple[int, ...]) -> Array:
    """`h` without its mean and without its part along `n`: a symmetric map."""
    along = mean(scale(h, n), axes, keepdims=True)
    return subtract(subtract(h, mean(h, axes, keepdims=True)), multiply(n, along))


def _batch(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Array:
    x, w, b = xs
    if batched[0]:
        params = {**params, "axes": tuple(a + 1 for a in params["axes"])}
    if not (batched[1] or batched[2]):
        return bind(LAYER_NORM, (x, w, b), params)
    y = bind(LAYER_NORM, (x, 1.0, 0.0), {**params, "scaled": False, "moved": False})
    lanes = batched[0]
    if params["scaled"]:
        y = multiply(*align((y, w), (lanes, batched[1])))
        lanes = lanes or batched[1]
    if params["moved"]:
        y = add(*align((y, b), (lanes, batched[2])))
        lanes = lanes or batched[2]
    return y if lanes else broadcast_as(y, (size, *type_of(y).shape), type_of(y).dtype)


def _samples() -> list[Sample]:
    x, w, b = draw((2, 4)), draw((4,), seed=1), draw((4,), seed=2)
    both = {"axes": (1,), "eps": 1e-5, "scaled": True, "moved": True}
    plain = {**both, "scaled": False, "moved": False}
    deep = draw((2, 3, 2)), draw((3, 2), seed=1), draw((3, 2), seed=2)
    return [
        Sample((x, w, b), both),
        Sample(tuple(v.astype(np.float32) for v in (x, w, b)), both),
        Sample(deep, {**both, "axes": (1, 2), "eps": 1e-3}),
        Sample((x[:, ::-1], w, np.float64(0)), {**both, "moved": False}),
        Sample((x, np.float64(1), b), {**both, "scaled": False}),
        Sample((x, np.float64(1), np.float64(0)), plain),
        Sample((draw((0, 4)), w, b), both),
    ]


LAYER_NORM: Explicit = explicit(
    "layer_norm",
    _layer_norm,
    type_rule=_type,
    vjp=layer_norm_pull,
    batch=_batch,
    sample=_samples,
)
LAYER_NORM.composed = layer_norm_composed


def layer_norm(
    x: Array, w: Array, b: Array, *, axes: tuple[int, ...], eps: float, scaled: bool, moved: bool
) -> Array:
    """The last `axes` of `x` normalised; `w` and `b` count if `scaled` and `moved`."""
    params = {"axes": axes, "eps": eps, "scaled": scaled, "moved": moved}
    return bind(LAYER_NORM, (x, w, b), params)
