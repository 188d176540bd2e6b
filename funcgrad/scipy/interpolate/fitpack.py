"""FITPACK's splines: `splrep`, `splev`, `splint` and the classes over them.

Values are FITPACK's. Derivatives are those of the B-splines through the same points, or of the
smoothing spline with the knots that FITPACK chose (`smoothing`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as sp

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import Operand, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import numpy_function
from funcgrad.ops.samples import draw
from funcgrad.scipy.dispatch import scipy_method
from funcgrad.scipy.interpolate.pieces import real_numbers
from funcgrad.scipy.interpolate.smoothing import Fit, fit
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
    text = f"scipy.interpolate.{name}: {what} is not supported on traced values"
    return UnsupportedCallError(located(text))


def _is_zero(s: Any) -> bool:
    return not isinstance(s, Operand) and s == 0


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
) -> Any:
    """The spline of degree `k` through points, or near them: knots, coefficients and degree.

    Differentiable in points, values, weights, the smoothing factor and knots of one's own. Which
    points are knots of a smoothing spline is locally constant and has to be known, so that there
    is none under `jit` and `vmap`. `task` = 1 and periods are not supported.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.interpolate import splev, splrep
    >>> x = np.arange(8.0)
    >>> fg.grad(lambda s: splev(2.0, splrep(x, np.sin(x), s=s)))(0.1).round(4)
    np.float64(-0.5882)
    """
    for name, given in {"task": max(task, 0), "per": per}.items():
        if given:
            raise _refused("splrep", f"{name}=")
    points, values = real_numbers(x), real_numbers(y)
    if s is None:
        s = 0.0 if w is None else type_of(points).size - np.sqrt(2 * type_of(points).size)
    plain = w is None and xb is None and xe is None and t is None
    if plain and _is_zero(s) and not full_output:
        return knots(points, k, None), THROUGH(points, values, k=int(k)), k
    made_t, c, residual = fit("splrep", points, values, w, s, k, (xb, xe), t)
    if not full_output:
        return made_t, c, k
    plain_call = sp.splrep(*map(value, (points, values)), k=k, s=value(operand(s)), full_output=1)
    return (made_t, c, k), residual, *plain_call[2:]


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


_EXTENSIONS = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}


def _hold(owner: Any, k: int, ext: Any, made: Fit) -> None:
    """Let SciPy's object hold a spline, as one does that is made of knots and coefficients."""
    t, c, residual = made
    owner.ext = _EXTENSIONS.get(ext, ext)
    owner._eval_args = t, c, k
    n = type_of(t).shape[0]
    owner._data = (*(None,) * 5, k, None, n, t, c, residual, None, None, None)
    owner._traced = made  # by which later calls of methods see them


@scipy_method(sp.InterpolatedUnivariateSpline, "__init__")
def _init_through(
    owner: Any,
    x: Any,
    y: Any,
    w: Any = None,
    bbox: Any = (None, None),
    k: int = 3,
    ext: Any = 0,
    check_finite: bool = False,
) -> None:
    if w is None and all(b is None for b in bbox):
        _hold(owner, k, ext, (*splrep(x, y, k=k)[:2], np.float64(0.0)))
    else:
        _hold(owner, k, ext, fit("class", x, y, w, 0.0, k, bbox))


@scipy_method(sp.UnivariateSpline, "__init__")
def _init(
    owner: Any,
    x: Any,
    y: Any,
    w: Any = None,
    bbox: Any = (None, None),
    k: int = 3,
    s: Any = None,
    ext: Any = 0,
    check_finite: bool = False,
) -> None:
    if s is None:
        s = float(type_of(operand(x)).size)
    _hold(owner, k, ext, fit("class", x, y, w, s, k, bbox))


@scipy_method(sp.LSQUnivariateSpline, "__init__")
def _init_nearest(
    owner: Any,
    x: Any,
    y: Any,
    t: Any,
    w: Any = None,
    bbox: Any = (None, None),
    k: int = 3,
    ext: Any = 0,
    check_finite: bool = False,
) -> None:
    _hold(owner, k, ext, fit("class", x, y, w, 0.0, k, bbox, t))


@scipy_method(sp.UnivariateSpline, "set_smoothing_factor")
def _smooth_again(owner: Any, s: Any) -> None:
    raise _refused("UnivariateSpline.set_smoothing_factor", "another factor")


@scipy_method(sp.UnivariateSpline, "__call__")
def _call(owner: Any, x: Any, nu: int = 0, ext: Any = None) -> Any:
    return splev(x, owner._eval_args, nu, owner.ext if ext is None else ext)


@scipy_method(sp.UnivariateSpline, "integral")
def _area(owner: Any, a: Any, b: Any) -> Any:
    return splint(a, b, owner._eval_args)


# ------------------------------------------------------------- of one's own class, SciPy 1.15 on

if hasattr(sp, "make_splrep"):

    @numpy_function(sp.make_splrep)
    def make_splrep(
        x: Any, y: Any, *, w: Any = None, xb: Any = None, xe: Any = None, k: int = 3, s: Any = 0,
        t: Any = None, nest: Any = None, bc_type: Any = None,
    ) -> BSpline:  # fmt: skip
        """The smoothing spline of `splrep`, found in Python, as a `BSpline`."""
        if _is_zero(s):
            return make_interp_spline(x, y, k, bc_type=bc_type)
        if nest is not None or bc_type is not None or t is not None:
            raise _refused("make_splrep", "nest=, bc_type= or t=")
        made_t, c, _ = fit("make_splrep", x, y, w, s, k, (xb, xe))
        return BSpline.construct_fast(made_t, c, int(k))
