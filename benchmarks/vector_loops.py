"""One function of the vector mathematics in a loop over arrays, for its tests and measurements.

The runtime of the compiler is left out as far as possible: what is measured is the function.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from funcgrad.compile.llvm import objects, target
from funcgrad.compile.llvm.emit import Emitter
from funcgrad.compile.llvm.mathematics import ARITY, FUNCTIONS

__all__ = ["ELEMENTS", "Loop", "compile_loop", "compile_loops", "loop_text"]

ELEMENTS = {"double": np.float64, "float": np.float32}


def loop_text(
    name: str, element: str, lanes: int, machine: target.Target
) -> tuple[str, dict[str, None], dict[str, str]]:
    """The loop as IR: its text, its declarations, and the definitions that it calls."""
    e = Emitter(element, lanes, machine)
    e.body.block = "loop"
    letters = "xy"[: ARITY[name]]
    for x in letters:
        e.lines.append(f"  %{x}.at = getelementptr inbounds {element}, ptr %{x}.data, i64 %i")
        e.lines.append(f"  %{x} = load {e.type_of(element)}, ptr %{x}.at, align 4")
    result = FUNCTIONS[name](e, *(e.value(f"%{x}") for x in letters))
    parameters = ", ".join(f"ptr noalias %{x}.data" for x in [*letters, "out"])
    code = "\n".join(e.lines)
    text = f"""
define void @loop.{name}.{e.suffix()}({parameters}, i64 %n) "prefer-vector-width"="512" {{
entry:
  %empty = icmp eq i64 %n, 0
  br i1 %empty, label %exit, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %{e.body.block} ]
{code}
  %out.at = getelementptr inbounds {element}, ptr %out.data, i64 %i
  store {result.typed}, ptr %out.at, align 4
  %next = add i64 %i, {lanes}
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}}"""
    e.body.enclose()
    return text, e.body.declarations, e.body.definitions


class Loop:
    """A compiled loop: `loop(*arrays)` takes one-dimensional arrays of any length."""

    def __init__(self, library: objects.Library, symbol: str, arity: int, element: str, lanes: int):
        self.library = library  # it owns the code
        self.dtype = ELEMENTS[element]
        self.lanes = lanes
        pointers = [ctypes.c_void_p] * (arity + 1)
        self.native = ctypes.CFUNCTYPE(None, *pointers, ctypes.c_int64)(library.address(symbol))

    def __call__(self, *arrays: np.ndarray) -> np.ndarray:
        size = arrays[0].size
        padding = np.ones(-size % self.lanes, self.dtype)
        arrays = tuple(np.concatenate([x, padding]) for x in arrays)
        out = np.empty_like(arrays[0])
        self.prepare(*arrays, out)()
        return out[:size]

    def prepare(self, *arrays: np.ndarray) -> Callable[[], None]:
        """The bare call on these arrays, the last of which is the output."""
        size = arrays[0].size
        assert size % self.lanes == 0
        assert all(x.dtype == self.dtype and x.flags.c_contiguous for x in arrays)
        addresses = [x.ctypes.data for x in arrays]

        def call(owners: object = (self, arrays)) -> None:  # code and memory live as long
            self.native(*addresses, size)

        return call


def compile_loops(
    names: list[str], element: str, lanes: int, machine: target.Target | None = None
) -> dict[str, Loop]:
    """A loop for each function, all in one module."""
    machine = target.host() if machine is None else machine
    texts, declarations, definitions = [], {}, {}
    for name in names:
        text, declared, defined = loop_text(name, element, lanes, machine)
        texts.append(text)
        declarations |= declared
        definitions |= defined
    module = "\n".join([*definitions.values(), *texts, *declarations])
    library = objects.load(objects.build(module, target=machine))
    suffix = Emitter(element, lanes).suffix()
    return {
        name: Loop(library, f"loop.{name}.{suffix}", ARITY[name], element, lanes) for name in names
    }


def compile_loop(name: str, element: str, lanes: int, machine: target.Target | None = None) -> Loop:
    return compile_loops([name], element, lanes, machine)[name]
