"""The largest elements of windows, by native code: where they are, what they are, the way back.

The code is our compiler's (see `window_nests`), as that of convolutions. It gives what the
operations of NumPy give that it replaces, to the bit. It imports the compiler's runtime.
"""

from __future__ import annotations

import functools
import math
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile.memory import address_of
from funcgrad.config import config
from funcgrad.core import memory
from funcgrad.kernels.choice import FLOATS
from funcgrad.kernels.convolution import call, code_of, surrounded
from funcgrad.kernels.sources import spreading

__all__ = ["LARGEST", "LARGEST_INTEGERS", "LOWEST", "PLANE_INTEGERS", "PUT", "TAKE", "positions",
           "put", "taken"]  # fmt: skip

ndarray = np.ndarray[Any, Any]
LOWEST, LARGEST, TAKE, PUT = "pooling_fill", "pooling_largest", "pooling_take", "pooling_put"
PLANE_INTEGERS = ("planes", "grain", "source_step", "target_step")
LARGEST_INTEGERS = (*PLANE_INTEGERS, "lines", "width", "step", "terms")
LEAST = 1  # elements
GRAIN, SHARED = 1 << 14, 1 << 16  # elements: of a chunk, and from where on threads help
INDEX = np.dtype(np.int64)


class Tables(NamedTuple):
    """Distances in a plane with its border, and positions in the plane itself.

    Of lines (`starts`, `bases`), of the elements of a window (`taps`, `away`), and the first
    element of each window that lies in the plane (`firsts`).
    """

    starts: ndarray
    bases: ndarray
    taps: ndarray
    away: ndarray
    firsts: ndarray


def _sums(lines: Sequence[Any]) -> ndarray:
    """The sums of all combinations of one number of each line."""
    total: Any = functools.reduce(np.add, np.ix_(*lines)) if lines else np.zeros(1)
    return np.ascontiguousarray(total.reshape(-1), np.int64)


@functools.lru_cache(256)
def _tables(pool: Any) -> Tables:
    rank = len(pool.size)
    wide = [n + low + high for n, (low, high) in zip(pool.size, pool.widths, strict=True)]
    far, near = ([math.prod(e[k + 1 :]) for k in range(rank)] for e in (wide, pool.size))
    begins = [np.arange(c) * s for c, s in zip(pool.places, pool.stride, strict=True)]
    inner = [np.arange(k) * d for k, d in zip(pool.kernel, pool.dilation, strict=True)]
    own = [b - p for b, p in zip(begins, pool.padding, strict=True)]
    firsts = [
        np.where(a < 0, a + -(a // d) * d, a) for a, d in zip(own, pool.dilation, strict=True)
    ]
    outer = range(rank - 1)
    return Tables(
        _sums([begins[k] * far[k] for k in outer]),
        _sums([own[k] * near[k] for k in outer]) - pool.padding[-1],
        _sums([a * by for a, by in zip(inner, far, strict=True)]),
        _sums([a * by for a, by in zip(inner, near, strict=True)]),
        # a window may lie in the border alone, where PyTorch reads what lies behind the image
        np.minimum(
            _sums([a * by for a, by in zip(firsts, near, strict=True)]), math.prod(pool.size) - 1
        ),
    )


def _suits(x: Any, size: int) -> bool:
    return type(x) is np.ndarray and x.dtype in FLOATS and size >= LEAST and bool(config.kernels)


def positions(x: ndarray, pool: Any) -> ndarray | None:
    """Where the largest element of each window of a `Pool` is in its flattened image (…, *size).

    None where there are few elements, or of another kind than floats.
    """
    rank = len(pool.size)
    if not _suits(x, x.size):
        return None
    lead = x.shape[: x.ndim - rank]
    planes = math.prod(lead)
    given = surrounded(
        x.reshape(planes, 1, *pool.size), spreading(pool.size, tuple(pool.widths)), LOWEST
    )
    code = code_of(LARGEST, x.dtype.name)
    if code is None or given is None:
        return None
    tables = _tables(pool)
    places = len(tables.firsts)
    out = memory.empty((*lead, *pool.places), INDEX)
    rest = (len(tables.starts), pool.places[-1], pool.stride[-1], len(tables.taps))
    _run(code, [*tables, given, out], planes, given.size // max(planes, 1), places, rest)
    return out


def taken(x: ndarray, at: ndarray, axes: int) -> ndarray | None:
    """The elements of images (…, *axes) at positions in the flattened ones."""
    code = code_of(TAKE, x.dtype.name) if _suits(x, x.size) and at.dtype == INDEX else None
    if code is None:
        return None
    out = memory.empty(at.shape, x.dtype)
    planes = math.prod(x.shape[: x.ndim - axes])
    given = [np.ascontiguousarray(at), np.ascontiguousarray(x), out]
    _run(code, given, planes, x.size // max(planes, 1), at.size // max(planes, 1))
    return out


def put(g: ndarray, at: ndarray, shape: tuple[int, ...], axes: int) -> ndarray | None:
    """The transpose of `taken`: numbers added up at their positions, and zeros elsewhere."""
    size = math.prod(shape)
    code = code_of(PUT, g.dtype.name) if _suits(g, size) and at.dtype == INDEX else None
    if code is None:
        return None
    out = memory.empty(shape, g.dtype)
    planes = math.prod(shape[: len(shape) - axes])
    given = [np.ascontiguousarray(at), np.ascontiguousarray(g), out]
    _run(code, given, planes, g.size // max(planes, 1), size // max(planes, 1))
    return out


def _run(
    code: Any, arrays: Sequence[ndarray], planes: int, source: int, target: int, rest: Any = ()
) -> None:
    each = max(source, target, 1)
    grain = max(1, GRAIN // each)
    most = config.threads if planes * each >= SHARED else 1
    words = [*map(address_of(), arrays), planes, grain, source, target, *rest]
    call(code, array("q", words), -(-planes // grain), most)
