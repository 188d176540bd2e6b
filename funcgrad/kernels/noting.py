"""What native code is called with, noted while somebody wants to call it again without Python.

Whoever runs native code of ours on arrays says so here if a list is laid open in this thread. What
a call reads and what it writes are told apart: only of what such calls have written is it known
where it comes from.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

__all__ = ["Call", "noted", "notes"]

T = TypeVar("T")
Raw = np.ndarray[Any, Any]


class Call(NamedTuple):
    """A call of native code.

    Its table has the addresses of the arrays in this order, the `words`, and the address of scratch
    memory where there is any.

    Attributes
    ----------
    code : Code
        See `native`; it is held.
    arrays : sequence of ndarray
    written : int
        How many of the arrays, the last ones, are written and not read.
    words : array of int
    chunks : int
    shared : bool
        Whether threads take part.
    constants : sequence of ndarray
        Those among the arrays that are the same at every such call.
    scratch : int
        Bytes for each thread.
    """

    code: Any
    arrays: Sequence[Raw]
    written: int
    words: Sequence[int]
    chunks: int
    shared: bool
    constants: Sequence[Raw] = ()
    scratch: int = 0


class Notes(threading.local):
    """Of this thread: a list of calls that grows, most often none."""

    calls: list[Call] | None = None


notes = Notes()


def noted(function: Callable[..., T], *args: Any) -> tuple[T, list[Call]]:
    """What a function gives, and the calls of native code that it has made."""
    before, calls = notes.calls, []  # type: ignore[var-annotated]
    notes.calls = calls
    try:
        return function(*args), calls
    finally:
        notes.calls = before
