"""L-BFGS: steps by an inverse Hessian that is approximated from the last gradients.

Nocedal 1980.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.kernels.line_search import Point, strong_wolfe
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.optim.optimizer import Closure, Optimizer, evaluated
from funcgrad.torch.optim.updates import Array, as_real, check_lr, number, opened
from funcgrad.torch.tensor_arrays import as_array

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """Quasi-Newton steps; the closure that computes the loss is called several times a step.

    Parameters
    ----------
    params : iterable of Tensors
        One group.
    lr : float or Tensor, optional
        The length of a step, and where a line search begins.
    max_iter, max_eval : int, optional
        How many steps, and evaluations of the closure, a call of `step` makes.
    tolerance_grad, tolerance_change : float, optional
        Where it stops: largest component of the gradient; change of loss and parameters.
    history_size : int, optional
        How many of the last gradients are kept.
    line_search_fn : {"strong_wolfe"}, optional
        Without it each step has the length `lr`.

    Raises
    ------
    ValueError
        Several groups.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([x], max_iter=50, line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> x
    tensor([1.0000, 1.0000], dtype=torch.float64, requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Closure | None = None) -> Any:
        """Make up to `max_iter` steps.

        Parameters
        ----------
        closure : callable
            Clears the gradients, computes the loss and its gradients, and returns the loss.

        Returns
        -------
        The loss before the first step.
        """
        if closure is None:
            raise TypeError("LBFGS.step() missing 1 required positional argument: 'closure'")
        return Steps(self.param_groups[0], self.state, closure).run()


class Steps:
    """One call of `step`."""

    def __init__(self, group: dict[str, Any], state: Any, closure: Closure) -> None:
        self.group, self.params, self.closure = group, group["params"], closure
        self.state = state[self.params[0]]  # there is only one; there it is saved and converted
        self.state.setdefault("func_evals", 0)
        self.state.setdefault("n_iter", 0)
        self.lr = number(group["lr"])
        self.evaluations = 0

    # -- parameters and gradients as vectors

    def gradient(self) -> Array:
        """The gradients one after the other."""
        parts = [
            np.zeros(p.numel(), p.dtype.numpy) if p.grad is None else as_array(p.grad).reshape(-1)
            for p in self.params
        ]
        return np.concatenate([as_real(part).reshape(-1) for part in parts])

    def move(self, t: float, d: Array) -> None:
        """Add ``t * d`` to the parameters."""
        start = 0
        for p in self.params:
            x = opened(p)
            x += t * d[start : start + x.size].reshape(x.shape)
            start += x.size

    def put(self, arrays: list[Array]) -> None:
        """Set the parameters."""
        for p, array in zip(self.params, arrays, strict=True):
            opened(p)[...] = array

    def evaluate(self) -> tuple[float, Array]:
        """The loss and its gradient."""
        loss = float(evaluated(self.closure))
        self.evaluations += 1
        self.state["func_evals"] += 1
        return loss, self.gradient()

    # -- the iteration

    def run(self) -> Any:
        first = evaluated(self.closure)
        self.evaluations += 1
        self.state["func_evals"] += 1
        loss, g = float(first), self.gradient()
        if self.small(g):
            return first
        for iteration in range(1, self.group["max_iter"] + 1):
            self.state["n_iter"] += 1
            d = self.direction(g)
            t = self.lr
            if self.state["n_iter"] == 1:
                t *= min(1.0, float(1.0 / np.sum(np.abs(g))))
            slope = float(g @ d)
            self.remember(d=d, t=t, prev_flat_grad=g.copy(), prev_loss=loss)
            if slope > -self.group["tolerance_change"]:
                break
            before = loss
            loss, g, t = self.advance(d, t, loss, g, slope, iteration)
            self.remember(t=t)
            if self.finished(iteration, loss, before, g, t, d):
                break
        return first

    def small(self, g: Array) -> bool:
        return bool(np.max(np.abs(g)) <= self.group["tolerance_grad"])

    def finished(
        self, iteration: int, loss: float, before: float, g: Array, t: float, d: Array
    ) -> bool:
        change = self.group["tolerance_change"]
        return (
            iteration == self.group["max_iter"]
            or self.evaluations >= self.group["max_eval"]
            or self.small(g)
            or float(np.max(np.abs(d * t))) <= change
            or abs(loss - before) < change
        )

    def advance(
        self, d: Array, t: float, loss: float, g: Array, slope: float, iteration: int
    ) -> tuple[float, Array, float]:
        """A step along `d`: the loss and gradient there, and its length."""
        if self.group["line_search_fn"] is None:
            self.move(t, d)
            if iteration != self.group["max_iter"]:  # nobody would look at what comes after
                loss, g = self.evaluate()
            return loss, g, t
        if self.group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        held = [as_real(np.array(as_array(p))) for p in self.params]

        def at(t: float) -> Point:
            self.move(t, d)
            loss, g = self.evaluate()
            self.put(held)
            return Point(t, loss, g, float(g @ d))

        most = self.group["max_eval"] - self.evaluations
        found, _ = strong_wolfe(
            at, Point(0.0, loss, g, slope), t, float(np.max(np.abs(d))), max_ls=most
        )
        self.move(found.t, d)
        return found.loss, found.gradient, found.t

    # -- the approximation of the inverse Hessian

    def direction(self, g: Array) -> Array:
        """The descent direction, after the last step has been taken into the history."""
        state = self.state
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -g
        y = g - as_array(state["prev_flat_grad"])
        s = as_array(state["d"]) * number(state["t"])
        ys = y @ s
        if ys > 1e-10:
            if len(state["old_dirs"]) == self.group["history_size"]:
                for name in ("old_dirs", "old_stps", "ro"):
                    state[name].pop(0)
            state["old_dirs"].append(box(y))
            state["old_stps"].append(box(s))
            state["ro"].append(box(np.asarray(1.0 / ys)))
            state["H_diag"] = box(np.asarray(ys / (y @ y)))
        return self.product(-g)

    def product(self, q: Array) -> Array:
        """The approximation times a vector, by the two-loop recursion."""
        pairs = [
            tuple(map(as_array, row))
            for row in zip(*(self.state[n] for n in ("old_dirs", "old_stps", "ro")), strict=True)
        ]
        factors = []
        for y, s, ro in reversed(pairs):
            factors.append((s @ q) * ro)
            q = q - y * factors[-1]
        scale = self.state["H_diag"]
        r: Array = q * (as_array(scale) if isinstance(scale, Tensor) else scale)
        for (y, s, ro), factor in zip(pairs, reversed(factors), strict=True):
            r = r + s * (factor - (y @ r) * ro)
        return r

    def remember(self, **found: Any) -> None:
        for name, value in found.items():
            self.state[name] = box(value) if isinstance(value, np.ndarray) else value
