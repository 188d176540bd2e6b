"""How values lie in memory: stand-ins, and the rules by which operations lay out their results.

A stand-in is a NumPy array, or a scalar, of which only the shape, the dtype and the strides mean
anything; its elements are never read. NumPy itself is asked about it: whether `reshape` gives a
view, in which order `ravel` reads, whether something is a scalar. Of a traced value with an array
behind it, that array is its stand-in. Of an abstract one the stand-in is derived from those of the
operands, by the rule that the record of the operation names:

- `fresh`: the result is a new array in C order, whatever the operands are (products, gathers);
- `moved`: the operation gives views, so it is applied to the stand-in of its operand; `reshaped` is
  that of those which leave C order as it is;
- `ordered`: a new array whose axes lie as those of the operands do, as NumPy's reductions give; the
  operation is applied to small arrays that lie in memory in the same order. `computed` is that of
  ufuncs, which give scalars instead of arrays without axes, `kept` that of a changed copy, and
  `never_scalar` is `fresh` without scalars.

It may import `types` only.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.types import ArrayType

__all__ = [
    "Ask",
    "Lies",
    "computed",
    "derive",
    "fresh",
    "is_standard",
    "kept",
    "key_of",
    "memory",
    "moved",
    "never_scalar",
    "new_memory",
    "one_example",
    "ordered",
    "outwards",
    "reshaped",
    "standard",
]

ndarray = np.ndarray
SHARED = 1 << 12  # bytes, up to which stand-ins that lie alike are one array
Ask = Callable[[int], Any]  # the stand-in of an operand, by its position
# (primitive, ask, types of the operands, parameters, type or types of the output) -> stand-in(s)
Lies = Callable[[Any, Ask, Sequence[ArrayType], Any, Any], Any]


def memory(
    shape: Sequence[int], dtype: Any, strides: Sequence[int] | None = None
) -> ndarray[Any, Any]:
    """A stand-in; the system gives memory to nothing that is not written into."""
    dtype = np.dtype(dtype)
    if math.prod(shape) * dtype.itemsize > SHARED:
        return _memory(shape, dtype, strides)
    return _shared_memory(tuple(shape), dtype, None if strides is None else tuple(strides))


def _memory(
    shape: Sequence[int], dtype: np.dtype[Any], strides: Sequence[int] | None
) -> ndarray[Any, Any]:
    if strides is None:
        return np.empty(shape, dtype)
    low = high = 0
    for extent, stride in zip(shape, strides, strict=True):
        if not extent:
            return np.empty(shape, dtype)
        reach = (extent - 1) * stride
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    space = np.empty(high - low + dtype.itemsize, np.uint8)
    return np.ndarray(shape, dtype, space, -low, strides)


_shared_memory = functools.lru_cache(maxsize=1024)(_memory)


def new_memory(x: Any) -> Any:
    """A stand-in for `x` that does not keep its elements alive."""
    return memory(x.shape, x.dtype, x.strides) if type(x) is ndarray else x


def in_order(shape: Sequence[int], dtype: Any, like: Any) -> ndarray[Any, Any]:
    """A dense array whose axes lie as those of `like`, another array of the same rank."""
    sizes = [abs(s) for s in like.strides]
    outwards = sorted(range(len(shape)), key=lambda a: -sizes[a])
    strides, step = [0] * len(shape), np.dtype(dtype).itemsize
    for a in reversed(outwards):
        strides[a] = step
        step *= max(shape[a], 1)
    return memory(shape, dtype, strides)


def outwards(x: ndarray[Any, Any]) -> tuple[int, ...]:
    """The axes of `x` in the order in which they lie in memory, those with the largest steps first.

    It is the one in which NumPy runs over the elements for ``order='K'``.
    """
    small = _small(x)
    running = np.nditer(small, flags=["c_index", "zerosize_ok"], order="K")
    seen = [running.index for _ in running]
    if len(seen) < 2:
        return tuple(range(x.ndim))
    steps = np.empty(small.shape, np.int8).strides  # of the index, by axis
    long = {steps[a]: a for a in range(x.ndim) if small.shape[a] > 1}
    inwards = [long[seen[1 << k]] for k in range(len(long))]
    return (*(a for a in range(x.ndim) if small.shape[a] == 1), *reversed(inwards))


def one_example(whole: Any) -> Any:
    """The stand-in of one example, the first axis of `whole` running over them."""
    if whole.ndim == 1:
        return whole.dtype.type(1)
    return memory(whole.shape[1:], whole.dtype, whole.strides[1:])


class _Missing(Exception):
    """The stand-in of `node` has to be put into `known` first."""

    def __init__(self, node: Any, known: dict[Any, Any]) -> None:
        self.node, self.known = node, known


def derive(node: Any, known: dict[Any, Any], make: Callable[[Any, Any], dict[Any, Any]]) -> None:
    """Put the stand-in of `node` into `known`, and those of the nodes that it is made from.

    ``make(node, of)`` gives stand-ins made from ``of(node)``. Nothing recurses, so long chains are
    no different from short ones.
    """

    def of(other: Any) -> Any:
        if other not in known:
            raise _Missing(other, known)
        return known[other]

    waiting = [node]
    while waiting:
        if waiting[-1] in known:
            waiting.pop()
            continue
        try:
            known.update(make(waiting[-1], of))
        except _Missing as missing:
            if missing.known is not known:  # of a graph around this one
                raise
            waiting.append(missing.node)


def is_standard(x: Any) -> bool:
    """Whether a stand-in is what `standard` gives: in C order, or a scalar."""
    return type(x) is not ndarray or (x.ndim > 0 and bool(x.flags.c_contiguous))


def key_of(x: Any) -> Any:
    """What tells how the stand-in `x` lies, as a part of a key; None for a scalar."""
    if type(x) is not ndarray:
        return None
    return "C" if x.flags.c_contiguous else x.strides


def fresh(prim: Any, ask: Ask, types: Sequence[ArrayType], params: Any, out: Any) -> Any:
    """New arrays in C order; without axes, scalars."""
    return tuple(map(standard, out)) if prim.multiple else standard(out)


def standard(aval: ArrayType) -> Any:
    """An array in C order; without axes, a scalar."""
    return memory(aval.shape, aval.dtype) if aval.shape else _scalar(aval)


def _scalar(aval: ArrayType) -> Any:
    one = aval.dtype.type(1)
    return one.item() if aval.weak else one


def moved(prim: Any, ask: Ask, types: Sequence[ArrayType], params: Any, out: Any) -> Any:
    """What the operation, which gives views, makes of the stand-in."""
    return prim.impl(ask(0), **params)


def reshaped(prim: Any, ask: Ask, types: Sequence[ArrayType], params: Any, out: Any) -> Any:
    """As `moved`; what is in C order stays so."""
    return prim.impl(ask(0), **params)


def ordered(prim: Any, ask: Ask, types: Sequence[ArrayType], params: Any, out: ArrayType) -> Any:
    """A new array whose axes lie in the order in which the operation leaves them."""
    if len(out.shape) == 1:
        return memory(out.shape, out.dtype)
    given = map(ask, range(len(types)))
    small = [_small(x) if type(x) is ndarray else x for x in given]
    with np.errstate(all="ignore"):
        made = prim.impl(*small, **params)
    if not out.shape:
        return made
    return in_order(out.shape, out.dtype, made)


def kept(prim: Any, ask: Ask, types: Sequence[ArrayType], params: Any, out: ArrayType) -> Any:
    """A new array whose axes lie as those of the first operand, which has as many."""
    return np.empty_like(ask(0), out.dtype, shape=out.shape)


def never_scalar(
    prim: Any, ask: Ask, types: Sequence[ArrayType], params: Any, out: ArrayType
) -> Any:
    """A new array in C order, also without axes."""
    return memory(out.shape, out.dtype)


_computed: dict[Any, tuple[int, ...]] = {}  # strides of what was asked for lately


def computed(prim: Any, ask: Ask, types: Sequence[ArrayType], params: Any, out: ArrayType) -> Any:
    """What ufuncs give: `ordered`, and scalars also of arrays without axes."""
    if len(out.shape) < 2:
        return standard(out)
    given = tuple(map(ask, range(len(types))))
    key = (prim, out, tuple((x.shape, x.strides) if type(x) is ndarray else None for x in given))
    found = _computed.get(key)
    if found is None:
        if len(_computed) >= 1024:
            _computed.clear()
        made = ordered(prim, given.__getitem__, types, params, out)
        found = _computed[key] = made.strides
    return memory(out.shape, out.dtype, found)


def _small(x: ndarray[Any, Any]) -> ndarray[Any, Any]:
    """An array of few elements whose axes lie as those of `x`."""
    shape = [min(n, 2) for n in x.shape]
    repeated = tuple(slice(0, 1) if not s else slice(None) for s in x.strides)
    own = [1 if not s else n for n, s in zip(shape, x.strides, strict=True)]
    made = in_order(own, x.dtype, x)
    small = np.zeros_like(made)
    return np.broadcast_to(small[repeated], shape) if own != shape else small
