"""Adam (Kingma and Ba 2015), with AMSGrad, and with decoupled weight decay as AdamW."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from funcgrad.core.tracer import Tracer
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.optim.optimizer import Group, Optimizer
from funcgrad.torch.optim.updates import (
    Array,
    Move,
    counted,
    counter,
    held,
    number,
    opened,
    options,
    root,
    settings,
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
        names = (
            "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused "
            "decoupled_weight_decay"
        )
        super().__init__(params, settings(locals(), names))

    def _moves(self, found: Sequence[tuple[Tensor, Array]], group: Group) -> Iterator[Move]:
        (beta1, beta2), lr = map(number, group["betas"]), number(group["lr"])
        amsgrad, eps = group["amsgrad"], number(group["eps"])
        shrinks = group["decoupled_weight_decay"] and group["weight_decay"] != 0
        before = options(group, 1 - lr * number(group["weight_decay"]) if shrinks else None)
        rule, names = "adam", ["exp_avg", "exp_avg_sq"]
        if amsgrad:
            rule, names = "amsgrad", [*names, "max_exp_avg_sq"]
        known: Any = None  # the number of steps for which `numbers` are
        for p, g in found:
            state = self.state[p]
            if not state:
                state["step"] = counter()
                state.update((name, zeros_like(p)) for name in names)
            step: Any = counted(state)
            if isinstance(step, Tracer) or step != known:
                rate, size, known = lr / (1 - beta1**step), root(1 - beta2**step), step
                numbers = (*before, 1 - beta1, beta2, 1 - beta2, size, eps, rate)
            arrays = [held(state[name]) for name in names]
            yield Move(rule, (opened(p, 2 if shrinks else 1), g, *arrays), numbers)


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
