"""How each function of the namespace is called.

With nothing traced, NumPy's own function gets the caller's own arguments, so that every keyword
works and the result is NumPy's. With a traced operand our definition runs. `out=` is handled
here, once for all. It imports core and ops only.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from funcgrad.core.boundary import hide_frames
from funcgrad.core.parameters import names_of
from funcgrad.core.tracer import (
    RAW_TYPES,
    Operand,
    Tracer,
    concrete,
    is_scalar,
    layout,
    operand,
    running,
    type_of,
    value,
)
from funcgrad.core.types import Array
from funcgrad.errors import (
    ARGUMENTS,
    AbstractValueError,
    NotDifferentiableError,
    TracerConversionError,
    UnsupportedCallError,
    located,
)
from funcgrad.ops import shape
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.elements import elements_of
from funcgrad.ops.storage import Box, boxed, new_array, set_item, write

__all__ = [
    "ABSENT",
    "FUNCTIONS",
    "RAW",
    "TRACED",
    "Record",
    "as_array",
    "as_zero_dim",
    "boxed",
    "fresh",
    "into",
    "known",
    "memory_of",
    "no_rule",
    "numpy_function",
    "objects",
    "order_of",
    "owned",
    "raise_with_place",
    "refuse",
    "replace",
    "state",
    "unbox",
]

F = TypeVar("F", bound=Callable[..., Any])
FUNCTIONS: dict[Any, Callable[..., Any]] = {}  # NumPy's function -> ours: the table of NEP 18

RAW, BOXED, TRACED = 0, 1, 2
NEVER = 1 << 30
AXES = 64  # the most that an array has


class _Absent:
    """The default of a keyword for which None has a meaning."""

    def __repr__(self) -> str:
        return "<no value>"

    def __bool__(self) -> bool:
        return False


ABSENT: Any = _Absent()


def state(x: Any, depth: int = AXES) -> int:
    """Whether `x`, or anything in a list `x`, is traced, boxed but not traced, or neither.

    Lists deeper than `depth`, the most axes that an array has, are NumPy's to refuse.
    """
    if isinstance(x, Tracer):
        return TRACED
    kind = type(x)
    if kind is np.ndarray:
        return state(x.ravel().tolist()) if x.dtype.char == "O" else RAW
    if kind in RAW_TYPES:
        return RAW
    if isinstance(x, Operand):
        return TRACED if isinstance(x.content(), Tracer) else BOXED
    found = RAW
    if isinstance(x, (list, tuple)) and depth >= 0:
        for item in x:
            if type(item) not in RAW_TYPES or type(item) is np.ndarray:
                found = max(found, state(item, depth - 1))
                if found == TRACED:
                    break
    return found


def unbox(x: Any) -> Any:
    """`x` with every box in it replaced by its raw content."""
    if isinstance(x, Operand):
        return x.content()
    if type(x) in (list, tuple):
        return type(x)(map(unbox, x))
    if type(x) is np.ndarray and x.dtype.char == "O" and state(x):
        return operand(x)
    return x


class Record(NamedTuple):
    """What is stated of a function of the namespace."""

    constant: bool = False
    lacks: tuple[str, ...] = ()
    calls: bool = False


def numpy_function(
    *plain: Any,
    views: bool = False,
    creates: bool = False,
    converts: bool = False,
    calls: bool = False,
    constant: bool = False,
    lacks: tuple[str, ...] = (),
    run: Callable[..., Any] | None = None,
) -> Callable[[F], F]:
    """Make a function of the namespace from its definition for traced operands.

    Parameters
    ----------
    *plain : callable
        NumPy's function, and other names of it that are different objects. The first one is
        called when nothing is traced; all of them are routed here by NEP 18.
    views : bool, optional
        The result may be a view of the operand: boxes are handed to the definition too.
    creates : bool, optional
        The result is a fresh array that the program may write into.
    converts : bool, optional
        It is one, unless it is the operand itself.
    calls : bool, optional
        It calls a function of the user, which may give traced values for operands that are not.
    constant : bool, optional
        The results are locally constant.
    lacks : tuple of str, optional
        The transforms ("jit", "vmap") in which it cannot be, because values have to be known.
    run : callable, optional
        What is called when nothing is traced, where NumPy's function lacks what the array API
        standard asks for.
    """

    def decorate(define: F) -> F:
        name = define.__name__
        names = names_of(define)
        known = names.positional + names.keywords
        out_at = NEVER if names.spread or "out" not in known else known.index("out")
        call_plain = run or plain[0]

        define.__doc__ = _documented(define, plain[0])

        @functools.wraps(define)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                found = state(args, AXES + 1)
                if kwargs and found != TRACED:
                    found = max(found, state(tuple(kwargs.values()), AXES + 1))
                if found == RAW and not (calls and running.count):
                    made = call_plain(*args, **kwargs)
                    if creates:
                        return new_array(made)
                    return made if views and not converts else owned(made, args)
                if kwargs.get("out") is not None or (
                    len(args) > out_at and args[out_at] is not None
                ):
                    return _with_out(call, args, kwargs, out_at, name)
                if found == BOXED and not views and not calls:
                    kwargs = {k: unbox(v) for k, v in kwargs.items()}
                    return boxed(call_plain(*map(unbox, args), **kwargs))
                try:
                    made = define(*args, **kwargs)
                    if found != TRACED:
                        return owned(made, map(unbox, args))
                    return made if views else _apart(made, args)
                except (IndexError, ValueError) as error:
                    raise_with_place(error, name)
            except Exception as error:
                hide_frames(error)
                raise

        call.record = Record(constant, lacks, calls)  # type: ignore[attr-defined]
        for function in plain:
            FUNCTIONS[function] = call
        return call  # type: ignore[return-value]

    return decorate


def raise_with_place(error: Exception, name: str) -> NoReturn:
    """Raise an error in NumPy's words again, with the user's line; another one as it is."""
    text = str(error)
    if type(error) not in (IndexError, ValueError) or ARGUMENTS in text:
        raise error
    text = text if text.startswith(name) else f"{name}: {text}"
    raise type(error)(located(text)) from error


def _documented(define: Callable[..., Any], plain: Any) -> str:
    """The docstring, with a pointer to NumPy's where it does not state the parameters itself."""
    summary, *rest = inspect.cleandoc(define.__doc__ or "").split("\n\n", 1)
    module = getattr(plain, "__module__", "numpy")  # ufuncs of NumPy 2.0 have none
    name = f"{module}.{getattr(plain, '__name__', define.__name__)}"  # SciPy 1.15 has some without
    pointer = f"Parameters, shapes, dtypes and errors are those of `{name}`."
    if rest and "Parameters\n" in rest[0]:
        return "\n\n".join((summary, *rest))
    return "\n\n".join((summary, pointer, *rest))


