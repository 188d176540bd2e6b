"""The activations that are functions of ``torch`` itself: `relu` and `sigmoid`."""

from __future__ import annotations

from funcgrad.ops import activation, logistic
from funcgrad.torch.operations.record import alias, floats, in_place, op, same

__all__ = ["relu", "relu_", "sigmoid", "sigmoid_"]

sigmoid = op("sigmoid", "input, *, out", core=logistic.expit, promote=floats, node="Sigmoid",
             saves="result")  # fmt: skip
expit = alias("special_expit", sigmoid, variants="")
relu = op(
    "relu", "input", core=activation.relu, promote=same, node="Relu", saves="result",
    bends="ThresholdBackward",
    refuses={
        "b": RuntimeError("Boolean inputs not supported for relu"),
        "c": NotImplementedError("clamp is not supported for complex types"),
    },
    doc="The positive part of each element; its derivative at 0 is 0.",
)  # fmt: skip
relu_, sigmoid_ = in_place(relu, sigmoid)
