"""Losses and their gradients as Numba functions: written, not edited.

`python -m funcgrad.torch.nn.functional.write_losses` prints it. Arrays are flat and of one size.
`_elements` gives the loss of each element, `_total` the sums of those between `starts`; `_backward`
takes a cotangent for each element, or a number for all, and gives those of the operands to `cx` and
`cy`, unless these are None.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from funcgrad.compile.numba.intrinsics import INTRINSICS
from funcgrad.kernels.access import at
from funcgrad.kernels.pairwise import longest, pairwise_sum

# Of the source of the vector mathematics: Numba's cache does not see that an intrinsic has changed,
# but it sees that this file has.
DIGEST = "371e87afe0a4d57234f3458a8cc6a6c3bac77b43e11e3768024e51ea96718460"
log = INTRINSICS["log"]
log1p = INTRINSICS["log1p"]
logaddexp = INTRINSICS["logaddexp"]
sigmoid = INTRINSICS["sigmoid"]
sqrt = INTRINSICS["sqrt"]


@njit(nogil=True, error_model="numpy")
def squared_error_elements(x: Any, y: Any, out: Any) -> None:
    """The `squared_error` of each element."""
    for j in range(x.size):
        x_ = x[j]
        y_ = y[j]
        t0 = x_ - y_
        t1 = t0 * t0
        out[j] = t1


@njit(nogil=True, error_model="numpy")
def squared_error_total(first: int, last: int, starts: Any, x: Any, y: Any, totals: Any) -> None:
    """Sums of `squared_error` over pieces."""
    part = np.empty(longest(starts, first, last), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        squared_error_elements(x[a:b], y[a:b], out)
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, error_model="numpy")
def squared_error_backward(g: Any, x: Any, y: Any, cx: Any, cy: Any) -> None:
    """Backward of `squared_error`."""
    real = x.dtype.type
    for j in range(x.size):
        g_ = real(at(g, 0, j))
        x_ = x[j]
        y_ = y[j]
        if cx is not None:
            t0 = x_ - y_
            t1 = g_ * real(2.0)
            t2 = t1 * t0
            cx[j] = t2
        if cy is not None:
            t0 = x_ - y_
            t1 = g_ * real(2.0)
            t2 = t1 * t0
            t3 = -t2
            cy[j] = t3


@njit(nogil=True, error_model="numpy")
def smooth_l1_loss_elements(x: Any, y: Any, beta: Any, out: Any) -> None:
    """The `smooth_l1_loss` of each element."""
    real = x.dtype.type
    beta_ = real(beta)
    for j in range(x.size):
        x_ = x[j]
        y_ = y[j]
        t0 = x_ - y_
        t1 = abs(t0)
        t2 = t1 < beta_
        t3 = t0 * t0
        t4 = t3 * real(0.5)
        t5 = t4 / beta_
        t6 = real(0.5) * beta_
        t7 = t1 - t6
        t8 = t5 if t2 else t7
        out[j] = t8


@njit(nogil=True, error_model="numpy")
def smooth_l1_loss_total(
    first: int, last: int, starts: Any, x: Any, y: Any, beta: Any, totals: Any
) -> None:
    """Sums of `smooth_l1_loss` over pieces."""
    part = np.empty(longest(starts, first, last), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        smooth_l1_loss_elements(x[a:b], y[a:b], beta, out)
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, error_model="numpy")
def smooth_l1_loss_backward(g: Any, x: Any, y: Any, beta: Any, cx: Any, cy: Any) -> None:
    """Backward of `smooth_l1_loss`."""
    real = x.dtype.type
    beta_ = real(beta)
    for j in range(x.size):
        g_ = real(at(g, 0, j))
        x_ = x[j]
        y_ = y[j]
        if cx is not None:
            t0 = x_ - y_
            t1 = abs(t0)
            t2 = t1 < beta_
            t3 = not t2
            t4 = real(1.0) / beta_
            t5 = g_ * t4
            t6 = t5 * real(0.5)
            t7 = t6 * t0
            t8 = t7 + t7
            t9 = t0 > real(0.0)
            t10 = t0 < real(0.0)
            t11 = real(-1.0) if t10 else real(0.0)
            t12 = real(1.0) if t9 else t11
            t13 = t0 != t0
            t14 = t0 if t13 else t12
            t15 = g_ * t14
            t16 = t8 if t2 else real(0.0)
            t17 = t15 if t3 else real(0.0)
            t18 = t16 + t17
            cx[j] = t18
        if cy is not None:
            t0 = x_ - y_
            t1 = abs(t0)
            t2 = t1 < beta_
            t3 = not t2
            t4 = real(1.0) / beta_
            t5 = g_ * t4
            t6 = t5 * real(0.5)
            t7 = t6 * t0
            t8 = t7 + t7
            t9 = t0 > real(0.0)
            t10 = t0 < real(0.0)
            t11 = real(-1.0) if t10 else real(0.0)
            t12 = real(1.0) if t9 else t11
            t13 = t0 != t0
            t14 = t0 if t13 else t12
            t15 = g_ * t14
            t16 = t8 if t2 else real(0.0)
            t17 = t15 if t3 else real(0.0)
            t18 = t16 + t17
            t19 = -t18
            cy[j] = t19


@njit(nogil=True, error_model="numpy")
def huber_loss_elements(x: Any, y: Any, delta: Any, out: Any) -> None:
    """The `huber_loss` of each element."""
    real = x.dtype.type
    delta_ = real(delta)
    for j in range(x.size):
        x_ = x[j]
        y_ = y[j]
        t0 = x_ - y_
        t1 = abs(t0)
        t2 = t0 * t0
        t3 = t2 * real(0.5)
        t4 = real(0.5) * delta_
        t5 = t1 - t4
        t6 = t5 * delta_
        t7 = t1 < delta_
        t8 = t3 if t7 else t6
        out[j] = t8


@njit(nogil=True, error_model="numpy")
def huber_loss_total(
    first: int, last: int, starts: Any, x: Any, y: Any, delta: Any, totals: Any
) -> None:
    """Sums of `huber_loss` over pieces."""
    part = np.empty(longest(starts, first, last), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        huber_loss_elements(x[a:b], y[a:b], delta, out)
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, error_model="numpy")
def huber_loss_backward(g: Any, x: Any, y: Any, delta: Any, cx: Any, cy: Any) -> None:
    """Backward of `huber_loss`."""
    real = x.dtype.type
    delta_ = real(delta)
    for j in range(x.size):
        g_ = real(at(g, 0, j))
        x_ = x[j]
        y_ = y[j]
        if cx is not None:
            t0 = x_ - y_
            t1 = abs(t0)
            t2 = t1 < delta_
            t3 = not t2
            t4 = g_ * delta_
            t5 = g_ * real(0.5)
            t6 = t5 * t0
            t7 = t6 + t6
            t8 = t0 > real(0.0)
            t9 = t0 < real(0.0)
            t10 = real(-1.0) if t9 else real(0.0)
            t11 = real(1.0) if t8 else t10
            t12 = t0 != t0
            t13 = t0 if t12 else t11
            t14 = t4 * t13
            t15 = t7 if t2 else real(0.0)
            t16 = t14 if t3 else real(0.0)
            t17 = t15 + t16
            cx[j] = t17
        if cy is not None:
            t0 = x_ - y_
            t1 = abs(t0)
            t2 = t1 < delta_
            t3 = not t2
            t4 = g_ * delta_
            t5 = g_ * real(0.5)
            t6 = t5 * t0
            t7 = t6 + t6
            t8 = t0 > real(0.0)
            t9 = t0 < real(0.0)
            t10 = real(-1.0) if t9 else real(0.0)
            t11 = real(1.0) if t8 else t10
            t12 = t0 != t0
            t13 = t0 if t12 else t11
            t14 = t4 * t13
            t15 = t7 if t2 else real(0.0)
            t16 = t14 if t3 else real(0.0)
            t17 = t15 + t16
            t18 = -t17
            cy[j] = t18


@njit(nogil=True, error_model="numpy")
def binary_cross_entropy_elements(x: Any, y: Any, out: Any) -> None:
    """The `binary_cross_entropy` of each element."""
    real = x.dtype.type
    for j in range(x.size):
        x_ = x[j]
        y_ = y[j]
        t0 = log(x_)
        t1 = -x_
        t2 = log1p(t1)
        t3 = y_ - real(1.0)
        t4 = t3 * t2
        t5 = y_ * t0
        t6 = t4 - t5
        t7 = real(1.0) - x_
        t8 = t7 * x_
        t9 = t8 < real(9.999999960041972e-13)
        t10 = t0 < real(-100.0)
        t11 = real(-100.0) if t10 else t0
        t12 = t2 < real(-100.0)
        t13 = real(-100.0) if t12 else t2
        t14 = t3 * t13
        t15 = y_ * t11
        t16 = t14 - t15
        t17 = x_ - y_
        t18 = t17 * t17
        t19 = t18 * real(0.5)
        t20 = t19 / real(9.999999960041972e-13)
        t21 = t2 - t0
        t22 = t20 - t20
        t23 = y_ - y_
        t24 = abs(t21)
        t25 = t24 == real(float("inf"))
        t26 = t21 > real(0.0)
        t27 = t21 < real(0.0)
        t28 = real(-1.0) if t27 else real(0.0)
        t29 = real(1.0) if t26 else t28
        t30 = t21 != t21
        t31 = t21 if t30 else t29
        t32 = t23 if t25 else real(1.0)
        t33 = sqrt(t32)
        t34 = t31 * t33
        t35 = real(0.0) if t25 else t21
        t36 = t23 * t35
        t37 = t34 if t25 else t36
        t38 = t22 + t37
        t39 = t16 + t38
        t40 = t39 if t9 else t6
        out[j] = t40


@njit(nogil=True, error_model="numpy")
def binary_cross_entropy_total(
    first: int, last: int, starts: Any, x: Any, y: Any, totals: Any
) -> None:
    """Sums of `binary_cross_entropy` over pieces."""
    part = np.empty(longest(starts, first, last), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        binary_cross_entropy_elements(x[a:b], y[a:b], out)
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, error_model="numpy")
def binary_cross_entropy_backward(g: Any, x: Any, y: Any, cx: Any, cy: Any) -> None:
    """Backward of `binary_cross_entropy`."""
    real = x.dtype.type
    for j in range(x.size):
        g_ = real(at(g, 0, j))
        x_ = x[j]
        y_ = y[j]
        if cx is not None:
            t0 = y_ - real(1.0)
            t1 = real(1.0) - x_
            t2 = t1 * x_
            t3 = t2 < real(9.999999960041972e-13)
            t4 = x_ - y_
            t5 = not t3
            t6 = g_ * real(1000000003995.8029)
            t7 = t6 * real(0.5)
            t8 = t7 * t4
            t9 = t8 + t8
            t10 = -g_
            t11 = t10 * y_
            t12 = g_ * t0
            t13 = real(1.0) / t1
            t14 = t12 * t13
            t15 = -t14
            t16 = t9 if t3 else real(0.0)
            t17 = t15 if t5 else real(0.0)
            t18 = t16 + t17
            t19 = real(1.0) / x_
            t20 = t11 * t19
            t21 = t20 if t5 else real(0.0)
            t22 = t18 + t21
            cx[j] = t22
        if cy is not None:
            t0 = log(x_)
            t1 = -x_
            t2 = log1p(t1)
            t3 = real(1.0) - x_
            t4 = t3 * x_
            t5 = t4 < real(9.999999960041972e-13)
            t6 = t2 - t0
            t7 = y_ - y_
            t8 = abs(t6)
            t9 = t8 == real(float("inf"))
            t10 = t6 > real(0.0)
            t11 = t6 < real(0.0)
            t12 = real(-1.0) if t11 else real(0.0)
            t13 = real(1.0) if t10 else t12
            t14 = t6 != t6
            t15 = t6 if t14 else t13
            t16 = t7 if t9 else real(1.0)
            t17 = sqrt(t16)
            t18 = real(0.0) if t9 else t6
            t19 = not t5
            t20 = t5 if t9 else False
            t21 = g_ if t9 else real(0.0)
            t22 = False if t9 else t5
            t23 = real(0.0) if t9 else g_
            t24 = t23 * t18
            t25 = t21 * t15
            t26 = real(0.5) / t17
            t27 = t25 * t26
            t28 = t20 if t9 else False
            t29 = t27 if t9 else real(0.0)
            t30 = t24 if t22 else real(0.0)
            t31 = t29 if t28 else real(0.0)
            t32 = t30 + t31
            t33 = -g_
            t34 = t33 * t0
            t35 = t34 if t19 else real(0.0)
            t36 = t32 + t35
            t37 = g_ * t2
            t38 = t37 if t19 else real(0.0)
            t39 = t36 + t38
            cy[j] = t39


@njit(nogil=True, error_model="numpy")
def binary_cross_entropy_weight_elements(x: Any, y: Any, weight: Any, out: Any) -> None:
    """The `binary_cross_entropy_weight` of each element."""
    real = x.dtype.type
    for j in range(x.size):
        x_ = x[j]
        y_ = y[j]
        weight_ = weight[j]
        t0 = log(x_)
        t1 = -x_
        t2 = log1p(t1)
        t3 = y_ - real(1.0)
        t4 = t3 * t2
        t5 = y_ * t0
        t6 = t4 - t5
        t7 = real(1.0) - x_
        t8 = t7 * x_
        t9 = t8 < real(9.999999960041972e-13)
        t10 = t0 < real(-100.0)
        t11 = real(-100.0) if t10 else t0
        t12 = t2 < real(-100.0)
        t13 = real(-100.0) if t12 else t2
        t14 = t3 * t13
        t15 = y_ * t11
        t16 = t14 - t15
        t17 = x_ - y_
        t18 = t17 * t17
        t19 = t18 * real(0.5)
        t20 = t19 / real(9.999999960041972e-13)
        t21 = t2 - t0
        t22 = t20 - t20
        t23 = y_ - y_
        t24 = abs(t21)
        t25 = t24 == real(float("inf"))
        t26 = t21 > real(0.0)
        t27 = t21 < real(0.0)
        t28 = real(-1.0) if t27 else real(0.0)
        t29 = real(1.0) if t26 else t28
        t30 = t21 != t21
        t31 = t21 if t30 else t29
        t32 = t23 if t25 else real(1.0)
        t33 = sqrt(t32)
        t34 = t31 * t33
        t35 = real(0.0) if t25 else t21
        t36 = t23 * t35
        t37 = t34 if t25 else t36
        t38 = t22 + t37
        t39 = t16 + t38
        t40 = t39 if t9 else t6
        t41 = t40 * weight_
        out[j] = t41


@njit(nogil=True, error_model="numpy")
def binary_cross_entropy_weight_total(
    first: int, last: int, starts: Any, x: Any, y: Any, weight: Any, totals: Any
) -> None:
    """Sums of `binary_cross_entropy_weight` over pieces."""
    part = np.empty(longest(starts, first, last), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        binary_cross_entropy_weight_elements(x[a:b], y[a:b], weight[a:b], out)
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, error_model="numpy")
def binary_cross_entropy_weight_backward(
    g: Any, x: Any, y: Any, weight: Any, cx: Any, cy: Any
) -> None:
    """Backward of `binary_cross_entropy_weight`."""
    real = x.dtype.type
    for j in range(x.size):
        g_ = real(at(g, 0, j))
        x_ = x[j]
        y_ = y[j]
        weight_ = weight[j]
        if cx is not None:
            t0 = y_ - real(1.0)
            t1 = real(1.0) - x_
            t2 = t1 * x_
            t3 = t2 < real(9.999999960041972e-13)
            t4 = x_ - y_
            t5 = g_ * weight_
            t6 = not t3
            t7 = t5 * real(1000000003995.8029)
            t8 = t7 * real(0.5)
            t9 = t8 * t4
            t10 = t9 + t9
            t11 = -t5
            t12 = t11 * y_
            t13 = t5 * t0
            t14 = real(1.0) / t1
            t15 = t13 * t14
            t16 = -t15
            t17 = t10 if t3 else real(0.0)
            t18 = t16 if t6 else real(0.0)
            t19 = t17 + t18
            t20 = real(1.0) / x_
            t21 = t12 * t20
            t22 = t21 if t6 else real(0.0)
            t23 = t19 + t22
            cx[j] = t23
        if cy is not None:
            t0 = log(x_)
            t1 = -x_
            t2 = log1p(t1)
            t3 = real(1.0) - x_
            t4 = t3 * x_
            t5 = t4 < real(9.999999960041972e-13)
            t6 = t2 - t0
            t7 = y_ - y_
            t8 = abs(t6)
            t9 = t8 == real(float("inf"))
            t10 = t6 > real(0.0)
            t11 = t6 < real(0.0)
            t12 = real(-1.0) if t11 else real(0.0)
            t13 = real(1.0) if t10 else t12
            t14 = t6 != t6
            t15 = t6 if t14 else t13
            t16 = t7 if t9 else real(1.0)
            t17 = sqrt(t16)
            t18 = real(0.0) if t9 else t6
            t19 = g_ * weight_
            t20 = not t5
            t21 = t5 if t9 else False
            t22 = t19 if t9 else real(0.0)
            t23 = False if t9 else t5
            t24 = real(0.0) if t9 else t19
            t25 = t24 * t18
            t26 = t22 * t15
            t27 = real(0.5) / t17
            t28 = t26 * t27
            t29 = t21 if t9 else False
            t30 = t28 if t9 else real(0.0)
            t31 = t25 if t23 else real(0.0)
            t32 = t30 if t29 else real(0.0)
            t33 = t31 + t32
            t34 = -t19
            t35 = t34 * t0
            t36 = t35 if t20 else real(0.0)
            t37 = t33 + t36
            t38 = t19 * t2
            t39 = t38 if t20 else real(0.0)
            t40 = t37 + t39
            cy[j] = t40


@njit(nogil=True, error_model="numpy")
def binary_cross_entropy_with_logits_elements(x: Any, y: Any, out: Any) -> None:
    """The `binary_cross_entropy_with_logits` of each element."""
    real = x.dtype.type
    for j in range(x.size):
        x_ = x[j]
        y_ = y[j]
        t0 = real(1.0) - y_
        t1 = t0 * x_
        t2 = -x_
        t3 = logaddexp(t2, real(0.0))
        t4 = real(0.0) - t3
        t5 = t1 - t4
        out[j] = t5


@njit(nogil=True, error_model="numpy")
def binary_cross_entropy_with_logits_total(
    first: int, last: int, starts: Any, x: Any, y: Any, totals: Any
) -> None:
    """Sums of `binary_cross_entropy_with_logits` over pieces."""
    part = np.empty(longest(starts, first, last), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        binary_cross_entropy_with_logits_elements(x[a:b], y[a:b], out)
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, error_model="numpy")
def binary_cross_entropy_with_logits_backward(g: Any, x: Any, y: Any, cx: Any, cy: Any) -> None:
    """Backward of `binary_cross_entropy_with_logits`."""
    real = x.dtype.type
    for j in range(x.size):
        g_ = real(at(g, 0, j))
        x_ = x[j]
        y_ = y[j]
        if cx is not None:
            t0 = real(1.0) - y_
            t1 = -x_
            t2 = t1 == real(0.0)
            t3 = abs(t1)
            t4 = t3 == real(float("inf"))
            t5 = t2 & t4
            t6 = real(0.0) if t5 else t1
            t7 = t6 - real(0.0)
            t8 = sigmoid(t7)
            t9 = g_ * t8
            t10 = g_ * t0
            t11 = t10 - t9
            cx[j] = t11
        if cy is not None:
            t0 = g_ * x_
            t1 = -t0
            cy[j] = t1


@njit(nogil=True, error_model="numpy")
def binary_cross_entropy_with_logits_weight_elements(x: Any, y: Any, weight: Any, out: Any) -> None:
    """The `binary_cross_entropy_with_logits_weight` of each element."""
    real = x.dtype.type
    for j in range(x.size):
        x_ = x[j]
        y_ = y[j]
        weight_ = weight[j]
        t0 = real(1.0) - y_
        t1 = t0 * x_
        t2 = -x_
        t3 = logaddexp(t2, real(0.0))
        t4 = real(0.0) - t3
        t5 = t1 - t4
        t6 = t5 * weight_
        out[j] = t6


@njit(nogil=True, error_model="numpy")
def binary_cross_entropy_with_logits_weight_total(
    first: int, last: int, starts: Any, x: Any, y: Any, weight: Any, totals: Any
) -> None:
    """Sums of `binary_cross_entropy_with_logits_weight` over pieces."""
    part = np.empty(longest(starts, first, last), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        binary_cross_entropy_with_logits_weight_elements(x[a:b], y[a:b], weight[a:b], out)
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, error_model="numpy")
def binary_cross_entropy_with_logits_weight_backward(
    g: Any, x: Any, y: Any, weight: Any, cx: Any, cy: Any
) -> None:
    """Backward of `binary_cross_entropy_with_logits_weight`."""
    real = x.dtype.type
    for j in range(x.size):
        g_ = real(at(g, 0, j))
        x_ = x[j]
        y_ = y[j]
        weight_ = weight[j]
        if cx is not None:
            t0 = real(1.0) - y_
            t1 = -x_
            t2 = g_ * weight_
            t3 = t1 == real(0.0)
            t4 = abs(t1)
            t5 = t4 == real(float("inf"))
            t6 = t3 & t5
            t7 = real(0.0) if t6 else t1
            t8 = t7 - real(0.0)
            t9 = sigmoid(t8)
            t10 = t2 * t9
            t11 = t2 * t0
            t12 = t11 - t10
            cx[j] = t12
        if cy is not None:
            t0 = g_ * weight_
            t1 = t0 * x_
            t2 = -t1
            cy[j] = t2


@njit(nogil=True, error_model="numpy")
def binary_cross_entropy_with_logits_pos_weight_elements(
    x: Any, y: Any, pos_weight: Any, out: Any
) -> None:
    """The `binary_cross_entropy_with_logits_pos_weight` of each element."""
    real = x.dtype.type
    for j in range(x.size):
        x_ = x[j]
        y_ = y[j]
        pos_weight_ = pos_weight[j]
        t0 = real(1.0) - y_
        t1 = t0 * x_
        t2 = -x_
        t3 = logaddexp(t2, real(0.0))
        t4 = real(0.0) - t3
        t5 = pos_weight_ - real(1.0)
        t6 = t5 * y_
        t7 = t6 + real(1.0)
        t8 = t7 * t4
        t9 = t1 - t8
        out[j] = t9


@njit(nogil=True, error_model="numpy")
def binary_cross_entropy_with_logits_pos_weight_total(
    first: int, last: int, starts: Any, x: Any, y: Any, pos_weight: Any, totals: Any
) -> None:
    """Sums of `binary_cross_entropy_with_logits_pos_weight` over pieces."""
    part = np.empty(longest(starts, first, last), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        binary_cross_entropy_with_logits_pos_weight_elements(x[a:b], y[a:b], pos_weight[a:b], out)
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, error_model="numpy")
def binary_cross_entropy_with_logits_pos_weight_backward(
    g: Any, x: Any, y: Any, pos_weight: Any, cx: Any, cy: Any
) -> None:
    """Backward of `binary_cross_entropy_with_logits_pos_weight`."""
    real = x.dtype.type
    for j in range(x.size):
        g_ = real(at(g, 0, j))
        x_ = x[j]
        y_ = y[j]
        pos_weight_ = pos_weight[j]
        if cx is not None:
            t0 = real(1.0) - y_
            t1 = -x_
            t2 = pos_weight_ - real(1.0)
            t3 = t2 * y_
            t4 = t3 + real(1.0)
            t5 = -g_
            t6 = t5 * t4
            t7 = -t6
            t8 = t1 == real(0.0)
            t9 = abs(t1)
            t10 = t9 == real(float("inf"))
            t11 = t8 & t10
            t12 = real(0.0) if t11 else t1
            t13 = t12 - real(0.0)
            t14 = sigmoid(t13)
            t15 = t7 * t14
            t16 = g_ * t0
            t17 = t16 - t15
            cx[j] = t17
        if cy is not None:
            t0 = -x_
            t1 = logaddexp(t0, real(0.0))
            t2 = real(0.0) - t1
            t3 = pos_weight_ - real(1.0)
            t4 = -g_
            t5 = t4 * t2
            t6 = t5 * t3
            t7 = g_ * x_
            t8 = t6 - t7
            cy[j] = t8


@njit(nogil=True, error_model="numpy")
def binary_cross_entropy_with_logits_weight_pos_weight_elements(
    x: Any, y: Any, weight: Any, pos_weight: Any, out: Any
) -> None:
    """The `binary_cross_entropy_with_logits_weight_pos_weight` of each element."""
    real = x.dtype.type
    for j in range(x.size):
        x_ = x[j]
        y_ = y[j]
        weight_ = weight[j]
        pos_weight_ = pos_weight[j]
        t0 = real(1.0) - y_
        t1 = t0 * x_
        t2 = -x_
        t3 = logaddexp(t2, real(0.0))
        t4 = real(0.0) - t3
        t5 = pos_weight_ - real(1.0)
        t6 = t5 * y_
        t7 = t6 + real(1.0)
        t8 = t7 * t4
        t9 = t1 - t8
        t10 = t9 * weight_
        out[j] = t10


@njit(nogil=True, error_model="numpy")
def binary_cross_entropy_with_logits_weight_pos_weight_total(
    first: int, last: int, starts: Any, x: Any, y: Any, weight: Any, pos_weight: Any, totals: Any
) -> None:
    """Sums of `binary_cross_entropy_with_logits_weight_pos_weight` over pieces."""
    part = np.empty(longest(starts, first, last), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        binary_cross_entropy_with_logits_weight_pos_weight_elements(
            x[a:b], y[a:b], weight[a:b], pos_weight[a:b], out
        )
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, error_model="numpy")
def binary_cross_entropy_with_logits_weight_pos_weight_backward(
    g: Any, x: Any, y: Any, weight: Any, pos_weight: Any, cx: Any, cy: Any
) -> None:
    """Backward of `binary_cross_entropy_with_logits_weight_pos_weight`."""
    real = x.dtype.type
    for j in range(x.size):
        g_ = real(at(g, 0, j))
        x_ = x[j]
        y_ = y[j]
        weight_ = weight[j]
        pos_weight_ = pos_weight[j]
        if cx is not None:
            t0 = real(1.0) - y_
            t1 = -x_
            t2 = pos_weight_ - real(1.0)
            t3 = t2 * y_
            t4 = t3 + real(1.0)
            t5 = g_ * weight_
            t6 = -t5
            t7 = t6 * t4
            t8 = -t7
            t9 = t1 == real(0.0)
            t10 = abs(t1)
            t11 = t10 == real(float("inf"))
            t12 = t9 & t11
            t13 = real(0.0) if t12 else t1
            t14 = t13 - real(0.0)
            t15 = sigmoid(t14)
            t16 = t8 * t15
            t17 = t5 * t0
            t18 = t17 - t16
            cx[j] = t18
        if cy is not None:
            t0 = -x_
            t1 = logaddexp(t0, real(0.0))
            t2 = real(0.0) - t1
            t3 = pos_weight_ - real(1.0)
            t4 = g_ * weight_
            t5 = -t4
            t6 = t5 * t2
            t7 = t6 * t3
            t8 = t4 * x_
            t9 = t7 - t8
            cy[j] = t9


@njit(nogil=True, error_model="numpy")
def soft_margin_loss_elements(x: Any, y: Any, out: Any) -> None:
    """The `soft_margin_loss` of each element."""
    real = x.dtype.type
    for j in range(x.size):
        x_ = x[j]
        y_ = y[j]
        t0 = x_ * y_
        t1 = -t0
        t2 = logaddexp(t1, real(0.0))
        t3 = real(0.0) - t2
        t4 = -t3
        out[j] = t4


@njit(nogil=True, error_model="numpy")
def soft_margin_loss_total(first: int, last: int, starts: Any, x: Any, y: Any, totals: Any) -> None:
    """Sums of `soft_margin_loss` over pieces."""
    part = np.empty(longest(starts, first, last), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        soft_margin_loss_elements(x[a:b], y[a:b], out)
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, error_model="numpy")
def soft_margin_loss_backward(g: Any, x: Any, y: Any, cx: Any, cy: Any) -> None:
    """Backward of `soft_margin_loss`."""
    real = x.dtype.type
    for j in range(x.size):
        g_ = real(at(g, 0, j))
        x_ = x[j]
        y_ = y[j]
        if cx is not None:
            t0 = x_ * y_
            t1 = -t0
            t2 = t1 == real(0.0)
            t3 = abs(t1)
            t4 = t3 == real(float("inf"))
            t5 = t2 & t4
            t6 = real(0.0) if t5 else t1
            t7 = t6 - real(0.0)
            t8 = sigmoid(t7)
            t9 = g_ * t8
            t10 = -t9
            t11 = t10 * y_
            cx[j] = t11
        if cy is not None:
            t0 = x_ * y_
            t1 = -t0
            t2 = t1 == real(0.0)
            t3 = abs(t1)
            t4 = t3 == real(float("inf"))
            t5 = t2 & t4
            t6 = real(0.0) if t5 else t1
            t7 = t6 - real(0.0)
            t8 = sigmoid(t7)
            t9 = g_ * t8
            t10 = -t9
            t11 = t10 * x_
            cy[j] = t11
