"""The convolution of two vectors, which is NumPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.forms import Multilinear, each_lane, multilinear
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.index import PLACE, encode
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import flip

__all__ = ["CONVOLVE", "convolve", "window_of"]


def window_of(n: int, m: int, mode: str) -> tuple[int, int]:
    """Where the result lies in the full convolution: its start and its length."""
    short, long = sorted((n, m))
    if mode == "same":
        return (short - 1) // 2, long
    return (0, n + m - 1) if mode == "full" else (short - 1, long - short + 1)


def _cotangent(g: Any, x: Any, y: Any, mode: str, first: bool) -> Any:
    aval, other = (x, y) if first else (y, x)
    n, m = aval.shape[0], type_of(other).shape[0]
    start, length = window_of(n, m, mode)
    at = encode(slice(start, start + length))
    full = bind(PLACE, (g,), {"shape": (n + m - 1,), "index": at})
    return cast(bind(CONVOLVE, (full, flip(other, (0,))), {"mode": "valid"}), aval.dtype)


def _convolve_type(x: ArrayType, y: ArrayType, *, mode: str) -> ArrayType:
    length = window_of(x.shape[0], y.shape[0], mode)[1]
    return ArrayType((length,), np.result_type(x.dtype, y.dtype))


CONVOLVE: Multilinear = multilinear(
    "convolve",
    lambda x, y, mode: np.convolve(x, y, mode),
    (
        lambda g, x, y, *, mode: _cotangent(g, x, y, mode, True),
        lambda g, x, y, *, mode: _cotangent(g, x, y, mode, False),
    ),
    _convolve_type,
    lambda size, xs, batched, params: each_lane(CONVOLVE, size, xs, batched, params),
    sample=lambda: [
        Sample((draw((5,)), draw((3,), seed=1)), {"mode": "full"}),
        Sample((draw((5,)), draw((4,), seed=1)), {"mode": "same"}),
        Sample((draw((2,)), draw((5,), seed=1)), {"mode": "valid"}),
        Sample((draw((5,)).astype(np.float32), draw((3,), seed=1)), {"mode": "same"}),
    ],
)


def convolve(x: Array, y: Array, mode: str) -> Array:
    """The convolution of two vectors; `mode` is "full", "same" or "valid"."""
    return bind(CONVOLVE, (x, y), {"mode": mode})
