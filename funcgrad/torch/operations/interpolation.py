"""Fused forms of three operands: lerp, addcmul and addcdiv."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import boxed, computed, told, widened
from funcgrad.torch.operations.promotion import dtype_of, number, promoted
from funcgrad.torch.operations.record import NodeClass, node, operation, refuse
from funcgrad.torch.operations.requirements import requirements

__all__ = [
    "addcdiv", "addcmul", "lerp",
]  # fmt: skip


LERP_NUMBER, LERP = node("Lerp", tells="weight"), node("LerpBackward1", "self end weight")
ADDCMUL_NODE = node("Addcmul", "_ tensor1 tensor2", tells="value")
ADDCDIV_NODE = node("Addcdiv", "_ tensor1 tensor2", tells="value")


def _lerp(x: Array, end: Array, weight: Array) -> Array:
    # from the nearer end, so that weight 1 gives `end` exactly
    gap = a.subtract(end, x)
    near = a.add(x, a.multiply(weight, gap))
    far = a.subtract(end, a.multiply(gap, a.subtract(1, weight)))
    return a.where(a.less(a.absolute(weight), 0.5), near, far)


LERP_OPERATION = Composite("lerp", widened(_lerp))
LERP_NUMBER_OPERATION = Composite("lerp_number", widened(_lerp))


@operation(
    "lerp", "input, end, weight, *, out | input, end, Number weight, *, out", lies="operands"
)
def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """``input + weight * (end - input)``."""
    x, y = input.content(), end.content()
    _same_dtype(x, y, "end")
    if isinstance(weight, Tensor):
        w = weight.content()
        _same_dtype(x, w, "weight")
        refuse({"biu": "lerp_kernel_tensor"}, x)
        return boxed(computed(LERP_OPERATION, x, y, w), LERP)
    refuse({"biu": "lerp_kernel_scalar"}, x)
    w = number(weight, dtype_of(x))
    result = boxed(computed(LERP_NUMBER_OPERATION, x, y, weight=w), LERP_NUMBER)
    return told(result, weight=weight)


_same_dtype = requirements("x, y, what", """
    scalar_name(x) == scalar_name(y): expected dtype {c_name(x)} for `{what}` but got dtype
        {c_name(y)}
""")  # fmt: skip


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


SCALED = "input, tensor1, tensor2, *, Number value=1, out | ~self, Number value, tensor1, tensor2"


def _added(core: Composite, kind: NodeClass, xs: Sequence[Tensor], value: Any) -> Tensor:
    x, y, z = promoted("addcmul", *xs)
    return told(boxed(computed(core, x, y, z, value=number(value, dtype_of(x))), kind), value=value)


@operation("addcmul", SCALED, lies="operands")
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any) -> Tensor:
    """``input + value * tensor1 * tensor2``."""
    return _added(ADDCMUL, ADDCMUL_NODE, (input, tensor1, tensor2), value)


@operation("addcdiv", SCALED, lies="operands")
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any) -> Tensor:
    """``input + value * tensor1 / tensor2``."""
    if all(dtype_of(t.content()).kind in "biu" for t in (tensor1, tensor2)):
        raise RuntimeError(INTEGER_DIVISION)
    return _added(ADDCDIV, ADDCDIV_NODE, (input, tensor1, tensor2), value)
