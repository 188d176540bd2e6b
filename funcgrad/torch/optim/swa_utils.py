"""Averages of a model's parameters over a training: equal shares (SWA), or decaying ones (EMA)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any

import funcgrad.torch as torch
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.modes import modes, no_grad
from funcgrad.torch.nn.modules.channels import BatchNorm
from funcgrad.torch.nn.modules.module import Module
from funcgrad.torch.optim.cyclic import for_each_group
from funcgrad.torch.optim.optimizer import Optimizer
from funcgrad.torch.optim.scheduler import LRScheduler

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Tensors = Sequence[Tensor]
Average = Callable[[Tensor, Tensor, Any], Tensor]
Averages = Callable[[Tensors, Tensors, Any], None]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def _has_parts(x: Tensor) -> bool:
    return x.is_floating_point() or x.is_complex()


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """A function that writes decaying averages into the first of two lists of tensors."""
    _check_decay(decay)

    def ema_update(averages: Tensors, present: Tensors, _: Any) -> None:
        with no_grad():
            for average, x in zip(averages, present, strict=True):
                if _has_parts(averages[0]):
                    average.lerp_(x, 1 - decay)
                else:
                    average.copy_(average * decay + x * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Averages:
    """A function that writes averages of equal shares into the first of two lists of tensors."""

    def swa_update(averages: Tensors, present: Tensors, count: Any) -> None:
        with no_grad():
            for average, x in zip(averages, present, strict=True):
                average.copy_(average + (x - average) / (count + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """A function that returns the decaying average of an average and a tensor."""
    _check_decay(decay)

    def ema_update(average: Tensor, present: Tensor, _: Any) -> Tensor:
        with no_grad():
            return decay * average + (1 - decay) * present

    return ema_update


def get_swa_avg_fn() -> Average:
    """A function that returns the average of `count` equal tensors and one more."""

    def swa_update(average: Tensor, present: Tensor, count: Any) -> Tensor:
        with no_grad():
            return average + (present - average) / (count + 1)  # type: ignore[no-any-return]

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of those that the model has had.

    Parameters
    ----------
    model : Module
        Copied as ``module``; calls go to the copy.
    device : optional
        The CPU.
    avg_fn : callable, optional
        Gives a parameter from the average, the parameter and the number of models averaged so far;
        equal shares if there is none.
    multi_avg_fn : callable, optional
        The same for lists of tensors, of which it writes into the first.
    use_buffers : bool, optional
        Whether buffers are averaged too; else they are copied.

    Raises
    ------
    AssertionError
        Both functions.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 2.0):
    ...     torch.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    Parameter containing:
    tensor([[1.]], requires_grad=True)
    Parameter containing:
    tensor([[2.]], requires_grad=True)
    >>> averaged.module.weight
    Parameter containing:
    tensor([[1.5000]], requires_grad=True)
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        module = deepcopy(model)
        self.module = module if device is None else module.to(device)
        count = torch.tensor(0, dtype=torch.long, device=device)
        self.register_buffer("n_averaged", count)
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model returns."""
        return self.module(*args, **kwargs)

    def _tensors(self, model: Any) -> list[Tensor]:
        found = model.parameters()
        if self.use_buffers:
            found = chain(found, model.buffers())
        return [x.detach() for x in found]

    def update_parameters(self, model: Module) -> None:
        """Take the parameters of `model` into the averages; the first ones are copied."""
        averages, present = self._tensors(self.module), self._tensors(model)
        if modes.stage is not None:  # the count has no number: both are computed
            first = self.n_averaged == 0
            self._average(averages, present)
            for x, new in zip(averages, present, strict=True):
                x.copy_(torch.where(first, new, x))
        elif self.n_averaged == 0:
            for x, new in zip(averages, present, strict=True):
                x.copy_(new)
        else:
            self._average(averages, present)
        if not self.use_buffers:
            for x, new in zip(self.module.buffers(), model.buffers(), strict=True):
                x.detach().copy_(new.detach())
        self.n_averaged += 1

    def _average(self, averages: list[Tensor], present: list[Tensor]) -> None:
        if self.multi_avg_fn is not None:
            alike: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
            for x, new in zip(averages, present, strict=True):
                group = alike.setdefault(x.dtype, ([], []))
                group[0].append(x)
                group[1].append(new)
            for xs, news in alike.values():
                self.multi_avg_fn(xs, news, self.n_averaged)
            return
        average = self.avg_fn or get_swa_avg_fn()
        for x, new in zip(averages, present, strict=True):
            x.copy_(average(x, new, self.n_averaged))


SHAPES: dict[str, Callable[[float], float]] = {
    "cos": lambda t: (1 - math.cos(math.pi * t)) / 2,
    "linear": lambda t: t,
}


class SWALR(LRScheduler):
    """The rate to a constant one within `anneal_epochs` epochs, at which weights are averaged."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = for_each_group("swa_lr", optimizer, swa_lr)
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in SHAPES:
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """How much of the constant rate a step has."""
        done = step / max(1, self.anneal_epochs)
        return SHAPES[self._anneal_strategy](max(0, min(1, done)))

    def get_lr(self) -> list[Any]:
        """The rates of the groups: from the present ones, whoever has set them, on their way."""
        self._warn_outside()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        return [
            group["swa_lr"] * now + _start(group, before) * (1 - now)
            for group in self.optimizer.param_groups
        ]


def _start(group: dict[str, Any], share: float) -> Any:
    """The rate from which a group would have come to its present one."""
    if share == 1:
        return group["swa_lr"]
    return (group["lr"] - share * group["swa_lr"]) / (1 - share)


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Measure the means and variances of all batch norms of a model anew, over a loader's batches.

    A batch that is a tuple or a list is read for its first part.
    """
    norms = [m for m in model.modules() if isinstance(m, BatchNorm)]
    found = {m: m.momentum for m in norms}
    for m in norms:
        m.reset_running_stats()
    if not found:
        return
    trained = model.training
    model.train()
    for m in norms:
        m.momentum = None
    with no_grad():
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))
    for m, momentum in found.items():
        m.momentum = momentum
    model.train(trained)
