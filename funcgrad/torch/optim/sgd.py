"""Stochastic gradient descent, with momentum (Sutskever et al. 2013)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.optim.optimizer import Group, Optimizer
from funcgrad.torch.optim.repeated import Rule
from funcgrad.torch.optim.updates import (
    Array,
    Move,
    held,
    number,
    opened,
    options,
    settings,
    zeros_like,
)

__all__ = ["SGD"]


class SGD(Optimizer):
    """``p -= lr * (momentum buffer of) gradient``.

    Parameters
    ----------
    params : iterable of Tensors or of dict
    lr : float or Tensor, optional
    momentum, dampening : float, optional
        The buffer is ``momentum * buffer + (1 - dampening) * gradient``.
    weight_decay : float, optional
        How much of the parameter is added to its gradient.
    nesterov : bool, optional
    maximize : bool, optional
        Whether to go up instead.
    foreach, fused : bool, optional
        PyTorch's choices of implementation; there is one here.

    Raises
    ------
    ValueError
        Settings out of range.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        names = "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused"
        super().__init__(params, settings(locals(), names))

    def _rule(self, group: Group) -> Rule:
        """Of the second step on: the first one begins the state."""
        momentum, lr, before = number(group["momentum"]), number(group["lr"]), options(group)
        if momentum == 0:
            return Rule("sgd", (), lambda _: (*before, lr), counts=False)
        numbers = (*before, momentum, 1 - number(group["dampening"]), lr)
        name = "nesterov" if group["nesterov"] else "momentum"
        return Rule(name, ("momentum_buffer",), lambda _: numbers, counts=False)

    def _moves(self, found: Sequence[tuple[Tensor, Array]], group: Group) -> Iterator[Move]:
        rule = self._rule(group)
        numbers = rule.numbers(0)
        if not rule.state:
            for p, g in found:
                yield Move(rule.name, (opened(p), g), numbers)
            return
        first = (*numbers[:-2], numbers[-1]) if group["nesterov"] else (*numbers[:-3], numbers[-1])
        for p, g in found:
            state = self.state[p]
            known = state.get("momentum_buffer") is not None
            if not known:
                state["momentum_buffer"] = zeros_like(p)
            arrays = (opened(p), g, held(state["momentum_buffer"]))
            if known:
                yield Move(rule.name, arrays, numbers)
            else:
                yield Move(f"{rule.name}_first", arrays, first)
