"""What every transform does with arguments and results: trees in, operands out, errors named.

It flattens with key paths, turns leaves into operands, picks the differentiated arguments and
checks what comes back.
"""

from __future__ import annotations

import contextlib
import inspect
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.classes import has_own_rules
from funcgrad.core.tracer import Operand, Trace, Tracer, concrete, operand, type_of, value
from funcgrad.core.types import Array, ArrayType, is_inexact
from funcgrad.errors import (
    CotangentError,
    InputTypeError,
    NonScalarOutputError,
    NotDifferentiableError,
    OperandError,
    TreeError,
    located,
)
from funcgrad.tree.structure import flatten

__all__ = [
    "NOT_GIVEN",
    "check_complex",
    "check_inexact",
    "check_matches",
    "check_scalar",
    "computed",
    "given_by_name",
    "integer",
    "is_integer",
    "leaves_of",
    "lower",
    "name_of",
    "named",
    "no_tangent",
    "of_chosen",
    "positions",
    "present",
    "rebuild",
    "select",
    "within",
]

Function = Callable[..., Any]

float0 = np.dtype([("float0", np.void, 0)])
NOT_GIVEN: Any = inspect.Parameter.empty


def name_of(f: Any) -> str:
    """How messages name a user's function."""
    return str(getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or repr(f))


# How errors call a tree: a text, of which function, or the number of which function's argument.
What = str | tuple[str, Function] | tuple[int, Function]
PLAIN = (np.ndarray, float, np.float64)  # leaves, if they hold floats


def leaves_of(
    value: Any, what: What, differentiable: bool = False
) -> tuple[list[Array], tree.TreeDef]:
    """The leaves of a tree as operands; an error names the path of a leaf that is no array.

    With `differentiable`, every leaf has to be floating point or complex. Errors begin with `what`.
    """
    kind = type(value)
    if kind in PLAIN and (kind is not np.ndarray or value.dtype.kind == "f"):
        return [value], tree.LEAF
    found, definition = flatten(value)
    out: list[Array] = []
    for leaf in found:
        try:
            out.append(operand(leaf))
        except OperandError as error:
            path = _path(what, definition, len(out))
            if isinstance(leaf, np.ndarray) or has_own_rules(leaf):
                raise TreeError(f"{path}: {error}") from error
            advice = _of_promise(leaf) if isinstance(leaf, types.CoroutineType) else _OF_OBJECTS
            raise TreeError(
                located(
                    f"{path} is {type(leaf).__name__!r}, which is neither an array nor a "
                    f"number; {advice}"
                )
            ) from error
        if differentiable and not is_inexact(dtype := type_of(out[-1]).dtype):
            raise InputTypeError(
                located(
                    f"{_path(what, definition, len(out) - 1)} has dtype {dtype}, which has no "
                    "derivative; pass a floating point value (3.0 instead of 3), leave it out of "
                    "argnums, or say allow_int=True"
                )
            )
    return out, definition


_OF_OBJECTS = (
    "close over it, make it a static field of a dataclass (funcgrad.tree.static), or register its "
    "class with funcgrad.tree.register_node"
)


def _of_promise(coroutine: types.CoroutineType[Any, Any, Any]) -> str:
    """What to do about one; it is closed, for Python would warn besides that nobody awaits it."""
    coroutine.close()
    return (
        "it computes when it is awaited, after the transform has ended: transform the async "
        "function itself where the transform gives a function, which is then awaited, too, or "
        "await what it waits for outside, and transform a plain function of the results"
    )


def computed(out: Any, f: Any) -> Any:
    """The output of `f`, which may be anything but a promise: an async function computes later."""
    if type(out) is types.CoroutineType:
        leaves_of(out, ("the output", f))  # which tells
    return out


def _path(what: What, definition: tree.TreeDef, k: int) -> str:
    """How an error names leaf `k` of a tree."""
    if isinstance(what, str):
        begin = what
    else:
        which, f = what
        begin = f"{which if isinstance(which, str) else f'argument {which}'} of {name_of(f)}"
    return f"{begin}{tree.paths(definition)[k]}"


def of_chosen(f: Function, args: Sequence[Any], chosen: Sequence[int], kwargs: Any) -> Function:
    """`f` as a function of the chosen arguments only."""

    def g(*given: Any) -> Any:
        full = list(args)
        for k, x in zip(chosen, given, strict=True):
            full[k] = x
        return f(*full, **kwargs)

    return g


