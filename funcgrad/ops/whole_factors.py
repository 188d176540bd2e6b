"""Whole orthogonal factors, of matrices that are not square: full `svd` and complete `qr`.

The vectors beyond those of the thin factors span what is left, and nothing determines them one by
one: their tangents are NaN, and so is the gradient of what uses them. What uses the others has the
derivatives of the thin factors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import add, not_equal, where
from funcgrad.ops.constant import any as any_
from funcgrad.ops.equal_values import NOT_LINEAR, OfValues
from funcgrad.ops.index import getitem
from funcgrad.ops.least_squares import QR
from funcgrad.ops.matrices import complex_, real_dtype
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import concatenate
from funcgrad.ops.singular import SVD

__all__ = ["LEFT_OUT", "QR_WHOLE", "SVD_WHOLE"]

LEFT_OUT = "the jvp of vectors that nothing determines is NaN, and their vjp only where they count"


def _cut(x: Any, axis: int, part: slice) -> Any:
    if x is None:
        return None
    place = (Ellipsis, part) if axis == -1 else (Ellipsis, part, slice(None))
    return getitem(x, place)


def _extended(x: Array, axis: int, size: int, fill: float) -> Array:
    """`x` with `fill` up to `size` along the last axis, or the one before it."""
    kind = type_of(x)
    shape = list(kind.shape)
    if shape[axis] == size:
        return x
    shape[axis] = size - shape[axis]
    return concatenate([x, np.full(shape, fill, kind.dtype)], kind.ndim + axis)


def _spoilt(made: Array, g: Any, axis: int, k: int) -> Array:
    """The cotangent `made`, NaN of a matrix where `g` has one for vectors beyond the first `k`."""
    if g is None or type_of(g).shape[axis] == k:
        return made
    meets = any_(not_equal(_cut(g, axis, slice(k, None)), 0), (-2, -1), True)
    return add(made, where(meets, np.nan, np.zeros((), real_dtype(type_of(made).dtype))))


# ------------------------------------------------------------------------------------ svd


def _thin(y: Any, k: int) -> Any:
    u, s, vh = y
    return _cut(u, -1, slice(None, k)), s, _cut(vh, -2, slice(None, k))


def _svd_type(a: ArrayType) -> tuple[ArrayType, ...]:
    *lead, m, n = a.shape
    return (
        ArrayType((*lead, m, m), a.dtype),
        ArrayType((*lead, min(m, n)), real_dtype(a.dtype)),
        ArrayType((*lead, n, n), a.dtype),
    )


def _svd_jvp(y: Any, xs: Any, ts: Any) -> Any:
    m, n = type_of(xs[0]).shape[-2:]
    assert SVD.jvp_stated is not None
    du, ds, dvh = SVD.jvp_stated(_thin(y, min(m, n)), xs, ts)
    return _extended(du, -1, m, np.nan), ds, _extended(dvh, -2, n, np.nan)


def _svd_vjp(g: Any, y: Any, a: Any) -> Any:
    k = min(type_of(a).shape[-2:])
    rule: Callable[..., Any] = SVD.vjp_rule[0]
    made = rule(_thin(g, k), _thin(y, k), a)
    return _spoilt(_spoilt(made, g[0], -1, k), g[2], -2, k)


SVD_WHOLE: Explicit = explicit(
    "svd_whole",
    lambda a: tuple(np.linalg.svd(a)),
    type_rule=_svd_type,
    vjp=(_svd_vjp,),
    jvp=_svd_jvp,
    both=NOT_LINEAR,
    form=OfValues,
    batch=lambda size, xs, batched, params: bind(SVD_WHOLE, xs),
    multiple=True,
    unread=True,
    sample=lambda: [
        Sample((a,), smooth=False) for a in (draw((3, 2)), draw((2, 2, 3)), complex_(draw((3, 2))))
    ],
)


def _svd_along(xs: Any, ts: Any, y: Any) -> Any:
    _, s, _ = SVD.along(xs, ts, _thin(y, min(type_of(xs[0]).shape[-2:])))  # type: ignore[attr-defined]
    return y[0], s, y[2]


SVD_WHOLE.along = _svd_along  # type: ignore[attr-defined]

# ------------------------------------------------------------------------------------- QR


def _qr_type(a: ArrayType) -> tuple[ArrayType, ...]:
    *lead, m, _ = a.shape
    return ArrayType((*lead, m, m), a.dtype), a


def _qr_thin(y: Any, k: int) -> Any:
    return _cut(y[0], -1, slice(None, k)), _cut(y[1], -2, slice(None, k))


def _qr_jvp(y: Any, xs: Any, ts: Any) -> Any:
    m, n = type_of(xs[0]).shape[-2:]
    dq, dr = QR.jvp(_qr_thin(y, n), xs, ts, {})
    return _extended(dq, -1, m, np.nan), _extended(dr, -2, m, 0.0)


def _qr_vjp(g: Any, y: Any, a: Any) -> Any:
    n = type_of(a).shape[-1]
    made = QR.pull(_qr_thin(g, n), _qr_thin(y, n), (a,), (True,), {})[0]
    assert made is not None
    return _spoilt(made, g[0], -1, n)


# Of matrices with more rows than columns; of others the thin factors are whole.
QR_WHOLE: Explicit = explicit(
    "qr_whole",
    lambda a: tuple(np.linalg.qr(a, "complete")),
    type_rule=_qr_type,
    vjp=(_qr_vjp,),
    jvp=_qr_jvp,
    both=LEFT_OUT,
    batch=lambda size, xs, batched, params: bind(QR_WHOLE, xs),
    multiple=True,
    sample=lambda: [
        Sample((a,), smooth=False) for a in (draw((3, 2)), draw((2, 3, 2)), complex_(draw((3, 2))))
    ],
)
QR_WHOLE.lies = QR.lies
