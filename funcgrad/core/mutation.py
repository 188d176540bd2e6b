"""Arrays that must not change while something depends on them, for `funcgrad.debug.check_mutation`.

They are locked: NumPy itself then raises at the line that writes. Views that were taken before can
still be written into; that is found by a checksum (`transforms/guard.py`).
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from funcgrad.errors import (
    MutatedCaptureError,
    Place,
    line_at,
    located,
    program_line,
    user_place,
)

__all__ = ["Locks", "written_line"]


class Locks:
    """The arrays that are locked, for whom, and where they were used."""

    def __init__(self) -> None:
        self.held: list[tuple[Any, np.ndarray[Any, Any], Place | None]] = []

    def hold(self, owner: Any, x: Any, place: Place | None = None) -> None:
        """Let nobody write into `x`, and into what it is a view of, until the owner has ended."""
        place = place or user_place()
        while isinstance(x, np.ndarray):
            if x.flags.writeable:
                x.flags.writeable = False
                self.held.append((owner, x, place))
            x = x.base

    def release(self, owner: Any = None) -> None:
        """Unlock what is held for an owner, or all; views after what they are views of."""
        mine = [e for e in self.held if owner is None or e[0] is owner]
        self.held = [e for e in self.held if owner is not None and e[0] is not owner]
        for _, x, _ in reversed(mine):
            with contextlib.suppress(ValueError):  # what it is a view of is held for another one
                x.flags.writeable = True

    def changed(self, x: np.ndarray[Any, Any]) -> MutatedCaptureError:
        """The error where an array was written into all the same, through an older view."""
        place = next((p for _, a, p in self.held if a is x), None)
        return MutatedCaptureError(
            located(
                f"an array of shape {x.shape} and dtype {x.dtype} was changed in place while a "
                "function that uses it was traced; write into a copy" + written_line(place)
            )
        )

    def explain(self, error: BaseException) -> None:
        """Raise our error in the place of NumPy's, where a locked array was written into."""
        if self.held and type(error) is ValueError and "read-only" in str(error):
            used = dict.fromkeys(str(line_at(p)) for _, _, p in self.held if p is not None)
            raise MutatedCaptureError(
                f"an array is written into ({error}) while a gradient or a compiled function "
                f"depends on what it held; write into a copy\n  at {program_line(error)}\n"
                f"arrays were used at {', '.join(used)}"
            ).with_traceback(error.__traceback__) from None


def written_line(place: Place | None) -> str:
    """Where an array was used, for a message."""
    return "" if place is None else f"\n  it was used at {line_at(place)}"
