"""Adam (Kingma and Ba 2015), with AMSGrad, and with decoupled weight decay as AdamW."""

from __future__ import annotations

from typing import Any

from funcgrad.torch.optim.optimizer import Group, Optimizer
from funcgrad.torch.optim.repeated import Rule
from funcgrad.torch.optim.updates import number, options, root, settings

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
        names = (
            "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused "
            "decoupled_weight_decay"
        )
        super().__init__(params, settings(locals(), names))

    def _rule(self, group: Group) -> Rule:
        (beta1, beta2), lr = map(number, group["betas"]), number(group["lr"])
        eps, decay = number(group["eps"]), group["weight_decay"]
        shrinks = group["decoupled_weight_decay"] and decay != 0
        before = options(group, 1 - lr * number(decay) if shrinks else None)

        def numbers(step: Any) -> tuple[Any, ...]:
            rate, size = lr / (1 - beta1**step), root(1 - beta2**step)
            return (*before, 1 - beta1, beta2, 1 - beta2, size, eps, rate)

        times = 2 if shrinks else 1
        if group["amsgrad"]:
            return Rule("amsgrad", ("exp_avg", "exp_avg_sq", "max_exp_avg_sq"), numbers, times)
        return Rule("adam", ("exp_avg", "exp_avg_sq"), numbers, times)


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
