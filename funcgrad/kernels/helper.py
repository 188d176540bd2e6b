"""The process that builds the kernels that were asked for, while the one that asked goes on.

Requests lie in the store. One helper of a user at a time works them off, at low priority, and
ends when nothing is left to do. Where there is no
store, or processes cannot be started, kernels are built by `python -m funcgrad.kernels build`, or
not at all. It imports config, `load` and the store.
"""

from __future__ import annotations

import ast
import os
import threading
import time
from contextlib import suppress

from funcgrad.compile import detached, store
from funcgrad.config import config
from funcgrad.kernels import load
from funcgrad.kernels.native import Kernel

__all__ = ["ask", "serve", "state"]

REQUEST = "wanted-"
LOCK = "helper"
LINGER = 1.0  # seconds for which a helper waits for more: it has Numba
GIVEN = 3  # the file of the lock in the helper
_forked = [False]
_asked: set[str] = set()


def _after_fork() -> None:
    _forked[0] = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _possible() -> bool:
    """Whether this process starts helpers: none that was forked."""
    return config.build_kernels and config.cache and not _forked[0] and detached.possible()


def state() -> str:
    """What becomes of a kernel that has no code yet."""
    if _possible():
        return "another process builds its code"
    return "its code is not there: run `python -m funcgrad.kernels build`"


def ask(kernel: Kernel) -> None:
    """Have the code of a kernel built by a helper; nothing happens where there can be none."""
    if not _possible():
        return
    text = repr(tuple(kernel))
    name = REQUEST + store.name_of(text)
    if name in _asked:
        return
    _asked.add(name)
    store.write(name, text.encode())
    lock = store.lock(LOCK)
    if lock is not None:  # or a helper is there, which finds the request
        try:
            with suppress(OSError):
                _start(lock)
        finally:
            os.close(lock)  # the helper has it, too


def _start(lock: int) -> None:
    """Start a helper that has the lock; its folder is not the user's, where Python would import."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    program = f"import sys; sys.path[0] = {package!r}; import {__name__} as h; h.serve({GIVEN})"
    environment = {**os.environ, "FUNCGRAD_CACHE_DIR": os.path.dirname(store.path())}
    detached.Shell(["-c", program], {GIVEN: lock}, environment).reap()


def serve(lock: int | None) -> None:
    """Build what is asked for until nothing is left; `lock` says that nobody else does.

    The lock is given back before a last look: who asks while it is held starts no helper.
    """
    os.setsid()
    os.nice(19)
    while lock is not None:
        _work_off()
        os.close(lock)
        lock = store.lock(LOCK) if store.listed(REQUEST) else None


def _work_off() -> None:
    idle_since = time.monotonic()
    while time.monotonic() < idle_since + LINGER:
        names = store.listed(REQUEST)
        for name in names:
            text = store.read(name)
            store.remove(name)
            if text is not None:
                load.make(Kernel(*ast.literal_eval(text.decode())))
        if names:
            idle_since = time.monotonic()
        else:
            threading.Event().wait(0.05)
