"""Rprop (Riedmiller and Braun 1993): steps whose sizes follow the signs of the gradients."""

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
    full_like,
    held,
    number,
    opened,
    settings,
    zeros_like,
)

__all__ = ["Rprop"]


class Rprop(Optimizer):
    """Steps of a size for each element, which grows while the sign of its gradient stays.

    Parameters
    ----------
    params : iterable of Tensors or of dict
    lr : float or Tensor, optional
        The first size.
    etas : pair of float, optional
        The factors of a size when the sign has changed, and when it has not.
    step_sizes : pair of float, optional
        The smallest and the largest size.
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
    >>> optimizer = torch.optim.Rprop([x], lr=0.1)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([0.7800], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        names = "lr etas step_sizes foreach maximize differentiable capturable"
        super().__init__(params, settings(locals(), names))

    def _moves(self, found: Sequence[tuple[Tensor, Array]], group: Group) -> Iterator[Move]:
        before = (True if group["maximize"] else None, None, None)
        numbers = (*before, *map(number, group["etas"]), *map(number, group["step_sizes"]))
        for p, g in found:
            state = self.state[p]
            if not state:
                state.update(step=counter(), prev=zeros_like(p))
                state["step_size"] = full_like(p, number(group["lr"]))
            counted(state)
            arrays = (opened(p), g, held(state["prev"]), held(state["step_size"]))
            yield Move("rprop", arrays, numbers)
