"""`associative_scan`: running results of an associative function, by halves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.ops.index import getitem
from funcgrad.ops.shape import concatenate, flip, moveaxis, reshape, stack
from funcgrad.transforms.arguments import integer, leaves_of, name_of
from funcgrad.transforms.results import handed_back, handed_in

__all__ = ["associative_scan"]

Function = Callable[..., Any]
Leaves = list[Array]


@boundary
def associative_scan(fn: Function, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Running results of `fn` along an axis: ``[e0, fn(e0, e1), fn(fn(e0, e1), e2), ...]``.

    Parameters
    ----------
    fn : callable
        An associative function of two trees of arrays, each with as many elements along `axis`,
        which returns a third. It is called with whole arrays, some 2 log₂(length) times.
    elems : tree of arrays
        They have the same length along `axis`.
    reverse : bool
        From the end to the beginning.
    axis : int

    Returns
    -------
    tree
        As `elems`. The order in which elements are combined is that of a tree, so sums differ from
        those of a loop in their rounding. All derivatives go through.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.associative_scan(np.multiply, np.array([1.0, 2.0, 3.0, 4.0]))
    array([ 1.,  2.,  6., 24.])
    """
    leaves, definition = leaves_of(elems, "the elements of associative_scan")
    axis = integer(axis, "associative_scan: axis must be an integer")
    if not leaves:
        return elems
    ranks = [type_of(x).ndim for x in leaves]
    if not all(-n <= axis < n for n in ranks):
        raise ValueError(located(f"associative_scan: axis {axis} is out of range"))
    front = [moveaxis(x, axis % n, 0) for x, n in zip(leaves, ranks, strict=True)]
    lengths = {type_of(x).shape[0] for x in front}
    if len(lengths) > 1:
        raise ValueError(
            located(f"associative_scan: the elements have the lengths {sorted(lengths)}")
        )
    if reverse:
        front = [flip(x, (0,)) for x in front]

    def combine(a: Leaves, b: Leaves) -> Leaves:
        both = (
            tree.unflatten(
                definition, [moveaxis(x, 0, axis % n) for x, n in zip(xs, ranks, strict=True)]
            )
            for xs in (a, b)
        )
        found, made = leaves_of(fn(*map(handed_in, both)), ("the output", fn))
        if made != definition:
            raise TypeError(
                located(
                    f"associative_scan: {name_of(fn)} is given the tree {definition} and returns "
                    f"{made}; return the same tree"
                )
            )
        for x, y, path in zip(a, found, tree.paths(definition), strict=True):
            _check_shape(type_of(x).shape, y, axis, f"{name_of(fn)}: the result{path}")
        return [moveaxis(x, axis % n, 0) for x, n in zip(found, ranks, strict=True)]

    done = _scan(combine, front)
    if reverse:
        done = [flip(x, (0,)) for x in done]
    moved = [moveaxis(x, 0, axis % n) for x, n in zip(done, ranks, strict=True)]
    return handed_back(definition, moved, leaves)


def _check_shape(front: tuple[int, ...], y: Array, axis: int, what: str) -> None:
    """Raise unless `y` has the shape of an operand, of which `front` is that with `axis` first."""
    at = axis % len(front)
    wanted = (*front[1 : at + 1], front[0], *front[at + 1 :])
    if type_of(y).shape != wanted:
        raise ValueError(
            located(
                f"associative_scan: {what} has shape {type_of(y).shape}, not {wanted}, that of "
                "what it combines"
            )
        )


def _scan(combine: Callable[[Leaves, Leaves], Leaves], xs: Leaves) -> Leaves:
    """Neighbours are combined, the results scanned, and what lies between filled in."""
    n = type_of(xs[0]).shape[0]
    if n < 2:
        return xs

    def part(each: Sequence[Array], start: int, stop: int, step: int = 1) -> Leaves:
        return [getitem(x, (slice(start, stop, step),)) for x in each]

    even = n - n % 2
    odd = _scan(combine, combine(part(xs, 0, even, 2), part(xs, 1, even, 2)))
    between = combine(part(odd, 0, (n - 1) // 2), part(xs, 2, n, 2)) if n > 2 else []
    evens = [
        concatenate([a, b], 0) if between else a
        for a, b in zip(part(xs, 0, 1), between or xs, strict=True)
    ]
    return [_interleaved(a, b, n) for a, b in zip(evens, odd, strict=True)]


def _interleaved(even: Array, odd: Array, n: int) -> Array:
    rest = type_of(even).shape[1:]
    half = n // 2
    pairs = stack([getitem(even, (slice(0, half),)), odd], 1)
    whole = reshape(pairs, (2 * half, *rest))
    if n % 2 == 0:
        return whole
    return concatenate([whole, getitem(even, (slice(half, half + 1),))], 0)
