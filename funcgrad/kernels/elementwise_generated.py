"""The backward pass of elementwise operations as Numba functions: written, not edited.

`python -m funcgrad.kernels.write` prints it from the partial derivatives of the primitives. Each
function takes the loop's extents, the cotangent `g`, the saved output `z` and operands (None where
the rule needs none), and an array for each cotangent wanted, else None; see `access` for True.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from funcgrad.compile.numba.intrinsics import INTRINSICS
from funcgrad.kernels.access import at, put

# Of the source of the vector mathematics: Numba's cache does not see that an intrinsic has changed,
# but it sees that this file has.
DIGEST = "c8dd703e630f5962e50456bc74c0fda173c15b01a7393997d1002fe15a6cd938"
cos = INTRINSICS["cos"]
cosh = INTRINSICS["cosh"]
erfc = INTRINSICS["erfc"]
exp = INTRINSICS["exp"]
log = INTRINSICS["log"]
power = INTRINSICS["power"]
sigmoid = INTRINSICS["sigmoid"]
sin = INTRINSICS["sin"]
sinh = INTRINSICS["sinh"]
sqrt = INTRINSICS["sqrt"]


@njit(nogil=True, error_model="numpy")
def add_backward(rows: int, columns: int, g: Any, z: Any, x: Any, y: Any, cx: Any, cy: Any) -> None:
    """Backward of `add`."""
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            if cx is not None:
                put(cx, g, i, j, d)
            if cy is not None:
                put(cy, g, i, j, d)


@njit(nogil=True, error_model="numpy")
def subtract_backward(
    rows: int, columns: int, g: Any, z: Any, x: Any, y: Any, cx: Any, cy: Any
) -> None:
    """Backward of `subtract`."""
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            if cx is not None:
                put(cx, g, i, j, d)
            if cy is not None:
                t0 = -d
                put(cy, g, i, j, t0)


@njit(nogil=True, error_model="numpy")
def multiply_backward(
    rows: int, columns: int, g: Any, z: Any, x: Any, y: Any, cx: Any, cy: Any
) -> None:
    """Backward of `multiply`."""
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            y_ = at(y, i, j)
            if cx is not None:
                t0 = d * y_
                put(cx, g, i, j, t0)
            if cy is not None:
                t0 = d * x_
                put(cy, g, i, j, t0)


@njit(nogil=True, error_model="numpy")
def divide_backward(
    rows: int, columns: int, g: Any, z: Any, x: Any, y: Any, cx: Any, cy: Any
) -> None:
    """Backward of `divide`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            z_ = at(z, i, j)
            y_ = at(y, i, j)
            if cx is not None:
                t0 = real(1.0) / y_
                t1 = d * t0
                put(cx, g, i, j, t1)
            if cy is not None:
                t0 = z_ / y_
                t1 = -t0
                t2 = d * t1
                put(cy, g, i, j, t2)


@njit(nogil=True, error_model="numpy")
def negative_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `negative`."""
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            t0 = -d
            put(cx, g, i, j, t0)


@njit(nogil=True, error_model="numpy")
def reciprocal_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `reciprocal`."""
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            z_ = at(z, i, j)
            t0 = z_ * z_
            t1 = -t0
            t2 = d * t1
            put(cx, g, i, j, t2)


@njit(nogil=True, error_model="numpy")
def square_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `square`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = real(2.0) * x_
            t1 = d * t0
            put(cx, g, i, j, t1)


