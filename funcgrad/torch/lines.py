"""Softmax, likelihoods, norms, running sums and products of large matrices, in native code.

As `flat` has it for elementwise operations, and their cotangents, too: the code is made when it is
first asked for (see `line_code`) and lies on disk afterwards, nothing else runs in its place, and
neither threads nor the cache change a bit. A line is the last axis of a softmax or of a running
sum, or a column of batch norm: a loop down the rows with neighbouring columns side by side. It
imports kernels and the runtime of the compiler.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from funcgrad.compile import cache
from funcgrad.compile.llvm.pool import pool
from funcgrad.compile.memory import address_of
from funcgrad.config import config
from funcgrad.core import memory
from funcgrad.core.primitive import Params, Primitive
from funcgrad.kernels.copies import backwards, total_of
from funcgrad.kernels.native import Code
from funcgrad.kernels.noting import Call, notes
from funcgrad.ops.affine import ADDMM
from funcgrad.ops.channels import BATCH_NORM
from funcgrad.ops.likelihood import NLL_LOSS
from funcgrad.ops.normalization import LAYER_NORM
from funcgrad.ops.product import MATMUL
from funcgrad.ops.softmax import LOG_SOFTMAX, SOFTMAX
from funcgrad.ops.sums import MEAN, SUM
from funcgrad.torch import matrix_products
from funcgrad.torch.flat import FLOATS
from funcgrad.torch.flat import NAMES as DTYPES
from funcgrad.torch.sources import sources_of_facade

__all__ = [
    "BLOCK", "LONGEST", "NAMES", "RULES", "SUMS", "VALUES", "add_running_sum", "add_turning",
    "apart_of_sums", "code_of", "count_of_rows", "likelihood_back", "likelihood_of",
    "likelihoods", "pieces_of_rows", "pull", "rows", "value",
]  # fmt: skip

ndarray = np.ndarray
BLOCK = 64  # columns side by side
LONGEST = 4096  # columns of a row that are added up as one block
PIECE = 1 << 14  # elements of rows that a thread takes at a time
EXAMPLES = 1 << 12  # rows of a likelihood that are added up at once
CLASSES = np.dtype(np.int64)
FAR = 1 << 62  # beyond, a class to ignore is no word
LINES = 128  # bytes between sums of two threads: a line of the cache that both write goes round
SHARED = 1 << 16  # elements: with fewer the second thread comes too late
# Of code that reads nothing but arrays: how many it writes, the last ones.
WRITTEN = {"softmax_backward": 1, "log_softmax_backward": 1, "log_softmax": 1, "likelihood": 2}
SUMS: set[Primitive] = set()  # running ones
NAMES: dict[Primitive, str] = {SOFTMAX: "softmax", LOG_SOFTMAX: "log_softmax"}

_codes: dict[tuple[str, str], Code] = {}


def value(prim: Primitive, xs: Sequence[Any], params: Params) -> Any:
    """What the operation gives for raw operands; None where this file does not compute it."""
    found = VALUES.get(prim)
    return None if found is None or not config.kernels else found(prim, xs, params)


def pull(node: Any, g: Any) -> list[Any] | None:
    """The cotangents of the operands of a node; None where this file does not compute them."""
    found = RULES.get(node.prim)
    if found is None or type(node.saved) is not tuple or not config.kernels:
        return None
    return found(node, g)


def _suits(x: Any) -> bool:
    some = type(x) is ndarray and x.size > 0
    return bool(some and x.dtype in FLOATS and config.kernels)


def _ready(x: Any) -> bool:
    return _suits(x) and _whole(x)


def _whole(x: Any) -> bool:
    return bool(x.flags.c_contiguous and x.flags.aligned)


def _dense(x: ndarray[Any, Any]) -> ndarray[Any, Any]:
    return x if _whole(x) else np.require(x, None, ["C", "A"])


def _run(
    name: str, arrays: Sequence[Any], integers: Sequence[int], numbers: Sequence[float], chunks: int
) -> None:
    """Run the code `name` for the dtype of the arrays; the integers begin with what a chunk is."""
    code = code_of(name, next(x.dtype for x in arrays if x.dtype in FLOATS))
    address = address_of()
    table = array("q", [*map(address, arrays), *integers])
    table.frombytes(array("d", numbers).tobytes())
    at = table.buffer_info()[0]
    shared = max(arrays[0].size, arrays[-1].size) >= SHARED and chunks > 1
    if notes.calls is not None and name in WRITTEN:
        count = WRITTEN[name]
        notes.calls.append(Call(code, arrays, count, table[len(arrays) :], chunks, shared))
    if shared and config.threads > 1:
        pool().run(code.address, at, chunks)
    else:
        code.call(at, 0, chunks, 0)


def code_of(name: str, dtype: np.dtype[Any]) -> Code:
    code = _codes.get((name, dtype.char))
    if code is None:
        own = DTYPES[dtype.char]
        library = cache.written(
            partial(_text, name, own), sources_of_facade(), "lines", name, own, symbols={}
        )
        code = _codes[name, dtype.char] = Code.of(library)
    return code


def _text(name: str, dtype: str) -> str:
    from funcgrad.torch.line_code import text_of  # where the code is not on disk

    return text_of(name, dtype)


# ------------------------------------------------------------------------------------------ rows


def rows(name: str, arrays: Sequence[Any]) -> None:
    """Run code on the last axis of arrays of the shape of the last one."""
    integers, chunks = pieces_of_rows(arrays[-1].size, arrays[-1].shape[-1])
    _run(name, arrays, integers, [], chunks)


def pieces_of_rows(size: int, columns: int) -> tuple[list[int], int]:
    """What code of rows is told, and how many pieces there are."""
    count, grain = size // columns, max(1, PIECE // columns)
    return [grain, count, columns, -(-columns // LONGEST)], -(-count // grain)


# --------------------------------------------------------------------------------------- softmax


def _softmax(prim: Primitive, xs: Sequence[Any], params: Params) -> Any:
    (x,) = xs
    if not _suits(x) or params["axis"] not in (-1, x.ndim - 1):
        return None
    out = memory.empty(x.shape, x.dtype)
    rows(NAMES[prim], [_dense(x), out])
    return out


def _softmax_pull(node: Any, g: Any) -> list[Any] | None:
    y = node.saved[0]
    if not _ready(y) or type(g) is not ndarray or g.dtype != y.dtype:
        return None
    if node.params["axis"] not in (-1, y.ndim - 1):
        return None
    out = memory.empty(y.shape, y.dtype)
    rows(f"{NAMES[node.prim]}_backward", [_dense(g), y, out])
    return [out]


# ------------------------------------------------------------------------- likelihood of classes


def _are_classes(target: Any, count: int) -> bool:
    return bool(
        type(target) is ndarray
        and target.dtype == CLASSES
        and target.shape == (count,)
        and _whole(target)
    )


def _pieces_of_rows(shape: Sequence[int], ignore: int) -> tuple[list[int], int]:
    """What code of likelihoods is told, and how many pieces there are."""
    count, columns = shape
    return [EXAMPLES, count, columns, 0, ignore], -(-count // EXAMPLES)


def likelihood(x: Any, target: Any, reduction: Any, ignore: int) -> tuple[Any, int] | None:
    """The likelihood of one class for each row, added up, and by how many rows that was divided;
    None where NumPy computes it, or a class is none.
    """
    if reduction != "mean" and reduction != "sum":
        return None
    if type(x) is not ndarray or x.ndim != 2 or not _ready(x):
        return None
    if not _are_classes(target, len(x)) or abs(ignore) > FAR:
        return None
    return likelihood_of(*likelihoods(x, target, ignore), reduction)


def likelihoods(x: Any, target: Any, ignore: int) -> tuple[Any, Any]:
    """The likelihoods of pieces of rows, added up, and how many rows count and are wrong."""
    integers, chunks = _pieces_of_rows(x.shape, ignore)
    sums, counts = np.empty(chunks, x.dtype), np.empty((chunks, 2), np.int64)
    _run("likelihood", [x, target, sums, counts], integers, [], chunks)
    return sums, counts


def likelihood_of(sums: Any, counts: Any, reduction: str) -> tuple[Any, int] | None:
    """The likelihood of all rows, of which pieces were added up, and how many count as rows that
    are divided by; None if a class is none.
    """
    if len(sums) == 1:
        total, (kept, wrong) = float(sums[0]), counts[0].tolist()
    else:
        total = float(np.add.reduce(sums, dtype=np.float64))
        kept, wrong = np.add.reduce(counts, 0).tolist()
    if wrong:
        return None
    if reduction == "mean":
        return sums.dtype.type(total / kept if kept else math.nan), kept
    return sums.dtype.type(total), 1


def _likelihood(prim: Primitive, xs: Sequence[Any], params: Params) -> Any:
    if len(xs) > 2:  # weights of classes
        return None
    x, target = xs
    found = likelihood(x, target, params["reduction"], params["ignore"])
    return None if found is None else found[0]


def _likelihood_pull(node: Any, g: Any) -> list[Any] | None:
    x, target = node.saved[1], node.saved[2]
    reduction, ignore = node.params["reduction"], node.params["ignore"]
    if len(node.saved) > 3 or reduction == "none" or len(node.avals[0].shape) != 2:
        return None
    shape, dtype = node.avals[0].shape, node.avals[0].dtype
    if not _are_classes(target, shape[0]) or dtype not in FLOATS or not math.prod(shape):
        return None
    if type(g) is ndarray and not g.ndim:
        g = g[()]
    if (x is not None and x.dtype != dtype) or abs(ignore) > FAR or type(g) is not dtype.type:
        return None
    kept = shape[0] - np.count_nonzero(target == ignore) if reduction == "mean" else 1
    return [likelihood_back(g, target, shape, ignore, kept), None]


def likelihood_back(g: Any, target: Any, shape: Sequence[int], ignore: int, kept: int) -> Any:
    """The cotangent of the logarithms, whose sum over rows was divided by how many are `kept`."""
    dtype = g.dtype
    if not kept:
        with np.errstate(all="ignore"):
            g = g / dtype.type(0)
    elif kept > 1:
        g = g / dtype.type(kept)
    integers, chunks = _pieces_of_rows(shape, ignore)
    out = memory.empty(tuple(shape), dtype)
    _run("likelihood_backward", [target, out], integers, [-float(g)], chunks)
    return out


# ------------------------------------------------------------------------------------ batch norm


def _columns(name: str, arrays: Sequence[Any], shape: Sequence[int], eps: float) -> None:
    """Run code on the columns of matrices."""
    rows, columns = shape
    numbers = [float(rows), eps]
    _run(name, arrays, [BLOCK, rows, columns, 0], numbers, -(-columns // BLOCK))


def _affine(v: Any, like: Any, there: bool, other: float) -> Any:
    """A weight or bias as a vector, for absent ones as well; None if it is none for the code."""
    if not there:
        return np.full(like.shape[1], other, like.dtype)
    if type(v) is not ndarray or v.dtype != like.dtype or v.shape != like.shape[1:2]:
        return None
    return _dense(v)


def _is_matrix(x: Any) -> bool:
    return bool(math.prod(x.shape[2:]) == 1 and x.ndim >= 2)


def _batch_norm(prim: Primitive, xs: Sequence[Any], params: Params) -> Any:
    x, w, b = xs
    if not _ready(x) or not _is_matrix(x):
        return None
    scale = _affine(w, x, params["scaled"], 1.0)
    move = _affine(b, x, params["moved"], 0.0)
    if scale is None or move is None:
        return None
    out = memory.empty(x.shape, x.dtype)
    moments = [np.empty(x.shape[1], x.dtype) for _ in range(2)]
    arrays = [x, scale, move, out, *moments]
    _columns("batch_norm", arrays, x.shape[:2], float(params["eps"]))
    return (out, *moments)


def _batch_norm_pull(node: Any, gs: Any) -> list[Any] | None:
    _, x, w, _ = node.saved
    g, *others = gs
    if not _ready(x) or not _is_matrix(x) or any(c is not None and c.any() for c in others):
        return None
    if type(g) is not ndarray or g.dtype != x.dtype:
        return None
    scale = _affine(w, x, node.params["scaled"], 1.0)
    if scale is None:
        return None
    cx = memory.empty(x.shape, x.dtype)
    sums = [np.empty(x.shape[1], x.dtype) for _ in range(2)]
    arrays = [_dense(g), x, scale, cx, *sums]
    _columns("batch_norm_backward", arrays, x.shape[:2], float(node.params["eps"]))
    return _wanted(node, [cx, *sums], (True, node.params["scaled"], node.params["moved"]))


# ------------------------------------------------------------------------------------ layer norm


def _normalised(x: Any, axes: Sequence[int]) -> Any:
    """Rows of what is normalised over its last axes; None if others are left between these."""
    first = x.ndim - len(axes)
    if not _suits(x) or tuple(axes) != tuple(range(first, x.ndim)):
        return None
    return _dense(x).reshape(count_of_rows(x, axes), -1)


def count_of_rows(x: Any, axes: Sequence[int]) -> int:
    """How many rows there are, over whose elements, on the last axes, one takes the mean."""
    return math.prod(x.shape[: x.ndim - len(axes)])


def _of_columns(v: Any, x: Any, there: bool, other: float) -> Any:
    """A weight or bias of rows, as `_affine` has it."""
    return _affine(v.reshape(-1) if there and type(v) is ndarray else v, x, there, other)


def _layer_norm(prim: Primitive, xs: Sequence[Any], params: Params) -> Any:
    x, w, b = xs
    rows = _normalised(x, params["axes"])
    if rows is None:
        return None
    scale = _of_columns(w, rows, params["scaled"], 1.0)
    move = _of_columns(b, rows, params["moved"], 0.0)
    if scale is None or move is None:
        return None
    out = memory.empty(x.shape, x.dtype)
    integers, chunks = pieces_of_rows(x.size, rows.shape[1])
    numbers = [float(rows.shape[1]), float(params["eps"])]
    _run("layer_norm", [rows, scale, move, out], integers, numbers, chunks)
    return out


def _layer_norm_pull(node: Any, g: Any) -> list[Any] | None:
    _, x, w, _ = node.saved
    rows = _normalised(x, node.params["axes"])
    if rows is None or type(g) is not ndarray or g.dtype != x.dtype:
        return None
    scaled, moved = node.params["scaled"], node.params["moved"]
    scale = _of_columns(w, rows, scaled, 1.0)
    if scale is None:
        return None
    columns = rows.shape[1]
    integers, chunks = pieces_of_rows(x.size, columns)
    cx = memory.empty(x.shape, x.dtype)
    apart = apart_of_sums(columns, x.dtype)
    sums = memory.zeros((2, chunks, apart), x.dtype)
    numbers = [float(columns), float(node.params["eps"])]
    arrays = [_dense(g), rows, scale, cx, *sums]
    _run("layer_norm_backward", arrays, [*integers, apart], numbers, chunks)
    found = [cx, *np.add.reduce(sums[:, :, :columns], 1)]
    return _wanted(node, found, (True, scaled, moved))


def apart_of_sums(columns: int, dtype: Any) -> int:
    """How far the sums of one piece lie from those of the next one, in elements."""
    return int(columns + LINES // dtype.itemsize)


def _wanted(node: Any, found: Sequence[Any], there: Sequence[bool]) -> list[Any]:
    """Cotangents in the shapes of the operands; zeros of what is not there."""
    return [
        None if p is None else c.reshape(kind.shape) if held else np.zeros(kind.shape, kind.dtype)
        for p, c, held, kind in zip(node.parents, found, there, node.avals, strict=True)
    ]


# ---------------------------------------------------------------------------------- running sums


def add_running_sum(prim: Primitive) -> None:
    """Let code of our own compute running sums, added up in double precision."""
    VALUES[prim], RULES[prim] = _running_sum, _running_sum_pull
    SUMS.add(prim)


def _are_lines(x: Any, axis: int) -> bool:
    return _suits(x) and axis in (-1, x.ndim - 1)


def _running_sum(prim: Primitive, xs: Sequence[Any], params: Params) -> Any:
    (x,) = xs
    if not _are_lines(x, params["axis"]):
        return None
    out = memory.empty(x.shape, x.dtype)
    rows("running_sum", [_dense(x), out])
    return out


def _running_sum_pull(node: Any, g: Any) -> list[Any] | None:
    if type(g) is not ndarray:
        return None
    g = _dense(g)
    if not _are_lines(g, node.params["axis"]):
        return None
    out = memory.empty(g.shape, g.dtype)
    rows("running_sum_backward", [g, out])
    return [out]


# ------------------------------------------------------------------------------- turning and sums


def add_turning(prim: Primitive) -> None:
    """Let native code turn round all of an array."""
    VALUES[prim], RULES[prim] = _turned, _turned_pull


def _turned(prim: Primitive, xs: Sequence[Any], params: Params) -> Any:
    (x,) = xs
    return backwards(x) if type(x) is ndarray and len(params["dims"]) == x.ndim else None


def _turned_pull(node: Any, g: Any) -> list[Any] | None:
    found = _turned(node.prim, (g,), node.params)
    return None if found is None else [found]


def _whole_sum(prim: Primitive, xs: Sequence[Any], params: Params) -> Any:
    """The sum or the mean of all elements."""
    (x,) = xs
    if type(x) is not ndarray or len(params["axes"]) != x.ndim or params["dtype"] is not None:
        return None
    total = total_of(x) if x.flags.c_contiguous else None
    if total is None:
        return None
    made = x.dtype.type(total / x.size if prim is MEAN else total)
    return np.full((1,) * x.ndim, made) if params["keepdims"] else made


def _whole_sum_pull(node: Any, g: Any) -> list[Any] | None:
    """A view that repeats the cotangent, divided by their number for a mean of elements."""
    aval = node.avals[0]
    if not (type(g) is ndarray or isinstance(g, np.generic)) or g.size != 1:
        return None
    if g.dtype != aval.dtype or aval.dtype not in FLOATS or not aval.size:
        return None
    one = np.array(g.reshape(()))  # of our own: it is shown as long as the view is
    if node.prim is MEAN:
        one /= aval.size
    one.flags.writeable = False
    return [ndarray(aval.shape, aval.dtype, one, 0, (0,) * len(aval.shape))]


VALUES: dict[Primitive, Callable[[Primitive, Sequence[Any], Params], Any]] = {
    SOFTMAX: _softmax,
    LOG_SOFTMAX: _softmax,
    NLL_LOSS: _likelihood,
    BATCH_NORM: _batch_norm,
    LAYER_NORM: _layer_norm,
    MATMUL: matrix_products.product,
    ADDMM: matrix_products.affine,
    SUM: _whole_sum,
    MEAN: _whole_sum,
}
RULES: dict[Any, Callable[[Any, Any], list[Any] | None]] = {
    SOFTMAX: _softmax_pull,
    LOG_SOFTMAX: _softmax_pull,
    NLL_LOSS: _likelihood_pull,
    BATCH_NORM: _batch_norm_pull,
    LAYER_NORM: _layer_norm_pull,
    MATMUL: matrix_products.product_pull,
    ADDMM: matrix_products.affine_pull,
    SUM: _whole_sum_pull,
    MEAN: _whole_sum_pull,
}
