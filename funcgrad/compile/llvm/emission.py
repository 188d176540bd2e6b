"""Object code that another process makes, which can be left alone at any moment.

LLVM cannot be interrupted: a thread in the midst of a large module would hold up the end of the
process, and every fork, for as long as that takes. So good code is made by a process that runs this
file alone, without funcgrad and NumPy. It ends when the pipe to it is closed, whatever LLVM does
then. It is nobody's child: a program that waits for all of its children does not wait for it.
This file imports nothing of ours.
"""

from __future__ import annotations

import marshal
import os
import sys
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from queue import SimpleQueue

__all__ = ["Emission", "target_machine"]

REQUESTS = 3  # the file from which the process reads

Processor = tuple[str, str, str, str]  # triple, CPU, features and code model, as LLVM names them


def target_machine(llvm: Any, processor: Processor, opt: int) -> Any:
    """LLVM's code generator; `opt` 0 makes code in haste, 2 makes it well."""
    triple, cpu, features, code_model = processor
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=opt, reloc="pic", codemodel=code_model, jit=True
    )


class Emission:
    """The process that makes object code. One thread may ask it, and has all signals blocked: a
    process that is gone is a pipe that is broken.

    Raises
    ------
    OSError
        There can be no such process here.
    """

    _ask = _answer = -1

    def __init__(self) -> None:
        from funcgrad.compile.detached import Shell, possible

        spec = find_spec("llvmlite")
        if spec is None or not spec.origin or not possible() or not os.path.isfile(__file__):
            raise OSError("there is no file to run, or no Python that is known to run it")
        folder = os.path.dirname(os.path.dirname(spec.origin))
        wanted, self._ask = os.pipe()
        self._answer, given = os.pipe()
        try:
            command = ["-I", "-S", "-B", os.path.abspath(__file__), folder]
            self._shell = Shell(command, {1: given, REQUESTS: wanted})
        except BaseException:
            self.forget()
            raise
        finally:
            os.close(wanted)
            os.close(given)
        self._answers = os.fdopen(self._answer, "rb", closefd=False)

    def object_code(self, text: str, processor: Processor, version: str) -> bytes:
        """The object code of a module that LLVM takes, of an LLVM of this `version`.

        Raises
        ------
        EOFError, OSError
            The process is gone, or was left alone.
        RuntimeError
            What LLVM said.
        """
        self._shell.reap()
        request = marshal.dumps((text, processor, version))
        while request:
            request = request[os.write(self._ask, request) :]
        code, problem = marshal.load(self._answers)
        if problem:
            raise RuntimeError(problem)
        return bytes(code)

    def close(self) -> None:
        """Leave the process alone: it ends. An answer that is waited for is an EOFError."""
        ask, self._ask = self._ask, -1
        if ask >= 0:
            os.close(ask)

    def forget(self) -> None:
        """Close the pipes: nobody waits for an answer.

        So does the child of a fork, whose parent has the process; a thread that is gone may have
        had the file of the answers in its hands.
        """
        self.close()
        answer, self._answer = self._answer, -1
        if answer >= 0:
            os.close(answer)

    __del__ = forget


# ------------------------------------------------------------------ what runs in the other process


def _serve(folder: str) -> None:
    from queue import SimpleQueue

    os.setsid()  # Ctrl-C is not meant for it
    requests: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    sys.path.append(folder)
    import llvmlite
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    version = f"{llvmlite.__version__} {llvm.llvm_version_info}"
    while True:
        text, processor, wanted = requests.get()
        code, problem = b"", ""
        try:
            if wanted != version:
                raise RuntimeError(f"LLVM is {version}, not {wanted}")
            with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
                code = target_machine(llvm, processor, 2).emit_object(module)
        except RuntimeError as error:
            problem = str(error) or "no reason given"
        marshal.dump((code, problem), sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _listen(requests: SimpleQueue[Any]) -> None:
    """Hand requests on, and end the process when there can be no more."""
    asked = os.fdopen(REQUESTS, "rb")
    try:
        while True:
            requests.put(marshal.load(asked))
    finally:
        os._exit(0)


if __name__ == "__main__":
    _serve(sys.argv[1])
