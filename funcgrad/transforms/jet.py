"""`jet`: Taylor coefficients of any order in one pass, from the rules that the records have.

A value carries its series. An operation that is linear in what moves is applied to each of them,
one that is linear in each operand by itself to all pairs (Cauchy's product). Of all others the
series follows from the derivative, y' = jvp(y, x)·x': the stated rule is run once, on series, and
what it needs of `y` itself are coefficients of a lower order than the one that is asked for. So
coefficients are computed when they are asked for, each once, and equal operations within rules are
one, so that the work grows with a power of the order, and not exponentially.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.core.forms import Elementwise
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import Trace, Tracer, bind, operand, plain, serial, type_of
from funcgrad.core.types import Array, is_inexact, zeros
from funcgrad.errors import CotangentError, located
from funcgrad.graph.interpret import evaluate
from funcgrad.ops.arithmetic import add, cast, multiply
from funcgrad.ops.shape import broadcast_as
from funcgrad.transforms.arguments import leaves_of, lower, name_of
from funcgrad.transforms.forward import DualTracer, Forward
from funcgrad.transforms.results import apart, handed_back, own

__all__ = ["jet"]

Function = Callable[..., Any]


class Coefficients:
    """The coefficients of a series, made one after the other; None is zero."""

    __slots__ = ("known", "rule")

    def __init__(self, first: Array, rule: Callable[[int], Array | None]) -> None:
        self.known: list[Array | None] = [first]
        self.rule = rule

    def __getitem__(self, k: int) -> Array | None:
        while len(self.known) <= k:
            self.known.append(self.rule(len(self.known)))
        return self.known[k]


class JetTracer(Tracer):
    """A value with its series, of which `value` is the first coefficient."""

    __slots__ = ("born", "series")
    series: Coefficients

    def __init__(self, trace: Jet, series: Coefficients) -> None:
        self.value, self.owner, self.series = series[0], trace, series
        self.born = next(serial)

    def assign(self, new: Tracer) -> None:
        assert isinstance(new, JetTracer)
        self.value, self.series = new.value, new.series


class Jet(Trace):
    """The trace of `jet`: series up to an order."""

    __slots__ = ("inside", "known", "order")
    what: ClassVar[str] = "a jet"

    def __init__(self, order: int) -> None:
        super().__init__()
        self.order = order
        self.inside = 0  # how many rules are running: what they ask for is computed on demand
        self.known: dict[Any, Any] = {}  # the operations within rules, with what they are held by

    def process(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        if self.closed:
            raise self.leaked()
        if "graph" in params and prim.form == "higher_order":
            return evaluate(params["graph"], *args)
        if not self.inside:
            made = self._made(prim, args, params)
            for y in made if prim.multiple else (made,):
                if isinstance(y, JetTracer):
                    _ = y.series[self.order]
            return made
        key = _key(prim, args, params)
        if key not in self.known:
            self.known[key] = self._made(prim, args, params), args
        return self.known[key][0]

    def _made(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        moving = [isinstance(a, JetTracer) and a.owner is self for a in args]
        first = [a.value if m else a for a, m in zip(args, moving, strict=True)]
        y = bind(prim, first, params)
        if not prim.differentiable:
            return y
        if _is_affine(prim, moving, params):
            return self._affine(prim, args, moving, first, y, params)
        if not prim.multiple and _is_linear_in_each(prim, moving, params):
            return self.tracer(y, lambda k: _product(prim, args, moving, params, k))
        return self._by_derivative(prim, args, moving, y, params)

    def tracer(self, first: Array, rule: Callable[[int], Array | None]) -> Array:
        """A value with this series; the value alone where it has no derivative."""
        if not is_inexact(type_of(first).dtype):
            return first
        return JetTracer(self, Coefficients(first, rule))

    def _affine(
        self,
        prim: Primitive,
        args: Sequence[Array],
        moving: Sequence[bool],
        first: Sequence[Array],
        y: Any,
        params: Params,
    ) -> Any:
        """The derivative is the same everywhere: each coefficient is one of its own."""
        found: dict[int, Any] = {}

        def at(k: int) -> Any:
            if k not in found:
                ts = [_at(a, k) if m else None for a, m in zip(args, moving, strict=True)]
                still = all(t is None for t in ts)
                found[k] = None if still else prim.jvp(y, first, ts, params)
            return found[k]

        if not prim.multiple:
            return self.tracer(y, lambda k: plain(at(k)))

        def part(i: int, k: int) -> Any:
            whole = at(k)
            return None if whole is None else plain(whole[i])

        return tuple(
            self.tracer(o, lambda k, i=i: part(i, k))  # type: ignore[misc]
            for i, o in enumerate(y)
        )

    def _by_derivative(
        self, prim: Primitive, args: Sequence[Array], moving: Sequence[bool], y: Any, params: Params
    ) -> Any:
        """y' from the rule of the record, run on series; k y_k is its coefficient k - 1."""
        outputs: list[Array] = []
        held: list[Any] = []

        def slopes() -> Sequence[Any]:
            if not held:
                ts = [self._slope(a) if m else None for a, m in zip(args, moving, strict=True)]
                self.inside += 1
                try:
                    found = self._derivative(prim, outputs, args, ts, params)
                finally:
                    self.inside -= 1
                held.append([self._series(t) for t in found])
            found_: Sequence[Any] = held[0]
            return found_

        def rule(i: int) -> Callable[[int], Array | None]:
            def at(k: int) -> Array | None:
                slope = slopes()[i]
                d = None if slope is None else slope[k - 1]
                if d is None:
                    return None
                aval = type_of(outputs[i])
                d = broadcast_as(d, aval.shape, aval.dtype)
                return d if k == 1 else multiply(d, type_of(d).dtype.type(1.0 / k))

            return at

        values = y if prim.multiple else (y,)
        outputs += [self.tracer(o, rule(i)) for i, o in enumerate(values)]
        return tuple(outputs) if prim.multiple else outputs[0]

    def _derivative(
        self,
        prim: Primitive,
        outputs: Sequence[Array],
        args: Sequence[Array],
        ts: Sequence[Array | None],
        params: Params,
    ) -> Sequence[Any]:
        if prim.form == "higher_order":
            with Forward() as trace:
                duals = [
                    a if t is None else DualTracer(a, trace, t)
                    for a, t in zip(args, ts, strict=True)
                ]
                found = bind(prim, duals, params)
                outs = found if prim.multiple else (found,)
                return [trace.tangent(o) for o in outs]
        y = tuple(outputs) if prim.multiple else outputs[0]
        t = prim.jvp(y, list(args), ts, params)
        if not prim.multiple:
            return [plain(t)]
        return [None] * len(outputs) if t is None else [plain(s) for s in t]

    def _slope(self, x: Any) -> Array:
        """The derivative of a series."""
        series = x.series

        def at(k: int) -> Array | None:
            c = series[k + 1]
            return None if c is None else multiply(c, type_of(c).dtype.type(k + 1))

        first = at(0)
        aval = type_of(x.value)
        return JetTracer(self, Coefficients(zeros(aval) if first is None else first, at))

    def _series(self, x: Any) -> Any:
        """The series of what a rule returned, where it has one."""
        if isinstance(x, JetTracer) and x.owner is self:
            return x.series
        return None if x is None else Coefficients(x, lambda k: None)


