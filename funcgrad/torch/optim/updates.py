"""What the steps of the optimisers are made of: arrays for writing, state, counts, settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer
from funcgrad.errors import UnsupportedCallError
from funcgrad.kernels import updates
from funcgrad.kernels.update_rules import OPTIONS, RULES, numbers_of, prepared
from funcgrad.kernels.updates import Move
from funcgrad.ops.arithmetic import cast, greater, maximum, sqrt, where
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.dtypes import float64, get_default_dtype
from funcgrad.torch.modes import modes
from funcgrad.torch.root import RootTracer
from funcgrad.torch.staged import staged
from funcgrad.torch.tensor_arrays import as_array

__all__ = [
    "Array",
    "Move",
    "as_real",
    "carry_out",
    "check_lr",
    "chosen",
    "counted",
    "counter",
    "full_like",
    "held",
    "largest",
    "number",
    "opened",
    "options",
    "put",
    "read",
    "root",
    "settings",
    "zeros_like",
]

Array = np.ndarray[Any, Any]


def number(x: Any) -> float:
    """A setting that may be a tensor of one element; in a compiled step, a number without value."""
    if isinstance(x, Tensor) and modes.stage is not None:
        return read(x)  # type: ignore[no-any-return]
    return x if isinstance(x, Tracer) else float(x)  # type: ignore[return-value]


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


def opened(p: Tensor, times: int = 1) -> Array:
    """The array of a parameter, parts for a complex one, for `times` operations in place."""
    array = held(p)
    version = p._t.version
    if version.keepers is not None:
        version.before_write()
    version.count += times
    return array


def options(group: dict[str, Any], shrink: Any = None) -> tuple[Any, ...]:
    """What comes before the rule of an optimizer (see `kernels.update_rules.prepared`).

    The weights decay as a part of the gradient, unless `shrink` is the factor by which they do.
    """
    decay = number(group["weight_decay"])
    coupled = None if decay == 0 or shrink is not None else decay
    return (True if group["maximize"] else None, shrink, coupled)


def carry_out(moves: Iterable[Move], size: int) -> None:
    """Change parameters of `size` elements and their state, or trace that into a graph."""
    if modes.stage is None:
        updates.carry_out(moves, size)
        return
    for move in moves:
        _trace(move)


def _trace(move: Move) -> None:
    """A step of a rule on memory that has no numbers."""
    rule, kind = RULES[move.rule], move.arrays[0].dtype
    numbers = [cast(n, kind) if isinstance(n, Tracer) else n for n in move.numbers]
    x, g, *state = move.arrays
    before = dict(zip(OPTIONS, numbers, strict=False))
    given = dict(zip(numbers_of(rule), numbers[len(OPTIONS) :], strict=True))
    changed = rule(*prepared(x, g, **before), *state, **given)
    for memory, content in zip((x, *state), changed, strict=True):
        memory.assign(content)


def zeros_like(p: Tensor) -> Tensor:
    """State of the shape and dtype of a parameter, at first 0."""
    return box(np.zeros_like(as_array(p)))


def full_like(p: Tensor, value: Any) -> Tensor:
    """State of the shape and dtype of a parameter, at first `value` in all parts."""
    found = zeros_like(p)
    array: Any = as_array(found)
    if staged(array):
        array.assign(value)
    else:
        array[...] = complex(value, value) if p.dtype.is_complex else value
    return found


def held(x: Tensor) -> Array:
    """The array of a gradient or of some state, parts for a complex one."""
    t = x._t
    if modes.stage is None and type(t) is RootTracer:  # the usual case, without two more calls
        array: Any = t.value
        if type(array) is np.ndarray and array.ndim and array.dtype.kind != "c":
            return array
    return as_real(as_array(x))


def counter(start: float = 0.0) -> Tensor:
    """A number that a state keeps, as a count of steps: in float32 unless float64 is the default.

    Those are PyTorch's dtypes; neither depends on that of the parameter.
    """
    return box(np.full((), start, _kept_as()))


def _kept_as() -> np.dtype[Any]:
    return np.dtype(np.float64 if get_default_dtype() is float64 else np.float32)


def counted(state: dict[str, Any]) -> Any:
    """One more step; the number of steps by now."""
    array: Any = as_array(state["step"])
    array += 1
    return read(state["step"])


def read(x: Tensor) -> Any:
    """The number that a state keeps; in a compiled step, one without value."""
    array: Any = as_array(x)
    return cast(array, np.dtype(np.float64)) if staged(array) else float(array)


def put(x: Tensor, new: Any) -> None:
    """Change a number that a state keeps, also in a state that was loaded and is float64."""
    array: Any = as_array(x)
    if staged(array):
        array.assign(cast(new, _kept_as()))
    else:
        array[...] = _kept_as().type(new)


# ------------------------------------------- numbers, which a compiled step has without values


def root(x: Any) -> Any:
    """The square root of a number."""
    return sqrt(x) if isinstance(x, Tracer) else math.sqrt(x)


def largest(x: Any, y: float) -> Any:
    """The larger one of two numbers."""
    return maximum(x, y) if isinstance(x, Tracer) else max(x, y)


def chosen(x: Any, bound: float, above: Callable[[], Any], else_: float) -> Any:
    """What `above` gives for a number above `bound`, and `else_` for others."""
    if isinstance(x, Tracer):
        return where(greater(x, bound), above(), else_)
    return above() if x > bound else else_


# --------------------------------------------------------------------------------- settings


def defaults(given: dict[str, Any], names: str) -> dict[str, Any]:
    """The arguments `names` of a constructor, of its ``locals()``, in PyTorch's order."""
    return {name: given[name] for name in names.split()}


def settings(given: dict[str, Any], names: str, *also: str) -> dict[str, Any]:
    """The defaults of an optimizer: the arguments `names` of its constructor, in PyTorch's order.

    Its ``locals()`` are given.

    Raises
    ------
    ValueError
        PyTorch's, for a learning rate or shares of running means that are none, and for a number
        below 0 in the other settings that must not be (or in those of `also`).
    RuntimeError
        Two implementations at once, or steps that shall be recorded.
    """
    found = defaults(given, names)
    check_lr(found["lr"])
    for k, beta in enumerate(found.get("betas", ())):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {k}: {beta}")
    for name in (*NOT_NEGATIVE, *also):
        if not found.get(name, 0.0) >= 0.0:
            what = "epsilon" if name == "eps" else name
            raise ValueError(f"Invalid {what} value: {found[name]}")
    if found.get("fused") and found["foreach"]:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
    if found["differentiable"]:
        raise RuntimeError(
            "differentiable=True is not available: the steps of optimizers are not recorded; "
            "write the step with tensor operations, or use the functional optimizers of "
            "funcgrad.optim inside a transform"
        )
    return found


NOT_NEGATIVE = ("eps", "momentum", "lr_decay", "weight_decay", "momentum_decay",
                "initial_accumulator_value")  # fmt: skip


def check_lr(lr: Any) -> None:
    """Raise PyTorch's ValueError for a learning rate that is none."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")
