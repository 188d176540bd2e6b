"""Activations of straight or bent pieces: relu, hardtanh, hardswish and their kin.

Each is a function of the core whose derivative at its kinks is PyTorch's.
"""

from __future__ import annotations

import math
from typing import Any

from funcgrad.core.boundary import hide_frames
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.nn.functional.common import (
    apply,
    constant,
    inplace,
)
from funcgrad.torch.operations.common import (
    boxed,
    computed,
    shape_of,
    widened,
)
from funcgrad.torch.operations.promotion import content, dtype_of, number
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.remembered import remembered

__all__ = [
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "softshrink",
    "threshold",
    "threshold_",
]


# --------------------------------------------------------------- relu and what bends at a point


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(x, 0)``; the derivative at 0 is 0."""
    try:
        content(input, "relu")
        out: Tensor = input.relu_() if inplace else input.relu()
        return out
    except Exception as error:
        hide_frames(error)
        raise


def _clamped(x: Array, low: Any, high: Any) -> Array:
    """`x` limited; it moves only between the bounds, where a NaN is not."""
    between = a.logical_and(a.greater(x, low), a.less(x, high))
    edge = a.where(a.less(x, low), low, a.where(a.greater(x, high), high, constant(x)))
    return a.where(between, x, edge)


HARDTANH = Composite("hardtanh", _clamped)
HARDTANH_NODE = node("Hardtanh", "self", bends="HardtanhBackwardBackward0")


@remembered
@requires("min_val <= max_val: ValueError: min_val cannot be greater than max_val")
def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """`x` limited to [min_val, max_val]; the derivative at a bound is 0."""
    return _limited(input, min_val, max_val, inplace)


@requires("""
    kind(tensor(input, "hardtanh")) != "b": Bool inputs not supported for hardtanh
    kind(input) != "c": NotImplementedError: clamp is not supported for complex types
    kind(input) != "u" or min(low, high) >= 0: cannot do hardtanh on an unsigned type with negative
        limits
""")
def _limited(input: Tensor, low: float, high: float, inplace: bool) -> Tensor:
    type_ = dtype_of(input.content()).type
    return apply(HARDTANH, "hardtanh", HARDTANH_NODE, input, inplace,
                 low=type_(low), high=type_(high))  # fmt: skip


@operation("hardtanh_", "input, Number min_val=-1, Number max_val=1", variants="")
def hardtanh_(input: Tensor, min_val: float, max_val: float) -> Tensor:
    """`hardtanh`, in place."""
    return _limited(input, min_val, max_val, True)


@remembered
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`x` limited to [0, 6]."""
    return hardtanh(input, 0.0, 6.0, inplace)


LEAKY = Composite(
    "leaky_relu", widened(lambda x, slope: a.where(a.greater(x, 0.0), x, a.multiply(x, slope)))
)
LEAKY_NODE = node("LeakyRelu", "self", bends="LeakyReluBackwardBackward0")


@remembered
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`x` above 0, ``negative_slope * x`` else."""
    return apply(LEAKY, "leaky_relu", LEAKY_NODE, input, inplace, "leaky_relu_cpu",
                 slope=negative_slope)  # fmt: skip


def _prelu(x: Array, w: Array) -> Array:
    # at 0 the slope is the weight, as a constant: so has it PyTorch's second derivative
    slope = a.where(a.equal(x, 0.0), constant(w), w)
    return a.where(a.greater(x, 0.0), x, a.multiply(slope, x))


PRELU = Composite("prelu", widened(_prelu))
PRELU_NODE = node(
    "PreluKernel", "self weight", bends=("PreluKernelBackwardBackward0", ((0, (0,)), (1, (1,))))
)


@operation("prelu", "input, weight", variants="method", remembers=True)
@requires("""
    input.dtype is weight.dtype: prelu: Type promoting not supported. Got {input.dtype} and
        {weight.dtype}
    rank(weight) < 2: prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim =
        {rank(weight)}
    weight.numel() == 1 or rank(input) > 0: Not allow zero-dim input tensor.
    weight.numel() in (1, *shape(input)[1:2]): Mismatch of parameter numbers and input channel
        size. Found parameter numbers = {weight.numel()} and channel size =
        {shape(input)[1] if rank(input) > 1 else 1}.
