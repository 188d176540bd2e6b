"""Continuous distributions that are functions of uniform or normal numbers.

Each is a formula in its parameters, so gradients go through a draw: the number moves with the
parameters while what was drawn stays (reparametrisation).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.tracer import operand
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.ops.error import erf
from funcgrad.ops.normal import erfinv
from funcgrad.random.keys import Source, size_of, space, split, whole_bits
from funcgrad.random.parameters import Shape, broadcast_shape, float_type, parameter
from funcgrad.transforms.stop_gradient import stop_gradient

__all__ = [
    "cauchy",
    "double_sided_maxwell",
    "exponential",
    "gumbel",
    "laplace",
    "logistic",
    "lognormal",
    "maxwell",
    "normal",
    "pareto",
    "rademacher",
    "rayleigh",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
]


def uniform(
    key: Source, shape: Shape = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0
) -> Array:
    """Uniform numbers in [minval, maxval).

    Parameters
    ----------
    key : Key or numpy.random.Generator
        The same key gives the same numbers, JAX's; a generator of NumPy draws a key.
    shape : tuple of int, optional
        Of the result; `minval` and `maxval` broadcast to it.
    dtype : dtype, optional
        float64 by default.
    minval, maxval : array_like, optional
        Differentiable.

    Raises
    ------
    TypeError
        `key` is none.
    KeyReuseError
        It was used before, and ``config.check_keys`` is set.

    Examples
    --------
    >>> import funcgrad as fg
    >>> k = fg.random.key(0)
    >>> fg.random.uniform(k, (2,))
    array([0.4184..., 0.2162...])
    >>> fg.grad(lambda top: fg.random.uniform(k, maxval=top))(2.0)
    np.float64(0.4184571...)
    """
    kind = float_type(dtype, "uniform")
    return _uniform(key, broadcast_shape(shape, "uniform", minval, maxval), kind, minval, maxval)


def _uniform(
    key: Source, shape: tuple[int, ...], kind: Any, low: Any = 0.0, high: Any = 1.0
) -> Any:
    info = np.finfo(kind)
    if info.bits not in (16, 32, 64):
        raise TypeError(located(f"random numbers have 16, 32 or 64 bits; {kind} has {info.bits}"))
    drawn = whole_bits(key, info.bits, shape, "uniform")
    xp = space(drawn, low, high)
    kept = xp.right_shift(drawn, drawn.dtype.type(info.bits - info.nmant))
    if info.bits < 64:
        kept = xp.astype(kept, kind)
    unit = kept * kind.type(2.0**-info.nmant)  # integers of 64 bits become floats on the way
    if type(low) is type(high) is float and (low, high) == (0.0, 1.0):
        return unit
    low, high = parameter(low, kind), parameter(high, kind)
    return space(unit, low, high).maximum(low, unit * (high - low) + low)


def normal(key: Source, shape: Shape = (), dtype: Any = None) -> Array:
    """Numbers of the normal distribution of mean 0 and variance 1.

    Parameters
    ----------
    key, shape
        As of `uniform`.
    dtype : dtype, optional
        float64 by default; of a complex one, both parts have the variance 1/2.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> k = fg.random.key(0)
    >>> mean = lambda p: np.mean((p["m"] + p["s"] * fg.random.normal(k, (1000,))) ** 2)
    >>> fg.grad(mean)({"m": 1.0, "s": 2.0})  # nearly 2 m and 2 s
    {'m': np.float64(1.88...), 's': np.float64(4.19...)}
    """
    kind = float_type(dtype, "normal", complex_=True)
    if kind.kind == "c":
        real = np.empty(0, kind).real.dtype
        first, second = split(key)
        parts = normal(first, shape, real) + 1j * normal(second, shape, real)
        return fnp.astype(parts / np.sqrt(2.0), kind)
    return _normal(key, size_of(shape), kind)


def _normal(key: Source, shape: tuple[int, ...], kind: Any) -> Any:
    low = np.nextafter(kind.type(-1), kind.type(0))
    return kind.type(math.sqrt(2.0)) * erfinv(operand(_uniform(key, shape, kind, low, 1.0)))


def truncated_normal(
    key: Source, lower: Any, upper: Any, shape: Shape = None, dtype: Any = None
) -> Array:
    """Numbers of the normal distribution between two bounds, in which it is differentiable.

    Parameters
    ----------
    key
        As of `uniform`.
    lower, upper : array_like
    shape : tuple of int, optional
        By default that of the bounds.
    dtype : dtype, optional

    Examples
    --------
    >>> import funcgrad as fg
    >>> x = fg.random.truncated_normal(fg.random.key(0), 1.0, 2.0, (1000,))
    >>> bool((x > 1.0).all() and (x < 2.0).all())
    True
    """
    kind = float_type(dtype, "truncated_normal")
    shape = broadcast_shape(shape, "truncated_normal", lower, upper)
    root = kind.type(math.sqrt(2.0))
    lower, upper = parameter(lower, kind), parameter(upper, kind)
    ends = erf(operand(lower / root)), erf(operand(upper / root))
    found = root * erfinv(operand(_uniform(key, shape, kind, *ends)))
    least = fnp.nextafter(stop_gradient(lower), kind.type(np.inf))
    most = fnp.nextafter(stop_gradient(upper), kind.type(-np.inf))
    return fnp.clip(found, least, most)


def exponential(key: Source, shape: Shape = (), dtype: Any = None) -> Array:
    """Numbers of the exponential distribution of mean 1.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.exponential(fg.random.key(0))
    np.float64(0.5420705...)
    """
    u = _uniform(key, size_of(shape), float_type(dtype, "exponential"))
    return -space(u).log1p(-u)


def gumbel(key: Source, shape: Shape = (), dtype: Any = None, mode: str | None = None) -> Array:
    """Numbers of the standard Gumbel distribution, that of the largest of many.

    Parameters
    ----------
    key, shape, dtype
        As of `uniform`.
    mode : {"low", "high", "highest"}, optional
        With "high" two uniform numbers are drawn for each, so that the tail is finer.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.gumbel(fg.random.key(0))
    np.float64(0.1379056...)
    """
    kind, shape = float_type(dtype, "gumbel"), size_of(shape)
    if mode not in (None, "low", "high", "highest"):
        raise ValueError(located(f"gumbel: the mode is 'low', 'high' or 'highest', not {mode!r}"))
    info = np.finfo(kind)
    if mode in (None, "low"):
        u = _uniform(key, shape, kind, info.tiny, 1.0)
        log = space(u).log
        return -log(-log(u))
    high, low = _uniform(key, (2, *shape), kind)
    small = high + kind.type(2.0**-info.nmant) * low + info.tiny
    return -fnp.log(-fnp.log1p(-fnp.where(high >= 0.5, high, small)))


def laplace(key: Source, shape: Shape = (), dtype: Any = None) -> Array:
    """Numbers of the standard Laplace distribution.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.laplace(fg.random.key(0), (2,)).shape
    (2,)
    """
    kind = float_type(dtype, "laplace")
    u = _uniform(key, size_of(shape), kind, -1.0 + np.finfo(kind).epsneg, 1.0)
    return fnp.sign(u) * fnp.log1p(-fnp.abs(u))


def logistic(key: Source, shape: Shape = (), dtype: Any = None) -> Array:
    """Numbers of the standard logistic distribution.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.logistic(fg.random.key(0), (2,)).shape
    (2,)
    """
    kind = float_type(dtype, "logistic")
    u = _uniform(key, size_of(shape), kind, np.finfo(kind).tiny, 1.0)
    return fnp.log(u) - fnp.log1p(-u)


def cauchy(key: Source, shape: Shape = (), dtype: Any = None) -> Array:
    """Numbers of the standard Cauchy distribution.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.cauchy(fg.random.key(0), (2,)).shape
    (2,)
    """
    kind = float_type(dtype, "cauchy")
    u = _uniform(key, size_of(shape), kind, np.finfo(kind).eps, 1.0)
    return fnp.tan(kind.type(np.pi) * (u - kind.type(0.5)))


def lognormal(key: Source, sigma: Any = 1.0, shape: Shape = None, dtype: Any = None) -> Array:
    """``exp(sigma * n)`` of normal numbers n, differentiable in `sigma`.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.grad(lambda s: fg.random.lognormal(fg.random.key(0), s))(0.0)
    np.float64(-0.2058421...)
    """
    kind = float_type(dtype, "lognormal")
    shape = broadcast_shape(shape, "lognormal", sigma)
    return fnp.exp(_normal(key, shape, kind) * parameter(sigma, kind))


def pareto(key: Source, b: Any, shape: Shape = None, dtype: Any = None) -> Array:
    """Numbers from 1 on with the density ``b / x**(b + 1)``, differentiable in `b`.

    Examples
    --------
    >>> import funcgrad as fg
    >>> bool((fg.random.pareto(fg.random.key(0), 2.0, (5,)) > 1.0).all())
    True
    """
    kind = float_type(dtype, "pareto")
    shape = broadcast_shape(shape, "pareto", b)
    return fnp.exp(exponential(key, shape, kind) / parameter(b, kind))


def rayleigh(key: Source, scale: Any, shape: Shape = None, dtype: Any = None) -> Array:
    """Lengths of pairs of normal numbers of deviation `scale`, in which they are differentiable.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.rayleigh(fg.random.key(0), 2.0, (5,)).shape
    (5,)
    """
    kind = float_type(dtype, "rayleigh")
    shape = broadcast_shape(shape, "rayleigh", scale)
    return parameter(scale, kind) * fnp.sqrt(-2.0 * fnp.log(_uniform(key, shape, kind)))


def weibull_min(
    key: Source, scale: Any, concentration: Any, shape: Shape = (), dtype: Any = None
) -> Array:
    """Numbers of Weibull's distribution, differentiable in both parameters.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.weibull_min(fg.random.key(0), 2.0, 1.5, (5,)).shape
    (5,)
    """
    kind = float_type(dtype, "weibull_min")
    scale, concentration = parameter(scale, kind), parameter(concentration, kind)
    return exponential(key, shape, kind) ** (1.0 / concentration) * scale


def triangular(
    key: Source, left: Any, mode: Any, right: Any, shape: Shape = None, dtype: Any = None
) -> Array:
    """Numbers whose density rises from `left` to `mode` and falls to `right`: differentiable.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.triangular(fg.random.key(0), 0.0, 1.0, 3.0, (5,)).shape
    (5,)
    """
    kind = float_type(dtype, "triangular")
    shape = broadcast_shape(shape, "triangular", left, mode, right)
    left, mode, right = (parameter(x, kind) for x in (left, mode, right))
    u, width = _uniform(key, shape, kind), right - left
    below = left + fnp.sqrt(u * width * (mode - left))
    above = right - fnp.sqrt((1 - u) * width * (right - mode))
    return fnp.where(u < (mode - left) / width, below, above)


def wald(key: Source, mean: Any, shape: Shape = None, dtype: Any = None) -> Array:
    """Numbers of Wald's (the inverse Gaussian) distribution of scale 1 (Michael et al. 1976).

    Notes
    -----
    The derivative in `mean` is that of each of its two branches: between them the number jumps, so
    the mean of gradients is not the gradient of the mean.

    Examples
    --------
    >>> import funcgrad as fg
    >>> bool((fg.random.wald(fg.random.key(0), 2.0, (5,)) > 0.0).all())
    True
    """
    kind = float_type(dtype, "wald")
    shape = broadcast_shape(shape, "wald", mean)
    first, second = split(key)
    mean = fnp.broadcast_to(parameter(mean, kind), shape)
    y, z = fnp.square(_normal(first, shape, kind)), _uniform(second, shape, kind)
    square = fnp.square(mean)
    root = fnp.sqrt(4 * mean * y + square * fnp.square(y))
    x = mean + square * y / 2 - mean / 2 * root
    return fnp.where(z <= mean / (mean + x), x, square / x)


def maxwell(key: Source, shape: Shape = (), dtype: Any = None) -> Array:
    """Lengths of three normal numbers.

    Examples
    --------
    >>> import funcgrad as fg
    >>> bool((fg.random.maxwell(fg.random.key(0), (5,)) > 0.0).all())
    True
    """
    drawn = _normal(key, (*size_of(shape), 3), float_type(dtype, "maxwell"))
    return fnp.linalg.norm(drawn, axis=-1)


def double_sided_maxwell(
    key: Source, loc: Any, scale: Any, shape: Shape = (), dtype: Any = None
) -> Array:
    """``loc + scale * s * m`` with numbers m of `maxwell` and signs s: differentiable in both.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.double_sided_maxwell(fg.random.key(0), 1.0, 2.0, (5,)).shape
    (5,)
    """
    kind = float_type(dtype, "double_sided_maxwell")
    own = broadcast_shape(None, "double_sided_maxwell", loc, scale)
    whole = (size_of(shape) or own) + own
    first, second = split(key)
    drawn = rademacher(second, whole, kind) * maxwell(first, whole, kind)
    return drawn * parameter(scale, kind) + parameter(loc, kind)


def rademacher(key: Source, shape: Shape = (), dtype: Any = None) -> Array:
    """Numbers that are 1 or -1.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.rademacher(fg.random.key(0), (4,))
    array([ 1,  1, -1, -1])
    """
    chosen = _uniform(key, size_of(shape), np.dtype(np.float64)) < 0.5
    return fnp.astype(2 * fnp.astype(chosen, np.int64) - 1, np.int64 if dtype is None else dtype)
