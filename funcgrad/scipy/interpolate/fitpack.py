"""FITPACK's interpolating splines: `splrep`, `splev`, `splint` and the classes over them.

Values are FITPACK's, derivatives those of the B-splines through the same points. Smoothing chooses
knots by the values, so there is none here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as sp

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.calls import numpy_function
from funcgrad.ops.samples import draw
from funcgrad.scipy.dispatch import scipy_method
from funcgrad.scipy.interpolate.pieces import real_numbers
from funcgrad.scipy.interpolate.splines import BSpline, knots, make_interp_spline
from funcgrad.scipy.valued import valued

__all__ = ["splev", "splint", "splrep"]


def _spline(t: Array, c: Array, k: int) -> BSpline:
    return BSpline.construct_fast(t, c[: type_of(t).shape[0] - k - 1], k)


def _coefficients(x: Array, y: Array, k: int) -> Array:
    c = make_interp_spline(x, y, k).c
    return fnp.concatenate([c, np.zeros(k + 1, type_of(c).dtype)])


def _evaluated(t: Array, c: Array, q: Array, k: int, der: int, ext: int) -> Array:
    first, last = t[k], t[type_of(t).shape[0] - k - 1]
    if ext == 3:
        q = fnp.clip(q, first, last)
    found = _spline(t, c, k)(q, der)
    return fnp.where((q < first) | (q > last), 0.0, found) if ext == 1 else found


def _integral(a: Array, b: Array, t: Array, c: Array, k: int) -> Array:
    return _spline(t, c, k).integrate(a, b, extrapolate=False)


def _points() -> Any:
    return np.arange(7.0) + draw((7,), 0.0, 0.4)


T, C = np.array([0.0, 0, 0, 0, 1, 2.5, 4, 4, 4, 4]), np.append(draw((6,)), np.zeros(4))
THROUGH = valued(
    "interpolate_splrep",
    lambda x, y, k: sp.splrep(x, y, k=k, s=0)[1],
    _coefficients,
    lambda: [Sample((_points(), draw((7,), seed=1)), {"k": k}) for k in (2, 3)],
    linear_in=(1,),
)
EVALUATE = valued(
    "interpolate_splev",
    lambda t, c, q, k, der, ext: np.asarray(sp.splev(q, (t, c, k), der, ext))[()],
    _evaluated,
    lambda: [
        Sample((T, C, np.array([0.3, 1.7, 3.2])), {"k": 3, "der": der, "ext": ext})
        for der, ext in ((0, 0), (1, 1), (0, 3))
    ],
    linear_in=(1,),
)
INTEGRATE = valued(
    "interpolate_splint",
    lambda a, b, t, c, k: np.float64(sp.splint(a, b, (t, c, k))),
    _integral,
    lambda: [Sample((np.float64(0.3), np.float64(3.1), T, C), {"k": 3})],
    linear_in=(3,),
)


def _refused(name: str, what: str) -> UnsupportedCallError:
    return UnsupportedCallError(
        located(
            f"scipy.interpolate.{name}: {what} is not supported on traced values; it chooses knots "
            "by the values. Take make_smoothing_spline or make_interp_spline, or s=0"
        )
    )


@numpy_function(sp.splrep)
def splrep(
    x: Any,
    y: Any,
    w: Any = None,
    xb: Any = None,
    xe: Any = None,
    k: int = 3,
    task: int = 0,
    s: Any = None,
    t: Any = None,
    full_output: int = 0,
    per: int = 0,
    quiet: int = 1,
) -> tuple[Array, Array, int]:
    """The spline of degree `k` through the points: knots, coefficients and degree.

    Points and values are differentiable. Weights, smoothing, ends and knots of one's own, and
    periods are not supported.
    """
    more = {"w": w, "xb": xb, "xe": xe, "t": t, "s": s or None, "task": task or None}
    for name, given in {**more, "per": per or None, "full_output": full_output or None}.items():
        if given is not None:
            raise _refused("splrep", f"{name}=")
    points, values = real_numbers(x), real_numbers(y)
    return knots(points, k, None), THROUGH(points, values, k=int(k)), k


@numpy_function(sp.splev)
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """The spline, or its derivative of order `der`, at points, differentiable by all of them."""
    if isinstance(tck, sp.BSpline):
        return tck(x, der, extrapolate=True)
    t, c, k = tck
    if ext not in (0, 1, 3):
        raise ValueError(f"ext = {ext} not in (0, 1, 3), which traced values may have")
    given = (real_numbers(t), real_numbers(c), real_numbers(x))
    return EVALUATE(*given, k=int(k), der=int(der), ext=int(ext))


@numpy_function(sp.splint)
def splint(a: Any, b: Any, tck: Any, full_output: int = 0) -> Any:
    """The integral of a spline, which is 0 outside its knots, between two numbers."""
    if full_output:
        raise _refused("splint", "full_output=")
    t, c, k = tck.tck if isinstance(tck, sp.BSpline) else tck
    return INTEGRATE(*map(real_numbers, (a, b, t, c)), k=int(k))


# ------------------------------------------------------------------------------ SciPy's classes


@scipy_method(sp.InterpolatedUnivariateSpline, "__init__")
def _init(
    owner: Any,
    x: Any,
    y: Any,
    w: Any = None,
    bbox: Any = (None, None),
    k: int = 3,
    ext: Any = 0,
    check_finite: bool = False,
) -> None:
    if w is not None or any(b is not None for b in bbox):
        raise _refused("InterpolatedUnivariateSpline", "w= or bbox=")
    owner._eval_args = splrep(x, y, k=k)
    owner.ext = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}.get(ext, ext)
    owner._data = None


@scipy_method(sp.UnivariateSpline, "__init__")
def _refuse(owner: Any, *_: Any, **__: Any) -> None:
    raise _refused("UnivariateSpline", "smoothing")


@scipy_method(sp.UnivariateSpline, "__call__")
def _call(owner: Any, x: Any, nu: int = 0, ext: Any = None) -> Any:
    return splev(x, owner._eval_args, nu, owner.ext if ext is None else ext)


@scipy_method(sp.UnivariateSpline, "integral")
def _area(owner: Any, a: Any, b: Any) -> Any:
    return splint(a, b, owner._eval_args)
