"""Addition, subtraction, multiplication, division and the change of sign."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import (
    boxed,
    computed,
    inplace,
    install,
    into,
    method,
    named,
    told,
)
from funcgrad.torch.operations.promotion import (
    NUMBERS,
    content,
    dtype_of,
    number,
    pair,
    promoted,
    wrapped,
)
from funcgrad.torch.operations.recorded import refuse_kinds
from funcgrad.torch.operations.remainders import DIV_FLOOR, DIV_TRUNC, check_divisor
from funcgrad.torch.remembered import remembered

__all__ = [
    "add", "div", "divide", "mul", "multiply", "neg", "negative", "positive", "rsub", "sub",
    "subtract", "true_divide",
]  # fmt: skip

# ---------------------------------------------------------------------- addition, subtraction

ADD = named("AddBackward0")
SUB = named("SubBackward0")
RSUB = named("RsubBackward0", shown=(1, 0))
RSUB_NUMBER = named("RsubBackward1", shown=(1,))


def _check_alpha(alpha: Any, x: Array) -> None:
    kind = dtype_of(x).kind
    if not isinstance(alpha, NUMBERS):
        raise TypeError(f"add(): argument 'alpha' must be Number, not {type(alpha).__name__}")
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
    return computed(scaled, x, y, alpha=number(alpha, kind))


@method(changing=True)
def add(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """``input + alpha * other``."""
    x, y = pair("add", input, other)
    result = boxed(_combined(a.add, ADD_SCALED, x, y, alpha), ADD)
    if alpha != 1:
        told(result, alpha=alpha)
    return result if out is None else into(out, result, "add")


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


@method(changing=True)
def sub(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """``input - alpha * other``."""
    _check_subtraction(input, other)
    x, y = pair("sub", input, other)
    result = boxed(_combined(a.subtract, SUB_SCALED, x, y, alpha), SUB)
    if alpha != 1:
        told(result, alpha=alpha)
    return result if out is None else into(out, result, "sub")


subtract = sub
install(subtract=sub, subtract_=inplace(sub, "subtract_"))


@remembered
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """``other - alpha * input``."""
    _check_subtraction(input, other)
    x, y = pair("rsub", input, other)
    node = RSUB if isinstance(other, Tensor) else RSUB_NUMBER
    return told(boxed(_combined(a.subtract, SUB_SCALED, y, x, alpha), node), alpha=alpha)


# ------------------------------------------------------------------- multiplication, division

MUL = named("MulBackward0", "", "self", "other")
DIV = named("DivBackward0", "", "self", "other")
DIV_ROUNDED = named("DivBackward2", "", "self", "other")


@method(changing=True)
def mul(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """``input * other``."""
    x, y = pair("mul", input, other)
    result = boxed(computed(a.multiply, x, y), MUL)
    return result if out is None else into(out, result, "mul")


multiply = mul
install(multiply=mul, multiply_=inplace(mul, "multiply_"))


def _quotient(x: Any, y: Any) -> Any:
    if type(y) in (int, float) and y == 0:  # Python would raise
        y = np.asarray(y, dtype_of(x))[()]
    return a.divide(x, y)


@method(changing=True)
def div(
    input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None
) -> Tensor:
    """``input / other``; rounded down with ``"floor"``, towards zero with ``"trunc"``.

    The derivative of a rounded quotient is zero.
    """
    if rounding_mode is None:
        x, y = pair("div", input, other, floats=True)
        result = boxed(computed(_quotient, x, y), DIV)
    else:
        if rounding_mode not in ("floor", "trunc"):
            raise RuntimeError(
                "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
                f"'{rounding_mode}'"
            )
        x, y = promoted("div", input, other)
        refuse_kinds(f"div_{rounding_mode}_cpu", "bc", x)
        check_divisor(x, y)
        rounded = DIV_FLOOR if rounding_mode == "floor" else DIV_TRUNC
        result = boxed(computed(rounded, x, y), DIV_ROUNDED)
    return result if out is None else into(out, result, "div")


divide = true_divide = div
install(divide=div, divide_=inplace(div, "divide_"))
install(true_divide=div, true_divide_=inplace(div, "true_divide_"))


MUL_SCALAR = named("MulBackward1", "", "", "other", shown=(0,))
DIV_SCALAR = named("DivBackward1", "", "", "other", shown=(0,))


def mul_scalar(x: Tensor, number_: float) -> Tensor:
    """``x * number``, as PyTorch's own functions write it: the number is no operand."""
    return boxed(computed(a.multiply, *pair("mul", x, number_)), MUL_SCALAR)


def div_scalar(x: Tensor, number_: float) -> Tensor:
    """``x / number``, likewise."""
    return boxed(computed(a.divide, *pair("div", x, number_, floats=True)), DIV_SCALAR)


@method(changing=True)
@remembered
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``-input``."""
    x = content(input, "neg")
    if dtype_of(x).kind == "b":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` or `logical_not()` operator instead."
        )
    result = boxed(computed(a.negative, x), NEG)
    return result if out is None else into(out, result, "neg")


NEG = named("NegBackward0")
negative = neg
install(negative=neg, negative_=inplace(neg, "negative_"))


@method()
def positive(input: Tensor) -> Tensor:
    """``+input``: the tensor itself."""
    if dtype_of(content(input, "positive")).kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input
