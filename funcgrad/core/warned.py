"""Warnings of NumPy's floating point operations, at the line of the program.

NumPy warns of the Python frame that calls it, which is one of ours: ``<funcgrad log>``. What Python
is about to print, or to record for pytest, is therefore given again, at the line of the program and
with the filters of its module. That is done where Python hands on every warning that has passed the
filters; ``warnings.showwarning``, which programs may replace, is not asked for those that are
recorded. A warning that is made an error needs none of this: its traceback has the line.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

from funcgrad.errors import is_ours, warn_at_line

__all__ = ["install"]


def install() -> None:
    """Have Python show such warnings at the line of the program."""
    hidden: Any = warnings
    before = hidden._showwarnmsg

    def _showwarnmsg(told: warnings.WarningMessage) -> None:
        if not issubclass(told.category, RuntimeWarning) or not _given_again(told):
            before(told)

    hidden._showwarnmsg = _showwarnmsg


def _given_again(told: warnings.WarningMessage) -> bool:
    """Give a warning of a frame of ours at the line of the program; whether it was one."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename != told.filename:
        frame = frame.f_back
    if frame is None or not is_ours(frame):
        return False
    # our lines serve all lines of the program: that one of them was told counts there alone
    frame.f_globals.get("__warningregistry__", {}).clear()
    return warn_at_line(told.message, told.category, frame)
