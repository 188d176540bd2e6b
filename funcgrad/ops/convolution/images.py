"""Convolutions of images of any number of axes with filters, as networks have them.

    y[n, o, p] = Σ_{c, t} x[n, c, stride·p + dilation·t - padding] w[o, c, t]

is linear in images `x`, filters `w`, and, paired with a cotangent, in `y`. Each primitive here
contracts two of them to the third, so the transposes of each are the other two, to any order. With
groups the channels are split, and each part of `x` meets its own part of `w`. (The window is not
turned round: it is the correlation of signal processing.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad.core.forms import Multilinear, each_lane, multilinear
from funcgrad.core.primitive import PRIMITIVES, Params, Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.convolution.window import Window
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import reshape, transpose, unbroadcast

__all__ = [
    "CONVOLUTION",
    "CONVOLUTION_FILTER",
    "CONVOLUTION_INPUT",
    "CONVOLUTION_RESULT",
    "TRANSPOSED_CONVOLUTION",
    "convolution",
    "transposed_convolution",
]

ndarray = np.ndarray[Any, Any]
PIECE = 1 << 18  # elements that are gathered at a time, so that they are used while in the cache
SMALL, BLOCK = 1 << 14, 64  # numbers of all filters, places of a product of small matrices


# ---------------------------------------------------------------------------------- values


def _pieces(images: int, elements: int) -> Iterator[slice]:
    """Ranges of images of which about `PIECE` elements are gathered."""
    step = max(1, PIECE * images // max(elements, 1))
    return (slice(k, k + step) for k in range(0, images, step))


def _columns(x: ndarray, window: Window, groups: int) -> Iterator[tuple[slice, ndarray]]:
    """Pieces of the images, and for each (images, groups, channels · elements, places)."""
    images, channels = x.shape[:2]
    rows = channels // groups * math.prod(window.kernel)
    count = math.prod(window.places)
    for piece in _pieces(images, images * groups * rows * count):
        found = window.columns(window.fill(x[piece]))
        yield piece, found.reshape(len(found), groups, rows, count)


def _grouped(w: ndarray, groups: int) -> ndarray:
    """The filters as a matrix for each group: (groups, filters, channels · elements)."""
    rows = math.prod(w.shape[1:])
    return np.ascontiguousarray(w).reshape(groups, len(w) // groups, rows)


def _parts(y: ndarray, groups: int) -> ndarray:
    """Results as (images, groups, filters, places)."""
    shape = (len(y), groups, y.shape[1] // groups, math.prod(y.shape[2:]))
    return np.ascontiguousarray(y).reshape(shape)


def _convolution(
    x: ndarray, w: ndarray, window: Window, groups: int, out: ndarray | None = None
) -> ndarray:
    y = np.empty((len(x), len(w), *window.places), np.result_type(x, w)) if out is None else out
    filters = _grouped(w, groups)
    parts = _parts(y, groups)
    for piece, columns in _columns(x, window, groups):
        _multiply(filters, columns, parts[piece])
    return y


def _multiply(filters: ndarray, columns: ndarray, out: ndarray) -> None:
    """``out = filters @ columns`` for each image and group.

    Where few numbers of a filter meet many places, blocks of these are small enough for BLAS to
    neither copy them nor wake threads of its own for every image.
    """
    count = columns.shape[-1]
    most = filters.shape[-2] * filters.shape[-1] <= SMALL
    whole = count - count % BLOCK if most else 0
    if whole:
        given, made = (a[..., :whole].reshape(*a.shape[:-1], -1, BLOCK) for a in (columns, out))
        np.matmul(filters[:, None], given.swapaxes(-2, -3), out=made.swapaxes(-2, -3))
    if whole < count:
        np.matmul(filters, columns[..., whole:], out=out[..., whole:])


def _convolution_input(y: ndarray, w: ndarray, window: Window, groups: int) -> ndarray:
    channels = w.shape[1]
    x = np.empty((len(y), groups * channels, *window.size), np.result_type(y, w))
    filters = _grouped(w, groups).swapaxes(1, 2)
    parts = _parts(y, groups)
    taps, count = math.prod(window.kernel), math.prod(window.places)
    for piece in _pieces(len(y), len(y) * groups * channels * taps * count):
        columns = np.matmul(filters, parts[piece])
        x[piece] = window.spread(columns.reshape(len(columns), groups * channels, taps, count))
    return x


def _convolution_filter(x: ndarray, y: ndarray, window: Window, groups: int) -> ndarray:
    filters, channels = y.shape[1], x.shape[1] // groups
    rows = channels * math.prod(window.kernel)
    dtype = np.result_type(x, y)
    w = np.zeros((groups, filters // groups, rows), dtype)
    parts = _parts(y, groups)
    for piece, columns in _columns(x, window, groups):
        w += np.matmul(parts[piece], columns.swapaxes(2, 3)).sum(0, dtype)
    return w.reshape(filters, channels, *window.kernel)


# ----------------------------------------------------------------------------------- types


def _convolution_type(x: ArrayType, w: ArrayType, *, window: Window, groups: int) -> ArrayType:
    return ArrayType((x.shape[0], w.shape[0], *window.places), np.result_type(x.dtype, w.dtype))


def _input_type(y: ArrayType, w: ArrayType, *, window: Window, groups: int) -> ArrayType:
    shape = (y.shape[0], groups * w.shape[1], *window.size)
    return ArrayType(shape, np.result_type(y.dtype, w.dtype))


def _filter_type(x: ArrayType, y: ArrayType, *, window: Window, groups: int) -> ArrayType:
    shape = (y.shape[1], x.shape[1] // groups, *window.kernel)
    return ArrayType(shape, np.result_type(x.dtype, y.dtype))


# -------------------------------------------------------------------------------- batching

# The first axes of images, filters and results: n images, g groups, c channels, o filters.
# An axis that two of the three have joins the axis of those two, one of all three the groups.
AXES = {"x": ("n", "gc"), "w": ("go", "c"), "y": ("n", "go")}
JOINED = {"xy": "n", "wy": "o", "xw": "c", "xwy": "g"}


def _extents(shape: Sequence[int], role: str, groups: int) -> list[int]:
    """The extents of the first axes, an axis for each letter."""
    found: list[int] = []
    for n, letters in zip(shape, AXES[role], strict=False):
        found += [groups, n // groups] if len(letters) == 2 else [n]
    return found


def _joined(x: Array, role: str, letter: str, groups: int) -> Array:
    """`x` with its batch axis, the first, put in front of an axis and made one with it."""
    size, *shape = type_of(x).shape
    letters = "".join(AXES[role])
    extents, at = _extents(shape, role, groups), letters.index(letter)
    x = reshape(x, (size, *extents, *shape[2:]))
    rank = len(extents) + len(shape) - 2
    x = transpose(x, (*range(1, at + 1), 0, *range(at + 1, rank + 1)))
    extents[at] *= size
    return reshape(x, (*_together(extents, role), *shape[2:]))


def _parted(x: Array, role: str, letter: str, groups: int, size: int) -> Array:
    """The inverse of `_joined`, for `groups` as they are without the batch axis."""
    shape, at = type_of(x).shape, "".join(AXES[role]).index(letter)
    extents = _extents(shape, role, groups * size if letter == "g" else groups)
    extents[at] //= size
    x = reshape(x, (*extents[:at], size, *extents[at:], *shape[2:]))
    rank = len(extents) + len(shape) - 2
    x = transpose(x, (at, *range(at), *range(at + 1, rank + 1)))
    return reshape(x, (size, *_together(extents, role), *shape[2:]))


def _together(extents: Sequence[int], role: str) -> list[int]:
    left = iter(extents)
    return [math.prod(next(left) for _ in letters) for letters in AXES[role]]


def _batching(name: str, roles: str) -> Callable[..., Any]:
    """The rule of the primitive that makes ``roles[2]`` of ``roles[:2]``."""

    def rule(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        if size == 0:  # there are no groups to speak of
            return each_lane(PRIMITIVES[name], size, xs, batched, params)
        moving = {*(r for r, b in zip(roles, batched, strict=False) if b), roles[2]}
        letter = JOINED["".join(r for r in "xwy" if r in moving)]
        groups = params["groups"]
        operands = [
            _joined(x, role, letter, groups) if b else x
            for x, role, b in zip(xs, roles, batched, strict=False)
        ]
        more = groups * size if letter == "g" else groups
        out = bind(PRIMITIVES[name], operands, {**params, "groups": more})
        return _parted(out, roles[2], letter, groups, size)

    return rule


# ------------------------------------------------------------------------------ primitives


def _cotangent(roles: str, k: int) -> Callable[..., Any]:
    """The transpose, for operand `k`, of what makes ``roles[2]`` of ``roles[:2]``."""
    role, other = roles[k], roles[1 - k]

    def rule(g: Any, *operands: Any, window: Window, groups: int) -> Any:
        given = {roles[2]: g, other: operands[1 - k]}
        prim = {"x": CONVOLUTION_INPUT, "w": CONVOLUTION_FILTER, "y": CONVOLUTION_RESULT}[role]
        found = bind(prim, [given[r] for r in MADE_OF[role]], {"window": window, "groups": groups})
        return unbroadcast(found, operands[k])

    return rule


def _samples(roles: str) -> Callable[[], list[Sample]]:
    cases = [
        (2, 1, 3, 2, Window((5,), (3,), (1,), ((1, 1),), (1,))),
        (2, 2, 1, 2, Window((5, 4), (2, 3), (2, 1), ((0, 1), (1, 1)), (1, 1))),
        (1, 1, 2, 1, Window((6, 6), (2, 2), (3, 2), ((1, 0), (0, -1)), (2, 3))),
        (0, 1, 2, 1, Window((3, 3), (2, 2), (1, 1), ((0, 0), (0, 0)), (1, 1))),
    ]

    def samples() -> list[Sample]:
        found = []
        for images, groups, channels, filters, window in cases:
            shapes = {
                "x": (images, groups * channels, *window.size),
                "w": (groups * filters, channels, *window.kernel),
                "y": (images, groups * filters, *window.places),
            }
            a, b = (draw(shapes[r], seed=k) for k, r in enumerate(roles[:2]))
            params = {"window": window, "groups": groups}
            found.append(Sample((a, b), params))
            if len(found) == 1:
                found.append(Sample((a.astype(np.float32), b), params))
                found.append(Sample((a + 0.5j * draw(a.shape, seed=2), b), params))
        return found

    return samples


MADE_OF = {"y": "xw", "x": "yw", "w": "xy"}
VALUES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "y": (_convolution, _convolution_type),
    "x": (_convolution_input, _input_type),
    "w": (_convolution_filter, _filter_type),
}


def _contraction(name: str, made: str) -> Multilinear:
    roles = MADE_OF[made] + made
    impl, kind = VALUES[made]
    transposes = (_cotangent(roles, 0), _cotangent(roles, 1))
    batch = _batching(name, roles)
    return multilinear(name, impl, transposes, kind, batch, sample=_samples(roles))


# Kernels, whose last digits are not NumPy's, stand in front of what derivatives take alone.
CONVOLUTION = _contraction("convolution", "y")
TRANSPOSED_CONVOLUTION = _contraction("transposed_convolution", "x")
CONVOLUTION_RESULT = _contraction("convolution_result", "y")
CONVOLUTION_INPUT = _contraction("convolution_input", "x")
CONVOLUTION_FILTER = _contraction("convolution_filter", "w")


def convolution(x: Array, w: Array, window: Window, groups: int = 1) -> Array:
    """Images (n, groups·c, …) and filters (groups·o, c, …) to results (n, groups·o, …)."""
    return bind(CONVOLUTION, (x, w), {"window": window, "groups": groups})


def transposed_convolution(y: Array, w: Array, window: Window, groups: int = 1) -> Array:
    """The transpose of `convolution` for filters `w`, of images that `window` moves over."""
    return bind(TRANSPOSED_CONVOLUTION, (y, w), {"window": window, "groups": groups})
