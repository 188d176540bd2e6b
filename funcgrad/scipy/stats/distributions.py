"""The methods of SciPy's distributions on traced values.

The value is SciPy's own method's, bit for bit; the derivatives are those of the formulas of the
row of the distribution (`families`, `written`, `discrete`), and under `jit` the formula is the
program. A quantile x of q has ``f(x) dx = dq - dF(x)``, with F the integral at a fixed place.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.stats as sps

from funcgrad.core.forms import Explicit, elementwise, explicit
from funcgrad.core.forms.shared import align
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.ops.arithmetic import (
    add,
    cast,
    divide,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    multiply,
    negative,
    sqrt,
    subtract,
    where,
)
from funcgrad.ops.constant import Constant, constant
from funcgrad.ops.shape import broadcast_to, unbroadcast
from funcgrad.ops.transcendental import exp, log
from funcgrad.scipy.dispatch import scipy_method
from funcgrad.scipy.special.define import fixed
from funcgrad.scipy.stats import discrete
from funcgrad.scipy.stats.counts import COUNTS as COUNTED
from funcgrad.scipy.stats.families import FAMILIES, Family
from funcgrad.scipy.stats.hyperbolic import HYPERBOLIC
from funcgrad.scipy.stats.limits import LIMITS
from funcgrad.scipy.stats.moments import with_moments
from funcgrad.scipy.stats.noncentral import NONCENTRAL
from funcgrad.scipy.stats.stable import STABLE
from funcgrad.scipy.stats.studentized import STUDENTIZED
from funcgrad.scipy.stats.whole_numbers import WHOLE
from funcgrad.scipy.stats.written import WRITTEN
from funcgrad.scipy.valued import Valued, valued
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.vjp import vjp

__all__ = ["COUNT", "ROWS", "method", "number", "record", "record_of"]

DISCRETE: dict[str, Family] = {**discrete.DISCRETE, **COUNTED}
_STATED: dict[str, Family] = {
    **FAMILIES, **NONCENTRAL, **WRITTEN, **LIMITS, **HYPERBOLIC, **WHOLE, **STABLE,
    **STUDENTIZED, **DISCRETE,
}  # fmt: skip
ROWS = {
    name: with_moments(name, row)
    for name, row in _STATED.items()
    if hasattr(sps, name)  # older releases lack some
}
CONTINUOUS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
COUNTS = ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
MOMENTS = ("mean", "var", "std", "median", "entropy")

# -------------------------------------------------------------------------------- formulas


def _standard(row: Family, name: str) -> Callable[..., Any] | None:
    """The formula of a method in standard form, without what lies outside the support."""
    if name in ("pmf", "pdf"):
        return lambda y, *s: exp(row.logpdf(y, *s))
    if name in ("logpmf", "logpdf"):
        return row.logpdf
    stated: Callable[..., Any] | None = getattr(row, name)
    if stated is not None or not name.startswith("log"):
        return stated
    plain: Callable[..., Any] | None = getattr(row, name[3:])
    return None if plain is None else lambda y, *s: log(plain(y, *s))


def _at(x: Any, shapes: Sequence[Any]) -> Any:
    return x(*shapes) if callable(x) else x


def _allowed(row: Family, shapes: Sequence[Any], scale: Any) -> Any:
    ok = greater(scale, 0)
    if row.allowed is not None:
        return logical_and(ok, row.allowed(*shapes))
    return functools.reduce(lambda found, s: logical_and(found, greater(s, 0)), shapes, ok)


_BEYOND = {  # to the left of the support, to the right of it
    "pdf": (0.0, 0.0),
    "logpdf": (-math.inf, -math.inf),
    "pmf": (0.0, 0.0),
    "logpmf": (-math.inf, -math.inf),
    "cdf": (0.0, 1.0),
    "logcdf": (-math.inf, 0.0),
    "sf": (1.0, 0.0),
    "logsf": (0.0, -math.inf),
}

COUNT = elementwise(
    np.floor,
    fixed("scipy.stats", "the count k"),
    name="scipy_stats_count",
    sample=lambda: [Sample((np.arange(3),))],
)


def _formula(name: str, method: str) -> Callable[..., Any]:
    """A method as a function of a place, the shapes, and the location and scale."""
    row, counts = ROWS[name], name in DISCRETE
    f = _standard(row, method)
    assert f is not None

    def composed(x: Any, *rest: Any) -> Any:
        *shapes, loc, scale = rest
        with np.errstate(all="ignore"):
            y = divide(subtract(x, loc), scale)
            if counts:
                given, y = y, COUNT(y)
            low, high = (_at(end, shapes) for end in row.support)
            if row.closed:
                within = logical_and(greater_equal(y, low), less_equal(y, high))
            else:
                within = logical_and(greater(y, low), less(y, high))
            inside = f(where(within, y, _at(row.inside, shapes)), *shapes)
            if method == "pdf":
                inside = divide(inside, scale)
            elif method == "logpdf":
                inside = subtract(inside, log(scale))
            left, right = _BEYOND[method]
            out = where(within, inside, where(less_equal(y, low), left, right))
            if method in ("pmf", "logpmf"):
                out = where(equal(given, y), out, left)
            good = logical_and(_allowed(row, shapes, scale), equal(y, y))
            return where(good, out, math.nan)

    return composed


def _moment(name: str, method: str) -> Callable[..., Any] | None:
    """A moment as a function of the shapes, and the location and scale."""
    row = ROWS[name]
    f = row.var if method == "std" else getattr(row, method)
    if f is None:
        return None

    def composed(*rest: Any) -> Any:
        *shapes, loc, scale = rest
        with np.errstate(all="ignore"):
            found = f(*shapes)
            if method == "mean":
                out = add(loc, multiply(scale, found))
            elif method == "entropy":
                out = add(found, log(scale) if name not in DISCRETE else 0.0 * scale)
            elif method == "var":
                out = multiply(found, multiply(scale, scale))
            else:
                out = multiply(sqrt(found), scale)
            # every operand counts for the shape of the result
            out = add(out, multiply(0.0, add(loc, scale)))
            return where(_allowed(row, shapes, scale), out, math.nan)

    return composed


# --------------------------------------------------------------------------------- records


def _value(name: str, method: str) -> Callable[..., Any]:
    """SciPy's method, of a place if there is one, the shapes, and the location and scale."""
    dist = getattr(sps, name)

    def value(*given: Any) -> Any:
        with np.errstate(all="ignore"):
            if name not in DISCRETE:
                made = getattr(dist, method)(*given)
            else:  # these have no scale
                made = getattr(dist, method)(*given[:-1])
        return np.asarray(made, np.float64)[()]

    value.__name__ = f"{name}_{method}"
    return value


