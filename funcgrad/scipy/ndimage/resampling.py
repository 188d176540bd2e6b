"""Images between their elements: splines of the orders 0 to 5 through them, at coordinates.

The image, the coordinates, shifts, matrices and offsets are differentiable; with order 0 an element
is chosen, so that the result is constant in the coordinates. The coefficients of a spline are
linear in the image: SciPy's filter of an identity is their matrix (Unser 1999 for the filter).
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import scipy.ndimage as sp

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.index import gather
from funcgrad.ops.samples import draw
from funcgrad.scipy.ndimage.filters import image, per_axis, written
from funcgrad.scipy.valued import valued

__all__ = [
    "affine_transform",
    "geometric_transform",
    "map_coordinates",
    "shift",
    "spline_filter",
    "spline_filter1d",
    "zoom",
]

MODES = ("constant", "nearest", "mirror", "reflect", "grid-mirror", "grid-wrap", "wrap")
MARGIN = 12  # elements by which SciPy continues an image whose mode its filter does not know

# ------------------------------------------------------------------------------- coefficients


@functools.lru_cache(maxsize=64)
def _filter(n: int, order: int, mode: str) -> Any:
    """The matrix from `n` values to the coefficients of the spline through them."""
    found = sp.spline_filter1d(np.eye(n), order, 0, mode=mode)
    found.flags.writeable = False
    return found


def _coefficients(x: Array, order: int, axis: int, mode: str) -> Array:
    matrix = _filter(type_of(x).shape[axis], order, mode)
    return fnp.moveaxis(fnp.tensordot(matrix, x, ((1,), (axis,))), 0, axis)


def _filtered(x: Array, order: int, mode: str, axes: tuple[int, ...]) -> Array:
    if order > 1:
        for axis in axes:
            if type_of(x).shape[axis] > 1:
                x = operand(_coefficients(x, order, axis, mode))
    return x


def _filtered_value(x: Any, order: int, mode: str, axes: tuple[int, ...]) -> Any:
    if len(axes) == x.ndim:
        return sp.spline_filter(x, order, mode=mode)
    return sp.spline_filter1d(x, order, axes[0], mode=mode)


FILTER = valued(
    "ndimage_spline_filter",
    _filtered_value,
    _filtered,
    lambda: [
        Sample((draw((4, 5)),), {"order": order, "mode": mode, "axes": axes})
        for order, mode, axes in ((3, "mirror", (0, 1)), (2, "reflect", (1,)))
    ],
    linear_in=(0,),
)


@numpy_function(sp.spline_filter)
def spline_filter(
    input: Any, order: int = 3, output: Any = np.float64, mode: str = "mirror"
) -> Array:
    """The coefficients of the spline through an image.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import spline_filter
    >>> fg.grad(lambda x: spline_filter(x, 1)[0])(np.zeros(2))
    array([1., 0.])
    """
    if order < 2 or order > 5:
        if order in (0, 1):
            return cast(image(input, "spline_filter"), float)
        raise RuntimeError("spline order not supported")
    x = cast(image(input, "spline_filter"), float)
    out: Array = FILTER(x, order=order, mode=mode, axes=tuple(range(type_of(x).ndim)))
    return out


@numpy_function(sp.spline_filter1d)
def spline_filter1d(
    input: Any, order: int = 3, axis: int = -1, output: Any = np.float64, mode: str = "mirror"
) -> Array:
    """The coefficients of the splines through the lines of an image along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import spline_filter1d
    >>> fg.grad(lambda x: spline_filter1d(x, 1)[0])(np.zeros(2))
    array([1., 0.])
    """
    x = cast(image(input, "spline_filter1d"), float)
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    if order < 2:
        return x
    out: Array = FILTER(x, order=order, mode=mode, axes=(axis % type_of(x).ndim,))
    return out


# --------------------------------------------------------------------------------- evaluation


def _weights(u: Array, order: int) -> list[Array]:
    """The B-splines of an order that are not 0 at `u` behind a knot (de Boor's BSPLVB)."""
    b: list[Any] = [fnp.ones_like(u)]
    for j in range(1, order + 1):
        saved: Any = 0.0
        for r in range(j):
            part = b[r] / j
            b[r] = saved + (r + 1 - u) * part
            saved = (u + j - r - 1) * part
        b.append(saved)
    return b


def _inside(c: Array, n: int, mode: str) -> Array:
    """Coordinates on an axis of `n` elements, moved to where the image has its elements."""
    if mode in ("nearest", "constant"):
        return fnp.clip(c, 0, n - 1)
    if mode == "grid-wrap":
        return c % n
    if mode == "wrap":  # the first and the last element are taken for one; both ends remain
        period = max(n - 1, 1)
        below, above = c + period * (fnp.floor(-c / period) + 1), c - period * fnp.floor(c / period)
        return fnp.where(c < 0, below, fnp.where(c > n - 1, above, c)) if n > 1 else 0.0 * c
    if mode == "mirror":
        period = max(2 * n - 2, 1)
        c = c % period
        return fnp.where(c > n - 1, period - c, c)
    c = (c + 0.5) % (2 * n)
    return fnp.where(c > n, 2 * n - c, c) - 0.5


def _neighbour(i: Array, n: int, mode: str) -> Array:
    """Indices beside the image, moved to where its coefficients stand."""
    if mode == "grid-wrap":
        return i % n
    if mode in ("reflect", "grid-mirror"):
        i = i % (2 * n)
        return fnp.where(i > n - 1, 2 * n - 1 - i, i)
    period = max(2 * n - 2, 1)
    i = i % period
    return fnp.where(i > n - 1, period - i, i)


def _at(
    x: Array, coordinates: list[Array], order: int, mode: str, cval: float, prefilter: bool
) -> Array:
    """The spline through an image at coordinates, one array for each axis."""
    dtype = type_of(x).dtype
    shape = type_of(x).shape
    margin = MARGIN if mode == "nearest" and order > 1 and prefilter else 0
    c = cast(x, float)
    if margin:
        c = operand(fnp.pad(c, margin, "edge"))
    if prefilter:
        c = _filtered(c, order, mode, tuple(range(len(shape))))
    indices, weights = [], []
    outside: Any = False
    for n, q in zip(shape, coordinates, strict=True):
        outside = outside | (q < 0) | (q > n - 1)
        whole = n + 2 * margin
        q = _inside(q + margin if margin else q, whole, mode)
        start = fnp.floor(q if order % 2 else q + 0.5)
        u = q - start if order % 2 else q + 0.5 - start
        first = start.astype(np.int64) - order // 2
        weights.append(_weights(u, order))
        indices.append([operand(_neighbour(first + k, whole, mode)) for k in range(order + 1)])
    out: Any = 0.0
    for steps in itertools.product(range(order + 1), repeat=len(shape)):
        term = gather(c, *(i[k] for i, k in zip(indices, steps, strict=True)))
        for w, k in zip(weights, steps, strict=True):
            term = term * w[k]
        out = out + term
    if mode == "constant":
        out = fnp.where(outside, cval, out)
    return cast(operand(out), dtype)


def _mapped(x: Array, coordinates: Array, **params: Any) -> Array:
    count = type_of(coordinates).shape[0]
    return _at(x, [coordinates[k] for k in range(count)], **params)


def _image_samples(*others: Any) -> list[Sample]:
    x = draw((5, 4))
    found = []
    for order, mode in ((1, "constant"), (3, "mirror"), (3, "constant"), (2, "reflect")):
        params = {"order": order, "mode": mode, "cval": 0.5, "prefilter": True}
        found.append(Sample((x, *others), params))
    found.append(
        Sample((x, *others), {"order": 3, "mode": "nearest", "cval": 0.0, "prefilter": True})
    )
    return found


MAP = valued(
    "ndimage_map_coordinates",
    lambda x, coordinates, **params: sp.map_coordinates(x, coordinates, **params),
    _mapped,
    lambda: _image_samples(np.array([[0.3, 1.7, 3.2], [1.2, 0.4, 2.7]])),
    linear_in=(),
)


def _grid(shape: tuple[int, ...]) -> list[Any]:
    return [g.astype(float) for g in np.indices(shape)]


def _shifted(x: Array, by: Array, **params: Any) -> Array:
    grid = _grid(type_of(x).shape)
    return _at(x, [g - by[k] for k, g in enumerate(grid)], **params)


SHIFT = valued(
    "ndimage_shift",
    lambda x, by, **params: sp.shift(x, by, **params),
    _shifted,
    lambda: _image_samples(np.array([0.3, -0.6])),
)


def _turned(x: Array, matrix: Array, offset: Array, shape: tuple[int, ...], **params: Any) -> Array:
    grid = _grid(shape)
    if type_of(matrix).ndim == 1:
        places = [matrix[k] * g + offset[k] for k, g in enumerate(grid)]
    else:
        places = [
            sum((matrix[k, j] * g for j, g in enumerate(grid)), offset[k])
            for k in range(type_of(matrix).shape[0])
        ]
    return _at(x, places, **params)


def _affine_samples() -> list[Sample]:
    matrix, offset = np.array([[0.8, 0.15], [-0.1, 0.9]]), np.array([0.23, 0.37])
    found = _image_samples(matrix, offset)
    return [s._replace(params={**s.params, "shape": (4, 3)}) for s in found]


AFFINE = valued(
    "ndimage_affine_transform",
    lambda x, matrix, offset, shape, **params: sp.affine_transform(
        x, matrix, offset, output_shape=shape, **params
    ),
    _turned,
    _affine_samples,
)


def _zoomed(x: Array, factors: tuple[float, ...], grid_mode: bool, **params: Any) -> Array:
    shape = type_of(x).shape
    made = tuple(round(n * z) for n, z in zip(shape, factors, strict=True))
    places = []
    for n, m, g in zip(shape, made, _grid(made), strict=True):
        if grid_mode:
            places.append((g + 0.5) * (n / m) - 0.5)
        else:
            places.append(g * ((n - 1) / (m - 1) if m > 1 else 1.0))
    return _at(x, places, **params)


ZOOM = valued(
    "ndimage_zoom",
    lambda x, factors, **params: sp.zoom(x, factors, **params),
    _zoomed,
    lambda: [
        s._replace(params={**s.params, "factors": (1.5, 2.0), "grid_mode": False})
        for s in _image_samples()
    ],
)

# ------------------------------------------------------------------------- SciPy's functions


def _checked(name: str, x: Any, output: Any, order: int, mode: str, rank: int = 1) -> Array:
    x = image(x, name, output)
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    if type_of(x).ndim < rank:
        raise RuntimeError("input and output rank must be > 0")
    if mode not in MODES:
        if mode == "grid-constant":
            raise UnsupportedCallError(
                located(
                    f"scipy.ndimage.{name}: mode={mode!r} is not supported on traced values; take "
                    "one of " + ", ".join(map(repr, MODES))
                )
            )
        raise RuntimeError("boundary mode not supported")
    return x


@numpy_function(sp.map_coordinates)
def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """An image at coordinates, one array of these for each axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import map_coordinates
    >>> x = np.arange(5.0) ** 2
    >>> fg.grad(lambda q: map_coordinates(x, [[q]], order=1)[0])(1.5)
    np.float64(3.0)
    """
    x = _checked("map_coordinates", input, output, order, mode)
    q = fnp.asarray(coordinates)
    if type_of(operand(q)).dtype.kind == "c":
        raise TypeError("Complex type not supported")
    q = cast(operand(q), float)
    if not type_of(q).ndim or type_of(q).shape[0] != type_of(x).ndim:
        raise RuntimeError("invalid shape for coordinate array")
    made: Array = MAP(x, q, order=order, mode=mode, cval=float(cval), prefilter=bool(prefilter))
    return written(output, made, "map_coordinates")


@numpy_function(sp.shift)
def shift(
    input: Any,
    shift: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """An image moved by a number of elements, which need not be whole.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import shift
    >>> x = np.arange(5.0) ** 2
    >>> fg.grad(lambda s: shift(x, s, order=1)[2])(0.5)
    np.float64(-3.0)
    """
    x = _checked("shift", input, output, order, mode)
    by = cast(operand(fnp.stack([operand(s) for s in per_axis(shift, type_of(x).ndim)])), float)
    made: Array = SHIFT(x, by, order=order, mode=mode, cval=float(cval), prefilter=bool(prefilter))
    return written(output, made, "shift")


@numpy_function(sp.affine_transform)
def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """The image whose element at `o` is that of `input` at ``matrix @ o + offset``.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import affine_transform
    >>> x = np.arange(5.0)
    >>> fg.grad(lambda m: affine_transform(x, [m], order=1)[3])(0.9)
    np.float64(3.0)
    """
    x = _checked("affine_transform", input, output, order, mode)
    rank = type_of(x).ndim
    matrix = cast(as_array(matrix), float)
    shape = type_of(x).shape if output_shape is None else tuple(map(int, output_shape))
    if type_of(matrix).ndim not in (1, 2) or type_of(matrix).shape[0] < 1:
        raise RuntimeError("no proper affine matrix provided")
    if type_of(matrix).ndim == 2 and type_of(matrix).shape[1] == rank + 1:
        offset, matrix = matrix[:rank, rank], matrix[:rank, :rank]
    if type_of(operand(matrix)).shape[0] != rank:
        raise RuntimeError("affine matrix has wrong number of rows")
    if type_of(operand(matrix)).ndim == 2 and type_of(operand(matrix)).shape[1] != len(shape):
        raise RuntimeError("affine matrix has wrong number of columns")
    offsets = cast(operand(fnp.stack([operand(o) for o in per_axis(offset, rank)])), float)
    params = {"order": order, "mode": mode, "cval": float(cval), "prefilter": bool(prefilter)}
    made: Array = AFFINE(x, matrix, offsets, shape=shape, **params)
    return written(output, made, "affine_transform")


@numpy_function(sp.zoom)
def zoom(
    input: Any,
    zoom: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Any:
    """An image with more or fewer elements, by constant factors.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import zoom
    >>> fg.grad(lambda x: zoom(x, 1.5, order=1)[1])(np.zeros(2))
    array([0.5, 0.5])
    """
    x = _checked("zoom", input, output, order, mode)
    factors = tuple(float(z) for z in per_axis(zoom, type_of(x).ndim))
    params = {"order": order, "mode": mode, "cval": float(cval), "prefilter": bool(prefilter)}
    made: Array = ZOOM(x, factors=factors, grid_mode=bool(grid_mode), **params)
    return written(output, made, "zoom")


@numpy_function(sp.geometric_transform, calls=True)
def geometric_transform(
    input: Any,
    mapping: Any,
    output_shape: Any = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    extra_arguments: Any = (),
    extra_keywords: Any = None,
) -> Any:
    """The image whose element at `o` is that of `input` at ``mapping(o)``, which may be traced.

    `mapping` is called once for each element, with a tuple of whole numbers, as SciPy does.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import geometric_transform
    >>> x = np.arange(5.0) ** 2
    >>> fg.grad(lambda a: geometric_transform(x, lambda o: (a * o[0],), order=1)[3])(0.9)
    np.float64(15.0)
    """
    x = _checked("geometric_transform", input, output, order, mode)
    shape = type_of(x).shape if output_shape is None else tuple(map(int, output_shape))
    keywords = extra_keywords or {}
    rows = [
        [operand(c) for c in mapping(places, *extra_arguments, **keywords)]
        for places in np.ndindex(shape)
    ]
    if any(len(row) != type_of(x).ndim for row in rows):
        raise RuntimeError("invalid shape for coordinate array")
    stacked = fnp.stack([c for row in rows for c in row]) if rows else np.zeros(0)
    places = fnp.moveaxis(fnp.reshape(stacked, (*shape, type_of(x).ndim)), -1, 0)
    made = map_coordinates(x, places, None, order, mode, cval, prefilter)
    return written(output, made, "geometric_transform")
