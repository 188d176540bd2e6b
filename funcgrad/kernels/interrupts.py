"""Interrupts (Ctrl-C) that wait until something is whole: a package that is being imported.

What is left of a package whose import was interrupted makes every later import of it fail. It
imports nothing of ours.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["later"]


@contextmanager
def later() -> Iterator[None]:
    """Let an interrupt that comes within the block happen at its end.

    Only the main thread gets interrupts; one whose handler is not Python's is left alone.
    """
    import signal  # makes enums

    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    caught: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: caught.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if caught and callable(before):
            before(*caught[0])
        elif caught and before is signal.SIG_DFL:
            os.kill(os.getpid(), signal.SIGINT)
