"""The gamma distribution, and those that are made of it.

A gamma number is the quantile of a uniform one, so it moves with its shape as implicit
differentiation of the distribution function says, to the second order. These need SciPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.tracer import operand
from funcgrad.core.types import Array
from funcgrad.ops.gamma import lgamma
from funcgrad.ops.softmax import softmax
from funcgrad.random.continuous import exponential, normal, rademacher, uniform
from funcgrad.random.keys import Source, size_of, space, split
from funcgrad.random.parameters import Shape, broadcast_shape, float_type, parameter

__all__ = [
    "ball",
    "beta",
    "chisquare",
    "dirichlet",
    "f",
    "gamma",
    "generalized_normal",
    "loggamma",
    "t",
]

WIDE = np.dtype(np.float64)
LEAST = 0.13  # -log Γ(a + 1) is less, for all positive a
SMALL = -40.0  # of the logarithm: from here on, the first term of the series is all of it


def gamma(key: Source, a: Any, shape: Shape = None, dtype: Any = None) -> Array:
    """Numbers of the gamma distribution of shape `a` and scale 1, differentiable in `a`.

    Parameters
    ----------
    key : Key or numpy.random.Generator
    a : array_like
        Positive.
    shape : tuple of int, optional
        Of the result, to which `a` broadcasts; by default the shape of `a`.
    dtype : dtype, optional
        float64 by default.

    Notes
    -----
    The quantile of a uniform number, for which SciPy is needed. The derivative in `a` is that of
    the quantile, -∂P(a, x)/∂a divided by the density; there is none of the third order.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> k = fg.random.key(0)
    >>> mean = lambda a: np.mean(fg.random.gamma(k, a, (1000,)))
    >>> fg.value_and_grad(mean)(3.0)  # nearly 3 and 1
    (np.float64(2.97...), np.float64(0.99...))
    """
    found = loggamma(key, a, shape, float_type(dtype, "gamma"))
    return space(found).exp(found)


def loggamma(key: Source, a: Any, shape: Shape = None, dtype: Any = None) -> Array:
    """The logarithms of numbers of `gamma`, which themselves are 0 where `a` is very small.

    Parameters
    ----------
    key, a, shape, dtype
        As of `gamma`.

    Examples
    --------
    >>> import funcgrad as fg
    >>> float(fg.random.loggamma(fg.random.key(0), 1e-3)) < -700
    True
    """
    from funcgrad.scipy.special.incomplete import gammaincinv

    kind = float_type(dtype, "loggamma")
    shape = broadcast_shape(shape, "loggamma", a)
    a = parameter(a, WIDE)
    if shape:
        a = fnp.broadcast_to(a, shape)
    u = uniform(key, shape, WIDE, np.finfo(np.float64).tiny, 1.0)
    xp = space(a, u)
    if xp is np and np.all(a > 0.0) and np.all(np.log(u) - LEAST >= SMALL * a):
        return np.astype(np.log(gammaincinv(operand(a), operand(u))), kind)
    # P(a, x) = x^a / Γ(a + 1) for small x
    series = (fnp.log(u) + lgamma(operand(a + 1.0))) / a
    tiny = series < SMALL
    quantile = gammaincinv(operand(fnp.where(tiny, 1.0, a)), operand(fnp.where(tiny, 0.5, u)))
    found = fnp.astype(fnp.where(tiny, series, fnp.log(quantile)), kind)
    return found if shape else found[()]  # `where` makes an array of a number


def beta(key: Source, a: Any, b: Any, shape: Shape = None, dtype: Any = None) -> Array:
    """Numbers of the beta distribution, differentiable in both parameters.

    Parameters
    ----------
    key : Key or numpy.random.Generator
    a, b : array_like
        Positive.
    shape, dtype : optional
        As of `gamma`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> k = fg.random.key(0)
    >>> fg.grad(lambda a: np.mean(fg.random.beta(k, a, 1.0, (1000,))))(1.0)  # nearly 1/4
    np.float64(0.2...)
    """
    kind = float_type(dtype, "beta")
    shape = broadcast_shape(shape, "beta", a, b)
    first, second = split(key)
    logs = loggamma(first, a, shape), loggamma(second, b, shape)
    return fnp.astype(softmax(operand(fnp.stack(logs, axis=-1)))[..., 0], kind)


def dirichlet(key: Source, alpha: Any, shape: Shape = None, dtype: Any = None) -> Array:
    """Vectors of the Dirichlet distribution, whose elements add up to 1: differentiable.

    Parameters
    ----------
    key : Key or numpy.random.Generator
    alpha : array_like, shape (..., n)
        Positive.
    shape : tuple of int, optional
        Without the last axis; by default that of `alpha`.
    dtype : dtype, optional

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> x = fg.random.dirichlet(fg.random.key(0), np.array([1.0, 2.0, 3.0]), (5,))
    >>> x.shape, bool(np.allclose(x.sum(-1), 1.0))
    ((5, 3), True)
    """
    kind = float_type(dtype, "dirichlet")
    alpha = fnp.asarray(alpha)
    own, n = tuple(alpha.shape[:-1]), alpha.shape[-1]
    rows = broadcast_shape(own if shape is None else shape, "dirichlet", np.empty(own))
    return fnp.astype(softmax(operand(loggamma(key, alpha, (*rows, n)))), kind)


def chisquare(key: Source, df: Any, shape: Shape = None, dtype: Any = None) -> Array:
    """Numbers of the chi-square distribution, differentiable in the degrees of freedom.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> k = fg.random.key(0)
    >>> fg.grad(lambda v: np.mean(fg.random.chisquare(k, v, (1000,))))(4.0)  # nearly 1
    np.float64(0.99...)
    """
    kind = float_type(dtype, "chisquare")
    return fnp.astype(2.0 * gamma(key, parameter(df, WIDE) / 2.0, shape), kind)


def t(key: Source, df: Any, shape: Shape = (), dtype: Any = None) -> Array:
    """Numbers of Student's t distribution, differentiable in the degrees of freedom.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.t(fg.random.key(0), 4.0, (5,)).shape
    (5,)
    """
    kind = float_type(dtype, "t")
    shape = broadcast_shape(shape or None, "t", df)
    first, second = split(key)
    half = parameter(df, WIDE) / 2.0
    drawn = normal(first, shape) * fnp.sqrt(half / gamma(second, half, shape))
    return fnp.astype(drawn, kind)


def f(key: Source, dfnum: Any, dfden: Any, shape: Shape = None, dtype: Any = None) -> Array:
    """Numbers of the F distribution, differentiable in both degrees of freedom.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.f(fg.random.key(0), 4.0, 5.0, (5,)).shape
    (5,)
    """
    kind = float_type(dtype, "f")
    shape = broadcast_shape(shape, "f", dfnum, dfden)
    below, above = split(key)
    top = chisquare(above, dfnum, shape) / parameter(dfnum, WIDE)
    return fnp.astype(top / (chisquare(below, dfden, shape) / parameter(dfden, WIDE)), kind)


def generalized_normal(key: Source, p: Any, shape: Shape = (), dtype: Any = None) -> Array:
    """Numbers with a density as ``exp(-abs(x)**p)``, differentiable in `p`.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.generalized_normal(fg.random.key(0), 4.0, (5,)).shape
    (5,)
    """
    kind = float_type(dtype, "generalized_normal")
    first, second = split(key)
    power = 1.0 / parameter(p, WIDE)
    found = fnp.exp(power * loggamma(first, power, size_of(shape)))
    return fnp.astype(rademacher(second, shape, WIDE) * found, kind)


def ball(key: Source, d: int, p: Any = 2, shape: Shape = (), dtype: Any = None) -> Array:
    """Points that are uniform in the ball of radius 1 of the p-norm, in `d` dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> x = fg.random.ball(fg.random.key(0), 3, shape=(5,))
    >>> bool((np.linalg.norm(x, axis=-1) <= 1.0).all())
    True
    """
    kind = float_type(dtype, "ball")
    first, second = split(key)
    g = generalized_normal(first, p, (*size_of(shape), d))
    e = exponential(second, shape)
    radius = (fnp.sum(fnp.abs(g) ** p, -1) + e) ** (1 / p)
    return fnp.astype(g / radius[..., None], kind)
