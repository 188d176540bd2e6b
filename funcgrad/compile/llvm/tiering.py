"""Code made in haste, and made well by another process while it is already in use.

LLVM makes code in a third of the time if it need not be good. The first call of a function waits
for that; good code, which goes to disk, follows from a process of its own, and calls take it as
soon as it is there. Both give the same bits: LLVM may not change what our arithmetic means at any
level. A thread of ours waits for that process and never works with LLVM for long, so neither the
end of this process nor a fork waits for what is not finished. It imports emission and objects.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue

from funcgrad.compile.llvm.emission import Emission
from funcgrad.compile.llvm.objects import Library, module_text
from funcgrad.compile.llvm.pool import started
from funcgrad.compile.llvm.target import Target, lock
from funcgrad.config import config

__all__ = ["Tiered", "good_code", "worth_tiering", "later", "settle", "with_slots"]

# Additions a call for each character of a module. To make a character well takes 0.5 to 2 µs more
# than in haste; an addition takes up to 1.6 ns more, in products of matrices, else 0.2.
WORK = 1000
MOST = 8  # jobs that wait; with more, code is made well at once
PAUSE = 0.02  # seconds until a job begins: the call that asked for it is to have its result first
LAST = 0.25  # seconds that the end of the process waits for what is not done
IDLE = 5.0  # seconds after which a process that has nothing to do is let go

Job = Callable[[], object]


class _Work:
    """What waits, the thread that does it, and the process that makes the code. Jobs come from any
    place, the handler of a signal and finalizers among them, so no lock is held.
    """

    def __init__(self) -> None:
        self.jobs: SimpleQueue[tuple[float, Job]] = SimpleQueue()  # when due, and what
        self.threads: dict[str, threading.Thread] = {}  # one, once there is work
        self.waited: list[None] = []  # one for each thread that waits until nothing is left
        self.hurry = threading.Event()
        self.emission: Emission | None = None
        self.possible, self.ending = True, False

    def add(self, job: Job, pause: float) -> bool:
        """Have a job done; False if there can be no thread."""
        self.jobs.put((time.monotonic() + pause, job))
        made = threading.Thread(target=self._run, name="funcgrad compiler", daemon=True)
        if self.threads.setdefault("only", made) is not made or started(made):
            return True
        self.threads.clear()
        self.jobs = SimpleQueue()
        return False

    def process(self) -> Emission | None:
        """The process that makes code, begun if need be."""
        with lock:
            if self.emission is None and self.possible and not self.ending:
                try:
                    self.emission = Emission()
                except OSError:
                    self.possible = False
            return self.emission

    def lose(self) -> None:
        """Let go of the process."""
        with lock:
            emission, self.emission = self.emission, None
        if emission is not None:
            emission.close()

    def _run(self) -> None:
        if hasattr(signal, "pthread_sigmask"):  # they are for the main thread
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while not self.ending:
            try:
                due, job = self.jobs.get(timeout=None if self.emission is None else IDLE)
            except Empty:
                self.lose()
                continue
            while (pause := due - time.monotonic()) > 0 and not self.waited:
                self.hurry.wait(pause)
            try:
                job()
            except BaseException as error:
                kind, trace = type(error), error.__traceback__
                threading.excepthook(
                    threading.ExceptHookArgs((kind, error, trace, threading.current_thread()))
                )

    def wait(self, longest: float | None = None) -> None:
        """Wait until all that is asked for now is done."""
        if not self.threads:
            return
        done = threading.Event()
        self.waited.append(None)
        self.hurry.set()
        try:
            if self.add(done.set, 0.0):
                done.wait(longest)
        finally:
            self.waited.pop()
            if not self.waited:
                self.hurry.clear()


_work = _Work()


def _in_child() -> None:
    """The thread is gone, and what waits is the parent's, as is its process."""
    global _work
    before, _work = _work, _Work()
    if before.emission is not None:
        before.emission.forget()


@atexit.register
def _leave() -> None:
    """Wait a moment for what is not done, and leave it alone."""
    _work.wait(LAST)
    _work.ending = True
    _work.lose()
    if lock.acquire(timeout=LAST):  # what the thread is at takes no longer, and it begins no more
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def worth_tiering(work: float, length: int) -> bool:
    """Whether a module of so many characters for so many additions a call may be made in haste:
    that does not lose in the first call what it saves, and there is a processor to make it well
    meanwhile, if it is to be.
    """
    if work > WORK * length or config.tiers == "second":
        return False
    if config.tiers == "first":
        return True
    if config.threads == 1 or _work.jobs.qsize() >= MOST:
        return False
    return _work.process() is not None


def later(job: Job) -> bool:
    """Have a job done in another thread; False if there can be none."""
    return not _work.ending and _work.add(job, PAUSE)


def settle() -> None:
    """Wait until no job is left."""
    _work.wait()


def good_code(text: str, target: Target) -> bytes | None:
    """The object code of a module, from the other process; None if that is gone."""
    emission = _work.process()
    if emission is None:
        return None
    try:
        return emission.object_code(module_text(text, target), target.processor, target.version)
    except (EOFError, OSError):
        _work.possible = False  # it was killed: better not again
        _work.lose()
        return None


def with_slots(text: str, names: Sequence[str]) -> str:
    """A module with a second function for each kernel, which runs what its slot points to."""
    return text + "".join(_SLOT.replace("NAME", name) for name in names)


_SLOT = """@NAME.slot = global ptr @NAME
define void @NAME.now(ptr %arguments, i64 %first, i64 %last, i64 %thread) nounwind {
  %code = load atomic ptr, ptr @NAME.slot monotonic, align 8
  musttail call void %code(ptr %arguments, i64 %first, i64 %last, i64 %thread)
  ret void
}
"""


class Tiered:
    """Kernels of modules `with_slots`; `promote` has their slots point to better ones.

    The addresses that it gives stay valid and the same for its life.
    """

    def __init__(self, places: Mapping[str, tuple[Library, str]]) -> None:
        self.places = dict(places)  # of each kernel, and the name that it has there
        self.better: Library | None = None

    def address(self, kernel: str) -> int:
        library, name = self.places[kernel]
        return library.address(f"{name}.now")

    def promote(self, better: Library) -> None:
        self.better = better
        for library, name in dict.fromkeys(self.places.values()):
            slot = ctypes.c_void_p.from_address(library.address(f"{name}.slot"))
            slot.value = better.address(name)
