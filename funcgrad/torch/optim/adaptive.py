"""RMSprop (Hinton 2012) and Adagrad (Duchi et al. 2011): steps divided by the size of gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.contents import as_array
from funcgrad.torch.optim.optimizer import Group, Optimizer
from funcgrad.torch.optim.updates import (
    Array,
    Writing,
    check_lr,
    check_not_negative,
    counted,
    counter,
    factor,
    held,
    in_pieces,
    number,
    refuse_differentiable,
    zeros_like,
)

__all__ = ["Adagrad", "RMSprop"]


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

    def _update(self, p: Tensor, g: Array, group: Group) -> None:
        alpha, momentum, state = group["alpha"], group["momentum"], self.state[p]
        if not state:
            state["step"], state["square_avg"] = counter(), zeros_like(p)
            if momentum > 0:
                state["momentum_buffer"] = zeros_like(p)
            if group["centered"]:
                state["grad_avg"] = zeros_like(p)
        counted(state)
        decay, maximize, eps = group["weight_decay"], group["maximize"], group["eps"]
        centered, lr = group["centered"], number(group["lr"])

        def move(x: Array, g: Array, square: Array, *more: Array) -> None:
            g = -g if maximize else g
            g = g + x * decay if decay else g
            square *= alpha
            square += g * g * (1 - alpha)
            size = square
            if centered:
                mean = more[0]
                mean += (g - mean) * (1 - alpha)
                size = square - mean * mean
            size = np.sqrt(size) + eps
            if momentum > 0:
                buffer = more[-1]
                buffer *= momentum
                buffer += g / size
                x -= buffer * lr
            else:
                x -= g / size * lr

        names = ["square_avg"] + ["grad_avg"] * bool(centered)
        names += ["momentum_buffer"] * (momentum > 0)
        with Writing(p) as x:
            in_pieces(move, x, g, *(held(state[name]) for name in names))


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

    def _update(self, p: Tensor, g: Array, group: Group) -> None:
        state = self.state[p]
        step = counted(state)
        decay, maximize, eps = group["weight_decay"], group["maximize"], group["eps"]
        rate = number(group["lr"]) / (1 + (step - 1) * group["lr_decay"])

        def move(x: Array, g: Array, total: Array) -> None:
            g = -g if maximize else g
            g = g + x * decay if decay else g
            total += g * g
            x -= g / (np.sqrt(total) + eps) * factor(rate, x)

        with Writing(p) as x:
            in_pieces(move, x, g, held(state["sum"]))
