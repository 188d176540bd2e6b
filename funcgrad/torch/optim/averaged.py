"""ASGD (Polyak and Juditsky 1992): a descent that keeps the average of its points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.optim.optimizer import Group, Optimizer
from funcgrad.torch.optim.updates import (
    Array,
    Move,
    counted,
    counter,
    held,
    largest,
    number,
    opened,
    options,
    put,
    read,
    settings,
    zeros_like,
)

__all__ = ["ASGD"]


class ASGD(Optimizer):
    """Descends with a rate that falls, and keeps the average of the points as ``state[p]["ax"]``.

    Parameters
    ----------
    params : iterable of Tensors or of dict
    lr : float or Tensor, optional
        The first rate.
    lambd : float, optional
        How much of a parameter decays, as a part of the rate; it also says how fast the rate falls.
    alpha : float, optional
        The power by which the rate falls.
    t0 : float, optional
        The step at which the average begins.
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
    >>> optimizer = torch.optim.ASGD([x], lr=0.1, t0=0)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x, optimizer.state[x]["ax"]
    (tensor([0.6400], requires_grad=True), tensor([0.6400]))
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        names = "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable"
        super().__init__(params, settings(locals(), names))

    def _moves(self, found: Sequence[tuple[Tensor, Array]], group: Group) -> Iterator[Move]:
        lr, decay, before = number(group["lr"]), group["lambd"], options(group)
        for p, g in found:
            state = self.state[p]
            if not state:
                state.update(step=counter(), eta=counter(), mu=counter(1.0), ax=zeros_like(p))
                put(state["eta"], lr)
            step, eta, share = counted(state), read(state["eta"]), read(state["mu"])
            arrays = (opened(p, 2), g, held(state["ax"]))
            yield Move("asgd", arrays, (*before, 1 - decay * eta, eta, share))
            put(state["eta"], lr / (1 + decay * lr * step) ** group["alpha"])
            put(state["mu"], 1 / largest(step - group["t0"], 1))
