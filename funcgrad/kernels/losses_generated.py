"""Losses and their gradients as Numba functions: written, not edited.

`python -m funcgrad.torch.nn.functional.write_losses` prints it. Arrays are flat and of one size.
The values go to `out`; the cotangent `g` of each element is one number, and those of the operands
go to `cx` and `cy`, unless these are None.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from funcgrad.compile.numba.intrinsics import INTRINSICS

# Of the source of the vector mathematics: Numba's cache does not see that an intrinsic has changed,
# but it sees that this file has.
DIGEST = "a442699af06585750b45d3e0ee403e03ea9bd89c00a7f64d22c9320302ae985a"
exp = INTRINSICS["exp"]
log = INTRINSICS["log"]
log1p = INTRINSICS["log1p"]


@njit(nogil=True, cache=True, error_model="numpy")
def smooth_l1_loss_value(x: Any, y: Any, beta: Any, out: Any) -> None:
    """Values of `smooth_l1_loss`."""
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
def smooth_l1_loss_backward(g: Any, x: Any, y: Any, beta: Any, cx: Any, cy: Any) -> None:
    """Backward of `smooth_l1_loss`."""
    real = x.dtype.type
    beta_ = real(beta)
    g_ = real(g)
    for j in range(x.size):
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
def huber_loss_value(x: Any, y: Any, delta: Any, out: Any) -> None:
    """Values of `huber_loss`."""
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
def huber_loss_backward(g: Any, x: Any, y: Any, delta: Any, cx: Any, cy: Any) -> None:
    """Backward of `huber_loss`."""
    real = x.dtype.type
    delta_ = real(delta)
    g_ = real(g)
    for j in range(x.size):
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
def binary_cross_entropy_backward(g: Any, x: Any, y: Any, cx: Any, cy: Any) -> None:
    """Backward of `binary_cross_entropy`."""
    real = x.dtype.type
    g_ = real(g)
    for j in range(x.size):
        x_ = x[j]
        y_ = y[j]
        if cx is not None:
            t0 = log(x_)
            t1 = -x_
            t2 = log1p(t1)
            t3 = t0 < real(-100.0)
            t4 = t2 < real(-100.0)
            t5 = y_ - real(1.0)
            t6 = real(1.0) - x_
            t7 = t6 * x_
            t8 = t7 < real(9.999999960041972e-13)
            t9 = g_ if t8 else real(0.0)
            t10 = real(0.0) if t8 else g_
            t11 = t9 * real(1000000003995.8029)
            t12 = -t11
            t13 = t12 * y_
            t14 = real(0.0) if (t13 != t13) & (t12 == real(0.0)) else t13
            t15 = t11 * real(0.5)
            t16 = t15 * x_
            t17 = real(0.0) if (t16 != t16) & (t15 == real(0.0)) else t16
            t18 = t14 + t17
            t19 = t18 + t17
            t20 = -t10
            t21 = t20 * y_
            t22 = real(0.0) if (t21 != t21) & (t20 == real(0.0)) else t21
            t23 = t10 * t5
            t24 = real(0.0) if (t23 != t23) & (t10 == real(0.0)) else t23
            t25 = real(0.0) if t4 else t24
            t26 = real(0.0) if t3 else t22
            t27 = real(1.0) / t6
            t28 = t25 * t27
            t29 = real(0.0) if (t28 != t28) & (t25 == real(0.0)) else t28
            t30 = t19 - t29
            t31 = real(1.0) / x_
            t32 = t26 * t31
            t33 = real(0.0) if (t32 != t32) & (t26 == real(0.0)) else t32
            t34 = t30 + t33
            cx[j] = t34
        if cy is not None:
            t0 = log(x_)
            t1 = -x_
            t2 = log1p(t1)
            t3 = t0 < real(-100.0)
            t4 = t2 < real(-100.0)
            t5 = real(-100.0) if t3 else t0
            t6 = real(-100.0) if t4 else t2
            t7 = real(1.0) - x_
            t8 = t7 * x_
            t9 = t8 < real(9.999999960041972e-13)
            t10 = real(0.0) if t9 else g_
            t11 = -t10
            t12 = t11 * t5
            t13 = real(0.0) if (t12 != t12) & (t11 == real(0.0)) else t12
            t14 = t10 * t6
            t15 = real(0.0) if (t14 != t14) & (t10 == real(0.0)) else t14
            t16 = t13 + t15
            cy[j] = t16


@njit(nogil=True, cache=True, error_model="numpy")
def binary_cross_entropy_with_logits_backward(g: Any, x: Any, y: Any, cx: Any, cy: Any) -> None:
    """Backward of `binary_cross_entropy_with_logits`."""
    real = x.dtype.type
    g_ = real(g)
    for j in range(x.size):
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
def soft_margin_loss_backward(g: Any, x: Any, y: Any, cx: Any, cy: Any) -> None:
    """Backward of `soft_margin_loss`."""
    real = x.dtype.type
    g_ = real(g)
    for j in range(x.size):
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