@njit(nogil=True, error_model="numpy")
def power_backward(
    rows: int, columns: int, g: Any, z: Any, x: Any, y: Any, cx: Any, cy: Any
) -> None:
    """Backward of `power`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            z_ = at(z, i, j)
            x_ = at(x, i, j)
            y_ = at(y, i, j)
            if cx is not None:
                t0 = y_ == real(0.0)
                t1 = y_ - real(1.0)
                t2 = power(x_, t1)
                t3 = y_ * t2
                t4 = real(0.0) if t0 else t3
                t5 = d * t4
                put(cx, g, i, j, t5)
            if cy is not None:
                t0 = x_ == real(0.0)
                t1 = y_ >= real(0.0)
                t2 = t0 & t1
                t3 = real(1.0) if t2 else x_
                t4 = log(t3)
                t5 = z_ * t4
                t6 = real(0.0) if t2 else t5
                t7 = d * t6
                put(cy, g, i, j, t7)


@njit(nogil=True, error_model="numpy")
def sqrt_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `sqrt`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            z_ = at(z, i, j)
            t0 = real(0.5) / z_
            t1 = d * t0
            put(cx, g, i, j, t1)


@njit(nogil=True, error_model="numpy")
def cbrt_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `cbrt`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            z_ = at(z, i, j)
            t0 = z_ * z_
            t1 = real(0.3333333333333333) / t0
            t2 = d * t1
            put(cx, g, i, j, t2)


@njit(nogil=True, error_model="numpy")
def absolute_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `absolute`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = x_ > real(0.0)
            t1 = x_ < real(0.0)
            t2 = real(-1.0) if t1 else real(0.0)
            t3 = real(1.0) if t0 else t2
            t4 = x_ != x_
            t5 = x_ if t4 else t3
            t6 = d * t5
            put(cx, g, i, j, t6)


@njit(nogil=True, error_model="numpy")
def maximum_backward(
    rows: int, columns: int, g: Any, z: Any, x: Any, y: Any, cx: Any, cy: Any
) -> None:
    """Backward of `maximum`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            z_ = at(z, i, j)
            x_ = at(x, i, j)
            y_ = at(y, i, j)
            if cx is not None:
                t0 = z_ != z_
                t1 = x_ == z_
                t2 = x_ != x_
                t3 = t0 & t2
                t4 = t1 | t3
                t5 = y_ == z_
                t6 = y_ != y_
                t7 = t0 & t6
                t8 = t5 | t7
                t9 = real(0.5) if t8 else real(1.0)
                t10 = t9 if t4 else real(0.0)
                t11 = t10 != real(0.0)
                t12 = d if t11 else real(0.0)
                t13 = t12 * t10
                put(cx, g, i, j, t13)
            if cy is not None:
                t0 = z_ != z_
                t1 = y_ == z_
                t2 = y_ != y_
                t3 = t0 & t2
                t4 = t1 | t3
                t5 = x_ == z_
                t6 = x_ != x_
                t7 = t0 & t6
                t8 = t5 | t7
                t9 = real(0.5) if t8 else real(1.0)
                t10 = t9 if t4 else real(0.0)
                t11 = t10 != real(0.0)
                t12 = d if t11 else real(0.0)
                t13 = t12 * t10
                put(cy, g, i, j, t13)


@njit(nogil=True, error_model="numpy")
def minimum_backward(
    rows: int, columns: int, g: Any, z: Any, x: Any, y: Any, cx: Any, cy: Any
) -> None:
    """Backward of `minimum`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            z_ = at(z, i, j)
            x_ = at(x, i, j)
            y_ = at(y, i, j)
            if cx is not None:
                t0 = z_ != z_
                t1 = x_ == z_
                t2 = x_ != x_
                t3 = t0 & t2
                t4 = t1 | t3
                t5 = y_ == z_
                t6 = y_ != y_
                t7 = t0 & t6
                t8 = t5 | t7
                t9 = real(0.5) if t8 else real(1.0)
                t10 = t9 if t4 else real(0.0)
                t11 = t10 != real(0.0)
                t12 = d if t11 else real(0.0)
                t13 = t12 * t10
                put(cx, g, i, j, t13)
            if cy is not None:
                t0 = z_ != z_
                t1 = y_ == z_
                t2 = y_ != y_
                t3 = t0 & t2
                t4 = t1 | t3
                t5 = x_ == z_
                t6 = x_ != x_
                t7 = t0 & t6
                t8 = t5 | t7
                t9 = real(0.5) if t8 else real(1.0)
                t10 = t9 if t4 else real(0.0)
                t11 = t10 != real(0.0)
                t12 = d if t11 else real(0.0)
                t13 = t12 * t10
                put(cy, g, i, j, t13)


@njit(nogil=True, error_model="numpy")
def hypot_backward(
    rows: int, columns: int, g: Any, z: Any, x: Any, y: Any, cx: Any, cy: Any
) -> None:
    """Backward of `hypot`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            z_ = at(z, i, j)
            x_ = at(x, i, j)
            y_ = at(y, i, j)
            if cx is not None:
                t0 = z_ == real(0.0)
                t1 = real(1.0) if t0 else z_
                t2 = x_ / t1
                t3 = real(0.0) if t0 else t2
                t4 = d * t3
                put(cx, g, i, j, t4)
            if cy is not None:
                t0 = z_ == real(0.0)
                t1 = real(1.0) if t0 else z_
                t2 = y_ / t1
                t3 = real(0.0) if t0 else t2
                t4 = d * t3
                put(cy, g, i, j, t4)


