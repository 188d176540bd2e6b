"""Memory that has no numbers yet: what tensors hold while `compile` traces a step.

The stage of a step lies below the root tape, so the tape records as ever, over values of a graph.
A `Memory` stands for the array of a tensor: whoever shares the array in eager mode (a tensor, what
`detach` made of it, what a node has saved) holds the same object, and a write into it or into a
view of it is seen by all of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np

from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import Tracer, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import AbstractValueError, TracerConversionError, located
from funcgrad.graph.build import Stage, StageTracer
from funcgrad.graph.ir import Literal
from funcgrad.ops import arithmetic as a
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.constant import all as all_of
from funcgrad.ops.index import gather, set_positions
from funcgrad.ops.shape import broadcast_to, reshape
from funcgrad.torch.base_positions import laid

__all__ = [
    "Memory",
    "Number",
    "StepStage",
    "bounded",
    "required",
    "fresh",
    "memory_copy",
    "order_of_copy",
    "staged",
]

Read = Callable[[Any], Any]


class Memory(StageTracer):
    """The content of an array in a step that is traced."""

    __slots__ = ()
    owner: StepStage

    @property
    def value(self) -> NoReturn:
        raise AbstractValueError(self.owner.refuse("Python asks for the number in a Tensor"))

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TracerConversionError(self.owner.refuse("Python asks for the array of a Tensor"))

    def assign(self, new: Tracer) -> None:
        self.owner.write(self, new)


def _in_place(symbol: str) -> Callable[[Memory, Any], Memory]:
    compute = getattr(operator, symbol)

    def change(self: Memory, other: Any) -> Memory:
        self.assign(compute(self, other))
        return self

    return change


def _anew(symbol: str) -> Callable[[Memory, Any], Any]:
    compute = getattr(operator, symbol)
    return lambda self, other: compute(self, other)


class Number(Memory):
    """A number of Python's that goes into each call anew, or what follows from such ones.

    Nobody shares it: ``rate *= 0.5`` gives the name another number.
    """

    __slots__ = ()

    @property
    def value(self) -> NoReturn:
        raise AbstractValueError(
            self.owner.refuse("Python asks for a learning rate, which goes in as a number")
        )


# also without dimensions: it is an array and no number, however NumPy's operations return it
for _symbol in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(Memory, f"__i{_symbol}__", _in_place(_symbol))
    setattr(Number, f"__i{_symbol}__", _anew(_symbol))


class StepStage(Stage):
    """The trace that builds the graph of a step: outside even the root tape."""

    __slots__ = ("bases", "draws", "known", "refused", "requirements", "shadows", "views")
    what: ClassVar[str] = "torch.compile"

    def __init__(self) -> None:
        super().__init__()
        self.level = -1
        self.known: dict[int, Memory] = {}  # all that `bases` and `views` name: ids stay theirs
        self.bases: dict[int, tuple[Memory, Read]] = {}
        self.views: dict[int, list[tuple[Memory, Read]]] = {}
        self.shadows: dict[int, np.ndarray[Any, Any]] = {}
        self.draws: list[tuple[Memory, Callable[[], Any], Any]] = []
        self.requirements: list[Memory] = []  # the program is right only where they are true
        self.refused: str | None = None

    def refuse(self, what: str) -> str:
        """The text of an error; it also stops the trace of a step that catches the error."""
        text = located(what)
        self.refused = self.refused or text
        return text

    def input(self, kind: ArrayType, given: Any = None) -> Memory:
        return Memory(self.var(kind), self)

    def append(
        self,
        prim: Primitive,
        args: Sequence[Array],
        params: Params,
        types: tuple[ArrayType, ...] | None = None,
    ) -> Any:
        made = super().append(prim, args, params, types)
        for m in made if prim.multiple else (made,):
            m.__class__ = Number if m.type.weak else Memory
        return made

    def number(self) -> Number:
        """A number of Python's that each call gives."""
        return Number(self.var(ArrayType((), np.dtype(np.float64), True)), self)

    # -- memory

    def lift(self, x: Array) -> Memory:
        """An array or number as memory of its own."""
        if isinstance(x, StageTracer):
            return Memory(x.variable, self)
        if isinstance(x, np.ndarray):
            return Memory(self._hoist(x), self)
        return Memory(Literal(x, type_of(x)), self)  # type: ignore[arg-type]

    def view(self, base: Memory, read: Read, content: Array) -> Memory:
        """Memory within `base`, which `read` gives from an array; its content is known."""
        made = self.lift(content)
        if id(base) in self.bases:
            base, first = self.bases[id(base)]
            read = _chained(first, read)
        self.known[id(base)], self.known[id(made)] = base, made
        self.bases[id(made)] = base, read
        self.views.setdefault(id(base), []).append((made, read))
        return made

    def write(self, m: Memory, new: Array) -> None:
        """Make `new` the content of `m`; memory around it and within it changes, too."""
        content = broadcast_to(cast(new, m.type.dtype), m.type.shape)
        base, read = self.bases.get(id(m), (m, None))
        self.shadow(base)  # which lies as before, wherever its new content comes from
        if read is None:
            base.variable = self.atom(content)  # type: ignore[assignment]
        else:
            base.variable = self.atom(_spliced(base, read, content))  # type: ignore[assignment]
            m.variable = self.atom(content)  # type: ignore[assignment]
        for other, reading in self.views.get(id(base), ()):
            if other is not m:
                other.variable = self.atom(_read(base, reading))  # type: ignore[assignment]

    def layout(self, t: Tracer) -> Any:
        assert isinstance(t, Memory)
        return self.shadow(t) if t.type.shape else super().layout(t)

    def shadow(self, m: Memory) -> np.ndarray[Any, Any]:
        """An array of the layout of `m`, with nothing in it."""
        found = self.shadows.get(id(m))
        if found is None:
            if id(m) in self.bases:
                base, read = self.bases[id(m)]
                found = read(self.shadow(base))
            else:  # memory of its own: what is copied into it has the order of its axes only
                laid_out = super().layout(m)
                order = order_of_copy(laid_out)
                found = np.empty_like(laid_out, m.type.dtype, order, shape=m.type.shape)
            self.known[id(m)], self.shadows[id(m)] = m, found
        return found

    # -- what each call has to do besides

    def drawn(self, draw: Callable[[], Any], source: Any, kind: ArrayType) -> Memory:
        """Numbers that are drawn from `source` anew before each run."""
        made = self.input(kind)
        self.draws.append((Memory(made.variable, self), draw, source))
        return made


