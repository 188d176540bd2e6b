"""What a schedule of learning rates is: it sets the rates at once and at each `step`.

The rates follow from the ones before, as PyTorch computes them, so that they agree bit by bit and
schedulers can be chained.
"""

from __future__ import annotations

import functools
import warnings
import weakref
from typing import Any

from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.optim.optimizer import Optimizer

__all__ = ["EPOCH", "LRScheduler", "check_optimizer", "set_rate", "setting_of"]

ORDER = "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
EPOCH = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)


def setting_of(optimizer: Optimizer, name: str) -> list[Any]:
    """A setting of all groups; what is a tensor is copied."""
    found = [group[name] for group in optimizer.param_groups]
    return [x.clone() if isinstance(x, Tensor) else x for x in found]


def set_rate(group: dict[str, Any], value: Any) -> None:
    """Change the rate of a group, in its tensor if it is one."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(float(value))
    else:
        group["lr"] = value


class LRScheduler:
    """The base class of schedulers: a subclass gives the rates of the groups by `get_lr`.

    Parameters
    ----------
    optimizer : Optimizer
    last_epoch : int, optional
        The epoch from which to go on; -1 to begin.
    """

    _is_initial = False
    _get_lr_called_within_step = False
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for k, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                first = group["lr"]
                group.setdefault(
                    "initial_lr", first.clone() if isinstance(first, Tensor) else first
                )
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{k}] when resuming "
                    "scheduler with last_epoch >= 0.\nThis typically happens when:\n1. You're "
                    "trying to resume training from a checkpoint but haven't properly loaded the "
                    "optimizer state\n2. You're using last_epoch >= 0 for a fresh training run "
                    "(not recommended)"
                )
        self.base_lrs = setting_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch(optimizer)
        self.begin()

    def begin(self) -> None:
        """Set the first rates."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> list[Any]:
        """The rates of the groups for `last_epoch`, computed from the present ones."""
        raise NotImplementedError

    def get_last_lr(self) -> list[Any]:
        """The rates that were set last."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch; to be called after the optimizer's `step`."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH, UserWarning, stacklevel=outside())
        self._update_lr(epoch)

    def _check_order(self) -> None:
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before "
                f"`lr_scheduler.step()`. See more details at {ORDER}",
                UserWarning,
                stacklevel=outside(),
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch "
                "1.1.0 and later, you should call them in the opposite order: `optimizer.step()` "
                "before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping "
                f"the first value of the learning rate schedule. See more details at {ORDER}",
                UserWarning,
                stacklevel=outside(),
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            closed = getattr(self, "_get_closed_form_lr", None)
            values = self.get_lr() if epoch is None or closed is None else closed()
        finally:
            self._get_lr_called_within_step = False
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            set_rate(group, value)
        self._last_lr = setting_of(self.optimizer, "lr")

    def _warn_outside(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`.",
                UserWarning,
                stacklevel=outside(),
            )

    def _rates(self) -> list[Any]:
        return setting_of(self.optimizer, "lr")

    def _scaled(self, factor: float) -> list[Any]:
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that `state_dict` has given."""
        self.__dict__.update(state_dict)


_LRScheduler = LRScheduler


def check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _watch(optimizer: Any) -> None:
    """Let the optimizer remember that its `step` has been called."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    function, reference = optimizer.step.__func__, weakref.ref(optimizer)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        own: Any = reference()
        own._opt_called = True
        return function(own, *args, **kwargs)

    wrapper._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = wrapper
