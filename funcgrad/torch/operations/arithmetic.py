"""Addition to division, remainders, powers, and their fused forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import concrete, value
from funcgrad.core.types import Array
from funcgrad.errors import AbstractValueError
from funcgrad.ops import arithmetic as a
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.modes import modes
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
    kind_of,
    number,
    pair,
    promoted,
    wrapped,
    wrong_type,
)
from funcgrad.torch.operations.recorded import Flat, Underivable, refuse_kinds, unary
from funcgrad.torch.remembered import remembered

__all__ = [
    "add", "addcdiv", "addcmul", "div", "divide", "float_power", "floor_divide", "fmod", "lerp",
    "mul", "multiply", "neg", "negative", "positive", "pow", "reciprocal", "remainder", "rsub",
    "square", "sub", "subtract", "true_divide",
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


def _typed(x: Any, y: Any) -> Any:
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
    typed = _typed(x, y)
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
        _check_divisor(x, y)
        rounded = DIV_FLOOR if rounding_mode == "floor" else DIV_TRUNC
        result = boxed(computed(rounded, x, y), DIV_ROUNDED)
    return result if out is None else into(out, result, "div")


divide = true_divide = div
install(divide=div, divide_=inplace(div, "divide_"))
install(true_divide=div, true_divide_=inplace(div, "true_divide_"))


def _check_divisor(x: Array, y: Array) -> None:
    """Integers must not be divided by zero."""
    if dtype_of(x).kind in "iu" and not concrete(y) and modes.stage is not None:
        raise AbstractValueError(modes.stage.refuse("integers are divided by a Tensor"))
    if dtype_of(x).kind in "iu" and concrete(y) and not np.all(np.asarray(value(y))):
        raise RuntimeError("ZeroDivisionError")


def _floor_quotient(x: Array, y: Array) -> Array:
    return a.floor_divide(x, y)


def _trunc_quotient(x: Array, y: Array) -> Array:
    if dtype_of(x).kind not in "iu":
        return a.trunc(a.divide(x, y))
    down = a.floor_divide(x, y)
    uneven = a.not_equal(a.multiply(down, y), x)
    return a.add(down, a.cast(a.logical_and(uneven, a.less(down, 0)), dtype_of(x)))


DIV_FLOOR = Flat("div_floor", _floor_quotient)
DIV_TRUNC = Flat("div_trunc", _trunc_quotient)
NOT_IMPLEMENTED = named("NotImplemented")
FLOOR_DIVIDE = Underivable("floor_divide", _floor_quotient)


@method(changing=True)
def floor_divide(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """The quotient rounded down; PyTorch has no derivative for it, `div` with a rounding has."""
    x, y = promoted("floor_divide", input, other)
    refuse_kinds("div_floor_cpu", "bc", x)
    _check_divisor(x, y)
    result = boxed(computed(FLOOR_DIVIDE, x, y), NOT_IMPLEMENTED)
    return result if out is None else into(out, result, "floor_divide")


# -------------------------------------------------------------------------------- remainders

REMAINDER = named("RemainderBackward1", "", "self", "other")
REMAINDER_NUMBER = named("RemainderBackward0", shown=(0,))
FMOD = named("FmodBackward1", "", "self", "other")
FMOD_NUMBER = named("FmodBackward0", shown=(0,))
NUMBER_REMAINDER = Underivable("remainder", a.remainder)


@method(changing=True)
def remainder(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """The remainder with the sign of `other`."""
    x, y = promoted("remainder", input, other)
    refuse_kinds("remainder_cpu", "bc", x)
    _check_divisor(x, y)
    if not isinstance(input, Tensor):
        result = boxed(computed(NUMBER_REMAINDER, x, y), NOT_IMPLEMENTED)
    else:
        node = REMAINDER if isinstance(other, Tensor) else REMAINDER_NUMBER
        result = boxed(computed(a.remainder, x, y), node)
    return result if out is None else into(out, result, "remainder")


@method(changing=True)
def fmod(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """The remainder with the sign of `input`."""
    content(input, "fmod")
    x, y = promoted("fmod", input, other)
    refuse_kinds("fmod_cpu", "bc", x)
    _check_divisor(x, y)
    result = boxed(computed(a.fmod, x, y), FMOD if isinstance(other, Tensor) else FMOD_NUMBER)
    return result if out is None else into(out, result, "fmod")


# ------------------------------------------------------------------------------------ powers

POW_NUMBER = named("PowBackward0", "", "self", "exponent", shown=(0,))
POW = named("PowBackward1", "result", "self", "exponent")
NUMBER_POW = named("PowBackward2", "result", "self", "exponent", shown=(1,))


@method(changing=True)
@remembered
def pow(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent``."""
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        kinds = f"{type(input).__name__}, {type(exponent).__name__}"
        raise TypeError(f"pow() received an invalid combination of arguments - got ({kinds})")
    x, y = pair("pow", input, exponent)
    if dtype_of(_typed(x, y)).kind == "b":
        refuse_kinds("pow", "b", _typed(x, y))
    if not isinstance(input, Tensor):
        base = wrapped(x, dtype_of(y))
        result = boxed(computed(_integer_safe_power, base, y), NUMBER_POW)
    elif isinstance(exponent, Tensor):
        result = boxed(computed(_integer_safe_power, x, y), POW)
    else:
        if dtype_of(x).kind in "iu":
            if exponent < 0:
                raise RuntimeError("Integers to negative integer powers are not allowed.")
            number(exponent, dtype_of(x))
        result = boxed(computed(a.power, x, y), POW_NUMBER)
    return result if out is None else into(out, result, "pow")