""")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`x` above 0, ``weight * x`` else, with a weight for each channel (dimension 1) or one."""
    x, w = input.content(), weight.content()
    shape, count = shape_of(x), shape_of(w)
    fitting = [1] * len(shape)
    if len(shape) > 1:
        fitting[1] = math.prod(count)
    if tuple(fitting) != count:
        w = weight.reshape(fitting).content()
    return boxed(computed(PRELU, x, w), PRELU_NODE)


THRESHOLD = Composite(
    "threshold", lambda x, bound, value: a.where(a.less_equal(x, bound), value, x)
)
THRESHOLD_NODE = node("Threshold", "self", bends="ThresholdBackwardBackward0")


@remembered
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`x` above the threshold, `value` else."""
    kind = dtype_of(content(input, "threshold"))
    return apply(THRESHOLD, "threshold", THRESHOLD_NODE, input, inplace,
                 bound=threshold, value=number(value, kind))  # fmt: skip


def _softshrink(x: Array, bound: float) -> Array:
    inside = a.multiply(x, 0.0)  # a NaN stays one
    below = a.where(a.less(x, -bound), a.add(x, bound), inside)
    return a.where(a.greater(x, bound), a.subtract(x, bound), below)


SOFTSHRINK = Composite("softshrink", widened(_softshrink))
SOFTSHRINK_NODE = node("Softshrink", "self", bends="SoftshrinkBackwardBackward0")


SHRINKS = "input, Number lambd=0.5, *, out"


@operation("softshrink", SHRINKS, variants="", remembers=True)
@requires("""
    lambd >= 0: lambda must be in range [0, 3.40282e+38] for input dtype Float, but found {lambd:g}
""")
def softshrink(input: Tensor, lambd: float) -> Tensor:
    """`x` moved towards 0 by `lambd`, 0 within."""
    return apply(SOFTSHRINK, "softshrink", SOFTSHRINK_NODE, input, kernel="softshrink_check",
                 bound=lambd)  # fmt: skip


def _hardshrink(x: Array, bound: float) -> Array:
    outside = a.logical_or(a.less(x, -bound), a.greater(x, bound))
    return a.where(outside, x, constant(a.where(a.isnan(x), x, 0.0)))


HARDSHRINK = Composite("hardshrink", _hardshrink)
HARDSHRINK_NODE = node("Hardshrink", "self", bends="HardshrinkBackwardBackward0")


@operation("hardshrink", SHRINKS, variants="method", remembers=True)
def hardshrink(input: Tensor, lambd: float) -> Tensor:
    """`x` outside [-lambd, lambd], 0 within."""
    return apply(HARDSHRINK, "hardshrink", HARDSHRINK_NODE, input, kernel="hardshrink_cpu",
                 bound=lambd)  # fmt: skip


def _hardsigmoid(x: Array) -> Array:
    return a.divide(_clamped(a.add(x, 3.0), 0.0, 6.0), 6.0)


HARDSIGMOID = Composite("hardsigmoid", widened(_hardsigmoid))
HARDSIGMOID_NODE = node("Hardsigmoid", "self")


@remembered
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``(x + 3) / 6``, limited to [0, 1]."""
    return apply(HARDSIGMOID, "hardsigmoid", HARDSIGMOID_NODE, input, inplace, "hardsigmoid_cpu")


def _hardswish(x: Array) -> Array:
    middle = a.divide(a.multiply(x, a.add(x, 3.0)), 6.0)
    above = a.where(a.greater_equal(x, 3.0), x, middle)
    return a.where(a.less_equal(x, -3.0), constant(a.multiply(x, 0.0)), above)


HARDSWISH = Composite("hardswish", widened(_hardswish))
HARDSWISH_NODE = node("Hardswish", "self")


@remembered
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * hardsigmoid(x)``."""
    return apply(HARDSWISH, "hardswish", HARDSWISH_NODE, input, inplace, "hardswish_cpu")


SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


relu_ = inplace(relu)
leaky_relu_ = inplace(leaky_relu, "input, Number negative_slope=0.01")
threshold_ = inplace(threshold, "input, Number threshold, Number value")
