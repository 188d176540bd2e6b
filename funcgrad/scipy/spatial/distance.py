"""``funcgrad.scipy.spatial.distance``: distances of points, in pairs and between sets.

Every name, signature and value is SciPy's. Points, weights, variances and inverse covariances are
differentiable. Where a distance has no slope, the derivative is 0: that of a root (`euclidean`,
`seuclidean`, `mahalanobis`, `minkowski`, `jensenshannon`) where points coincide, and that of an
absolute value where coordinates do. Of several largest differences, `chebyshev` follows `max`.

Examples
--------
>>> import numpy as np
>>> import funcgrad as fg
>>> from funcgrad.scipy.spatial.distance import pdist
>>> x = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0]])
>>> fg.grad(lambda x: np.sum(pdist(x)))(x)
array([[-1.2, -1.6],
       [ 0.6,  0.8],
       [ 0.6,  0.8]])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial.distance as sp

import funcgrad.numpy as fnp
from funcgrad.core.boundary import publish
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import concrete, operand, type_of, value
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.samples import draw
from funcgrad.scipy.reasons import why_not
from funcgrad.scipy.valued import Valued, valued

__all__ = [
    "braycurtis",
    "canberra",
    "cdist",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "euclidean",
    "jensenshannon",
    "mahalanobis",
    "minkowski",
    "pdist",
    "seuclidean",
    "sqeuclidean",
    "squareform",
]

# -------------------------------------------------------------------------- distances of pairs


def _root(s: Array, power: float = 0.5) -> Array:
    """A power of a sum, with the derivative 0 where the sum is 0."""
    none = s == 0
    positive = fnp.where(none, 1.0, s)
    return fnp.where(none, 0.0, fnp.sqrt(positive) if power == 0.5 else positive**power)


def _sum(x: Array, w: Array | None) -> Array:
    return fnp.sum(x if w is None else w * x, -1)


def _minkowski(u: Array, v: Array, w: Array | None, p: float) -> Array:
    gap = fnp.abs(u - v)
    if p == 2:
        return _root(_sum(gap * gap, w))
    if p == 1:
        return _sum(gap, w)
    if np.isinf(p):
        return fnp.max(gap if w is None else fnp.where(w != 0, gap, 0.0), -1)
    return _root(_sum(_root(gap, p), w), 1.0 / p)


def _correlation(u: Array, v: Array, w: Array | None, centered: bool = True) -> Array:
    if w is not None:
        w = w / fnp.sum(w)
    if centered:
        u, v = (
            x - (fnp.mean(x, -1) if w is None else fnp.sum(x * w, -1))[..., None] for x in (u, v)
        )
    uv, uu, vv = (_sum(a * b, w) for a, b in ((u, v), (u, u), (v, v)))
    return fnp.clip(1.0 - uv / fnp.sqrt(uu * vv), 0.0, 2.0)


def _canberra(u: Array, v: Array, w: Array | None) -> Array:
    size = fnp.abs(u) + fnp.abs(v)
    none = size == 0
    each = fnp.abs(u - v) / fnp.where(none, 1.0, size)
    return _sum(fnp.where(none, 0.0, each), w)


def _relative_entropy(p: Array, m: Array) -> Array:
    none = p == 0
    return fnp.sum(fnp.where(none, 0.0, p * fnp.log(fnp.where(none, 1.0, p / m))), -1)


def _jensenshannon(u: Array, v: Array, base: float | None = None) -> Array:
    u, v = (x / fnp.sum(x, -1, keepdims=True) for x in (u, v))
    m = (u + v) / 2.0
    m = fnp.where(m == 0, 1.0, m)
    both = _relative_entropy(u, m) + _relative_entropy(v, m)
    both = both if base is None else both / np.log(base)
    return _root(fnp.maximum(both / 2.0, 0.0))


def _mahalanobis(u: Array, v: Array, inverse: Array) -> Array:
    d = u - v
    return _root(fnp.sum((d @ inverse) * d, -1))


METRICS: dict[str, Callable[..., Array]] = {
    "braycurtis": lambda u, v, w: _sum(fnp.abs(u - v), w) / _sum(fnp.abs(u + v), w),
    "canberra": _canberra,
    "chebyshev": lambda u, v, w: fnp.max(
        fnp.abs(u - v) if w is None else fnp.where(w > 0, fnp.abs(u - v), 0.0), -1
    ),
    "cityblock": lambda u, v, w: _sum(fnp.abs(u - v), w),
    "correlation": _correlation,
    "cosine": lambda u, v, w: _correlation(u, v, w, centered=False),
    "euclidean": lambda u, v, w: _root(_sum((u - v) ** 2, w)),
    "jensenshannon": lambda u, v, w: _jensenshannon(u, v),
    "sqeuclidean": lambda u, v, w: _sum((u - v) ** 2, w),
}
"""Of points along the last axis, with weights or None."""

ALIASES = {
    "chebychev": "chebyshev",
    "cheby": "chebyshev",
    "cheb": "chebyshev",
    "ch": "chebyshev",
    "cityblock": "cityblock",
    "cblock": "cityblock",
    "cb": "cityblock",
    "c": "cityblock",
    "co": "correlation",
    "cos": "cosine",
    "eu": "euclidean",
    "euclid": "euclidean",
    "e": "euclidean",
    "js": "jensenshannon",
    "mahal": "mahalanobis",
    "mah": "mahalanobis",
    "mi": "minkowski",
    "m": "minkowski",
    "pnorm": "minkowski",
    "se": "seuclidean",
    "s": "seuclidean",
    "sqe": "sqeuclidean",
    "sqeuclid": "sqeuclidean",
}
CONSTANT = ("dice", "hamming", "jaccard", "matching", "rogerstanimoto", "russellrao", "yule")


def _composed(u: Array, v: Array, more: Array | None, metric: str, p: float) -> Array:
    if metric == "minkowski":
        return _minkowski(u, v, more, p)
    if metric == "mahalanobis":
        assert more is not None
        return _mahalanobis(u, v, more)
    if metric == "seuclidean":
        assert more is not None
        return _root(fnp.sum((u - v) ** 2 / more, -1))
    return METRICS[metric](u, v, more)


def _keywords(metric: str, more: Any, p: float) -> dict[str, Any]:
    name = {"mahalanobis": "VI", "seuclidean": "V"}.get(metric, "w")
    found = {} if more is None else {name: more}
    return {**found, "p": p} if metric == "minkowski" else found


# ------------------------------------------------------------------------------- the records


def _between(a: Array, b: Array, *more: Array, metric: str, p: float) -> Array:
    return _composed(a[:, None, :], b[None, :, :], more[0] if more else None, metric, p)


def _within(x: Array, *more: Array, metric: str, p: float) -> Array:
    first, second = np.triu_indices(type_of(x).shape[0], 1)
    return _composed(x[first], x[second], more[0] if more else None, metric, p)


def _pair(u: Array, v: Array, *more: Array, metric: str, p: float) -> Array:
    return _composed(u, v, more[0] if more else None, metric, p)


def _pair_value(u: Any, v: Any, *more: Any, metric: str, p: float) -> Any:
    run = getattr(sp, metric)
    found = run(u, v, **_keywords(metric, more[0] if more else None, p))
    return np.asarray(found)[()]


def _pair_dtype(u: Any, v: Any, *more: Any, metric: str, p: float) -> Any:
    """That of SciPy's result for operands of these dtypes."""
    given = [np.array([1, 2, 4], u), np.array([2, 1, 3], v)]
    of_matrix = metric == "mahalanobis"
    given += [np.eye(3, dtype=d) if of_matrix else np.ones(3, d) for d in more]
    return _pair_value(*given, metric=metric, p=p).dtype


