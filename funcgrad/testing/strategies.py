"""Strategies of hypothesis for tests of derivatives: points that are safe to differentiate at.

Elements of an array are distinct, drawn from a grid, so that no two are near a tie, where `max` or
`sort` have no derivative; on request none is near 0. They come in several dtypes and memory
layouts. hypothesis is imported with this module, not before.

Examples
--------
>>> from hypothesis import given
>>> import numpy as np
>>> from funcgrad.testing import check_grads, strategies
>>> @given(strategies.arrays(avoid=0.02))
... def test_softsign(x):
...     check_grads(lambda x: x / (1 + np.abs(x)), (x,), order=1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from funcgrad.core.boundary import publish

__all__ = [
    "COMPLEX",
    "GAP",
    "LAYOUTS",
    "REAL",
    "arrays",
    "axes",
    "broadcastable_shapes",
    "dtypes",
    "indices",
    "laid_out",
    "shapes",
    "trees",
]

Shape = tuple[int, ...]
REAL = [np.float64, np.float32, np.float16]
COMPLEX = [np.complex128, np.complex64]
LAYOUTS = ["C", "F", "negative", "step", "read-only", "view"]
GAP = 0.02  # the least distance of two drawn numbers of an array of up to 48 elements


def dtypes(complex: bool = False, half: bool = False) -> st.SearchStrategy[np.dtype[Any]]:
    """Dtypes that have derivatives: float64 and float32, on request float16 and complex ones."""
    kinds = [*(REAL if half else REAL[:2]), *(COMPLEX if complex else ())]
    return st.sampled_from([np.dtype(k) for k in kinds])


def shapes(least: int = 0, most: int = 3, smallest: int = 0) -> st.SearchStrategy[Shape]:
    """Shapes of `least` to `most` axes with extents from `smallest` to 4."""
    extents = st.integers(smallest, 4)
    return st.lists(extents, min_size=least, max_size=most).map(tuple)


@st.composite
def broadcastable_shapes(
    draw: Any, most: int = 3, smallest: int = 0, count: int = 2
) -> list[Shape]:
    """Shapes that broadcast: axes may be missing or 1, or those of the widest."""
    whole = draw(shapes(0, most, smallest))
    found = []
    for _ in range(count):
        cut = whole[draw(st.integers(0, len(whole))) :] if draw(st.booleans()) else whole
        found.append(tuple(1 if draw(st.integers(0, 4)) == 0 else n for n in cut))
    return found


@st.composite
def arrays(
    draw: Any,
    shape: Shape | st.SearchStrategy[Shape] | None = None,
    low: float = -0.95,
    high: float = 1.05,
    dtypes: Sequence[Any] = REAL[:2],
    avoid: float = 0.0,
    layouts: Sequence[str] = LAYOUTS,
) -> Any:
    """Arrays of distinct numbers between `low` and `high`, none within `avoid` of 0.

    Parameters
    ----------
    shape : tuple of int or strategy, optional
    low, high : float
        The interval; the imaginary part of complex numbers is between 0.1 and 0.9.
    dtypes : sequence of dtype
    avoid : float
        The least absolute value: for functions with a kink or a pole at 0.
    layouts : sequence of str
        Of "C", "F", "negative" strides, "step" (every other element), "read-only", "view".
    """
    shape = shapes() if shape is None else shape
    extents: Shape = draw(shape) if isinstance(shape, st.SearchStrategy) else shape
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    x = _numbers(rng, extents, low, high)
    if avoid:
        x = np.where(np.abs(x) < avoid, x + 2 * avoid, x)
    if dtype.kind == "c":
        x = x + 1j * _numbers(rng, extents, 0.1, 0.9)
    return laid_out(x.astype(dtype), draw(st.sampled_from(layouts)))


def _numbers(rng: np.random.Generator, shape: Shape, low: float, high: float) -> Any:
    size = int(np.prod(shape))
    grid = low + (high - low) * (np.arange(size) + rng.uniform(0.4, 0.6)) / max(size, 1)
    return rng.permutation(grid).reshape(shape)


def laid_out(x: Any, layout: str) -> Any:
    """The same numbers in another memory layout, one of `LAYOUTS`."""
    x = np.asarray(x)
    if layout == "F" and x.ndim:
        return np.asfortranarray(x)
    if layout == "negative":
        back = (slice(None, None, -1),) * x.ndim
        return x[back].copy()[back]
    if layout == "step":
        wide = np.zeros([2 * n for n in x.shape], x.dtype)
        wide[(slice(None, None, 2),) * x.ndim] = x
        return wide[(slice(None, None, 2),) * x.ndim]
    if layout == "view":
        return np.concatenate([x.ravel(), x.ravel()])[: x.size].reshape(x.shape)
    if layout == "read-only":
        x.flags.writeable = False
    return x


@st.composite
def axes(draw: Any, rank: int, several: bool = True) -> Any:
    """The argument `axis` of a reduction over an array of that rank: None, one, or several."""
    options: list[Any] = [None, *range(-rank, rank)]
    if several and rank > 1:
        options += [(0, 1), (-1, 0), (1,), ()]
        options += [(0, 1, 2), (2, 0)] if rank > 2 else []
    return draw(st.sampled_from(options))


@st.composite
def indices(draw: Any, shape: Shape) -> Any:
    """An index of any kind into an array of that shape: basic, of integers, of masks, mixed.

    Now and then arrays in it do not broadcast, which NumPy refuses with an IndexError.
    """
    if draw(st.integers(0, 7)) == 0:
        rng = np.random.default_rng(draw(st.integers(0, 99)))
        rank = draw(st.integers(0, len(shape)))
        return rng.random(shape[:rank]) < 0.5
    items: list[Any] = []
    count = draw(st.integers(0, len(shape)))
    many = draw(shapes(0, 2, 1))
    for n in shape[:count]:
        kind = draw(st.integers(0, 5))
        if kind == 0 and n:
            items.append(draw(st.integers(-n, n - 1)))
        elif kind == 1 and n:
            rng = np.random.default_rng(draw(st.integers(0, 99)))
            items.append(rng.integers(-n, n, many))
        elif kind == 2:
            rng = np.random.default_rng(draw(st.integers(0, 99)))
            mask = rng.random(n) < 0.6
            items.append(mask if not any(isinstance(i, np.ndarray) for i in items) else slice(None))
        else:
            bound = st.none() | st.integers(-n - 1, n + 1)
            step = draw(st.sampled_from([None, 1, 2, -1, -2]))
            items.append(slice(draw(bound), draw(bound), step))
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), None)
    if count == len(shape) or draw(st.booleans()):
        at = draw(st.integers(0, len(items))) if count == len(shape) else len(items)
        items.insert(at, Ellipsis)
    return tuple(items) if len(items) != 1 or draw(st.booleans()) else items[0]


def trees(
    leaves: st.SearchStrategy[Any] | None = None, extend: Callable[[Any], Any] | None = None
) -> st.SearchStrategy[Any]:
    """Nested lists, tuples and dictionaries of `leaves`, by default small arrays.

    `extend` makes further containers of a strategy for what is in them.
    """

    def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        found: Any = st.lists(inner, max_size=3) | st.tuples(inner, inner)
        found |= st.dictionaries(st.text(max_size=3), inner, max_size=3)
        whole: st.SearchStrategy[Any] = found if extend is None else found | extend(inner)
        return whole

    return st.recursive(arrays(shapes(0, 2)) if leaves is None else leaves, containers)


publish(__name__)
