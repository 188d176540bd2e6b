"""Layer norm of large arrays, and its gradients: by a kernel each.

They stand in front of the value of the primitive and of its rule. A value has the bits of the
primitive in NumPy, whatever the number of threads; for gradients the rows are taken in chunks, the
sums of which are added in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.config import config
from funcgrad.core import memory
from funcgrad.kernels import pieces
from funcgrad.kernels.choice import FEWEST, FLOATS, entry_of
from funcgrad.kernels.layout import dense, letters
from funcgrad.kernels.pieces import FIRST, LAST
from funcgrad.kernels.threads import grain
from funcgrad.ops.normalization import LAYER_NORM

ndarray = np.ndarray


def ready(x: Any) -> bool:
    """Whether `x` is an array that kernels read as it lies there."""
    if type(x) is not ndarray or x.dtype not in FLOATS or x.size < FEWEST:
        return False
    return config.kernels and x.flags.c_contiguous and x.flags.aligned


def vector(v: Any, dtype: np.dtype[Any], wanted: bool) -> Any:
    """A weight or bias for a kernel; None if there is none, False if it is none for a kernel."""
    if not wanted:
        return None
    return dense(v).reshape(-1) if type(v) is ndarray and v.dtype == dtype else False


# --------------------------------------------------------------------------------- layer norm


def _rows(shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, int] | None:
    """The rows and columns of what is normalised over its last axes."""
    first = len(shape) - len(axes)
    if tuple(axes) != tuple(range(first, len(shape))):
        return None
    return math.prod(shape[:first]), math.prod(shape[first:])


def _value(
    impl: Callable[..., Any], x: Any, w: Any, b: Any, *, axes: tuple[int, ...], eps: float,
    scaled: bool, moved: bool,
) -> Any:  # fmt: skip
    shape = _rows(x.shape, axes) if ready(x) else None
    scale = vector(w, x.dtype, scaled) if shape else False
    move = vector(b, x.dtype, moved) if shape else False
    params = {"axes": axes, "eps": eps, "scaled": scaled, "moved": moved}
    if shape is None or scale is False or move is False:
        return impl(x, w, b, **params)
    given = [x.reshape(shape), scale, move]
    entry = entry_of("layer_norm_value", letters(x.dtype, given))
    if entry.taken():
        out = memory.empty(x.shape, x.dtype)
        arguments = [FIRST, LAST, *given, float(eps), out.reshape(shape)]
        if pieces.run(entry, arguments, shape[0], x.size):
            return out
    return impl(x, w, b, **params)


def _pull(node: Any, g: Any) -> tuple[Sequence[Any], bool]:
    """The cotangents of the operands of `node`, and whether they are arrays of nobody else."""
    _, x, w, _ = node.saved
    scaled, moved = node.params["scaled"], node.params["moved"]
    shape = None
    if ready(x) and type(g) is ndarray and g.dtype == x.dtype:
        shape = _rows(x.shape, node.params["axes"])
    scale = vector(w, x.dtype, scaled) if shape else False
    if shape is None or scale is False:
        return node.prim.vjp(node, g), False
    rows, columns = shape
    each = grain(rows, x.size)
    chunks = -(-rows // each)
    wanted = [p is not None for p in node.parents]
    cx = memory.empty(x.shape, x.dtype) if wanted[0] else None
    sums = [
        np.zeros((chunks, columns), x.dtype) if needed and there else None
        for needed, there in zip(wanted[1:], (scaled, moved), strict=True)
    ]
    given = [dense(g).reshape(shape), x.reshape(shape), scale]
    outputs = [None if cx is None else cx.reshape(shape), *sums]
    entry = entry_of("layer_norm_backward", letters(x.dtype, [*given, *outputs]))
    if entry.taken():
        arguments = [FIRST, LAST, each, *given, float(node.params["eps"]), *outputs]
        if pieces.run(entry, arguments, chunks, x.size):
            return [cx, *_added(node, sums, wanted)], True
    return node.prim.vjp(node, g), False


def _added(node: Any, sums: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
    """The cotangents of weight and bias from the sums of the chunks; zeros if they do not count."""
    out: list[Any] = []
    for part, needed, aval in zip(sums, wanted[1:], node.avals[1:], strict=True):
        if part is None:
            out.append(np.zeros(aval.shape, aval.dtype) if needed else None)
        else:
            out.append(np.add.reduce(part, 0).reshape(aval.shape))
    return out


LAYER_NORM.take_kernel(_value)
LAYER_NORM.take_backward_kernel(_pull, of_operand=True)
