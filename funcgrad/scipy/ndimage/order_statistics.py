"""Order statistics of windows: medians, ranks, largest and least elements, and grey morphology.

A result is an element of the image, which takes the whole derivative; largest (or least) elements
that are equal share it. Over boxes these are taken along one axis after the other, as SciPy does.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.ndimage as sp

import funcgrad.numpy as fnp
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import warn_at_line
from funcgrad.numpy.function_calls import TRACED, as_array, numpy_function, state
from funcgrad.ops.arithmetic import add, cast, subtract
from funcgrad.ops.samples import draw
from funcgrad.scipy.ndimage.filters import (
    checked_mode,
    chosen_axes,
    continued,
    image,
    normal_axis,
    per_axis,
    written,
)
from funcgrad.scipy.valued import valued
from funcgrad.transforms.vmap import vmap

__all__ = [
    "generic_filter",
    "grey_dilation",
    "grey_erosion",
    "maximum_filter",
    "maximum_filter1d",
    "median_filter",
    "minimum_filter",
    "minimum_filter1d",
    "percentile_filter",
    "rank_filter",
]

Shape = tuple[int, ...]
Chosen = tuple[int, ...]  # the elements of a window that count, by their places in it

# -------------------------------------------------------------------------------- the records


def _elements(
    x: Array, shape: Shape, chosen: Chosen, mode: str, cval: float, origin: Shape
) -> Array:
    """For each element those of its window, in a last axis."""
    wide = continued(x, shape, mode, cval, origin)
    seen = fnp.lib.stride_tricks.sliding_window_view(wide, shape)
    seen = fnp.reshape(seen, (*type_of(x).shape, -1))
    return operand(seen[..., list(chosen)])


def _footprint(shape: Shape, chosen: Chosen) -> Any:
    found = np.zeros(shape, bool)
    found.flat[list(chosen)] = True
    return found


def _extreme(x: Array, largest: bool) -> Array:
    return operand(fnp.max(x, -1) if largest else fnp.min(x, -1))


def _line(
    x: Array, size: int, axis: int, largest: bool, mode: str, cval: float, origin: int
) -> Any:
    shape, origins = [1] * type_of(x).ndim, [0] * type_of(x).ndim
    shape[axis], origins[axis] = size, origin
    seen = _elements(x, tuple(shape), tuple(range(size)), mode, cval, tuple(origins))
    return _extreme(seen, largest)


def _line_value(x: Any, size: int, axis: int, largest: bool, **more: Any) -> Any:
    return (sp.maximum_filter1d if largest else sp.minimum_filter1d)(x, size, axis, **more)


LINE = valued(
    "ndimage_extremum_filter1d",
    _line_value,
    _line,
    lambda: [
        Sample(
            (draw((4, 5)),),
            {"size": n, "axis": a, "largest": b, "mode": mode, "cval": 0.1, "origin": -1},
        )
        for n, a, b, mode in ((3, 0, True, "constant"), (4, 1, False, "mirror"))
    ],
)


def _window_samples(*others: Any, **more: Any) -> list[Sample]:
    params = {"shape": (2, 3), "chosen": (0, 2, 3, 4), "cval": 0.1, "origin": (0, 1), **more}
    return [Sample((draw((4, 5)), *others), {**params, "mode": m}) for m in ("reflect", "constant")]


def _windows(x: Array, largest: bool, **where: Any) -> Array:
    return _extreme(_elements(x, **where), largest)


def _windows_value(x: Any, largest: bool, shape: Shape, chosen: Chosen, **more: Any) -> Any:
    run = sp.maximum_filter if largest else sp.minimum_filter
    return run(x, footprint=_footprint(shape, chosen), **more)


WINDOWS = valued(
    "ndimage_extremum_filter", _windows_value, _windows, lambda: _window_samples(largest=True)
)


def _raised(x: Array, structure: Array, largest: bool, **where: Any) -> Array:
    """The structure is added to the window for a maximum, and taken from it for a minimum."""
    heights = fnp.reshape(structure, (-1,))[list(where["chosen"])]
    seen = _elements(cast(x, np.float64), **where)
    return cast(_extreme((add if largest else subtract)(seen, heights), largest), type_of(x).dtype)


def _raised_value(
    x: Any, structure: Any, largest: bool, shape: Shape, chosen: Chosen, origin: Shape, **more: Any
) -> Any:
    footprint = _footprint(shape, chosen)
    if not largest:
        return sp.grey_erosion(
            x, footprint=footprint, structure=structure, origin=list(origin), **more
        )
    turned = [-o - (1 - n % 2) for n, o in zip(shape, origin, strict=True)]
    return sp.grey_dilation(
        x, footprint=np.flip(footprint), structure=np.flip(structure), origin=turned, **more
    )


RAISED = valued(
    "ndimage_structured_filter",
    _raised_value,
    _raised,
    lambda: [s for b in (True, False) for s in _window_samples(draw((2, 3), seed=1), largest=b)],
)


def _ranked(x: Array, rank: int, **where: Any) -> Array:
    return operand(fnp.sort(_elements(x, **where), -1)[..., rank])


def _ranked_value(x: Any, rank: int, shape: Shape, chosen: Chosen, **more: Any) -> Any:
    return sp.rank_filter(x, rank, footprint=_footprint(shape, chosen), **more)


RANKED = valued("ndimage_rank_filter", _ranked_value, _ranked, lambda: _window_samples(rank=2))


def _called(x: Array, function: Callable[..., Any], given: Any, **where: Any) -> Array:
    """`function` of all windows at once."""
    kind, seen = type_of(x), _elements(cast(x, np.float64), **where)
    args, keywords = given
    rows = fnp.reshape(seen, (kind.size, -1))
    made = vmap(lambda row: function(row, *args, **dict(keywords)))(rows)
    return cast(operand(fnp.reshape(made, kind.shape)), kind.dtype)


def _called_value(
    x: Any, function: Any, given: Any, shape: Shape, chosen: Chosen, **more: Any
) -> Any:
    options = {"extra_arguments": given[0], "extra_keywords": dict(given[1]), **more}
    scipys = inspect.unwrap(sp.generic_filter)  # it would come here: a call that has a function
    return scipys(x, function, footprint=_footprint(shape, chosen), **options)


def _sum_of_powers(row: Any, power: float) -> Any:
    return (row**power).sum()


CALLED = valued(
    "ndimage_generic_filter",
    _called_value,
    _called,
    lambda: _window_samples(function=_sum_of_powers, given=((2.0,), ())),
)

# ------------------------------------------------------------------------- what calls give them


def _whole(part: Any, which: Sequence[int], rank: int, what: str = "footprint") -> Any:
    """A footprint or structure of the axes `which`, with the other axes too."""
    kind = type_of(operand(part))
    if kind.ndim != len(which):
        raise RuntimeError(f"{what}.ndim ({kind.ndim}) must match len(axes) ({len(which)})")
    missing = [a for a in range(rank) if a not in which]
    return fnp.expand_dims(part, missing) if missing else part


def _where(
    footprint: Any, which: Sequence[int], rank: int, mode: Any, cval: Any, origin: Any
) -> dict[str, Any]:
    """The parameters of the records, from SciPy's."""
    footprint = np.asarray(_whole(footprint, which, rank))
    origins = [0] * rank
    for axis, o in zip(which, per_axis(origin, len(which)), strict=True):
        origins[axis] = int(o)
    for n, o in zip(footprint.shape, origins, strict=True):
        if not 0 <= n // 2 + o < n:
            raise ValueError("invalid origin")
    if not isinstance(mode, str):
        raise RuntimeError("A sequence of modes is not supported for non-separable footprints")
    return {
        "shape": footprint.shape,
        "chosen": tuple(map(int, np.flatnonzero(footprint))),
        "mode": checked_mode(mode),
        "cval": float(cval),
        "origin": tuple(origins),
    }


