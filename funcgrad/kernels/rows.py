"""The backward pass of reductions and of softmax on large arrays: by native code, or by the rule.

The code (see `reduction_nests`) is made by our compiler when it is first asked for, and lies on
disk afterwards: nothing else ever runs in its place. It takes any axes (see `layout`); what has a
mask, a start value or another dtype goes to the record's own rule.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile import cache
from funcgrad.compile.llvm.pool import pool
from funcgrad.compile.memory import address_of
from funcgrad.config import config
from funcgrad.core.primitive import Primitive
from funcgrad.core.types import Array
from funcgrad.errors import CompilerError
from funcgrad.kernels import load, threads
from funcgrad.kernels.choice import FEWEST, FLOATS, entry_of
from funcgrad.kernels.copies import of_blocks, zeros
from funcgrad.kernels.layout import Layout, layout_of
from funcgrad.kernels.native import Code
from funcgrad.ops.nonlinear_reductions import MAX, MIN, PROD, STD, VAR
from funcgrad.ops.norms import NORM
from funcgrad.ops.softmax import LOG_SOFTMAX, LOGSUMEXP, SOFTMAX

__all__ = ["BLOCK", "INTEGERS", "KERNELS", "QUOTIENTS", "TILE", "serve"]

ndarray = np.ndarray
KERNELS: dict[Primitive, str] = {
    SOFTMAX: "softmax",
    LOG_SOFTMAX: "log_softmax",
    LOGSUMEXP: "logsumexp",
    MAX: "extremum",
    MIN: "extremum",
    VAR: "var",
    STD: "std",
    PROD: "prod",
    NORM: "norm",
}
WHOLE = frozenset((SOFTMAX, LOG_SOFTMAX))  # as large as their operand
BLOCK = 1024  # elements of a partial sum
TILE = 256  # groups that are read side by side
NEST: tuple[str, tuple[Any, ...]] = ("nest", ())
PIECE = 1 << 14  # elements of groups that a thread takes at a time
QUOTIENTS = "_by_quotients"  # a product by each of its factors
INTEGERS = ("grain", "groups", "parts", "across", "length", "blocks", "tiles")


def _pull(node: Any, g: Any) -> tuple[Sequence[Array | None], bool]:
    """The cotangents of the operands of `node`, and whether they are arrays of nobody else."""
    aval = node.avals[0]
    if config.kernels and aval.size >= FEWEST and aval.dtype in FLOATS and _plain(node, g):
        name = KERNELS[node.prim]
        if name == "prod" and _vanishes(*node.saved) and np.isfinite(g):
            return [
                None if p is None else zeros(aval.shape, aval.dtype) for p in node.parents
            ], True
        work = _prepared(node, g)
        loop = work.loop
        if name == "prod" and _is_normal(node.saved[0]):
            loop += QUOTIENTS
        code = _code(name, loop, aval.dtype)
        if code is not None:
            _run(code, work)
            return [work.out if p is not None else None for p in node.parents], True
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


def _is_normal(y: Any) -> bool:
    """Whether products, where they are saved, have lost no digits: then others are quotients."""
    if y is None:
        return False
    size, limits = np.abs(y), np.finfo(y.dtype)
    return bool(((size >= limits.tiny) & (size <= limits.max)).all())


def _vanishes(y: Any, x: Any) -> bool:
    """Whether without any one of the factors, none above 1, a product underflows as well."""
    if y is None or np.ndim(y) or y != 0 or not x.flags.c_contiguous:
        return False
    parts = of_blocks(x, "mul")
    if parts is None or np.count_nonzero(parts == 0) < 2:
        return False
    return bool(x.max() <= 1 and x.min() >= -1)


class Work(NamedTuple):
    """A call of the code: loop, arrays as it reads them, their layout, a divisor, the result."""

    loop: str
    arrays: list[ndarray[Any, Any]]
    layout: Layout
    divisor: float
    out: ndarray[Any, Any]


def _prepared(node: Any, g: Any) -> Work:
    """What the code is to be called with."""
    prim, params, aval = node.prim, node.params, node.avals[0]
    axes = (params["axis"],) if "axis" in params else params["axes"]
    axes = range(len(aval.shape)) if axes is None else axes
    y, x = node.saved
    layout = layout_of(y if x is None else x, aval.shape, axes, lines=prim is PROD)
    whole = prim in WHOLE
    g = layout.view(g, whole)
    out = layout.empty(aval.shape, aval.dtype)
    arrays = [
        g,
        g if y is None else layout.view(y, whole),
        g if x is None else layout.view(x, True),
    ]
    divisor = 1.0
    if KERNELS[prim] in ("var", "std"):
        divisor = max(float(aval.size // max(layout.groups, 1)) - params["ddof"], 0.0)
    loop = "along" if len(layout.whole) == 4 else "beside"
    return Work(loop, [*arrays, layout.view(out, True)], layout, divisor, out)


def _run(code: Code, work: Work) -> None:
    size, groups = work.out.size, work.layout.groups
    outer, parts, across, *last = work.layout.whole
    if last:
        (length,) = last
        grain = max(1, PIECE // max(parts * length, 1))
        chunks, tiles, blocks = -(-groups // grain), 0, -(-length // BLOCK)
    else:
        grain, length, tiles, blocks = 1, 1, -(-across // TILE), -(-parts // BLOCK)
        chunks = groups = outer * tiles
    integers = [grain, groups, parts, across, length, blocks, tiles]
    numbers = [float(size // max(work.layout.groups, 1)), work.divisor]
    table = array("q", [*map(address_of(), work.arrays), *integers])
    table.frombytes(array("d", numbers).tobytes())
    at = table.buffer_info()[0]
    if size >= threads.PARALLEL and config.threads > 1 and chunks > 1:
        pool().run(code.address, at, chunks)
    else:
        code.call(at, 0, chunks, 0)


def _code(name: str, loop: str, dtype: np.dtype[Any]) -> Code | None:
    """The code, from disk or built now; None if it cannot be."""
    entry = entry_of(f"{name}_backward_{loop}", dtype.char)
    found = entry.codes.get(NEST)
    if found is None and not entry.failed:
        about = (load.fingerprint(), "reduction", name, loop, dtype.name)
        try:
            made = cache.written(
                functools.partial(_text, name, loop, dtype.name), *about, symbols={}
            )
        except CompilerError as error:
            entry.fail(error)
            return None
        found = entry.codes[NEST] = Code.of(made)
    entry.calls += 1
    return found


def _text(*about: str) -> str:
    from funcgrad.kernels.reduction_nests import text_of  # it is needed once for each

    return text_of(*about)


for prim in KERNELS:
    prim.take_backward_kernel(_pull, of_operand=True)


def serve(prim: Primitive, like: Primitive, agrees: Callable[[Any], bool]) -> None:
    """Let the code of `like` serve `prim`, whose rule is the same where ``agrees(y)``."""

    def pull(node: Any, g: Any) -> tuple[Sequence[Array | None], bool]:
        y = node.saved[0] if type(node.saved) is tuple else None
        if isinstance(y, (ndarray, np.generic)) and agrees(y):
            return _pull(node, g)
        return node.prim.vjp(node, g), False

    KERNELS[prim] = KERNELS[like]
    prim.take_backward_kernel(pull, of_operand=True)