def _samples(operands: Any) -> list[Sample]:
    found = []
    for metric in (*METRICS, "minkowski", "mahalanobis", "seuclidean"):
        params = {"metric": metric, "p": 3.0 if metric == "minkowski" else 2.0}
        given = operands()
        if metric in ("jensenshannon", "braycurtis", "canberra"):
            given = tuple(np.abs(x) + 0.1 for x in given)
        n = given[0].shape[-1]
        matrix = np.eye(n) * 2.0 + 0.3 * draw((n, n)) @ draw((n, n)).T
        more: Any = ()
        if metric == "mahalanobis":
            more = (matrix,)
        elif metric in ("seuclidean", "cityblock", "minkowski", "correlation"):
            more = (draw((n,), 0.5, 1.5, 3),)
        found.append(Sample((*given, *more), params))
        if metric in ("euclidean", "cosine"):
            found.append(Sample((*given, draw((n,), 0.5, 1.5, 3)), params))
    return found


BETWEEN: Valued = valued(
    "distance_cdist",
    lambda a, b, *more, metric, p: sp.cdist(
        a, b, metric, **_keywords(metric, more[0] if more else None, p)
    ),
    _between,
    lambda: _samples(lambda: (draw((3, 4)), draw((2, 4), seed=1))),
)
WITHIN: Valued = valued(
    "distance_pdist",
    lambda x, *more, metric, p: sp.pdist(
        x, metric, **_keywords(metric, more[0] if more else None, p)
    ),
    _within,
    lambda: _samples(lambda: (draw((4, 3)),)),
)
PAIR: Valued = valued(
    "distance_of_two",
    _pair_value,
    _pair,
    lambda: _samples(lambda: (draw((4,)), draw((4,), seed=1))),
    dtype=_pair_dtype,
)