def _given_footprint(size: Any, footprint: Any, count: int) -> Any:
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        return np.ones([int(n) for n in per_axis(size, count)], bool)
    if size is not None:
        warn_at_line("ignoring size because footprint is set", UserWarning)
    return np.asarray(footprint, dtype=bool)


def _along(
    name: str, x: Any, size: Any, axis: Any, largest: bool, output: Any, mode: Any, cval: Any,
    origin: Any,
) -> Any:  # fmt: skip
    x = image(x, name, output)
    axis = normal_axis(axis, type_of(x).ndim)
    if size < 1:
        raise RuntimeError("incorrect filter size")
    if not 0 <= size // 2 + origin < size:
        raise ValueError("invalid origin")
    more = {"mode": checked_mode(mode), "cval": float(cval), "origin": int(origin)}
    return written(output, LINE(x, size=int(size), axis=axis, largest=largest, **more), name)


def _extremum(
    name: str, x: Any, size: Any, footprint: Any, output: Any, mode: Any, cval: Any, origin: Any,
    axes: Any, largest: bool, structure: Any = None,
) -> Any:  # fmt: skip
    """What SciPy does for all of these, by its own name of it `_min_or_max_filter`."""
    x = image(x, name, output)
    rank = type_of(x).ndim
    which = chosen_axes(axes, rank)
    count = len(which)
    if structure is not None:
        structure = cast(as_array(structure), np.float64)
        if footprint is None:
            size, footprint = None, np.ones(type_of(structure).shape, bool)
    footprint = _given_footprint(size, footprint, count)
    if structure is not None:
        structure = operand(_whole(structure, which, rank, "structure"))
        where = _where(footprint, which, rank, mode, cval, origin)
        if type_of(structure).shape != where["shape"]:
            raise RuntimeError("structure array has incorrect shape")
        return written(output, RAISED(x, structure, largest=largest, **where), name)
    if not footprint.any():
        raise ValueError("All-zero footprint is not supported.")
    if not footprint.all():
        where = _where(footprint, which, rank, mode, cval, origin)
        return written(output, WINDOWS(x, largest=largest, **where), name)
    sizes = footprint.shape
    if len(sizes) != count:
        raise RuntimeError(f"footprint.ndim ({len(sizes)}) must match len(axes) ({count})")
    given = (per_axis(g, count) for g in (mode, origin))
    for axis, n, m, o in zip(which, sizes, *given, strict=True):
        if n > 1:
            x = _along(name, x, n, axis, largest, None, m, cval, o)
    return written(output, x, name)


