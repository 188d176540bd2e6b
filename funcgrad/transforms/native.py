"""`jit(f).njit` and `jit(f).cfunc`: staged functions as code that runs without Python.

A function is staged for the types of arguments that Numba finds. Graphs are typed with shapes and
Numba's types are not, so where arrays come in, extents are tried until the function takes them, in
order to learn the types of its result; the programs for the shapes that turn up are made when they
do. What the function captures is taken when it is compiled, as Numba does with globals.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad.compile.execute import executable_for_program
from funcgrad.core.types import ArrayType
from funcgrad.errors import FuncgradError, NativeCodeError, located
from funcgrad.graph.ir import Graph
from funcgrad.transforms.arguments import name_of
from funcgrad.transforms.staged_function import Staged, stage_flat

if TYPE_CHECKING:  # Numba: not before it is asked for
    from funcgrad.compile.numba.source import Made, Slot
    from funcgrad.transforms.jitted import Jitted

__all__ = ["Native", "cfunc", "holding", "njit", "refuse_static"]

# Extents that are tried: all axes alike, so that products and sums of arguments fit.
PLAIN = (int, float, bool, str, tuple, type(None))
EXTENTS = (3, 2, 4, 1, 5, 6, 7, 8, 9, 10, 12, 16, 20, 24, 32, 64)


def njit(jitted: Jitted) -> Any:
    """The function of a jitted one for callers that Numba compiles."""
    from funcgrad.compile.numba.function import function

    made = function(Native(jitted))
    made.funcgrad_source = jitted  # for bodies that call it and are traced
    return made


def cfunc(jitted: Jitted, signature: str, vector: bool, size: int | None, data: int | None) -> Any:
    """A C function of a jitted one; see `Jitted.cfunc`."""
    from funcgrad.compile.numba.c_function import c_function

    count = jitted.njit.py_func.__code__.co_argcount
    return c_function(jitted.njit, count, signature, vector, size, data)


class Native:
    """A jitted function as a source of programs; see `compile.numba.function.Source`."""

    def __init__(self, jitted: Jitted) -> None:
        refuse_static(jitted, "njit")
        self.jitted = jitted
        name = re.sub(r"\W", "_", name_of(jitted.fun)).strip("_")
        self.name = name if name.isidentifier() and not keyword.iskeyword(name) else "function"
        self.parameters: Sequence[tuple[Any, ...]] = _parameters(jitted.fun)
        self.count = 0

    def special(self, arguments: Sequence[Any], slots: Sequence[Slot]) -> _Special:
        return _Special(self, arguments, slots)

    def made(self, arguments: Sequence[Any], avals: Sequence[ArrayType]) -> Made:
        """The program for arguments of these types."""
        from funcgrad.compile.numba.link import load
        from funcgrad.compile.numba.program import native_program
        from funcgrad.compile.numba.source import Made

        staged = self.stage(arguments, avals)
        made = executable_for_program(staged.graph)
        self.count += 1
        name = f"funcgrad.{self.name}.{id(self)}.{self.count}"
        try:
            program = native_program(made, name)
        except NativeCodeError as error:
            raise NativeCodeError(f"{name_of(self.jitted.fun)}: {error}") from None
        outputs = tuple(o.type for o in staged.graph.outputs)
        return Made(program, outputs, staged.out, lambda: load(program, made))

    def stage(self, arguments: Sequence[Any], avals: Sequence[ArrayType]) -> Staged:
        """The graph for these types, with what is captured as constants."""
        fun = self.jitted.fun

        def flat(*xs: Any) -> Any:
            return fun(*(_filled(a, xs) for a in arguments))

        return holding(*stage_flat(flat, fun, avals), name_of(fun))


def holding(staged: Staged, captured: Sequence[np.ndarray[Any, Any]], name: str) -> Staged:
    """What was staged, with what is captured as constants of the graph."""
    if staged.consts:
        raise NativeCodeError(
            f"{name} closes over a value of a transform that is running; native code can only hold "
            "arrays: pass it as an argument"
        )
    graph = staged.graph
    count = len(graph.inputs) - len(captured)
    held = tuple((v, np.array(a)) for v, a in zip(graph.inputs[count:], captured, strict=True))
    whole = Graph(graph.inputs[:count], graph.equations, graph.outputs, (*graph.constants, *held))
    return staged._replace(graph=whole)


def refuse_static(jitted: Jitted, advice: str) -> None:
    if jitted.static.any:
        raise NativeCodeError(
            located(
                f"{name_of(jitted.fun)} has static arguments, which compiled callers cannot "
                f"give; bind them first: jit(functools.partial(f, …)).{advice}"
            )
        )


class _Special:
    """A function for arguments of certain types, of any extents."""

    def __init__(self, native: Native, arguments: Sequence[Any], slots: Sequence[Slot]) -> None:
        self.native, self.arguments, self.slots = native, arguments, slots

    def made(self, shapes: Sequence[tuple[int, ...]]) -> Made:
        avals = [ArrayType(s, x.dtype) for s, x in zip(shapes, self.slots, strict=True)]
        return self.native.made(self.arguments, avals)

    def example(self) -> Made:
        """The program for the first shapes that the function takes."""
        first: Exception | None = None
        for shapes in self.shapes():
            try:
                return self.made(shapes)
            except FuncgradError:
                raise
            except Exception as error:
                if not any(shapes):  # numbers only: there is nothing else to try
                    raise
                first = first or error
        raise NativeCodeError(
            f"no extents were found for which {name_of(self.native.jitted.fun)} takes arrays of "
            f"ranks {[x.ndim for x in self.slots]} (tried: {EXTENTS}; the first error was "
            f"{type(first).__name__}: {first}); call the jitted function once with arguments like "
            "those of the compiled caller, before that is compiled"
        ) from first

    def shapes(self) -> Iterator[list[tuple[int, ...]]]:
        """Those of earlier calls of the jitted function, then guesses."""
        wanted = [(x.ndim, x.dtype) for x in self.slots]
        for staged in list(self.native.jitted.cache.values()):
            avals = [v.type for v in staged.graph.inputs[: len(self.slots)]]
            if [(t.ndim, t.dtype) for t in avals] == wanted:
                yield [t.shape for t in avals]
        for n in EXTENTS if any(x.ndim for x in self.slots) else EXTENTS[:1]:
            yield [(n,) * x.ndim for x in self.slots]


def _filled(argument: Any, values: Sequence[Any]) -> Any:
    """An argument with values in the place of its slots."""
    from funcgrad.compile.numba.source import Slot

    if isinstance(argument, Slot):
        return values[argument.number]
    if isinstance(argument, tuple):
        children = [_filled(a, values) for a in argument]
        return type(argument)(*children) if hasattr(argument, "_fields") else tuple(children)
    return argument


def _parameters(fun: Callable[..., Any]) -> list[tuple[Any, ...]]:
    """The parameters by position, with their defaults, for a function of the same signature."""
    try:
        known = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):
        return [("*arguments",)]
    found: list[tuple[Any, ...]] = []
    for p in known:
        if p.kind is p.VAR_POSITIONAL:
            found.append((f"*{p.name}",))
        elif p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            given = p.default is not p.empty
            if given and not isinstance(p.default, PLAIN):
                break  # a default of another kind is left to the function itself
            found.append((p.name, p.default) if given else (p.name,))
    return found
