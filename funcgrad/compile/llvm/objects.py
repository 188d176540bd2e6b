"""From IR text to object code, and from object code to addresses.

`build` parses, verifies and generates; what it returns holds no address and may be stored. `load`
links object code into the process; the `Library` owns the memory and gives it back when it dies.
It imports errors, elf and target; llvmlite inside functions.
"""

from __future__ import annotations

import atexit
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from funcgrad.compile.llvm.elf import Image, Refused
from funcgrad.compile.llvm.target import Target, binding, host, lock, machine
from funcgrad.errors import CompilerError

__all__ = ["Library", "build", "link", "load", "module_text", "parsed"]


def build(
    text: str,
    *,
    optimize: bool = False,
    linked: Sequence[str] = (),
    finished: Sequence[str] = (),
    beside: Sequence[str] = (),
    target: Target | None = None,
) -> bytes:
    """The object code of the module `text`, with others linked into it.

    `optimize` runs LLVM's O1 pipeline first: for scalar loop bodies. Vector kernels are printed
    clean, and the pipeline would only double the time to build them. What is linked in becomes
    internal; it is inlined, and lanes of the same arithmetic are made vectors again. Modules that
    are `finished` went through a pipeline before: of them stays what is needed, as it is. Those
    `beside` stand beside the first one: what each of them shows, the module shows.
    """
    target = host() if target is None else target
    with lock, parsed(text, target, (*linked, *finished), beside) as module:
        if optimize or linked:
            _optimize(module, target, vectorize=bool(linked))
        elif finished:
            _prune(module, target)
        code: bytes = machine(target).emit_object(module)
        return code


def module_text(text: str, target: Target) -> str:
    """A module as LLVM reads it."""
    return f'target datalayout = "{target.data_layout}"\ntarget triple = "{target.triple}"\n{text}'


@contextmanager
def parsed(
    text: str, target: Target, linked: Sequence[str] = (), beside: Sequence[str] = ()
) -> Iterator[Any]:
    """The module of a text, verified; its objects are of a context of its own."""
    llvm = binding()
    # A context of its own: types and constants in LLVM's global context are never freed.
    with llvm.create_context() as context:

        def parse(text: str) -> Any:
            try:
                return llvm.parse_assembly(module_text(text, target), context)
            except RuntimeError as error:
                raise _rejected("parser", str(error), text) from None

        with parse(text) as module:
            for other in map(parse, beside):
                module.link_in(other)
            link(module, map(parse, linked))
            try:
                module.verify()
            except RuntimeError as error:
                raise _rejected("verifier", str(error), text) from None
            yield module


def link(module: Any, others: Iterable[Any]) -> None:
    """Put other modules into one; what they define becomes internal."""
    own = {x.name for x in (*module.functions, *module.global_variables) if not x.is_declaration}
    for other in others:
        module.link_in(other)
        for x in (*module.functions, *module.global_variables):
            if not x.is_declaration and x.name not in own and not x.name.startswith("llvm."):
                x.linkage = "internal"


def _optimize(module: Any, target: Target, vectorize: bool = False) -> None:
    llvm = binding()
    options = llvm.create_pipeline_tuning_options(speed_level=2 if vectorize else 1)
    options.loop_vectorization = options.loop_unrolling = False
    options.slp_vectorization = vectorize
    with (
        options,
        llvm.create_pass_builder(machine(target), options) as builder,
        builder.getModulePassManager() as passes,
    ):
        passes.run(module, builder)


def _prune(module: Any, target: Target) -> None:
    """Leave out what nothing refers to."""
    llvm = binding()
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    with llvm.create_pipeline_tuning_options() as options:
        passes.run(module, llvm.create_pass_builder(machine(target), options))


_HEADER_LINES = 2
_POSITION = re.compile(r"<string>:(\d+):(\d+): (?:error: )?(.*)")


def _rejected(stage: str, message: str, text: str) -> CompilerError:
    """The error for IR that LLVM does not take, with the line of our text that it means."""
    found = _POSITION.search(message)
    if found:
        line, column = int(found[1]) - _HEADER_LINES, int(found[2])
        what = found[3]
    else:  # the verifier prints the instruction, not its place
        what, *instructions = message.strip().split("\n")
        line, column = _line_of(instructions, text), 1
    place = f"line {line}, column {column}" if line else "unknown line"
    lines = text.split("\n")
    first = max(line - 4, 0)
    excerpt = "\n".join(
        f"{'>' if k + 1 == line else ' '} {k + 1:5} | {lines[k]}"
        for k in range(first, min(line + 2, len(lines)))
    )
    rest = "" if found else f"\n{message.strip()}"
    return CompilerError(
        f"LLVM's {stage} rejected generated code at {place}: {what}{rest}\n{excerpt}\n"
        "This is a defect of funcgrad; please report it with the program that led here."
    )


