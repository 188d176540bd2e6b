"""Functions of `scipy.special` that are no ufuncs: sums of exponentials, and compositions.

SciPy's own convert their arguments first, and most of them then fail on traced values; these take
them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from funcgrad.core.boundary import boundary
from funcgrad.core.forms.elementwise import UFUNCS
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.numpy.function_calls import as_array, numpy_function, refuse
from funcgrad.ops import pointwise
from funcgrad.ops import softmax as soft
from funcgrad.ops.arithmetic import (
    add,
    cast,
    divide,
    equal,
    greater_equal,
    less_equal,
    logical_and,
    subtract,
    where,
)
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.ops.logistic import logaddexp
from funcgrad.ops.matrices import as_float
from funcgrad.ops.nonlinear_reductions import graded
from funcgrad.ops.nonlinear_reductions import max as largest
from funcgrad.ops.reduction import Axis, normalize_axes
from funcgrad.ops.samples import draw
from funcgrad.ops.sums import sum as total
from funcgrad.ops.transcendental import cos, exp, log
from funcgrad.scipy.special import bessel, integrals
from funcgrad.scipy.special import gamma_functions as g
from funcgrad.scipy.valued import Valued, valued
from funcgrad.transforms.arguments import integer

__all__ = [
    "bernoulli",
    "bessel_jn",
    "comb",
    "diric",
    "factorial",
    "lambertw",
    "log_softmax",
    "logsumexp",
    "multigammaln",
    "perm",
    "polygamma",
    "sinc",
    "softmax",
    "softplus",
    "zeta",
]


def _logsumexp(x: Any, axes: Any, keepdims: bool) -> Any:
    if not x.size:  # SciPy 1.17 fails on several axes of an empty array
        with np.errstate(divide="ignore"):
            return np.log(np.sum(x, axes, keepdims=keepdims))
    return sp.logsumexp(x, axis=axes, keepdims=keepdims)


assert soft.LOGSUMEXP.sample is not None
LOGSUMEXP = graded(
    "special_logsumexp",
    _logsumexp,
    np.max,
    soft.logsumexp_partial,
    soft.LOGSUMEXP.sample,
)


def _weighted_value(x: Any, b: Any, axis: Any, keepdims: bool, return_sign: bool) -> Any:
    if not x.size or not b.size:  # as above
        return soft.weighted_logsumexp(x, b, axis, keepdims, return_sign)
    return sp.logsumexp(x, axis=axis, b=b, keepdims=keepdims, return_sign=return_sign)


def _weighted_samples(sign: bool) -> list[Sample]:
    x, b = draw((2, 3)), np.array([0.5, 2.0, 1.5])
    given = [((x, b), (1,)), ((x, np.float64(1.0)), (0, 1)), ((draw((2, 1)), b), (0,))]
    return [
        Sample(xs, {"axis": axes, "keepdims": k == 1, "return_sign": sign})
        for k, (xs, axes) in enumerate(given)
    ]


WEIGHTED, SIGNED = (
    valued(
        f"special_{name}_logsumexp",
        _weighted_value,
        soft.weighted_logsumexp,
        functools.partial(_weighted_samples, sign),
        multiple=sign,
    )
    for name, sign in (("weighted", False), ("signed", True))
)


@numpy_function(sp.logsumexp)
def logsumexp(
    a: Any, axis: Axis = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """log(Σ b exp(a)) over `axis`, without overflow.

    Elements that are all -inf have the gradient 0. With `return_sign` the pair of the logarithm of
    the absolute value and the sign, which is locally constant.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.special import logsumexp
    >>> fg.grad(logsumexp)(np.array([1000.0, 1000.0]))
    array([0.5, 0.5])
    """
    x = as_float(operand(a))
    axes = normalize_axes(axis, type_of(x).ndim)
    if b is None and not return_sign:
        return bind(LOGSUMEXP, (x,), {"axes": axes, "keepdims": keepdims})
    weights = np.ones((), type_of(x).dtype) if b is None else as_array(b)
    shape = np.broadcast_shapes(type_of(x).shape, type_of(weights).shape)
    axes = normalize_axes(axis, len(shape))
    params = {"axis": axes, "keepdims": keepdims, "return_sign": return_sign}
    if not return_sign:
        return bind(WEIGHTED, (x, weights), params)
    return tuple(bind(SIGNED, (x, weights), params))


@numpy_function(sp.softmax)
def softmax(x: Any, axis: Axis = None) -> Array:
    """exp(x) / Σ exp(x) over `axis`, of all elements by default.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.special import softmax
    >>> fg.jacobian(softmax)(np.zeros(2))
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    x = as_float(as_array(x))
    most = bind(STOP_GRADIENT, (largest(x, axis, keepdims=True),), {})
    shifted = exp(subtract(x, most))
    return divide(shifted, total(shifted, axis, keepdims=True))


