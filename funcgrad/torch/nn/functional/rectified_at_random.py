"""Rectified units whose slope below 0 is drawn for each element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.nn.functional.activation import LEAKY
from funcgrad.torch.nn.functional.common import apply
from funcgrad.torch.operations.common import HALF, boxed, computed, told
from funcgrad.torch.operations.generator import Generator
from funcgrad.torch.operations.promotion import content, dtype_of
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.recorded import elementwise_refusal
from funcgrad.torch.operations.sampling import drawn_given, source_of
from funcgrad.torch.writing import check_writable, write

__all__ = ["rrelu", "rrelu_", "rrelu_with_generator"]

KERNEL = "rrelu_with_noise_out_cpu"
DRAWN = Composite("rrelu", a.multiply, linear=True, fixed=1)
TOLD = "lower upper training"
NODES = {
    inplace: (
        node(f"RreluWithNoiseBackward{inplace:d}", "result" if inplace else "self", tells=TOLD),
        node(f"RreluWithNoiseBackward{inplace:d}", "_ noise", shows=(0,), tells=TOLD),
    )
    for inplace in (False, True)
}


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """`x` above 0, else a slope times `x`: while training drawn from [lower, upper), else the mean.

    The slopes are constants to derivatives, and PyTorch's for the same seed.

    Raises
    ------
    RuntimeError
        A bound that is not finite, or `lower` above `upper`.
    NotImplementedError
        A dtype without a kernel: integers, complex numbers; half precision while training.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.functional.rrelu(torch.tensor([-1.0, 2.0]), 0.1, 0.3)
    tensor([-0.2000,  2.0000])
    """
    return _rrelu(input, lower, upper, training, inplace, None)


ARGUMENTS = (
    "input, Number lower=0.125, Number upper=0.33333333333333331, bool training=False, "
    "Generator generator=None"
)


@operation("rrelu", ARGUMENTS, variants="")
def rrelu_with_generator(
    input: Tensor, lower: float, upper: float, training: bool, generator: Generator | None
) -> Tensor:
    """`nn.functional.rrelu`, of a given source of random numbers."""
    return _rrelu(input, lower, upper, training, False, generator)


@operation("rrelu_", ARGUMENTS, variants="")
def rrelu_(
    input: Tensor, lower: float, upper: float, training: bool, generator: Generator | None
) -> Tensor:
    """`rrelu`, in place."""
    return _rrelu(input, lower, upper, training, True, generator)


def _rrelu(
    input: Tensor, lower: float, upper: float, training: bool, inplace: bool,
    generator: Generator | None,
) -> Tensor:  # fmt: skip
    x = content(input, "rrelu")
    _check(lower, upper)
    if not training:
        slope = (lower + upper) / 2
        out = apply(LEAKY, "rrelu", NODES[inplace][0], input, inplace, "leaky_relu_cpu",
                    slope=slope)  # fmt: skip
        return told(out, lower=lower, upper=upper, training=False)
    if dtype_of(x).kind != "f" or dtype_of(x) == HALF:
        raise elementwise_refusal(KERNEL, x)
    if inplace:
        check_writable(input)
    slopes = _slopes(x, lower, upper, generator)
    out = boxed(computed(DRAWN, x, slopes), NODES[inplace][1])
    told(out, lower=lower, upper=upper, training=True)
    return write(input, out._t) if inplace else out


def _check(lower: float, upper: float) -> None:
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound:g}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")


def _slopes(x: Array, lower: float, upper: float, generator: Any) -> Array:
    """1 above 0; else a number for each element, drawn one after the other."""
    source, kind = source_of(generator, "rrelu"), dtype_of(x)
    low, high = float(kind.type(lower)), float(kind.type(upper))

    def sample(given: Any) -> Any:
        slopes, below = np.ones(given.shape, given.dtype), given <= 0
        with source.lock:
            drawn = source.uniform(int(np.count_nonzero(below)), np.dtype(np.float64))
        slopes[below] = drawn * (high - low) + low
        return slopes

    return drawn_given(sample, "rrelu(training=True)", x)