@njit(nogil=True, error_model="numpy")
def fmax_backward(
    rows: int, columns: int, g: Any, z: Any, x: Any, y: Any, cx: Any, cy: Any
) -> None:
    """Backward of `fmax`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            z_ = at(z, i, j)
            x_ = at(x, i, j)
            y_ = at(y, i, j)
            if cx is not None:
                t0 = z_ != z_
                t1 = x_ == z_
                t2 = x_ != x_
                t3 = t0 & t2
                t4 = t1 | t3
                t5 = y_ == z_
                t6 = y_ != y_
                t7 = t0 & t6
                t8 = t5 | t7
                t9 = real(0.5) if t8 else real(1.0)
                t10 = t9 if t4 else real(0.0)
                t11 = t10 != real(0.0)
                t12 = d if t11 else real(0.0)
                t13 = t12 * t10
                put(cx, g, i, j, t13)
            if cy is not None:
                t0 = z_ != z_
                t1 = y_ == z_
                t2 = y_ != y_
                t3 = t0 & t2
                t4 = t1 | t3
                t5 = x_ == z_
                t6 = x_ != x_
                t7 = t0 & t6
                t8 = t5 | t7
                t9 = real(0.5) if t8 else real(1.0)
                t10 = t9 if t4 else real(0.0)
                t11 = t10 != real(0.0)
                t12 = d if t11 else real(0.0)
                t13 = t12 * t10
                put(cy, g, i, j, t13)


@njit(nogil=True, error_model="numpy")
def fmin_backward(
    rows: int, columns: int, g: Any, z: Any, x: Any, y: Any, cx: Any, cy: Any
) -> None:
    """Backward of `fmin`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            z_ = at(z, i, j)
            x_ = at(x, i, j)
            y_ = at(y, i, j)
            if cx is not None:
                t0 = z_ != z_
                t1 = x_ == z_
                t2 = x_ != x_
                t3 = t0 & t2
                t4 = t1 | t3
                t5 = y_ == z_
                t6 = y_ != y_
                t7 = t0 & t6
                t8 = t5 | t7
                t9 = real(0.5) if t8 else real(1.0)
                t10 = t9 if t4 else real(0.0)
                t11 = t10 != real(0.0)
                t12 = d if t11 else real(0.0)
                t13 = t12 * t10
                put(cx, g, i, j, t13)
            if cy is not None:
                t0 = z_ != z_
                t1 = y_ == z_
                t2 = y_ != y_
                t3 = t0 & t2
                t4 = t1 | t3
                t5 = x_ == z_
                t6 = x_ != x_
                t7 = t0 & t6
                t8 = t5 | t7
                t9 = real(0.5) if t8 else real(1.0)
                t10 = t9 if t4 else real(0.0)
                t11 = t10 != real(0.0)
                t12 = d if t11 else real(0.0)
                t13 = t12 * t10
                put(cy, g, i, j, t13)


@njit(nogil=True, error_model="numpy")
def exp_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `exp`."""
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            z_ = at(z, i, j)
            t0 = d * z_
            put(cx, g, i, j, t0)


@njit(nogil=True, error_model="numpy")
def exp2_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `exp2`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            z_ = at(z, i, j)
            t0 = real(0.6931471805599453) * z_
            t1 = d * t0
            put(cx, g, i, j, t1)


@njit(nogil=True, error_model="numpy")
def expm1_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `expm1`."""
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = exp(x_)
            t1 = d * t0
            put(cx, g, i, j, t1)


