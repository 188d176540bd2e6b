"""Signals in long native loops: a kernel asks now and then, and ends where a handler has raised.

A kernel calls `poll` of the main thread, in which Python runs the handlers. What one of them raises
is kept: the kernel ends as one that failed does, and whoever is told so raises it.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import threading
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Poll", "poll", "reraise"]

_raised: list[BaseException] = []


class Poll(NamedTuple):
    """What a kernel is given: two functions, and the number of the thread that may call the first.

    The first is 0 as long as nothing was raised; the second tells the number of a thread. They
    belong to this process: nothing that is kept may hold them.
    """

    look: int
    thread: int
    main: int


def _answers() -> Iterator[int]:
    """Python runs handlers when a generator goes on, so what they raise is raised in here.

    It runs them at the jump of a loop, too, which therefore stands within the `try`.
    """
    while True:
        try:
            while True:
                yield len(_raised)
        except GeneratorExit:
            raise
        except BaseException as error:
            _raised.append(error)


@functools.cache
def _functions() -> tuple[object, int, int]:
    # one after the other: a second signal may come while the first one is being kept
    answers = itertools.chain.from_iterable(iter(_answers, None))
    next(answers)
    look = ctypes.CFUNCTYPE(ctypes.c_int)(functools.partial(next, answers))
    thread = ctypes.cast(ctypes.pythonapi.PyThread_get_thread_ident, ctypes.c_void_p).value
    address = ctypes.cast(look, ctypes.c_void_p).value
    assert address is not None
    assert thread is not None
    return look, address, thread  # the first keeps the function alive


def poll() -> Poll:
    """The functions of this process."""
    _, look, thread = _functions()
    main = threading.main_thread().ident
    assert main is not None
    return Poll(look, thread, main)


def reraise() -> None:
    """Raise what a handler raised while a kernel ran."""
    if _raised:
        error = _raised[0]
        _raised.clear()
        raise error
