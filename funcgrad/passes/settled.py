"""Masks that a loop carries, and that are known: those of cotangents settle within a step or two.

Which elements of a cotangent are there depends on no number. A step makes those of the next state
of those of this one and of rows that are all the same; they are computed here until they repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.graph.ir import Literal, Var
from funcgrad.graph.loop import Loop

__all__ = ["Settled", "settled"]

MOST = 2  # steps before that
LARGEST = 64  # elements of a mask


class Settled(NamedTuple):
    """After how many steps which masks are what, by number: carries, and rows that are alike."""

    steps: int
    starts: dict[int, Any]
    carries: dict[int, Any]
    rows: dict[int, Any]


def settled(p: Loop, masks: Sequence[int], operands: Sequence[Any]) -> Settled | None:
    """What the carries `masks` are, of operands of which those that are not known are None."""
    _, constants, state, xs = p.parts(operands)
    rows = {k: x[0] for k, x in enumerate(xs) if _is_one_mask(x)}
    held, carried, moving = p.split(p.body.inputs)
    known = dict(p.body.constants)
    known.update((v, x) for v, x in zip(held, constants, strict=True) if _is_mask(x))
    known.update((moving[k], x) for k, x in rows.items())
    now = starts = {k: state[k] for k in masks}
    for steps in range(MOST + 1):
        if not all(map(_is_mask, now.values())):
            return None
        then = _after(p, known | {carried[k]: x for k, x in now.items()}, masks)
        if all(np.array_equal(then[k], now[k]) for k in masks):
            return Settled(steps, starts, now, rows)
        now = then
    return None


def _is_mask(x: Any) -> bool:
    known = isinstance(x, (np.ndarray, np.bool_))
    return known and x.dtype == np.dtype(bool) and x.size <= LARGEST


def _is_one_mask(x: Any) -> bool:
    """Whether all rows of an array are the same mask."""
    if not isinstance(x, np.ndarray) or x.dtype != np.dtype(bool) or x[0].size > LARGEST:
        return False
    return bool((x == x[0]).all())


def _after(p: Loop, known: dict[Var, Any], masks: Sequence[int]) -> dict[int, Any]:
    """The masks that a step makes, None for those that depend on more than masks."""
    for e in p.body.equations:
        inputs = [a.value if isinstance(a, Literal) else known.get(a) for a in e.inputs]
        (v,) = e.outputs
        if v.type.dtype == np.dtype(bool) and all(map(_is_mask, inputs)):
            known[v] = np.asarray(e.prim.impl(*inputs, **e.params))
    ends = p.body.outputs
    return {
        k: o.value if isinstance(o, Literal) else known.get(o)
        for k, o in ((k, ends[k]) for k in masks)
    }
