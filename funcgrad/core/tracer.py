"""Traced values, the traces that own them, and `bind`, which hands an operation to a trace.

Dispatch is by data alone: the operand with the highest level decides. A level is a serial number
taken when a transform starts, so the later transform is always the inner one, in every thread and
after every exception. The operators of traced values are installed by `ops.operators`.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from itertools import count
from types import MemberDescriptorType
from typing import Any, ClassVar, Self

import numpy as np

from funcgrad.core.algebra import algebra
from funcgrad.core.classes import has_own_rules, refused
from funcgrad.core.layout import new_memory
from funcgrad.core.objects import explain
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.types import Array, ArrayType, type_of_raw, zeros
from funcgrad.errors import (
    AbstractValueError,
    LeakedTracerError,
    OperandError,
    SourceLine,
    line_at,
    located,
    user_place,
)

__all__ = [
    "EMPTY",
    "ArrayOperand",
    "Operand",
    "Trace",
    "Tracer",
    "bind",
    "concrete",
    "is_scalar",
    "layout",
    "look",
    "operand",
    "patches",
    "plain",
    "running",
    "sealed",
    "staged",
    "twin",
    "type_of",
    "uncompiled",
    "value",
]

EMPTY: Params = {}
serial = count(1)


class Running(threading.local):
    """How many transforms run in this thread: read by creation functions, never by dispatch."""

    count = 0
    hiding = 0  # how many of them have values that nobody can look at to the end
    watching: tuple[str, ...] = ()  # what is looked for in every result: see `core.watching`
    stage: Any = None  # the innermost graph that is being staged, which takes the effects
    body: Any = None  # the innermost one that runs any number of times: see `ops.storage`
    oldest: int | None = None  # when the oldest array was made that was written into, if asked
    silent = False  # whether effects do not happen, where a function is computed again
    leaks: Any = None  # what has ended, while `debug.leaks` looks: see `core.leaks`
    locks: Any = None  # the arrays that must not change: see `core.mutation`
    log: Any = None  # of effects that may have to be gone through again: see `core.effects`


running = Running()
uncompiled: list[None] = []
"""One for each block, of any thread, in which compiled functions do not run as compiled.

What a thread keeps for itself takes four times as long to read, and is read only if there is one.
"""


class Patches:
    """What the outermost transform of a thread calls at its begin and end: see `numpy.patch`."""

    begin: Callable[[], None] | None = None
    end: Callable[[], None] | None = None


patches = Patches()


class Operand:
    """What operations accept and is no NumPy array: traced values, boxes, the facade's tensors."""

    __slots__ = ()
    __array_priority__ = 1000.0

    def content(self) -> Array:
        """The value that operations read: a `Tracer`, or a raw array."""
        raise NotImplementedError

    def standin(self) -> Any:
        """What tells how it lies in memory: see `layout`."""
        return layout(self.content())


class ArrayOperand(Operand):
    """An operand with NumPy's operators and methods, which `ops` and `numpy` install here."""

    __slots__ = ()

    def __dir__(self) -> list[str]:
        # what is of use to users: the names of arrays
        return [name for name in object.__dir__(self) if name in _NAMES_OF_ARRAYS]

    @property
    def type(self) -> ArrayType:
        return type_of(self.content())


_NAMES_OF_ARRAYS = frozenset([*dir(np.ndarray), "at"])


class Tracer(ArrayOperand):
    """A value that a transform follows.

    Every subclass has the slots `value` (what lies one level down) and `owner` (its trace), and a
    `type`. It behaves as the array it stands for. `laid`, where it is set, tells how that lies in
    memory; a write replaces the value, and leaves the memory as it is.
    """

    __slots__ = ("__weakref__", "laid", "owner", "value")
    owner: Any
    value: Any
    laid: Any
    node: Any  # of tape tracers
    tangent: Any  # of dual numbers
    abstract: ClassVar[bool] = False  # whether `value` tells nothing that Python may branch on

    @property
    def type(self) -> ArrayType:
        return type_of(self.value)

    @property
    def payload(self) -> Any:
        """What `assign` replaces: another object after a write."""
        return self.value

    def content(self) -> Array:
        return self

    def below(self) -> Array:
        """What lies one level down, where it counts."""
        return self.value

    def assign(self, new: Tracer) -> None:
        """Take over the content of `new`, a tracer of the same trace: every alias sees it."""
        raise NotImplementedError

    def standin(self) -> Any:
        return self.owner.layout(self)

    def stay(self) -> None:
        """Lie from now on where it lies, whatever its value will be."""
        if not hasattr(self, "laid"):
            self.laid = new_memory(self.owner.place(self))


