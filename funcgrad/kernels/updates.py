"""The steps of optimisers on arrays: by a kernel for each parameter, or by NumPy.

Both are written from `update_rules` and give the same bits. A kernel that is loaded is faster from
the first element on; whether it is worth loading, all parameters of a step decide together.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from funcgrad.kernels import pieces, threads
from funcgrad.kernels import updates_in_numpy_generated as in_numpy
from funcgrad.kernels.choice import FEWEST, READ, Entry, entry_of
from funcgrad.kernels.native import Cut

__all__ = ["Move", "carry_out"]

ndarray = np.ndarray
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


class Move(NamedTuple):
    """The step of one parameter: a rule, its arrays (parameter, gradient, state), and numbers.

    The numbers are first those of the options, then those of the rule, in the order in which
    `update_rules` names them.
    """

    rule: str
    arrays: tuple[Any, ...]
    numbers: tuple[Any, ...]


def carry_out(moves: Iterable[Move], size: int) -> None:
    """Change parameters, which together have `size` elements, and their state in place."""
    kind, entry = None, None
    for move in moves:
        flat = _flat(move.arrays)
        if flat is None:
            getattr(in_numpy, move.rule)(*move.arrays, *move.numbers)
            continue
        this = (move.rule, move.numbers, flat[0].dtype, flat[1].flags.writeable)
        if entry is None or this != kind:  # most often the parameters of a group are alike
            kind, entry = this, _entry(move, flat)
        if not (_asked(entry, size) and entry.taken(size) and _run(entry, flat, move.numbers)):
            start = perf_counter()
            _in_numpy(move, flat)
            entry.spent(start)


def _asked(entry: Entry, size: int) -> bool:
    """Whether it is time to ask for the kernel: small steps do not even look for it on disk."""
    return entry.function is not None or size >= FEWEST or entry.seconds >= READ


def _flat(arrays: tuple[Any, ...]) -> list[ndarray[Any, Any]] | None:
    """The arrays in the order of the parameter's memory; None if that has gaps, or another type."""
    x = arrays[0]
    shape, dtype = x.shape, x.dtype
    if dtype not in FLOATS:
        return None
    turned = not x.flags.c_contiguous
    found: list[ndarray[Any, Any]] = []
    for y in arrays:
        if y.shape != shape or y.dtype != dtype:
            return None
        y = y.T if turned else y
        if not y.flags.c_contiguous or not y.flags.aligned:
            if len(found) != 1:
                return None
            y = np.array(y, order="C")  # the gradient, in another order than the parameter
        found.append(y.reshape(-1))
    return found


def _entry(move: Move, flat: list[ndarray[Any, Any]]) -> Entry:
    """Of the kernel for dtype, gradient (F if it is read-only) and options (n, or - for none)."""
    options = "".join("-" if n is None else "n" for n in move.numbers[:3])
    letter = "f" if flat[1].flags.writeable else "F"
    return entry_of(f"{move.rule}_update", f"{flat[0].dtype.char} {letter}{options}")


def _run(entry: Entry, flat: list[ndarray[Any, Any]], numbers: tuple[Any, ...]) -> bool:
    size = flat[0].size
    if size < threads.PARALLEL:
        return entry.run(*flat, *numbers)
    return pieces.run(entry, [*(Cut(y, 0) for y in flat), *numbers], size, size)


def _in_numpy(move: Move, flat: list[ndarray[Any, Any]]) -> None:
    """By NumPy: large arrays in pieces that fit into the cache, taken by several threads."""
    function, numbers, size = getattr(in_numpy, move.rule), move.numbers, flat[0].size
    if size < threads.PARALLEL:
        function(*flat, *numbers)
    else:
        threads.run(lambda a, b: function(*(y[a:b] for y in flat), *numbers), size, size)
