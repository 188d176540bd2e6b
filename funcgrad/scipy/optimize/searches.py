"""Calls of SciPy's searches on traced values: staged, run on numbers, differentiated implicitly.

A search ends at a point where an equation holds. Its steps are not followed, since what they decide
they decide by comparisons; the derivative of the point is that of the equation's solution. The
user's functions are staged once, without knowing the point, with what they close over as operands;
SciPy calls them with numbers, also under `jit` and `vmap`.
"""

from __future__ import annotations

import functools
import inspect
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.optimize

from funcgrad.core.tracer import operand, running, type_of
from funcgrad.errors import (
    NotDifferentiableError,
    UnsupportedCallError,
    located,
)
from funcgrad.numpy.function_calls import FUNCTIONS, Record, unbox
from funcgrad.ops.arithmetic import cast, negative, where
from funcgrad.ops.shape import reshape
from funcgrad.scipy.calls import array, is_traced, staged
from funcgrad.scipy.watched import watched
from funcgrad.transforms.api import ShapeDtypeStruct, custom_jvp, jacobian, jvp, pure_callback
from funcgrad.transforms.implicit import no_tangents

__all__ = [
    "BOOL",
    "WHOLE",
    "Call",
    "Function",
    "Report",
    "array",
    "found",
    "is_traced",
    "known",
    "numbers",
    "of_equation",
    "search",
    "solve",
    "square",
    "unless_lost",
]

Function = Callable[..., Any]
BOOL, WHOLE = np.dtype(bool), np.dtype(np.int64)

_WITHIN: Any = threading.local()
"""Whether this thread is in a search of SciPy's that has been given numbers, by `deep`."""


class Report(scipy.optimize.OptimizeResult):  # type: ignore[misc]
    """SciPy's result, of which what is not given for traced values says so."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        text = f"the result has no {name!r}"
        if not name.startswith("_"):
            text += (
                f"; of a search on traced values it has {', '.join(self)}: search with "
                "funcgrad.value of what is traced for what SciPy tells else"
            )
        raise AttributeError(text, name=name)


class Call:
    """A call of a function of SciPy's: its arguments by name, and what is traced of them.

    Attributes
    ----------
    name : str
        The function's, with its module.
    given : dict
        The arguments that were given.
    held : list of arrays
        What the staged functions close over.
    """

    def __init__(self, name: str, own: Function, args: Any, kwargs: Any) -> None:
        self.name, self.own = name, own
        bound = _signature(own).bind(*args, **kwargs)
        self.given: dict[str, Any] = {}
        for key, value in bound.arguments.items():
            kind = bound.signature.parameters[key].kind
            self.given.update(value if kind is inspect.Parameter.VAR_KEYWORD else {key: value})
        self.held: list[Any] = []

    def get(self, name: str, default: Any = None) -> Any:
        return self.given.get(name, default)

    def refuse(self, *names: str, why: str) -> None:
        """Raise for arguments that are given, and say what to do."""
        for name in names:
            if self.get(name) is not None and self.get(name) is not False:
                self.fail(f"the keyword {name}= is not supported on traced values; {why}")

    def fail(self, what: str) -> None:
        raise UnsupportedCallError(located(f"{self.name}: {what}"))

    def constant(self, *names: str) -> None:
        """Raise where arguments are traced of which there is no derivative here."""
        for name in names:
            if is_traced(self.get(name)):
                self.fail(
                    f"{name}= has no derivative here; pass funcgrad.value of it if it is a constant"
                )

    @property
    def args(self) -> tuple[Any, ...]:
        args = self.get("args", ())
        return args if isinstance(args, tuple) else (args,)

    def staged(self, f: Function, *kinds: Any) -> Function:
        """``of(held)(*xs)``, which is ``f(*xs)`` for whatever is in the place of what it holds.

        With ``numbers=True`` for what is known: it has NumPy's bits.
        """
        if not is_traced(f):
            return lambda held, numbers=False: f
        made, consts = staged(f, *kinds, of=self.name)
        at = slice(len(self.held), len(self.held) + len(consts))
        self.held += consts

        def of(held: Any, numbers: bool = False) -> Function:
            run = made.on_numbers if numbers else made
            return lambda *xs: run(*xs, *held[at])

        return of

    def with_args(self, f: Function) -> Function:
        """`f` with the arguments `args` behind its own."""
        args = self.args
        return (lambda *xs: f(*xs, *args)) if args else f

    def run(self, **changed: Any) -> Any:
        """SciPy's search, in which functions of numbers stand for those given."""
        before = getattr(_WITHIN, "deep", False)
        _WITHIN.deep = True
        try:
            return self.own(**{**self.given, **changed})
        finally:
            _WITHIN.deep = before


