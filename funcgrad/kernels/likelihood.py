"""The negative log likelihood of many classes, and its cotangent: by kernels.

They stand in front of the values of their primitives, so derivatives of any order take them too,
and have the bits of NumPy. It imports NumPy, not Numba.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.config import config
from funcgrad.core import memory
from funcgrad.kernels import pieces
from funcgrad.kernels.choice import FEWEST, FLOATS, Entry, entry_of
from funcgrad.kernels.layout import dense
from funcgrad.kernels.pieces import FIRST, LAST
from funcgrad.ops.likelihood import NLL_LOSS, NLL_SCATTER

ndarray = np.ndarray
CLASSES = (np.dtype(np.int64), np.dtype(np.uint8))


def _extents(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Examples, classes, and what lies within."""
    if len(shape) == 1:
        return 1, shape[0], 1
    return shape[0], shape[1], math.prod(shape[2:])


def _letters(*xs: Any) -> str:
    return "".join(
        f"{x.dtype.char}{'' if x.flags.writeable else 'r'}" if type(x) is ndarray else "-"
        for x in xs
    )


def _loss(
    impl: Callable[..., Any], x: Any, target: Any, *weight: Any, reduction: str, ignore: int
) -> Any:
    entry = None
    if (
        type(x) is ndarray
        and x.size >= FEWEST
        and x.dtype in FLOATS
        and type(target) is ndarray
        and target.dtype in CLASSES
        and all(type(w) is ndarray and w.dtype == x.dtype for w in weight)
        and config.kernels
    ):
        extents = _extents(x.shape)
        values = dense(x).reshape(extents)
        classes = dense(target).reshape(extents[0], extents[2])
        each = dense(weight[0]) if weight else None
        entry = entry_of("nll_elements", _letters(values, classes, each))
        if entry.taken():
            found = _elements(entry, values, classes, each, ignore)
            if found is not None:
                return _reduced(*found, target, reduction, ignore)
    return impl(x, target, *weight, reduction=reduction, ignore=ignore)


def _elements(
    entry: Entry, x: Any, target: Any, weight: Any, ignore: int
) -> tuple[ndarray[Any, Any], ndarray[Any, Any] | None] | None:
    """The loss and the weight of each class given; None if the kernel cannot be used."""
    out = np.empty(target.shape, x.dtype)
    taken = None if weight is None else np.empty(target.shape, x.dtype)
    wrong = np.zeros(1, np.int64)
    arguments = [FIRST, LAST, x, target, weight, ignore, out, taken, wrong]
    done = pieces.run(entry, arguments, len(target), x.size)
    return (out, taken) if done and not wrong[0] else None


def _reduced(loss: Any, taken: Any, target: Any, reduction: str, ignore: int) -> Any:
    if reduction == "none":
        return loss.reshape(target.shape)[()]
    total = np.add.reduce(loss, None)
    if reduction == "sum":
        return total
    if taken is None:
        count = loss.dtype.type(target.size - np.count_nonzero(target == ignore))
    else:
        count = np.add.reduce(taken, None)
    with np.errstate(all="ignore"):
        return total / count


def _scatter(
    impl: Callable[..., Any], g: Any, target: Any, *, shape: Any, reduction: str, ignore: int
) -> Any:
    entry = None
    size = math.prod(shape)
    if (
        size >= FEWEST
        and isinstance(g, ndarray | np.floating)
        and g.dtype in FLOATS
        and type(target) is ndarray
        and target.dtype in CLASSES
        and config.kernels
    ):
        extents = _extents(shape)
        classes = dense(target).reshape(extents[0], extents[2])
        each: Any = float(g) if reduction != "none" else dense(g).reshape(classes.shape)
        if reduction == "mean":
            count = target.size - np.count_nonzero(target == ignore)
            with np.errstate(all="ignore"):
                each = float(g / g.dtype.type(count))
        entry = entry_of("nll_scatter", f"{g.dtype.char}{_letters(each, classes)}")
        if entry.taken():
            out, wrong = memory.empty(shape, g.dtype), np.zeros(1, np.int64)
            arguments = [FIRST, LAST, each, classes, ignore, out.reshape(extents), wrong]
            if pieces.run(entry, arguments, extents[0], size) and not wrong[0]:
                return out
    return impl(g, target, shape=shape, reduction=reduction, ignore=ignore)


NLL_LOSS.take_kernel(_loss)
NLL_SCATTER.take_kernel(_scatter)
