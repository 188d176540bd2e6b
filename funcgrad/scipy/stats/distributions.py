"""The methods of SciPy's distributions on traced values.

The value is SciPy's own method's, bit for bit; the derivatives are those of the formulas of the
row of the distribution (`families`, `written`, `discrete`), and under `jit` the formula is the
program. A quantile x of q has ``f(x) dx = dq - dF(x)``, with F the integral at a fixed place.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.stats as sps

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.forms.shared import align
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import TracerConversionError, UnsupportedCallError, located
from funcgrad.ops.arithmetic import (
    add,
    divide,
    multiply,
    negative,
    subtract,
)
from funcgrad.ops.constant import Constant, constant
from funcgrad.ops.shape import broadcast_to, unbroadcast
from funcgrad.scipy.dispatch import scipy_method
from funcgrad.scipy.stats.averages import average
from funcgrad.scipy.stats.formulas import (
    DISCRETE,
    ROWS,
    at_shapes,
    formula_of,
    moment_of,
    standard,
)
from funcgrad.scipy.stats.limits import LIMITS
from funcgrad.scipy.stats.operands import COUNT, number
from funcgrad.scipy.stats.trials import TRIALS, of_trials
from funcgrad.scipy.valued import Valued, valued
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.vjp import vjp

__all__ = ["COUNT", "ROWS", "method", "number", "record", "record_of"]

CONTINUOUS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
COUNTS = ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
MOMENTS = ("mean", "var", "std", "median", "entropy")


def _average(name: str, method: str) -> Callable[..., Any] | None:
    """By quantiles, where they have derivatives."""
    if name in DISCRETE or ROWS[name].cdf is None:
        return None

    def quantile(which: str) -> Callable[..., Any]:
        def of_shares(u: Any, *shapes: Any) -> Any:
            found = record(name, which)
            assert found is not None
            return bind(found, tuple(map(number, (u, *shapes, 0.0, 1.0))))

        return of_shares

    def log_density(x: Any, *shapes: Any) -> Any:
        return formula_of(name, "logpdf")(x, *shapes, 0.0, 1.0)

    return average(method, quantile("ppf"), quantile("isf"), log_density)


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
        composed, places = moment_of(name, method, _average), ()
    else:
        known = standard(ROWS[name], method)
        composed, places = formula_of(name, method) if known else None, _places(name)
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
    integral, density = formula_of(name, tail), formula_of(name, "pdf")
    way = 1.0 if method == "ppf" else -1.0

    def at_place(x: Any, moving: Sequence[int], rest: Sequence[Any]) -> Callable[..., Any]:
        def f(*moved: Any) -> Any:
            given = list(rest)
            for i, m in zip(moving, moved, strict=True):
                given[i] = m
            return integral(x, *given)

        return f

    def along_axis(x: Any, rest: Sequence[Any]) -> Any:
        """The slope by the scale; that by the location is 1, also where the density is 0."""
        *_, loc, scale = rest
        return divide(subtract(x, loc), scale)

    def pull(g: Any, x: Any, q: Any, *rest: Any, needs: Sequence[bool]) -> list[Any]:
        shapes = len(rest) - 2
        moving = [i for i, need in enumerate(needs[1 : 1 + shapes]) if need]
        found: list[Any] = [None] * len(needs)
        with np.errstate(all="ignore"):
            part = divide(g, multiply(way, density(x, *rest))) if needs[0] or moving else None
        if needs[0]:
            found[0] = unbroadcast(part, type_of(q))
        if moving:
            _, back = vjp(at_place(x, moving, rest), *(rest[i] for i in moving))
            for i, c in zip(moving, back(negative(part)), strict=True):
                found[i + 1] = c
        if needs[-2]:
            found[-2] = unbroadcast(broadcast_to(g, type_of(x).shape), type_of(rest[-2]))
        if needs[-1]:
            found[-1] = unbroadcast(multiply(g, along_axis(x, rest)), type_of(rest[-1]))
        return found

    def push(x: Any, xs: Sequence[Any], ts: Sequence[Any]) -> Any:
        rest, shapes = xs[1:], len(xs) - 3
        moving = [i for i, t in enumerate(ts[1 : 1 + shapes]) if t is not None]
        total = None if ts[0] is None else broadcast_to(ts[0], type_of(x).shape)
        if moving:
            given = tuple(rest[i] for i in moving), tuple(ts[i + 1] for i in moving)
            moved = negative(jvp(at_place(x, moving, rest), *given)[1])
            total = moved if total is None else add(total, moved)
        if total is not None:
            with np.errstate(all="ignore"):
                total = divide(total, multiply(way, density(x, *rest)))
        if ts[-2] is not None:
            shifted = broadcast_to(ts[-2], type_of(x).shape)
            total = shifted if total is None else add(total, shifted)
        if ts[-1] is not None:
            scaled = multiply(along_axis(x, rest), ts[-1])
            total = scaled if total is None else add(total, scaled)
        return total

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


def record_of(dist: Any, name: str) -> Valued | Explicit | Constant | None:
    """The record of a method of a distribution, which may be frozen, or None."""
    if not isinstance(dist, (sps.rv_continuous, sps.rv_discrete)):
        dist = getattr(dist, "dist", dist)
    row = str(dist.name)
    if type(getattr(sps, row, None)) is not type(dist):  # another with that name
        return None
    if row == "poisson_binom":
        return TRIALS.get(name)
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
    if dist.name == "poisson_binom" and (made := of_trials(name, given, keywords)) is not None:
        return made
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
    made.a, made.b = (at_shapes(end, shapes) for end in ROWS[self.name].support)
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

_RATHER = {
    "rvs": "draw u = rng.uniform(size=n) and call {0}.ppf(u, ...), or take funcgrad.random",
    "count": "a drawn count has no derivative; take that of {0}.logpmf, the score",
    "expect": "sum or integrate the function times {0}.{1} over a fixed range",
    "support": "it is where {0}.{1} is not 0",
}
"""What to call in place of a method whose own code computes for some distributions alone."""


def _attempt(holder: Any, name: str) -> None:
    own = inspect.getattr_static(holder, name).__wrapped__

    @scipy_method(holder, name)
    def define(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return own(self, *args, **kwargs)
        except TracerConversionError as error:
            full, counts = f"scipy.stats.{self.name}", isinstance(self, sps.rv_discrete)
            rather = _RATHER["count" if counts and name == "rvs" else name]
            rather = rather.format(full, "pmf" if counts else "pdf")
            raise UnsupportedCallError(
                located(f"{full}.{name} cannot compute with traced shapes; {rather}")
            ) from error


for _holder, _name in (
    (sps.rv_continuous.__mro__[1], "rvs"),
    (sps.rv_discrete, "rvs"),
    (sps.rv_discrete, "expect"),
    (sps.rv_continuous.__mro__[1], "support"),
):
    _attempt(_holder, _name)
