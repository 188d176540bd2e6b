"""A cosine that begins anew: CosineAnnealingWarmRestarts."""

from __future__ import annotations

import math
from typing import Any

from funcgrad.torch.optim.optimizer import Optimizer
from funcgrad.torch.optim.scheduler import LRScheduler, set_rate, setting_of

__all__ = ["CosineAnnealingWarmRestarts"]


class CosineAnnealingWarmRestarts(LRScheduler):
    """The rate along half a cosine down to `eta_min`, then again from the first (Loshchilov 2017).

    Parameters
    ----------
    optimizer : Optimizer
    T_0 : int
        How many epochs until the first restart.
    T_mult : int, optional
        By how much each period is longer than the one before.
    eta_min : float, optional
        The lowest rate.
    last_epoch : int, optional

    `step` may be given an epoch, whole or not.
    """

    T_cur: float
    T_i: float

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the groups for the present place in the period."""
        self._warn_outside()
        low, height = self.eta_min, 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [low + (base - low) * height / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the rates of the next epoch, or of the one that is given."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            values = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            set_rate(group, value)
        self._last_lr = setting_of(self.optimizer, "lr")

    def _go_to(self, epoch: float) -> None:
        first, times = self.T_0, self.T_mult
        if epoch < first:
            self.T_i, self.T_cur = first, epoch
        elif times == 1:
            self.T_cur = epoch % first
        else:
            periods = int(math.log(epoch / first * (times - 1) + 1, times))
            self.T_cur = epoch - first * (times**periods - 1) / (times - 1)
            self.T_i = first * times**periods
