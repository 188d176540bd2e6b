"""The backward pass of tensors: the core's, with leaves that accumulate, hooks and freeing.

Where no node has a hook it is the core's pass itself; else, and wherever user code can look, it is
a `GraphTask`. What is refused is refused before anything is accumulated.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from funcgrad.core.types import Array
from funcgrad.torch import prepared_passes
from funcgrad.torch.gradients import accumulate_grad, accumulating, conjugated, in_dtype_of
from funcgrad.torch.graph_task import GraphTask
from funcgrad.torch.handed_on import may_keep, owner_of, shown
from funcgrad.torch.modes import modes
from funcgrad.torch.nodes import AccumulateGrad, Pick, edge_of
from funcgrad.torch.saved import check_saved, opened
from funcgrad.torch.ties import fill
from funcgrad.torch.versions import FREED, writes
from funcgrad.transforms.results import own
from funcgrad.transforms.reverse import pulled

__all__ = ["Edge", "conjugated", "run"]

by_seq = operator.attrgetter("seq")
Edge = Any  # a node: of an operation, an output of one, or a leaf


def run(
    roots: Sequence[tuple[Edge, Array]],
    *,
    retain_graph: bool,
    create_graph: bool,
    inputs: Sequence[Edge] | None = None,
    accumulate: bool = True,
    given: Sequence[Any] = (),
) -> list[Array | None]:
    """Pull the cotangents of `roots` back; `given` are the tensors that the user has of them.

    Without `inputs` every leaf accumulates. With them only the way there is taken: with
    `accumulate` the leaves among them do, else the cotangents of the inputs are returned.
    """
    if inputs is None and len(roots) == 1 and not create_graph and modes.hot is not None:
        known = prepared_passes.follow(*roots[0])
        if known is not None:
            _end(known, roots[0][1], retain_graph)
            return []
    order, leaves, look = _graph(roots)
    by_hand = create_graph or (modes.hot is None and (modes.anomaly or modes.dual is not None))
    if inputs is None:
        needed, ends = order, leaves
    else:
        ends, needed = _on_the_way(order + leaves, inputs)
        by_hand = by_hand or not set(ends).isdisjoint(needed)
    if (look and _look(needed, ends)) or by_hand:
        edges = None if inputs is None else [edge_of(node) for node in inputs]
        found = GraphTask(order + leaves, roots, create_graph, edges, accumulate).run()
    else:
        whole = inputs is None
        found = modes.unrecorded(_quick, roots, needed, ends, accumulate, given, whole)
    if not retain_graph:
        for node in needed:
            if node.keeps:
                if node.hot:
                    node.saved, node.origins, node.inner = FREED, (), None
                else:
                    node.release()
    return found


def _end(known: prepared_passes.Found, g: Array, retain_graph: bool) -> None:
    """Accumulate what a pass that came before has found, and give saved values back."""
    written, nodes, found = known
    for leaf, c in zip(nodes[written.leaves :], own(found, [g]), strict=True):
        accumulate_grad(leaf, conjugated(c), False)
    if not retain_graph:
        written.release(nodes)


def _graph(roots: Sequence[tuple[Edge, Array]]) -> tuple[list[Any], list[Any], bool]:
    """The nodes that the roots depend on, latest first, the leaves, and whether to `_look`.

    There is nothing to see at a node without hooks that was made after the last write.
    """
    stack = [roots[0][0]] if len(roots) == 1 else list({node for node, _ in roots})
    seen = set(stack)
    order: list[Any] = []
    leaves: list[Any] = []
    look = False
    while stack:
        node = stack.pop()
        if node.hot:
            look = look or node.saved is FREED
        elif type(node) is AccumulateGrad:
            look = look or node.extra is not None
            leaves.append(node)
            continue
        elif node.extra is not None or node.saved is FREED or node.prim.opaque:
            look = True
        order.append(node)
        for p in node.parents:
            if p is not None and p not in seen:
                seen.add(p)
                stack.append(p)
    if len(order) > 1:
        order.sort(key=by_seq, reverse=True)
    return order, leaves, look or (bool(order) and order[-1].seq < writes.latest)


def _look(needed: Sequence[Any], ends: Sequence[Any]) -> bool:
    """Raise for what has been given back or changed; whether user code is on the way."""
    by_hand = False
    for node in ends:
        by_hand = by_hand or (node is not None and edge_of(node)[0].extra is not None)
    for node in needed:
        if node.extra is not None:
            by_hand = True
        if type(node) is AccumulateGrad:
            continue
        if node.prim.opaque:
            by_hand = True
            check_saved(node)
        if node.saved is FREED or (node.made is not None and node.made[0].count != node.made[1]):
            check_saved(node)
        counts = node.counts
        for k, origin in enumerate(node.origins):
            if origin is not None:
                version = origin.held_version
                if version is not None and version.count != counts[k]:
                    check_saved(node)
    return by_hand


def _quick(
    roots: Sequence[tuple[Edge, Array]],
    order: Sequence[Any],
    ends: Sequence[Any],
    accumulate: bool,
    given: Sequence[Any],
    whole: bool,
) -> list[Array | None]:
    """The pass of the core, where no user code can look; of a part of the graph if not `whole`."""
    if not whole:
        order = _parted(order, ends)
    found: list[Any] = pulled(order, roots, ends, quick=True)
    if whole and len(roots) == 1 and len(order) > 1:
        prepared_passes.compare(order, ends, roots[0][1], found)
    if accumulate and given and order and _hands_on(order):
        found = _handed_on(ends, found, given)
    found = own(found, [g for _, g in roots])
    for g in found:
        if g is None:
            fill(order, ends, found)
            break
    if not accumulate:
        return [
            None if g is None else in_dtype_of(edge_of(end), conjugated(g))
            for end, g in zip(ends, found, strict=True)
        ]
    for leaf, g in zip(ends, found, strict=True):
        if g is not None:
            accumulate_grad(leaf, conjugated(g), False)
    return []


class Parted:
    """A node whose cotangents are wanted for some of its parents only."""

    __slots__ = ("node", "parents")
    quick = True  # the way that sees raw cotangents

    def __init__(self, node: Any, parents: tuple[Any, ...]) -> None:
        self.node, self.parents = node, parents

    def __hash__(self) -> int:
        return hash(self.node)

    def __eq__(self, other: object) -> bool:
        return self.node is other

    @property
    def prim(self) -> Any:
        return self.node.prim

    def pull(self, cts: Any, g: Any) -> None:
        opened(self.node, self.parents, False).pull(cts, g)

    def pull_quick(self, cts: Any, g: Any) -> None:
        opened(self.node, self.parents, False).pull_quick(cts, g)

    pull_owned = pull_quick


def _parted(order: Sequence[Any], ends: Sequence[Any]) -> list[Any]:
    """The nodes; those that lead to others, too, give what is on the way only.

    What a node on a hot path does for each parent is written into it, and cheap.
    """
    wanted: set[Any] = {*order, *ends}
    return [
        node
        if node.hot or type(node) is Pick or all(p is None or p in wanted for p in node.parents)
        else Parted(node, tuple(p if p in wanted else None for p in node.parents))
        for node in order
    ]


def _hands_on(order: Sequence[Any]) -> bool:
    """Whether every node of the graph hands on views of its cotangent."""
    for node in order:  # noqa: SIM110  (a generator takes as long as a small pass)
        if not node.prim.hands_on:
            return False
    return True


def _handed_on(ends: Sequence[Any], found: Sequence[Any], given: Sequence[Any]) -> list[Any]:
    """Let leaves keep, or add up, what shows the cotangents given; what is left has to be copied.

    A gradient that is there may itself show a cotangent that others show: each sees what was added
    to those before.
    """
    left: list[Any] = []
    for leaf, g in zip(ends, found, strict=True):
        owner = owner_of(g, given) if type(leaf) is AccumulateGrad else None
        if owner is not None:
            with accumulating:
                if leaf.grad is not None:
                    accumulate_grad(leaf, g, False)
                elif may_keep(leaf, g):
                    leaf.grad = shown(g, owner)
                else:
                    owner = None
        left.append(g if owner is None else None)
    return left


def _on_the_way(order: Sequence[Any], inputs: Sequence[Edge]) -> tuple[list[Any], list[Any]]:
    """The inputs as nodes of the graph (None if they are not in it), and what leads to them."""
    wanted = {edge_of(node): None for node in inputs}
    places: dict[Any, Any] = {}
    for node in order:
        if (type(node) is Pick or not hasattr(node, "outputs")) and edge_of(node) in wanted:
            places[edge_of(node)] = node
    reached = set(places.values())
    leading: set[Any] = set()
    for node in reversed(order):
        if any(p is not None and p in reached for p in node.parents):
            reached.add(node)
            leading.add(node)
    ends = [places.get(edge_of(node)) for node in inputs]
    return ends, [node for node in order if node in leading]
