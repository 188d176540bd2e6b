"""The numbers of elements that masks selected when a function was staged.

They hold for the arguments at hand only. The equation that selects checks its number on every call
and raises `SizeChanged`; `jit` then looks for the graph that was staged for the number that was
found, or stages one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from funcgrad.graph.ir import Graph
from funcgrad.ops.index import NONZERO, SizeChanged

__all__ = ["SizeChanged", "Sizes", "numbers_after", "sizes_of"]

Sizes = tuple[tuple[Any, int], ...]  # of each selection in order: its mark, how many it selected


def sizes_of(graph: Graph) -> Sizes:
    """The selections of a graph and of the graphs within."""
    return tuple(dict(_selections(graph)).items())


def _selections(graph: Graph) -> Iterator[tuple[Any, int]]:
    for e in graph.equations:
        if e.prim is NONZERO:
            yield e.params["mark"], e.params["size"]
        for p in e.params.values():
            if isinstance(p, Graph):
                yield from _selections(p)


def numbers_after(sizes: Sizes, change: SizeChanged) -> tuple[int, ...]:
    """The numbers of the selections before the one that changed, and its new number."""
    before: list[int] = []
    for mark, size in sizes:
        if mark == change.mark:
            break
        before.append(size)
    return (*before, change.size)
