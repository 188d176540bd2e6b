"""Losses of large arrays, element by element, and their gradients: by a kernel each.

They stand in front of the values of operations that are one node, and of their rules. A kernel
computes elements into a piece of the cache and adds them up there in NumPy's order, so the value
has NumPy's bits wherever the operations round exactly; functions of mathematics are the kernels'
own, so there it has them to rounding. It imports the choice of kernels and the pool of memory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.config import config
from funcgrad.core.primitive import Params, Primitive
from funcgrad.kernels import memory, pieces
from funcgrad.kernels.choice import FEWEST, FLOATS, Entry, entry_of
from funcgrad.kernels.layout import dense
from funcgrad.kernels.pieces import FIRST, LAST, Cut
from funcgrad.kernels.spread import written_out
from funcgrad.ops.losses import SQUARED_ERROR

__all__ = ["LOSSES", "Loss", "install"]

ndarray = np.ndarray
PIECE = 1 << 13  # elements whose losses are added up while they lie in the cache


class Loss(NamedTuple):
    """What kernels of a loss are called, its parameters that are numbers, and its operands beyond
    the first two.
    """

    name: str
    numbers: tuple[str, ...] = ()
    more: tuple[str, ...] = ()

    def kernel(self, xs: Sequence[Any], params: Params) -> str:
        """The name of the kernels for these operands, up to their ends."""
        more = self.more if params.get("weighted", True) else self.more[1:]
        return "_".join((self.name, *more[: len(xs) - 2]))


LOSSES: dict[Primitive, Loss] = {}


def install(prim: Primitive, loss: Loss) -> None:
    """Put the kernels of a primitive in front of its value and its rule."""
    LOSSES[prim] = loss
    prim.take_kernel(functools.partial(_value, loss))
    prim.take_backward_kernel(_pull, of_operand=True)


# -------------------------------------------------------------------------------------- operands


class Flat(NamedTuple):
    """Operands as vectors without gaps, and the order of the axes in which they were read."""

    arrays: list[ndarray[Any, Any]]
    order: str

    def vector(self, x: ndarray[Any, Any]) -> ndarray[Any, Any]:
        """An array of the operands' shape as a vector."""
        x = x.T if self.order == "F" else x
        return dense(x).reshape(-1)

    def letters(self) -> str:
        """The dtype, and whether each operand may be written, which kernels are compiled for."""
        kinds = ("f" if x.flags.writeable else "F" for x in self.arrays)
        return f"{self.arrays[0].dtype.char} {''.join(kinds)}"


def _flat(xs: Sequence[Any]) -> Flat | None:
    """The operands of a kernel; None if these are no large arrays of one kind."""
    x = xs[0]
    if type(x) is not ndarray or x.size < FEWEST or x.dtype not in FLOATS:
        return None
    if any(type(y) is not ndarray or y.dtype != x.dtype for y in xs):
        return None
    if xs[1].shape != x.shape:
        return None
    whole = [y for y in xs if y.shape == x.shape]
    if all(y.flags.c_contiguous for y in whole) or all(map(_steady, whole)):
        order = "C"
    elif all(y.flags.f_contiguous for y in whole):
        order = "F"
    else:
        return None  # NumPy adds up in an order of its own
    flat = Flat([], order)
    for y in xs:
        full = y if y.shape == x.shape else written_out(np.broadcast_to(y, x.shape))
        flat.arrays.append(flat.vector(full))
    return flat


def _steady(x: ndarray[Any, Any]) -> bool:
    """Whether the axes of `x` lie in memory one within the other, as in C, if with gaps."""
    strides = [s for s, n in zip(x.strides, x.shape, strict=True) if n > 1]
    return all(s > 0 for s in strides) and strides == sorted(strides, reverse=True)


# ----------------------------------------------------------------------------------------- value


def _value(loss: Loss, impl: Callable[..., Any], *xs: Any, reduction: str, **params: Any) -> Any:
    x = xs[0]
    if type(x) is not ndarray or x.size < FEWEST or not config.kernels:
        return impl(*xs, reduction=reduction, **params)
    flat = _flat(xs)
    if flat is not None:
        what = "elements" if reduction == "none" else "total"
        entry = entry_of(f"{loss.kernel(xs, params)}_{what}", flat.letters())
        if entry.taken():
            numbers = [float(params[n]) for n in loss.numbers]
            if reduction == "none":
                found = _elements(entry, x, flat, numbers)
            else:
                found = _total(entry, flat, numbers, reduction == "mean")
            if found is not None:
                return found
    return impl(*xs, reduction=reduction, **params)