def owned(made: Any, args: Any) -> Any:
    """A result of raw arrays; inside a transform for traced writes, unless it is a view of one."""
    if not running.count:
        return made
    if type(made) is np.ndarray:
        shared = any(np.may_share_memory(made, a) for a in _raw_arrays(args))
        return made if shared or not made.flags.writeable else boxed(made)
    return boxed(made)


def _raw_arrays(args: Any) -> Iterator[np.ndarray[Any, Any]]:
    for a in args:
        if isinstance(a, np.ndarray):
            yield a
        elif isinstance(a, (list, tuple)):
            yield from _raw_arrays(a)


def _apart(made: Any, args: Any) -> Any:
    """A traced result that is no operand: a write into it must not show in an operand."""
    if isinstance(made, Tracer):
        return shape.renewed(made) if _among(made, args) and not is_scalar(made) else made
    return tuple(_apart(m, args) for m in made) if type(made) is tuple else made


def _among(made: Tracer, args: Any) -> bool:
    for a in args:
        if isinstance(a, Operand):
            if a.content() is made:
                return True
        elif isinstance(a, (list, tuple)) and _among(made, a):
            return True
    return False


def _with_out(call: Any, args: Sequence[Any], kwargs: dict[str, Any], at: int, name: str) -> Any:
    kwargs, args = dict(kwargs), list(args)
    out = kwargs.pop("out", None)
    if out is None:
        out, args[at] = args[at], None
    return into(out, call(*args, **kwargs), name)


