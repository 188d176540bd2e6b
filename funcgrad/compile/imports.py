"""Modules that are imported when they are needed first, and what runs meanwhile.

Python cannot import a module within its own import: the handler of a signal that calls a compiled
function while this thread imports the compiler runs it in the interpreter. It imports `config` and
`core`.
"""

from __future__ import annotations

import threading

from funcgrad.config import config
from funcgrad.core.tracer import running

__all__ = ["importing", "interpreted"]


class _Importing(threading.local):
    """``with importing:`` around the imports of a thread."""

    depth = 0

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1


importing = _Importing()


def interpreted() -> bool:
    """Whether graphs run in the interpreter: by the settings, in an import, or to be watched."""
    return config.backend == "interpreter" or importing.depth > 0 or bool(running.watching)
