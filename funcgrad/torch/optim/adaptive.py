"""Steps divided by the size of gradients: RMSprop, Adagrad and Adadelta."""

from __future__ import annotations

from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.optim.optimizer import Group, Optimizer
from funcgrad.torch.optim.repeated import Rule
from funcgrad.torch.optim.updates import counter, full_like, number, options, settings

__all__ = ["Adadelta", "Adagrad", "RMSprop"]

STATE = ("square_avg", "momentum_buffer", "grad_avg")  # of RMSprop, in PyTorch's order


class RMSprop(Optimizer):
    """Steps divided by the root of a running mean of the squared gradient (Hinton 2012).

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
        names = (
            "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"
        )
        super().__init__(params, settings(locals(), names, "alpha"))

    def _rule(self, group: Group) -> Rule:
        alpha, eps, lr = (number(group[name]) for name in ("alpha", "eps", "lr"))
        name, state, given = "rmsprop", ["square_avg"], [alpha, 1 - alpha, eps]
        if group["centered"]:
            name, state = f"{name}_centered", [*state, "grad_avg"]
        if group["momentum"] > 0:
            name, state = f"{name}_momentum", [*state, "momentum_buffer"]
            given.append(number(group["momentum"]))
        numbers = (*options(group), *given, lr)
        return Rule(name, tuple(state), lambda _: numbers)

    def _begin(self, p: Tensor, group: Group, rule: Rule) -> dict[str, Any]:
        found = super()._begin(p, group, rule)
        return {name: found[name] for name in ("step", *STATE) if name in found}


class Adagrad(Optimizer):
    """Steps divided by the root of the sum of all squared gradients (Duchi et al. 2011).

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
        names = (
            "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize "
            "differentiable fused"
        )
        super().__init__(params, settings(locals(), names))
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p] = self._begin(p, group, self._rule(group))

    def _rule(self, group: Group) -> Rule:
        before, eps, lr = options(group), number(group["eps"]), number(group["lr"])
        decay = group["lr_decay"]
        return Rule("adagrad", ("sum",), lambda k: (*before, eps, lr / (1 + (k - 1) * decay)))

    def _begin(self, p: Tensor, group: Group, rule: Rule) -> dict[str, Any]:
        return {"step": counter(), "sum": full_like(p, group["initial_accumulator_value"])}


class Adadelta(Optimizer):
    """Steps of the size of those before, divided by the size of the gradients (Zeiler 2012).

    Parameters
    ----------
    params : iterable of Tensors or of dict
    lr : float or Tensor, optional
    rho : float, optional
        How much of the running means of squared gradients and steps stays in a step.
    eps : float, optional
        Added to both means before their roots are taken.
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
    >>> optimizer = torch.optim.Adadelta([x], eps=1e-2)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.6877], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        names = "lr rho eps weight_decay maximize capturable foreach differentiable"
        super().__init__(params, settings(locals(), names))

    def _rule(self, group: Group) -> Rule:
        rho, eps, lr = (number(group[name]) for name in ("rho", "eps", "lr"))
        numbers = (*options(group), rho, 1 - rho, eps, lr)
        return Rule("adadelta", ("square_avg", "acc_delta"), lambda _: numbers)
