"""autograd's stochastic optimisers: `sgd`, `rmsprop`, `adam`, for parameters in any container.

Each is a step, from a gradient and what it remembers to the change of the parameters.
`funcgrad.optim` has others, with other conventions of their constants.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.compat.autograd.misc.flatten import flatten

__all__ = ["adam", "rmsprop", "sgd"]

Function = Callable[..., Any]


def _descend(
    grad: Function, x0: Any, callback: Function | None, num_iters: int, start: Any, change: Function
) -> Any:
    """Take `num_iters` steps; ``change(g, state, i)`` gives the change and the next state."""
    x, unflatten = flatten(x0)
    state = tuple(np.full(len(x), value) for value in start)
    for i in range(num_iters):
        g = flatten(grad(unflatten(x), i))[0]
        if callback:
            callback(unflatten(x), i, unflatten(g))
        moved, state = change(g, state, i)
        x = x + moved
    return unflatten(x)


def sgd(
    grad: Function, x0: Any, callback: Function | None = None, num_iters: int = 200,
    step_size: float = 0.1, mass: float = 0.9,
) -> Any:  # fmt: skip
    """Stochastic gradient descent with momentum.

    Parameters
    ----------
    grad : callable
        ``grad(x, i)`` is the gradient at iteration i.
    x0 : tree
        Where it starts.
    callback : callable, optional
        Called as ``callback(x, i, g)`` before each step.
    num_iters : int, optional
    step_size, mass : float, optional

    Returns
    -------
    tree
        The last parameters.
    """

    def change(g: Any, state: Any, i: int) -> tuple[Any, Any]:
        velocity = mass * state[0] - (1.0 - mass) * g
        return step_size * velocity, (velocity,)

    return _descend(grad, x0, callback, num_iters, (0.0,), change)


def rmsprop(
    grad: Function, x0: Any, callback: Function | None = None, num_iters: int = 100,
    step_size: float = 0.1, gamma: float = 0.9, eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Steps divided by the root of a running mean of squares; arguments as of `sgd`."""

    def change(g: Any, state: Any, i: int) -> tuple[Any, Any]:
        square = state[0] * gamma + g**2 * (1 - gamma)
        return -step_size * g / (np.sqrt(square) + eps), (square,)

    return _descend(grad, x0, callback, num_iters, (1.0,), change)


def adam(
    grad: Function, x0: Any, callback: Function | None = None, num_iters: int = 100,
    step_size: float = 0.001, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Adam (Kingma and Ba 2015, algorithm 1); arguments as of `sgd`.

    Examples
    --------
    >>> from funcgrad.compat.autograd import grad
    >>> from funcgrad.compat.autograd.misc.optimizers import adam
    >>> gradient = grad(lambda x: (x - 3.0) ** 2)
    >>> bool(abs(adam(lambda x, i: gradient(x), 1.0, step_size=0.1, num_iters=300) - 3.0) < 1e-2)
    True
    """

    def change(g: Any, state: Any, i: int) -> tuple[Any, Any]:
        mean = (1 - b1) * g + b1 * state[0]
        square = (1 - b2) * g**2 + b2 * state[1]
        corrected = mean / (1 - b1 ** (i + 1)), square / (1 - b2 ** (i + 1))
        return -step_size * corrected[0] / (np.sqrt(corrected[1]) + eps), (mean, square)

    return _descend(grad, x0, callback, num_iters, (0.0, 0.0), change)
