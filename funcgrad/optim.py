"""Functional optimisers: a pure step from parameters, gradient and state to new ones.

An optimiser is a pair ``(step, start)``; parameters are any tree of arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad import tree

__all__ = ["AdamState", "adam", "sgd"]

Step = Callable[[Any, Any, Any], tuple[Any, Any]]
Start = Callable[[Any], Any]


class AdamState(NamedTuple):
    """The number of steps done, and running means of the gradient and of its square."""

    steps: int
    first: Any
    second: Any


def adam(
    learning_rate: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8
) -> tuple[Step, Start]:
    """Adam (Kingma and Ba 2015, algorithm 1).

    Parameters
    ----------
    learning_rate, beta1, beta2, epsilon : float

    Returns
    -------
    step : callable
        ``step(parameters, gradient, state)`` returns ``(parameters, state)``; nothing is changed
        in place.
    start : callable
        ``start(parameters)`` returns the first state.

    Examples
    --------
    >>> import funcgrad as fg
    >>> from funcgrad import optim
    >>> step, start = optim.adam(0.1)
    >>> x = 1.0
    >>> state = start(x)
    >>> for _ in range(200):
    ...     x, state = step(x, fg.grad(lambda x: (x - 3.0) ** 2)(x), state)
    >>> bool(abs(x - 3.0) < 1e-2)
    True
    """

    def start(parameters: Any) -> AdamState:
        zeros = tree.map(lambda p: np.zeros_like(np.asarray(p))[()], parameters)
        return AdamState(0, zeros, tree.map(np.copy, zeros))

    def step(parameters: Any, gradient: Any, state: AdamState) -> tuple[Any, AdamState]:
        count = state.steps + 1
        first = tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, state.first, gradient)
        second = tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, state.second, gradient)
        # the corrections for the zeros at the start, gathered into two numbers
        rate = learning_rate / (1 - beta1**count)
        scale = 1 / (1 - beta2**count)
        moved = tree.map(
            lambda p, m, v: p - rate * m / (np.sqrt(v * scale) + epsilon), parameters, first, second
        )
        return moved, AdamState(count, first, second)

    return step, start


def sgd(learning_rate: float = 1e-2, momentum: float = 0.0) -> tuple[Step, Start]:
    """Gradient descent with heavy-ball momentum; see `adam` for the pair it returns.

    Examples
    --------
    >>> from funcgrad import optim
    >>> step, start = optim.sgd(0.5)
    >>> step(1.0, 0.5, start(1.0))[0]
    np.float64(0.75)
    """

    def start(parameters: Any) -> Any:
        return tree.map(lambda p: np.zeros_like(np.asarray(p))[()], parameters)

    def step(parameters: Any, gradient: Any, velocity: Any) -> tuple[Any, Any]:
        velocity = tree.map(lambda v, g: momentum * v + g, velocity, gradient)
        moved = tree.map(lambda p, v: p - learning_rate * v, parameters, velocity)
        return moved, velocity

    return step, start