@njit(nogil=True, error_model="numpy")
def log_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `log`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = real(1.0) / x_
            t1 = d * t0
            put(cx, g, i, j, t1)


@njit(nogil=True, error_model="numpy")
def log2_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `log2`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = real(1.4426950408889634) / x_
            t1 = d * t0
            put(cx, g, i, j, t1)


@njit(nogil=True, error_model="numpy")
def log10_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `log10`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = real(0.43429448190325176) / x_
            t1 = d * t0
            put(cx, g, i, j, t1)


@njit(nogil=True, error_model="numpy")
def log1p_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `log1p`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = x_ + real(1.0)
            t1 = real(1.0) / t0
            t2 = d * t1
            put(cx, g, i, j, t2)


@njit(nogil=True, error_model="numpy")
def logaddexp_backward(
    rows: int, columns: int, g: Any, z: Any, x: Any, y: Any, cx: Any, cy: Any
) -> None:
    """Backward of `logaddexp`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            y_ = at(y, i, j)
            if cx is not None:
                t0 = x_ == y_
                t1 = abs(x_)
                t2 = t1 == real(float("inf"))
                t3 = t0 & t2
                t4 = real(0.0) if t3 else x_
                t5 = real(0.0) if t3 else y_
                t6 = t4 - t5
                t7 = sigmoid(t6)
                t8 = d * t7
                put(cx, g, i, j, t8)
            if cy is not None:
                t0 = y_ == x_
                t1 = abs(y_)
                t2 = t1 == real(float("inf"))
                t3 = t0 & t2
                t4 = real(0.0) if t3 else y_
                t5 = real(0.0) if t3 else x_
                t6 = t4 - t5
                t7 = sigmoid(t6)
                t8 = d * t7
                put(cy, g, i, j, t8)


@njit(nogil=True, error_model="numpy")
def sin_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `sin`."""
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = cos(x_)
            t1 = d * t0
            put(cx, g, i, j, t1)


@njit(nogil=True, error_model="numpy")
def cos_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `cos`."""
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = sin(x_)
            t1 = -t0
            t2 = d * t1
            put(cx, g, i, j, t2)


@njit(nogil=True, error_model="numpy")
def tan_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `tan`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            z_ = at(z, i, j)
            t0 = z_ * z_
            t1 = t0 + real(1.0)
            t2 = d * t1
            put(cx, g, i, j, t2)


@njit(nogil=True, error_model="numpy")
def arcsin_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `arcsin`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = real(1.0) - x_
            t1 = x_ + real(1.0)
            t2 = t0 * t1
            t3 = sqrt(t2)
            t4 = real(1.0) / t3
            t5 = d * t4
            put(cx, g, i, j, t5)


@njit(nogil=True, error_model="numpy")
def arccos_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `arccos`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = real(1.0) - x_
            t1 = x_ + real(1.0)
            t2 = t0 * t1
            t3 = sqrt(t2)
            t4 = real(-1.0) / t3
            t5 = d * t4
            put(cx, g, i, j, t5)


@njit(nogil=True, error_model="numpy")
def arctan_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `arctan`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = x_ * x_
            t1 = t0 + real(1.0)
            t2 = real(1.0) / t1
            t3 = d * t2
            put(cx, g, i, j, t3)


@njit(nogil=True, error_model="numpy")
def arctan2_backward(
    rows: int, columns: int, g: Any, z: Any, x: Any, y: Any, cx: Any, cy: Any
) -> None:
    """Backward of `arctan2`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            y_ = at(y, i, j)
            if cx is not None:
                t0 = y_ * y_
                t1 = x_ * x_
                t2 = t0 + t1
                t3 = t2 == real(0.0)
                t4 = real(1.0) if t3 else t2
                t5 = y_ / t4
                t6 = real(0.0) if t3 else t5
                t7 = d * t6
                put(cx, g, i, j, t7)
            if cy is not None:
                t0 = -x_
                t1 = y_ * y_
                t2 = x_ * x_
                t3 = t1 + t2
                t4 = t3 == real(0.0)
                t5 = real(1.0) if t4 else t3
                t6 = t0 / t5
                t7 = real(0.0) if t4 else t6
                t8 = d * t7
                put(cy, g, i, j, t8)