def bounded(x: Array, low: float, high: float, ignored: float | None = None) -> None:
    """Let each call of a compiled step look whether ``low <= x <= high``, where it has no numbers.

    What eager code raises an error for must not pass in a program; `ignored` passes, too.
    """
    while isinstance(x, Tracer) and not x.abstract:
        x = x.value
    if type(x) is not Memory:
        return
    holds = a.logical_and(a.greater_equal(x, low), a.less_equal(x, high))
    if ignored is not None:
        holds = a.logical_or(holds, a.equal(x, ignored))
    required(holds)


def required(holds: Array) -> bool:
    """Let each call of a compiled step look whether `holds` is true, and run eagerly if not.

    Returns
    -------
    bool
        Whether it is in a step that has no numbers yet; else whoever asks looks at once.
    """
    while isinstance(holds, Tracer) and not holds.abstract:
        holds = holds.value
    if type(holds) is not Memory:
        return False
    holds.owner.requirements.append(holds.owner.lift(all_of(holds)))
    return True


def staged(x: Any) -> bool:
    """Whether `x` is memory that has no numbers yet."""
    return type(x) is Memory


def fresh(x: Any) -> Any:
    """The content of new memory: its own object, where it has no numbers."""
    return Memory(x.variable, x.owner) if isinstance(x, StageTracer) else x


def order_of_copy(x: Any) -> Any:
    """That of the axes of `x`; C order where it repeats elements, as in PyTorch."""
    return "C" if 0 in getattr(x, "strides", ()) else "K"


def memory_copy(x: Any) -> Any:
    """A copy of an array, or of memory without numbers."""
    return Memory(x.variable, x.owner) if type(x) is Memory else np.array(x)[()]


def _chained(first: Read, second: Read) -> Read:
    return lambda array: second(first(array))


def _positions(base: Memory, read: Read) -> np.ndarray[Any, Any] | None:
    """The flat positions of a view in its base; None where it shows all of it in order."""
    kind = base.type
    found = read(laid(np.arange(kind.size).reshape(kind.shape), base))
    if found.dtype.kind != "i":
        raise TypeError(located("a view in another dtype than its base's cannot be compiled"))
    whole = found.size == kind.size and np.array_equal(found.reshape(-1), np.arange(kind.size))
    return None if whole else found


def _spliced(base: Memory, read: Read, content: Array) -> Array:
    positions = _positions(base, read)
    if positions is None:
        return reshape(content, base.type.shape)
    return set_positions(base, positions, content)


def _read(base: Memory, read: Read) -> Array:
    positions = _positions(base, read)
    if positions is None:
        return reshape(base, read(base.owner.shadow(base)).shape)
    return gather(reshape(base, (base.type.size,)), positions)
