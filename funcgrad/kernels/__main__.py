"""Builds kernels ahead of their first use.

    python -m funcgrad.kernels build

builds the code of the kernels of large arrays for this machine and user, some minutes of work, so
that no process has to do without. What is there already is not built again.
"""

from __future__ import annotations

import sys

from funcgrad.kernels import ahead

USAGE = "usage: python -m funcgrad.kernels build"


def main(arguments: list[str]) -> int:
    """Do what the command line asks for; the status of the process."""
    match arguments:
        case ["build"]:
            return ahead.build()
    print(USAGE, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
