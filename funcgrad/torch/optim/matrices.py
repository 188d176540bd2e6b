"""Steps that look at parameters as matrices: Adafactor (Shazeer & Stern 2018) and Muon (Jordan)."""

from __future__ import annotations

import math
from typing import Any

from funcgrad.torch import dtypes
from funcgrad.torch.modes import no_grad
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.optim.optimizer import Group, Optimizer
from funcgrad.torch.optim.updates import counted, counter, defaults, number

__all__ = ["Adafactor", "Muon"]

NEWTON_SCHULZ = (3.4445, -4.775, 2.0315)


RATE = """
    not isinstance(lr, Tensor) or lr.numel() == 1: ValueError: Tensor lr must be 1-element
    lr >= 0.0: ValueError: Learning rate should be >= 0 but is: {lr}
"""


class ByParameter(Optimizer):
    """Optimizers that change one parameter after the other by operations on tensors."""

    def _advance(self, group: Group) -> None:
        with no_grad():
            for p in group["params"]:
                if p.grad is not None:
                    if p.is_complex():
                        name = type(self).__name__
                        raise RuntimeError(f"{name} does not support complex parameters")
                    self._change(p, p.grad, self.state[p], group)

    def _change(self, p: Any, g: Any, state: dict[str, Any], group: Group) -> None:
        raise NotImplementedError


class Adafactor(ByParameter):
    """Adam with row and column means in the place of a variance of each element.

    Parameters
    ----------
    params : iterable of Tensors or of dict
    lr : float or Tensor, optional
        The largest relative step.
    beta2_decay : float, optional
        The power of the number of steps by which running means forget less.
    eps : (float or None, float), optional
        The least of the variances (None: that of the dtype) and the least size of a parameter.
    d : float, optional
        The largest root mean square of an update.
    weight_decay : float, optional
    foreach : bool, optional
        PyTorch's choice of implementation; there is one here.
    maximize : bool, optional

    Raises
    ------
    ValueError
        Settings out of range.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adafactor([x])
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9900], requires_grad=True)
    """

    @requires(RATE, """
        beta2_decay <= 0.0: ValueError: beta2_decay should be <= 0 but is: {beta2_decay}
        eps[0] is None or eps[0] >= 0.0: ValueError: epsilon1 should be >= 0 but is: {eps[0]}
        eps[1] >= 0.0: ValueError: epsilon2 should be >= 0 but is: {eps[1]}
        d >= 1.0: ValueError: Clipping threshold d should be >= 1 but is: {d}
        weight_decay >= 0.0: ValueError: weight_decay should be >= 0 but is: {weight_decay}
    """)  # fmt: skip
    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        names = "lr beta2_decay eps d weight_decay foreach maximize"
        super().__init__(params, defaults(locals(), names))

    def _change(self, p: Any, g: Any, state: dict[str, Any], group: Group) -> None:
        g = -g if group["maximize"] else g
        if not state:
            state["step"] = counter()
            if g.dim() > 1:
                state["row_var"] = g.new_zeros((*g.shape[:-1], 1))
                state["col_var"] = g.new_zeros((*g.shape[:-2], 1, g.shape[-1]))
            else:
                state["variance"] = g.new_zeros(g.shape)
        count, lr = counted(state), number(group["lr"])
        least, smallest = group["eps"]
        least = dtypes.finfo(p.dtype).eps if least is None else least
        size = p.norm(2) / p.numel() ** 0.5
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        variance = self._variance(g, state, count ** group["beta2_decay"], least)
        update = variance.clamp_(min=least * least).rsqrt_().mul_(g)
        limit = (update.norm(2) / (update.numel() ** 0.5 * group["d"])).clamp(min=1.0)
        rate = size.clamp(min=smallest) * min(lr, 1 / count**0.5)
        p.sub_(update * (rate / limit))

    def _variance(self, g: Any, state: dict[str, Any], share: float, least: float) -> Any:
        """The running mean of the squares: of factors for matrices."""
        if g.dim() <= 1:
            return state["variance"].lerp_(g * g, share).clone()
        rows, columns = state["row_var"], state["col_var"]
        rows.lerp_(g.norm(2, -1, keepdim=True).square_().div_(g.shape[-1]), share)
        columns.lerp_(g.norm(2, -2, keepdim=True).square_().div_(g.shape[-2]), share)
        return (rows @ columns).div_(rows.mean(-2, keepdim=True).clamp_(min=least))


class Muon(ByParameter):
    """Momentum whose updates are brought to singular values of about 1, for matrices.

    Parameters
    ----------
    params : iterable of Tensors or of dict
        Of two dimensions.
    lr : float, optional
    weight_decay, momentum : float, optional
    nesterov : bool, optional
    ns_coefficients : (float, float, float), optional
        Of the polynomial of degree 5 by which singular values go to 1.
    eps : float, optional
        The least norm of an update.
    ns_steps : int, optional
        How often the polynomial is applied.
    adjust_lr_fn : {"original", "match_rms_adamw"}, optional
        How the rate depends on the shape.

    Raises
    ------
    ValueError
        Settings out of range, or a parameter that is no matrix.

    Notes
    -----
    The polynomial is computed in the dtype of the parameter; PyTorch computes it in bfloat16.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.eye(2, requires_grad=True)
    >>> optimizer = torch.optim.Muon([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> bool(x[0, 0] < 1)
    True
    """

    @requires(RATE, """
        momentum >= 0.0: ValueError: momentum should be >= 0 but is: {momentum}
        weight_decay >= 0.0: ValueError: weight decay should be >= 0 but is: {weight_decay}
        adjust_lr_fn in (None, "original", "match_rms_adamw"): ValueError: Adjust learning rate
            function {adjust_lr_fn} is not supported
    """)  # fmt: skip
    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = NEWTON_SCHULZ,
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        names = "lr weight_decay momentum nesterov ns_coefficients eps ns_steps adjust_lr_fn"
        super().__init__(params, defaults(locals(), names))
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{p.size()}"
                    )

    def _change(self, p: Any, g: Any, state: dict[str, Any], group: Group) -> None:
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = g.new_zeros(g.shape)
        buffer, momentum = state["momentum_buffer"], group["momentum"]
        buffer.lerp_(g, 1 - momentum)
        update = g.lerp(buffer, momentum) if group["nesterov"] else buffer
        update = _orthogonalised(update, group)
        lr = number(group["lr"])
        p.mul_(1 - lr * group["weight_decay"])
        p.sub_(update * (lr * _ratio(p.shape, group["adjust_lr_fn"])))


@requires("""
    group["ns_steps"] < 100: ValueError: Number of steps must be less than 100 for computational
        efficiency
    len(group["ns_coefficients"]) == 3: ValueError: Coefficients must be a tuple of exactly 3 values
""")
def _orthogonalised(x: Any, group: Group) -> Any:
    """A matrix with about the singular vectors of `x`, and singular values of about 1."""
    a, b, c = group["ns_coefficients"]
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / x.norm().clamp(min=group["eps"])
    for _ in range(group["ns_steps"]):
        gram = x @ x.T
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.T if tall else x


def _ratio(shape: Any, how: str | None) -> float:
    rows, columns = shape
    if how == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))