def _samples(name: str, places: Any) -> Callable[[], list[Sample]]:
    scale = 1.0 if name in DISCRETE else 1.5
    rest = (*map(np.float64, ROWS[name].shapes), np.float64(0.0), np.float64(scale))
    return lambda: [Sample((*places, *rest))]


def _places(name: str) -> tuple[Any, ...]:
    dist = getattr(sps, name)
    if name in DISCRETE:
        return (dist.ppf(np.array([0.2, 0.6]), *ROWS[name].shapes),)
    return (dist.ppf(np.array([0.2, 0.6]), *ROWS[name].shapes) * 1.5,)


@functools.cache
def record(name: str, method: str) -> Valued | Explicit | Constant | None:
    """The record of a method of a distribution, or None where nothing is stated of it."""
    full = f"stats.{name}.{method}"
    if method in ("ppf", "isf"):
        return _quantile(name, method, full)
    if method in ("mean", "var", "std", "entropy"):
        composed, places = _moment(name, method), ()
    else:
        known = _standard(ROWS[name], method)
        composed, places = _formula(name, method) if known else None, _places(name)
    if composed is None:
        return None
    made: Valued = valued(
        full,
        _value(name, method),
        composed,
        _samples(name, places),
        batch=lambda _, xs, batched, params: bind(made, align(xs, batched), params),
    )
    return made


def _quantile_type(*types: ArrayType) -> ArrayType:
    return ArrayType(np.broadcast_shapes(*(t.shape for t in types)), np.dtype(float))


def _quantile(name: str, method: str, full: str) -> Explicit | Constant | None:
    value, sample = _value(name, method), _samples(name, (np.array([0.2, 0.6]),))
    if name in DISCRETE:  # steps
        steps: Constant = constant(
            full,
            value,
            _quantile_type,
            lambda _, xs, batched, params: bind(steps, align(xs, batched)),
            sample,
        )
        return steps
    if ROWS[name].cdf is None:
        return None
    tail = "cdf" if method == "ppf" else "sf"
    integral, density = _formula(name, tail), _formula(name, "pdf")
    way = 1.0 if method == "ppf" else -1.0

    def at_place(x: Any, moving: Sequence[int], rest: Sequence[Any]) -> Callable[..., Any]:
        def f(*moved: Any) -> Any:
            given = list(rest)
            for i, m in zip(moving, moved, strict=True):
                given[i] = m
            return integral(x, *given)

        return f

    def pull(g: Any, x: Any, q: Any, *rest: Any, needs: Sequence[bool]) -> list[Any]:
        moving = [i for i, need in enumerate(needs[1:]) if need]
        with np.errstate(all="ignore"):
            part = divide(g, multiply(way, density(x, *rest)))
        found: list[Any] = [None] * len(needs)
        if needs[0]:
            found[0] = unbroadcast(part, type_of(q))
        if moving:
            _, back = vjp(at_place(x, moving, rest), *(rest[i] for i in moving))
            for i, c in zip(moving, back(negative(part)), strict=True):
                found[i + 1] = c
        return found

    def push(x: Any, xs: Sequence[Any], ts: Sequence[Any]) -> Any:
        rest, moving = xs[1:], [i for i, t in enumerate(ts[1:]) if t is not None]
        total = None if ts[0] is None else broadcast_to(ts[0], type_of(x).shape)
        if moving:
            given = tuple(rest[i] for i in moving), tuple(ts[i + 1] for i in moving)
            moved = negative(jvp(at_place(x, moving, rest), *given)[1])
            total = moved if total is None else add(total, moved)
        with np.errstate(all="ignore"):
            return divide(total, multiply(way, density(x, *rest)))

    found: Explicit = explicit(
        full,
        value,
        type_rule=_quantile_type,
        vjp=pull,
        jvp=push,
        both="derived, jvps are up to 35 % faster, but 9 change a last digit once they are kept",
        batch=lambda _, xs, batched, params: bind(found, align(xs, batched)),
        sample=sample,
    )
    return found


