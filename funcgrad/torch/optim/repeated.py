"""Steps that come again: the same parameters, state and rule, with new gradients and numbers.

A step looks at each parameter and array of state before it changes them. Those of the step before
are most often the same objects, and then all that was found out about them still holds: what is
left is to put the gradients and the numbers into the table of the native code. Whatever is new
(a parameter without a gradient, other memory, a state that was loaded) takes the general way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.kernels import updates
from funcgrad.kernels.many import Table
from funcgrad.kernels.updates import owner_of
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nodes import AccumulateGrad
from funcgrad.torch.root import RootTracer
from funcgrad.torch.versions import writes
from funcgrad.transforms.node import seq

__all__ = ["Repeated", "Rule"]

ndarray = np.ndarray
FIT, CHANGED = 0x101, 0x501  # flags of NumPy: in C order without gaps, aligned; and writeable
NOTHING: dict[str, Any] = {}
ATTEMPTS = 16  # to prepare a step; who has new parameters or memory at each one, goes without


class Rule(NamedTuple):
    """What a step does with each parameter of a group.

    Attributes
    ----------
    name : str
        Of a rule of `kernels.update_rules`.
    state : tuple of str
        The names of the tensors of state that it changes, in its order.
    numbers : callable
        What it is given besides (see `Move`), by the number of the step.
    versions : int
        How many of PyTorch's operations change the parameter.
    counts : bool
        Whether the state has a number of steps.
    """

    name: str
    state: tuple[str, ...]
    numbers: Callable[[Any], tuple[Any, ...]]
    versions: int = 1
    counts: bool = True


class Row(NamedTuple):
    """A parameter that was changed before, and what stays while it is the same."""

    parameter: Tensor
    array: Any  # None where it had no gradient
    kind: Any = None
    state: tuple[tuple[str, Any], ...] = ()  # by name, the arrays
    count: Any = None  # the array of the number of steps


class Repeated:
    """The steps of one group of parameters."""

    __slots__ = ("attempts", "entry", "group", "rows", "rule", "table")

    def __init__(self, group: dict[str, Any]) -> None:
        self.group, self.attempts = group, 0
        self.rows: list[Row] = []
        self.rule: tuple[str, tuple[str, ...]] | None = None
        self.table: Table | None = None
        self.entry: Any = None

    def step(self, rule: Rule, states: Any) -> bool:
        """Take the step, if it is like the one before; else nothing has been changed."""
        params, rows, table = self.group["params"], self.rows, self.table
        if table is None or len(params) != len(rows) or self.rule != rule[:2]:
            return False
        gradients, versions = [], []
        done = None
        for p, (parameter, array, kind, kept, count) in zip(params, rows, strict=True):
            t = p._t
            if p is not parameter or type(t) is not RootTracer:
                return False
            if type(t.node) is not AccumulateGrad:
                return False
            gradient = t.node.grad
            if gradient is None or array is None:
                if gradient is not array:
                    return False
                continue
            found = gradient._t
            if t.value is not array or type(found) is not RootTracer or found.kind is not kind:
                return False
            g = found.value
            if g.flags.num & FIT != FIT or owner_of(g) is owner_of(array):
                return False
            state = states.get(p, NOTHING) if kept else NOTHING
            for name, known in kept:
                x = state.get(name)
                if type(x) is not Tensor or x._t.value is not known:
                    return False
            if count is not None:
                so_far = float(count)
                if so_far != done and done is not None:
                    return False
                done = so_far
            gradients.append(g)
            versions.append(t.version)
        step = 0.0 if done is None else done + 1
        numbers = rule.numbers(step)
        if not gradients or not table.fits(numbers):
            return False
        self._change(step, numbers, gradients, versions, rule.versions)
        return True

    def _change(
        self,
        step: float,
        numbers: Sequence[Any],
        gradients: list[Any],
        versions: list[Any],
        times: int,
    ) -> None:
        for version in versions:
            if version.keepers is not None:
                version.before_write()
            version.so_far += times
        writes.latest = next(seq)
        for row in self.rows:
            count = row.count
            if count is not None:
                count[()] = step
        self.entry.calls += len(gradients)
        self.table.run(numbers, gradients)  # type: ignore[union-attr]

    def prepare(self, rule: Rule, states: Any) -> None:
        """Note how a step, which has just been taken in the general way, can be taken again."""
        self.table = None
        if self.attempts == ATTEMPTS:
            return
        rows = [_row(p, rule, states) for p in self.group["params"]]
        known = [row for row in rows if row is not None]
        changed = [row for row in known if row.array is not None]
        kept = len(rule.state)
        arrays = [(r.array, r.array, *(x for _, x in r.state[:kept])) for r in changed]
        if len(known) < len(rows) or len({x.dtype for row in arrays for x in row}) != 1:
            self.attempts += 1
            return
        counts = {id(r.count) for r in changed} if rule.counts else changed
        if len({id(r.parameter) for r in known}) < len(known) or len(counts) < len(changed):
            self.attempts += 1
            return
        numbers = rule.numbers(1.0)
        found = updates.code_for(rule.name, arrays[0], numbers)
        if found is not None:  # it may be built in another process
            self.attempts += 1
            self.entry, code = found
            self.rows, self.rule = known, rule[:2]
            self.table = Table(code, arrays, numbers)


def _row(p: Tensor, rule: Rule, states: Any) -> Row | None:
    """A parameter with its state; None if its steps are not alike enough."""
    t, state = p._t, states.get(p, NOTHING)
    if type(t) is not RootTracer or type(t.node) is not AccumulateGrad:
        return None
    if t.node.grad is None:
        return Row(p, None)
    if t.kind is None or not _may_change(t.value):
        return None
    kept = []
    for name in rule.state:
        x = state.get(name)
        if type(x) is not Tensor or type(x._t) is not RootTracer or x._t.kind is not t.kind:
            return None
        if not _may_change(x._t.value):
            return None
        kept.append((name, x._t.value))
    count = None
    if rule.counts:
        x = state.get("step")
        count = x._t.value if type(x) is Tensor and type(x._t) is RootTracer else None
        if type(count) is not ndarray or count.ndim or count.dtype.kind != "f":
            return None
        kept.append(("step", count))
    return Row(p, t.value, t.kind, tuple(kept), count)


def _may_change(x: Any) -> bool:
    return type(x) is ndarray and x.ndim > 0 and x.flags.num & CHANGED == CHANGED
