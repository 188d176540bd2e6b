"""``funcgrad.scipy.signal.windows``: SciPy's windows; those with a parameter differentiate by it.

Examples
--------
>>> import funcgrad as fg
>>> from funcgrad.scipy.signal.windows import gaussian
>>> fg.grad(lambda std: gaussian(3, std)[0])(1.0).round(6)
np.float64(0.606531)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal.windows as sp
from scipy.signal.windows import (
    barthann,
    bartlett,
    blackman,
    blackmanharris,
    bohman,
    boxcar,
    chebwin,
    cosine,
    dpss,
    flattop,
    get_window,
    hamming,
    hann,
    lanczos,
    nuttall,
    parzen,
    taylor,
    triang,
    tukey,
)

import funcgrad.numpy as fnp
from funcgrad.core.boundary import publish
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import numpy_function
from funcgrad.ops.arithmetic import cast
from funcgrad.scipy.reasons import why_not
from funcgrad.scipy.special import i0
from funcgrad.scipy.valued import Valued, valued

__all__ = [
    "barthann",
    "bartlett",
    "blackman",
    "blackmanharris",
    "bohman",
    "boxcar",
    "chebwin",
    "cosine",
    "dpss",
    "exponential",
    "flattop",
    "gaussian",
    "general_cosine",
    "general_gaussian",
    "general_hamming",
    "get_window",
    "hamming",
    "hann",
    "kaiser",
    "lanczos",
    "nuttall",
    "parzen",
    "taylor",
    "triang",
    "tukey",
]


def _centred(count: int) -> Any:
    return np.arange(0, count, dtype=np.float64) - (count - 1.0) / 2.0


def _gaussian(count: int, std: Array) -> Array:
    return fnp.exp(-(_centred(count) ** 2) / (2 * std * std))


def _general_gaussian(count: int, p: Array, sig: Array) -> Array:
    away = np.abs(_centred(count))
    none = away == 0
    power = fnp.where(none, 0.0, (np.where(none, 1.0, away) / sig) ** (2 * p))
    return fnp.exp(-0.5 * power)


def _kaiser(count: int, beta: Array) -> Array:
    half = (count - 1) / 2.0
    inner = np.sqrt(np.maximum(1 - (_centred(count) / half) ** 2.0, 0.0))
    return i0(beta * inner) / i0(beta)


def _exponential(count: int, tau: Array, center: Any = None) -> Array:
    middle = (count - 1) / 2 if center is None else center
    return fnp.exp(-np.abs(np.arange(0, count) - middle) / tau)


def _general_cosine(count: int, a: Array) -> Array:
    turns = np.linspace(-np.pi, np.pi, count)
    terms = [a[k] * np.cos(k * turns) for k in range(type_of(a).shape[0])]
    return sum(terms[1:], terms[0])


def _general_hamming(count: int, alpha: Array) -> Array:
    return alpha + (1.0 - alpha) * np.cos(np.linspace(-np.pi, np.pi, count))


def _record(name: str, composed: Callable[..., Array], *operands: Any) -> Valued:
    """The record of a window of a number of elements; without `sym` the last one is left out."""

    def compute(*xs: Any, count: int, sym: bool, **more: Any) -> Any:
        return getattr(sp, name)(count, *_placed(name, xs, more), sym=sym)

    def compose(*xs: Array, count: int, sym: bool, **more: Any) -> Array:
        if count <= 1:
            return fnp.ones(count) + 0.0 * sum(fnp.sum(x) for x in xs)
        return composed(count if sym else count + 1, *xs, **more)[:count]

    return valued(
        f"signal_window_{name}",
        compute,
        compose,
        lambda: [Sample(operands, {"count": n, "sym": sym}) for n, sym in ((5, True), (4, False))],
    )


def _placed(name: str, xs: Any, more: dict[str, Any]) -> Any:
    return (more.get("center"), *xs) if name == "exponential" else xs


GAUSSIAN = _record("gaussian", _gaussian, np.float64(1.3))
GENERAL_GAUSSIAN = _record("general_gaussian", _general_gaussian, np.float64(1.2), np.float64(1.5))
KAISER = _record("kaiser", _kaiser, np.float64(2.5))
EXPONENTIAL = _record("exponential", _exponential, np.float64(1.7))
COSINE = _record("general_cosine", _general_cosine, np.array([0.5, 0.3, 0.2]))
HAMMING = _record("general_hamming", _general_hamming, np.float64(0.6))


def _window(record: Valued, count: Any, sym: bool, *xs: Any, **more: Any) -> Array:
    if int(count) != count or count < 0:
        raise ValueError("Window length M must be a non-negative integer")
    given = (cast(operand(x), float) for x in xs)
    found: Array = record(*given, count=int(count), sym=bool(sym), **more)
    return found


@numpy_function(sp.gaussian)
def gaussian(M: int, std: Any, sym: bool = True, *, xp: Any = None, device: Any = None) -> Array:
    """A Gaussian of width `std`.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal.windows import gaussian
    >>> fg.grad(lambda std: gaussian(3, std)[0])(1.0).round(6)
    np.float64(0.606531)
    """
    return _window(GAUSSIAN, M, sym, std)


@numpy_function(sp.general_gaussian)
def general_gaussian(
    M: int, p: Any, sig: Any, sym: bool = True, *, xp: Any = None, device: Any = None
) -> Array:
    """A Gaussian of width `sig` for `p` = 1, a steeper window for larger ones.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal.windows import general_gaussian
    >>> fg.grad(lambda sig: general_gaussian(3, 1.0, sig)[0])(1.0).round(6)
    np.float64(0.606531)
    """
    return _window(GENERAL_GAUSSIAN, M, sym, p, sig)


@numpy_function(sp.kaiser)
def kaiser(M: int, beta: Any, sym: bool = True, *, xp: Any = None, device: Any = None) -> Array:
    """Kaiser's window.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal.windows import kaiser
    >>> fg.grad(lambda beta: kaiser(5, beta)[1])(2.0).round(6)
    np.float64(-0.113667)
    """
    return _window(KAISER, M, sym, beta)


@numpy_function(sp.exponential)
def exponential(
    M: int,
    center: Any = None,
    tau: Any = 1.0,
    sym: bool = True,
    *,
    xp: Any = None,
    device: Any = None,
) -> Array:
    """An exponential that falls from `center`, a constant, to both sides.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal.windows import exponential
    >>> fg.grad(lambda tau: exponential(3, tau=tau)[0])(1.0).round(6)
    np.float64(0.367879)
    """
    if sym and center is not None:
        raise ValueError("If sym==True, center must be None.")
    if hasattr(center, "owner"):
        raise UnsupportedCallError(
            located("scipy.signal.windows.exponential: a traced center is not supported")
        )
    more = {} if center is None else {"center": float(center)}
    return _window(EXPONENTIAL, M, sym, tau, **more)


@numpy_function(sp.general_cosine)
def general_cosine(M: int, a: Any, sym: bool = True) -> Array:
    """A sum of cosines with the weights `a`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal.windows import general_cosine
    >>> fg.grad(lambda a: general_cosine(3, a)[0])(np.ones(2))
    array([ 1., -1.])
    """
    return _window(COSINE, M, sym, a)


@numpy_function(sp.general_hamming)
def general_hamming(
    M: int, alpha: Any, sym: bool = True, *, xp: Any = None, device: Any = None
) -> Array:
    """Hamming's window, with a weight of the constant to choose.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal.windows import general_hamming
    >>> fg.grad(lambda alpha: general_hamming(3, alpha)[0])(0.5)
    np.float64(2.0)
    """
    return _window(HAMMING, M, sym, alpha)


publish(__name__, reason=why_not(__name__))
