"""Convolutions and correlations of `scipy.signal`: each is linear in both operands.

The cotangent of an operand is the convolution of the cotangent with the other operand turned
round, by the way of computing that the call itself took (sums, or Fourier transforms).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.signal as sp

from funcgrad.core.forms import Multilinear, each_lane, multilinear
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind, concrete, type_of, value
from funcgrad.core.types import Array, ArrayType
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.numpy.rearranging import pad
from funcgrad.ops.arithmetic import cast, conjugate, multiply
from funcgrad.ops.index import PLACE, encode, getitem
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import broadcast_to, flip, unbroadcast
from funcgrad.scipy.valued import valued

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "correlated",
    "fftconvolve",
    "oaconvolve",
]

Ints = tuple[int, ...]

# --------------------------------------------------------------------------------- the record


def _convolve(x: Any, y: Any, mode: str, how: str, axes: Ints) -> Any:
    if how == "direct":
        return sp.convolve(x, y, mode, "direct")
    if how == "turned":  # a correlation, in which SciPy adds in another order
        return sp.correlate(x, np.conj(y), mode, "direct")
    return (sp.fftconvolve if how == "fft" else sp.oaconvolve)(x, y, mode, axes)


def _window(n: int, m: int, mode: str) -> tuple[int, int]:
    """Where the result lies in the full convolution: its start and its length."""
    if mode == "full":
        return 0, n + m - 1
    return ((m - 1) // 2, n) if mode == "same" else (min(n, m) - 1, abs(n - m) + 1)


def _type(x: ArrayType, y: ArrayType, *, mode: str, how: str, axes: Ints) -> ArrayType:
    shape = tuple(
        _window(n, m, mode)[1] if k in axes else max(n, m)
        for k, (n, m) in enumerate(zip(x.shape, y.shape, strict=True))
    )
    return ArrayType(shape, np.result_type(x.dtype, y.dtype))


def _cotangent(g: Array, kind: ArrayType, other: Array, mode: str, how: str, axes: Ints) -> Array:
    """That of the operand of type `kind`, where the result is cut out of the full convolution.

    "same" has been made "full" with a cut, so the operands may change places here.
    """
    made, have = type_of(g), type_of(other)
    index, shape = [], []
    for k, (n, m) in enumerate(zip(kind.shape, have.shape, strict=True)):
        start, length = _window(n, m, mode) if k in axes else (0, made.shape[k])
        index.append(slice(start, start + length))
        shape.append(n + m - 1 if k in axes else made.shape[k])
    full = bind(PLACE, (g,), {"shape": tuple(shape), "index": encode(tuple(index))})
    params = {"mode": "valid", "axes": axes, "how": "fft" if how in ("fft", "oa") else "direct"}
    turned = other if how == "turned" else flip(other, axes)
    c = bind(CONVOLVE, (full, turned), params)
    return cast(unbroadcast(c, ArrayType(kind.shape, type_of(c).dtype)), kind.dtype)


def _first(g: Array, x: Any, y: Any, **params: Any) -> Array:
    return _cotangent(g, x, y, **params)


def _second(g: Array, x: Any, y: Any, *, mode: str, how: str, axes: Ints) -> Array:
    if mode == "same":  # cut as the first operand asks for
        first, second = type_of(x), y
        start = [_window(n, m, mode)[0] for n, m in zip(first.shape, second.shape, strict=True)]
        index = tuple(
            slice(s, s + n) if k in axes else slice(None)
            for k, (s, n) in enumerate(zip(start, first.shape, strict=True))
        )
        shape = tuple(
            n + m - 1 if k in axes else type_of(g).shape[k]
            for k, (n, m) in enumerate(zip(first.shape, second.shape, strict=True))
        )
        g = bind(PLACE, (g,), {"shape": shape, "index": encode(index)})
        mode = "full"
    if how == "turned":  # the operand itself runs backwards
        c = _cotangent(g, y, x, mode, "direct", axes)
        return flip(c, axes)
    return _cotangent(g, y, x, mode, how, axes)


def _batch(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
    if params["how"] in ("direct", "turned") or not size:
        return each_lane(CONVOLVE, size, xs, batched, params)
    whole = [
        x if b else broadcast_to(x, (size, *type_of(x).shape))
        for x, b in zip(xs, batched, strict=True)
    ]
    return bind(CONVOLVE, whole, {**params, "axes": tuple(a + 1 for a in params["axes"])})


def _samples() -> list[Sample]:
    x, y, long = draw((5,)), draw((3,), seed=1), draw((9,))
    image, mask = draw((4, 3)), draw((2, 3), seed=1)
    line = {"axes": (0,)}
    return [
        Sample((x, y), {"mode": "full", "how": "direct", **line}),
        Sample((y, x + 1j * x[::-1]), {"mode": "same", "how": "direct", **line}),
        Sample((y.astype(np.float32), x), {"mode": "valid", "how": "turned", **line}),
        Sample((x, draw((4,), seed=2)), {"mode": "same", "how": "turned", **line}),
        Sample((image, mask), {"mode": "full", "how": "turned", "axes": (0, 1)}),
        Sample((image, mask), {"mode": "same", "how": "direct", "axes": (0, 1)}),
        Sample((mask, image), {"mode": "same", "how": "direct", "axes": (0, 1)}),
        Sample((image, mask), {"mode": "valid", "how": "fft", "axes": (0, 1)}),
        Sample((image, draw((1, 2))), {"mode": "full", "how": "fft", "axes": (1,)}),
        Sample((long, draw((2,))), {"mode": "same", "how": "oa", **line}),
        Sample((long, draw((2,)) + 1j), {"mode": "full", "how": "oa", **line}),
    ]


CONVOLVE: Multilinear = multilinear(
    "signal_convolve", _convolve, (_first, _second), _type, _batch, sample=_samples
)


def correlated(x: Array, weights: Array) -> Array:
    """The correlation where the whole of `weights` lies on `x`, of arrays of one dtype."""
    params = {"mode": "valid", "how": "turned", "axes": tuple(range(type_of(x).ndim))}
    return bind(CONVOLVE, (x, weights), params)


# ------------------------------------------------------------------------- SciPy's functions

MODES = ("valid", "same", "full")


def _pair(in1: Any, in2: Any, text: str) -> tuple[Array, Array, int]:
    x, y = as_array(in1), as_array(in2)
    if type_of(x).ndim != type_of(y).ndim:
        raise ValueError(text)
    return x, y, type_of(x).ndim


def _check_mode(mode: str, x: Array, y: Array, axes: Sequence[int]) -> None:
    if mode not in MODES:
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")
    pairs = [(type_of(x).shape[a], type_of(y).shape[a]) for a in axes]
    larger, smaller = all(n >= m for n, m in pairs), all(m >= n for n, m in pairs)
    if mode == "valid" and not (larger or smaller):
        raise ValueError(
            "For 'valid' mode, one must be at least as large as the other in every dimension"
        )


def _apply(x: Array, y: Array, mode: str, how: str, axes: Sequence[int]) -> Array:
    """The record on operands of one floating dtype, as SciPy converts them."""
    dtype = np.result_type(type_of(x).dtype, type_of(y).dtype)
    if how in ("direct", "turned"):
        x, y = cast(x, dtype), cast(y, dtype)
    else:
        x, y = (cast(z, float) if type_of(z).dtype.kind in "biu" else z for z in (x, y))
    return bind(CONVOLVE, (x, y), {"mode": mode, "how": how, "axes": tuple(axes)})


def _stand_in(x: Array) -> Any:
    """An array from which SciPy sees which way is faster: values count for integers only."""
    if concrete(x):
        return np.asarray(value(x))
    return np.broadcast_to(np.zeros((), type_of(x).dtype), type_of(x).shape)


@numpy_function(sp.convolve)
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Array:
    """The convolution of two arrays of any number of axes.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import convolve
    >>> fg.grad(lambda h: convolve(np.arange(4.0), h, "valid")[0])(np.ones(2))
    array([1., 0.])
    """
    x, y, rank = _pair(in1, in2, "volume and kernel should have the same dimensionality")
    if not rank:
        return multiply(x, y)
    _check_mode(mode, x, y, range(rank))
    if method == "auto":
        method = sp.choose_conv_method(_stand_in(x), _stand_in(y), mode)
    if method not in ("direct", "fft"):
        raise ValueError("Acceptable method flags are 'auto', 'direct', or 'fft'.")
    out = _apply(x, y, mode, method, range(rank))
    return cast(out, np.result_type(type_of(x).dtype, type_of(y).dtype))


@numpy_function(sp.correlate)
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Array:
    """The cross-correlation of two arrays of any number of axes; `in2` is conjugated.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import correlate
    >>> fg.grad(lambda h: correlate(np.arange(4.0), h, "valid")[1])(np.ones(2))
    array([1., 2.])
    """
    x, y, rank = _pair(in1, in2, "in1 and in2 should have the same dimensionality")
    if mode not in MODES:
        raise ValueError("Acceptable mode flags are 'valid', 'same', or 'full'.")
    if not rank:
        return multiply(x, conjugate(y))
    if method != "direct":
        return convolve(x, conjugate(flip(y, range(rank))), mode, method)
    _check_mode(mode, x, y, range(rank))
    return _apply(x, conjugate(y), mode, "turned", range(rank))


def _by_transforms(in1: Any, in2: Any, mode: str, axes: Any, how: str) -> Array:
    x, y, rank = _pair(in1, in2, "in1 and in2 should have the same dimensionality")
    if not rank:
        return multiply(x, y)
    if axes is None:
        axes = range(rank)
    axes = [axes] if isinstance(axes, int) else list(axes)
    if not axes:
        raise ValueError("when provided, axes cannot be empty")
    axes = [a + rank if a < 0 else a for a in axes]
    if any(a >= rank or a < 0 for a in axes):
        raise ValueError("axes exceeds dimensionality of input")
    if len(set(axes)) != len(axes):
        raise ValueError("all axes must be unique")
    s, t = type_of(x).shape, type_of(y).shape
    if not type_of(x).size or not type_of(y).size:
        return np.asarray([])
    others = [a for a in range(rank) if a not in axes]
    if any(s[a] != t[a] and 1 not in (s[a], t[a]) for a in others):
        raise ValueError(f"incompatible shapes for in1 and in2: {s} and {t}")
    _check_mode(mode, x, y, [a for a in axes if s[a] != 1 and t[a] != 1])
    cut = [a for a in others if mode == "same" and s[a] < t[a]]
    if cut:  # SciPy cuts the result to the shape of `in1` along these axes, too
        index = [slice(None)] * rank
        for a in cut:
            index[a] = slice((t[a] - 1) // 2, (t[a] - 1) // 2 + 1)
        y = getitem(y, tuple(index))
    return _apply(x, y, mode, how, axes)


@numpy_function(sp.fftconvolve)
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Array:
    """The convolution along `axes` by Fourier transforms; other axes broadcast.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import fftconvolve
    >>> fg.grad(lambda h: fftconvolve(np.arange(4.0), h)[1])(np.ones(2)).round(12) + 0.0
    array([1., 0.])
    """
    return _by_transforms(in1, in2, mode, axes, "fft")


@numpy_function(sp.oaconvolve)
def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Array:
    """The convolution of a long with a short operand by Fourier transforms of blocks.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import oaconvolve
    >>> fg.grad(lambda h: oaconvolve(np.arange(40.0), h)[1])(np.ones(2)).round(12) + 0.0
    array([1., 0.])
    """
    return _by_transforms(in1, in2, mode, axes, "oa")


BOUNDARIES = {"fill": "constant", "pad": "constant", "wrap": "wrap", "circular": "wrap"}
BOUNDARIES |= {"symm": "symmetric", "symmetric": "symmetric"}


def _images(x: Any, y: Any, mode: str, boundary: str, fillvalue: Any, turned: bool) -> Any:
    run = sp.correlate2d if turned else sp.convolve2d
    return run(x, y, mode, boundary, fillvalue)


def _bordered(x: Array, y: Array, mode: str, boundary: str, fillvalue: Any, turned: bool) -> Array:
    """The convolution of an image that is continued at its borders."""
    y = conjugate(y) if turned else flip(y, (0, 1))
    edges, keep = [], []
    for n, m in zip(type_of(x).shape, type_of(y).shape, strict=True):
        start, length = _window(n, m, mode)
        start = m // 2 if turned and mode == "same" else start  # so SciPy has it for images
        edges.append((m - 1, m - 1))
        keep.append(slice(start, start + length))
    border = BOUNDARIES[boundary]
    more = {"constant_values": fillvalue} if border == "constant" else {}
    wide = x if mode == "valid" else pad(x, edges, border, **more)
    out = _apply(wide, y, "valid", "turned", (0, 1))
    return out if mode == "valid" else getitem(out, tuple(keep))


IMAGES = valued(
    "signal_convolve2d",
    _images,
    _bordered,
    lambda: [
        Sample(
            (draw((4, 3)), draw((2, 3), seed=1)),
            {"mode": mode, "boundary": boundary, "fillvalue": fill, "turned": turned},
        )
        for mode, boundary, fill, turned in (
            ("full", "fill", 0, False),
            ("same", "symm", 0, True),
            ("valid", "wrap", 0, False),
            ("same", "wrap", 0, False),
            ("full", "fill", 2.0, True),
        )
    ],
)


def _image_pair(
    in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any, turned: bool
) -> Array:
    x, y = as_array(in1), as_array(in2)
    if not type_of(x).ndim == type_of(y).ndim == 2:
        name = "correlate2d" if turned else "convolve2d"
        raise ValueError(f"{name} inputs must both be 2-D arrays")
    if boundary not in BOUNDARIES:
        raise ValueError(
            "Acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and 'symmetric' "
            "(or 'symm')."
        )
    _check_mode(mode, x, y, (0, 1))
    dtype = np.result_type(type_of(x).dtype, type_of(y).dtype)
    params = {"mode": mode, "boundary": boundary, "fillvalue": fillvalue, "turned": turned}
    return bind(IMAGES, (cast(x, dtype), cast(y, dtype)), params)


@numpy_function(sp.convolve2d)
def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Array:
    """The convolution of two images, with a choice of what lies outside of the first.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import convolve2d
    >>> fg.grad(lambda h: convolve2d(np.eye(2), h)[0, 0])(np.ones((1, 2)))
    array([[1., 0.]])
    """
    return _image_pair(in1, in2, mode, boundary, fillvalue, False)


@numpy_function(sp.correlate2d)
def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Array:
    """The cross-correlation of two images; `in2` is conjugated.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.signal import correlate2d
    >>> fg.grad(lambda h: correlate2d(np.eye(2), h)[0, 0])(np.ones((1, 2)))
    array([[0., 1.]])
    """
    return _image_pair(in1, in2, mode, boundary, fillvalue, True)
