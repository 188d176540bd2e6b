"""Where the values of a plan lie: in one block of memory that they share, in fresh arrays that are
handed out, or in arguments that were donated.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from typing import Any

from funcgrad.compile.kernel_calls import Call, Memory, bytes_of
from funcgrad.compile.loops import Accumulate, Address, For, Load, Store
from funcgrad.compile.lower import Lowered
from funcgrad.graph.ir import Equation, Var
from funcgrad.ops import records
from funcgrad.passes.buffers import Lifetime, place
from funcgrad.passes.plan import Plan
from funcgrad.passes.region import Region

__all__ = ["Places", "is_spread", "takes_out"]


def takes_out(e: Equation) -> bool:
    """Whether NumPy can write the result of an equation into memory that is given to it."""
    if e.prim is records.PLACE:
        return e.outputs[0].type.shape != ()
    if e.prim not in (records.MATMUL, records.DOT, records.CONCATENATE):
        return False
    out = e.outputs[0].type
    return out.ndim > 0 and out.size > 0 and all(a.type.dtype == out.dtype for a in e.inputs)


def is_spread(strides: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether elements of a view share memory."""
    return any(s == 0 and n > 1 for s, n in zip(strides, shape, strict=True))


class Places:
    """The memory of a plan whose kernels are `lowered`, and called as `calls` says.

    Attributes
    ----------
    handed_out : set of Var
        What needs memory of its own in every call, because results show it.
    reused : dict
        Of the former those that are written into the memory of a donated input.
    offsets, total
        Where in the block all else begins that calls are given; its size.
    """

    def __init__(
        self,
        plan: Plan,
        lowered: dict[int, Lowered],
        calls: dict[int, list[Call]],
        donated: Collection[Var],
    ) -> None:
        self.plan, self.lowered, self.calls = plan, lowered, calls
        self.inputs = set(plan.graph.inputs)
        self.handed_out = self._handed_out()
        self.reused = self._reused([v for v in plan.graph.inputs if v in donated])
        self.offsets, self.total = self._share()

    def _shown(self) -> Iterator[tuple[int, Var, Any]]:
        """The outputs that show memory: their numbers and views."""
        for k, o in enumerate(self.plan.graph.outputs):
            if isinstance(o, Var) and o not in self.plan.uniform:
                yield k, o, self.plan.views[o]

    def _handed_out(self) -> set[Var]:
        found = set()
        for _, _, view in self._shown():
            if not is_spread(view.strides, view.shape) and view.base.type.shape:  # else copied
                found.add(view.base)
        return found - self.inputs - {v for v, _ in self.plan.graph.constants}

    @property
    def shared(self) -> tuple[int, ...]:
        """The outputs that are inputs, or show the memory of an earlier output."""
        seen = set(self.inputs)
        found = []
        for k, o, view in self._shown():
            if o.type.shape:
                if view.base in seen and (o in seen or view.base not in self.inputs):
                    found.append(k)
                seen.add(view.base)
        return tuple(found)

    def memory(self, step: Region | Equation) -> list[Memory]:
        """What a step finds in memory, or leaves there."""
        calls = self.calls.get(id(step))
        if calls is not None:
            return [m for each in calls for m in each.memory]
        assert isinstance(step, Equation)
        used = (a for a in step.inputs if isinstance(a, Var) and a not in self.plan.uniform)
        return [self.plan.views[a].base for a in used]

    def writes(self, step: Region | Equation) -> list[Var]:
        if isinstance(step, Region):
            return [v for e in step.equations for v in e.outputs if v in self.plan.escaping]
        return list(step.outputs) if id(step) in self.lowered or takes_out(step) else []

    def _share(self) -> tuple[dict[Memory, int], int]:
        """Where in the block all intermediate memory begins, and its size."""
        born: dict[Memory, int] = {}
        dies: dict[Memory, int] = {}
        for k, step in enumerate(self.plan.steps):
            for v in self.writes(step):
                if v not in self.handed_out:
                    born[v] = k
            for m in self.memory(step):
                if not isinstance(m, Var):
                    born[m] = k
                dies[m] = k
        for _, _, view in self._shown():
            dies[view.base] = len(self.plan.steps)
        lives = [Lifetime(bytes_of(m), k, dies.get(m, k)) for m, k in born.items()]
        offsets, total = place(lives)
        return dict(zip(born, offsets, strict=True)), total

    # ----------------------------------------------------------------------------- donation

    def _reused(self, donated: Sequence[Var]) -> dict[Var, Var]:
        """Results that can be written into donated inputs: these are read for the last time before.

        An index that turns out to be out of bounds has the graph run once more, on inputs that
        must then be what they were.
        """
        if not donated or any(low.kernel.requires for low in self.lowered.values()):
            return {}
        found: dict[Var, Var] = {}
        shown = [o for _, o, view in self._shown() if view.base is o and o in self.handed_out]
        kept = {view.base for _, _, view in self._shown()}
        for v in donated:
            for o in shown:
                if o not in found and v not in kept and self._fits(v, o):
                    found[o] = v
                    break
        return found

    def _fits(self, v: Var, o: Var) -> bool:
        if v.type.shape != o.type.shape or v.type.dtype != o.type.dtype or not v.type.shape:
            return False
        steps = self.plan.steps
        last = max((k for k, step in enumerate(steps) if v in self.memory(step)), default=-1)
        written = [k for k, step in enumerate(steps) if o in self.writes(step)]
        if len(written) != 1 or last > written[0]:
            return False
        step = steps[last]
        return last < written[0] or (
            isinstance(step, Region) and _element_by_element(self.lowered[id(step)], v, o)
        )


def _element_by_element(low: Lowered, v: Var, o: Var) -> bool:
    """Whether a kernel reads an element of `v` only before it writes the same element of `o`."""
    if any(a.var is v or a.var is o for a in (low.end.arguments if low.end else ())):
        return False
    sources = {a.name for a in low.main.arguments if a.var is v}
    targets = {a.name for a in low.main.arguments if a.var is o}
    bodies = [body for body in _bodies(low.kernel.body) if _touches(body, sources | targets)]
    if len(bodies) != 1:
        return False
    sizes = dict(zip(low.kernel.integers, low.main.integers, strict=True))
    written = False
    places = set()
    for s in bodies[0]:
        if isinstance(s, Load) and s.address.buffer in sources:
            if written:
                return False
            places.add(_element(s.address, sizes))
        elif isinstance(s, (Store, Accumulate)) and s.address.buffer in targets:
            if isinstance(s, Accumulate):
                return False
            written = True
            places.add(_element(s.address, sizes))
    return len(places) == 1


def _element(at: Address, sizes: dict[str, int]) -> Hashable:
    """Which element an address is, with the strides of the shapes at hand."""
    return tuple((i, sizes.get(str(s), s)) for i, s in at.terms), sizes.get(
        str(at.offset), at.offset
    )


def _bodies(body: Sequence[Any]) -> Iterator[Sequence[Any]]:
    yield body
    for s in body:
        if isinstance(s, For):
            yield from _bodies(s.body)


def _touches(body: Sequence[Any], buffers: set[str]) -> bool:
    return any(
        isinstance(s, (Load, Store, Accumulate)) and s.address.buffer in buffers for s in body
    )
