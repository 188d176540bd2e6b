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
from funcgrad.kernels.pairwise import pairwise_sum

# Of the source of the vector mathematics: Numba's cache does not see that an intrinsic has changed,
# but it sees that this file has.
DIGEST = "371e87afe0a4d57234f3458a8cc6a6c3bac77b43e11e3768024e51ea96718460"
exp = INTRINSICS["exp"]
log = INTRINSICS["log"]
log1p = INTRINSICS["log1p"]
logaddexp = INTRINSICS["logaddexp"]


@njit(nogil=True, cache=True, error_model="numpy")
def squared_error_elements(x: Any, y: Any, out: Any) -> None:
    """The `squared_error` of each element."""
    for j in range(x.size):
        x_ = x[j]
        y_ = y[j]
        t0 = x_ - y_
        t1 = t0 * t0
        out[j] = t1


@njit(nogil=True, cache=True, error_model="numpy")
def squared_error_total(first: int, last: int, starts: Any, x: Any, y: Any, totals: Any) -> None:
    """Sums of `squared_error` over pieces."""
    part = np.empty(np.max(np.diff(starts[first : last + 1])), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        squared_error_elements(x[a:b], y[a:b], out)
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, cache=True, error_model="numpy")
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
            t3 = real(0.0) if (t2 != t2) & (t1 == real(0.0)) else t2
            cx[j] = t3
        if cy is not None:
            t0 = x_ - y_
            t1 = g_ * real(2.0)
            t2 = t1 * t0
            t3 = real(0.0) if (t2 != t2) & (t1 == real(0.0)) else t2
            t4 = -t3
            cy[j] = t4


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
def smooth_l1_loss_total(
    first: int, last: int, starts: Any, x: Any, y: Any, beta: Any, totals: Any
) -> None:
    """Sums of `smooth_l1_loss` over pieces."""
    part = np.empty(np.max(np.diff(starts[first : last + 1])), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        smooth_l1_loss_elements(x[a:b], y[a:b], beta, out)
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, cache=True, error_model="numpy")
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
            t3 = g_ if t2 else real(0.0)
            t4 = real(0.0) if t2 else g_
            t5 = real(1.0) / beta_
            t6 = t3 * t5
            t7 = real(0.0) if (t6 != t6) & (t3 == real(0.0)) else t6
            t8 = t7 * real(0.5)
            t9 = t8 * t0
            t10 = real(0.0) if (t9 != t9) & (t8 == real(0.0)) else t9
            t11 = t10 + t10
            t12 = t0 > real(0.0)
            t13 = t0 < real(0.0)
            t14 = real(-1.0) if t13 else real(0.0)
            t15 = real(1.0) if t12 else t14
            t16 = t0 != t0
            t17 = t0 if t16 else t15
            t18 = t4 * t17
            t19 = real(0.0) if (t18 != t18) & (t4 == real(0.0)) else t18
            t20 = t11 + t19
            cx[j] = t20
        if cy is not None:
            t0 = x_ - y_
            t1 = abs(t0)
            t2 = t1 < beta_
            t3 = g_ if t2 else real(0.0)
            t4 = real(0.0) if t2 else g_
            t5 = real(1.0) / beta_
            t6 = t3 * t5
            t7 = real(0.0) if (t6 != t6) & (t3 == real(0.0)) else t6
            t8 = t7 * real(0.5)
            t9 = t8 * t0
            t10 = real(0.0) if (t9 != t9) & (t8 == real(0.0)) else t9
            t11 = t10 + t10
            t12 = t0 > real(0.0)
            t13 = t0 < real(0.0)
            t14 = real(-1.0) if t13 else real(0.0)
            t15 = real(1.0) if t12 else t14
            t16 = t0 != t0
            t17 = t0 if t16 else t15
            t18 = t4 * t17
            t19 = real(0.0) if (t18 != t18) & (t4 == real(0.0)) else t18
            t20 = t11 + t19
            t21 = -t20
            cy[j] = t21


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
def huber_loss_total(
    first: int, last: int, starts: Any, x: Any, y: Any, delta: Any, totals: Any
) -> None:
    """Sums of `huber_loss` over pieces."""
    part = np.empty(np.max(np.diff(starts[first : last + 1])), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        huber_loss_elements(x[a:b], y[a:b], delta, out)
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, cache=True, error_model="numpy")
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
            t3 = g_ if t2 else real(0.0)
            t4 = real(0.0) if t2 else g_
            t5 = t4 * delta_
            t6 = real(0.0) if (t5 != t5) & (t4 == real(0.0)) else t5
            t7 = t3 * real(0.5)
            t8 = t7 * t0
            t9 = real(0.0) if (t8 != t8) & (t7 == real(0.0)) else t8
            t10 = t9 + t9
            t11 = t0 > real(0.0)
            t12 = t0 < real(0.0)
            t13 = real(-1.0) if t12 else real(0.0)
            t14 = real(1.0) if t11 else t13
            t15 = t0 != t0
            t16 = t0 if t15 else t14
            t17 = t6 * t16
            t18 = real(0.0) if (t17 != t17) & (t6 == real(0.0)) else t17
            t19 = t10 + t18
            cx[j] = t19
        if cy is not None:
            t0 = x_ - y_
            t1 = abs(t0)
            t2 = t1 < delta_
            t3 = g_ if t2 else real(0.0)
            t4 = real(0.0) if t2 else g_
            t5 = t4 * delta_
            t6 = real(0.0) if (t5 != t5) & (t4 == real(0.0)) else t5
            t7 = t3 * real(0.5)
            t8 = t7 * t0
            t9 = real(0.0) if (t8 != t8) & (t7 == real(0.0)) else t8
            t10 = t9 + t9
            t11 = t0 > real(0.0)
            t12 = t0 < real(0.0)
            t13 = real(-1.0) if t12 else real(0.0)
            t14 = real(1.0) if t11 else t13
            t15 = t0 != t0
            t16 = t0 if t15 else t14
            t17 = t6 * t16
            t18 = real(0.0) if (t17 != t17) & (t6 == real(0.0)) else t17
            t19 = t10 + t18
            t20 = -t19
            cy[j] = t20