@functools.cache
def _signature(own: Function) -> inspect.Signature:
    return inspect.signature(own)


def search(own: Function, define: Callable[[Call], Any], summary: str) -> Any:
    """The definition of SciPy's `own` for traced values, which may be in what it calls.

    Parameters
    ----------
    own : callable
        SciPy's function.
    define : callable
        ``define(call)`` gives the result where anything is traced.
    summary : str
        The first line of the docstring.
    """
    name, module = own.__name__, "scipy.optimize"
    theirs: Any = own.__wrapped__  # type: ignore[attr-defined]

    def call(*args: Any, **kwargs: Any) -> Any:
        if not running.count or getattr(_WITHIN, "deep", False):
            return theirs(*args, **kwargs)
        if is_traced((args, kwargs)):
            return define(Call(f"{module}.{name}", theirs, args, kwargs))
        plain = {k: unbox(x) for k, x in kwargs.items()}
        return watched(theirs, f"{module}.{name}", strict=True)(*map(unbox, args), **plain)

    call.__name__ = call.__qualname__ = name
    call.__module__ = define.__module__
    call.__doc__ = summary
    call.__signature__ = inspect.signature(theirs)  # type: ignore[attr-defined]
    call.record = Record(calls=True)  # type: ignore[attr-defined]
    FUNCTIONS[own] = call
    return call


# ------------------------------------------------------------------------------------- the theorem


def found(
    host: Function, kinds: Sequence[Any], step: Function, start: Sequence[Any], moving: Any
) -> Any:
    """What `host` finds, with derivatives by the operands `moving`.

    Parameters
    ----------
    host : callable
        ``host(start, *moving)`` on numbers gives arrays of the types `kinds`.
    step : callable
        ``step(out, moving, moved)`` gives the tangents of the first results; others have none.
    start : sequence of arrays
        What has no derivative, as the place where a search begins.
    """

    @custom_jvp
    def searched(start: Any, *moving: Any) -> Any:
        return pure_callback(host, tuple(kinds), start, *moving, vmap_method="sequential")

    @searched.defjvp
    def _(given: Any, moved: Any) -> Any:
        out = searched(*given)
        if not given[1:]:
            return out, no_tangents(out)
        made = step(out, given[1:], moved[1:])
        each = [cast(operand(t), k.dtype) for t, k in zip(made, kinds, strict=False)]
        return out, (*each, *no_tangents(out[len(each) :]))

    return searched(tuple(map(array, start)), *map(array, moving))


def of_equation(equation: Function, elementwise: bool) -> Function:
    """``moves(x, held, moved)``: the tangent of the x at which ``equation(x, *held)`` is 0."""

    def moves(x: Any, held: Any, moved: Any) -> Any:
        change = jvp(lambda *c: equation(x, *c), tuple(held), tuple(moved))[1]
        here = lambda x: equation(x, *held)
        if elementwise:
            ones = np.ones(type_of(operand(x)).shape, type_of(operand(x)).dtype)[()]
            return negative(change / jvp(here, (x,), (ones,))[1])
        shape = type_of(operand(x)).shape
        change = reshape(change, (math.prod(shape),))
        return reshape(negative(solve(square(jacobian(here)(x)), change)), shape)

    return moves


def square(x: Any) -> Any:
    """An array as a square matrix."""
    n = math.isqrt(math.prod(type_of(operand(x)).shape))
    return reshape(x, (n, n))


def solve(a: Any, b: Any) -> Any:
    """The solution of the linear equations for a tangent."""
    try:
        return FUNCTIONS[np.linalg.solve](a, b)
    except np.linalg.LinAlgError as error:
        raise NotDifferentiableError(
            located(
                "the derivative of a root or a minimum: the matrix of its equation is singular, so "
                "that equation does not determine the point"
            )
        ) from error


def unless_lost(ok: Any, t: Any) -> Any:
    """A tangent, NaN where the search has not ended: a choice would have the derivative 0."""
    return t * where(ok, 1.0, np.nan)


def numbers(x: Any, dtype: Any = None) -> Any:
    """The type of an argument that is an array of numbers."""
    kind = type_of(operand(array(x)))
    return ShapeDtypeStruct(kind.shape, dtype or np.result_type(kind.dtype, np.float64))


def known(notes: list[Any]) -> Any:
    """What a search has told, if it was made once and at once: `jit` and `vmap` make it later."""
    return notes[0] if len(notes) == 1 else None
