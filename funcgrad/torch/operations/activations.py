"""The activations that are functions of ``torch`` itself: `relu` and `sigmoid`."""

from __future__ import annotations

from funcgrad.ops import activation
from funcgrad.torch import hot
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.common import boxed, computed, inplace, install, named
from funcgrad.torch.operations.promotion import content, dtype_of
from funcgrad.torch.operations.recorded import unary

__all__ = ["relu", "relu_", "sigmoid"]

sigmoid = unary("sigmoid", activation.expit, named("SigmoidBackward0", "result"))
expit = sigmoid
RELU = named("ReluBackward0", "result")


def relu(input: Tensor) -> Tensor:
    """The positive part of each element; its derivative at 0 is 0."""
    return RECTIFIED(input)  # type: ignore[no-any-return]


def _relu(input: Tensor, *, out: Tensor | None) -> Tensor:
    x = content(input, "relu")
    kind = dtype_of(x).kind
    if kind == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    if kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    return boxed(computed(activation.relu, x), RELU)


RECTIFIED = hot.unary(activation.relu, RELU, _relu)
relu_ = inplace(relu, "relu_")
install(relu=relu, relu_=relu_)
