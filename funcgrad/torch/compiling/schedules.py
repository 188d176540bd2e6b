"""Schedules of learning rates in a compiled step: they run in Python, and their rates go in.

What `scheduler.step()` does follows from numbers that Python has (the epoch, functions of the
user), so each call of the program does it as eager code would, and no count of epochs is a constant
of the program. While the step is traced a scheduler only notes that it steps and gives the groups
rates without value; whoever asks it for anything else is refused, since a trace would keep what it
is told.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from funcgrad.torch.optim.combined import SequentialLR, family
from funcgrad.torch.optim.optimizer import Optimizer
from funcgrad.torch.optim.restarts import CosineAnnealingWarmRestarts
from funcgrad.torch.optim.scheduler import LRScheduler
from funcgrad.torch.staged import Number, StepStage

if TYPE_CHECKING:
    from funcgrad.torch.compiling.captures import Reached

__all__ = ["RATE", "Moment", "Schedules", "Undo", "is_schedule", "runs_in_python"]

RATE = "lr"  # the setting of optimizers that schedules change: a number that goes in
STEPS = (LRScheduler.step, CosineAnnealingWarmRestarts.step, SequentialLR.step)
Group = dict[str, Any]
Moment = tuple[int, int]  # after how many steps of schedulers, and of which group


def is_schedule(x: Any) -> bool:
    """Whether `x` is a scheduler whose `step` changes nothing but itself and rates."""
    return (
        isinstance(x, LRScheduler)
        and type(x).step in STEPS
        and all(map(is_schedule, getattr(x, "_schedulers", ())))
        and "step" not in x.__dict__
        and isinstance(getattr(x, "optimizer", None), Optimizer)
        and all(type(group.get(RATE)) in (float, int) for group in x.optimizer.param_groups)
    )


def runs_in_python(inner: Reached, outer: Reached) -> bool:
    """Whether a scheduler with `inner` in it depends on no tensor, and shares nothing that changes.

    `outer` is what else the step can reach.
    """
    if inner.tensors or inner.containers() & outer.containers():
        return False
    functions = [x for _, x in inner.seen.values() if isinstance(x, types.FunctionType)]
    return not any(
        _stores(f.__code__) for f in functions if not inner.library(f.__globals__.get("__name__"))
    )


@functools.lru_cache(4096)
def _stores(code: types.CodeType) -> bool:
    """Whether some code sets variables outside itself."""
    outer = set(code.co_freevars)
    return any(
        i.opname == "STORE_GLOBAL" or (i.opname == "STORE_DEREF" and i.argval in outer)
        for i in dis.get_instructions(code)
    )


class Schedules:
    """The learning rates of a step that is traced, and the steps of its schedulers."""

    def __init__(self, stage: StepStage, groups: Sequence[Group], known: Sequence[Any]) -> None:
        self.stage, self.groups, self.known = stage, groups, list(known)
        self.places = {id(group): k for k, group in enumerate(groups)}
        self.steps: list[int] = []  # which scheduler
        self.moments: list[Moment] = [(0, k) for k in range(len(groups))]
        self.numbers: list[Number] = [stage.number() for _ in groups]  # one for each moment
        self.present = list(self.numbers)
        self.last: dict[int, list[Any]] = {}
        self.after: list[Any] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let groups have rates without value, and schedulers note what they do."""
        before = [group[RATE] for group in self.groups]
        kinds = [type(x) for x in self.known]
        try:
            for group, number in zip(self.groups, self.numbers, strict=True):
                group[RATE] = number
            for x, kind in zip(self.known, kinds, strict=True):
                x.__class__ = _watched(kind, self)
            yield
        finally:
            for x, kind in zip(self.known, kinds, strict=True):
                object.__setattr__(x, "__class__", kind)
            self.after = [group.get(RATE) for group in self.groups]
            for group, rate in zip(self.groups, before, strict=True):
                group[RATE] = rate

    def step(self, x: Any) -> None:
        """Note that the scheduler `x` steps."""
        groups = object.__getattribute__(x, "optimizer").param_groups
        which = [self.places[id(group)] for group in groups]
        if any(self.groups[k][RATE] is not self.present[k] for k in which):
            self.refuse("the call sets a learning rate and then steps its schedule")
        place = next(k for k, y in enumerate(self.known) if y is x)
        self.steps.append(place)
        for k in which:
            number = self.groups[k][RATE] = self.present[k] = self.stage.number()
            self.moments.append((len(self.steps), k))
            self.numbers.append(number)
        self.last[place] = [self.present[k] for k in which]

    def rates(self, x: Any) -> list[Any]:
        """The rates that the scheduler `x` has set in this call."""
        place = next(k for k, y in enumerate(self.known) if y is x)
        if place not in self.last:
            self.refuse("the call asks a schedule for its rates before it steps")
        return list(self.last[place])

    def refuse(self, what: str) -> NoReturn:
        raise RuntimeError(self.stage.refuse(what))

    def set_rates(self) -> list[tuple[int, Any]]:
        """The groups whose rate the step has set itself, and what it is then."""
        ends = zip(self.after, self.present, strict=True)
        return [(k, rate) for k, (rate, known) in enumerate(ends) if rate is not known]


def _watched(kind: Any, schedules: Schedules) -> Any:
    """A class for a scheduler while a step that uses it is traced."""

    def get(self: Any, name: str) -> Any:
        if name == "step":
            return functools.partial(_step, schedules, self)
        if name == "get_last_lr":
            return functools.partial(schedules.rates, self)
        if name in ("optimizer", "__class__"):
            return object.__getattribute__(self, name)
        return schedules.refuse(f"the call asks a schedule of learning rates for {name}")

    def put(self: Any, name: str, value: Any) -> None:
        schedules.refuse(f"the call sets {name} of a schedule of learning rates")

    return type(kind.__name__, (kind,), {"__getattribute__": get, "__setattr__": put})


def _step(schedules: Schedules, x: Any, epoch: Any = None) -> None:
    if epoch is not None:
        schedules.refuse("the call gives a schedule of learning rates the epoch")
    schedules.step(x)


class Undo:
    """Schedulers and rates as they are now."""

    def __init__(self, schedulers: Sequence[Any], groups: Sequence[Group]) -> None:
        all_ = [y for x in schedulers for y in family(x)]
        self.schedulers = [(x, dict(x.__dict__)) for x in all_]
        self.groups = [(group, group[RATE]) for group in groups]

    def __call__(self) -> None:
        for x, held in self.schedulers:
            x.__dict__.clear()
            x.__dict__.update(held)
        for group, rate in self.groups:
            group[RATE] = rate
