"""What the updates of the optimisers are made of: arrays for writing, state, counts, settings."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer
from funcgrad.errors import UnsupportedCallError
from funcgrad.kernels import threads
from funcgrad.ops.arithmetic import cast, sqrt
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.contents import as_array
from funcgrad.torch.modes import modes
from funcgrad.torch.staged import staged

__all__ = [
    "Array",
    "Writing",
    "as_real",
    "check_lr",
    "check_not_negative",
    "counted",
    "counter",
    "factor",
    "held",
    "in_pieces",
    "number",
    "refuse_differentiable",
    "root",
    "zeros_like",
]

Array = np.ndarray[Any, Any]


def number(x: Any) -> float:
    """A setting that may be a tensor of one element; in a compiled step, a number without value."""
    return x if isinstance(x, Tracer) else float(x)  # type: ignore[return-value]


def factor(number: Any, x: Array) -> Any:
    """A number by which `x` is multiplied, in the precision of `x`, as Python's numbers are."""
    return cast(number, x.dtype) if isinstance(number, Tracer) else number


def as_real(x: Array) -> Array:
    """An array, or a view of the parts of a complex one, which are in a last dimension.

    One without dimensions gets one, since NumPy computes numbers of it that nothing is written to.
    """
    if x.dtype.kind != "c":
        return x if x.ndim or staged(x) else x.reshape(1)
    if staged(x):
        raise UnsupportedCallError(
            modes.stage.refuse("an optimizer changes a complex parameter, which is not compiled")
        )
    shape, strides = (*x.shape, 2), (*x.strides, x.itemsize // 2)
    return np.lib.stride_tricks.as_strided(x.real, shape, strides)


class Writing:
    """The array of a parameter for writing, which counts as `times` operations in place.

    Inside a ``with`` block a complex parameter is its parts.
    """

    def __init__(self, p: Tensor, times: int = 1) -> None:
        self.p, self.times = p, times

    def __enter__(self) -> Array:
        array = as_array(self.p)
        version = self.p._t.version
        version.before_write()
        return as_real(array)

    def __exit__(self, *_: object) -> None:
        self.p._t.version.count += self.times


def in_pieces(move: Callable[..., None], *arrays: Array) -> None:
    """Call ``move(*arrays)``, which is elementwise and writes into some of them.

    Of large arrays it gets pieces that fit into the cache, so that all passes over a piece cost one
    over memory, and several threads take them.
    """
    x = arrays[0]
    if staged(x) or x.size < threads.PARALLEL or not all(
        type(y) is np.ndarray and y.shape == x.shape and y.flags.c_contiguous for y in arrays
    ):  # fmt: skip
        move(*arrays)
        return
    flat = [y.reshape(-1) for y in arrays]
    threads.run(lambda a, b: move(*(y[a:b] for y in flat)), x.size, x.size)


def zeros_like(p: Tensor) -> Tensor:
    """State of the shape and dtype of a parameter, at first 0."""
    return box(np.zeros_like(as_array(p)))


def held(x: Tensor) -> Array:
    """The array of some state, parts for a complex one."""
    return as_real(as_array(x))


def counter() -> Tensor:
    """A count of steps, in float32 as PyTorch has it."""
    return box(np.zeros((), np.float32))


def counted(state: dict[str, Any]) -> float:
    """One more step; the number of steps by now."""
    array: Any = as_array(state["step"])
    array += 1
    return cast(array, np.dtype(np.float64)) if staged(array) else float(array)


def root(x: Any) -> Any:
    """The square root of a number."""
    return sqrt(x) if isinstance(x, Tracer) else math.sqrt(x)


def refuse_differentiable(differentiable: bool) -> None:
    """Raise for steps that shall be recorded."""
    if differentiable:
        raise RuntimeError(
            "differentiable=True is not available: the steps of optimizers are not recorded; "
            "write the step with tensor operations, or use the functional optimizers of "
            "funcgrad.optim inside a transform"
        )


def check_lr(lr: Any) -> None:
    """Raise PyTorch's ValueError for a learning rate that is none."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")


def check_not_negative(value: float, what: str) -> None:
    """Raise PyTorch's ValueError for a setting below 0."""
    if not value >= 0.0:
        raise ValueError(f"Invalid {what} value: {value}")