def _key(prim: Primitive, args: Sequence[Array], params: Params) -> Any:
    """What two equal operations have in common; operands are held, so an id stays its own."""
    parts = tuple(
        (type(a), repr(a)) if isinstance(a, (int, float, complex)) else id(a) for a in args
    )
    try:
        found = prim, parts, tuple(sorted(params.items(), key=lambda p: p[0]))
        hash(found)
    except TypeError:
        return object()
    return found


def _at(x: Any, k: int) -> Array | None:
    found: Array | None = x.series[k]
    return found


def _is_affine(prim: Primitive, moving: Sequence[bool], params: Params) -> bool:
    if isinstance(prim, Elementwise):
        partials = [d for d, m in zip(prim.partials, moving, strict=True) if m]
        if not any(map(callable, partials)):
            return True
    return prim.is_linear(moving, params)


def _is_linear_in_each(prim: Primitive, moving: Sequence[bool], params: Params) -> bool:
    places = [i for i, m in enumerate(moving) if m]
    each = ([j == i for j in range(len(moving))] for i in places)
    return len(places) > 1 and all(prim.is_linear(one, params) for one in each)


def _product(
    prim: Primitive, args: Sequence[Any], moving: Sequence[bool], params: Params, k: int
) -> Array | None:
    """Coefficient `k` of a product: all terms whose orders add up to it."""
    count, total = sum(moving), None
    for orders in _orders(k, count):
        order = iter(orders)
        xs = [_at(a, next(order)) if m else a for a, m in zip(args, moving, strict=True)]
        if all(x is not None for x in xs):
            term = bind(prim, [x for x in xs if x is not None], params)
            total = term if total is None else add(total, term)
    return total