def into(out: Any, result: Any, name: str) -> Any:
    """Write `result` into `out`, which is returned: the meaning of ``out=``."""
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    result = operand(result)
    kind = type_of(result)
    if isinstance(out, Operand):
        target = type_of(out.content())
        lead = len(target.shape) - len(kind.shape)
        if lead < 0 or any(
            n not in (1, k) for n, k in zip(kind.shape, target.shape[lead:], strict=True)
        ):
            raise ValueError(
                located(
                    f"{name}: a result of shape {kind.shape} does not fit into the `out` "
                    f"argument of shape {target.shape}"
                )
            )
        if not np.can_cast(kind.dtype, target.dtype, "same_kind"):
            raise TypeError(
                located(
                    f"{name}: a result of dtype {kind.dtype} cannot be stored in the `out` "
                    f"argument of dtype {target.dtype}"
                )
            )
        replace(out, result)
        return out
    if not hasattr(out, "dtype"):
        raise TypeError(
            located(
                f"{name}: the `out` argument, which is the one behind the operands, has to be an "
                f"array, not {type(out).__name__!r}"
            )
        )
    if isinstance(result, Tracer) and out.dtype.char == "O":
        np.copyto(out, objects(result))  # it holds traced values
        return out
    if isinstance(result, Tracer):
        raise TracerConversionError(
            located(
                f"{name}: out= is a plain NumPy array, but the result is traced; storing it there "
                "would cut its gradient. Make the array with funcgrad.numpy (zeros, empty, …) "
                "inside the transformed function, or leave out="
            )
        )
    np.copyto(out, result, casting="same_kind")
    return out


def objects(x: Any) -> Any:
    """`x` for an object array that holds traced values: an array of its elements."""
    if isinstance(x, Operand) and isinstance(x.content(), Tracer):
        return elements_of(x, x.content(), False)
    return np.asarray(x) if isinstance(x, Operand) else x


def replace(target: Operand, new: Array) -> None:
    """Make `new` the content of `target`; it is cast and broadcast where needed."""
    kind, made = type_of(target.content()), type_of(new)
    same = kind.shape == made.shape and kind.dtype == made.dtype
    mine = isinstance(target, Box) or getattr(new, "owner", 0) is getattr(target, "owner", None)
    if same and mine and isinstance(new, Tracer):
        write(target, fresh(new, new))
        return
    set_item(target, Ellipsis, new)


def refuse(name: str, **keywords: Any) -> None:
    """Raise for the keywords that are given (not None) and not supported on traced values.

    `name` is that in NumPy, or begins with "scipy".
    """
    full = name if name.startswith("scipy.") else f"numpy.{name}"
    for key, given in keywords.items():
        if given is not None and given is not ABSENT:
            raise UnsupportedCallError(
                located(f"{full}: the keyword {key}={given!r} is not supported on traced values")
            )


def no_rule(name: str) -> NotDifferentiableError:
    """The error for an operation that has no derivative here."""
    full = f"np.{name}" if hasattr(np, name) else f"the ufunc {name}"
    return NotDifferentiableError(
        located(
            f"funcgrad has no rule for {full}; write it with functions that have one, state a "
            "rule with funcgrad.custom_vjp, or apply it to funcgrad.value(x) if it is a constant"
        )
    )


def known(x: Any, what: str) -> Any:
    """The concrete value of `x`, for results that are locally constant."""
    x = operand(x)
    if not concrete(x):
        raise AbstractValueError(
            located(
                f"{what} depends on the values of an array of type {type_of(x)}, which are not "
                "known while it is traced by jit or vmap"
            )
        )
    return value(x)


def safely_whole(x: Array) -> Array:
    """Counts or positions as NumPy takes them where only what is surely whole will do."""
    kind = type_of(x).dtype
    if not np.can_cast(kind, np.intp):
        raise TypeError(
            located(
                f"Cannot cast array data from {kind!r} to {np.dtype(np.intp)!r} according to the "
                "rule 'safe'"
            )
        )
    return cast(x, np.intp)


def as_array(x: Any) -> Array:
    """`x` as an operand that is no weak Python number; a NumPy scalar stays one."""
    x = operand(x)
    if isinstance(x, Tracer):
        return shape.zero_dim(x) if x.type.weak else x
    return x if hasattr(x, "dtype") else np.asarray(x)


def memory_of(x: Any) -> Any:
    """How the array that NumPy makes of `x` lies in memory (`core.tracer.layout`)."""
    return np.asarray(layout(x if isinstance(x, Operand) else as_array(x)))


def order_of(x: Any) -> Any:
    """What NumPy's order 'A' means: "F" for an array in Fortran's order alone, else "C"."""
    return "F" if memory_of(x).flags.fnc else "C"


def as_zero_dim(x: Array) -> Array:
    """`x` as NumPy's asarray gives it: a number becomes an array without axes."""
    if not isinstance(x, Tracer):
        return np.asarray(x)
    return shape.zero_dim(x) if is_scalar(x) else x


def fresh(result: Array, *sources: Array) -> Array:
    """`result`, or a copy of it where it is one of the `sources` and could be written into."""
    if isinstance(result, Tracer) and any(result is s for s in sources) and not is_scalar(result):
        return shape.renewed(result)
    return result
