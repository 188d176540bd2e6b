"""Adam (Kingma and Ba 2015), with AMSGrad, and with decoupled weight decay as AdamW."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.optim.optimizer import Group, Optimizer
from funcgrad.torch.optim.updates import (
    Array,
    Writing,
    check_lr,
    counted,
    counter,
    factor,
    held,
    in_pieces,
    number,
    refuse_differentiable,
    root,
    zeros_like,
)

__all__ = ["Adam", "AdamW"]


class Adam(Optimizer):
    """Steps by running means of the gradient and of its square.

    Parameters
    ----------
    params : iterable of Tensors or of dict
    lr : float or Tensor, optional
    betas : pair of float, optional
        How much of the running means stays in a step.
    eps : float, optional
        Added to the root of the second mean.
    weight_decay : float, optional
        How much of the parameter is added to its gradient; with `decoupled_weight_decay` the
        parameter itself decays.
    amsgrad : bool, optional
        Whether the largest second mean so far is taken (Reddi et al. 2018).
    maximize : bool, optional
        Whether to go up instead.
    foreach, capturable, fused : bool, optional
        PyTorch's choices of implementation; there is one here.

    Raises
    ------
    ValueError
        Settings out of range.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_lr(lr)
        if not eps >= 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for k, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {k}: {beta}")
        if not weight_decay >= 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        refuse_differentiable(differentiable)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, p: Tensor, g: Array, group: Group) -> None:
        state = self.state[p]
        if not state:
            state["step"] = counter()
            state["exp_avg"], state["exp_avg_sq"] = zeros_like(p), zeros_like(p)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(p)
        step = counted(state)
        (beta1, beta2), lr = map(number, group["betas"]), number(group["lr"])
        decay, decoupled = group["weight_decay"], group["decoupled_weight_decay"]
        eps, maximize = group["eps"], group["maximize"]

        def move(x: Array, g: Array, mean: Array, square: Array, *most: Array) -> None:
            if maximize:
                g = -g
            if decay and decoupled:
                x *= 1 - lr * decay
            elif decay:
                g = g + x * decay
            scratch = np.subtract(g, mean)
            scratch *= 1 - beta1
            mean += scratch
            square *= beta2
            np.multiply(g, 1 - beta2, out=scratch)
            scratch *= g
            square += scratch
            if most:
                square = np.maximum(most[0], square, out=most[0])
            np.sqrt(square, out=scratch)
            scratch /= factor(root(1 - beta2**step), x)
            scratch += eps
            np.divide(mean, scratch, out=scratch)
            scratch *= factor(lr / (1 - beta1**step), x)
            x -= scratch

        means = [state["exp_avg"], state["exp_avg_sq"]]
        if group["amsgrad"]:
            means.append(state["max_exp_avg_sq"])
        with Writing(p, 2 if decay and decoupled else 1) as x:
            in_pieces(move, x, g, *map(held, means))


class AdamW(Adam):
    """`Adam` whose weight decay shrinks the parameters and does not enter the gradient.

    Loshchilov and Hutter 2019. The parameters are those of `Adam`; `weight_decay` is 0.01 by
    default.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
            capturable=capturable, differentiable=differentiable, fused=fused,
            decoupled_weight_decay=True,
        )  # fmt: skip
