"""RMSprop (Hinton 2012) and Adagrad (Duchi et al. 2011): steps divided by the size of gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.contents import as_array
from funcgrad.torch.optim.optimizer import Group, Optimizer
from funcgrad.torch.optim.updates import (
    Array,
    Move,
    check_lr,
    check_not_negative,
    counted,
    counter,
    held,
    number,
    opened,
    options,
    refuse_differentiable,
    zeros_like,
)

__all__ = ["Adagrad", "RMSprop"]

STATE = ("square_avg", "momentum_buffer", "grad_avg")  # of RMSprop, in PyTorch's order


class RMSprop(Optimizer):
    """Steps divided by the root of a running mean of the squared gradient.

    Parameters
    ----------
    params : iterable of Tensors or of dict
    lr : float or Tensor, optional
    alpha : float, optional
        How much of the running mean stays in a step.
    eps : float, optional
        Added to the root.
    weight_decay : float, optional
        How much of the parameter is added to its gradient.
    momentum : float, optional
    centered : bool, optional
        Whether the variance takes the place of the mean square.
    maximize : bool, optional
        Whether to go up instead.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not eps >= 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_not_negative(momentum, "momentum")
        check_not_negative(weight_decay, "weight_decay")
        check_not_negative(alpha, "alpha")
        refuse_differentiable(differentiable)
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _moves(self, found: Sequence[tuple[Tensor, Array]], group: Group) -> Iterator[Move]:
        alpha, eps, lr = (number(group[name]) for name in ("alpha", "eps", "lr"))
        rule, names, given = "rmsprop", ["square_avg"], [alpha, 1 - alpha, eps]
        if group["centered"]:
            rule, names = f"{rule}_centered", [*names, "grad_avg"]
        if group["momentum"] > 0:
            rule, names = f"{rule}_momentum", [*names, "momentum_buffer"]
            given.append(number(group["momentum"]))
        numbers = (*options(group), *given, lr)
        for p, g in found:
            state = self.state[p]
            if not state:
                state["step"] = counter()
                state.update((n, zeros_like(p)) for n in STATE if n in names)
            counted(state)
            arrays = [held(state[name]) for name in names]
            yield Move(rule, (opened(p), g, *arrays), numbers)


class Adagrad(Optimizer):
    """Steps divided by the root of the sum of all squared gradients.

    Parameters
    ----------
    params : iterable of Tensors or of dict
    lr : float or Tensor, optional
    lr_decay : float, optional
        The rate is divided by one plus this times the number of steps before.
    weight_decay : float, optional
        How much of the parameter is added to its gradient.
    initial_accumulator_value : float, optional
        Where the sum begins.
    eps : float, optional
        Added to the root.
    maximize : bool, optional
        Whether to go up instead.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_not_negative(lr_decay, "lr_decay")
        check_not_negative(weight_decay, "weight_decay")
        check_not_negative(initial_accumulator_value, "initial_accumulator_value")
        if not eps >= 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        refuse_differentiable(differentiable)
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                first = group["initial_accumulator_value"]
                start = complex(first, first) if p.dtype.is_complex else first
                total = box(np.full_like(as_array(p), start))
                self.state[p] = {"step": counter(), "sum": total}

    def _moves(self, found: Sequence[tuple[Tensor, Array]], group: Group) -> Iterator[Move]:
        before, eps, lr = options(group), number(group["eps"]), number(group["lr"])
        for p, g in found:
            state = self.state[p]
            rate = lr / (1 + (counted(state) - 1) * group["lr_decay"])
            yield Move("adagrad", (opened(p), g, held(state["sum"])), (*before, eps, rate))
