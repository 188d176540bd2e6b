"""The steps of optimisers, each stated once, for one element.

A rule takes the parameter `x`, its gradient `g`, the state and, by keyword, numbers, and returns
the parameter and the state after the step. It is written in funcgrad operations: `write_updates`
prints from it what runs on arrays, and a compiled step is traced through it. What is the same for
all elements, such as the corrections of Adam, the optimisers compute once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from funcgrad.core.types import Array
from funcgrad.ops.arithmetic import (
    absolute,
    greater,
    less,
    maximum,
    minimum,
    not_equal,
    sign,
    sqrt,
    where,
)
from funcgrad.ops.transcendental import tanh

__all__ = ["OPTIONS", "OTHER_RULES", "RULES", "arrays_of", "numbers_of", "prepared"]

Rule = Callable[..., tuple[Array, ...]]
OPTIONS = ("maximize", "shrink", "decay")


def prepared(
    x: Array, g: Array, *, maximize: Any = None, shrink: Any = None, decay: Any = None
) -> tuple[Array, Array]:
    """What may come before a rule: each where its number is not None.

    Ascent instead of descent; a parameter that decays by itself; one whose decay is a part of its
    gradient.
    """
    if maximize is not None:
        g = -g
    if shrink is not None:
        x = x * shrink
    if decay is not None:
        g = g + x * decay
    return x, g


# ------------------------------------------------------------------------------------- descent


def sgd(x: Any, g: Any, *, lr: Any) -> tuple[Any, ...]:
    """Robbins and Monro 1951."""
    return (x - g * lr,)


def momentum_first(x: Any, g: Any, buffer: Any, *, lr: Any) -> tuple[Any, ...]:
    """A first step, which finds no buffer: that is the gradient."""
    return x - g * lr, g


def momentum(x: Any, g: Any, buffer: Any, *, momentum: Any, share: Any, lr: Any) -> tuple[Any, ...]:
    """Polyak 1964."""
    buffer = buffer * momentum + g * share
    return x - buffer * lr, buffer


def nesterov_first(x: Any, g: Any, buffer: Any, *, momentum: Any, lr: Any) -> tuple[Any, ...]:
    """A first step, which finds no buffer: that is the gradient."""
    return x - (g + g * momentum) * lr, g


def nesterov(x: Any, g: Any, buffer: Any, *, momentum: Any, share: Any, lr: Any) -> tuple[Any, ...]:
    """Nesterov 1983, in the form of Sutskever et al. 2013."""
    buffer = buffer * momentum + g * share
    return x - (g + buffer * momentum) * lr, buffer


def asgd(x: Any, g: Any, average: Any, *, kept: Any, eta: Any, share: Any) -> tuple[Any, ...]:
    """Polyak and Juditsky 1992: a descent and the average of its points, at first the last one."""
    x = x * kept - g * eta
    return x, where(not_equal(share, 1.0), average + (x - average) * share, x)


def rprop(
    x: Any, g: Any, before: Any, size: Any, *, down: Any, up: Any, smallest: Any, largest: Any
) -> tuple[Any, ...]:
    """Riedmiller and Braun 1993: sizes grow while the sign of the gradient stays.

    Where it changes, the gradient counts as 0; so does, in the step, one that is not a number.
    """
    product = g * before
    turned = less(product, 0.0)
    size = where(greater(product, 0.0), size * up, where(turned, size * down, size))
    size = minimum(maximum(size, smallest), largest)
    g = where(turned, 0.0, g)
    step = where(greater(g, 0.0), size, where(less(g, 0.0), -size, size * 0.0))
    return x - step, g, size


# ---------------------------------------------------------------------------------------- Adam


def _means(g: Any, mean: Any, square: Any, rest1: Any, beta2: Any, rest2: Any) -> tuple[Any, Any]:
    return mean + (g - mean) * rest1, square * beta2 + g * rest2 * g


def adam(
    x: Any, g: Any, mean: Any, square: Any, *, rest1: Any, beta2: Any, rest2: Any, root: Any,
    eps: Any, rate: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Kingma and Ba 2015; `root` and `rate` hold the corrections for the zeros at the start."""
    mean, square = _means(g, mean, square, rest1, beta2, rest2)
    return x - mean / (sqrt(square) / root + eps) * rate, mean, square