@njit(nogil=True, cache=True, error_model="numpy")
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
        t24 = t23 * t21
        t25 = real(0.0) if (t24 != t24) & (t23 == real(0.0)) else t24
        t26 = t22 + t25
        t27 = t16 + t26
        t28 = t27 if t9 else t6
        out[j] = t28


@njit(nogil=True, cache=True, error_model="numpy")
def binary_cross_entropy_total(
    first: int, last: int, starts: Any, x: Any, y: Any, totals: Any
) -> None:
    """Sums of `binary_cross_entropy` over pieces."""
    part = np.empty(np.max(np.diff(starts[first : last + 1])), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        binary_cross_entropy_elements(x[a:b], y[a:b], out)
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, cache=True, error_model="numpy")
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
            t5 = g_ if t3 else real(0.0)
            t6 = real(0.0) if t3 else g_
            t7 = t5 * real(1000000003995.8029)
            t8 = t7 * real(0.5)
            t9 = t8 * t4
            t10 = real(0.0) if (t9 != t9) & (t8 == real(0.0)) else t9
            t11 = t10 + t10
            t12 = -t6
            t13 = t12 * y_
            t14 = real(0.0) if (t13 != t13) & (t12 == real(0.0)) else t13
            t15 = t6 * t0
            t16 = real(0.0) if (t15 != t15) & (t6 == real(0.0)) else t15
            t17 = real(1.0) / t1
            t18 = t16 * t17
            t19 = real(0.0) if (t18 != t18) & (t16 == real(0.0)) else t18
            t20 = t11 - t19
            t21 = real(1.0) / x_
            t22 = t14 * t21
            t23 = real(0.0) if (t22 != t22) & (t14 == real(0.0)) else t22
            t24 = t20 + t23
            cx[j] = t24
        if cy is not None:
            t0 = log(x_)
            t1 = -x_
            t2 = log1p(t1)
            t3 = real(1.0) - x_
            t4 = t3 * x_
            t5 = t4 < real(9.999999960041972e-13)
            t6 = t2 - t0
            t7 = g_ if t5 else real(0.0)
            t8 = real(0.0) if t5 else g_
            t9 = t7 * t6
            t10 = real(0.0) if (t9 != t9) & (t7 == real(0.0)) else t9
            t11 = -t8
            t12 = t11 * t0
            t13 = real(0.0) if (t12 != t12) & (t11 == real(0.0)) else t12
            t14 = t10 + t13
            t15 = t8 * t2
            t16 = real(0.0) if (t15 != t15) & (t8 == real(0.0)) else t15
            t17 = t14 + t16
            cy[j] = t17


