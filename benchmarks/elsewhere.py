"""A process of another Python interpreter that calls functions for this one.

A library that cannot be installed next to the others has an environment of its own; the variable
``BENCHMARK_PYTHON_<NAME>`` names its interpreter. It has to have NumPy, and finds the benchmarks
where they were started.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

__all__ = ["Elsewhere", "Reply", "interpreter"]


def interpreter(name: str) -> str | None:
    """The interpreter of a library, if it is not this one."""
    return os.environ.get(f"BENCHMARK_PYTHON_{name.upper().replace('-', '_')}")


class Reply(NamedTuple):
    """What a call returned, or the error that it raised."""

    value: Any
    error: str | None

    def result(self) -> Any:
        if self.error is not None:
            raise RuntimeError(self.error)
        return self.value


class Elsewhere:
    """An executor, of which one call is made at a time."""

    def __init__(self, python: str) -> None:
        command = [python, "-m", "benchmarks.elsewhere"]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def submit(self, function: Callable[..., Any], *args: Any) -> Reply:
        asked, answered = self.child.stdin, self.child.stdout
        assert asked is not None and answered is not None
        pickle.dump((function, args), asked)
        asked.flush()
        found: Reply = pickle.load(answered)
        return found


def serve(asked: BinaryIO, answers: BinaryIO) -> None:
    """Answer calls until nobody asks any more."""
    while True:
        try:
            function, args = pickle.load(asked)
            reply = Reply(function(*args), None)
        except EOFError:
            return
        except Exception as error:
            reply = Reply(None, f"{type(error).__name__}: {error}")
        pickle.dump(reply, answers)
        answers.flush()


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the library prints is no answer
    from benchmarks import elsewhere  # not __main__: its classes are sent as this module's

    elsewhere.serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