def _line_of(instructions: list[str], text: str) -> int:
    squeezed = [" ".join(line.split()) for line in text.split("\n")]
    for instruction in instructions:
        wanted = " ".join(instruction.split())
        for k, line in enumerate(squeezed):
            if wanted and line.startswith(wanted):
                return k + 1
    return 0


# At the exit of the process all code stays where it is, for threads that still run it.
_exiting = [False]


@atexit.register
def _exit() -> None:
    _exiting[0] = True


class Library:
    """Object code that is linked into the process, for as long as this object lives."""

    __slots__ = ("__weakref__", "_held")

    def __init__(self, code: Image | _Linked) -> None:
        self._held = _Held(code)

    def address(self, name: str) -> int:
        """The address of the function or variable `name`; valid while the library lives."""
        with lock:
            try:
                return _loaded[self._held.number].lookup(name)
            except (KeyError, RuntimeError) as error:
                raise CompilerError(
                    f"generated code has no symbol {name!r}, or needs one that is not there: "
                    f"{error}\nThis is a defect of funcgrad; please report it."
                ) from None


class _Held:
    """What a library holds. It is apart because of its finalizer: to an object with a finalizer
    weak references still lead while that runs.
    """

    __slots__ = ("number",)

    def __init__(self, code: Image | _Linked) -> None:
        self.number = next(_numbers)
        _loaded[self.number] = code

    def __del__(self, lock: Any = lock, exiting: list[bool] = _exiting) -> None:
        if exiting[0] or not hasattr(self, "number"):  # or it was interrupted while it was made
            return
        # A finalizer runs anywhere, in a thread as well for which one waits that has the lock: it
        # must not wait. llvmlite locks each of its calls; ours is around it so that no fork sees
        # that one taken.
        _waiting.append(self.number)
        if lock.acquire(blocking=False):
            try:
                _release()
            finally:
                lock.release()


class _Linked:
    """Object code that LLVM links when a symbol of it is asked for."""

    def __init__(self, code: bytes, symbols: Mapping[str, int]) -> None:
        self.linker, self.name = _next_linker()
        builder = binding().JITLibraryBuilder().add_object_img(code).add_current_process()
        for symbol, address in symbols.items():
            builder.import_symbol(symbol, address)
        self.trackers = [builder.link(self.linker, self.name)]

    def lookup(self, name: str) -> int:
        self.trackers.append(self.linker.lookup(self.name, name))
        address: int = self.trackers[-1][name]
        return address

    def close(self) -> None:
        for tracker in self.trackers:
            tracker.close()


# LLVM's objects are held here and nowhere else. The cycle collector finalizes what it found in any
# order: a linker that it found would go before what it has linked.
_loaded: dict[int, Image | _Linked] = {}
_numbers = itertools.count()
_waiting: list[int] = []  # what finalizers have left


def _release() -> None:
    """Free what finalizers have left; the caller has the lock."""
    while _waiting:
        found = _loaded.pop(_waiting.pop(), None)
        if found is not None:
            found.close()


def load(object_code: bytes, symbols: Mapping[str, int] | None = None) -> Library:
    """Link `object_code` into the process.

    Symbols that it does not define are looked up in `symbols` (name -> address) and then among
    those of the process (libc, libm, the C API of Python where it is exported).
    """
    with lock:
        _release()
        try:
            return Library(Image(object_code, symbols or {}))
        except Refused:
            pass
        try:
            return Library(_Linked(object_code, symbols or {}))
        except RuntimeError as error:
            raise CompilerError(f"object code cannot be linked: {error}") from None


# A linker keeps about 10 KiB for each library that it ever held, also for released ones, so each
# serves a few and is then left to its libraries, which free it when the last of them dies.
_LIBRARIES_PER_LINKER = 32
_linkers: dict[Target, list[Any]] = {}


def _next_linker() -> tuple[Any, str]:
    """A linker, and a name that no library in it had before. Call it under the lock."""
    target = host()
    entry = _linkers.get(target)
    if entry is None or entry[1] == _LIBRARIES_PER_LINKER:
        linker = binding().create_lljit_compiler(machine(target), use_jit_link=os.name != "nt")
        entry = _linkers[target] = [linker, 0]
    entry[1] += 1
    return entry[0], f"library{entry[1]}"