@numpy_function(sp.log_softmax)
def log_softmax(x: Any, axis: Axis = None) -> Array:
    """The logarithm of `softmax`, also where that underflows.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.special import log_softmax
    >>> fg.grad(lambda x: log_softmax(x)[0])(np.array([0.0, 1000.0]))
    array([ 1., -1.])
    """
    x = as_float(as_array(x))
    shifted = subtract(x, soft.finite_largest(x, axis))
    return subtract(shifted, log(total(exp(shifted), axis, keepdims=True)))


@numpy_function(sp.zeta)
def zeta(x: Any, q: Any = None, out: Any = None) -> Array:
    """Σ (k + q)^-x over k = 0, 1, …; without `q` Riemann's function, also of x < 1.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.special import zeta
    >>> fg.grad(lambda q: zeta(2.0, q))(1.0)  # -2 ζ(3)
    np.float64(-2.404113806319188)
    """
    return g.riemann_zeta(x) if q is None else g.zeta_function(x, q)


@numpy_function(sp.polygamma)
def polygamma(n: Any, x: Any) -> Array:
    """The derivative of order `n` of the digamma function.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.special import polygamma
    >>> fg.grad(lambda x: polygamma(0, x))(1.0)  # π² / 6
    np.float64(1.6449340668482266)
    """
    return g.polygamma(n, x)


@numpy_function(sp.lambertw)
def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Array:
    """The solution w of w exp(w) = z on the branch `k`: a complex number.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.special import lambertw
    >>> fg.grad(lambda z: lambertw(z).real)(1.0)
    np.float64(0.36189625663...)
    """
    return integrals.lambert(z, k)


@numpy_function(sp.multigammaln)
def multigammaln(a: Any, d: int) -> Array:
    """The logarithm of the multivariate gamma function of dimension `d`.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.special import multigammaln
    >>> fg.grad(lambda a: multigammaln(a, 2))(3.0)
    np.float64(1.6259409757...)
    """
    a = as_array(a)
    parts = [g.gammaln(subtract(a, (j - 1.0) / 2)) for j in range(1, d + 1)]
    return d * (d - 1) * 0.25 * np.log(np.pi) + sum(parts[1:], parts[0])  # SciPy's is double, too


@numpy_function(sp.factorial)
def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Array:
    """Γ(n + 1), and 0 for negative `n`.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.special import factorial
    >>> fg.grad(factorial)(3.0)
    np.float64(7.536706010...)
    """
    n = as_array(n)
    found = where(n < 0, 0.0, g.gamma(n + 1.0))
    return cast(found, np.asarray(sp.factorial(np.ones(1, type_of(n).dtype))).dtype)


@numpy_function(sp.softplus)
def softplus(x: Any, **kwargs: Any) -> Array:
    """log(1 + exp(x)), without overflow."""
    refuse("scipy.special.softplus", **kwargs)
    return logaddexp(0.0, as_float(as_array(x)))


@numpy_function(sp.sinc)
def sinc(x: Any) -> Array:
    """sin(π x) / (π x), and 1 at 0."""
    return pointwise.sinc(as_float(as_array(x)))


@numpy_function(sp.diric)
def diric(x: Any, n: Any) -> Array:
    """Dirichlet's function sin(n x / 2) / (n sin(x / 2)), whose limits at multiples of 2π count.

    `n` is a whole number.
    """
    return bind(DIRIC, (as_float(as_array(x)),), {"n": int(n)})


