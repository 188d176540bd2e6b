"""Relatives of Adam: Adamax, NAdam and RAdam.

They have its running means and differ in what divides the steps, and in the rates. Those follow
from the number of the step, once for all parameters that have taken as many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.optim.optimizer import Group, Optimizer
from funcgrad.torch.optim.repeated import Rule
from funcgrad.torch.optim.updates import (
    Array,
    Move,
    chosen,
    counted,
    counter,
    held,
    number,
    opened,
    options,
    read,
    root,
    settings,
    zeros_like,
)
from funcgrad.torch.tensor_arrays import as_array

__all__ = ["Adamax", "NAdam", "RAdam"]


def _decay(group: Group) -> tuple[Any, ...]:
    """What comes before the rule: parameters that decay by themselves, or gradients of them."""
    if not (group["decoupled_weight_decay"] and group["weight_decay"] != 0):
        return options(group)
    return options(group, 1 - number(group["lr"]) * number(group["weight_decay"]))


class Adamax(Optimizer):
    """Adam with the largest gradient, slowly forgotten, in the place of the mean square.

    Kingma and Ba 2015, section 7.1.

    Parameters
    ----------
    params : iterable of Tensors or of dict
    lr : float or Tensor, optional
    betas : pair of float, optional
        How much of the running mean, and of the largest gradient, stays in a step.
    eps : float, optional
        Added to the size of each gradient.
    weight_decay : float, optional
        How much of the parameter is added to its gradient.
    maximize : bool, optional
        Whether to go up instead.
    foreach, capturable : bool, optional
        PyTorch's choices of implementation; there is one here.

    Raises
    ------
    ValueError
        Settings out of range.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adamax([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        names = "lr betas eps weight_decay foreach maximize differentiable capturable"
        super().__init__(params, settings(locals(), names))

    def _rule(self, group: Group) -> Rule:
        (beta1, beta2), lr = map(number, group["betas"]), number(group["lr"])
        before = (*options(group), 1 - beta1, beta2, number(group["eps"]))
        state = ("exp_avg", "exp_inf")
        return Rule("adamax", state, lambda step: (*before, lr / (1 - beta1**step)))


class NAdam(Optimizer):
    """Adam with the momentum of Nesterov (Dozat 2016).

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
    momentum_decay : float, optional
        How fast the momentum grows to the first of `betas`.
    decoupled_weight_decay : bool, optional
    maximize : bool, optional
        Whether to go up instead.
    foreach, capturable : bool, optional
        PyTorch's choices of implementation; there is one here.

    Raises
    ------
    ValueError
        Settings out of range.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.NAdam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8944], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        names = (
            "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach "
            "capturable differentiable"
        )
        super().__init__(params, settings(locals(), names))

    def _moves(self, found: Sequence[tuple[Tensor, Array]], group: Group) -> Iterator[Move]:
        (beta1, beta2), lr = map(number, group["betas"]), number(group["lr"])
        eps, growth, before = number(group["eps"]), group["momentum_decay"], _decay(group)
        times = 2 if before[1] is None else 3
        for p, g in found:
            state = self.state[p]
            if not state:
                state.update(step=counter(), mu_product=counter(1.0))
                state.update(exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
            step = counted(state)
            now, next_ = (beta1 * (1 - 0.5 * 0.96 ** (k * growth)) for k in (step, step + 1))
            product: Any = as_array(state["mu_product"])
            product *= now
            all_ = read(state["mu_product"])
            rates = lr * (1 - now) / (1 - all_), lr * next_ / (1 - all_ * next_)
            arrays = (opened(p, times), g, held(state["exp_avg"]), held(state["exp_avg_sq"]))
            given = (1 - beta1, beta2, 1 - beta2, 1 - beta2**step, eps, *rates)
            yield Move("nadam", arrays, (*before, *given))


class RAdam(Optimizer):
    """Adam that begins without the second mean, until its variance is bounded (Liu et al. 2020).

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
    decoupled_weight_decay : bool, optional
    maximize : bool, optional
        Whether to go up instead.
    foreach, capturable : bool, optional
        PyTorch's choices of implementation; there is one here.

    Raises
    ------
    ValueError
        Settings out of range.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.RAdam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        names = (
            "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay "
            "differentiable"
        )
        super().__init__(params, settings(locals(), names))

    def _moves(self, found: Sequence[tuple[Tensor, Array]], group: Group) -> Iterator[Move]:
        (beta1, beta2), lr = map(number, group["betas"]), number(group["lr"])
        before, limit = _decay(group), 2 / (1 - beta2) - 1  # the length of the second mean
        times = 1 if before[1] is None else 2
        first = (*before, 1 - beta1, beta2, 1 - beta2, number(group["eps"]))
        for p, g in found:
            state = self.state[p]
            if not state:
                state.update(step=counter(), exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
            step = counted(state)
            rest = 1 - beta2**step
            length = limit - 2 * step * beta2**step / rest
            factor = _rectification(length, limit, rest)
            rectified = chosen(length, 5.0, lambda: 1.0, 0.0)
            arrays = (opened(p, times), g, held(state["exp_avg"]), held(state["exp_avg_sq"]))
            yield Move("radam", arrays, (*first, rectified, lr / (1 - beta1**step) * factor))


def _rectification(length: Any, limit: Any, rest: Any) -> Any:
    """What the rate of `RAdam` is multiplied with: 1 while its second mean is too short."""

    def above() -> Any:
        part = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
        return root(part) * root(rest)

    return chosen(length, 5.0, above, 1.0)