def _rank(
    name: str, x: Any, rank_of: Callable[[int], int], size: Any, footprint: Any, output: Any,
    mode: Any, cval: Any, origin: Any, axes: Any,
) -> Any:  # fmt: skip
    x = image(x, name, output)
    which = chosen_axes(axes, type_of(x).ndim)
    footprint = _given_footprint(size, footprint, len(which))
    count = int(footprint.sum())
    rank = rank_of(count)
    rank += count if rank < 0 else 0
    if not 0 <= rank < count:
        raise RuntimeError("rank not within filter footprint size")
    if rank in (0, count - 1):
        largest = rank != 0
        return _extremum(name, x, None, footprint, output, mode, cval, origin, axes, largest)
    where = _where(footprint, which, type_of(x).ndim, mode, cval, origin)
    return written(output, RANKED(x, rank=rank, **where), name)


# ------------------------------------------------------------------------- SciPy's functions


@numpy_function(sp.maximum_filter1d)
def maximum_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: Any = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """The largest of `size` elements around each element, along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import maximum_filter1d
    >>> fg.grad(lambda x: maximum_filter1d(x, 3).sum())(np.array([1.0, 5.0, 2.0]))
    array([0., 3., 0.])
    """
    return _along("maximum_filter1d", input, size, axis, True, output, mode, cval, origin)


@numpy_function(sp.minimum_filter1d)
def minimum_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: Any = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """The least of `size` elements around each element, along an axis."""
    return _along("minimum_filter1d", input, size, axis, False, output, mode, cval, origin)


