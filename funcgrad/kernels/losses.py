"""Losses of two large arrays, and their gradients: by a kernel each.

They stand in front of the values of operations that are one node (`torch` installs them), and of
their rules. A value has the bits of the function in NumPy: elements are computed in a piece of the
cache, by a kernel only where all operations round exactly, and added up as NumPy adds, pairwise.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from funcgrad.config import config
from funcgrad.kernels import memory, threads
from funcgrad.kernels.choice import FEWEST, Entry, entry_of

__all__ = ["EXACT", "NUMBERS", "install", "kernel_name", "pull"]

ndarray = np.ndarray
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
PIECE = 1 << 14  # elements whose losses are added up while they lie in the cache
# by the name of the primitive: the parameters that are numbers of its kernels
NUMBERS: dict[str, tuple[str, ...]] = {
    "torch.smooth_l1_loss": ("beta",),
    "torch.huber_loss": ("delta",),
    "torch.binary_cross_entropy": (),
    "torch.binary_cross_entropy_with_logits": (),
    "torch.soft_margin_loss": (),
}
# of which all operations are exactly rounded, so that a kernel has the bits of NumPy
EXACT = frozenset(("torch.smooth_l1_loss", "torch.huber_loss"))


def kernel_name(primitive: str) -> str:
    """What the kernels of a primitive are called, up to their ends."""
    return primitive.removeprefix("torch.")


def install(prim: Any) -> None:
    """Put the kernels of a primitive in front of its value and its rule."""
    prim.take_kernel(functools.partial(_value, prim))


def _flat(xs: Sequence[Any]) -> list[ndarray[Any, Any]] | None:
    """Both arrays without their shape; None if these are no large arrays of one kind."""
    x = xs[0]
    if len(xs) != 2 or type(x) is not ndarray or x.size < FEWEST or x.dtype not in FLOATS:
        return None
    for y in xs:
        if type(y) is not ndarray or y.shape != x.shape or y.dtype != x.dtype:
            return None
        if not (y.flags.c_contiguous and y.flags.aligned):
            return None
    return [y.reshape(-1) for y in xs]


def _letters(xs: Sequence[ndarray[Any, Any]]) -> str:
    return f"{xs[0].dtype.char} {''.join('f' if x.flags.writeable else 'F' for x in xs)}"


def _value(prim: Any, impl: Callable[..., Any], *xs: Any, reduction: str, **params: Any) -> Any:
    flat = _flat(xs) if reduction != "none" and config.kernels else None
    if flat is None:
        return impl(*xs, reduction=reduction, **params)
    in_numpy = functools.partial(prim.plain, reduction="none", **params)
    if prim.name not in EXACT:
        return _reduced(in_numpy, flat, reduction)
    entry = entry_of(f"{kernel_name(prim.name)}_value", _letters(flat))
    if entry.taken(xs[0].size):
        numbers = [float(params[n]) for n in NUMBERS[prim.name]]
        found = _reduced(functools.partial(_elements, entry, numbers), flat, reduction)
        if not entry.failed:
            return found
    start = perf_counter()
    found = _reduced(in_numpy, flat, reduction)
    entry.spent(start)
    return found


def _elements(entry: Entry, numbers: list[float], *parts: ndarray[Any, Any]) -> ndarray[Any, Any]:
    """The loss of each element, by a kernel."""
    out = np.empty_like(parts[0])
    if not entry.failed:
        entry.run(*parts, *numbers, out)
    return out


def _reduced(elements: Callable[..., Any], flat: list[ndarray[Any, Any]], reduction: str) -> Any:
    size = flat[0].size
    leaves = list(_leaves(0, size))
    totals: list[Any] = [None] * len(leaves)

    def work(a: int, b: int) -> None:
        for k in range(a, b):
            begin, count = leaves[k]
            totals[k] = np.add.reduce(elements(*(x[begin : begin + count] for x in flat)))

    work(0, 1)  # which compiles a kernel
    if size < threads.PARALLEL or config.threads == 1:
        work(1, len(leaves))
    else:
        threads.run(lambda a, b: work(a + 1, b + 1), len(leaves) - 1, size)
    total = _added(iter(totals), size)
    return total / flat[0].dtype.type(size) if reduction == "mean" else total


def _halves(count: int) -> tuple[int, int]:
    """How NumPy cuts what it adds up."""
    half = count // 2
    half -= half % 8
    return half, count - half


def _leaves(begin: int, count: int) -> Iterator[tuple[int, int]]:
    """The pieces (begin, count) of NumPy's sum of `count` elements."""
    if count <= PIECE:
        yield begin, count
        return
    left, right = _halves(count)
    yield from _leaves(begin, left)
    yield from _leaves(begin + left, right)


def _added(totals: Iterator[Any], count: int) -> Any:
    """The sum of all, in the order of NumPy, of those of the pieces."""
    if count <= PIECE:
        return next(totals)
    left, right = _halves(count)
    return _added(totals, left) + _added(totals, right)


# -------------------------------------------------------------------------------------- backward


def pull(node: Any, g: Any) -> tuple[Sequence[Any], bool]:
    """The cotangents of the operands of `node`, and whether they are arrays of nobody else."""
    entry, params = None, node.params
    saved = node.saved[1:] if type(node.saved) is tuple else ()
    flat = _flat(saved) if len(saved) == 2 and params["reduction"] != "none" else None
    if flat is not None and config.kernels and isinstance(g, ndarray | np.floating):
        name = kernel_name(node.prim.name)
        wanted = "".join("-" if p is None else "f" for p in node.parents)
        entry = entry_of(f"{name}_backward", f"{_letters(flat)}{wanted}")
        if g.dtype == flat[0].dtype and entry.taken(flat[0].size):
            found = _pulled(entry, node, g, flat)
            if found is not None:
                return found, True
    start = perf_counter()
    cotangents = node.prim.vjp(node, g)
    if entry is not None:
        entry.spent(start)
    return cotangents, False


def _pulled(entry: Entry, node: Any, g: Any, flat: list[ndarray[Any, Any]]) -> list[Any] | None:
    x, params = node.saved[1], node.params
    g = g / x.dtype.type(x.size) if params["reduction"] == "mean" else g
    numbers = [float(params[n]) for n in NUMBERS[node.prim.name]]
    outs = [None if p is None else memory.empty(x.shape, x.dtype) for p in node.parents]
    targets = [None if c is None else c.reshape(-1) for c in outs]

    def work(a: int, b: int) -> None:
        parts = [None if c is None else c[a:b] for c in targets]
        entry.run(float(g), *(y[a:b] for y in flat), *numbers, *parts)

    if x.size < threads.PARALLEL or config.threads == 1 or not entry.calls:
        work(0, x.size)
    else:
        threads.run(work, x.size, x.size)
    return None if entry.failed else outs