@njit(nogil=True, error_model="numpy")
def sinh_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `sinh`."""
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = cosh(x_)
            t1 = d * t0
            put(cx, g, i, j, t1)


@njit(nogil=True, error_model="numpy")
def cosh_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `cosh`."""
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = sinh(x_)
            t1 = d * t0
            put(cx, g, i, j, t1)


@njit(nogil=True, error_model="numpy")
def tanh_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `tanh`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            z_ = at(z, i, j)
            t0 = real(1.0) - z_
            t1 = z_ + real(1.0)
            t2 = t0 * t1
            t3 = d * t2
            put(cx, g, i, j, t3)


@njit(nogil=True, error_model="numpy")
def arcsinh_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `arcsinh`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = x_ * x_
            t1 = t0 + real(1.0)
            t2 = sqrt(t1)
            t3 = real(1.0) / t2
            t4 = d * t3
            put(cx, g, i, j, t4)


@njit(nogil=True, error_model="numpy")
def arccosh_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `arccosh`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = real(1.0) - x_
            t1 = x_ + real(1.0)
            t2 = t0 * t1
            t3 = real(0.0) - t2
            t4 = sqrt(t3)
            t5 = real(1.0) / t4
            t6 = d * t5
            put(cx, g, i, j, t6)


@njit(nogil=True, error_model="numpy")
def arctanh_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `arctanh`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = real(1.0) - x_
            t1 = x_ + real(1.0)
            t2 = t0 * t1
            t3 = real(1.0) / t2
            t4 = d * t3
            put(cx, g, i, j, t4)


@njit(nogil=True, error_model="numpy")
def error_function_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `error_function`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = x_ * x_
            t1 = -t0
            t2 = exp(t1)
            t3 = real(1.1283791670955126) * t2
            t4 = d * t3
            put(cx, g, i, j, t4)


@njit(nogil=True, error_model="numpy")
def expit_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `expit`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            z_ = at(z, i, j)
            t0 = real(1.0) - z_
            t1 = z_ * t0
            t2 = d * t1
            put(cx, g, i, j, t2)


@njit(nogil=True, error_model="numpy")
def relu_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `relu`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            z_ = at(z, i, j)
            t0 = z_ <= real(0.0)
            t1 = not t0
            t2 = real(t1)
            t3 = d * t2
            put(cx, g, i, j, t3)


@njit(nogil=True, error_model="numpy")
def silu_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `silu`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = sigmoid(x_)
            t1 = real(1.0) - t0
            t2 = x_ * t1
            t3 = real(1.0) + t2
            t4 = t0 * t3
            t5 = d * t4
            put(cx, g, i, j, t5)


