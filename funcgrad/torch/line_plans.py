"""Calls of the native code of `lines` on rows that were prepared once for operands of one kind.

As `flat_plans` for elementwise operations: what `lines` finds out of each operand is the same for
operands of the same dtypes, shapes and layouts. Large results, and what does not fit, go to
`lines`, to the same code.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.compile.memory import address_of
from funcgrad.config import config
from funcgrad.core.primitive import Params, Primitive
from funcgrad.kernels.noting import notes
from funcgrad.ops.normalization import LAYER_NORM
from funcgrad.ops.softmax import LOG_SOFTMAX, SOFTMAX
from funcgrad.torch import lines
from funcgrad.torch.flat_plans import FIT, prepared

__all__ = ["Pulls", "value_plan"]

ndarray = np.ndarray
Plan = Callable[..., Any]


def value_plan(prim: Primitive, xs: Sequence[Any], params: Params) -> Plan | None:
    """`lines.value` for operands of the kinds of `xs`, which it takes, given the arrays among them.

    It gives None where `lines` has to look.
    """
    x = xs[0]
    if x.flags.num & FIT != FIT:
        return None
    if prim in lines.NAMES:
        entry = _rows(lines.NAMES[prim], [x], x, x.shape[-1])
    elif prim in lines.SUMS:
        entry = _rows("running_sum", [x], x, x.shape[-1])
    elif prim is LAYER_NORM:
        entry = _layer_norm(xs, params)
    else:
        return None
    return None if entry is None else _checked(entry)


def _checked(entry: Plan) -> Plan:
    def value(*arrays: Any) -> Any:
        out = entry(*arrays) if config.kernels else NotImplemented
        return None if out is NotImplemented else out

    return value


def _rows(
    name: str, arrays: Sequence[Any], like: Any, columns: int, between: Sequence[Any] = (),
    numbers: Sequence[float] = (), apart: Sequence[int] = (), scratch: Sequence[int] = (),
) -> Plan | None:  # fmt: skip
    """The entry point of code of rows of `arrays`, with constant arrays `between` these and what is
    made, an array `like` one of them; then comes scratch memory of so many bytes.
    """
    integers, chunks = lines.pieces_of_rows(like.size, columns)
    words = array("q", [*integers, *apart])
    words.frombytes(array("d", numbers).tobytes())
    code = lines.code_of(name, like.dtype)
    constants = [address_of()(c) for c in between]
    return prepared(
        code, arrays, constants, 1, like.shape, like.dtype, words, chunks, between, scratch
    )


def _layer_norm(xs: Sequence[Any], params: Params, g: Any = None) -> Plan | None:
    """Of rows with both weights or none; of these with a cotangent the backward pass."""
    x, *weights = xs
    weighted = params["scaled"] and params["moved"]
    if (params["scaled"] or params["moved"]) and (not weighted or g is not None):
        return None
    if weighted and any(w.dtype != x.dtype or w.flags.num & FIT != FIT for w in weights):
        return None
    columns = x.size // lines.count_of_rows(x, params["axes"])
    ones, zeros = np.ones(columns, x.dtype), np.zeros(columns, x.dtype)
    numbers = [float(columns), float(params["eps"])]
    if weighted:
        return _rows("layer_norm", xs, x, columns, [], numbers)
    if g is None:
        return _rows("layer_norm", [x], x, columns, [ones, zeros], numbers)
    apart, chunks = lines.apart_of_sums(columns, x.dtype), lines.pieces_of_rows(x.size, columns)[1]
    sums = [chunks * apart * x.itemsize] * 2  # those of the weights' cotangents, which nobody wants
    return _rows("layer_norm_backward", [g, x], x, columns, [ones], numbers, [apart], sums)


class Pulls:
    """`lines.pull` for the nodes of one class, prepared for a shape."""

    __slots__ = ("plans",)

    def __init__(self) -> None:
        self.plans: dict[Any, Plan] = {}

    def __call__(self, node: Any, g: Any) -> list[Any] | None:
        if type(g) is not ndarray or g.flags.num & FIT != FIT or notes.calls is not None:
            return lines.pull(node, g)
        key = g.shape, g.dtype.char
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = _pull_plan(node, g) or lines.pull
        return plan(node, g)


def _pull_plan(node: Any, g: Any) -> Plan | None:
    prim = node.prim
    if lines.pull(node, g) is None:
        return None
    if prim is SOFTMAX or prim is LOG_SOFTMAX:
        y = node.saved[0]
        if y.flags.num & FIT != FIT:
            return None
        entry = _rows(f"{lines.NAMES[prim]}_backward", [g, y], g, g.shape[-1])
    elif prim in lines.SUMS:
        entry = _rows("running_sum_backward", [g], g, g.shape[-1])
    elif prim is LAYER_NORM and node.saved[1].flags.num & FIT == FIT:
        entry = _layer_norm(node.saved[1:2], node.params, g)
    else:
        return None
    if entry is None:
        return None
    slot = -1 if prim in lines.SUMS else 1 if prim is LAYER_NORM else 0
    others = [None] * (len(node.parents) - 1)

    def pull(node: Any, g: Any) -> list[Any] | None:
        if not config.kernels:
            return lines.pull(node, g)
        out = entry(g) if slot < 0 else entry(g, node.saved[slot])
        return lines.pull(node, g) if out is NotImplemented else [out, *others]

    return pull
