"""Custom derivative rules: `custom_vjp` and `custom_jvp`.

They bind the arguments, take trees apart, check what the user's rules return, and hand flat
functions to the operations of `custom_call`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any, Generic, NamedTuple, cast

import numpy as np

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import Operand, Tracer, bind, operand, running, twin, type_of
from funcgrad.core.types import Array, ArrayType, is_inexact, zeros
from funcgrad.errors import CustomRuleError, OperandError, TreeError, located
from funcgrad.ops.arithmetic import add
from funcgrad.ops.shape import broadcast_as
from funcgrad.transforms.arguments import leaves_of, name_of, positions, within
from funcgrad.transforms.custom_call import (
    CUSTOM_JVP,
    CUSTOM_VJP,
    CustomVJPPrimal,
    JvpRule,
    SymbolicZero,
    VjpRule,
)
from funcgrad.transforms.guard import Watches, small_copy, verify, watch
from funcgrad.transforms.results import apart, handed_back
from funcgrad.transforms.signatures import P, R
from funcgrad.transforms.transformed import described, named

__all__ = ["CustomVJPPrimal", "SymbolicZero", "custom_jvp", "custom_vjp"]

Function = Callable[..., Any]


def _dense(x: Any) -> Any:
    return zeros(x.aval) if isinstance(x, SymbolicZero) else x


class _Custom(Generic[P, R]):
    """Shared by both: binding of arguments, static positions, flattening."""

    is_transformed = True
    single = False  # whether `vmap` hands the function one example at a time

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        functools.update_wrapper(cast(Any, self), fun, updated=())
        self.fun = fun
        self.nondiff = positions(nondiff_argnums, f"{name_of(fun)}: nondiff_argnums")
        self.symbolic = False  # whether the rule is told which tangents and cotangents are zero
        if nondiff_argnames:
            names = (nondiff_argnames,) if isinstance(nondiff_argnames, str) else nondiff_argnames
            self.nondiff += tuple(k for k in self._places(names) if k not in self.nondiff)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """By name where that leads here, as functions are pickled, else by what it is made of."""
        return named(self) or super().__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {described(self.fun)}>"

    def _places(self, names: Sequence[str]) -> list[int]:
        """The positions of arguments by name; those without a position are constants anyway."""
        parameters = inspect.signature(self.fun).parameters
        unknown = [n for n in names if n not in parameters]
        if unknown:
            raise ValueError(
                located(
                    f"{name_of(self.fun)}: nondiff_argnames name {unknown[0]!r}, which it lacks"
                )
            )
        order = [n for n, p in parameters.items() if p.kind is not p.KEYWORD_ONLY]
        return [order.index(n) for n in names if n in order]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(cast(Any, self), instance)

    @functools.cached_property
    def _count(self) -> int:
        """How many arguments have a position and a name, of a function written in Python.

        Others have options that no rule knows: the memory for the result of a ufunc.
        """
        if not isinstance(self.fun, (FunctionType, MethodType)):
            return 0
        parameters = inspect.signature(self.fun).parameters.values()
        return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)

    def _arguments(self, args: Any, kwargs: Any) -> Arguments:
        """Arguments by position where they have one; static ones apart from the others."""
        named: dict[str, Any] = {}
        if kwargs or len(args) < self._count:  # the rule gets defaults like any other argument
            bound = inspect.signature(self.fun).bind(*args, **kwargs)
            bound.apply_defaults()
            args, named = bound.args, {k: v for k, v in bound.kwargs.items() if k in kwargs}
            self._check_named(named)
        places = within(self.nondiff, len(args), f"{name_of(self.fun)}: nondiff_argnums")
        static = [args[k] for k in places]
        return Arguments(places, static, [a for k, a in enumerate(args) if k not in places], named)

    def _check_named(self, named: dict[str, Any]) -> None:
        """What can be given by name only is a constant of the rule."""
        for name, given in named.items():
            if any(isinstance(leaf, Operand) for leaf in tree.leaves(given)):
                raise CustomRuleError(
                    located(
                        f"{name_of(self.fun)} has a custom derivative rule, and its argument "
                        f"{name!r}, which has no position, is traced; its gradient would be lost: "
                        "give the argument a position"
                    )
                )


class Arguments(NamedTuple):
    """The arguments of a call with a custom rule."""

    places: tuple[int, ...]  # of the static ones
    static: list[Any]
    dynamic: list[Any]
    named: dict[str, Any]  # what can be given by name only: constants

    def merged(self, dynamic: Sequence[Any]) -> list[Any]:
        """All that have a position, with `dynamic` in their places."""
        merged = list(dynamic)
        for k, s in sorted(zip(self.places, self.static, strict=True), key=lambda p: p[0]):
            merged.insert(k, s)
        return merged


class _Lent:
    """Lends arrays that derivatives are computed from to a rule, which may write into them.

    The rule gets copies, of large arrays the arrays themselves: a write into one is an error.
    Where nothing is traced, the function of the user is called as it is.
    """

    def __init__(self, traced: bool = True) -> None:
        self.traced = traced
        self.watches: Watches = {}

    def __enter__(self) -> Function:
        return self._lend

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if kind is None:
            verify(self.watches)

    def _lend(self, xs: Sequence[Any]) -> list[Any]:
        return list(map(self._one, xs)) if self.traced else list(xs)

    def _one(self, x: Any) -> Any:
        if isinstance(x, Tracer):
            return twin(x)
        if type(x) is not np.ndarray:
            return x
        copy = small_copy(x)
        if copy is None:
            watch(self.watches, x)
        return x if copy is None else copy


def _numbered(given: Any, count: int, what: str) -> Sequence[Any]:
    if not isinstance(given, (tuple, list)) or len(given) != count:
        got = f"{len(given)}" if isinstance(given, (tuple, list)) else type(given).__name__
        raise CustomRuleError(
            located(f"{what} has to return a tuple of {count}, one for each argument; got {got}")
        )
    return given


class custom_vjp(_Custom[P, R]):
    """A function with its own reverse rule.

    Parameters
    ----------
    fun : callable
        The function; its value is used where nothing is differentiated.
    nondiff_argnums : int or sequence of int, optional
        Arguments that are not differentiated and may be anything; `bwd` gets them first.
    nondiff_argnames : str or sequence of str, optional
        The same by name.

    Notes
    -----
    ``defvjp(fwd, bwd)``: ``fwd(*args)`` returns ``(output, residuals)``, and ``bwd(*nondiff,
    residuals, cotangent)`` a tuple with one cotangent (or None for zero) for each other argument.
    Forward mode is derived by transposing `bwd`, which has to be linear in the cotangent, unless
    ``defvjp(fwd, bwd, jvp)`` states its rule too. Both get the defaults of arguments that were left
    out. Arguments that can be given by name only are
    constants: `fwd` gets them, and they must not be traced.

    Raises
    ------
    CustomRuleError
        No rule was given, a rule returns the wrong number, tree or shape, or the function closes
        over a traced value.
    NotDifferentiableError
        In forward mode: `bwd` is not linear in the cotangent.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> @fg.custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, g: (np.clip(g, -1.0, 1.0),))
    >>> fg.grad(lambda x: 5.0 * clipped(x))(2.0)
    np.float64(1.0)
    """

    fwd: Function | None = None
    bwd: Function | None = None
    jvp: Function | None = None
    linear_in: int = 0  # in how many of the first leaves, taken together, it is linear

    @boundary
    def defvjp(
        self,
        fwd: Function,
        bwd: Function,
        jvp: Function | None = None,
        *,
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """State the rule; with `jvp`, as `custom_jvp` takes it, that of forward mode as well.

        With `symbolic_zeros`, `fwd` gets a `CustomVJPPrimal` in the place of each array, which says
        whether it is differentiated by, and `bwd` a `SymbolicZero` where a cotangent is known to be
        zero. `optimize_remat` is accepted: nothing is kept that the backward pass does not read.
        """
        self.fwd, self.bwd, self.jvp = fwd, bwd, jvp
        self.symbolic = symbolic_zeros

    @boundary
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        given = self._arguments(args, kwargs)
        leaves, definition = leaves_of(tuple(given.dynamic), ("the arguments", self.fun))
        box: dict[str, Any] = {}
        rule = self._rule(given, definition, box)
        outs = bind(CUSTOM_VJP, leaves, {"rule": rule})
        found: R = handed_back(box["out"], apart(outs, leaves))
        return found

    def _rule(self, given: Arguments, definition: Any, box: dict[str, Any]) -> VjpRule:
        name, fwd, bwd = name_of(self.fun), self.fwd, self.bwd
        if fwd is None or bwd is None:
            raise CustomRuleError(located(f"{name} has no rule yet; call defvjp(fwd, bwd) first"))

        def flat(out: Any) -> list[Any]:
            leaves, box["out"] = leaves_of(out, f"the output of {name}")
            return leaves

        def flat_fun(*xs: Any) -> list[Any]:
            with _Lent(bool(running.count)) as lend:
                merged = given.merged(tree.unflatten(definition, lend(xs)))
                return flat(self.fun(*merged, **given.named))

        def flat_fwd(*xs: Any, moving: Sequence[bool] | None = None) -> tuple[list[Any], Any]:
            with _Lent() as lend:
                lent = lend(xs)
                if self.symbolic:
                    flags = moving or [True] * len(lent)
                    lent = list(map(CustomVJPPrimal, lent, flags))
                merged = given.merged(tree.unflatten(definition, lent))
                pair = fwd(*merged, **given.named)
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise CustomRuleError(
                    located(f"the forward rule of {name} has to return (output, residuals)")
                )
            box["types"] = [type_of(x) for x in xs]
            return flat(pair[0]), tree.map(_content, pair[1])

        def flat_bwd(residuals: Any, cts: Sequence[Any]) -> list[Any]:
            leaves, kept = tree.flatten(residuals)
            with _Lent() as lend:
                residuals = tree.unflatten(kept, lend(leaves))
                found = bwd(*given.static, residuals, tree.unflatten(box["out"], lend(cts)))
            found = _numbered(found, len(given.dynamic), f"the backward rule of {name}")
            return _flat_cotangents(found, definition, box["types"], name)

        jvp = self.jvp and _flat_jvp(self.jvp, given, definition, box, name)
        single, symbolic = self.single, self.symbolic
        return VjpRule(name, flat_fun, flat_fwd, flat_bwd, jvp, single, symbolic, self.linear_in)


def _content(x: Any) -> Any:
    return x.content() if isinstance(x, Operand) else x


def _flat_cotangents(
    given: Sequence[Any], definition: Any, types: Sequence[ArrayType], name: str
) -> list[Any]:
    out: list[Any] = []
    for k, (c, part) in enumerate(zip(given, definition.parts, strict=True)):
        if c is None:
            out.extend([None] * part.size)
            continue
        found, got = tree.flatten(c)
        if got != part:
            found, filled = tree.flatten(_filled(c, part))
            if filled != part:
                raise CustomRuleError(
                    located(
                        f"the backward rule of {name} returned the tree {got} for argument {k}, "
                        f"which has {part}"
                    )
                )
        out.extend(None if f is _NONE or isinstance(f, SymbolicZero) else f for f in found)
    for i, (c, aval) in enumerate(zip(out, types, strict=True)):
        if c is None:
            continue
        if not is_inexact(aval.dtype):
            out[i] = None
            continue
        out[i] = _checked(c, aval, f"the backward rule of {name}")
    return out


_NONE = object()


def _filled(c: Any, part: tree.TreeDef) -> Any:
    """`c` with leaves where it says None for a whole branch of an argument."""
    whole = tree.unflatten(part, [_NONE] * part.size)
    is_none = lambda x: x is None
    try:
        return tree.map(lambda x, branch: branch if x is None else x, c, whole, is_leaf=is_none)
    except TreeError:
        return c


def _checked(c: Any, aval: ArrayType, what: str) -> Array:
    try:
        c = operand(c)
    except OperandError as error:
        raise CustomRuleError(located(f"{what} returned {type(c).__name__!r}")) from error
    if type_of(c).shape != aval.shape:
        raise CustomRuleError(
            located(f"{what} returned shape {type_of(c).shape}; it has to be {aval.shape}")
        )
    if isinstance(c, np.ndarray):
        c = c.copy()  # a residual may be returned as it is; what we add into must be ours
    return broadcast_as(c, aval.shape, aval.dtype)


class custom_jvp(_Custom[P, R]):
    """A function with its own forward rule; reverse mode is derived from it.

    Parameters
    ----------
    fun : callable
        The function; its value is used where nothing is differentiated.
    nondiff_argnums : int or sequence of int, optional
        Arguments that are not differentiated and may be anything; the rule gets them first.
    nondiff_argnames : str or sequence of str, optional
        The same by name.

    Notes
    -----
    ``defjvp(jvp)``: ``jvp(*nondiff, primals, tangents)`` returns ``(output, tangent)``, the latter
    linear in `tangents`. Arguments that can be given by name only are constants: the rule gets
    them by name, and they must not be traced.

    Raises
    ------
    CustomRuleError
        No rule was given, the rule returns the wrong number, tree or shape, or the function closes
        over a traced value.
    NotDifferentiableError
        In reverse mode: the tangent is not linear in `tangents`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> @fg.custom_jvp
    ... def f(x):
    ...     return np.sin(x)
    >>> @f.defjvp
    ... def _(primals, tangents):
    ...     return f(*primals), 10.0 * tangents[0]
    >>> fg.grad(f)(0.5)
    np.float64(10.0)
    """

    rule: Function | None = None

    @boundary
    def defjvp(self, jvp: Function, symbolic_zeros: bool = False) -> Function:
        """State the rule; returns it, so that it can be used as a decorator.

        With `symbolic_zeros`, a tangent that is known to be zero is a `SymbolicZero`.
        """
        self.rule, self.symbolic = jvp, symbolic_zeros
        return jvp

    @boundary
    def defjvps(self, *jvps: Function | None) -> None:
        """State the tangent by each argument: ``jvp(tangent, output, *primals)``; None is zero.

        Arguments that are not differentiated are among the primals.
        """

        def rule(*args: Any, **named: Any) -> tuple[Any, Any]:
            *static, primals, tangents = args
            count = len(self.nondiff) + len(primals)
            places = within(self.nondiff, count, f"{name_of(self.fun)}: nondiff_argnums")
            given = Arguments(places, static, list(primals), named)
            out = self(*given.merged(primals), **named)
            parts = [
                jvp(t, out, *given.merged(primals))
                for jvp, t in zip(jvps, tangents, strict=True)
                if jvp is not None
            ]
            if not parts:
                return out, tree.map(_zero_of, out)
            return out, functools.reduce(functools.partial(tree.map, add), parts)

        self.defjvp(rule)

    @boundary
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        given = self._arguments(args, kwargs)
        leaves, definition = leaves_of(tuple(given.dynamic), ("the arguments", self.fun))
        box: dict[str, Any] = {}
        outs = bind(CUSTOM_JVP, leaves, {"rule": self._rule(given, definition, box)})
        found: R = handed_back(box["out"], apart(outs, leaves))
        return found

    def _rule(self, given: Arguments, definition: Any, box: dict[str, Any]) -> JvpRule:
        name, jvp = name_of(self.fun), self.rule
        if jvp is None:
            raise CustomRuleError(located(f"{name} has no rule yet; call defjvp(jvp) first"))

        def flat_fun(*xs: Any) -> list[Any]:
            with _Lent(bool(running.count)) as lend:
                merged = given.merged(tree.unflatten(definition, lend(xs)))
                out = self.fun(*merged, **given.named)
            leaves, box["out"] = leaves_of(out, f"the output of {name}")
            return leaves

        flat_jvp = _flat_jvp(jvp, given, definition, box, name)
        return JvpRule(name, flat_fun, flat_jvp, self.single, self.symbolic)


def _flat_jvp(
    jvp: Function, given: Arguments, definition: Any, box: dict[str, Any], name: str
) -> Function:
    def flat_jvp(xs: Sequence[Any], ts: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        with _Lent() as lend:
            primals, tangents = (tuple(tree.unflatten(definition, lend(v))) for v in (xs, ts))
            found = jvp(*given.static, primals, tangents, **given.named)
        pair = _numbered(found, 2, f"the jvp rule of {name}")
        leaves, box["out"] = leaves_of(pair[0], f"the output of {name}")
        moved, got = leaves_of(tree.map(_dense, pair[1]), f"the tangent of {name}")
        if got != box["out"]:
            raise CustomRuleError(
                located(f"the jvp rule of {name} returned a tangent of tree {got}")
            )
        what = f"the jvp rule of {name}"
        return leaves, [_checked(t, type_of(o), what) for o, t in zip(leaves, moved, strict=True)]

    return flat_jvp


def _zero_of(x: Any) -> Any:
    return zeros(type_of(operand(x)))
