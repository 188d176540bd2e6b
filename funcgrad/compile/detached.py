"""Processes that work for this one and are nobody's child.

A program that waits for all of its children does not wait for them, and Ctrl-C is not meant for
them. A shell begins them, and ends at once. It imports nothing of ours.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["Shell", "possible"]

SHELL = "/bin/sh"
BEYOND = 10  # the files of this process that are handed on have numbers that no other process gets


def possible() -> bool:
    """Whether there can be such a process: our Python is a program that can be run again."""
    program = os.path.basename(sys.executable or "")
    return (
        program.startswith(("python", "pypy"))
        and not getattr(sys, "frozen", False)
        and hasattr(os, "posix_spawn")
        and os.path.isfile(sys.executable)
        and os.path.exists(SHELL)
    )


class Shell:
    """What begins a process that runs `command`: Python with these arguments.

    The process has the files of `files`, by the number that each has there, and nothing else to
    read from or write to; it should leave our session. `reap` may come at any time.

    Raises
    ------
    OSError
        No process can be made.
    """

    def __init__(
        self,
        command: Sequence[str],
        files: Mapping[int, int],
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        # A shell takes the input of what it leaves behind: what is to be read has another number.
        place = [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_RDWR, 0) for n in range(3)]
        held = []
        try:
            for number, file in files.items():
                held.append(fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, BEYOND))
                place.append((os.POSIX_SPAWN_DUP2, held[-1], number))  # type: ignore[arg-type]
            arguments = ["sh", "-c", '"$0" "$@" &', sys.executable, *command]
            self._child: int | None = os.posix_spawn(
                SHELL, arguments, environment, file_actions=place
            )
        finally:
            for file in held:
                os.close(file)

    def reap(self) -> None:
        """Take leave of the shell."""
        child, self._child = self._child, None
        if child is not None:
            with suppress(ChildProcessError):  # the program waits for all of its children itself
                os.waitpid(child, 0)