# ------------------------------------------------------------------------- SciPy's functions


def _known_metric(metric: Any) -> str:
    name = str(metric).lower()
    name = ALIASES.get(name, name)
    if name in CONSTANT or name in ("sokalsneath", "sokalmichener", "kulczynski1"):
        raise UnsupportedCallError(
            located(
                f"scipy.spatial.distance: {name!r} counts elements, so it has no derivative; apply "
                "it to funcgrad.value(x)"
            )
        )
    if name not in (*METRICS, "minkowski", "mahalanobis", "seuclidean"):
        raise ValueError(f"Unknown Distance Metric: {metric}")
    return name


def _points(x: Any, name: str) -> Array:
    x = as_array(x)
    if type_of(x).ndim != 2:
        raise ValueError(f"{name} must be a 2-dimensional array.")
    return cast(x, float)


def _parameters(metric: str, points: list[Array], given: dict[str, Any]) -> tuple[list[Array], Any]:
    """The operand that a metric needs beside the points, and its parameters."""
    given = {k: v for k, v in given.items() if v is not None}
    params = {"metric": metric, "p": 2.0}
    if metric == "minkowski":
        params["p"] = float(given.pop("p", 2.0))
    whole = points[0] if len(points) == 1 else fnp.concatenate(points, 0)
    more: list[Any] = []
    if metric == "seuclidean":
        more = [given.pop("V") if "V" in given else fnp.var(whole, 0, ddof=1)]
    elif metric == "mahalanobis":
        more = [given.pop("VI") if "VI" in given else _inverse_covariance(whole)]
    elif "w" in given:
        more = [given.pop("w")]
        _check_weights(operand(more[0]), type_of(whole).shape[-1])
    if given:
        raise TypeError(f"{metric} got an unexpected keyword argument {next(iter(given))!r}")
    return [cast(operand(m), float) for m in more], params


def _check_weights(w: Array, n: int) -> None:
    if type_of(w).shape != (n,):
        raise ValueError(
            "Weights must have same size as input vector. "
            f"{type_of(w).shape[0] if type_of(w).ndim else 1} vs. {n}"
        )
    if concrete(w) and np.any(np.asarray(value(w)) < 0):
        raise ValueError(located("Input weights should be all non-negative"))


def _inverse_covariance(x: Array) -> Array:
    count, n = type_of(x).shape
    if count <= n:
        raise ValueError(
            f"The number of observations ({count}) is too small; the covariance matrix is "
            f"singular. For observations with {n} dimensions, at least {n + 1} observations are "
            "required."
        )
    return fnp.transpose(fnp.linalg.inv(fnp.atleast_2d(fnp.cov(fnp.transpose(x)))))