def _diric(x: Array, n: int) -> Array:
    """As a sum of cosines: it has no quotient to cancel."""
    waves = [np.float64(n % 2)]
    waves += [2.0 * cos(x * (0.5 * k)) for k in range(n - 1, 0, -2)]
    return divide(functools.reduce(add, waves) + 0.0 * x, float(n))


DIRIC: Valued = valued(
    "special_diric",
    lambda x, n: sp.diric(x, n),
    _diric,
    lambda: [Sample((draw((3,)),), {"n": 4}), Sample((draw((3,)),), {"n": 3})],
    batch=lambda _, xs, batched, params: bind(DIRIC, xs, params),
)


@numpy_function(sp.comb)
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Array:
    """The number of ways to choose `k` of `N` things, and 0 where there are none.

    Parameters
    ----------
    N, k : array_like
        Differentiable, as those of `binom`.
    exact : bool, optional
        Not supported on traced values.
    repetition : bool, optional
        Whether a thing may be chosen more than once.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.special import comb
    >>> f"{fg.grad(comb)(5.0, 2.0):.12f}"
    '4.500000000000'
    """
    refuse("scipy.special.comb", exact=exact or None)
    n, k = as_float(as_array(N)), as_float(as_array(k))
    if repetition:
        none = logical_and(equal(k, 0.0), n >= 0.0)
        return where(none, 1.0, g.binom(subtract(add(n, k), 1.0), k))
    there = logical_and(less_equal(k, n), logical_and(k >= 0.0, n >= 0.0))
    return where(there, g.binom(n, k), 0.0)


@numpy_function(sp.perm)
def perm(N: Any, k: Any, exact: bool = False) -> Array:
    """The number of permutations, by gamma functions; 0 where ``k > N`` or either is negative."""
    refuse("scipy.special.perm", exact=exact or None)
    n, k = as_array(N), as_array(k)
    within = logical_and(less_equal(k, n), logical_and(greater_equal(n, 0), greater_equal(k, 0)))
    return where(within, g.poch(n - k + 1.0, k), 0.0)


@numpy_function(sp.bernoulli, constant=True)
def bernoulli(n: int) -> Array:
    """The Bernoulli numbers up to that of index `n`: SciPy's, which has no derivative to be found.

    Examples
    --------
    >>> from funcgrad.scipy.special import bernoulli
    >>> bernoulli(4).round(6)
    array([ 1.      , -0.5     ,  0.166667,  0.      , -0.033333])
    """
    found: Array = sp.bernoulli(integer(n, "bernoulli: the last index is an integer"))
    return found


@boundary
def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Array:
    """The Bessel functions of the first kind of the orders from 0 to `v`, under JAX's name.

    Parameters
    ----------
    z : array, real
    v : int
    n_iter : int, optional
        Accepted; the values are SciPy's.

    Returns
    -------
    array (v + 1, *z.shape)
        Derivatives of every order exist in `z`.

    Raises
    ------
    ValueError
        `z` is complex.

    See Also
    --------
    scipy.special.jv : of any order.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.special import bessel_jn
    >>> fg.jacobian(lambda z: bessel_jn(z, v=1))(0.0)
    array([-0. ,  0.5])
    """
    last = integer(v, "bessel_jn: the order v is an integer")
    x = as_float(as_array(z))
    if type_of(x).dtype.kind == "c":
        raise ValueError(located("bessel_jn: the argument is real, not complex"))
    orders = np.arange(last + 1).reshape(-1, *(1,) * type_of(x).ndim)
    return bessel.jv(orders.astype(type_of(x).dtype), x)


PROGRAMS = ("jvp", "yvp", "ivp", "kvp", "h1vp", "h2vp", "assoc_laguerre")
"""Programs of SciPy's ufuncs alone, which run on traced values as they are."""

for _name in PROGRAMS:
    globals()[_name] = numpy_function(getattr(sp, _name))(getattr(sp, _name).__wrapped__)


def _reach(name: str, rule: Callable[..., Any]) -> None:
    """Let the ufunc behind one of SciPy's functions, where it has that name, take traced values."""
    ufunc = getattr(sp._ufuncs, name, None)
    if isinstance(ufunc, np.ufunc):
        UFUNCS.setdefault(ufunc, rule)


_reach("_zeta", g.zeta_function)
_reach("_lambertw", lambda z, k, _: integrals.lambert(z, k))