def _orders(k: int, count: int) -> Iterator[tuple[int, ...]]:
    """All ways to make `k` of so many terms."""
    for cuts in itertools.combinations(range(k + count - 1), count - 1):
        bounds = (-1, *cuts, k + count - 1)
        yield tuple(b - a - 1 for a, b in itertools.pairwise(bounds))


@boundary
def jet(
    f: Function,
    primals: Sequence[Any],
    series: Sequence[Sequence[Any]],
    factorial_scaled: bool = True,
) -> Any:
    """The derivatives of `f` along a curve, to any order, in one pass (Taylor mode).

    Parameters
    ----------
    f : callable
        Its output may be any tree of arrays.
    primals : tuple
        The arguments: where the curve x(t) is at t = 0. Trees of floating point arrays.
    series : tuple of sequences
        For each argument the derivatives of the curve at 0, from the first one on: as many for each
        as orders are wanted.
    factorial_scaled : bool, optional
        Whether series hold derivatives; else Taylor coefficients, which are these over k!.

    Returns
    -------
    output, series
        ``f(x(0))``, and in the tree of the output a list of the derivatives of f(x(t)) at 0.

    Raises
    ------
    CotangentError
        Series of different lengths, or with another tree or shape than their primal.
    NotDifferentiableError
        An operation has no derivative in forward mode.

    Notes
    -----
    Every operation with a derivative is followed: linear and multilinear ones and products cost a
    multiple of the square of the order, others some more. Nesting `jvp` costs 2 to its power.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.jet(np.sin, (0.0,), ((1.0, 0.0, 0.0),))
    (np.float64(0.0), [np.float64(1.0), np.float64(0.0), np.float64(-1.0)])
    """
    if len(primals) != len(series):
        raise CotangentError(
            located(f"jet of {name_of(f)}: {len(primals)} primals and {len(series)} series")
        )
    order = max(map(len, series), default=0)
    if any(len(terms) != order for terms in series):
        raise CotangentError(
            located(
                f"jet of {name_of(f)}: all series need one length, not {list(map(len, series))}"
            )
        )
    leaves, definition = leaves_of(tuple(primals), "the primals")
    terms = [_terms(f, p, s) for p, s in zip(primals, series, strict=True)]
    columns = [c for group in terms for c in group]
    with Jet(order) as trace:
        inputs = []
        for x, column in zip(leaves, columns, strict=True):
            given = [_scaled(c, k, factorial_scaled, False) for k, c in enumerate(column, 1)]
            made = trace.tracer(x, lambda k: None)
            if isinstance(made, JetTracer):
                made.series.known += [cast(c, type_of(x).dtype) for c in given]
            inputs.append(made)
        outputs, out_definition = leaves_of(
            f(*tree.unflatten(definition, inputs)), ("the output", f)
        )
        found = []
        for o in outputs:
            mine = isinstance(o, JetTracer) and o.owner is trace
            found.append([o.series[k] if mine else None for k in range(1, order + 1)])
        values = apart([lower(o, trace) for o in outputs], leaves)
    lists = []
    for v, column in zip(values, found, strict=True):
        whole = [
            zeros(type_of(v)) if c is None else _scaled(c, k, factorial_scaled, True)
            for k, c in enumerate(column, 1)
        ]
        lists.append(handed_back(tree.structure(whole), own(whole, [*leaves, *values])))
    return handed_back(out_definition, values), tree.unflatten(out_definition, lists)


def _terms(f: Function, primal: Any, series: Sequence[Any]) -> list[list[Array]]:
    """For each leaf of an argument its derivatives."""
    leaves, definition = leaves_of(primal, "the primals")
    rows = []
    for term in series:
        found, got = leaves_of(term, "a series")
        shapes = [type_of(c).shape for c in found]
        if got != definition or shapes != [type_of(x).shape for x in leaves]:
            raise CotangentError(
                located(
                    f"jet of {name_of(f)}: a term of a series has tree {got} and shapes {shapes}; "
                    f"its primal has {definition} and {[type_of(x).shape for x in leaves]}"
                )
            )
        rows.append(found)
    return [[row[i] for row in rows] for i in range(len(leaves))]


def _scaled(c: Any, k: int, factorial_scaled: bool, up: bool) -> Any:
    """A derivative of order `k` as a coefficient, or the other way `up`."""
    c = operand(c)
    if not factorial_scaled or k == 1:
        return c
    factor = float(math.factorial(k))
    return multiply(c, factor if up else 1.0 / factor)