def select(
    argnums: int | Sequence[int], args: Sequence[Any], f: Any, transform: str
) -> tuple[int, ...]:
    """`argnums` as non-negative positions, checked against the arguments given."""
    if type(argnums) is int and 0 <= argnums < len(args):
        return (argnums,)
    return within(
        positions(argnums, f"{transform}: argnums"),
        len(args),
        f"{transform}: argnums",
        f"{name_of(f)} was called with {len(args)} positional argument(s); pass it by position",
    )


def named(argnames: Any, args: Sequence[Any], f: Any) -> tuple[int | str, ...]:
    """Arguments by name: the position of each that was given by position, else its name."""
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames)
    if len(set(names)) != len(names) or not all(isinstance(n, str) for n in names):
        raise ValueError(located(f"grad: argnames={argnames!r} are no names, or one comes twice"))
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    places = {p.name: k for k, p in enumerate(parameters) if p.kind in _BY_POSITION}
    return tuple(places[n] if places.get(n, len(args)) < len(args) else n for n in names)


_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def given_by_name(operands: tuple[Any, ...], operand: Any, what: str) -> tuple[Any, ...]:
    """The operands of a branch, of which the only one may be given by name."""
    if operand is NOT_GIVEN:
        return operands
    if operands:
        raise TypeError(located(f"{what}: give operands by position, or one by name, not both"))
    return (operand,)


def is_integer(given: Any) -> bool:
    """Whether it is an integer of Python's or NumPy's, which a bool is not."""
    return isinstance(given, (int, np.integer)) and not isinstance(given, bool)


def integer(given: Any, what: str) -> int:
    """`given`, which has to be an integer; `what` says in an error what must be one."""
    if not is_integer(given):
        raise TypeError(located(f"{what}, not {given!r}"))
    return int(given)


def positions(given: Any, what: str) -> tuple[int, ...]:
    """One integer or a sequence of them."""
    if isinstance(given, (int, np.integer, str)):
        return (integer(given, f"{what} must be integers"),)
    if isinstance(given, Iterable) and not isinstance(given, np.ndarray):
        return tuple(integer(k, f"{what} must be integers") for k in given)
    raise TypeError(located(f"{what} must be an integer or a sequence of integers, not {given!r}"))


def within(given: Sequence[int], count: int, what: str, more: str | None = None) -> tuple[int, ...]:
    """Positions among `count` arguments as non-negative ones, none of them twice."""
    more = more or f"there are {count} positional argument(s)"
    shown = given[0] if len(given) == 1 else tuple(given)
    for k in given:
        if not -count <= k < count:
            raise ValueError(located(f"{what}={shown!r} names argument {k}, but {more}"))
    found = tuple(k % count for k in given)
    if len(set(found)) != len(found):
        raise ValueError(located(f"{what}={shown!r} names an argument twice"))
    return found


def lower(x: Any, trace: Trace) -> Any:
    """A result of the transformed function one level down; raises for what leaked into it."""
    if isinstance(x, Operand):
        x = x.content()
    elif type(x) is np.ndarray and x.dtype.kind == "O" and _holds_operand(x):
        x = operand(x)
    if isinstance(x, Tracer):
        if x.owner is trace:
            return x.value
        if x.owner.closed or x.owner.level > trace.level:
            raise x.owner.leaked()
    return x


def _holds_operand(x: np.ndarray[Any, Any]) -> bool:
    return any(isinstance(item, Operand) for item in x.flat)


def rebuild(definition: tree.TreeDef, leaves: Sequence[Any]) -> Any:
    """The tree of results, as the user shall see them."""
    return tree.unflatten(definition, [present(x) for x in leaves])


def present(x: Any) -> Any:
    """One result as the user shall see it."""
    return x.owner.present(x) if isinstance(x, Tracer) else x


def check_complex(leaves: Sequence[Array], transform: str, f: Any) -> None:
    """Raise where an argument of a function that is said to be holomorphic is not complex."""
    for leaf in leaves:
        if (dtype := type_of(leaf).dtype).kind != "c":
            raise InputTypeError(
                located(
                    f"{transform}: {name_of(f)} is said to be holomorphic, but an argument has "
                    f"dtype {dtype}; pass complex numbers, or leave holomorphic=True out"
                )
            )


