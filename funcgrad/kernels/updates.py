"""The steps of optimisers on arrays: by a kernel for all parameters at once, or by NumPy.

Both are written from `update_rules` and give the same bits. A kernel that is loaded is faster from
the first element on; whether it is worth loading, all parameters of a step decide together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.kernels import many, threads
from funcgrad.kernels import updates_in_numpy_generated as in_numpy
from funcgrad.kernels.choice import FEWEST, FLOATS, Entry, entry_of
from funcgrad.kernels.native import Code

__all__ = ["Move", "carry_out", "code_for", "owner_of"]

ndarray = np.ndarray
Arrays = tuple[Any, ...]
C_ORDER, F_ORDER, READABLE, WRITEABLE = 1, 2, 0x100, 0x500  # flags of NumPy; both are aligned


class Move(NamedTuple):
    """The step of one parameter: a rule, its arrays (parameter, gradient, state), and numbers.

    The numbers are first those of the options, then those of the rule, in the order in which
    `update_rules` names them.
    """

    rule: str
    arrays: tuple[Any, ...]
    numbers: tuple[Any, ...]


def carry_out(moves: Iterable[Move], size: int) -> None:
    """Change parameters, which together have `size` elements, and their state in place.

    Parameters with the same numbers, most often all of a group, go together.
    """
    alike: list[Arrays] = []
    kind: tuple[str, Any, bool] = ("", None, False)
    numbers: tuple[Any, ...] = ()
    for move in moves:
        x, g = move.arrays[:2]
        this = (move.rule, x.dtype, g.flags.writeable)
        if this != kind or (move.numbers is not numbers and move.numbers != numbers):
            if alike:
                _change(alike, kind, numbers, size)
            alike, kind, numbers = [], this, move.numbers
        alike.append(move.arrays)
    if alike:
        _change(alike, kind, numbers, size)


def _change(
    alike: list[Arrays], kind: tuple[str, Any, bool], numbers: tuple[Any, ...], size: int
) -> None:
    rule, dtype, writeable = kind
    function = getattr(in_numpy, rule)
    if dtype not in FLOATS:
        for arrays in alike:
            function(*arrays, *numbers)
        return
    entry = _entry(rule, dtype, writeable, numbers)
    if _asked(entry, size) and entry.taken():
        _by_kernel(entry, function, alike, numbers)
        return
    for arrays in alike:
        _in_numpy(function, arrays, numbers)


def _asked(entry: Entry, size: int) -> bool:
    """Whether it is time to ask for the kernel: small steps do not even look for it on disk."""
    return bool(entry.codes) or size >= FEWEST


def _entry(rule: str, dtype: Any, writeable: bool, numbers: tuple[Any, ...]) -> Entry:
    """Of the kernel for dtype, gradient (F if it is read-only) and options (n, or - for none)."""
    options = "".join("-" if n is None else "n" for n in numbers[:3])
    return entry_of(f"{rule}_update", f"{dtype.char} {'f' if writeable else 'F'}{options}")


def code_for(rule: str, arrays: Arrays, numbers: tuple[Any, ...]) -> tuple[Entry, Code] | None:
    """The kernel of a rule for arrays without gaps, and its code; None if it is not loaded."""
    dtype = arrays[0].dtype
    if dtype not in FLOATS:
        return None
    entry = _entry(rule, dtype, True, numbers)
    kinds = many.kinds_of(_flat(arrays), numbers)
    code = entry.codes.get(("many", kinds)) if kinds is not None and entry.taken() else None
    return None if code is None else (entry, code)


def _by_kernel(
    entry: Entry, function: Callable[..., None], alike: list[Arrays], numbers: Sequence[Any]
) -> None:
    """By the kernel, in order; arrays with gaps by NumPy."""
    rows: list[Arrays] = []
    for arrays in alike:
        row = _whole(arrays)
        if row is not None:
            rows.append(row)
            continue
        _run(entry, function, rows, numbers)
        rows = []
        function(*arrays, *numbers)
    _run(entry, function, rows, numbers)


def _whole(arrays: Arrays) -> Arrays | None:
    """The arrays without gaps in the order of the parameter's memory; None if they are not so, or
    if the gradient is the parameter's own memory, and changes while the step is taken.
    """
    x, g = arrays[:2]
    shape, dtype = x.shape, x.dtype
    order = C_ORDER if x.flags.num & C_ORDER else F_ORDER
    needed = order | WRITEABLE
    if owner_of(g) is owner_of(x) and np.may_share_memory(g, x):
        return None
    for y in arrays:
        if y.shape != shape or (y.dtype is not dtype and y.dtype != dtype):
            return None
        if y.flags.num & needed != needed and y is not g:
            return None
    if g.flags.num & (order | READABLE) == order | READABLE:
        return arrays
    return (x, np.array(g, order="C" if order == C_ORDER else "F"), *arrays[2:])


def owner_of(x: ndarray[Any, Any]) -> Any:
    """What has the memory that an array shows."""
    return x if x.base is None else x.base


def _run(
    entry: Entry, function: Callable[..., None], rows: list[Arrays], numbers: Sequence[Any]
) -> None:
    if not rows:
        return
    kinds = many.kinds_of(_flat(rows[0]), numbers)
    code = None if kinds is None else entry.code("many", kinds)
    if code is not None:
        entry.calls += len(rows)
        many.run(code, rows, numbers)
        return
    for arrays in rows:
        _in_numpy(function, arrays, numbers)


def _flat(arrays: Arrays) -> list[ndarray[Any, Any]]:
    return [y.ravel("K") for y in arrays]


def _in_numpy(function: Callable[..., None], arrays: Arrays, numbers: Sequence[Any]) -> None:
    """By NumPy: large arrays in pieces that fit into the cache, taken by several threads."""
    size = arrays[0].size
    row = None if size < threads.PARALLEL else _whole(arrays)
    if row is None:
        function(*arrays, *numbers)
    else:
        flat = _flat(row)
        threads.run(lambda a, b: function(*(y[a:b] for y in flat), *numbers), size, size)
