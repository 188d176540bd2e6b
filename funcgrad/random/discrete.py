"""Discrete distributions, choices and permutations. They have no derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.forms import Op, elementwise
from funcgrad.core.forms.elementwise import Pointwise
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.ops.reduction import normalize_axes
from funcgrad.random.continuous import gumbel, uniform
from funcgrad.random.keys import Source, size_of, space, split, whole_bits
from funcgrad.random.parameters import Shape, broadcast_shape
from funcgrad.transforms.stop_gradient import stop_gradient

__all__ = [
    "bernoulli",
    "binomial",
    "categorical",
    "choice",
    "geometric",
    "multinomial",
    "permutation",
    "poisson",
    "randint",
]

FLOAT = np.dtype(np.float64)


def bernoulli(key: Source, p: Any = 0.5, shape: Shape = None, mode: str = "low") -> Array:
    """Bools that are True with probability `p`.

    Parameters
    ----------
    key : Key or numpy.random.Generator
    p : array_like, optional
    shape : tuple of int, optional
        By default that of `p`.
    mode : {"low", "high"}
        With "high", probabilities below 2^-52 are met as well.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.bernoulli(fg.random.key(0), 0.3, (4,))
    array([False,  True, False, False])
    """
    if mode not in ("low", "high"):
        raise ValueError(located(f"bernoulli: the mode is 'low' or 'high', not {mode!r}"))
    shape = broadcast_shape(shape, "bernoulli", p)
    dtype = type_of(operand(p)).dtype
    dtype = dtype if dtype.kind == "f" else FLOAT
    if mode == "low":
        return uniform(key, shape, dtype) < p
    first, second = uniform(key, (2, *shape), dtype)
    return second * 2.0 ** -np.finfo(dtype).nmant < p - first


def randint(key: Source, shape: Shape, minval: Any, maxval: Any, dtype: Any = None) -> Array:
    """Integers in [minval, maxval), as uniform as the bits of the dtype allow.

    Parameters
    ----------
    key : Key or numpy.random.Generator
    shape : tuple of int
    minval, maxval : array_like of int
        They are broadcast to `shape`; where there is nothing between them, `minval` is given.
    dtype : dtype, optional
        int64 by default.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.randint(fg.random.key(0), (5,), 0, 10)
    array([5, 1, 5, 7, 3])
    """
    kind = np.dtype(np.int64 if dtype is None else dtype)
    if kind.kind not in "iu":
        raise TypeError(located(f"randint: the dtype is an integer one, not {kind}"))
    shape = broadcast_shape(shape, "randint", minval, maxval)
    xp = space(minval, maxval)
    wide = kind if kind.itemsize >= 4 else np.dtype(np.int32)
    info, whole = np.iinfo(kind), np.iinfo(wide)
    past = xp.greater(maxval, info.max)  # all of the dtype, if nothing else
    low = _clipped(xp, minval, info.min, info.max, wide)
    high = _clipped(xp, maxval, info.min, min(info.max + (kind != wide), whole.max), wide)
    all_of_it = past & (high > low) if kind == wide else False
    first, second = split(key)
    width = wide.itemsize * 8
    upper, lower = (whole_bits(k, width, shape, "randint") for k in (first, second))
    with np.errstate(over="ignore"):  # all modulo the largest number
        offset = _below(space(upper, lower, low, high), upper, lower, low, high, all_of_it)
        return xp.astype(low + xp.astype(offset, wide), kind)


def _clipped(xp: Any, x: Any, least: int, most: int, kind: Any) -> Any:
    """A bound that the dtype has."""
    return (
        kind.type(min(max(x, least), most))
        if type(x) is int
        else xp.astype(xp.clip(x, least, most), kind)
    )


def _below(xp: Any, upper: Any, lower: Any, low: Any, high: Any, past: Any) -> Any:
    """Of bits, numbers without sign below the distance of two bounds, `past` them one more."""
    kind = upper.dtype.type
    span = xp.astype(high, kind) - xp.astype(low, kind)
    span = xp.where(high <= low, kind(1), span)
    span = xp.where(past, span + kind(1), span)
    none = span == 0  # all values of the dtype: nothing is left over
    span = xp.where(none, kind(1), span)
    factor = kind(2 ** (4 * upper.dtype.itemsize)) % span
    factor = factor * factor % span
    offset = upper % span * factor + lower % span
    return xp.where(none, lower, offset % span)


def _shuffled(key: Source, x: Any, axis: int) -> Any:
    """Sorted by random numbers, so often that equal ones are unlikely (as JAX)."""
    size = math.prod(x.shape)
    for _ in range(math.ceil(3 * math.log(max(1, size)) / math.log(2**32 - 1))):
        key, part = split(key)
        drawn = whole_bits(part, 32, tuple(x.shape), "permutation")
        xp = space(drawn, x)
        x = xp.take_along_axis(x, xp.argsort(drawn, axis, kind="stable"), axis)
    return x


def permutation(key: Source, x: Any, axis: int = 0, independent: bool = False) -> Array:
    """The numbers below `x`, or an array along one axis, in random order.

    Parameters
    ----------
    key : Key or numpy.random.Generator
    x : int or array_like
        An array is differentiable.
    axis : int, optional
    independent : bool, optional
        Whether each line along the axis has an order of its own.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.permutation(fg.random.key(0), 5)
    array([0, 1, 4, 3, 2])
    """
    x = fnp.asarray(x)
    if not x.ndim:
        if x.dtype.kind not in "iu":
            raise TypeError(
                located("permutation: give an integer, or an array of one axis or more")
            )
        return permutation(key, np.arange(int(x)))
    (axis,) = normalize_axes(axis, x.ndim)
    if independent or x.ndim == 1:
        return _shuffled(key, x, axis)
    return fnp.take(x, _shuffled(key, np.arange(x.shape[axis]), 0), axis)


def choice(
    key: Source,
    a: Any,
    shape: Shape = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """Elements of an array, or numbers below `a`, chosen at random.

    Parameters
    ----------
    key : Key or numpy.random.Generator
    a : int or array_like
        An array is differentiable.
    shape : tuple of int, optional
        How many.
    replace : bool, optional
        Whether one may be chosen again.
    p : array_like, shape (n,), optional
        Probabilities; without a derivative.
    axis : int, optional
        The axis of `a` along which is chosen.
    mode : optional
        As of `gumbel`.

    Raises
    ------
    ValueError
        More are wanted than there are, or `p` has another length.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.random.choice(fg.random.key(0), np.array([1.0, 2.0, 3.0]), (4,)).shape
    (4,)
    """
    arr, shape = fnp.asarray(a), size_of(shape)
    count = math.prod(shape)
    if arr.ndim:
        (axis,) = normalize_axes(axis, arr.ndim)
    n = int(arr) if not arr.ndim else arr.shape[axis]
    if not count:
        return fnp.zeros(shape, arr.dtype)
    if n <= 0:
        raise ValueError(located("choice: there is nothing to choose from"))
    if not replace and count > n:
        raise ValueError(located(f"choice: {count} of {n} cannot be chosen without replacement"))
    if p is None and replace:
        found = randint(key, shape, 0, n)
    elif p is None:
        slices = (slice(None),) * axis + (slice(count),)
        drawn = permutation(key, arr if arr.ndim else n, axis)[slices]
        return fnp.reshape(drawn, _placed(arr, axis, shape))
    else:
        p = stop_gradient(fnp.asarray(p))
        if p.shape != (n,):
            raise ValueError(located(f"choice: p has shape {p.shape}; it has to be {(n,)}"))
        if replace:
            total = fnp.cumsum(p)
            level = total[-1] * (1 - uniform(key, shape, total.dtype))
            found = fnp.searchsorted(total, level)
        else:
            scores = gumbel(key, (n,), p.dtype, mode) + fnp.log(p)
            found = fnp.argsort(-scores, kind="stable")[:count]
    result = fnp.take(arr, found, axis) if arr.ndim else found
    return fnp.reshape(result, _placed(arr, axis, shape))


def _placed(arr: Any, axis: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    if not arr.ndim:
        return shape
    return (*arr.shape[:axis], *shape, *arr.shape[axis + 1 :])


def categorical(
    key: Source,
    logits: Any,
    axis: int = -1,
    shape: Shape = None,
    replace: bool = True,
    mode: str | None = None,
) -> Array:
    """Indices along an axis, with the probabilities ``softmax(logits)``.

    Parameters
    ----------
    key : Key or numpy.random.Generator
    logits : array_like
    axis : int, optional
        That of the categories.
    shape : tuple of int, optional
        Ends with the shape of `logits` without `axis`, which it is by default.
    replace : bool, optional
        Whether a category may be chosen again along the leading axes of `shape`.
    mode : optional
        As of `gumbel`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.random.categorical(fg.random.key(0), np.log([0.1, 0.9]), shape=(4,))
    array([1, 0, 1, 1])
    """
    x = stop_gradient(fnp.asarray(logits))
    (axis,) = normalize_axes(axis, x.ndim)
    own = (*x.shape[:axis], *x.shape[axis + 1 :])
    shape = broadcast_shape(own if shape is None else shape, "categorical", np.empty(own))
    lead, rest = shape[: len(shape) - len(own)], shape[len(shape) - len(own) :]
    kind = x.dtype if x.dtype.kind == "f" else FLOAT
    if replace:
        whole = (*rest[:axis], x.shape[axis], *rest[axis:])
        return fnp.argmax(gumbel(key, (*lead, *whole), kind, mode) + x, axis=len(lead) + axis)
    count = math.prod(lead)
    if count > x.shape[axis]:
        raise ValueError(
            located(f"categorical: {count} of {x.shape[axis]} cannot be drawn without replacement")
        )
    scores = fnp.moveaxis(x + gumbel(key, x.shape, kind, mode), axis, -1)
    found = fnp.argsort(-scores, axis=-1, kind="stable")[..., :count]
    return fnp.reshape(fnp.moveaxis(found, -1, 0), shape)


def geometric(key: Source, p: Any, shape: Shape = None, dtype: Any = None) -> Array:
    """How many trials it takes until one of probability `p` succeeds.

    Examples
    --------
    >>> import funcgrad as fg
    >>> bool((fg.random.geometric(fg.random.key(0), 0.3, (5,)) >= 1).all())
    True
    """
    shape = broadcast_shape(shape, "geometric", p)
    p = stop_gradient(fnp.asarray(p))
    u = uniform(key, shape, p.dtype if p.dtype.kind == "f" else FLOAT)
    found = fnp.floor(fnp.log(fnp.where(u == 0, 1.0, u)) / fnp.log1p(-p)) + 1
    return fnp.astype(found, np.int64 if dtype is None else dtype)


# ----------------------------------------------------------- quantiles that SciPy finds for us


def _quantile(guess: Any, below: Any, u: Any, most: Any) -> Any:
    """The least count k with ``below(k) >= u``, near to a guess."""
    k = np.clip(np.floor(np.where(np.isfinite(guess), guess, 0.0)), 0.0, most)
    for _ in range(4):
        k = np.where((k < most) & (below(k) < u), k + 1.0, k)
    for _ in range(4):
        k = np.where((k > 0) & (below(k - 1.0) >= u), k - 1.0, k)
    return k


def _poisson(u: Any, lam: Any) -> Any:
    import scipy.special as sp

    u, lam = np.broadcast_arrays(u, lam)
    usable = (lam > 0) & np.isfinite(lam)
    safe = np.where(usable, lam, 1.0)
    guess = safe + np.sqrt(safe) * sp.ndtri(u)
    with np.errstate(all="ignore"):
        fine = sp.pdtrik(u, safe)
    found = _quantile(
        np.where(np.isfinite(fine), fine, guess), lambda k: sp.pdtr(k, safe), u, np.inf
    )
    return np.where(usable, found, np.where(lam == 0, 0.0, -1.0))


def _binomial(u: Any, n: Any, p: Any) -> Any:
    import scipy.special as sp

    u, n, p = np.broadcast_arrays(u, np.floor(n), p)
    usable = (n >= 0) & np.isfinite(n) & (p >= 0) & (p <= 1)
    m, q = np.where(usable, n, 1.0), np.where(usable, p, 0.5)
    guess = m * q + np.sqrt(m * q * (1 - q)) * sp.ndtri(u)
    with np.errstate(all="ignore"):
        fine = sp.bdtrik(u, m, q)
    fine = np.where(np.isfinite(fine), fine, guess)
    found = _quantile(fine, lambda k: sp.bdtr(k, m.astype(np.int64), q), u, m)
    return np.where(usable, found, np.nan)


def _at(*ranges: tuple[float, ...]) -> Any:
    return lambda: [Sample(tuple(np.array(r) for r in ranges))]


HALVES = (0.2, 0.5, 0.9)
POISSON: Op = elementwise(
    Pointwise(_poisson, 2), name="poisson_quantile", sample=_at(HALVES, (0.5, 3.0, 200.0))
)
BINOMIAL: Op = elementwise(
    Pointwise(_binomial, 3), name="binomial_quantile", sample=_at(HALVES, (3.0, 9.0, 80.0), HALVES)
)


def poisson(key: Source, lam: Any, shape: Shape = None, dtype: Any = None) -> Array:
    """Counts of the Poisson distribution, whose mean is `lam`; -1 where that is none.

    Parameters
    ----------
    key : Key or numpy.random.Generator
    lam : array_like
    shape : tuple of int, optional
        By default that of `lam`.
    dtype : dtype, optional
        int64 by default.

    Notes
    -----
    The quantile of a uniform number, for which SciPy is needed.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.poisson(fg.random.key(0), 4.0, (1000,)).mean()
    np.float64(3.954)
    """
    shape = broadcast_shape(shape, "poisson", lam)
    u = uniform(key, shape, FLOAT, np.finfo(FLOAT).tiny, 1.0)
    found = POISSON(operand(u), operand(stop_gradient(fnp.astype(fnp.asarray(lam), FLOAT))))
    return fnp.astype(found, np.int64 if dtype is None else dtype)


def binomial(key: Source, n: Any, p: Any, shape: Shape = None, dtype: Any = None) -> Array:
    """How many of `n` trials of probability `p` succeed; NaN where that makes no sense.

    Parameters
    ----------
    key : Key or numpy.random.Generator
    n, p : array_like
    shape : tuple of int, optional
        By default that of the parameters.
    dtype : dtype, optional
        float64 by default, as JAX.

    Notes
    -----
    The quantile of a uniform number, for which SciPy is needed.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.random.binomial(fg.random.key(0), 10, 0.3, (1000,)).mean()
    np.float64(2.965)
    """
    shape = broadcast_shape(shape, "binomial", n, p)
    u = uniform(key, shape, FLOAT, np.finfo(FLOAT).tiny, 1.0)
    given = (operand(stop_gradient(fnp.astype(fnp.asarray(x), FLOAT))) for x in (n, p))
    return fnp.astype(BINOMIAL(operand(u), *given), FLOAT if dtype is None else dtype)


def multinomial(key: Source, n: Any, p: Any, *, shape: Shape = None, dtype: Any = None) -> Array:
    """How many of `n` trials have each of several results.

    Parameters
    ----------
    key : Key or numpy.random.Generator
    n : array_like
    p : array_like, shape (..., k)
        The probabilities of the results.
    shape : tuple of int, optional
        That of the result, (..., k); by default that of `p`.
    dtype : dtype, optional
        float64 by default, as JAX.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> float(fg.random.multinomial(fg.random.key(0), 10, np.array([0.2, 0.3, 0.5])).sum())
    10.0
    """
    p = stop_gradient(fnp.asarray(p))
    shape = tuple(p.shape) if shape is None else size_of(shape)
    p = fnp.broadcast_to(p, shape)
    rest = fnp.broadcast_to(fnp.astype(fnp.asarray(n), FLOAT), shape[:-1])
    left = fnp.flip(fnp.cumsum(fnp.flip(p, -1), -1), -1)
    ratios = fnp.clip(p / fnp.where(left == 0, 1.0, left), 0.0, 1.0)
    counts = []
    for k, part in enumerate(split(key, shape[-1])):
        counts.append(binomial(part, rest, ratios[..., k]))
        rest = rest - counts[-1]
    return fnp.astype(fnp.stack(counts, -1), FLOAT if dtype is None else dtype)
