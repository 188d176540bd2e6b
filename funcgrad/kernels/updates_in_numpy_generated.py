"""The steps of optimisers in NumPy: written, not edited.

`python -m funcgrad.kernels.write_updates` prints it from `update_rules`. Each function changes a
parameter `x` and its state in place; a gradient is left as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def sgd(x: Any, g: Any, maximize: Any, shrink: Any, decay: Any, lr: Any) -> None:
    """A step of `sgd`."""
    if maximize is not None:
        t0 = np.negative(g)
        g = t0
    if shrink is not None:
        np.multiply(x, shrink, x)
    if decay is not None:
        t0 = np.multiply(x, decay)
        np.add(g, t0, t0)
        g = t0
    t0 = np.multiply(g, lr)
    np.subtract(x, t0, x)


def momentum_first(
    x: Any,
    g: Any,
    buffer: Any,
    maximize: Any,
    shrink: Any,
    decay: Any,
    lr: Any,
) -> None:
    """A step of `momentum_first`."""
    if maximize is not None:
        t0 = np.negative(g)
        g = t0
    if shrink is not None:
        np.multiply(x, shrink, x)
    if decay is not None:
        t0 = np.multiply(x, decay)
        np.add(g, t0, t0)
        g = t0
    t0 = np.multiply(g, lr)
    np.subtract(x, t0, x)
    np.copyto(buffer, g)


def momentum(
    x: Any,
    g: Any,
    buffer: Any,
    maximize: Any,
    shrink: Any,
    decay: Any,
    momentum: Any,
    share: Any,
    lr: Any,
) -> None:
    """A step of `momentum`."""
    if maximize is not None:
        t0 = np.negative(g)
        g = t0
    if shrink is not None:
        np.multiply(x, shrink, x)
    if decay is not None:
        t0 = np.multiply(x, decay)
        np.add(g, t0, t0)
        g = t0
    t0 = np.multiply(buffer, momentum)
    t1 = np.multiply(g, share)
    np.add(t0, t1, buffer)
    np.multiply(buffer, lr, t1)
    np.subtract(x, t1, x)


def nesterov_first(
    x: Any,
    g: Any,
    buffer: Any,
    maximize: Any,
    shrink: Any,
    decay: Any,
    momentum: Any,
    lr: Any,
) -> None:
    """A step of `nesterov_first`."""
    if maximize is not None:
        t0 = np.negative(g)
        g = t0
    if shrink is not None:
        np.multiply(x, shrink, x)
    if decay is not None:
        t0 = np.multiply(x, decay)
        np.add(g, t0, t0)
        g = t0
    t0 = np.multiply(g, momentum)
    np.add(g, t0, t0)
    np.multiply(t0, lr, t0)
    np.subtract(x, t0, x)
    np.copyto(buffer, g)


def nesterov(
    x: Any,
    g: Any,
    buffer: Any,
    maximize: Any,
    shrink: Any,
    decay: Any,
    momentum: Any,
    share: Any,
    lr: Any,
) -> None:
    """A step of `nesterov`."""
    if maximize is not None:
        t0 = np.negative(g)
        g = t0
    if shrink is not None:
        np.multiply(x, shrink, x)
    if decay is not None:
        t0 = np.multiply(x, decay)
        np.add(g, t0, t0)
        g = t0
    t0 = np.multiply(buffer, momentum)
    t1 = np.multiply(g, share)
    np.add(t0, t1, buffer)
    np.multiply(buffer, momentum, t1)
    np.add(g, t1, t1)
    np.multiply(t1, lr, t1)
    np.subtract(x, t1, x)


def asgd(
    x: Any,
    g: Any,
    average: Any,
    maximize: Any,
    shrink: Any,
    decay: Any,
    kept: Any,
    eta: Any,
    share: Any,
) -> None:
    """A step of `asgd`."""
    if maximize is not None:
        t0 = np.negative(g)
        g = t0
    if shrink is not None:
        np.multiply(x, shrink, x)
    if decay is not None:
        t0 = np.multiply(x, decay)
        np.add(g, t0, t0)
        g = t0
    t0 = np.multiply(x, kept)
    t1 = np.multiply(g, eta)
    np.subtract(t0, t1, x)
    t2 = np.not_equal(share, 1.0)
    np.subtract(x, average, t1)
    np.multiply(t1, share, t1)
    np.add(average, t1, t1)
    np.copyto(average, np.where(t2, t1, x))


def rprop(
    x: Any,
    g: Any,
    before: Any,
    size: Any,
    maximize: Any,
    shrink: Any,
    decay: Any,
    down: Any,
    up: Any,
    smallest: Any,
    largest: Any,
) -> None:
    """A step of `rprop`."""
    if maximize is not None:
        t0 = np.negative(g)
        g = t0
    if shrink is not None:
        np.multiply(x, shrink, x)
    if decay is not None:
        t0 = np.multiply(x, decay)
        np.add(g, t0, t0)
        g = t0
    t0 = np.multiply(g, before)
    t1 = np.less(t0, 0.0)
    t2 = np.greater(t0, 0.0)
    np.multiply(size, up, t0)
    t3 = np.multiply(size, down)
    t4 = np.where(t1, t3, size)
    t5 = np.where(t2, t0, t4)
    np.maximum(t5, smallest, out=t5)
    np.minimum(t5, largest, out=size)
    np.copyto(before, np.where(t1, 0.0, g))
    t6 = np.greater(before, 0.0)
    t7 = np.less(before, 0.0)
    np.negative(size, t5)
    np.multiply(size, 0.0, t4)
    t8 = np.where(t7, t5, t4)
    t9 = np.where(t6, size, t8)
    np.subtract(x, t9, x)


def adam(
    x: Any,
    g: Any,
    mean: Any,
    square: Any,
    maximize: Any,
    shrink: Any,
    decay: Any,
    rest1: Any,
    beta2: Any,
    rest2: Any,
    root: Any,
    eps: Any,
    rate: Any,
) -> None:
    """A step of `adam`."""
    if maximize is not None:
        t0 = np.negative(g)
        g = t0
    if shrink is not None:
        np.multiply(x, shrink, x)
    if decay is not None:
        t0 = np.multiply(x, decay)
        np.add(g, t0, t0)
        g = t0
    t0 = np.subtract(g, mean)
    np.multiply(t0, rest1, t0)
    np.add(mean, t0, mean)
    np.multiply(square, beta2, t0)
    t1 = np.multiply(g, rest2)
    np.multiply(t1, g, t1)
    np.add(t0, t1, square)
    np.sqrt(square, t1)
    np.divide(t1, root, t1)
    np.add(t1, eps, t1)
    np.divide(mean, t1, t1)
    np.multiply(t1, rate, t1)
    np.subtract(x, t1, x)


def amsgrad(
    x: Any,
    g: Any,
    mean: Any,
    square: Any,
    most: Any,
    maximize: Any,
    shrink: Any,
    decay: Any,
    rest1: Any,
    beta2: Any,
    rest2: Any,
    root: Any,
    eps: Any,
    rate: Any,
) -> None:
    """A step of `amsgrad`."""
    if maximize is not None:
        t0 = np.negative(g)
        g = t0
    if shrink is not None:
        np.multiply(x, shrink, x)
    if decay is not None:
        t0 = np.multiply(x, decay)
        np.add(g, t0, t0)
        g = t0
    t0 = np.subtract(g, mean)
    np.multiply(t0, rest1, t0)
    np.add(mean, t0, mean)
    np.multiply(square, beta2, t0)
    t1 = np.multiply(g, rest2)
    np.multiply(t1, g, t1)
    np.add(t0, t1, square)
    np.maximum(most, square, out=most)
    np.sqrt(most, t1)
    np.divide(t1, root, t1)
    np.add(t1, eps, t1)
    np.divide(mean, t1, t1)
    np.multiply(t1, rate, t1)
    np.subtract(x, t1, x)


def adamax(
    x: Any,
    g: Any,
    mean: Any,
    most: Any,
    maximize: Any,
    shrink: Any,
    decay: Any,
    rest1: Any,
    beta2: Any,
    eps: Any,
    rate: Any,
) -> None:
    """A step of `adamax`."""
    if maximize is not None:
        t0 = np.negative(g)
        g = t0
    if shrink is not None:
        np.multiply(x, shrink, x)
    if decay is not None:
        t0 = np.multiply(x, decay)
        np.add(g, t0, t0)
        g = t0
    t0 = np.subtract(g, mean)
    np.multiply(t0, rest1, t0)
    np.add(mean, t0, mean)
    np.multiply(most, beta2, t0)
    t1 = np.absolute(g)
    np.add(t1, eps, t1)
    np.maximum(t0, t1, out=most)
    np.multiply(mean, rate, t1)
    np.divide(t1, most, t1)
    np.subtract(x, t1, x)


def nadam(
    x: Any,
    g: Any,
    mean: Any,
    square: Any,
    maximize: Any,
    shrink: Any,
    decay: Any,
    rest1: Any,
    beta2: Any,
    rest2: Any,
    correction: Any,
    eps: Any,
    rate: Any,
    momentum_rate: Any,
) -> None:
    """A step of `nadam`."""
    if maximize is not None:
        t0 = np.negative(g)
        g = t0
    if shrink is not None:
        np.multiply(x, shrink, x)
    if decay is not None:
        t0 = np.multiply(x, decay)
        np.add(g, t0, t0)
        g = t0
    t0 = np.subtract(g, mean)
    np.multiply(t0, rest1, t0)
    np.add(mean, t0, mean)
    np.multiply(square, beta2, t0)
    t1 = np.multiply(g, rest2)
    np.multiply(t1, g, t1)
    np.add(t0, t1, square)
    np.divide(square, correction, t1)
    np.sqrt(t1, t1)
    np.add(t1, eps, t1)
    np.multiply(g, rate, t0)
    np.divide(t0, t1, t0)
    np.subtract(x, t0, t0)
    t2 = np.multiply(mean, momentum_rate)
    np.divide(t2, t1, t2)
    np.subtract(t0, t2, x)


def radam(
    x: Any,
    g: Any,
    mean: Any,
    square: Any,
    maximize: Any,
    shrink: Any,
    decay: Any,
    rest1: Any,
    beta2: Any,
    rest2: Any,
    eps: Any,
    rectified: Any,
    rate: Any,
) -> None:
    """A step of `radam`."""
    if maximize is not None:
        t0 = np.negative(g)
        g = t0
    if shrink is not None:
        np.multiply(x, shrink, x)
    if decay is not None:
        t0 = np.multiply(x, decay)
        np.add(g, t0, t0)
        g = t0
    t0 = np.subtract(g, mean)
    np.multiply(t0, rest1, t0)
    np.add(mean, t0, mean)
    np.multiply(square, beta2, t0)
    t1 = np.multiply(g, rest2)
    np.multiply(t1, g, t1)
    np.add(t0, t1, square)
    t2 = np.greater(rectified, 0.0)
    np.sqrt(square, t1)
    np.add(t1, eps, t1)
    t3 = np.where(t2, t1, 1.0)
    np.multiply(mean, rate, t1)
    np.divide(t1, t3, t3)
    np.subtract(x, t3, x)


def adadelta(
    x: Any,
    g: Any,
    square: Any,
    total: Any,
    maximize: Any,
    shrink: Any,
    decay: Any,
    rho: Any,
    rest: Any,
    eps: Any,
    lr: Any,
) -> None:
    """A step of `adadelta`."""
    if maximize is not None:
        t0 = np.negative(g)
        g = t0
    if shrink is not None:
        np.multiply(x, shrink, x)
    if decay is not None:
        t0 = np.multiply(x, decay)
        np.add(g, t0, t0)
        g = t0
    t0 = np.multiply(square, rho)
    t1 = np.multiply(g, g)
    np.multiply(t1, rest, t1)
    np.add(t0, t1, square)
    np.add(total, eps, t1)
    np.sqrt(t1, t1)
    np.add(square, eps, t0)
    np.sqrt(t0, t0)
    np.divide(t1, t0, t1)
    np.multiply(t1, g, t1)
    np.multiply(t1, lr, t0)
    np.subtract(x, t0, x)
    np.multiply(total, rho, t0)
    np.multiply(t1, t1, t1)
    np.multiply(t1, rest, t1)
    np.add(t0, t1, total)


def adagrad(
    x: Any,
    g: Any,
    total: Any,
    maximize: Any,
    shrink: Any,
    decay: Any,
    eps: Any,
    rate: Any,
) -> None:
    """A step of `adagrad`."""
    if maximize is not None:
        t0 = np.negative(g)
        g = t0
    if shrink is not None:
        np.multiply(x, shrink, x)
    if decay is not None:
        t0 = np.multiply(x, decay)
        np.add(g, t0, t0)
        g = t0
    t0 = np.multiply(g, g)
    np.add(total, t0, total)
    np.sqrt(total, t0)
    np.add(t0, eps, t0)
    np.divide(g, t0, t0)
    np.multiply(t0, rate, t0)
    np.subtract(x, t0, x)


def rmsprop(
    x: Any,
    g: Any,
    square: Any,
    maximize: Any,
    shrink: Any,
    decay: Any,
    alpha: Any,
    rest: Any,
    eps: Any,
    lr: Any,
) -> None:
    """A step of `rmsprop`."""
    if maximize is not None:
        t0 = np.negative(g)
        g = t0
    if shrink is not None:
        np.multiply(x, shrink, x)
    if decay is not None:
        t0 = np.multiply(x, decay)
        np.add(g, t0, t0)
        g = t0
    t0 = np.multiply(square, alpha)
    t1 = np.multiply(g, g)
    np.multiply(t1, rest, t1)
    np.add(t0, t1, square)
    np.sqrt(square, t1)
    np.add(t1, eps, t1)
    np.divide(g, t1, t1)
    np.multiply(t1, lr, t1)
    np.subtract(x, t1, x)


def rmsprop_centered(
    x: Any,
    g: Any,
    square: Any,
    mean: Any,
    maximize: Any,
    shrink: Any,
    decay: Any,
    alpha: Any,
    rest: Any,
    eps: Any,
    lr: Any,
) -> None:
    """A step of `rmsprop_centered`."""
    if maximize is not None:
        t0 = np.negative(g)
        g = t0
    if shrink is not None:
        np.multiply(x, shrink, x)
    if decay is not None:
        t0 = np.multiply(x, decay)
        np.add(g, t0, t0)
        g = t0
    t0 = np.multiply(square, alpha)
    t1 = np.multiply(g, g)
    np.multiply(t1, rest, t1)
    np.add(t0, t1, square)
    np.subtract(g, mean, t1)
    np.multiply(t1, rest, t1)
    np.add(mean, t1, mean)
    np.multiply(mean, mean, t1)
    np.subtract(square, t1, t1)
    np.sqrt(t1, t1)
    np.add(t1, eps, t1)
    np.divide(g, t1, t1)
    np.multiply(t1, lr, t1)
    np.subtract(x, t1, x)


def rmsprop_momentum(
    x: Any,
    g: Any,
    square: Any,
    buffer: Any,
    maximize: Any,
    shrink: Any,
    decay: Any,
    alpha: Any,
    rest: Any,
    eps: Any,
    momentum: Any,
    lr: Any,
) -> None:
    """A step of `rmsprop_momentum`."""
    if maximize is not None:
        t0 = np.negative(g)
        g = t0
    if shrink is not None:
        np.multiply(x, shrink, x)
    if decay is not None:
        t0 = np.multiply(x, decay)
        np.add(g, t0, t0)
        g = t0
    t0 = np.multiply(square, alpha)
    t1 = np.multiply(g, g)
    np.multiply(t1, rest, t1)
    np.add(t0, t1, square)
    np.multiply(buffer, momentum, t1)
    np.sqrt(square, t0)
    np.add(t0, eps, t0)
    np.divide(g, t0, t0)
    np.add(t1, t0, buffer)
    np.multiply(buffer, lr, t1)
    np.subtract(x, t1, x)


def rmsprop_centered_momentum(
    x: Any,
    g: Any,
    square: Any,
    mean: Any,
    buffer: Any,
    maximize: Any,
    shrink: Any,
    decay: Any,
    alpha: Any,
    rest: Any,
    eps: Any,
    momentum: Any,
    lr: Any,
) -> None:
    """A step of `rmsprop_centered_momentum`."""
    if maximize is not None:
        t0 = np.negative(g)
        g = t0
    if shrink is not None:
        np.multiply(x, shrink, x)
    if decay is not None:
        t0 = np.multiply(x, decay)
        np.add(g, t0, t0)
        g = t0
    t0 = np.multiply(square, alpha)
    t1 = np.multiply(g, g)
    np.multiply(t1, rest, t1)
    np.add(t0, t1, square)
    np.subtract(g, mean, t1)
    np.multiply(t1, rest, t1)
    np.add(mean, t1, mean)
    np.multiply(mean, mean, t1)
    np.subtract(square, t1, t1)
    np.multiply(buffer, momentum, t0)
    np.sqrt(t1, t1)
    np.add(t1, eps, t1)
    np.divide(g, t1, t1)
    np.add(t0, t1, buffer)
    np.multiply(buffer, lr, t1)
    np.subtract(x, t1, x)
