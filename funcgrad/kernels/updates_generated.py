"""The steps of optimisers as Numba functions: written, not edited.

`python -m funcgrad.kernels.write_updates` prints it from `update_rules`. Each function takes flat
arrays of one size: the parameter, its gradient and the state, which it changes in place; then what
may come before (None where it does not), and numbers.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from numba import njit


@njit(nogil=True, error_model="numpy")
def sgd_update(x: Any, g: Any, maximize: Any, shrink: Any, decay: Any, lr: Any) -> None:
    """A step of `sgd`."""
    real = x.dtype.type
    lr_ = real(lr)
    for j in range(x.size):
        x_ = x[j]
        g_ = g[j]
        if maximize is not None:
            t0 = -g_
            g_ = t0
        if shrink is not None:
            t0 = x_ * real(shrink)
            x_ = t0
        if decay is not None:
            t0 = x_ * real(decay)
            t1 = g_ + t0
            g_ = t1
        t0 = g_ * lr_
        t1 = x_ - t0
        x[j] = t1


@njit(nogil=True, error_model="numpy")
def momentum_first_update(
    x: Any,
    g: Any,
    buffer: Any,
    maximize: Any,
    shrink: Any,
    decay: Any,
    lr: Any,
) -> None:
    """A step of `momentum_first`."""
    real = x.dtype.type
    lr_ = real(lr)
    for j in range(x.size):
        x_ = x[j]
        g_ = g[j]
        if maximize is not None:
            t0 = -g_
            g_ = t0
        if shrink is not None:
            t0 = x_ * real(shrink)
            x_ = t0
        if decay is not None:
            t0 = x_ * real(decay)
            t1 = g_ + t0
            g_ = t1
        t0 = g_ * lr_
        t1 = x_ - t0
        x[j] = t1
        buffer[j] = g_


@njit(nogil=True, error_model="numpy")
def momentum_update(
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
    real = x.dtype.type
    momentum_ = real(momentum)
    share_ = real(share)
    lr_ = real(lr)
    for j in range(x.size):
        x_ = x[j]
        g_ = g[j]
        buffer_ = buffer[j]
        if maximize is not None:
            t0 = -g_
            g_ = t0
        if shrink is not None:
            t0 = x_ * real(shrink)
            x_ = t0
        if decay is not None:
            t0 = x_ * real(decay)
            t1 = g_ + t0
            g_ = t1
        t0 = buffer_ * momentum_
        t1 = g_ * share_
        t2 = t0 + t1
        t3 = t2 * lr_
        t4 = x_ - t3
        x[j] = t4
        buffer[j] = t2


@njit(nogil=True, error_model="numpy")
def nesterov_first_update(
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
    real = x.dtype.type
    momentum_ = real(momentum)
    lr_ = real(lr)
    for j in range(x.size):
        x_ = x[j]
        g_ = g[j]
        if maximize is not None:
            t0 = -g_
            g_ = t0
        if shrink is not None:
            t0 = x_ * real(shrink)
            x_ = t0
        if decay is not None:
            t0 = x_ * real(decay)
            t1 = g_ + t0
            g_ = t1
        t0 = g_ * momentum_
        t1 = g_ + t0
        t2 = t1 * lr_
        t3 = x_ - t2
        x[j] = t3
        buffer[j] = g_


@njit(nogil=True, error_model="numpy")
def nesterov_update(
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
    real = x.dtype.type
    momentum_ = real(momentum)
    share_ = real(share)
    lr_ = real(lr)
    for j in range(x.size):
        x_ = x[j]
        g_ = g[j]
        buffer_ = buffer[j]
        if maximize is not None:
            t0 = -g_
            g_ = t0
        if shrink is not None:
            t0 = x_ * real(shrink)
            x_ = t0
        if decay is not None:
            t0 = x_ * real(decay)
            t1 = g_ + t0
            g_ = t1
        t0 = buffer_ * momentum_
        t1 = g_ * share_
        t2 = t0 + t1
        t3 = t2 * momentum_
        t4 = g_ + t3
        t5 = t4 * lr_
        t6 = x_ - t5
        x[j] = t6
        buffer[j] = t2


@njit(nogil=True, error_model="numpy")
def asgd_update(
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
    real = x.dtype.type
    kept_ = real(kept)
    eta_ = real(eta)
    share_ = real(share)
    for j in range(x.size):
        x_ = x[j]
        g_ = g[j]
        average_ = average[j]
        if maximize is not None:
            t0 = -g_
            g_ = t0
        if shrink is not None:
            t0 = x_ * real(shrink)
            x_ = t0
        if decay is not None:
            t0 = x_ * real(decay)
            t1 = g_ + t0
            g_ = t1
        t0 = x_ * kept_
        t1 = g_ * eta_
        t2 = t0 - t1
        t3 = share_ != real(1.0)
        t4 = t2 - average_
        t5 = t4 * share_
        t6 = average_ + t5
        t7 = t6 if t3 else t2
        x[j] = t2
        average[j] = t7


@njit(nogil=True, error_model="numpy")
def rprop_update(
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
    real = x.dtype.type
    down_ = real(down)
    up_ = real(up)
    smallest_ = real(smallest)
    largest_ = real(largest)
    for j in range(x.size):
        x_ = x[j]
        g_ = g[j]
        before_ = before[j]
        size_ = size[j]
        if maximize is not None:
            t0 = -g_
            g_ = t0
        if shrink is not None:
            t0 = x_ * real(shrink)
            x_ = t0
        if decay is not None:
            t0 = x_ * real(decay)
            t1 = g_ + t0
            g_ = t1
        t0 = g_ * before_
        t1 = t0 < real(0.0)
        t2 = t0 > real(0.0)
        t3 = size_ * up_
        t4 = size_ * down_
        t5 = t4 if t1 else size_
        t6 = t3 if t2 else t5
        t7 = t6 > smallest_
        t8 = t6 != t6
        t9 = t7 | t8
        t10 = t6 if t9 else smallest_
        t11 = t10 < largest_
        t12 = t10 != t10
        t13 = t11 | t12
        t14 = t10 if t13 else largest_
        t15 = real(0.0) if t1 else g_
        t16 = t15 > real(0.0)
        t17 = t15 < real(0.0)
        t18 = -t14
        t19 = t14 * real(0.0)
        t20 = t18 if t17 else t19
        t21 = t14 if t16 else t20
        t22 = x_ - t21
        x[j] = t22
        before[j] = t15
        size[j] = t14


@njit(nogil=True, error_model="numpy")
def adam_update(
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
    real = x.dtype.type
    rest1_ = real(rest1)
    beta2_ = real(beta2)
    rest2_ = real(rest2)
    root_ = real(root)
    eps_ = real(eps)
    rate_ = real(rate)
    for j in range(x.size):
        x_ = x[j]
        g_ = g[j]
        mean_ = mean[j]
        square_ = square[j]
        if maximize is not None:
            t0 = -g_
            g_ = t0
        if shrink is not None:
            t0 = x_ * real(shrink)
            x_ = t0
        if decay is not None:
            t0 = x_ * real(decay)
            t1 = g_ + t0
            g_ = t1
        t0 = g_ - mean_
        t1 = t0 * rest1_
        t2 = mean_ + t1
        t3 = square_ * beta2_
        t4 = g_ * rest2_
        t5 = t4 * g_
        t6 = t3 + t5
        t7 = sqrt(t6)
        t8 = t7 / root_
        t9 = t8 + eps_
        t10 = t2 / t9
        t11 = t10 * rate_
        t12 = x_ - t11
        x[j] = t12
        mean[j] = t2
        square[j] = t6


@njit(nogil=True, error_model="numpy")
def amsgrad_update(
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
    real = x.dtype.type
    rest1_ = real(rest1)
    beta2_ = real(beta2)
    rest2_ = real(rest2)
    root_ = real(root)
    eps_ = real(eps)
    rate_ = real(rate)
    for j in range(x.size):
        x_ = x[j]
        g_ = g[j]
        mean_ = mean[j]
        square_ = square[j]
        most_ = most[j]
        if maximize is not None:
            t0 = -g_
            g_ = t0
        if shrink is not None:
            t0 = x_ * real(shrink)
            x_ = t0
        if decay is not None:
            t0 = x_ * real(decay)
            t1 = g_ + t0
            g_ = t1
        t0 = g_ - mean_
        t1 = t0 * rest1_
        t2 = mean_ + t1
        t3 = square_ * beta2_
        t4 = g_ * rest2_
        t5 = t4 * g_
        t6 = t3 + t5
        t7 = most_ > t6
        t8 = most_ != most_
        t9 = t7 | t8
        t10 = most_ if t9 else t6
        t11 = sqrt(t10)
        t12 = t11 / root_
        t13 = t12 + eps_
        t14 = t2 / t13
        t15 = t14 * rate_
        t16 = x_ - t15
        x[j] = t16
        mean[j] = t2
        square[j] = t6
        most[j] = t10


@njit(nogil=True, error_model="numpy")
def adamax_update(
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
    real = x.dtype.type
    rest1_ = real(rest1)
    beta2_ = real(beta2)
    eps_ = real(eps)
    rate_ = real(rate)
    for j in range(x.size):
        x_ = x[j]
        g_ = g[j]
        mean_ = mean[j]
        most_ = most[j]
        if maximize is not None:
            t0 = -g_
            g_ = t0
        if shrink is not None:
            t0 = x_ * real(shrink)
            x_ = t0
        if decay is not None:
            t0 = x_ * real(decay)
            t1 = g_ + t0
            g_ = t1
        t0 = g_ - mean_
        t1 = t0 * rest1_
        t2 = mean_ + t1
        t3 = most_ * beta2_
        t4 = abs(g_)
        t5 = t4 + eps_
        t6 = t3 > t5
        t7 = t3 != t3
        t8 = t6 | t7
        t9 = t3 if t8 else t5
        t10 = t2 * rate_
        t11 = t10 / t9
        t12 = x_ - t11
        x[j] = t12
        mean[j] = t2
        most[j] = t9


@njit(nogil=True, error_model="numpy")
def nadam_update(
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
    real = x.dtype.type
    rest1_ = real(rest1)
    beta2_ = real(beta2)
    rest2_ = real(rest2)
    correction_ = real(correction)
    eps_ = real(eps)
    rate_ = real(rate)
    momentum_rate_ = real(momentum_rate)
    for j in range(x.size):
        x_ = x[j]
        g_ = g[j]
        mean_ = mean[j]
        square_ = square[j]
        if maximize is not None:
            t0 = -g_
            g_ = t0
        if shrink is not None:
            t0 = x_ * real(shrink)
            x_ = t0
        if decay is not None:
            t0 = x_ * real(decay)
            t1 = g_ + t0
            g_ = t1
        t0 = g_ - mean_
        t1 = t0 * rest1_
        t2 = mean_ + t1
        t3 = square_ * beta2_
        t4 = g_ * rest2_
        t5 = t4 * g_
        t6 = t3 + t5
        t7 = t6 / correction_
        t8 = sqrt(t7)
        t9 = t8 + eps_
        t10 = g_ * rate_
        t11 = t10 / t9
        t12 = x_ - t11
        t13 = t2 * momentum_rate_
        t14 = t13 / t9
        t15 = t12 - t14
        x[j] = t15
        mean[j] = t2
        square[j] = t6


@njit(nogil=True, error_model="numpy")
def radam_update(
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
    real = x.dtype.type
    rest1_ = real(rest1)
    beta2_ = real(beta2)
    rest2_ = real(rest2)
    eps_ = real(eps)
    rectified_ = real(rectified)
    rate_ = real(rate)
    for j in range(x.size):
        x_ = x[j]
        g_ = g[j]
        mean_ = mean[j]
        square_ = square[j]
        if maximize is not None:
            t0 = -g_
            g_ = t0
        if shrink is not None:
            t0 = x_ * real(shrink)
            x_ = t0
        if decay is not None:
            t0 = x_ * real(decay)
            t1 = g_ + t0
            g_ = t1
        t0 = g_ - mean_
        t1 = t0 * rest1_
        t2 = mean_ + t1
        t3 = square_ * beta2_
        t4 = g_ * rest2_
        t5 = t4 * g_
        t6 = t3 + t5
        t7 = rectified_ > real(0.0)
        t8 = sqrt(t6)
        t9 = t8 + eps_
        t10 = t9 if t7 else real(1.0)
        t11 = t2 * rate_
        t12 = t11 / t10
        t13 = x_ - t12
        x[j] = t13
        mean[j] = t2
        square[j] = t6


@njit(nogil=True, error_model="numpy")
def adadelta_update(
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
    real = x.dtype.type
    rho_ = real(rho)
    rest_ = real(rest)
    eps_ = real(eps)
    lr_ = real(lr)
    for j in range(x.size):
        x_ = x[j]
        g_ = g[j]
        square_ = square[j]
        total_ = total[j]
        if maximize is not None:
            t0 = -g_
            g_ = t0
        if shrink is not None:
            t0 = x_ * real(shrink)
            x_ = t0
        if decay is not None:
            t0 = x_ * real(decay)
            t1 = g_ + t0
            g_ = t1
        t0 = square_ * rho_
        t1 = g_ * g_
        t2 = t1 * rest_
        t3 = t0 + t2
        t4 = total_ + eps_
        t5 = sqrt(t4)
        t6 = t3 + eps_
        t7 = sqrt(t6)
        t8 = t5 / t7
        t9 = t8 * g_
        t10 = t9 * lr_
        t11 = x_ - t10
        t12 = total_ * rho_
        t13 = t9 * t9
        t14 = t13 * rest_
        t15 = t12 + t14
        x[j] = t11
        square[j] = t3
        total[j] = t15


@njit(nogil=True, error_model="numpy")
def adagrad_update(
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
    real = x.dtype.type
    eps_ = real(eps)
    rate_ = real(rate)
    for j in range(x.size):
        x_ = x[j]
        g_ = g[j]
        total_ = total[j]
        if maximize is not None:
            t0 = -g_
            g_ = t0
        if shrink is not None:
            t0 = x_ * real(shrink)
            x_ = t0
        if decay is not None:
            t0 = x_ * real(decay)
            t1 = g_ + t0
            g_ = t1
        t0 = g_ * g_
        t1 = total_ + t0
        t2 = sqrt(t1)
        t3 = t2 + eps_
        t4 = g_ / t3
        t5 = t4 * rate_
        t6 = x_ - t5
        x[j] = t6
        total[j] = t1


@njit(nogil=True, error_model="numpy")
def rmsprop_update(
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
    real = x.dtype.type
    alpha_ = real(alpha)
    rest_ = real(rest)
    eps_ = real(eps)
    lr_ = real(lr)
    for j in range(x.size):
        x_ = x[j]
        g_ = g[j]
        square_ = square[j]
        if maximize is not None:
            t0 = -g_
            g_ = t0
        if shrink is not None:
            t0 = x_ * real(shrink)
            x_ = t0
        if decay is not None:
            t0 = x_ * real(decay)
            t1 = g_ + t0
            g_ = t1
        t0 = square_ * alpha_
        t1 = g_ * g_
        t2 = t1 * rest_
        t3 = t0 + t2
        t4 = sqrt(t3)
        t5 = t4 + eps_
        t6 = g_ / t5
        t7 = t6 * lr_
        t8 = x_ - t7
        x[j] = t8
        square[j] = t3


@njit(nogil=True, error_model="numpy")
def rmsprop_centered_update(
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
    real = x.dtype.type
    alpha_ = real(alpha)
    rest_ = real(rest)
    eps_ = real(eps)
    lr_ = real(lr)
    for j in range(x.size):
        x_ = x[j]
        g_ = g[j]
        square_ = square[j]
        mean_ = mean[j]
        if maximize is not None:
            t0 = -g_
            g_ = t0
        if shrink is not None:
            t0 = x_ * real(shrink)
            x_ = t0
        if decay is not None:
            t0 = x_ * real(decay)
            t1 = g_ + t0
            g_ = t1
        t0 = square_ * alpha_
        t1 = g_ * g_
        t2 = t1 * rest_
        t3 = t0 + t2
        t4 = g_ - mean_
        t5 = t4 * rest_
        t6 = mean_ + t5
        t7 = t6 * t6
        t8 = t3 - t7
        t9 = sqrt(t8)
        t10 = t9 + eps_
        t11 = g_ / t10
        t12 = t11 * lr_
        t13 = x_ - t12
        x[j] = t13
        square[j] = t3
        mean[j] = t6


@njit(nogil=True, error_model="numpy")
def rmsprop_momentum_update(
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
    real = x.dtype.type
    alpha_ = real(alpha)
    rest_ = real(rest)
    eps_ = real(eps)
    momentum_ = real(momentum)
    lr_ = real(lr)
    for j in range(x.size):
        x_ = x[j]
        g_ = g[j]
        square_ = square[j]
        buffer_ = buffer[j]
        if maximize is not None:
            t0 = -g_
            g_ = t0
        if shrink is not None:
            t0 = x_ * real(shrink)
            x_ = t0
        if decay is not None:
            t0 = x_ * real(decay)
            t1 = g_ + t0
            g_ = t1
        t0 = square_ * alpha_
        t1 = g_ * g_
        t2 = t1 * rest_
        t3 = t0 + t2
        t4 = buffer_ * momentum_
        t5 = sqrt(t3)
        t6 = t5 + eps_
        t7 = g_ / t6
        t8 = t4 + t7
        t9 = t8 * lr_
        t10 = x_ - t9
        x[j] = t10
        square[j] = t3
        buffer[j] = t8


@njit(nogil=True, error_model="numpy")
def rmsprop_centered_momentum_update(
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
    real = x.dtype.type
    alpha_ = real(alpha)
    rest_ = real(rest)
    eps_ = real(eps)
    momentum_ = real(momentum)
    lr_ = real(lr)
    for j in range(x.size):
        x_ = x[j]
        g_ = g[j]
        square_ = square[j]
        mean_ = mean[j]
        buffer_ = buffer[j]
        if maximize is not None:
            t0 = -g_
            g_ = t0
        if shrink is not None:
            t0 = x_ * real(shrink)
            x_ = t0
        if decay is not None:
            t0 = x_ * real(decay)
            t1 = g_ + t0
            g_ = t1
        t0 = square_ * alpha_
        t1 = g_ * g_
        t2 = t1 * rest_
        t3 = t0 + t2
        t4 = g_ - mean_
        t5 = t4 * rest_
        t6 = mean_ + t5
        t7 = t6 * t6
        t8 = t3 - t7
        t9 = buffer_ * momentum_
        t10 = sqrt(t8)
        t11 = t10 + eps_
        t12 = g_ / t11
        t13 = t9 + t12
        t14 = t13 * lr_
        t15 = x_ - t14
        x[j] = t15
        square[j] = t3
        mean[j] = t6
        buffer[j] = t13
