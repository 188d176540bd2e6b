"""Rates that go up and down, and momenta that go against them: CyclicLR and OneCycleLR."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.optim.optimizer import Optimizer
from funcgrad.torch.optim.scheduler import LRScheduler, check_optimizer, set_rate

__all__ = ["ANNEALED", "CyclicLR", "OneCycleLR", "for_each_group"]


def for_each_group(name: str, optimizer: Optimizer, given: Any) -> list[Any]:
    """A setting for each group: one for all of them, or a list of as many."""
    count = len(optimizer.param_groups)
    found = given if isinstance(given, (list, tuple)) else [given] * count
    if len(found) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(found)} "
            f"values, param_groups has {count}."
        )
    return [x.clone() if isinstance(x, Tensor) else x for x in found]


class CyclesMomentum(LRScheduler):
    """What both have in common: the momentum, or the first of `betas`, is set with the rate."""

    cycle_momentum: bool

    def _begin_momentum(self, low: Any, high: Any, last_epoch: int) -> tuple[list[Any], list[Any]]:
        optimizer = self.optimizer
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            )
        self.use_beta1 = "betas" in optimizer.defaults
        lows = for_each_group("base_momentum", optimizer, low)
        highs = for_each_group("max_momentum", optimizer, high)
        if last_epoch == -1:
            for group, least, largest in zip(optimizer.param_groups, lows, highs, strict=True):
                self._set_momentum(group, largest)
                group["max_momentum"], group["base_momentum"] = largest, least
        return lows, highs

    def _set_momentum(self, group: dict[str, Any], value: Any) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


# how high the n-th cycle (or, of exp_range, the n-th step) goes, of 1
HEIGHTS: dict[str, Callable[[float, float], float]] = {
    "triangular": lambda gamma, n: 1.0,
    "triangular2": lambda gamma, n: 1 / (2.0 ** (n - 1)),
    "exp_range": lambda gamma, n: gamma**n,
}


class CyclicLR(CyclesMomentum):
    """The rate between two bounds, up and down in a straight line (Smith 2017).

    Parameters
    ----------
    optimizer : Optimizer
    base_lr, max_lr : float or list of float
        The bounds.
    step_size_up, step_size_down : int, optional
        How many steps up, and down (as many as up).
    mode : {"triangular", "triangular2", "exp_range"}, optional
        Every cycle as high; each half as high as the last; each step times `gamma`.
    gamma : float, optional
    scale_fn, scale_mode : callable, {"cycle", "iterations"}, optional
        A height of one's own, of the number of the cycle or of the step.
    cycle_momentum : bool, optional
        Whether the momentum goes against the rate, between `base_momentum` and `max_momentum`.
    last_epoch : int, optional

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, 1.0, 3.0, step_size_up=2)
    >>> rates = []
    >>> for step in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 2.0, 3.0, 2.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        lows = for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for low, group in zip(lows, optimizer.param_groups, strict=True):
                set_rate(group, low)
        self.max_lrs = for_each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in HEIGHTS and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            found = self._begin_momentum(base_momentum, max_momentum, last_epoch)
            self.base_momentums, self.max_momentums = found
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def scale_fn(self, x: float) -> float:
        """How high the cycle, or the step, of this number goes."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return HEIGHTS[self.mode](self.gamma, x)

    def get_lr(self) -> list[Any]:
        """The rates of the groups for `last_epoch`; sets the momenta."""
        self._warn_outside()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        rises = x <= self.step_ratio
        factor = x / self.step_ratio if rises else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            groups, lows, highs = (
                self.optimizer.param_groups, self.base_momentums, self.max_momentums,
            )  # fmt: skip
            for group, low, high in zip(groups, lows, highs, strict=True):
                self._set_momentum(group, high - (high - low) * factor * scale)
        bounds = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * factor * scale for low, high in bounds]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and a plain function; of a callable object its state."""
        found, own = super().state_dict(), self._scale_fn_custom
        plain = own is None or isinstance(own, types.FunctionType)
        found["_scale_fn_custom"] = None if plain else own.__dict__.copy()
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state; a function stays as it is."""
        state = dict(state_dict)
        own = state.pop("_scale_fn_custom")
        super().load_state_dict(state)
        if own is not None:
            self._scale_fn_custom.__dict__.update(own)


def _along_cosine(start: Any, end: Any, done: float) -> Any:
    return end + (start - end) / 2.0 * (math.cos(math.pi * done) + 1)


def _along_line(start: Any, end: Any, done: float) -> Any:
    return (end - start) * done + start


ANNEALED: dict[str, Callable[[Any, Any, float], Any]] = {
    "cos": _along_cosine,
    "linear": _along_line,
}
RISE = ("initial_lr", "max_lr", "max_momentum", "base_momentum")
FALL = ("max_lr", "initial_lr", "base_momentum", "max_momentum")
FALL_FAR = ("max_lr", "min_lr", "base_momentum", "max_momentum")
END = ("initial_lr", "min_lr", "max_momentum", "max_momentum")


def _total_steps(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    given = {"total_steps": total_steps}
    if total_steps is None:
        if epochs is None or steps_per_epoch is None:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(given.values())


class OneCycleLR(CyclesMomentum):
    """The rate up to a maximum and far down again, in one cycle over the training (Smith 2018).

    Parameters
    ----------
    optimizer : Optimizer
    max_lr : float or list of float
    total_steps : int, optional
        How often `step` is called; or give `epochs` and `steps_per_epoch`.
    pct_start : float, optional
        Which part of the steps goes up.
    anneal_strategy : {"cos", "linear"}, optional
    cycle_momentum : bool, optional
        Whether the momentum goes against the rate, between `base_momentum` and `max_momentum`.
    div_factor, final_div_factor : float, optional
        The first rate is `max_lr / div_factor`, the last one that divided by `final_div_factor`.
    three_phase : bool, optional
        Whether to come down as steeply as one went up, and then further.
    last_epoch : int, optional

    Raises
    ------
    ValueError
        A step too many.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ANNEALED:
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        top, last = float(pct_start * self.total_steps) - 1, self.total_steps - 1
        middle = float(2 * pct_start * self.total_steps) - 2
        self._phases: Sequence[tuple[float, tuple[str, ...]]] = (
            [(top, RISE), (middle, FALL), (last, END)]
            if three_phase
            else [(top, RISE), (last, FALL_FAR)]
        )
        highest = for_each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, highest, strict=True):
                group["initial_lr"], group["max_lr"] = high / div_factor, high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _place(self) -> tuple[float, tuple[str, ...]]:
        """How much of its phase the present step has behind it, and the phase."""
        start = 0.0
        for end, names in self._phases:
            if self.last_epoch <= end or end == self._phases[-1][0]:
                return (self.last_epoch - start) / (end - start), names
            start = end
        raise AssertionError("unreachable")

    def get_lr(self) -> list[Any]:
        """The rates of the groups for `last_epoch`; sets the momenta."""
        self._warn_outside()
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        done, (start, end, first, last) = self._place()
        between = ANNEALED[self._anneal_func_type]
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            for group in groups:
                self._set_momentum(group, between(group[first], group[last], done))
        return [between(group[start], group[end], done) for group in groups]