def _integer_safe_power(x: Array, y: Array) -> Array:
    """The power; of integers to negative ones the quotient without its fraction."""
    kind = dtype_of(x).kind
    if kind != "i":
        return a.power(x, y)
    negative_ = a.less(y, 0)
    whole = a.power(x, a.where(negative_, 0, y))
    odd = a.not_equal(a.bitwise_and(y, 1), 0)
    unit = a.where(a.equal(x, 1), 1, a.where(a.equal(x, -1), a.where(odd, -1, 1), 0))
    return a.cast(a.where(negative_, unit, whole), dtype_of(x))


@method(changing=True)
def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent`` in double precision."""
    from funcgrad.torch.operations.converting import to_dtype

    whole = any(
        x.is_complex() if isinstance(x, Tensor) else isinstance(x, complex)
        for x in (input, exponent)
    )
    target = dtypes.complex128 if whole else dtypes.float64
    wide = [to_dtype(x, target) if isinstance(x, Tensor) else x for x in (input, exponent)]
    return pow(wide[0], wide[1], out=out)


MUL_SCALAR = named("MulBackward1", "", "", "other", shown=(0,))
DIV_SCALAR = named("DivBackward1", "", "", "other", shown=(0,))


def mul_scalar(x: Tensor, number_: float) -> Tensor:
    """``x * number``, as PyTorch's own functions write it: the number is no operand."""
    return boxed(computed(a.multiply, *pair("mul", x, number_)), MUL_SCALAR)


def div_scalar(x: Tensor, number_: float) -> Tensor:
    """``x / number``, likewise."""
    return boxed(computed(a.divide, *pair("div", x, number_, floats=True)), DIV_SCALAR)


square = unary(
    "square",
    lambda x: a.power(a.cast(x, np.int64) if dtype_of(x).kind == "b" else x, 2),
    POW_NUMBER,
    floats=False,
)
reciprocal = unary("reciprocal", a.reciprocal, named("ReciprocalBackward0", "result"))


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


# ------------------------------------------------------------------------------- fused forms

LERP_NUMBER = named("LerpBackward0")
LERP = named("LerpBackward1", "", "self", "end", "weight")
ADDCMUL_NODE = named("AddcmulBackward0", "", "", "tensor1", "tensor2")
ADDCDIV_NODE = named("AddcdivBackward0", "", "", "tensor1", "tensor2")


def _lerp(x: Array, end: Array, weight: Array) -> Array:
    # from the nearer end, so that weight 1 gives `end` exactly
    gap = a.subtract(end, x)
    near = a.add(x, a.multiply(weight, gap))
    far = a.subtract(end, a.multiply(gap, a.subtract(1, weight)))
    return a.where(a.less(a.absolute(weight), 0.5), near, far)


LERP_OPERATION = Composite("lerp", _lerp)
LERP_NUMBER_OPERATION = Composite("lerp_number", lambda x, end, weight: _lerp(x, end, weight))


@method(changing=True)
def lerp(input: Tensor, end: Tensor, weight: Any, *, out: Tensor | None = None) -> Tensor:
    """``input + weight * (end - input)``."""
    x, y = content(input, "lerp"), content(end, "lerp", "end", 2)
    _same_dtype(x, y, "end")
    if isinstance(weight, Tensor):
        w = content(weight, "lerp", "weight", 3)
        _same_dtype(x, w, "weight")
        refuse_kinds("lerp_kernel_tensor", "biu", x)
        result = boxed(computed(LERP_OPERATION, x, y, w), LERP)
    else:
        if not isinstance(weight, NUMBERS):
            wrong_type("lerp", "weight", 3, "Number", weight)
        refuse_kinds("lerp_kernel_scalar", "biu", x)
        w = number(weight, dtype_of(x))
        result = boxed(computed(LERP_NUMBER_OPERATION, x, y, weight=w), LERP_NUMBER)
        told(result, weight=weight)
    return result if out is None else into(out, result, "lerp")


def _same_dtype(x: Array, y: Array, what: str) -> None:
    if dtype_of(x) != dtype_of(y):
        raise RuntimeError(
            f"expected dtype {dtypes.c_name(kind_of(x))} for `{what}` but got dtype "
            f"{dtypes.c_name(kind_of(y))}"
        )


ADDCMUL = Composite("addcmul", lambda x, y, z, value: a.add(x, a.multiply(a.multiply(y, z), value)))
ADDCDIV = Composite("addcdiv", lambda x, y, z, value: a.add(x, a.multiply(a.divide(y, z), value)))
INTEGER_DIVISION = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will "
    "perform a true division of tensor1 and tensor2. The historic addcdiv behavior can be "
    "implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer "
    "inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv "
    "behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all "
    "dtypes."
)


@method(changing=True)
def addcmul(
    input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None
) -> Tensor:
    """``input + value * tensor1 * tensor2``."""
    x, y, z = promoted("addcmul", input, tensor1, tensor2)
    found = computed(ADDCMUL, x, y, z, value=number(value, dtype_of(x)))
    result = told(boxed(found, ADDCMUL_NODE), value=value)
    return result if out is None else into(out, result, "addcmul")


@method(changing=True)
def addcdiv(
    input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None
) -> Tensor:
    """``input + value * tensor1 / tensor2``."""
    if all(dtype_of(content(t, "addcdiv")).kind in "biu" for t in (tensor1, tensor2)):
        raise RuntimeError(INTEGER_DIVISION)
    x, y, z = promoted("addcdiv", input, tensor1, tensor2)
    found = computed(ADDCDIV, x, y, z, value=number(value, dtype_of(x)))
    result = told(boxed(found, ADDCDIV_NODE), value=value)
    return result if out is None else into(out, result, "addcdiv")