class Trace:
    """One running transform: it has a level and handles the operations on its tracers.

    Levels are of one clock with the ages of what can be written into, so that it is known what was
    there before the transform.
    """

    __slots__ = ("begun", "closed", "level", "objects")
    what: ClassVar[str] = "transform"
    located: ClassVar[bool] = True  # whether errors tell where it began
    has_numbers: ClassVar[bool] = True  # whether `value` tells the number of its tracers
    stages: ClassVar[bool] = False  # whether its tracers stand for values of a graph
    maps: ClassVar[bool] = False  # whether `value` holds all examples along its first axis
    hides: ClassVar[bool] = True  # whether what will become of its values is not seen at once

    def __init__(self) -> None:
        self.level = next(serial)
        self.closed = False
        self.objects: SourceLine | None = None  # where NumPy last took its tracers for objects
        self.begun = user_place() if self.located else None

    @property
    def origin(self) -> SourceLine | None:
        """The user's line where the transform began."""
        return None if self.begun is None else line_at(self.begun)

    def __enter__(self) -> Self:
        running.count += 1
        running.hiding += self.hides
        if patches.begin is not None and running.count == 1:
            patches.begin()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        running.count -= 1
        running.hiding -= self.hides
        self.closed = True
        if uncompiled:
            self._looked_at(error)
        if patches.end is not None and not running.count:
            patches.end()
        if error is not None:
            explain(self, error)

    def _looked_at(self, error: BaseException | None) -> None:
        """What `debug.leaks` and `debug.check_mutation` want to know of a trace that ends."""
        if running.leaks is not None and error is None:
            running.leaks.ended.append(self)
        if running.locks is not None:
            if error is not None:
                running.locks.explain(error)
            running.locks.release(self)

    def process(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        raise NotImplementedError

    def process1(self, prim: Primitive, x: Array) -> Any:
        return self.process(prim, (x,), EMPTY)

    def process2(self, prim: Primitive, x: Array, y: Array) -> Any:
        return self.process(prim, (x, y), EMPTY)

    def layout(self, t: Tracer) -> Any:
        """The stand-in of `t`, a tracer of this trace."""
        return layout(t.laid if hasattr(t, "laid") else t.value)

    def place(self, t: Tracer) -> Any:
        """What lies in memory as `t` does, and stays as it is when `t` is written into."""
        return t.value

    def age(self, t: Any) -> int:
        """When `t`, a tracer of this trace, was made; 0 where nobody has noted it."""
        made: int = getattr(t, "born", 0)
        return made

    def watch(self, t: Tracer) -> Any:
        """What will differ when the value of `t` has been changed in place; None if it cannot."""
        return None

    def present(self, t: Tracer) -> Any:
        """`t`, a tracer of this trace, as a user sees it whom an inner transform gives it."""
        return t

    def look(self, t: Tracer, why: str) -> Any:
        """The number or array behind an abstract tracer of this trace; or an error that says `why`
        it is needed."""
        raise AbstractValueError(located(why))

    def of_examples(self, whole: Array) -> Tracer:
        """A tracer of this trace, which maps, with these examples."""
        raise NotImplementedError

    def nothing(self, aval: ArrayType) -> Array:
        """The cotangent of what nobody has read, beside one that is a tracer of this trace."""
        return zeros(aval)

    def check_open(self) -> None:
        """Raise when the transform has ended: its tracers must not be used any more."""
        if self.closed:
            raise self.leaked()

    def leaked(self) -> LeakedTracerError:
        advice = ", or store funcgrad.value(t)" if self.has_numbers else ""
        return LeakedTracerError(
            located(
                f"a value traced by {self.what} (started at {self.origin}) is used after that "
                f"transform has ended; return it from the function instead of storing it{advice}"
            )
        )


# What operations accept as it is; everything else goes through `operand`.
RAW_TYPES: frozenset[type] = frozenset(
    [np.ndarray, float, int, complex, bool]
    + [np.float64, np.float32, np.float16, np.longdouble, np.complex128, np.complex64, np.bool_]
    + [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
)


def operand(x: Any) -> Array:
    """`x` as an operand: a tracer, an array or a number. Lists become arrays, as in NumPy."""
    if isinstance(x, Operand):
        return x.content()
    if type(x) in RAW_TYPES:
        if type(x) is np.ndarray and x.dtype.hasobject:
            return _from_objects(x)
        return x
    if has_own_rules(x):
        raise refused(x)
    if isinstance(x, (np.ndarray, np.generic)):
        plain = np.asarray(x)
        return _from_objects(plain) if plain.dtype.hasobject else plain
    if isinstance(x, (list, tuple)):
        return _from_list(x)
    if isinstance(x, (int, float, complex)):  # of a subclass, an IntEnum, which are never weak
        return operand(np.asarray(x)[()])
    if hasattr(x, "__array__"):
        return operand(np.asarray(x))
    raise OperandError(
        located(f"an operand of type {type(x).__name__!r} is neither an array nor a number")
    )


def _from_list(x: Any, above: tuple[Any, ...] = ()) -> Array:
    """A list as an array, within the lists `above`."""
    traced = _holds_operand(x, above)
    try:
        if traced:
            above = (*above, x)
            nested = (isinstance(i, (list, tuple)) and not has_own_rules(i) for i in x)
            return algebra.stack(
                [_from_list(i, above) if n else operand(i) for i, n in zip(x, nested, strict=True)]
            )
        made = np.asarray(x)
    except ValueError as error:
        raise OperandError(located(f"a ragged list is no array: {error}")) from error
    return operand(made)


def _holds_operand(x: Any, above: tuple[Any, ...]) -> bool:
    if isinstance(x, Operand):
        return True
    if isinstance(x, (list, tuple)):
        if any(x is outer for outer in above):
            raise OperandError(located("a list that holds itself is no array"))
        above = (*above, x)
        return any(_holds_operand(item, above) for item in x)
    return isinstance(x, np.ndarray) and x.dtype.kind == "O"


def _from_objects(x: np.ndarray[Any, Any]) -> Array:
    """An object array that holds traced values, stacked into one traced value."""
    if x.ndim == 0:
        item = x.item()
        if isinstance(item, Operand):
            return algebra.zero_dim(item.content())
    elif x.size:
        whole = getattr(x.flat[0], "elements", None)
        if whole is not None and all(getattr(i, "elements", None) is whole for i in x.flat):
            return whole.gathered(x)
        if any(isinstance(item, Operand) for item in x.flat):
            return algebra.stack([_part(item) for item in x])
        if all(isinstance(item, _NUMBERS) for item in x.flat):
            made = np.asarray(x.tolist())  # traced values that were written over
            if made.dtype.kind != "O":  # integers beyond 64 bits
                return made
    raise OperandError(
        located(
            f"an array of dtype {x.dtype} and shape {x.shape} holds things that are no numbers, or "
            "integers beyond 64 bits; give it a numeric dtype"
        )
    )


_NUMBERS = (int, float, complex, np.number, np.bool_)


def _part(x: Any) -> Array:
    """A row or an item of an object array that holds traced values elsewhere."""
    if isinstance(x, np.ndarray) and not any(isinstance(item, Operand) for item in x.flat):
        x = np.asarray(x.tolist())  # numbers
    return operand(x)


def plain(x: Any) -> Any:
    """What a rule returned: of a view or a mutable array its content, else `x` as it is."""
    return x.content() if isinstance(x, Operand) else x


def type_of(x: Array) -> ArrayType:
    """The type of an operand, traced or not."""
    return x.type if isinstance(x, Tracer) else type_of_raw(x)


def layout(x: Any) -> Any:
    """A stand-in for `x`: an array, or a scalar, that lies in memory as `x` does in NumPy.

    Its elements mean nothing and must be neither read nor written (`core.layout`).
    """
    return x.standin() if isinstance(x, Operand) else x


def staged(x: Any) -> bool:
    """Whether `x` stands for a value of a graph, of which no array is at hand."""
    while isinstance(x, Operand):
        x = x.content()
        if isinstance(x, Tracer):
            if x.owner.stages:
                return True
            x = x.value
    return False


def twin(t: Tracer) -> Any:
    """Another tracer with the value of `t`: writes into one of them do not change the other."""
    kind: Any = type(t)
    made = kind.__new__(kind)
    for name in _slots(kind):
        if hasattr(t, name):
            setattr(made, name, next(serial) if name == "born" else getattr(t, name))
    return made


@functools.cache
def _slots(kind: type) -> tuple[str, ...]:
    names = (n for c in kind.__mro__ for n in getattr(c, "__slots__", ()) if n != "__weakref__")
    return tuple(n for n in names if isinstance(getattr(kind, n), MemberDescriptorType))


def is_scalar(x: Any) -> bool:
    """Whether `x` is a scalar, which nothing can be written into, and no array without axes."""
    aval = x.type if isinstance(x, ArrayOperand) else type_of(operand(x))
    return not aval.shape and not isinstance(layout(x), np.ndarray)


def bind(prim: Primitive, args: Sequence[Array], params: Params = EMPTY) -> Any:
    """Apply `prim` to operands: the operand of the highest level decides who handles it."""
    top = None
    for a in args:
        if isinstance(a, Tracer):
            trace = a.owner
            if top is None or trace.level > top.level:
                top = trace
    if prim.effect is not False and running.stage is not None:
        top = running.stage.handler(top, prim, params)
    if top is None:
        return prim.impl(*args, **params)
    return top.process(prim, args, params)


def concrete(x: Any) -> bool:
    """Whether a number lies behind `x`: not so under `jit`, and one per example under `vmap`."""
    while isinstance(x, Operand):
        x = x.content()
        if isinstance(x, Tracer):
            if x.abstract:
                return False
            x = x.value
    return True


def look(x: Any, why: str) -> Any:
    """The number or array behind `x`, also while `jit` traces a function for arguments at hand.

    Under `vmap` it is that of all examples, along leading axes. It may only decide what is checked
    again on every call. Where there is no number, an error says `why` one is needed.
    """
    while isinstance(x, Operand):
        x = x.content()
        if isinstance(x, Tracer):
            x = x.owner.look(x, why) if x.abstract else x.value
    return x


def look_at_examples(x: Any, why: str) -> Any:
    """As `look`, but what is mapped stays so, with numbers behind it."""
    while isinstance(x, Operand):
        x = x.content()
        if isinstance(x, Tracer):
            if x.owner.maps:
                return x.owner.of_examples(look_at_examples(x.value, why))
            x = x.owner.look(x, why) if x.abstract else x.value
    return x


def value(x: Any) -> Any:
    """The number or array behind a traced value, cut off from every gradient.

    Parameters
    ----------
    x : array_like
        A traced value, or anything else, which is returned as it is.

    Returns
    -------
    array
        The concrete value. It carries no gradient: what is computed from it is a constant. An array
        behind a traced value cannot be written into, because derivatives are computed from it.

    Raises
    ------
    AbstractValueError
        Under `jit` and `vmap`, where there is no number, or one for each example.

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: x * fg.value(x))(3.0)
    np.float64(3.0)
    """
    while isinstance(x, Operand):
        x = x.content()
        if isinstance(x, Tracer):
            if x.abstract:
                raise AbstractValueError(
                    located(
                        f"there is no number behind a value of type {x.type} while it is traced by "
                        "jit or vmap, where one name stands for many; return it from the function "
                        "and look at it there, or use funcgrad.stop_gradient(t) for a constant"
                    )
                )
            x = x.value
            if type(x) is np.ndarray:
                return sealed(x)
    return x


def sealed(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """`x` for code of the user, which must not write into it: others read it later."""
    x = x.view()
    x.flags.writeable = False
    return x
