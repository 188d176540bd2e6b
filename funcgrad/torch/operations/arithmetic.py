"""Addition, subtraction, multiplication, division and the change of sign."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.narrow import number_of
from funcgrad.torch.operations.common import boxed, computed, told
from funcgrad.torch.operations.promotion import NUMBERS, dtype_of, number, promoted, wrapped
from funcgrad.torch.operations.promotion import pair as paired
from funcgrad.torch.operations.record import (
    Operator,
    alias,
    in_place,
    node,
    op,
    operation,
    pair,
    pair_floats,
    refuse,
    same,
)
from funcgrad.torch.operations.remainders import DIV_FLOOR, DIV_TRUNC, check_divisor

__all__ = [
    "add", "div", "divide", "mul", "multiply", "neg", "neg_", "negative", "negative_", "positive",
    "rsub", "sub", "subtract", "true_divide",
]  # fmt: skip

# ---------------------------------------------------------------------- addition, subtraction

PAIR = "operand input, operand other, *, out"
NUMBER_SECOND = "input, Number other"
SCALED = (
    "operand input, operand other, *, Number alpha=1, out"
    " | ~operand input, Number alpha, operand other, *, out"
)
ADD = node("Add", tells="alpha", of="add")
SUB = node("Sub", tells="alpha", of="subtract")
RSUB = node("Rsub", shows=(1, 0), tells="alpha")
RSUB_NUMBER = node("RsubBackward1", shows=(1,), tells="alpha")


def _check_alpha(alpha: Any, x: Array) -> None:
    kind = dtype_of(x).kind
    if isinstance(alpha, (bool, np.bool_)) and kind != "b":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, (float, np.floating)) and kind in "biu":
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    if isinstance(alpha, (complex, np.complexfloating)) and kind != "c":
        raise RuntimeError(
            "For non-complex input tensors, argument alpha must not be a complex number."
        )


def of_one_dtype(x: Any, y: Any) -> Any:
    """The operand that says the dtype: the one that is no Python number."""
    return y if type(x) in (int, float) else x


class _Scaled(Composite):
    """x + alpha y as one node."""

    def __init__(self, name: str, core: Any) -> None:
        super().__init__(name, lambda x, y, alpha: core(x, a.multiply(y, alpha)))


ADD_SCALED = _Scaled("add_scaled", a.add)
SUB_SCALED = _Scaled("subtract_scaled", a.subtract)


def _combined(core: Any, scaled: Composite, x: Any, y: Any, alpha: Any) -> Array:
    if alpha == 1 and type(alpha) is int:
        return computed(core, x, y)
    typed = of_one_dtype(x, y)
    _check_alpha(alpha, typed)
    kind = dtype_of(typed)
    x, y = (wrapped(v, kind) if type(v) in (int, float) else v for v in (x, y))
    factor = number(alpha, kind)
    return computed(scaled, x, y, alpha=factor if kind.isnative else number_of(factor))


@operation("add", SCALED, node=ADD, remembers=True, lies="operands",
           operator=Operator("add", commutes=True, core=a.add, node=ADD))  # fmt: skip
def add(input: Any, other: Any, alpha: Any) -> Tensor:
    """``input + alpha * other``."""
    x, y = paired("add", input, other)
    result = boxed(_combined(a.add, ADD_SCALED, x, y, alpha), ADD)
    return result if alpha == 1 else told(result, alpha=alpha)


def _check_subtraction(x: Any, y: Any) -> None:
    kinds = [
        "b" if isinstance(v, (bool, np.bool_)) else "n" if isinstance(v, NUMBERS)
        else dtype_of(v.content()).kind for v in (x, y) if isinstance(v, (Tensor, *NUMBERS))
    ]  # fmt: skip
    if kinds == ["b", "b"]:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    if "b" in kinds:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
            "to invert a mask, use the `~` or `logical_not()` operator instead."
        )


NUMBER_SCALED = "input, Number other, Number alpha=1"


@operation(
    "rsub", f"input, other, *, Number alpha=1 | {NUMBER_SCALED}", variants="", remembers=True,
    lies="swapped",
)  # fmt: skip
def rsub(input: Any, other: Any, alpha: Any) -> Tensor:
    """``other - alpha * input``."""
    _check_subtraction(input, other)
    x, y = paired("rsub", input, other)
    kind = RSUB if isinstance(other, Tensor) else RSUB_NUMBER
    return told(boxed(_combined(a.subtract, SUB_SCALED, y, x, alpha), kind), alpha=alpha)


@operation("sub", SCALED, node=SUB, remembers=True, lies="operands",
           operator=Operator("sub", reflected=rsub, core=a.subtract, node=SUB))  # fmt: skip
def sub(input: Any, other: Any, alpha: Any) -> Tensor:
    """``input - alpha * other``."""
    _check_subtraction(input, other)
    x, y = paired("sub", input, other)
    result = boxed(_combined(a.subtract, SUB_SCALED, x, y, alpha), SUB)
    return result if alpha == 1 else told(result, alpha=alpha)


subtract = alias("subtract", sub, f"input, other, *, Number alpha=1, out | {NUMBER_SCALED}")

# ------------------------------------------------------------------- multiplication, division

DIV = node("Div", "self other", of="divide")
DIV_ROUNDED = node("DivBackward2", "self other", tells="rounding_mode")

MUL = node("Mul", "self other", of="multiply scale")
mul = op("mul", PAIR, core=a.multiply, promote=pair, node=MUL, doc="``input * other``.",
         operator=Operator("mul", commutes=True, core=a.multiply, node=MUL))  # fmt: skip
multiply = alias("multiply", mul, f"input, other, *, out | {NUMBER_SECOND}")


def _quotient(x: Any, y: Any) -> Any:
    if type(y) in (int, float) and y == 0:  # Python would raise
        y = np.asarray(y, dtype_of(x))[()]
    return a.divide(x, y)


ROUNDED = "input, other, *, str? rounding_mode, out"
NUMBER_ROUNDED = "input, Number other, *, str? rounding_mode"


def _reflected_quotient(self: Tensor, other: Any) -> Tensor:
    return mul(self.reciprocal(), other)


@operation("div", f"{PAIR} | operand {ROUNDED} | {NUMBER_ROUNDED}", node=DIV, remembers=True,
           lies="operands",
           operator=Operator("truediv", _reflected_quotient, core=a.divide, node=DIV))  # fmt: skip
def div(input: Any, other: Any, rounding_mode: str | None) -> Tensor:
    """``input / other``; rounded down with ``"floor"``, towards zero with ``"trunc"``.

    The derivative of a rounded quotient is zero.
    """
    if rounding_mode is None:
        x, y = paired("div", input, other, floats=True)
        return boxed(computed(_quotient, x, y), DIV)
    if rounding_mode not in ("floor", "trunc"):
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )
    x, y = promoted("div", input, other)
    refuse({"bc": f"div_{rounding_mode}_cpu"}, x)
    check_divisor(x, y)
    rounded = DIV_FLOOR if rounding_mode == "floor" else DIV_TRUNC
    return boxed(computed(rounded, x, y), DIV_ROUNDED)


divide = alias(
    "divide", div, f"input, other, *, out | {ROUNDED} | {NUMBER_SECOND} | {NUMBER_ROUNDED}"
)
true_divide = op("true_divide", f"input, other, *, out | {NUMBER_SECOND}", core=_quotient,
                 promote=pair_floats, node=DIV)  # fmt: skip

MUL_SCALAR = node("MulBackward1", "_ other", shows=(0,))
DIV_SCALAR = node("DivBackward1", "_ other", shows=(0,))


def mul_scalar(x: Tensor, number_: float) -> Tensor:
    """``x * number``, as PyTorch's own functions write it: the number is no operand."""
    return boxed(computed(a.multiply, *paired("mul", x, number_)), MUL_SCALAR)


def div_scalar(x: Tensor, number_: float) -> Tensor:
    """``x / number``, likewise."""
    return boxed(computed(a.divide, *paired("div", x, number_, floats=True)), DIV_SCALAR)


# ------------------------------------------------------------------------------------------ signs

NO_NEGATION = RuntimeError(
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
    "invert a mask, use the `~` or `logical_not()` operator instead."
)
neg = op("neg", "input, *, out", core=a.negative, promote=same, node="Neg",
         refuses={"b": NO_NEGATION}, operator="neg", doc="``-input``.")  # fmt: skip
negative = alias("negative", neg)
neg_, negative_ = in_place(neg, negative)


@operation("positive", "input", variants="method", operator="pos")
def positive(input: Tensor) -> Tensor:
    """``+input``: the tensor itself."""
    if dtype_of(input.content()).kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input