def check_scalar(out: Any, f: Any, transform: str, holomorphic: bool = False) -> ArrayType:
    """The type of the output of a function for `grad`, which has to be a real scalar; of a
    holomorphic one it has to be a complex scalar."""
    wanted = "complex" if holomorphic else "real"
    aval = None
    if isinstance(out, Tracer):
        aval = out.type
    elif not isinstance(out, (tuple, list)):  # which other functions stack to an array
        with contextlib.suppress(OperandError):
            aval = type_of(operand(out))
    if aval is None:
        advice = "return one number, or use has_aux=True for (value, anything else)"
        if isinstance(out, types.CoroutineType):
            advice = _of_promise(out)
        raise NonScalarOutputError(
            located(
                f"{transform}: {name_of(f)} returned {type(out).__name__!r}, not a {wanted} "
                f"scalar; {advice}"
            )
        )
    if aval.shape != () or aval.dtype.kind != ("c" if holomorphic else "f"):
        if not is_inexact(aval.dtype):
            raise NonScalarOutputError(located(f"{transform}: {_no_derivative(f, '', aval)}"))
        unsaid = aval.dtype.kind == "c" and not holomorphic and transform == "grad"
        more = ", or say holomorphic=True if the function is" if unsaid else ""
        raise NonScalarOutputError(
            located(
                f"{transform}: {name_of(f)} returned a value of type {aval}, not a {wanted} "
                f"scalar; sum it, or use jacobian or vjp{more}"
            )
        )
    return aval


def _no_derivative(f: Any, path: str, aval: ArrayType) -> str:
    kind = "truth values" if aval.dtype.kind == "b" else "integers"
    return (
        f"{name_of(f)} returned {kind} ({aval}{path and f' at {path}'}), which have no derivative; "
        "return floating point numbers, and what is not to be differentiated besides, with "
        "has_aux=True"
    )


def check_inexact(out: Any, f: Any) -> None:
    """Raise where an output whose Jacobian is wanted is of integers or truth values."""
    leaves, definition = tree.flatten(out)
    for path, leaf in zip(tree.paths(definition), leaves, strict=True):
        if not is_inexact((aval := type_of(operand(leaf))).dtype):
            what = _no_derivative(f, path, aval)
            raise NotDifferentiableError(located(f"a Jacobian is wanted, but {what}"))


def check_matches(
    given: Any, definition: tree.TreeDef, types: Sequence[ArrayType], what: str
) -> list[Any]:
    """The leaves of a tangent or cotangent, which has to match `definition` and `types`."""
    found, got = flatten(given)
    if got != definition:
        raise CotangentError(
            located(f"{what} has the tree {got}, but the value it belongs to has {definition}")
        )
    out: list[Any] = []
    for path, leaf, aval in zip(tree.paths(got), found, types, strict=True):
        if not is_inexact(aval.dtype):
            _check_none(leaf, f"{what}{path}")
            out.append(None)
            continue
        try:
            c = operand(leaf)
        except OperandError as error:
            raise CotangentError(
                located(f"{what}{path} is {type(leaf).__name__!r}, not an array or a number")
            ) from error
        have = type_of(c)
        if have.shape != aval.shape:
            raise CotangentError(
                located(f"{what}{path} has shape {have.shape}; it has to be {aval.shape}")
            )
        if not np.can_cast(have.dtype, aval.dtype, "same_kind"):
            raise CotangentError(
                located(f"{what}{path} has dtype {have.dtype}; it has to be {aval.dtype}")
            )
        mine, theirs = have.dtype.newbyteorder("="), aval.dtype.newbyteorder("=")
        if not have.weak and mine != theirs and is_inexact(mine):
            raise CotangentError(
                located(f"{what}{path} has dtype {have.dtype}; it has to be {aval.dtype}")
            )
        out.append(c)
    return out


def _check_none(c: Any, place: str) -> None:
    """Integers have no tangent: what is given in its place is of the dtype `float0`, or zero."""
    if c is None or getattr(c, "dtype", None) == float0:
        return
    with contextlib.suppress(OperandError):
        c = operand(c)
        if not (np.any(value(c)) if concrete(c) else is_inexact(type_of(c).dtype)):
            return
    raise CotangentError(
        located(
            f"{place} belongs to integers or truth values, which have none, so it would be "
            "ignored: make what it belongs to floating point, or pass numpy.zeros(shape, "
            "funcgrad.float0)"
        )
    )


def no_tangent(aval: ArrayType) -> Any:
    return np.zeros(aval.shape, float0)
