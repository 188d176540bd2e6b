"""Code made in haste, and made well by another thread while it is already in use.

LLVM makes code in a third of the time if it need not be good. The first call of a function waits
for that; good code, which goes to disk, follows in a thread of its own, and calls take it as soon
as it is there. Both give the same bits: LLVM may not change what our arithmetic means at any level.
It imports objects.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from funcgrad.compile.llvm.emission import emitter
from funcgrad.compile.llvm.objects import Library
from funcgrad.config import config

__all__ = ["Hasty", "hurried", "later", "settle", "with_slots"]

WORK = 1 << 23  # additions, which take some milliseconds, and of code made in haste up to ten times
MOST = 8  # jobs that wait; with more, code is made well at once
PAUSE = 0.02  # seconds until a job begins: the call that asked for it is to have its result first
LAST = 1.0  # seconds that the end of the process waits for those that are not begun


class _Work:
    """What waits, and the thread that does it while there is any."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.waiting: deque[tuple[float, Callable[[], None]]] = deque()  # when due, and what
        self.thread: threading.Thread | None = None
        self.settling = 0  # threads that wait until nothing is left
        self.changed = threading.Condition(threading.Lock())

    def leave(self) -> None:
        """The thread ends. Call it under the lock."""
        self.thread = None
        self.changed.notify_all()


_work = _Work()
_busy = threading.Lock()  # held while a job runs


def _in_child() -> None:
    _work.begin()  # the thread is gone, and what waits is its parent's
    _busy.release()


# A fork waits for the job: a child must not inherit LLVM in the midst of its work. It does not hold
# the lock of what waits: a thread may want that while it holds another lock that a fork waits for.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_busy.acquire, after_in_parent=_busy.release, after_in_child=_in_child
    )


def hurried(work: float) -> bool:
    """Whether code for so many additions a call may be made in haste: that does not lose in the
    first call what it saves, and there is a processor to make it well meanwhile.
    """
    if work > WORK or config.threads == 1:
        return False
    if len(_work.waiting) >= MOST or not threading.main_thread().is_alive():
        return False
    return emitter() is not None


def later(job: Callable[[], None]) -> None:
    """Have a job done in another thread, if there can be one."""
    with _work.changed:
        _work.waiting.append((time.monotonic() + PAUSE, job))
        if _work.thread is not None:
            return
        # No daemon: LLVM must not be at work when the process takes its memory apart.
        _work.thread = threading.Thread(target=_run, name="funcgrad compiler", daemon=False)
        try:
            _work.thread.start()
        except RuntimeError:  # the process ends, or may have no more threads
            _work.waiting.clear()
            _work.leave()


def settle() -> None:
    """Wait until no job is left."""
    with _work.changed:
        _work.settling += 1
        _work.changed.notify_all()
        _work.changed.wait_for(lambda: _work.thread is None)
        _work.settling -= 1


def _run() -> None:
    main, end = threading.main_thread(), 0.0
    while True:
        if not main.is_alive():
            end = end or time.monotonic() + LAST
        with _work.changed:
            if not _work.waiting or (end and time.monotonic() > end):
                return _work.leave()
            due, job = _work.waiting[0]
            if (pause := due - time.monotonic()) > 0 and main.is_alive() and not _work.settling:
                _work.changed.wait(pause)
                continue
            _work.waiting.popleft()
        try:
            with _busy:
                job()
        except BaseException:
            with _work.changed:
                _work.leave()
            raise


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


class Hasty:
    """Kernels of a module `with_slots`; `refined` has their slots point to better ones.

    The addresses that it gives stay valid and the same for its life.
    """

    def __init__(self, library: Library, names: Sequence[str]) -> None:
        self.library, self.names = library, tuple(names)
        self.better: Library | None = None

    def address(self, kernel: str) -> int:
        return self.library.address(f"{kernel}.now")

    def refined(self, better: Library) -> None:
        self.better = better
        for name in self.names:
            slot = ctypes.c_void_p.from_address(self.library.address(f"{name}.slot"))
            slot.value = better.address(name)