@njit(nogil=True, error_model="numpy")
def gelu_backward(rows: int, columns: int, g: Any, z: Any, x: Any, cx: Any) -> None:
    """Backward of `gelu`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = real(-0.7071067811865475) * x_
            t1 = erfc(t0)
            t2 = real(0.5) * t1
            t3 = x_ * x_
            t4 = t3 * real(0.5)
            t5 = -t4
            t6 = exp(t5)
            t7 = real(0.3989422804014327) * t6
            t8 = x_ * t7
            t9 = t2 + t8
            t10 = d * t9
            put(cx, g, i, j, t10)


@njit(nogil=True, error_model="numpy")
def clip_backward(
    rows: int, columns: int, g: Any, z: Any, x: Any, y: Any, w: Any, cx: Any, cy: Any, cw: Any
) -> None:
    """Backward of `clip`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            z_ = at(z, i, j)
            x_ = at(x, i, j)
            y_ = at(y, i, j)
            w_ = at(w, i, j)
            if cx is not None:
                t0 = x_ > y_
                t1 = x_ != x_
                t2 = t0 | t1
                t3 = x_ if t2 else y_
                t4 = t3 != t3
                t5 = x_ == t3
                t6 = t4 & t1
                t7 = t5 | t6
                t8 = y_ == t3
                t9 = y_ != y_
                t10 = t4 & t9
                t11 = t8 | t10
                t12 = real(0.5) if t11 else real(1.0)
                t13 = t12 if t7 else real(0.0)
                t14 = z_ != z_
                t15 = t3 == z_
                t16 = t14 & t4
                t17 = t15 | t16
                t18 = w_ == z_
                t19 = w_ != w_
                t20 = t14 & t19
                t21 = t18 | t20
                t22 = real(0.5) if t21 else real(1.0)
                t23 = t22 if t17 else real(0.0)
                t24 = t13 * t23
                t25 = t24 != real(0.0)
                t26 = d if t25 else real(0.0)
                t27 = t26 * t24
                put(cx, g, i, j, t27)
            if cy is not None:
                t0 = x_ > y_
                t1 = x_ != x_
                t2 = t0 | t1
                t3 = x_ if t2 else y_
                t4 = t3 != t3
                t5 = x_ == t3
                t6 = t4 & t1
                t7 = t5 | t6
                t8 = y_ == t3
                t9 = y_ != y_
                t10 = t4 & t9
                t11 = t8 | t10
                t12 = real(0.5) if t11 else real(1.0)
                t13 = t12 if t7 else real(0.0)
                t14 = z_ != z_
                t15 = t3 == z_
                t16 = t14 & t4
                t17 = t15 | t16
                t18 = w_ == z_
                t19 = w_ != w_
                t20 = t14 & t19
                t21 = t18 | t20
                t22 = real(0.5) if t21 else real(1.0)
                t23 = t22 if t17 else real(0.0)
                t24 = real(1.0) - t13
                t25 = t24 * t23
                t26 = t25 != real(0.0)
                t27 = d if t26 else real(0.0)
                t28 = t27 * t25
                put(cy, g, i, j, t28)
            if cw is not None:
                t0 = x_ > y_
                t1 = x_ != x_
                t2 = t0 | t1
                t3 = x_ if t2 else y_
                t4 = t3 != t3
                t5 = z_ != z_
                t6 = t3 == z_
                t7 = t5 & t4
                t8 = t6 | t7
                t9 = w_ == z_
                t10 = w_ != w_
                t11 = t5 & t10
                t12 = t9 | t11
                t13 = real(0.5) if t12 else real(1.0)
                t14 = t13 if t8 else real(0.0)
                t15 = real(1.0) - t14
                t16 = t15 != real(0.0)
                t17 = d if t16 else real(0.0)
                t18 = t17 * t15
                put(cw, g, i, j, t18)


@njit(nogil=True, error_model="numpy")
def power_2_backward(rows: int, columns: int, g: Any, z: Any, x: Any, y: Any, cx: Any) -> None:
    """Backward of `power` for the exponent 2."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = real(2.0) * x_
            t1 = d * t0
            put(cx, g, i, j, t1)


@njit(nogil=True, error_model="numpy")
def power_3_backward(rows: int, columns: int, g: Any, z: Any, x: Any, y: Any, cx: Any) -> None:
    """Backward of `power` for the exponent 3."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            t0 = x_ * x_
            t1 = real(3.0) * t0
            t2 = d * t1
            put(cx, g, i, j, t2)


@njit(nogil=True, error_model="numpy")
def where_backward(
    rows: int, columns: int, g: Any, z: Any, x: Any, y: Any, w: Any, cy: Any, cw: Any
) -> None:
    """Backward of `where`."""
    real = g.dtype.type
    for i in range(rows):
        for j in range(columns):
            d = at(g, i, j)
            x_ = at(x, i, j)
            if cy is not None:
                t0 = d if x_ else real(0.0)
                put(cy, g, i, j, t0)
            if cw is not None:
                t0 = real(0.0) if x_ else d
                put(cw, g, i, j, t0)
