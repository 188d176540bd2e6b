"""The arrays of tensors: their memory, and what of them is seen where nothing is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad.core.tracer import Operand, Tracer, concrete, value
from funcgrad.core.tracer import layout as lying
from funcgrad.core.types import Array
from funcgrad.errors import (
    AbstractValueError,
    TracerConversionError,
    UnsupportedCallError,
    located,
)
from funcgrad.torch.modes import modes
from funcgrad.torch.nodes import AccumulateGrad
from funcgrad.torch.root import RootTracer
from funcgrad.torch.staged import Memory
from funcgrad.transforms.batch import BatchTracer
from funcgrad.transforms.forward import DualTracer
from funcgrad.transforms.node import TapeTracer

if TYPE_CHECKING:
    from funcgrad.torch._tensor import Tensor

__all__ = [
    "UnknownValueError",
    "as_array",
    "check_found",
    "concrete_array",
    "cut_off",
    "layout",
    "unknown",
]


class UnknownValueError(AbstractValueError, TracerConversionError, RuntimeError):
    """Python asked for the numbers of a Tensor that has none inside a transform.

    PyTorch raises a RuntimeError there, whose first words stand first.
    """


# what PyTorch says under vmap, by what is asked for
_UNDER_VMAP = {
    "item()": "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over "
    "calling .item() on a Tensor, please try to rewrite what you're doing with other operations",
    "the truth": "vmap: It looks like you're attempting to use a Tensor in some data-dependent "
    "control flow. We don't support that yet; use torch.where instead of a Python branch",
    "tolist()": "Cannot access data pointer of Tensor that doesn't have storage: tolist() of a "
    "Tensor that is mapped by vmap has one value for each example",
    "numpy()": "Cannot access data pointer of Tensor that doesn't have storage: numpy() of a "
    "Tensor inside a transform would cut its gradient; compute with the Tensor itself",
    "nonzero()": "vmap: We do not support batching operators that can output dynamic shape. "
    "Attempted to vmap over aten::nonzero",
}


def unknown(x: Array, what: str) -> UnknownValueError:
    """The error for `what` of a traced content, which has no value yet, with the user's line."""
    asked = x.content() if isinstance(x, Operand) else x
    mapped = isinstance(asked, Tracer) and _mapped(asked)
    if mapped or what == "numpy()":
        text = _UNDER_VMAP.get(what)
        if text is not None:
            return UnknownValueError(located(text))
    return UnknownValueError(
        located(
            f"{what} of a Tensor has no value yet: it is not known while it is traced by "
            f"{'vmap' if mapped else 'jit'}; use torch.where instead of a Python branch, or make "
            "the argument static"
        )
    )


def _mapped(x: Any) -> bool:
    """Whether a map lies among the transforms that trace `x`."""
    while isinstance(x, Tracer):
        if x.abstract:
            return isinstance(x, BatchTracer)
        x = x.value
    return False


def cut_off(t: Tracer) -> Array:
    """The content of a tensor inside transforms where recording is switched off.

    Tapes that were started before do not see it; a later one is not concerned.
    """
    if isinstance(t, TapeTracer):
        if t.owner.level > modes.off_since:
            return t
        return cut_off(t.value) if isinstance(t.value, Tracer) else t.value
    if isinstance(t, BatchTracer) and isinstance(t.value, Tracer):
        return BatchTracer(cut_off(t.value), t.owner)
    if isinstance(t, DualTracer) and isinstance(t.value, Tracer):
        tangent = cut_off(t.tangent) if isinstance(t.tangent, Tracer) else t.tangent
        return DualTracer(cut_off(t.value), t.owner, tangent)
    return t


def as_array(x: Tensor) -> np.ndarray[Any, Any]:
    """The array of a tensor, in memory that it keeps: what a view or `numpy` shares."""
    t = x._t
    if type(t) is not RootTracer:
        raise TracerConversionError(
            located("this needs the memory of a Tensor, which has none inside a transform")
        )
    if modes.stage is not None:
        check_found(t)
        memory: Any = t.value
        return memory  # type: ignore[no-any-return]
    if type(t.value) is not np.ndarray:
        t.value = np.array(t.value)
        if type(t.node) is AccumulateGrad:
            t.node.value = t.value
    found: np.ndarray[Any, Any] = t.value
    return found


def layout(x: Tensor) -> np.ndarray[Any, Any]:
    """An array with the strides of a tensor; within a transform, of what it is of one example."""
    t = x._t
    found: Any = lying(as_array(x) if type(t) is RootTracer else t)
    return found if isinstance(found, np.ndarray) else np.empty((), x.dtype.numpy)


def check_found(t: RootTracer) -> None:
    """Raise for a tensor that is used in a step that is compiled, and comes from elsewhere."""
    if type(t.value) is not Memory:
        raise UnsupportedCallError(
            modes.stage.refuse(
                "the step uses a Tensor that is not in its arguments, closure and globals, nor in "
                "the objects that these hold; pass it as an argument"
            )
        )


def concrete_array(x: Any, what: str) -> Any:
    """The array of a tensor for Python; an error that names `what` asks for it if there is none."""
    if not concrete(x._t):
        if modes.stage is not None:
            raise TracerConversionError(
                modes.stage.refuse(f"{what} asks for the number in a Tensor")
            )
        raise unknown(x._t, what)
    return np.asarray(value(x._t))