@numpy_function(sp.maximum_filter)
def maximum_filter(
    input: Any, size: Any = None, footprint: Any = None, output: Any = None, mode: Any = "reflect",
    cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The largest element around each element.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import maximum_filter
    >>> fg.grad(lambda x: maximum_filter(x, 3).sum())(np.array([[1.0, 5.0], [2.0, 3.0]]))
    array([[0., 4.],
           [0., 0.]])
    """
    name = "maximum_filter"
    return _extremum(name, input, size, footprint, output, mode, cval, origin, axes, True)


@numpy_function(sp.minimum_filter)
def minimum_filter(
    input: Any, size: Any = None, footprint: Any = None, output: Any = None, mode: Any = "reflect",
    cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The least element around each element."""
    name = "minimum_filter"
    return _extremum(name, input, size, footprint, output, mode, cval, origin, axes, False)


@numpy_function(sp.rank_filter)
def rank_filter(
    input: Any, rank: int, size: Any = None, footprint: Any = None, output: Any = None,
    mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The element of a rank among those around each element; -1 is the largest."""
    rank = operator.index(rank)
    return _rank(
        "rank_filter", input, lambda n: rank, size, footprint, output, mode, cval, origin, axes
    )


@numpy_function(sp.median_filter)
def median_filter(
    input: Any, size: Any = None, footprint: Any = None, output: Any = None, mode: Any = "reflect",
    cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The median of the elements around each element; of an even number of them the upper one.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import median_filter
    >>> fg.grad(lambda x: median_filter(x, 3)[1])(np.array([1.0, 5.0, 2.0]))
    array([0., 0., 1.])
    """
    return _rank(
        "median_filter", input, lambda n: n // 2, size, footprint, output, mode, cval, origin, axes
    )


@numpy_function(sp.percentile_filter)
def percentile_filter(
    input: Any, percentile: float, size: Any = None, footprint: Any = None, output: Any = None,
    mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The element at a percentile, which is a constant, of those around each element."""
    share = float(percentile) + (100.0 if percentile < 0 else 0.0)
    if not 0 <= share <= 100:
        raise RuntimeError("invalid percentile")
    return _rank(
        "percentile_filter", input, lambda n: n - 1 if share == 100 else int(n * share / 100.0),
        size, footprint, output, mode, cval, origin, axes,
    )  # fmt: skip


@numpy_function(sp.generic_filter, calls=True)
def generic_filter(
    input: Any, function: Any, size: Any = None, footprint: Any = None, output: Any = None,
    mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, extra_arguments: Any = (),
    extra_keywords: Any = None, *, axes: Any = None,
) -> Any:  # fmt: skip
    """`function` of the elements around each element, which it is given as an array of one axis.

    It has to be one that `vmap` takes: derivatives are computed of all windows at once.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import generic_filter
    >>> fg.grad(lambda x: generic_filter(x, np.ptp, 3)[1])(np.array([1.0, 5.0, 2.0]))
    array([-1.,  1.,  0.])
    """
    x = image(input, "generic_filter", output)
    which = chosen_axes(axes, type_of(x).ndim)
    footprint = _given_footprint(size, footprint, len(which))
    where = _where(footprint, which, type_of(x).ndim, mode, cval, origin)
    args, keywords = tuple(extra_arguments), tuple((extra_keywords or {}).items())
    run = _called if state([*args, *(v for _, v in keywords)]) == TRACED else CALLED
    return written(
        output, run(x, function=function, given=(args, keywords), **where), "generic_filter"
    )


@numpy_function(sp.grey_erosion)
def grey_erosion(
    input: Any, size: Any = None, footprint: Any = None, structure: Any = None, output: Any = None,
    mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The least element around each element less the heights of a structure, if there is one."""
    if size is None and footprint is None and structure is None:
        raise ValueError("size, footprint, or structure must be specified")
    return _extremum(
        "grey_erosion", input, size, footprint, output, mode, cval, origin, axes, False, structure
    )


@numpy_function(sp.grey_dilation)
def grey_dilation(
    input: Any, size: Any = None, footprint: Any = None, structure: Any = None, output: Any = None,
    mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """The largest element around each element plus the heights of a structure, if there is one.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.ndimage import grey_dilation
    >>> x = np.array([1.0, 5.0, 2.0])
    >>> fg.grad(lambda s: grey_dilation(x, structure=s).sum())(np.zeros(3))
    array([1., 1., 1.])
    """
    if size is None and footprint is None and structure is None:
        raise ValueError("size, footprint, or structure must be specified")
    structure = None if structure is None else fnp.flip(as_array(structure))
    footprint = None if footprint is None else np.flip(np.asarray(footprint))
    count = len(chosen_axes(axes, type_of(operand(input)).ndim))
    shaped = footprint if footprint is not None else structure
    sizes = per_axis(size, count) if shaped is None else type_of(operand(shaped)).shape
    origins = per_axis(origin, count)
    turned = [-o - (1 - n % 2) for n, o in zip(sizes, origins, strict=True)]
    return _extremum(
        "grey_dilation", input, size, footprint, output, mode, cval, turned, axes, True, structure
    )