@numpy_function(sp.cdist)
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Array:
    """The distances of each of the points `XA` to each of `XB`.

    A function as `metric` is called for each pair.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.spatial.distance import cdist
    >>> fg.grad(lambda x: cdist(x, np.zeros((1, 2)))[0, 0])(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """
    a, b = _points(XA, "XA"), _points(XB, "XB")
    if type_of(a).shape[1] != type_of(b).shape[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    if callable(metric):
        rows = range(type_of(a).shape[0]), range(type_of(b).shape[0])
        return fnp.stack(
            [fnp.stack([operand(metric(a[i], b[j], **kwargs)) for j in rows[1]]) for i in rows[0]]
        )
    more, params = _parameters(_known_metric(metric), [a, b], kwargs)
    found: Array = BETWEEN(a, b, *more, **params)
    return found


@numpy_function(sp.pdist)
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Array:
    """The distances of all pairs of points, as a vector (see `squareform`).

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.spatial.distance import pdist
    >>> fg.grad(lambda x: pdist(x)[0])(np.array([[0.0, 0.0], [3.0, 4.0]]))
    array([[-0.6, -0.8],
           [ 0.6,  0.8]])
    """
    x = as_array(X)
    if type_of(x).ndim != 2:
        raise ValueError("A 2-dimensional array must be passed.")
    x = cast(x, float)
    if callable(metric):
        pairs = zip(*np.triu_indices(type_of(x).shape[0], 1), strict=True)
        return fnp.stack([operand(metric(x[int(i)], x[int(j)], **kwargs)) for i, j in pairs])
    more, params = _parameters(_known_metric(metric), [x], kwargs)
    found: Array = WITHIN(x, *more, **params)
    return found


@numpy_function(sp.squareform)
def squareform(X: Any, force: str = "no", checks: bool = True) -> Array:
    """The symmetric matrix of distances of a vector of them, and the other way round.

    Of a matrix the upper triangle is read, so the derivative by the lower one is 0.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.spatial.distance import squareform
    >>> fg.grad(lambda d: np.sum(squareform(d)))(np.ones(3))
    array([2., 2., 2.])
    """
    x = as_array(X)
    shape = type_of(x).shape
    if force.lower() == "tomatrix" and len(shape) != 1:
        raise ValueError("Forcing 'tomatrix' but input X is not a distance vector.")
    if force.lower() == "tovector" and len(shape) != 2:
        raise ValueError("Forcing 'tovector' but input X is not a distance matrix.")
    if len(shape) == 1:
        d = int(np.ceil(np.sqrt(shape[0] * 2))) if shape[0] else 1
        if d * (d - 1) != shape[0] * 2:
            raise ValueError(
                "Incompatible vector size. It must be a binomial coefficient n choose 2 for some "
                "integer n >= 2."
            )
        first, second = np.triu_indices(d, 1)
        out = fnp.zeros((d, d), type_of(x).dtype)
        out[first, second] = x
        out[second, first] = x
        return out
    if len(shape) != 2:
        raise ValueError(
            "The first argument must be one or two dimensional array. A "
            f"{len(shape)}-dimensional array is not permitted"
        )
    if shape[0] != shape[1]:
        raise ValueError("The matrix argument must be square.")
    if checks and concrete(x):
        sp.is_valid_dm(np.asarray(value(x)), throw=True, name="X")
    return x[np.triu_indices(shape[0], 1)]


def _vectors(u: Any, v: Any) -> list[Array]:
    u, v = as_array(u), as_array(v)
    for x in (u, v):
        if type_of(x).ndim != 1:
            raise ValueError("Input vector should be 1-D.")
    if type_of(u).shape != type_of(v).shape:
        raise ValueError(
            f"operands could not be broadcast together with shapes {type_of(u).shape} "
            f"{type_of(v).shape}"
        )
    return [x if type_of(x).dtype.kind == "f" else cast(x, float) for x in (u, v)]


def _of_two(metric: str, u: Any, v: Any, w: Any = None, p: float = 2.0) -> Array:
    pair = _vectors(u, v)
    more = []
    if w is not None:
        w = operand(w)
        _check_weights(w, type_of(pair[0]).shape[0])
        more = [cast(w, float)]
    found: Array = PAIR(*pair, *more, metric=metric, p=float(p))
    return found


_DOC = """{what}

Examples
--------
>>> import numpy as np
>>> import funcgrad as fg
>>> from funcgrad.scipy.spatial.distance import {name}
>>> bool(np.all(np.isfinite(fg.grad({name})(np.array([1.0, 2.0]), np.array([2.0, 1.5])))))
True
"""
_WHAT = {
    "braycurtis": "The sum of absolute differences over that of absolute sums.",
    "canberra": "The sum of absolute differences, each over the sum of the absolute values.",
    "chebyshev": "The largest absolute difference.",
    "cityblock": "The sum of absolute differences.",
    "correlation": "1 minus the correlation of two vectors.",
    "cosine": "1 minus the cosine of the angle between two vectors.",
    "euclidean": "The length of the difference of two vectors.",
    "sqeuclidean": "The square of the length of the difference of two vectors.",
}


def _define(name: str) -> Callable[..., Array]:
    def distance(u: Any, v: Any, w: Any = None) -> Array:
        return _of_two(name, u, v, w)

    distance.__name__ = distance.__qualname__ = name
    distance.__doc__ = _DOC.format(what=_WHAT[name], name=name)
    return numpy_function(getattr(sp, name))(distance)


braycurtis = _define("braycurtis")
canberra = _define("canberra")
chebyshev = _define("chebyshev")
cityblock = _define("cityblock")
cosine = _define("cosine")
euclidean = _define("euclidean")
sqeuclidean = _define("sqeuclidean")


@numpy_function(sp.correlation)
def correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Array:
    """1 minus the correlation of two vectors.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.spatial.distance import correlation
    >>> fg.grad(correlation)(np.array([0.0, 1.0, 0.0]), np.array([0.0, 1.0, 2.0])).round(6)
    array([ 0.866025,  0.      , -0.866025])
    """
    return _of_two("correlation" if centered else "cosine", u, v, w)


@numpy_function(sp.minkowski)
def minkowski(u: Any, v: Any, p: float = 2, w: Any = None) -> Array:
    """The norm of order `p` of the difference of two vectors.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.spatial.distance import minkowski
    >>> fg.grad(lambda u: minkowski(u, np.zeros(2), 1))(np.array([3.0, -4.0]))
    array([ 1., -1.])
    """
    if p <= 0:
        raise ValueError("p must be greater than 0")
    return _of_two("minkowski", u, v, w, p)


@numpy_function(sp.seuclidean)
def seuclidean(u: Any, v: Any, V: Any) -> Array:
    """The length of the difference of two vectors, each coordinate over its variance.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.spatial.distance import seuclidean
    >>> fg.grad(lambda u: seuclidean(u, np.zeros(2), np.ones(2)))(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """
    pair, variance = _vectors(u, v), cast(as_array(V), float)
    if type_of(variance).shape != type_of(pair[0]).shape:
        raise TypeError("V must be a 1-D array of the same dimension as u and v.")
    found: Array = PAIR(*pair, variance, metric="seuclidean", p=2.0)
    return found


@numpy_function(sp.mahalanobis)
def mahalanobis(u: Any, v: Any, VI: Any) -> Array:
    """The length of the difference of two vectors, given an inverse covariance matrix.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.spatial.distance import mahalanobis
    >>> fg.grad(lambda u: mahalanobis(u, np.zeros(2), np.eye(2)))(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """
    inverse = fnp.atleast_2d(as_array(VI))
    found: Array = PAIR(*_vectors(u, v), inverse, metric="mahalanobis", p=2.0)
    return found


@numpy_function(sp.jensenshannon)
def jensenshannon(
    p: Any, q: Any, base: float | None = None, *, axis: int = 0, keepdims: bool = False
) -> Array:
    """The root of the Jensen–Shannon divergence of two distributions.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.spatial.distance import jensenshannon
    >>> fg.grad(jensenshannon)(np.array([0.5, 0.5]), np.array([0.5, 0.5]))  # where they are equal
    array([0., 0.])
    """
    p, q = (fnp.moveaxis(fnp.asarray(x) + 0.0, axis, -1) for x in (p, q))
    found: Array = JENSEN(operand(p), operand(q), base=None if base is None else float(base))
    return fnp.expand_dims(found, axis) if keepdims else found


JENSEN = valued(
    "distance_jensenshannon",
    lambda p, q, base: sp.jensenshannon(p, q, base, axis=-1),
    _jensenshannon,
    lambda: [Sample((draw((2, 3), 0.2, 1.0), draw((2, 3), 0.2, 1.0, 1)), {"base": 2.0})],
    leading=True,
    dtype=lambda p, q, base: sp.jensenshannon(np.ones(2, p), np.ones(2, q), base).dtype,
)

publish(__name__, reason=why_not(__name__))
