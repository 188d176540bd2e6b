"""Backward passes that come again: those of like graphs follow what was written out of one.

A training step makes the same graph each time, and its backward pass finds out the same. A pass
that came often is written out (see `pass_writer`): a function that walks the graph, looking only
whether it is such a one, and a function that pulls, mostly in native code. The first uses run
beside the general pass, and what differs in a bit is dropped. Whatever is special (hooks, values
that were written since, values given back, `create_graph`, modes) goes the general way.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.config import config
from funcgrad.torch.modes import modes
from funcgrad.torch.pass_writer import MOST_NODES, Written, written

__all__ = ["compare", "follow"]

ndarray = np.ndarray
OFTEN = (16, 32, 64, 256, 1024)  # passes of so many nodes, after which one is written out
TRIALS = 3  # uses beside the general pass
MOST = 8  # of one class of roots
MANY = 256  # classes of roots; then all are forgotten
MISSES = 64  # graphs in a row that were none of a kind, after which it is dropped


class Prepared:
    """A pass that was written out, and how it did."""

    __slots__ = ("misses", "trials", "written")

    def __init__(self, found: Written) -> None:
        self.written, self.trials, self.misses = found, TRIALS, 0


class Known:
    """What is known of passes whose roots are of one class."""

    __slots__ = ("counts", "passes")

    def __init__(self) -> None:
        self.passes: list[Prepared] = []
        self.counts: dict[tuple[int, int], int] = {}  # by the number of nodes and leaves


_known: dict[type, Known] = {}
Found = tuple[Written, tuple[Any, ...], list[Any]]  # the nodes, the cotangents of the leaves


def follow(root: Any, g: Any) -> Found | None:
    """The pass from `root`, if it is one that came before; it has changed nothing yet."""
    known = _known.get(type(root))
    if known is None or not known.passes or not config.kernels:
        return None
    for prepared in known.passes:
        if prepared.trials:
            continue
        nodes = prepared.written.walk(root)
        if nodes is None:
            prepared.misses += 1
            if prepared.misses > MISSES:
                _drop(known, prepared)
                break
            continue
        prepared.misses = 0
        found = modes.unrecorded(prepared.written.pull, nodes, g)
        return None if found is None else (prepared.written, nodes, found)
    return None


def compare(order: Sequence[Any], leaves: Sequence[Any], g: Any, found: Sequence[Any]) -> None:
    """Look at a general pass that has found the cotangents of the leaves, before it is over."""
    if not 1 < len(order) <= MOST_NODES or not config.kernels:
        return
    kind = type(order[0])
    known = _known.get(kind)
    if known is None:
        if len(_known) >= MANY:
            _known.clear()
        known = _known[kind] = Known()
    for prepared in list(known.passes):
        if prepared.trials and (nodes := prepared.written.walk(order[0])) is not None:
            _try(known, prepared, nodes, g, dict(zip(leaves, found, strict=True)))
            return
    size = len(order), len(leaves)
    count = known.counts[size] = known.counts.get(size, 0) + 1
    if count in OFTEN and len(known.passes) < MOST:
        made = written(order, leaves, g)
        if made is not None:
            known.passes.insert(0, Prepared(made))


def _try(
    known: Known, prepared: Prepared, nodes: tuple[Any, ...], g: Any, expected: dict[Any, Any]
) -> None:
    """Drop a pass that gives another bit than the general one."""
    found = prepared.written.pull(nodes, g)
    leaves = nodes[prepared.written.leaves :]
    if found is None or not all(
        _same(expected[leaf], c) for leaf, c in zip(leaves, found, strict=True)
    ):
        _drop(known, prepared)
    else:
        prepared.trials -= 1


def _drop(known: Known, prepared: Prepared) -> None:
    with contextlib.suppress(ValueError):  # another thread has
        known.passes.remove(prepared)


def _same(x: Any, y: Any) -> bool:
    """Whether two cotangents have the same bits."""
    return bool(type(x) is type(y) and x.dtype == y.dtype and x.shape == y.shape
                and np.asarray(x).tobytes() == np.asarray(y).tobytes())  # fmt: skip
