"""Backward passes written out: what a pass did, as functions that do it again for a like graph.

A pass is followed node by node. What the native code of a node was called with is noted (see
`kernels.noting`); where all that a node hands on was written by such calls, and these have read
nothing but its cotangent and what it has saved, they are put behind those of the node before. So
runs of nodes become one native call with memory of its own for what lies between; between them
nodes pull as ever. What was handed on twice is added up as the general pass does it.
"""

from __future__ import annotations

import inspect
from array import array
from collections.abc import Callable, Sequence
from types import MemberDescriptorType
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile.llvm.entry import native
from funcgrad.kernels.noting import Call, noted
from funcgrad.ops.affine import ADDMM
from funcgrad.ops.product import MATMUL
from funcgrad.ops.softmax import LOG_SOFTMAX, SOFTMAX
from funcgrad.torch import flat
from funcgrad.torch.native_runs import Place, Run, Unsuitable
from funcgrad.torch.nodes import AccumulateGrad, Pick
from funcgrad.torch.versions import FREED, writes
from funcgrad.transforms.node import dense
from funcgrad.transforms.reverse import pull_each

__all__ = ["MOST_NODES", "Written", "written"]

ndarray = np.ndarray
MOST_NODES = 256  # of a pass: that much text is compiled in some milliseconds
FEWEST_NATIVE = 2  # nodes, or there is nothing to gain
PLAIN = (bool, int, float, str, type(None), np.dtype)


class Written(NamedTuple):
    """A pass that was written out.

    Attributes
    ----------
    walk : callable
        ``walk(root)``: the nodes and leaves of a graph of this kind, of which nothing has to be
        looked at; None for any other.
    pull : callable
        ``pull(nodes, g)``: the cotangents of the leaves, None where the general pass has to go.
    release : callable
        ``release(nodes)`` gives the saved values back.
    leaves : int
        Which of the nodes is the first leaf.
    """

    walk: Callable[[Any], tuple[Any, ...] | None]
    pull: Callable[[tuple[Any, ...], Any], list[Any] | None]
    release: Callable[[tuple[Any, ...]], None]
    leaves: int


def written(order: Sequence[Any], leaves: Sequence[Any], g: Any) -> Written | None:
    """The pass from the first node of `order`, which begins with `g`; None if little is native."""
    if len(order) > MOST_NODES or native.native() is None:
        return None
    return _Writer(order, leaves).write(g)


