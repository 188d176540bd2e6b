"""Programs that Numba's code calls: what has no loops calls functions of Numba's (`outside`)."""

from __future__ import annotations

from funcgrad.compile.executable import Executable
from funcgrad.compile.kernel_calls import call
from funcgrad.compile.numba.outside import OutsideCall, outside_call
from funcgrad.compile.program import NativeProgram, ProgramWriter
from funcgrad.graph.ir import Equation

__all__ = ["native_program"]


def native_program(executable: Executable, name: str) -> NativeProgram:
    """The program of an executable.

    Raises
    ------
    NativeCodeError
        An operation has no native form; the message names it and the user's line.
    """
    return _Writer(executable, name).write()


class _Writer(ProgramWriter):
    def other_step(self, e: Equation, name: str) -> None:
        found = outside_call(e)
        if found is None:
            self.refuse(e)
        self.call_outside(e, found, name)

    def call_outside(self, e: Equation, form: OutsideCall, name: str) -> None:
        """Call a function of Numba's on dense arrays: on copies where operands are none."""
        given = [
            self.dense(a, shape, f"{name}.{k}")
            for k, (a, shape) in enumerate(zip(e.inputs, form.operands, strict=True))
        ]
        self.calls.append(call(form.kernel, [*given, *e.outputs, *form.sizes]))
