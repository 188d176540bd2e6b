"""Schedulers made of others: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from funcgrad.torch.optim.optimizer import Optimizer
from funcgrad.torch.optim.plateau import ReduceLROnPlateau
from funcgrad.torch.optim.scheduler import LRScheduler, set_rate, setting_of

__all__ = ["ChainedScheduler", "SequentialLR", "family"]


class Combined(LRScheduler):
    """What both share: the parts have one optimizer, and their states are in that of the whole."""

    _schedulers: Sequence[LRScheduler]

    def _check(self, optimizer: Any, schedulers: Sequence[Any]) -> None:
        name = type(self).__name__
        for i, one in enumerate(schedulers):
            if not hasattr(one, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(one, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires "
                    "additional kwargs to be specified when calling `step`, but got one at index "
                    f"{i} in the given schedulers sequence."
                )
            if optimizer != one.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got "
                    f"scheduler {type(one).__name__} at index {i} has {one.optimizer}, which is "
                    f"different from {type(optimizer).__name__}."
                )

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; of the parts their states."""
        found = super().state_dict()
        found["_schedulers"] = [one.state_dict() for one in self._schedulers]
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that `state_dict` has given."""
        state = dict(state_dict)
        for one, part in zip(self._schedulers, state.pop("_schedulers"), strict=True):
            one.load_state_dict(part)
        self.__dict__.update(state)


def family(scheduler: Any) -> Iterator[Any]:
    """A scheduler, and of a combination all that it is made of."""
    yield scheduler
    for one in getattr(scheduler, "_schedulers", ()):
        yield from family(one)


class SequentialLR(Combined):
    """One scheduler after the other: the next begins at each of the milestones.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> from funcgrad.torch.optim.lr_scheduler import ConstantLR, ExponentialLR, SequentialLR
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> warm_up = ConstantLR(optimizer, factor=0.25, total_iters=2)
    >>> after = ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = SequentialLR(optimizer, [warm_up, after], milestones=[2])
    >>> rates = []
    >>> for step in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.25, 0.25, 1.0, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        if not schedulers:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler, but got no scheduler."
            )
        self._check(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                f"the number of milestone points, but got number of schedulers {len(schedulers)} "
                f"and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        self._rewind()
        first = schedulers[bisect_right(milestones, 0)]
        first.begin()
        self._last_lr = first.get_last_lr()

    def _rewind(self) -> None:
        """Take back what the schedulers did when they were made."""
        for group in self.optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        for one in family(self):
            if not hasattr(one, "_schedulers"):
                one.last_epoch -= 1

    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch."""
        self.last_epoch += 1
        which = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[which]
        if which > 0 and self._milestones[which - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(Combined):
    """Several schedulers at once: each changes the rates that the one before has set."""

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if not schedulers:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no "
                "scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        self._check(optimizer, schedulers)
        self._schedulers, self.optimizer = schedulers, optimizer
        self._last_lr = setting_of(optimizer, "lr")

    def step(self, epoch: int | None = None) -> None:
        """Step all of them."""
        for one in self._schedulers:
            one.step()
        self._last_lr = setting_of(self.optimizer, "lr")