def amsgrad(
    x: Any, g: Any, mean: Any, square: Any, most: Any, *, rest1: Any, beta2: Any, rest2: Any,
    root: Any, eps: Any, rate: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Reddi et al. 2018: `adam` with the largest second mean so far."""
    mean, square = _means(g, mean, square, rest1, beta2, rest2)
    most = maximum(most, square)
    return x - mean / (sqrt(most) / root + eps) * rate, mean, square, most


def adamax(
    x: Any, g: Any, mean: Any, most: Any, *, rest1: Any, beta2: Any, eps: Any, rate: Any
) -> tuple[Any, ...]:
    """Kingma and Ba 2015, section 7.1: the largest gradient takes the place of the mean square."""
    mean = mean + (g - mean) * rest1
    most = maximum(most * beta2, absolute(g) + eps)
    return x - mean * rate / most, mean, most


def nadam(
    x: Any, g: Any, mean: Any, square: Any, *, rest1: Any, beta2: Any, rest2: Any,
    correction: Any, eps: Any, rate: Any, momentum_rate: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Dozat 2016: the momentum of Nesterov in `adam`."""
    mean, square = _means(g, mean, square, rest1, beta2, rest2)
    size = sqrt(square / correction) + eps
    return x - g * rate / size - mean * momentum_rate / size, mean, square


def radam(
    x: Any, g: Any, mean: Any, square: Any, *, rest1: Any, beta2: Any, rest2: Any, eps: Any,
    rectified: Any, rate: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Liu et al. 2020: `adam` once the variance of its steps is known (`rectified` is 1)."""
    mean, square = _means(g, mean, square, rest1, beta2, rest2)
    size = where(greater(rectified, 0.0), sqrt(square) + eps, 1.0)
    return x - mean * rate / size, mean, square


def adam_rooted(
    x: Any, g: Any, mean: Any, square: Any, *, rest1: Any, beta2: Any, rest2: Any,
    correction: Any, inner: Any, eps: Any, rate: Any, momentum_rate: Any, rectified: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """`adam`, `nadam` or `radam` with a number under the root, where its derivative is finite."""
    mean, square = _means(g, mean, square, rest1, beta2, rest2)
    size = where(greater(rectified, 0.0), sqrt(square / correction + inner) + eps, 1.0)
    return x - g * rate / size - mean * momentum_rate / size, mean, square


# ------------------------------------------------------------------------------------ adaptive


def adadelta(
    x: Any, g: Any, square: Any, total: Any, *, rho: Any, rest: Any, eps: Any, lr: Any
) -> tuple[Any, ...]:
    """Zeiler 2012: the size of the steps so far over that of the gradients."""
    square = _mean_square(square, g, rho, rest)
    step = sqrt(total + eps) / sqrt(square + eps) * g
    return x - step * lr, square, _mean_square(total, step, rho, rest)


def adagrad(x: Any, g: Any, total: Any, *, eps: Any, rate: Any) -> tuple[Any, ...]:
    """Duchi et al. 2011."""
    total = total + g * g
    return x - g / (sqrt(total) + eps) * rate, total


def _mean_square(square: Any, g: Any, alpha: Any, rest: Any) -> Any:
    return square * alpha + g * g * rest


def _variance(square: Any, mean: Any, g: Any, rest: Any) -> tuple[Any, Any]:
    mean = mean + (g - mean) * rest
    return square - mean * mean, mean


def rmsprop(
    x: Any, g: Any, square: Any, *, alpha: Any, rest: Any, eps: Any, lr: Any
) -> tuple[Any, ...]:
    """Hinton 2012."""
    square = _mean_square(square, g, alpha, rest)
    return x - g / (sqrt(square) + eps) * lr, square


def rmsprop_centered(
    x: Any, g: Any, square: Any, mean: Any, *, alpha: Any, rest: Any, eps: Any, lr: Any
) -> tuple[Any, ...]:
    """Graves 2013: the variance takes the place of the mean square."""
    square = _mean_square(square, g, alpha, rest)
    variance, mean = _variance(square, mean, g, rest)
    return x - g / (sqrt(variance) + eps) * lr, square, mean


def rmsprop_momentum(
    x: Any, g: Any, square: Any, buffer: Any, *, alpha: Any, rest: Any, eps: Any, momentum: Any,
    lr: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """`rmsprop` with a buffer of the steps."""
    square = _mean_square(square, g, alpha, rest)
    buffer = buffer * momentum + g / (sqrt(square) + eps)
    return x - buffer * lr, square, buffer


def rmsprop_centered_momentum(
    x: Any, g: Any, square: Any, mean: Any, buffer: Any, *, alpha: Any, rest: Any, eps: Any,
    momentum: Any, lr: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """`rmsprop_centered` with a buffer of the steps."""
    square = _mean_square(square, g, alpha, rest)
    variance, mean = _variance(square, mean, g, rest)
    buffer = buffer * momentum + g / (sqrt(variance) + eps)
    return x - buffer * lr, square, mean, buffer


# ------------------------------------------------------ what the functional optimisers have besides


def lion(
    x: Any, g: Any, mean: Any, *, beta1: Any, rest1: Any, beta2: Any, rest2: Any, lr: Any
) -> tuple[Any, ...]:
    """Chen et al. 2023."""
    return x - sign(mean * beta1 + g * rest1) * lr, mean * beta2 + g * rest2


def lion_smooth(
    x: Any, g: Any, mean: Any, *, beta1: Any, rest1: Any, beta2: Any, rest2: Any, steep: Any,
    lr: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """`lion` with a smooth sign."""
    return x - tanh((mean * beta1 + g * rest1) * steep) * lr, mean * beta2 + g * rest2


def lion_refined(
    x: Any, g: Any, mean: Any, *, beta1: Any, rest1: Any, beta2: Any, rest2: Any, lr: Any
) -> tuple[Any, ...]:
    """`lion` with steps that shrink as the mean does where that is less than 1."""
    step = mean * beta1 + g * rest1
    return x - where(less(absolute(step), 1.0), step, sign(step)) * lr, mean * beta2 + g * rest2


def adagrad_under_root(x: Any, g: Any, total: Any, *, eps: Any, rate: Any) -> tuple[Any, ...]:
    """`adagrad` with `eps` under the root; no step where there was no gradient yet."""
    total = total + g * g
    some = greater(total, 0.0)
    size = sqrt(where(some, total, 1.0) + eps)
    return x - where(some, g / size, 0.0) * rate, total


def rmsprop_under_root(
    x: Any, g: Any, square: Any, *, alpha: Any, rest: Any, eps: Any, lr: Any
) -> tuple[Any, ...]:
    """`rmsprop` with `eps` under the root."""
    square = _mean_square(square, g, alpha, rest)
    return x - g / sqrt(square + eps) * lr, square


def rmsprop_centered_under_root(
    x: Any, g: Any, square: Any, mean: Any, *, alpha: Any, rest: Any, eps: Any, lr: Any
) -> tuple[Any, ...]:
    """`rmsprop_centered` with `eps` under the root."""
    square = _mean_square(square, g, alpha, rest)
    variance, mean = _variance(square, mean, g, rest)
    return x - g / sqrt(variance + eps) * lr, square, mean


def rmsprop_corrected(
    x: Any, g: Any, square: Any, *, alpha: Any, rest: Any, correction: Any, inner: Any, eps: Any,
    lr: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """`rmsprop` with the correction of `adam` for the zeros at the start."""
    square = _mean_square(square, g, alpha, rest)
    return x - g / (sqrt(square / correction + inner) + eps) * lr, square


def rmsprop_centered_corrected(
    x: Any, g: Any, square: Any, mean: Any, *, alpha: Any, rest: Any, correction: Any, inner: Any,
    eps: Any, lr: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """`rmsprop_centered` with the correction of both means."""
    square, mean = _mean_square(square, g, alpha, rest), mean * alpha + g * rest
    first = mean / correction
    variance = square / correction - first * first
    return x - g / (sqrt(variance + inner) + eps) * lr, square, mean


OTHER_RULES: dict[str, Rule] = {
    rule.__name__: rule
    for rule in (
        *(lion, lion_smooth, lion_refined, adam_rooted, adagrad_under_root),
        *(rmsprop_under_root, rmsprop_centered_under_root),
        *(rmsprop_corrected, rmsprop_centered_corrected),
    )
}  # without kernels of their own
RULES: dict[str, Rule] = {
    rule.__name__: rule
    for rule in (
        *(sgd, momentum_first, momentum, nesterov_first, nesterov, asgd, rprop),
        *(adam, amsgrad, adamax, nadam, radam, adadelta, adagrad),
        *(rmsprop, rmsprop_centered, rmsprop_momentum, rmsprop_centered_momentum),
    )
}


def _named(rule: Rule, kind: Any) -> list[str]:
    return [n for n, p in inspect.signature(rule).parameters.items() if p.kind is kind]


def arrays_of(rule: Rule) -> list[str]:
    """The names of the arrays: the parameter, its gradient, the state."""
    return _named(rule, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def numbers_of(rule: Rule) -> list[str]:
    """The names of the numbers."""
    return _named(rule, inspect.Parameter.KEYWORD_ONLY)
