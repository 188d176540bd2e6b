"""Fused forms of three operands: lerp, addcmul and addcdiv."""

from __future__ import annotations

from typing import Any

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import (
    boxed,
    computed,
    into,
    method,
    named,
    told,
    widened,
)
from funcgrad.torch.operations.promotion import (
    NUMBERS,
    content,
    dtype_of,
    kind_of,
    number,
    promoted,
    wrong_type,
)
from funcgrad.torch.operations.recorded import refuse_kinds

__all__ = [
    "addcdiv", "addcmul", "lerp",
]  # fmt: skip


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


LERP_OPERATION = Composite("lerp", widened(_lerp))
LERP_NUMBER_OPERATION = Composite("lerp_number", widened(_lerp))


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


ADDCMUL = Composite(
    "addcmul", widened(lambda x, y, z, value: a.add(x, a.multiply(a.multiply(y, z), value)))
)
ADDCDIV = Composite(
    "addcdiv", widened(lambda x, y, z, value: a.add(x, a.multiply(a.divide(y, z), value)))
)
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
