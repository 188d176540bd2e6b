"""Activations made of exponentials: elu and its kin, sigmoid, gelu, softplus, glu.

Where a branch is not chosen its operand is made harmless first, so that nothing overflows there.
"""

from __future__ import annotations

from funcgrad.core.types import Array
from funcgrad.ops import activation as smooth
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index, logistic
from funcgrad.ops import transcendental as t
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.nn.functional.activation import SELU_ALPHA, SELU_SCALE
from funcgrad.torch.nn.functional.common import (
    apply,
    inplace,
)
from funcgrad.torch.operations.common import (
    axis_of,
    shape_of,
    widened,
)
from funcgrad.torch.operations.promotion import content
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.remembered import remembered

__all__ = [
    "celu",
    "celu_",
    "elu",
    "elu_",
    "gelu",
    "glu",
    "logsigmoid",
    "mish",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "softplus",
    "softsign",
    "tanh",
    "tanhshrink",
]


def _elu(x: Array, alpha: float, scale: float, inner: float) -> Array:
    curved = a.logical_not(a.greater_equal(x, 0.0))  # so that a NaN has no slope
    below = a.where(curved, x, 0.0)
    left = a.multiply(t.expm1(a.multiply(below, inner)), alpha * scale)
    # at 0 PyTorch has the slope of the curve, and no curvature
    right = a.where(a.equal(x, 0.0), a.multiply(x, alpha * scale * inner), a.multiply(x, scale))
    return a.where(curved, left, right)


ELU = Composite("elu", widened(_elu))
ELU_NODE = node("Elu", "self")
CELU_NODE = node("Celu", "self")


@remembered
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` above 0, ``alpha * (exp(x) - 1)`` else."""
    return apply(ELU, "elu", ELU_NODE, input, inplace, "elu_cpu",
                 alpha=alpha, scale=1.0, inner=1.0)  # fmt: skip


@remembered
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` scaled so that activations keep mean 0 and variance 1 (Klambauer et al. 2017)."""
    return apply(ELU, "selu", ELU_NODE, input, inplace, "elu_cpu",
                 alpha=SELU_ALPHA, scale=SELU_SCALE, inner=1.0)  # fmt: skip


@remembered
@requires("alpha != 0: RuntimeError: ZeroDivisionError: alpha cannot be 0 for CELU")
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` above 0, ``alpha * (exp(x / alpha) - 1)`` else."""
    return apply(ELU, "celu", CELU_NODE, input, inplace, "elu_cpu",
                 alpha=alpha, scale=1.0, inner=1.0 / alpha)  # fmt: skip


# ------------------------------------------------------------------------------ smooth units


def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))``."""
    content(input, "sigmoid")
    out: Tensor = input.sigmoid()
    return out


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    content(input, "tanh")
    out: Tensor = input.tanh()
    return out


LOGSIGMOID = Composite("logsigmoid", widened(smooth.log_sigmoid))
LOGSIGMOID_NODE = node("LogSigmoid", "self")


@operation("log_sigmoid", "input, *, out", variants="", remembers=True)
def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(x))``, without overflow."""
    return apply(LOGSIGMOID, "log_sigmoid", LOGSIGMOID_NODE, input, kernel="log_sigmoid_cpu")


SILU_NODE = node("Silu", "self")


@remembered
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``."""
    return apply(smooth.silu, "silu", SILU_NODE, input, inplace, "silu_cpu", "biu")


MISH = Composite("mish", widened(smooth.mish))
MISH_NODE = node("Mish", "self")


@remembered
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))``."""
    return apply(MISH, "mish", MISH_NODE, input, inplace, "mish_cpu")


GELU_TANH = Composite("gelu_tanh", widened(smooth.gelu_tanh))
GELU_NODE = node("Gelu", "self")


GELU = "input, *, str approximate='none', out"


@operation("gelu", GELU, variants="", remembers=True)
@requires("""
    approximate in ("none", "tanh"): approximate argument must be either none or tanh.
""")
def gelu(input: Tensor, approximate: str) -> Tensor:
    """`x` times the normal distribution function of `x`, or its approximation by ``"tanh"``."""
    prim = smooth.gelu if approximate == "none" else GELU_TANH
    return apply(prim, "gelu", GELU_NODE, input, kernel="GeluKernelImpl")


def _softplus(x: Array, beta: float, bound: float) -> Array:
    scaled = a.multiply(x, beta)
    linear = a.greater(scaled, bound)
    below = a.where(linear, 0.0, scaled)
    return a.where(linear, x, a.divide(t.log1p(t.exp(below)), beta))


SOFTPLUS = Composite("softplus", widened(_softplus))
SOFTPLUS_NODE = node("Softplus", "self")


@operation(
    "softplus", "input, Number beta=1, Number threshold=20, *, out", variants="", remembers=True
)
def softplus(input: Tensor, beta: float, threshold: float) -> Tensor:
    """``log(1 + exp(beta x)) / beta``, and `x` itself where ``beta x`` is above the threshold."""
    return apply(SOFTPLUS, "softplus", SOFTPLUS_NODE, input, kernel="softplus_cpu",
                 beta=beta, bound=threshold)  # fmt: skip


@remembered
def softsign(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``."""
    content(input, "softsign")
    out: Tensor = input / (input.abs() + 1)
    return out


@remembered
def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``."""
    content(input, "tanhshrink")
    out: Tensor = input - input.tanh()
    return out


def _glu(x: Array, axis: int) -> Array:
    half = shape_of(x)[axis] // 2
    lead = (slice(None),) * axis
    first = index.getitem(x, (*lead, slice(None, half)))
    return a.multiply(first, logistic.expit(index.getitem(x, (*lead, slice(half, None)))))


GLU = Composite("glu", widened(_glu))
GLU_NODE = node("Glu", "self")


@remembered
@requires("""
    rank(tensor(input, "glu")) > 0: glu does not support scalars because halving size must be even
    shape(input)[axis(dim, input)] % 2 == 0: Halving dimension must be even, but dimension
        {axis(dim, input)} is size {shape(input)[axis(dim, input)]}
""")
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along a dimension times the sigmoid of the second."""
    axis = axis_of(dim, input.ndim)
    return apply(GLU, "glu", GLU_NODE, input, kernel="glu_cpu", axis=axis)


@operation("elu_", "input, Number alpha=1, Number scale=1, Number input_scale=1", variants="")
def elu_(input: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor:
    """`elu`, in place; both sides are multiplied by `scale`, the exponents by `input_scale`."""
    return apply(ELU, "elu", ELU_NODE, input, True, "elu_cpu",
                 alpha=alpha, scale=scale, inner=input_scale)  # fmt: skip


selu_ = inplace(selu)
celu_ = inplace(celu, "input, Number alpha=1.")
