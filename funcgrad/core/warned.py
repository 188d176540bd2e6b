"""Warnings of NumPy's floating point operations, at the line of the program.

NumPy warns of the Python frame that calls it, which is one of ours: ``<funcgrad log>``. What Python
is about to print is therefore given again, at the line of the program and with the filters of its
module. Only the printing is changed (`warnings.showwarning`, which Python lets programs replace): a
warning that is recorded or made an error is none of ours to change.
"""

from __future__ import annotations

import functools
import sys
import warnings
from typing import Any, TextIO

from funcgrad.errors import is_ours, warn_at_line

__all__ = ["install"]


def install() -> None:
    """Have Python print such warnings at the line of the program."""
    before = warnings.showwarning

    @functools.wraps(before)
    def showwarning(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if not issubclass(category, RuntimeWarning) or not _given_again(message, filename):
            before(message, category, filename, lineno, file, line)

    warnings.showwarning = showwarning


def _given_again(message: Any, filename: str) -> bool:
    """Give a warning of a frame of ours at the line of the program; whether it was one."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename != filename:
        frame = frame.f_back
    if frame is None or not is_ours(frame):
        return False
    # our lines serve all lines of the program: that one of them was told counts there alone
    frame.f_globals.get("__warningregistry__", {}).clear()
    return warn_at_line(message, type(message), frame)
