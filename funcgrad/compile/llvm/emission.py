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
from contextlib import suppress
from importlib.util import find_spec
from queue import SimpleQueue
from typing import Any

__all__ = ["Emission", "target_machine"]

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
        spec = find_spec("llvmlite")
        python, spawn = sys.executable or "", getattr(os, "posix_spawn", None)
        frozen = getattr(sys, "frozen", False) or not os.path.isfile(__file__)
        if spec is None or not spec.origin or spawn is None or frozen:
            raise OSError("there is no file to run")
        if not os.path.basename(python).startswith(("python", "pypy")):
            raise OSError(f"{python!r} embeds Python and is not known to run a file")
        folder = os.path.dirname(os.path.dirname(spec.origin))
        wanted, self._ask = os.pipe()
        self._answer, given = os.pipe()
        try:
            place = [(os.POSIX_SPAWN_DUP2, wanted, 0), (os.POSIX_SPAWN_DUP2, given, 1),
                     (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]  # fmt: skip
            command = [python, "-I", "-S", "-B", os.path.abspath(__file__), folder]
            self._begun: int | None = spawn(python, command, os.environ, file_actions=place)
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
        self._reap()
        request = marshal.dumps((text, processor, version))
        while request:
            request = request[os.write(self._ask, request) :]
        code, problem = marshal.load(self._answers)
        if problem:
            raise RuntimeError(problem)
        return bytes(code)

    def _reap(self) -> None:
        """Take leave of the process that began it, which ends at once."""
        begun, self._begun = self._begun, None
        if begun is not None:
            with suppress(ChildProcessError):  # the program waits for all of its children itself
                os.waitpid(begun, 0)

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
    if os.fork():
        os._exit(0)  # for this one its parent waits
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
    try:
        while True:
            requests.put(marshal.load(sys.stdin.buffer))
    finally:
        os._exit(0)


if __name__ == "__main__":
    _serve(sys.argv[1])
