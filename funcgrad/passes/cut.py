"""The minimum cut of a network: the cheapest set of edges without which no way leads to the end.

Dinic 1970: the shortest ways are filled until none is left, then the next longer ones. It imports
nothing, and never recurses.
"""

from __future__ import annotations

__all__ = ["UNLIMITED", "Network"]

UNLIMITED = 1 << 62


class Network:
    """Nodes are numbers, 0 the start and 1 the end. An edge and the one back are neighbours."""

    def __init__(self, nodes: int) -> None:
        self.edges: list[list[int]] = [[] for _ in range(nodes)]
        self.target: list[int] = []
        self.left: list[int] = []  # capacity of each edge that is not used

    def connect(self, a: int, b: int, capacity: int) -> None:
        for start, end, room in ((a, b, capacity), (b, a, 0)):
            self.edges[start].append(len(self.target))
            self.target.append(end)
            self.left.append(room)

    def late(self) -> list[bool]:
        """Which nodes lie behind the minimum cut, of several the one that is nearest to the end.

        Examples
        --------
        >>> n = Network(4)
        >>> for edge in ((0, 2, 9), (2, 3, 1), (3, 1, 1)):
        ...     n.connect(*edge)
        >>> n.late()
        [False, True, False, False]
        """
        while (levels := self._levels())[1] >= 0:
            at = [0] * len(self.edges)
            while self._fill(levels, at):
                pass
        found = [False] * len(self.edges)
        found[1], waiting = True, [1]
        while waiting:
            for k in self.edges[waiting.pop()]:
                a = self.target[k]
                if not found[a] and self.left[k ^ 1]:
                    found[a] = True
                    waiting.append(a)
        return found

    def _levels(self) -> list[int]:
        """How many edges with room lead from the start to each node, -1 if none do."""
        levels = [-1] * len(self.edges)
        levels[0], waiting = 0, [0]
        for a in waiting:
            for k in self.edges[a]:
                if self.left[k] and levels[self.target[k]] < 0:
                    levels[self.target[k]] = levels[a] + 1
                    waiting.append(self.target[k])
        return levels

    def _fill(self, levels: list[int], at: list[int]) -> bool:
        """Use one more of the shortest ways; `at` is the edge of each node that is next."""
        way: list[int] = []
        a = 0
        while a != 1:
            for n in range(at[a], len(self.edges[a])):
                k = self.edges[a][n]
                if self.left[k] and levels[self.target[k]] == levels[a] + 1:
                    at[a] = n
                    way.append(k)
                    a = self.target[k]
                    break
            else:
                if not way:
                    return False
                at[a] = len(self.edges[a])
                a = self.target[way.pop() ^ 1]
                at[a] += 1
        room = min(self.left[k] for k in way)
        for k in way:
            self.left[k] -= room
            self.left[k ^ 1] += room
        return True