class _Writer:
    """Follows one pass, and writes it out."""

    def __init__(self, order: Sequence[Any], leaves: Sequence[Any]) -> None:
        self.order, self.leaves = order, leaves
        self.names = {node: f"n{k}" for k, node in enumerate(order)}
        self.names |= {leaf: f"l{k}" for k, leaf in enumerate(leaves)}
        self.scope: dict[str, Any] = {
            "AccumulateGrad": AccumulateGrad, "FREED": FREED, "writes": writes, "dense": dense,
            "pull_each": pull_each, "alike": _alike,
        }  # fmt: skip
        self.native: set[Any] = set()
        self.pulls: list[str] = []
        self.waiting: list[str] = []  # nodes that pull as ever, in a row
        self.run: Run | None = None
        self.runs = 0
        self.places: dict[Any, Place] = {}  # of cotangents that the native call has made
        self.kept: list[Any] = []  # arrays of the pass: no two may lie at one address

    def write(self, g: Any) -> Written | None:
        cts: dict[Any, Any] = {self.order[0]: g}
        for node in self.order:
            g = cts.get(node)
            if g is None:
                return None
            self.kept.append(g)
            if not self._in_native_code(node, dense(g), cts):
                self._close()
                self.waiting.append(self.names[node])
                pull_each((node,), cts, True)
                self.kept.extend(cts.values())
        self._close()
        self._wait()
        if len(self.native) < FEWEST_NATIVE or any(leaf not in cts for leaf in self.leaves):
            return None
        text = "\n".join((*self._walk(), "", *self._pull(), "", *self._release()))
        exec(compile(text, "<funcgrad.torch backward pass>", "exec"), self.scope)
        made = self.scope
        return Written(made["walk"], made["pull"], made["release"], len(self.order))

    # --------------------------------------------------------------------------- native runs

    def _in_native_code(self, node: Any, g: Any, cts: dict[Any, Any]) -> bool:
        """Add the calls of a node to the run; False if it has to pull by itself."""
        if type(g) is not ndarray or not _may_be_native(node):
            return False
        mine: dict[Any, Any] = {}
        _, calls = noted(node.pull_quick, mine, g)
        found = {p: dense(c) for p, c in mine.items()}
        run = Run() if self.run is None else self.run
        before = run.length()
        try:
            places = self._placed(run, node, g, calls, found, cts)
        except Unsuitable:
            run.shorten(before)
            return False
        if self.run is None:
            self._wait()
            self.run = run
        del cts[node]
        self.places.pop(node, None)
        for p, place in places.items():
            self.places[p], cts[p] = place, place.array
        self.kept += [calls, found, places]
        self.native.add(node)
        return True

    def _placed(
        self, run: Run, node: Any, g: Any, calls: Sequence[Call], found: Any, cts: Any
    ) -> dict[Any, Place]:
        """Where the cotangents of the parents lie once the calls are added to the run."""
        if not found or any(p is not None and p not in found for p in node.parents):
            raise Unsuitable
        known = [self.places[node]] if node in self.places else []
        given = [] if known else [(f"dense(cts.pop({self.names[node]}, None))", g)]
        given += [
            (f"{self.names[node]}.saved[{k}]", x)
            for k, x in enumerate(node.saved or ())
            if type(x) is ndarray and x.size
        ]
        run.add(calls, known, given)
        places = {}
        for p, c in found.items():
            place = run.place(c, known, given)
            if p in cts:
                place = self._added(run, p, cts[p], place)
            places[p] = place
        return places

    def _added(self, run: Run, p: Any, old: Any, new: Place) -> Place:
        """The sum of what a parent has got so far and of what comes now."""
        old = dense(old)
        if not _may_add(old) or not _may_add(new.array) or old.shape != new.array.shape:
            raise Unsuitable
        if old.dtype != new.array.dtype:
            raise Unsuitable
        place = self.places.get(p)
        if place is None:
            place = run.argument(f"dense(cts.pop({self.names[p]}, None))", old)
        code = flat.code_of_sum(old.dtype)
        if code is None:
            raise Unsuitable
        made = run.made(old + new.array)
        words = array("q", [old.size, flat.CHUNK])
        chunks, shared = -(-old.size // flat.CHUNK), old.size >= flat.SHARED
        call = Call(code, (old, new.array, made.array), 1, words, chunks, shared)
        run.calls.append((call, [place.at, new.at, made.at]))
        return made

    def _wait(self) -> None:
        """Write out the nodes in a row that pull as ever."""
        if self.waiting:
            self.pulls.append(f"pull_each(({', '.join(self.waiting)},), cts, True)")
            self.waiting = []

    def _close(self) -> None:
        """End a native run: what it has made for others is put where they look for it."""
        run, self.run = self.run, None
        if run is None:
            return
        name, results = f"run{self.runs}", list(self.places.values())
        self.runs += 1
        self.scope[name] = run.function(results)
        targets = "".join(f"cts[{self.names[p]}], " for p in self.places)
        self.pulls += [
            f"found = {name}({', '.join(run.arguments)})",
            "if found is NotImplemented:",
            "    return None",
            f"{targets}= found",
        ]
        self.places = {}

    # ---------------------------------------------------------------------------------- text

    def _pull(self) -> list[str]:
        every = ", ".join(self.names.values())
        leaves = ", ".join(f"dense(cts[{self.names[leaf]}])" for leaf in self.leaves)
        lines = [f"{every}, = nodes", f"cts = {{{self.names[self.order[0]]}: g}}", *self.pulls]
        return [
            "def pull(nodes, g):",
            *(f"    {line}" for line in lines),
            "    try:",
            f"        return [{leaves}]",
            "    except KeyError:",
            "        return None",
        ]

    def _release(self) -> list[str]:
        lines = [f"    {', '.join(self.names.values())}, = nodes"]
        for node in self.order:
            name = self.names[node]
            if not node.keeps:
                continue
            if node.hot:
                lines.append(f"    {name}.saved, {name}.origins, {name}.inner = FREED, (), None")
            else:
                lines.append(f"    {name}.release()")
        return ["def release(nodes):", *lines]

    def _walk(self) -> list[str]:
        """Each node has to be what it was, with the same ones below, and in the same order."""
        seen = {self.order[0]}
        lines: list[str] = []
        for node in self.order:
            self._walk_node(node, lines, seen)
        ages = " > ".join(f"{self.names[node]}.seq" for node in self.order)
        lines.append(f"if not ({ages} >= writes.latest):")
        lines.append("    return None")
        leaves = [self.names[leaf] for leaf in self.leaves]
        for name in leaves:
            lines.append(f"if type({name}) is not AccumulateGrad or {name}.extra is not None:")
            lines.append("    return None")
        lines.append(f"if len({{{', '.join(leaves)}}}) < {len(leaves)}:")
        lines.append("    return None")
        lines.append(f"return {', '.join(self.names.values())},")
        return [
            "def walk(n0):",
            "    try:",
            *(f"        {line}" for line in lines),
            "    except ValueError:",
            "        return None",
        ]

    def _walk_node(self, node: Any, lines: list[str], seen: set[Any]) -> None:
        name, conditions = self.names[node], []
        k = name[1:]
        self.scope[f"K{k}"] = type(node)
        conditions.append(f"type({name}) is not K{k}")
        if not node.hot:
            conditions.append(f"{name}.extra is not None")
        if type(node) is Pick:
            conditions.append(f"{name}.params['index'] != {node.params['index']}")
        elif _is_own(node, "prim"):
            self.scope[f"P{k}"] = node.prim
            conditions.append(f"{name}.prim is not P{k}")
        if node.keeps:
            conditions.append(f"{name}.saved is FREED")
        if node in self.native:
            for field, letter in (("avals", "A"), ("params", "Q")):
                if _is_own(node, field):
                    known = self.scope[f"{letter}{k}"] = getattr(node, field)
                    conditions.append(
                        f"{name}.{field} is not {letter}{k} and "
                        f"not alike({name}.{field}, {letter}{k})"
                    )
                    assert known is not None or field == "avals"
        for condition in conditions:
            lines += [f"if {condition}:", "    return None"]
        targets = []
        after = []
        for number, p in enumerate(node.parents):
            if p is None or p in seen:
                targets.append(f"p{number}")
                after.append(f"p{number} is not {'None' if p is None else self.names[p]}")
            else:
                seen.add(p)
                targets.append(self.names[p])
        if targets:
            lines.append(f"{', '.join(targets)}, = {name}.parents")
        for condition in after:
            lines += [f"if {condition}:", "    return None"]


def _may_be_native(node: Any) -> bool:
    """Whether all that happens when a node pulls may be calls that are noted, or views."""
    prim, saved = node.prim, node.saved
    if prim is None or type(node) is Pick or hasattr(node, "outputs") or prim.opaque:
        return False
    if saved is not None and (
        type(saved) is not tuple or any(x is not None and type(x) is not ndarray for x in saved)
    ):
        return False
    if not (prim in NATIVE or prim.hands_on or flat.suits(prim)):
        return False
    return not _is_own(node, "params") or _is_plain(node.params)


NATIVE = (SOFTMAX, LOG_SOFTMAX, MATMUL, ADDMM)  # the code of their rules is noted


def _is_own(node: Any, name: str) -> bool:
    """Whether a node has a field of its own, not that of its class."""
    return type(inspect.getattr_static(type(node), name)) is MemberDescriptorType


def _is_plain(x: Any) -> bool:
    """Whether parameters can be compared."""
    if type(x) is dict:
        return all(map(_is_plain, x.values()))
    if type(x) in (tuple, list):
        return all(map(_is_plain, x))
    return isinstance(x, PLAIN)


def _alike(x: Any, y: Any) -> bool:
    """Whether parameters, or types of operands, are the same: 1 is neither True nor 1.0."""
    return bool(x == y) and repr(x) == repr(y)


def _may_add(x: Any) -> bool:
    return (
        type(x) is ndarray
        and x.dtype in flat.FLOATS
        and x.size > 0
        and bool(x.flags.c_contiguous)
        and x.ndim > 0
    )
