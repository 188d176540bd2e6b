"""The backward pass of reductions and normalisations on large arrays: by a kernel, or by the rule.

Kernels take what is reduced over its last axes and lies in memory without gaps; all else, and what
has a mask, a start value or another dtype, goes to the record's own rule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from funcgrad.config import config
from funcgrad.core.types import Array
from funcgrad.kernels import memory, threads
from funcgrad.kernels.choice import FEWEST, Entry, entry_of

__all__ = ["NAMES", "pull"]

ndarray = np.ndarray
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
# by the name of the primitive
NAMES = {
    "softmax": "softmax_backward",
    "log_softmax": "log_softmax_backward",
    "logsumexp": "logsumexp_backward",
    "max": "extremum_backward",
    "min": "extremum_backward",
    "var": "var_backward",
    "std": "std_backward",
    "prod": "prod_backward",
    "norm": "norm_backward",
    "torch.layer_norm": "layer_norm_backward",
}
WHOLE = frozenset(("softmax", "log_softmax", "torch.layer_norm"))  # as large as their operand


def pull(node: Any, g: Any) -> tuple[Sequence[Array | None], bool]:
    """The cotangents of the operands of `node`, and whether they are arrays of nobody else."""
    entry, work = None, None
    kind = node.fix[0]
    if kind.size >= FEWEST and kind.dtype in FLOATS and _plain(node, g):
        work = _prepared(node, g)
        if work is not None:
            entry = entry_of(NAMES[node.prim.name], work[0])
            if entry.taken(kind.size):
                found = _run(entry, node, work)
                if found is not None:
                    return found, True
    start = perf_counter()
    cotangents = node.prim.vjp(node, g)
    if entry is not None:
        entry.spent(start)
    return cotangents, False


def _plain(node: Any, g: Any) -> bool:
    """Whether cotangent and saved values are raw, of one dtype, and nothing unusual is asked."""
    dtype, params = node.fix[0].dtype, node.params
    if any(params.get(name) is not None for name in ("dtype", "initial")):
        return False
    if params.get("ord") not in (None, 2, "fro", "f") or (
        params.get("ord") == 2 and len(params["axes"] or node.fix[0].shape) != 1
    ):
        return False
    if type(node.saved) is not tuple or not isinstance(g, (ndarray, np.floating)):
        return False
    for x in (g, *node.saved):
        if x is not None and (not isinstance(x, (ndarray, np.floating)) or x.dtype != dtype):
            return False
    return node.prim.name == "torch.layer_norm" or len(node.saved) == 2


def _dense(x: Any, shape: tuple[int, ...]) -> ndarray[Any, Any] | None:
    """`x` in another shape, if that is the same memory; a cotangent that repeats is written out."""
    x = np.asarray(x)
    if not x.flags.c_contiguous or not x.flags.aligned:
        if 0 not in x.strides:
            return None
        full = memory.empty(x.shape, x.dtype)
        np.copyto(full, x)
        x = full
    found: ndarray[Any, Any] = x.reshape(shape)
    return found


def _prepared(node: Any, g: Any) -> tuple[str, list[Any], list[Any]] | None:
    """The types, the arguments before the cotangents, and the cotangents; None if it cannot be."""
    name, params, shape = node.prim.name, node.params, node.fix[0].shape
    ndim = len(shape)
    axes = (params["axis"],) if "axis" in params else params["axes"]
    axes = tuple(range(ndim)) if axes is None else axes
    if tuple(axes) != tuple(range(ndim - len(axes), ndim)):
        return None
    columns = math.prod(shape[ndim - len(axes) :])
    rows = math.prod(shape[: ndim - len(axes)])
    dtype = node.fix[0].dtype
    whole, single = (rows, columns), (rows,)
    if name == "torch.layer_norm":
        _, x, w, _ = node.saved
        if x is None or (params["scaled"] and w is None):
            return None
        arrays = [_dense(g, whole), _dense(x, whole)]
        scale = _dense(w, (columns,)) if params["scaled"] else None
        wanted = [p is not None for p in node.parents]
        wanted[1], wanted[2] = wanted[1] and params["scaled"], wanted[2] and params["moved"]
        out = [memory.empty(shape, dtype) if wanted[0] else None]
        out += [np.zeros(columns, dtype) if w else None for w in wanted[1:]]
        given: list[Any] = [*arrays, scale, float(params["eps"])]
        if any(a is None for a in arrays) or (params["scaled"] and scale is None):
            return None
    else:
        y, x = node.saved
        small = whole if name in WHOLE else single
        given = [_dense(g, small), None if y is None else _dense(y, small)]
        given.append(None if x is None else _dense(x, whole))
        if any(a is None and s is not None for a, s in zip(given, (g, y, x), strict=True)):
            return None
        if name in ("var", "std"):
            given.append(max(float(columns) - params["ddof"], 0.0))
        out = [memory.empty(shape, dtype)]
    kinds = "".join(
        "-" if a is None else "f" if type(a) is not ndarray or a.flags.writeable else "F"
        for a in (*given, *out)
    )
    return f"{dtype.char} {kinds}", given, out


def _run(entry: Entry, node: Any, work: tuple[str, list[Any], list[Any]]) -> list[Any] | None:
    _, given, out = work
    shape = node.fix[0].shape
    rows = given[0].shape[0]
    first = None if out[0] is None else out[0].reshape(rows, -1)
    arguments = [*given, first, *out[1:]]
    function, size = entry.function, math.prod(shape)
    single = size < threads.PARALLEL or rows == 1 or config.threads == 1
    if single or not entry.calls or function is None or node.prim.name == "torch.layer_norm":
        if not entry.run(*arguments):
            return None
    else:
        entry.calls += 1
        threads.run(
            lambda a, b: function(*(x[a:b] if type(x) is ndarray else x for x in arguments)),
            rows,
            size,
        )
    return [c if p is not None else None for c, p in zip(out, node.parents, strict=True)]