# --------------------------------------------------------------------------------- methods


def number(x: Any) -> Array:
    """An operand in double precision, in which SciPy computes all distributions."""
    x = operand(x)
    kind = type_of(x)
    if kind.dtype == np.float64 and not kind.weak:
        return x
    return cast(x, np.float64)


def record_of(dist: Any, name: str) -> Valued | Explicit | Constant | None:
    """The record of a method of a distribution, which may be frozen, or None."""
    if not isinstance(dist, (sps.rv_continuous, sps.rv_discrete)):
        dist = getattr(dist, "dist", dist)
    row = str(dist.name)
    if type(getattr(sps, row, None)) is not type(dist):  # another with that name
        return None
    name = "ppf" if name == "median" else name
    known = row in ROWS and name in {*CONTINUOUS, *COUNTS, *MOMENTS}
    return record(row, name) if known else None


def method(dist: Any, name: str, given: Sequence[Any], keywords: dict[str, Any]) -> Array:
    """``dist.name(*given, **keywords)`` where something is traced."""
    if name == "median":
        given, name = (0.5, *given), "ppf"
    elif name not in MOMENTS and not given:  # the place by its name
        given = (keywords.pop(next(k for k in keywords if k in "xqk")),)
    found = record_of(dist, name)
    if found is None:
        raise UnsupportedCallError(
            located(
                f"scipy.stats.{dist.name}.{name} has no derivative here; write it with "
                "scipy.special, state a rule with funcgrad.custom_vjp, or apply it to "
                "funcgrad.value(x) if it is a constant"
            )
        )
    place = () if name in MOMENTS else given[:1]
    shapes, loc, scale = dist._parse_args(*given[len(place) :], **keywords)
    return bind(found, tuple(map(number, (*place, *shapes, loc, scale))))


_INSTEAD = {
    "fit": "differentiate the sum of {0}.logpdf(data, ...) and minimise it",
    "moment": "call {0}.mean and {0}.var, or integrate x**n * {0}.pdf(x, ...)",
    "stats": "call {0}.mean and {0}.var",
}
"""What to call in place of a method that asks for numbers."""


def _refuse(holder: Any, name: str) -> None:
    @scipy_method(holder, name)
    def define(self: Any, *_: Any, **__: Any) -> Array:
        full = f"scipy.stats.{self.name}"
        raise UnsupportedCallError(
            located(
                f"{full}.{name} cannot compute with traced values; {_INSTEAD[name].format(full)}"
            )
        )


@scipy_method(sps.norm, "freeze")
def _freeze(self: Any, *args: Any, **keywords: Any) -> Any:
    """What SciPy's constructor of frozen distributions does, with the support of the row.

    Some of SciPy's own write their support into an array of numbers.
    """
    if self.name not in LIMITS:
        return FREEZE(self, *args, **keywords)
    made: Any = object.__new__(type(sps.norm()))
    made.args, made.kwds, made.dist = args, keywords, type(self)(**self._updated_ctor_param())
    shapes, *_ = made.dist._parse_args(*args, **keywords)
    shapes = tuple(map(number, shapes))
    made.a, made.b = (_at(end, shapes) for end in ROWS[self.name].support)
    return made


FREEZE = inspect.getattr_static(type(sps.norm), "freeze").__wrapped__


def _state(holder: Any, name: str) -> None:
    @scipy_method(holder, name)
    def define(self: Any, *given: Any, **keywords: Any) -> Array:
        return method(self, name, given, dict(keywords))


for _holder, _names in (
    (sps.rv_continuous, CONTINUOUS),
    (sps.levy_stable, ("pdf", "cdf")),
    (sps.rv_discrete, COUNTS),
    (sps.norm, MOMENTS),
):
    for _name in _names:
        _state(_holder, _name)
for _name in _INSTEAD:
    if _name != "fit":
        _refuse(sps.norm, _name)
_refuse(sps.rv_continuous, "fit")
