"""Sums, extrema and exchanges over a named axis of `vmap`.

A named axis is a value: the index of each example, which `axis_index` gives. Two operations take it
as an operand, and so find the trace of the axis wherever they stand, in graphs and under other
transforms: `all_gather`, which is what an example sees of all of them, and its transpose. All
others are made of these two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.forms import Linear
from funcgrad.core.primitive import Params
from funcgrad.core.tracer import Tracer, bind, operand, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import AxisNameError, located
from funcgrad.ops.arithmetic import add, divide, multiply
from funcgrad.ops.index import gather
from funcgrad.ops.nonlinear_reductions import max as max_
from funcgrad.ops.nonlinear_reductions import min as min_
from funcgrad.ops.shape import broadcast_to, concatenate, moveaxis, reshape
from funcgrad.ops.sums import sum as sum_
from funcgrad.transforms.batch import HIDDEN, Batch, BatchTracer, axes

__all__ = [
    "all_gather",
    "all_to_all",
    "axis_index",
    "axis_size",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "pshuffle",
    "psum",
    "psum_scatter",
    "pswapaxes",
]


def _trace(axis_name: Any) -> Batch:
    """The innermost running `vmap` whose axis has this name."""
    trace: Batch
    for name, trace in reversed(axes.running):
        if name is HIDDEN:
            raise AxisNameError(
                located(
                    f"the axis {axis_name!r} is asked for by a function with a custom rule within "
                    "a compiled graph or a loop, where it is not known; ask for it outside, and "
                    "hand the value over"
                )
            )
        if name == axis_name:
            return trace
    known = [name for name, _ in axes.running if name is not HIDDEN]
    raise AxisNameError(
        located(
            f"no axis is named {axis_name!r} here: vmap(f, axis_name={axis_name!r}) gives an axis "
            f"its name while f runs; known are {known}"
        )
    )


def axis_index(axis_name: Any) -> Array:
    """The number of the example at hand, along a named axis of `vmap`.

    Parameters
    ----------
    axis_name : hashable
        The `axis_name` of a `vmap` that is running. Of a tuple of names it is the number in the
        order of all, the last axis the fastest.

    Returns
    -------
    integer

    Raises
    ------
    AxisNameError
        No axis has this name.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> fg.vmap(lambda x: x * lax.axis_index("i"), axis_name="i")(np.ones(3))
    array([0., 1., 2.])
    """
    if isinstance(axis_name, tuple):
        found: Any = 0
        for name in axis_name:
            found = add(multiply(found, axis_size(name)), axis_index(name))
        return found
    trace = _trace(axis_name)
    return BatchTracer(np.arange(trace.size), trace)


def axis_size(axis_name: Any) -> int:
    """The number of examples along a named axis of `vmap`, or of all in a tuple of names.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> fg.vmap(lambda x: x / lax.axis_size("i"), axis_name="i")(np.ones(4))
    array([0.25, 0.25, 0.25, 0.25])
    """
    names = axis_name if isinstance(axis_name, tuple) else (axis_name,)
    return int(np.prod([_trace(n).size for n in names], dtype=int))


# ---------------------------------------------------------------------------- the two records


class Exchange(Linear):
    """Linear in its first operand; the second one is the index of each example along the axis."""

    form = "higher_order"  # its meaning is in `map`: arrays alone have no axis

    def map(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        xs, batched = trace.split(args)
        if batched[1]:
            return self.along(xs[0], batched[0], params["size"], trace)
        lead = 1 if self is ALL_GATHER else 0  # another axis of examples: it stays in front
        x = xs[0] if lead else moveaxis(xs[0], 0, 1)
        found = bind(self, (x, xs[1]), params)
        return BatchTracer(moveaxis(found, 1, 0) if lead else found, trace)

    def along(self, x: Array, batched: bool, size: int, trace: Batch) -> Array:
        """The result, given what all examples have, or the same for each."""
        if self is ALL_GATHER:  # all see the same
            return x if batched else broadcast_to(x, (size, *type_of(x).shape))
        every = sum_(x, (0,)) if batched else multiply(x, type_of(x).dtype.type(size))
        return BatchTracer(every, trace)


ALL_GATHER: Exchange = Exchange(
    "all_gather",
    lambda x, index, *, size: np.broadcast_to(x, (size, *np.shape(x))),
    (lambda g, x, index, *, size: bind(SCATTERED_SUM, (g, index), {"size": size}), None),
    lambda x, index, *, size: ArrayType((size, *x.shape), x.dtype),
    lambda *_: None,
)
SCATTERED_SUM: Exchange = Exchange(
    "psum_scatter",
    lambda g, index, *, size: size * np.asarray(g)[index],
    (lambda g, x, index, *, size: bind(ALL_GATHER, (g, index), {"size": size}), None),
    lambda g, index, *, size: ArrayType(g.shape[1:], g.dtype),
    lambda *_: None,
)


def _gathered(x: Array, axis_name: Any) -> Array:
    """What all examples have, along the first axis; of several names, in the order of all."""
    names = axis_name if isinstance(axis_name, tuple) else (axis_name,)
    for name in reversed(names):
        index = axis_index(name)
        x = bind(ALL_GATHER, (x, index), {"size": axis_size(name)})
    lead = len(names)
    shape = type_of(x).shape
    if lead == 1:
        return x
    return reshape(x, (int(np.prod(shape[:lead], dtype=int)), *shape[lead:]))


def _each(function: Callable[[Array], Any], x: Any, groups: Any, what: str) -> Any:
    """A function of every leaf of a tree."""
    if groups is not None:
        raise NotImplementedError(located(f"{what}: axis_index_groups is not supported"))
    return tree.map(lambda leaf: function(operand(leaf)), x)


# --------------------------------------------------------------------------------- reductions


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The sum over all examples along a named axis of `vmap`.

    Parameters
    ----------
    x : tree of arrays
    axis_name : hashable, or tuple of them
        The `axis_name` of a `vmap` that is running.

    Returns
    -------
    tree of arrays
        The same for each example. What is no traced value counts once for each: ``psum(1, "i")`` is
        their number. The cotangent of each example's `x` is the sum of those of all.

    Raises
    ------
    AxisNameError
        No axis has this name.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> fg.vmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """

    def one(leaf: Array) -> Any:
        if not isinstance(leaf, Tracer):
            return leaf * axis_size(axis_name)
        dtype = type_of(leaf).dtype  # kept, but that truth values are counted
        return sum_(_gathered(leaf, axis_name), (0,), dtype=None if dtype.kind == "b" else dtype)

    return _each(one, x, axis_index_groups, "psum")


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The mean over all examples along a named axis of `vmap`; see `psum`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> fg.vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([-1.,  1.])
    """
    count = float(axis_size(axis_name))
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    return tree.map(lambda s: divide(s, count), total)


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The largest of all examples along a named axis of `vmap`; equal ones share the derivative.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> fg.vmap(lambda x: lax.pmax(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([3., 3.])
    """
    return _extremum(max_, x, axis_name, axis_index_groups, "pmax")


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The smallest of all examples along a named axis of `vmap`; equal ones share the derivative.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> fg.vmap(lambda x: lax.pmin(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([1., 1.])
    """
    return _extremum(min_, x, axis_name, axis_index_groups, "pmin")


def _extremum(function: Callable[..., Any], x: Any, axis_name: Any, groups: Any, what: str) -> Any:
    axis_size(axis_name)  # an error for a name that is not known

    def one(leaf: Array) -> Any:
        return function(_gathered(leaf, axis_name), (0,)) if isinstance(leaf, Tracer) else leaf

    return _each(one, x, groups, what)


# ---------------------------------------------------------------------------------- exchanges


def all_gather(
    x: Any, axis_name: Any, *, axis_index_groups: Any = None, axis: int = 0, tiled: bool = False
) -> Any:
    """What all examples along a named axis of `vmap` have, for each of them.

    Parameters
    ----------
    x : tree of arrays
    axis_name : hashable, or tuple of them
    axis : int, optional
        Where the new axis goes.
    tiled : bool, optional
        Whether the arrays are joined along `axis` instead, which they have.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> fg.vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([[1., 3.],
           [1., 3.]])
    """

    def one(leaf: Array) -> Array:
        found = _gathered(leaf, axis_name)
        rank = type_of(found).ndim - tiled
        at = axis % max(rank, 1)
        return _joined(moveaxis(found, 0, at), at) if tiled else moveaxis(found, 0, at)

    return _each(one, x, axis_index_groups, "all_gather")


def _joined(x: Array, axis: int) -> Array:
    """Two neighbouring axes as one."""
    shape = type_of(x).shape
    return reshape(x, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


def _parted(x: Array, axis: int, count: int, what: str) -> Array:
    """An axis in so many parts, as two axes."""
    shape = type_of(x).shape
    if shape[axis] % count:
        raise ValueError(
            located(f"{what}: axis {axis} of the shape {shape} has no {count} equal parts")
        )
    return reshape(x, (*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :]))


def _matches(x: Array, axis: int, count: int, what: str) -> None:
    shape = type_of(x).shape
    if shape[axis] != count:
        raise ValueError(
            located(
                f"{what}: axis {axis} of the shape {shape} has not the size {count} of the axis"
            )
        )


def psum_scatter(
    x: Any,
    axis_name: Any,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """The sum over all examples, of which each gets its own part: the transpose of `all_gather`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> fg.vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i")(np.arange(4.0).reshape(2, 2))
    array([2., 4.])
    """
    count, index = axis_size(axis_name), axis_index(axis_name)

    def one(leaf: Array) -> Array:
        at = scatter_dimension % type_of(leaf).ndim
        if tiled:
            leaf = _parted(leaf, at, count, "psum_scatter")
        _matches(leaf, at, count, "psum_scatter")
        return bind(SCATTERED_SUM, (moveaxis(leaf, at, 0), index), {"size": count})

    return _each(one, x, axis_index_groups, "psum_scatter")


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """What another example has: ``(source, destination)`` for each pair in `perm`, else 0.

    Raises
    ------
    ValueError
        A source or a destination is named twice, or does not exist.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> turn = lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)])
    >>> fg.vmap(turn, axis_name="i")(np.array([1.0, 2.0, 3.0]))
    array([0., 1., 2.])
    """
    count, index = axis_size(axis_name), axis_index(axis_name)
    pairs = [(int(a), int(b)) for a, b in perm]
    for side in zip(*pairs, strict=True):
        if len(set(side)) != len(side) or not all(0 <= k < count for k in side):
            raise ValueError(
                located(f"ppermute: {pairs} names an example twice, or one beyond the {count}")
            )
    sources = np.full(count, count)
    for a, b in pairs:
        sources[b] = a

    def one(leaf: Array) -> Array:
        found = _gathered(leaf, axis_name)
        nothing = np.zeros((1, *type_of(leaf).shape), type_of(leaf).dtype)
        return gather(concatenate([found, nothing], 0), gather(sources, index))

    return _each(one, x, None, "ppermute")


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """What the example ``perm[k]`` has, for example `k`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> fg.vmap(lambda x: lax.pshuffle(x, "i", [1, 0]), axis_name="i")(np.array([1.0, 2.0]))
    array([2., 1.])
    """
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)), strict=True)))


def all_to_all(
    x: Any,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Each example hands one part of its array to each: a transposition with the named axis.

    Parameters
    ----------
    x : tree of arrays
    axis_name : hashable
    split_axis : int
        The axis of the parts; its size is that of the named axis, or with `tiled` a multiple.
    concat_axis : int
        Where what was received is stacked, or joined with `tiled`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> swap = lambda x: lax.all_to_all(x, "i", 0, 0)
    >>> fg.vmap(swap, axis_name="i")(np.arange(4.0).reshape(2, 2))
    array([[0., 2.],
           [1., 3.]])
    """
    count, index = axis_size(axis_name), axis_index(axis_name)

    def one(leaf: Array) -> Array:
        rank = type_of(leaf).ndim
        split, concat = split_axis % rank, concat_axis % rank
        if tiled:
            leaf = _parted(leaf, split, count, "all_to_all")
        _matches(leaf, split, count, "all_to_all")
        parts = moveaxis(_gathered(leaf, axis_name), split + 1, 0)
        found = moveaxis(gather(parts, index), 0, concat)
        return _joined(found, concat) if tiled else found

    return _each(one, x, axis_index_groups, "all_to_all")


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """The named axis of `vmap` and an axis of the array, of the same size, exchanged.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> fg.vmap(lambda x: lax.pswapaxes(x, "i", 0), axis_name="i")(np.arange(4.0).reshape(2, 2))
    array([[0., 2.],
           [1., 3.]])
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)
