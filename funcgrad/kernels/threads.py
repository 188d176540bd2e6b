"""Several threads for one operation on a large array: code that releases the interpreter's lock.

A range is cut into pieces of a fixed size, so results do not depend on the number of threads. The
threads are the compiler's, as are those that run native code alone (see `native`). It imports the
pool.
"""

from __future__ import annotations

from collections.abc import Callable

from funcgrad.compile.llvm.pool import share

__all__ = ["PARALLEL", "grain", "run"]

PARALLEL = 1 << 18  # elements: with fewer the second thread comes too late
PIECE = 1 << 16  # elements; a multiple of every vector, so that each lies in the same one as before


def grain(count: int, size: int) -> int:
    """How much of 0 … `count` is a piece, where `size` elements are behind it.

    It depends on nothing else, so results do not depend on the number of threads.
    """
    return max(1, PIECE * count // max(size, 1))


def run(work: Callable[[int, int], None], count: int, size: int) -> None:
    """Call `work(first, last)` in all threads for ranges that together are 0 … `count`.

    `size` is the number of elements behind the range.
    """
    each = grain(count, size)
    share(lambda k: work(k * each, min((k + 1) * each, count)), -(-count // each))
