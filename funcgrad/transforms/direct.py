"""`disable_jit`: functions run as they are written, to be looked at with a debugger."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from funcgrad.core.tracer import uncompiled

__all__ = ["direct", "disable_jit"]


class _Direct(threading.local):
    """Whether jitted functions of this thread run as they are written."""

    on = False


direct = _Direct()


@contextlib.contextmanager
def disable_jit(disable: bool = True) -> Iterator[None]:
    """While it runs, functions made by `jit` are called as they are written.

    Values can be printed, and Python may branch on them. It is for this thread alone, and may be
    nested; ``disable_jit(False)`` lets `jit` work again.

    Parameters
    ----------
    disable : bool, optional

    Examples
    --------
    >>> import funcgrad as fg
    >>> f = fg.jit(lambda x: x + 1.0 if x > 0.0 else x)
    >>> with fg.disable_jit():
    ...     print(f(2.0))
    3.0
    """
    before, direct.on = direct.on, disable
    uncompiled.append(None)
    try:
        yield
    finally:
        uncompiled.pop()
        direct.on = before
