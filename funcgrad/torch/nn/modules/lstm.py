"""An LSTM over all steps, on raw arrays: products of matrices, and native code for what is between.

The gates of all steps lie in one array. The way back fills one like it with their cotangents, step
by step from the last; what the weights get are then products over all steps at once. It imports
the facade's native code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.config import config
from funcgrad.kernels import memory
from funcgrad.torch import lines
from funcgrad.torch.flat import FLOATS
from funcgrad.torch.matrix_products import times, write_product

__all__ = ["Steps", "back", "forward", "suits"]

ndarray = np.ndarray
Raw = ndarray[Any, Any]
FIRST_BIAS, SECOND_BIAS = 5, 6  # among the operands; what they get is the same


class Steps(NamedTuple):
    """What an LSTM leaves for the way back; `cells` and `states` begin with the first ones."""

    gates: Raw
    cells: Raw
    states: Raw
    reverse: bool


def suits(xs: Sequence[Any]) -> bool:
    """Whether these are arrays for the native code."""
    dtype = getattr(xs[0], "dtype", None)
    return (
        config.kernels
        and dtype in FLOATS
        and all(type(x) is ndarray and x.dtype == dtype and x.size for x in xs)
    )


def _order(count: int, reverse: bool) -> range:
    return range(count - 1, -1, -1) if reverse else range(count)


def forward(
    x: Raw, h: Raw, c: Raw, w_ih: Raw, w_hh: Raw, *biases: Raw, reverse: bool
) -> tuple[tuple[Raw, ...], Steps]:
    """The states after each step and the last ones, and what `back` needs."""
    count, (rows, size) = len(x), h.shape
    gates = memory.empty((count, rows, 4 * size), x.dtype)
    write_product(x.reshape(-1, x.shape[2]), w_ih.T, gates.reshape(-1, 4 * size))
    bias = biases[0] + biases[1] if biases else np.zeros(4 * size, x.dtype)
    cells = memory.empty((count + 1, rows, size), x.dtype)
    states = memory.empty((count + 1, rows, size), x.dtype)
    cells[0], states[0] = c, h
    product = np.empty((rows, 4 * size), x.dtype)
    turned = np.ascontiguousarray(w_hh.T)  # once for all steps
    now, order = np.arange(count), _order(count, reverse)
    arrays = (product, None), (bias, None), (cells, now), (gates, order), (cells, now + 1)
    run = lines.steps_of_rows("lstm", [*arrays, (states, now + 1)])
    for k in range(count):
        write_product(states[k], turned, product)
        run(k)
    steps = states[:0:-1] if reverse else states[1:]
    found = steps.copy(), states[-1].copy(), cells[-1].copy()
    return found, Steps(gates, cells, states, reverse)


def back(
    found: Steps, xs: Sequence[Raw], cts: Sequence[Raw | None], wanted: Sequence[int]
) -> list[Raw]:
    """The cotangents of the operands `wanted`, given those of the three results."""
    gates, cells, states, reverse = found
    count, size = len(gates), states.shape[2]
    cotangents = memory.empty(gates.shape, gates.dtype)
    none = np.zeros_like(states[0])
    later = none.copy() if cts[1] is None else np.array(cts[1], order="C")
    cell = none.copy() if cts[2] is None else np.array(cts[2], order="C")
    given = None if cts[0] is None else np.ascontiguousarray(cts[0])
    w = np.ascontiguousarray(xs[4])
    order = _order(count, not reverse)
    now = np.arange(count - 1, -1, -1)
    first = (none, None) if given is None else (given, order)
    rest = (later, None), (gates, order), (cells, now + 1), (cells, now)
    run = lines.steps_of_rows(
        "lstm_backward", [first, *rest, (cotangents, order), (cell[None], np.zeros(count, int))]
    )
    for k, t in enumerate(order):
        run(k)
        write_product(cotangents[t], w, later)
    flat = cotangents.reshape(-1, 4 * size)
    made: dict[int, Raw] = {}
    for k in wanted:
        if k == SECOND_BIAS and FIRST_BIAS in made:
            made[k] = made[FIRST_BIAS].copy()
        else:
            made[k] = _cotangent(k, found, xs, flat, later, cell)
    return list(made.values())


def _cotangent(k: int, found: Steps, xs: Sequence[Raw], flat: Raw, later: Raw, cell: Raw) -> Raw:
    """That of operand `k`, given those of all gates as rows, and of the first states."""
    x, states = xs[0], found.states
    if k in (1, 2):
        return later if k == 1 else cell
    made: Raw
    if k == 0:
        made = times(flat, xs[3]).reshape(x.shape)
    elif k == 3:
        made = times(flat.T, x.reshape(-1, x.shape[2]))
    elif k == 4:
        before = states[-2::-1] if found.reverse else states[:-1]
        made = times(flat.T, before.reshape(-1, before.shape[2]))
    else:
        made = flat.sum(0)
    return made
