"""The backward pass of reductions and of softmax on large arrays: by a kernel, or by the rule.

Kernels take any axes (see `layout`); what has a mask, a start value or another dtype goes to the
record's own rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.config import config
from funcgrad.core.primitive import Primitive
from funcgrad.core.types import Array
from funcgrad.kernels import pieces
from funcgrad.kernels.choice import FEWEST, FLOATS, Entry, entry_of
from funcgrad.kernels.layout import layout_of, letters
from funcgrad.kernels.pieces import FIRST, LAST
from funcgrad.ops.nonlinear_reductions import MAX, MIN, PROD, STD, VAR
from funcgrad.ops.norms import NORM
from funcgrad.ops.softmax import LOG_SOFTMAX, LOGSUMEXP, SOFTMAX

ndarray = np.ndarray
KERNELS: dict[Primitive, str] = {
    SOFTMAX: "softmax_backward",
    LOG_SOFTMAX: "log_softmax_backward",
    LOGSUMEXP: "logsumexp_backward",
    MAX: "extremum_backward",
    MIN: "extremum_backward",
    VAR: "var_backward",
    STD: "std_backward",
    PROD: "prod_backward",
    NORM: "norm_backward",
}
WHOLE = frozenset((SOFTMAX, LOG_SOFTMAX))  # as large as their operand


def _pull(node: Any, g: Any) -> tuple[Sequence[Array | None], bool]:
    """The cotangents of the operands of `node`, and whether they are arrays of nobody else."""
    entry, work = None, None
    aval = node.avals[0]
    if config.kernels and aval.size >= FEWEST and aval.dtype in FLOATS and _plain(node, g):
        work = _prepared(node, g)
        if work is not None:
            entry = entry_of(work.kernel, work.types)
            if entry.taken():
                found = _run(entry, node, work)
                if found is not None:
                    return found, True
    return node.prim.vjp(node, g), False


def _plain(node: Any, g: Any) -> bool:
    """Whether cotangent and saved values are raw, of one dtype, and nothing unusual is asked."""
    dtype, params = node.avals[0].dtype, node.params
    if any(params.get(name) is not None for name in ("dtype", "initial")):
        return False
    if params.get("ord") not in (None, 2, "fro", "f") or (
        params.get("ord") == 2 and len(params["axes"] or node.avals[0].shape) != 1
    ):
        return False
    if type(node.saved) is not tuple or not isinstance(g, (ndarray, np.floating)):
        return False
    for x in (g, *node.saved):
        if x is not None and (not isinstance(x, (ndarray, np.floating)) or x.dtype != dtype):
            return False
    return len(node.saved) == 2


class Work(NamedTuple):
    """A call of a kernel: its types as letters, arguments, cotangents, and the groups to divide."""

    kernel: str
    types: str
    arguments: list[Any]
    out: list[Any]
    groups: int


def _prepared(node: Any, g: Any) -> Work | None:
    """What the kernel is to be called with; None if it cannot be."""
    prim, params, aval = node.prim, node.params, node.avals[0]
    axes = (params["axis"],) if "axis" in params else params["axes"]
    axes = range(len(aval.shape)) if axes is None else axes
    y, x = node.saved
    layout = layout_of(y if x is None else x, aval.shape, axes)
    whole = prim in WHOLE
    given = [None if a is None else layout.view(a, whole) for a in (g, y)]
    given.append(None if x is None else layout.view(x, True))
    divisor = None
    if prim in (VAR, STD):
        divisor = max(float(aval.size // max(layout.groups, 1)) - params["ddof"], 0.0)
    out = layout.empty(aval.shape, aval.dtype)
    arguments = [*given, divisor, layout.view(out, True)]
    kernel = f"{KERNELS[prim]}_{'along' if len(layout.whole) == 4 else 'beside'}"
    return Work(kernel, letters(aval.dtype, arguments), arguments, [out], layout.groups)


def _run(entry: Entry, node: Any, work: Work) -> list[Any] | None:
    if not pieces.run(entry, [FIRST, LAST, *work.arguments], work.groups, node.avals[0].size):
        return None
    return [c if p is not None else None for c, p in zip(work.out, node.parents, strict=True)]


for prim in KERNELS:
    prim.take_backward_kernel(_pull, of_operand=True)