def _elements(
    entry: Entry, x: ndarray[Any, Any], flat: Flat, numbers: list[float]
) -> ndarray[Any, Any] | None:
    """The loss of each element; None if the kernel cannot be used."""
    out = memory.empty(x.shape, x.dtype, flat.order)
    parts = [Cut(y, 0) for y in flat.arrays]
    arguments = [*parts, *numbers, Cut(flat.vector(out), 0)]
    return out if pieces.run(entry, arguments, x.size, x.size) else None


def _total(entry: Entry, flat: Flat, numbers: list[float], mean: bool) -> Any:
    """The sum or the mean of the losses of all elements; None if the kernel cannot be used."""
    x = flat.arrays[0]
    starts = _starts(x.size, PIECE)
    totals = np.zeros(starts.size - 1, x.dtype)
    arguments = [FIRST, LAST, starts, *flat.arrays, *numbers, totals]
    if not pieces.run(entry, arguments, totals.size, x.size):
        return None
    total = _added(totals)
    return total / x.dtype.type(x.size) if mean else total


def _added(totals: ndarray[Any, Any]) -> Any:
    """The sum of those of the pieces, in NumPy's order: of halves, of their halves, and so on."""
    while totals.size > 1:
        totals = totals[::2] + totals[1::2]
    return totals[0]


@functools.lru_cache(64)
def _starts(size: int, piece: int) -> ndarray[Any, Any]:
    """Where the pieces of a sum begin, and its end, if it is halved as NumPy halves it."""
    counts = np.array([size])
    while counts.max() > piece:
        halves = counts // 2
        halves -= halves % 8
        counts = np.stack([halves, counts - halves], 1).reshape(-1)
    return np.concatenate([[0], np.cumsum(counts)])


# -------------------------------------------------------------------------------------- backward


def _pull(node: Any, g: Any) -> tuple[Sequence[Any], bool]:
    """The cotangents of the operands of `node`, and whether they are arrays of nobody else."""
    entry = None
    xs = node.saved[1:] if type(node.saved) is tuple else ()
    wanted = [p is not None for p in node.parents]
    if len(xs) > 1 and config.kernels and isinstance(g, ndarray | np.floating):
        flat = None if any(wanted[2:]) else _flat(xs)
        if flat is not None and g.dtype == xs[0].dtype:
            each = _each(node, g, flat)
            kernel = LOSSES[node.prim].kernel(xs, node.params)
            kinds = "".join("f" if w else "-" for w in wanted)
            of = "f" if type(each) is ndarray else "n"
            entry = entry_of(f"{kernel}_backward", f"{flat.letters()}{of}{kinds}")
            if entry.taken():
                found = _pulled(entry, node, each, flat)
                if found is not None:
                    return found, True
    return node.prim.vjp(node, g), False


def _each(node: Any, g: Any, flat: Flat) -> Any:
    """The cotangent of each element: a vector, or a number if it is one for all."""
    if node.params["reduction"] == "none":
        return flat.vector(g) if any(g.strides) else float(g[(0,) * g.ndim])
    size = flat.arrays[0].size
    return float(g / g.dtype.type(size) if node.params["reduction"] == "mean" else g)


def _pulled(entry: Entry, node: Any, each: Any, flat: Flat) -> list[Any] | None:
    x = node.saved[1]
    numbers = [float(node.params[n]) for n in LOSSES[node.prim].numbers]
    outs = [None if p is None else memory.empty(x.shape, x.dtype, flat.order) for p in node.parents]
    parts = [Cut(y, 0) if type(y) is ndarray else y for y in (each, *flat.arrays)]
    targets = [None if c is None else Cut(flat.vector(c), 0) for c in outs[:2]]
    done = pieces.run(entry, [*parts, *numbers, *targets], x.size, x.size)
    return outs if done else None


install(SQUARED_ERROR, Loss("squared_error"))
