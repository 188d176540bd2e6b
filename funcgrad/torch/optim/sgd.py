"""Stochastic gradient descent, with momentum (Sutskever et al. 2013)."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.optim.optimizer import Group, Optimizer
from funcgrad.torch.optim.updates import (
    Array,
    Writing,
    check_lr,
    check_not_negative,
    held,
    in_pieces,
    number,
    refuse_differentiable,
)
from funcgrad.torch.staged import fresh, staged

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
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        check_lr(lr)
        check_not_negative(momentum, "momentum")
        check_not_negative(weight_decay, "weight_decay")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        refuse_differentiable(differentiable)
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, p: Tensor, g: Array, group: Group) -> None:
        momentum, decay, lr = group["momentum"], group["weight_decay"], number(group["lr"])
        maximize, nesterov, share = group["maximize"], group["nesterov"], 1 - group["dampening"]

        def rising(x: Array, g: Array) -> Array:
            g = -g if maximize else g
            return g + x * decay if decay else g

        def move(x: Array, g: Array, *buffer: Array) -> None:
            g = rising(x, g)
            if buffer:
                (b,) = buffer
                b *= momentum
                b += g if share == 1 else g * share
                g = g + b * momentum if nesterov else b
            x -= g * lr

        state = self.state[p] if momentum else {}
        buffer = state.get("momentum_buffer")
        with Writing(p) as x:
            if momentum and buffer is None:
                g = rising(x, g)
                state["momentum_buffer"] = box(_copied(p, g))
                x -= (g + g * momentum if nesterov else g) * lr
            else:
                in_pieces(move, x, g, *([] if buffer is None else [held(buffer)]))


def _copied(p: Tensor, g: Array) -> Array:
    """`g` as state of its own; parts become complex numbers again."""
    if staged(g):
        return fresh(g)  # type: ignore[no-any-return]
    g = np.array(g, order="C")
    return g.view(p.dtype.numpy)[..., 0] if p.dtype.is_complex else g.reshape(tuple(p.shape))
