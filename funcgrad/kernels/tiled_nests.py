"""Products within a loop nest: tiles of sums that stay in registers, some rows by a few vectors.

Each sum adds its terms in one order, however many rows its tile has. It imports how nests are
written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.compile.llvm.target import host
from funcgrad.compile.loops import Carry, Combine
from funcgrad.kernels.nests import Nest
from funcgrad.kernels.product_nests import FEWER, SUMS

__all__ = ["TiledNest"]

Body = list[Any]


class TiledNest(Nest):
    """Writes a nest with products in it."""

    def __init__(self, dtype: str) -> None:
        super().__init__(dtype)
        self.lanes = host().vector_bits // (64 if dtype == "float64" else 32)

    def panels(self, body: Body, parts: str, width: int) -> tuple[str, str, Body]:
        """A loop over panels of columns: the number and the first column of one, and its body."""
        part, panel = self.loop(body, parts, "sequential")
        return part, self.whole(panel, "mul", part, width), panel

    def some_columns(self, panel: Body, columns: str, first: str, width: int) -> str:
        """How many columns a panel has."""
        return self.whole(panel, "min", self.whole(panel, "sub", columns, first), width)

    def tiles(
        self, lane: Body, rows: str, start: str, vectors: int, terms: str,
        near: Callable[[Body, str], str], far: Callable[[Body, str, str], str],
        put: Callable[[Body, str, str], None],
    ) -> None:  # fmt: skip
        """Rows from `start` on, of as many columns as the loop `lane` has lanes.

        ``near(body, term)`` is a term of the columns, ``far(body, row, term)`` one of a row, and
        ``put(body, row, sum)`` writes what has been added up.
        """
        height = SUMS.get(host().vector_bits, 12) // vectors
        for some in (height, *(h for h in FEWER if h < height)):
            count = self.whole(lane, "div", rows, some)
            index, body = self.loop(lane, count, "sequential")
            first = self.whole(body, "add", start, self.whole(body, "mul", index, some))
            places = [first, *(self.whole(body, "add", first, r) for r in range(1, some))]
            k, inner = self.loop(body, terms, "sequential")
            loop = body[-1]
            y = near(inner, k)
            for r, row in enumerate(places):
                loop.carries.append(Carry(f"{k}.{r}", self.dtype, "add"))
                inner.append(Combine(f"{k}.{r}", far(inner, row, k), y))
            for r, row in enumerate(places):
                put(body, row, f"{k}.{r}")
            rows = self.whole(lane, "rem", rows, some)
            start = self.whole(lane, "add", start, self.whole(lane, "mul", count, some))
