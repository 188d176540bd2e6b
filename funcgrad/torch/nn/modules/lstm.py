"""An LSTM over all steps, on raw arrays: one product before the steps, some after them.

The gates of all steps lie in one array. The way back fills one like it with their cotangents, step
by step from the last; what the weights get are then products over all steps at once. It imports
the facade's native code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.config import config
from funcgrad.core import memory
from funcgrad.kernels.products import multiply
from funcgrad.torch.flat import FLOATS
from funcgrad.torch.matrix_products import times
from funcgrad.torch.recurrent_steps import run_backward, run_forward

__all__ = ["Steps", "back", "forward", "suits"]

ndarray = np.ndarray
Raw = ndarray[Any, Any]
FIRST_WEIGHT, FIRST_BIAS, SECOND_BIAS = 3, 5, 6  # among the operands; both biases get the same


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


def forward(
    x: Raw, h: Raw, c: Raw, w_ih: Raw, w_hh: Raw, *biases: Raw, reverse: bool
) -> tuple[tuple[Raw, ...], Steps]:
    """The states after each step and the last ones, and what `back` needs."""
    count, (rows, size) = len(x), h.shape
    gates = memory.empty((count, rows, 4 * size), x.dtype)
    _write_affine(x.reshape(-1, x.shape[2]), w_ih.T, biases, gates.reshape(-1, 4 * size))
    cells = memory.empty((count + 1, rows, size), x.dtype)
    states = memory.empty((count + 1, rows, size), x.dtype)
    cells[0], states[0] = c, h
    steps = states[:0:-1] if reverse else states[1:]
    run_forward(w_hh, cells, gates, states, reverse)
    found = steps.copy(), states[-1].copy(), cells[-1].copy()
    return found, Steps(gates, cells, states, reverse)


def _write_affine(x: Raw, w: Raw, biases: Sequence[Raw], out: Raw) -> None:
    """Write `x @ w` and the biases."""
    bias = biases[0] + biases[1] if biases else None
    if multiply(x, w, bias, out) is None:
        np.matmul(x, w, out=out)
        if bias is not None:
            out += bias


def back(
    found: Steps, xs: Sequence[Raw], cts: Sequence[Raw | None], wanted: Sequence[int]
) -> list[Raw]:
    """The cotangents of the operands `wanted`, given those of the three results."""
    gates, cells, states, reverse = found
    size = states.shape[2]
    cotangents = memory.empty(gates.shape, gates.dtype)
    later, cell = (np.zeros_like(states[0]) if c is None else np.array(c, order="C")
                   for c in cts[1:])  # fmt: skip
    given = None if cts[0] is None else np.ascontiguousarray(cts[0])
    run_backward(xs[4], given, gates, cells, cotangents, later, cell, reverse)
    flat = cotangents.reshape(-1, 4 * size)
    made: dict[int, Raw] = {}
    if FIRST_WEIGHT in wanted and FIRST_BIAS in wanted:
        x = xs[0].reshape(len(flat), -1)
        sums = np.empty(4 * size, flat.dtype)
        product = multiply(flat.T, x, sums=sums)
        if product is not None:
            made = {FIRST_WEIGHT: product, FIRST_BIAS: sums}
    for k in wanted:
        if k == SECOND_BIAS and FIRST_BIAS in made:
            made[k] = made[FIRST_BIAS].copy()
        elif k not in made:
            made[k] = _cotangent(k, found, xs, flat, later, cell)
    return [made[k] for k in wanted]


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
