"""Running sums and products along one axis, and the recurrence that differentiates a product.

The derivative of a running product is ``s[i] = a[i] s[i-1] + b[i]``, whose own derivatives are
the same recurrence run backwards. Nothing is divided, so zeros are exact to every order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from funcgrad.core.forms import Explicit, Linear, explicit, linear
from funcgrad.core.layout import ordered
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import cast, check_numbers, greater, scale, where
from funcgrad.ops.index import getitem
from funcgrad.ops.reduction import dtype_of_result, given_dtype
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import concatenate, every_lane, flip, line_of

__all__ = ["before", "cumprod", "cumsum", "recurrence"]


@cache
def _accumulated(f: Callable[..., Any]) -> Callable[..., ArrayType]:
    return lambda x, *, axis, dtype: ArrayType(x.shape, dtype_of_result(f, x.dtype, dtype))


def _parameters(x: Array, axis: int, dtype: Any) -> Params:
    dtype = given_dtype(dtype)
    if dtype is not None:
        check_numbers(x, dtype)
    return {"axis": axis, "dtype": dtype}


# ------------------------------------------------------------------------------------ sum


def _cumsum_samples() -> list[Sample]:
    x = draw((2, 3))
    return [
        Sample((x,), {"axis": 0, "dtype": None}),
        Sample((x[:, ::-1],), {"axis": 1, "dtype": None}),
        Sample((x.astype(np.float32),), {"axis": 1, "dtype": np.dtype(float)}),
        Sample((x + 1j * draw((2, 3), seed=1),), {"axis": 1, "dtype": None}),
        Sample((draw((0, 2)),), {"axis": 0, "dtype": None}),
    ]


CUMSUM: Linear = linear(
    "cumsum",
    lambda x, axis, dtype: np.cumsum(x, axis=axis, dtype=dtype),
    lambda g, x, *, axis, dtype: cast(flip(cumsum(flip(g, (axis,)), axis), (axis,)), x.dtype),
    _accumulated(np.cumsum),
    lambda size, xs, batched, params: bind(CUMSUM, xs, {**params, "axis": params["axis"] + 1}),
    sample=_cumsum_samples,
    moves="adds",
)


def cumsum(x: Array, axis: int | None = None, dtype: Any = None) -> Array:
    """The running sum along `axis`, or of the flat array."""
    x, axis = line_of(x, axis)
    return bind(CUMSUM, (x,), _parameters(x, axis, dtype))


# ----------------------------------------------------------------------------- recurrence


def before(x: Array, axis: int, first: float) -> Array:
    """`x` moved on by one along `axis`: `first` in front, without its last element."""
    shape, dtype = type_of(x).shape, type_of(x).dtype
    if shape[axis] == 0:
        return x
    front = np.full(shape[:axis] + (1,) + shape[axis + 1 :], first, dtype)
    return concatenate([front, getitem(x, (slice(None),) * axis + (slice(None, -1),))], axis)


_FEW_LINES = 8  # below it, Python numbers are faster than rows of arrays


def _recurrence(a: Any, b: Any, axis: int) -> Any:
    a, b = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
    out = np.array(b)
    lines = out.size // max(len(out), 1)
    with np.errstate(all="ignore"):
        if lines < _FEW_LINES and out.dtype.char in "fdFD":
            _run_lines(a, out)
        else:
            for i in range(1, len(out)):
                out[i] += a[i] * out[i - 1]
    return np.moveaxis(out, 0, axis)


def _run_lines(a: Any, out: Any) -> None:
    for line in np.ndindex(out.shape[1:]):
        at = (slice(None), *line)
        numbers, factors = out[at].tolist(), a[at].tolist()
        for i in range(1, len(numbers)):
            numbers[i] += factors[i] * numbers[i - 1]
        out[at] = numbers


class Recurrence(Explicit):
    """Linear in `b` alone, so that rules that use it can be transposed."""

    def is_linear(self, mask: Sequence[bool], params: Params) -> bool:
        return not mask[0]

    def mark(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        """An element is there from the first one on that is there in `b`."""
        (a, b), axis = args, params["axis"]
        if trace.mine(a) or not trace.mine(b) or b.mask is None:
            return trace.plainly(self, args, params)
        reached = greater(cumsum(cast(trace.mask_of(b), np.dtype(np.intp)), axis), 0)
        factors = where(before(reached, axis, False), a, 0.0)  # absent times anything is absent
        return trace.part(bind(self, (factors, trace.dense(b)), params), reached)


def _recurrence_vjp(g: Any, s: Any, a: Any, _b: Any, *, needs: Any, axis: int) -> list[Any]:
    back = _backward_recurrence(a, g, axis)
    if not needs[0]:
        return [None, back]
    # s[i] meets a[i+1], and a[0] meets nothing: its cotangent is 0 whatever arrives there
    later = flip(before(flip(back, (axis,)), axis, 0.0), (axis,))
    return [before(scale(later, s), axis, 0.0), back]


def _backward_recurrence(a: Array, g: Array, axis: int) -> Array:
    """r[i] = g[i] + a[i+1] r[i+1]."""
    turned = before(flip(a, (axis,)), axis, 0.0)
    return flip(recurrence(turned, flip(g, (axis,)), axis), (axis,))


def _recurrence_batch(size: int, xs: Any, batched: Any, params: Params) -> Any:
    a, b = every_lane(size, xs, batched)
    return recurrence(a, b, params["axis"] + 1)


def _recurrence_samples() -> list[Sample]:
    a, b = draw((2, 3)), draw((2, 3), seed=1)
    wide = draw((3, 10)), draw((3, 10), seed=1)
    return [
        Sample((a, b), {"axis": 1}),
        Sample((a[:, ::-1], b), {"axis": 0}),
        Sample(wide, {"axis": 0}),
        Sample((a.astype(np.float32), b.astype(np.float32)), {"axis": 1}),
        Sample((a + 1j * b, b - 1j * a), {"axis": 1}),
        Sample((np.array([1.0, np.inf]), np.array([0.0, 1.0])), {"axis": 0}, smooth=False),
        Sample((draw((0, 2)), draw((0, 2))), {"axis": 0}),
    ]


RECURRENCE = Recurrence(
    "recurrence",
    _recurrence,
    type_rule=lambda a, b, *, axis: ArrayType(b.shape, b.dtype),
    vjp=_recurrence_vjp,
    jvp=None,
    batch=_recurrence_batch,
    multiple=False,
)
RECURRENCE.sample = _recurrence_samples


def recurrence(a: Array, b: Array, axis: int) -> Array:
    """s[i] = a[i] s[i-1] + b[i] along `axis`, from s[0] = b[0]."""
    dtype = np.result_type(type_of(a).dtype, type_of(b).dtype)
    return bind(RECURRENCE, (cast(a, dtype), cast(b, dtype)), {"axis": axis})


# -------------------------------------------------------------------------------- product


def _cumprod_vjp(g: Any, y: Any, x: Any, *, axis: int, dtype: Any) -> Any:
    back = _backward_recurrence(cast(x, type_of(y).dtype), g, axis)
    return cast(scale(back, before(y, axis, 1.0)), type_of(x).dtype)


def _cumprod_samples() -> list[Sample]:
    x = draw((2, 3))
    zeros = np.array([1.5, 0.0, -0.7, 0.0, 2.0])
    return [
        Sample((x,), {"axis": 0, "dtype": None}),
        Sample((x[::-1],), {"axis": 1, "dtype": None}),
        Sample((zeros,), {"axis": 0, "dtype": None}),
        Sample((x.astype(np.float32),), {"axis": 1, "dtype": np.dtype(float)}),
        Sample((x.astype(np.float32),), {"axis": 1, "dtype": None}),
        Sample((x + 1j * draw((2, 3), seed=1),), {"axis": 1, "dtype": None}),
        Sample((draw((0, 2)),), {"axis": 0, "dtype": None}),
    ]


CUMPROD: Explicit = explicit(
    "cumprod",
    lambda x, axis, dtype: np.cumprod(x, axis=axis, dtype=dtype),
    type_rule=_accumulated(np.cumprod),
    vjp=(_cumprod_vjp,),
    batch=lambda size, xs, batched, params: bind(
        CUMPROD, xs, {**params, "axis": params["axis"] + 1}
    ),
    sample=_cumprod_samples,
)


def cumprod(x: Array, axis: int | None = None, dtype: Any = None) -> Array:
    """The running product along `axis`, or of the flat array; exact where factors are zero."""
    x, axis = line_of(x, axis)
    return bind(CUMPROD, (x,), _parameters(x, axis, dtype))


CUMSUM.lies = CUMPROD.lies = ordered