@njit(nogil=True, cache=True, error_model="numpy")
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
        t24 = t23 * t21
        t25 = real(0.0) if (t24 != t24) & (t23 == real(0.0)) else t24
        t26 = t22 + t25
        t27 = t16 + t26
        t28 = t27 if t9 else t6
        t29 = t28 * weight_
        out[j] = t29


@njit(nogil=True, cache=True, error_model="numpy")
def binary_cross_entropy_weight_total(
    first: int, last: int, starts: Any, x: Any, y: Any, weight: Any, totals: Any
) -> None:
    """Sums of `binary_cross_entropy_weight` over pieces."""
    part = np.empty(np.max(np.diff(starts[first : last + 1])), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        binary_cross_entropy_weight_elements(x[a:b], y[a:b], weight[a:b], out)
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, cache=True, error_model="numpy")
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
            t6 = real(0.0) if (t5 != t5) & (g_ == real(0.0)) else t5
            t7 = t6 if t3 else real(0.0)
            t8 = real(0.0) if t3 else t6
            t9 = t7 * real(1000000003995.8029)
            t10 = t9 * real(0.5)
            t11 = t10 * t4
            t12 = real(0.0) if (t11 != t11) & (t10 == real(0.0)) else t11
            t13 = t12 + t12
            t14 = -t8
            t15 = t14 * y_
            t16 = real(0.0) if (t15 != t15) & (t14 == real(0.0)) else t15
            t17 = t8 * t0
            t18 = real(0.0) if (t17 != t17) & (t8 == real(0.0)) else t17
            t19 = real(1.0) / t1
            t20 = t18 * t19
            t21 = real(0.0) if (t20 != t20) & (t18 == real(0.0)) else t20
            t22 = t13 - t21
            t23 = real(1.0) / x_
            t24 = t16 * t23
            t25 = real(0.0) if (t24 != t24) & (t16 == real(0.0)) else t24
            t26 = t22 + t25
            cx[j] = t26
        if cy is not None:
            t0 = log(x_)
            t1 = -x_
            t2 = log1p(t1)
            t3 = real(1.0) - x_
            t4 = t3 * x_
            t5 = t4 < real(9.999999960041972e-13)
            t6 = t2 - t0
            t7 = g_ * weight_
            t8 = real(0.0) if (t7 != t7) & (g_ == real(0.0)) else t7
            t9 = t8 if t5 else real(0.0)
            t10 = real(0.0) if t5 else t8
            t11 = t9 * t6
            t12 = real(0.0) if (t11 != t11) & (t9 == real(0.0)) else t11
            t13 = -t10
            t14 = t13 * t0
            t15 = real(0.0) if (t14 != t14) & (t13 == real(0.0)) else t14
            t16 = t12 + t15
            t17 = t10 * t2
            t18 = real(0.0) if (t17 != t17) & (t10 == real(0.0)) else t17
            t19 = t16 + t18
            cy[j] = t19


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
def binary_cross_entropy_with_logits_total(
    first: int, last: int, starts: Any, x: Any, y: Any, totals: Any
) -> None:
    """Sums of `binary_cross_entropy_with_logits` over pieces."""
    part = np.empty(np.max(np.diff(starts[first : last + 1])), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        binary_cross_entropy_with_logits_elements(x[a:b], y[a:b], out)
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, cache=True, error_model="numpy")
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
            t7 = real(0.0) - t6
            t8 = exp(t7)
            t9 = t8 + real(1.0)
            t10 = real(1.0) / t9
            t11 = g_ * t10
            t12 = real(0.0) if (t11 != t11) & (g_ == real(0.0)) else t11
            t13 = g_ * t0
            t14 = real(0.0) if (t13 != t13) & (g_ == real(0.0)) else t13
            t15 = t14 - t12
            cx[j] = t15
        if cy is not None:
            t0 = g_ * x_
            t1 = real(0.0) if (t0 != t0) & (g_ == real(0.0)) else t0
            t2 = -t1
            cy[j] = t2


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
def binary_cross_entropy_with_logits_weight_total(
    first: int, last: int, starts: Any, x: Any, y: Any, weight: Any, totals: Any
) -> None:
    """Sums of `binary_cross_entropy_with_logits_weight` over pieces."""
    part = np.empty(np.max(np.diff(starts[first : last + 1])), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        binary_cross_entropy_with_logits_weight_elements(x[a:b], y[a:b], weight[a:b], out)
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, cache=True, error_model="numpy")
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
            t3 = real(0.0) if (t2 != t2) & (g_ == real(0.0)) else t2
            t4 = t1 == real(0.0)
            t5 = abs(t1)
            t6 = t5 == real(float("inf"))
            t7 = t4 & t6
            t8 = real(0.0) if t7 else t1
            t9 = real(0.0) - t8
            t10 = exp(t9)
            t11 = t10 + real(1.0)
            t12 = real(1.0) / t11
            t13 = t3 * t12
            t14 = real(0.0) if (t13 != t13) & (t3 == real(0.0)) else t13
            t15 = t3 * t0
            t16 = real(0.0) if (t15 != t15) & (t3 == real(0.0)) else t15
            t17 = t16 - t14
            cx[j] = t17
        if cy is not None:
            t0 = g_ * weight_
            t1 = real(0.0) if (t0 != t0) & (g_ == real(0.0)) else t0
            t2 = t1 * x_
            t3 = real(0.0) if (t2 != t2) & (t1 == real(0.0)) else t2
            t4 = -t3
            cy[j] = t4


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
def binary_cross_entropy_with_logits_pos_weight_total(
    first: int, last: int, starts: Any, x: Any, y: Any, pos_weight: Any, totals: Any
) -> None:
    """Sums of `binary_cross_entropy_with_logits_pos_weight` over pieces."""
    part = np.empty(np.max(np.diff(starts[first : last + 1])), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        binary_cross_entropy_with_logits_pos_weight_elements(x[a:b], y[a:b], pos_weight[a:b], out)
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, cache=True, error_model="numpy")
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
            t7 = real(0.0) if (t6 != t6) & (t5 == real(0.0)) else t6
            t8 = -t7
            t9 = t1 == real(0.0)
            t10 = abs(t1)
            t11 = t10 == real(float("inf"))
            t12 = t9 & t11
            t13 = real(0.0) if t12 else t1
            t14 = real(0.0) - t13
            t15 = exp(t14)
            t16 = t15 + real(1.0)
            t17 = real(1.0) / t16
            t18 = t8 * t17
            t19 = real(0.0) if (t18 != t18) & (t8 == real(0.0)) else t18
            t20 = g_ * t0
            t21 = real(0.0) if (t20 != t20) & (g_ == real(0.0)) else t20
            t22 = t21 - t19
            cx[j] = t22
        if cy is not None:
            t0 = -x_
            t1 = logaddexp(t0, real(0.0))
            t2 = real(0.0) - t1
            t3 = pos_weight_ - real(1.0)
            t4 = -g_
            t5 = t4 * t2
            t6 = real(0.0) if (t5 != t5) & (t4 == real(0.0)) else t5
            t7 = t6 * t3
            t8 = real(0.0) if (t7 != t7) & (t6 == real(0.0)) else t7
            t9 = g_ * x_
            t10 = real(0.0) if (t9 != t9) & (g_ == real(0.0)) else t9
            t11 = t8 - t10
            cy[j] = t11


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
def binary_cross_entropy_with_logits_weight_pos_weight_total(
    first: int, last: int, starts: Any, x: Any, y: Any, weight: Any, pos_weight: Any, totals: Any
) -> None:
    """Sums of `binary_cross_entropy_with_logits_weight_pos_weight` over pieces."""
    part = np.empty(np.max(np.diff(starts[first : last + 1])), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        binary_cross_entropy_with_logits_weight_pos_weight_elements(
            x[a:b], y[a:b], weight[a:b], pos_weight[a:b], out
        )
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, cache=True, error_model="numpy")
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
            t6 = real(0.0) if (t5 != t5) & (g_ == real(0.0)) else t5
            t7 = -t6
            t8 = t7 * t4
            t9 = real(0.0) if (t8 != t8) & (t7 == real(0.0)) else t8
            t10 = -t9
            t11 = t1 == real(0.0)
            t12 = abs(t1)
            t13 = t12 == real(float("inf"))
            t14 = t11 & t13
            t15 = real(0.0) if t14 else t1
            t16 = real(0.0) - t15
            t17 = exp(t16)
            t18 = t17 + real(1.0)
            t19 = real(1.0) / t18
            t20 = t10 * t19
            t21 = real(0.0) if (t20 != t20) & (t10 == real(0.0)) else t20
            t22 = t6 * t0
            t23 = real(0.0) if (t22 != t22) & (t6 == real(0.0)) else t22
            t24 = t23 - t21
            cx[j] = t24
        if cy is not None:
            t0 = -x_
            t1 = logaddexp(t0, real(0.0))
            t2 = real(0.0) - t1
            t3 = pos_weight_ - real(1.0)
            t4 = g_ * weight_
            t5 = real(0.0) if (t4 != t4) & (g_ == real(0.0)) else t4
            t6 = -t5
            t7 = t6 * t2
            t8 = real(0.0) if (t7 != t7) & (t6 == real(0.0)) else t7
            t9 = t8 * t3
            t10 = real(0.0) if (t9 != t9) & (t8 == real(0.0)) else t9
            t11 = t5 * x_
            t12 = real(0.0) if (t11 != t11) & (t5 == real(0.0)) else t11
            t13 = t10 - t12
            cy[j] = t13


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
def soft_margin_loss_total(first: int, last: int, starts: Any, x: Any, y: Any, totals: Any) -> None:
    """Sums of `soft_margin_loss` over pieces."""
    part = np.empty(np.max(np.diff(starts[first : last + 1])), x.dtype)
    for k in range(first, last):
        a, b = starts[k], starts[k + 1]
        out = part[: b - a]
        soft_margin_loss_elements(x[a:b], y[a:b], out)
        totals[k] = pairwise_sum(out, 0, out.size)


@njit(nogil=True, cache=True, error_model="numpy")
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
            t7 = real(0.0) - t6
            t8 = exp(t7)
            t9 = t8 + real(1.0)
            t10 = real(1.0) / t9
            t11 = g_ * t10
            t12 = real(0.0) if (t11 != t11) & (g_ == real(0.0)) else t11
            t13 = -t12
            t14 = t13 * y_
            t15 = real(0.0) if (t14 != t14) & (t13 == real(0.0)) else t14
            cx[j] = t15
        if cy is not None:
            t0 = x_ * y_
            t1 = -t0
            t2 = t1 == real(0.0)
            t3 = abs(t1)
            t4 = t3 == real(float("inf"))
            t5 = t2 & t4
            t6 = real(0.0) if t5 else t1
            t7 = real(0.0) - t6
            t8 = exp(t7)
            t9 = t8 + real(1.0)
            t10 = real(1.0) / t9
            t11 = g_ * t10
            t12 = real(0.0) if (t11 != t11) & (g_ == real(0.0)) else t11
            t13 = -t12
            t14 = t13 * x_
            t15 = real(0.0) if (t14 != t14) & (t13 == real(0.0)) else t14
            cy[j] = t15
