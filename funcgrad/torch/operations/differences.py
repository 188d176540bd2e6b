"""Differences of neighbours, derivatives by them, and integrals by trapezoids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations import arithmetic, comparison
from funcgrad.torch.operations.common import axes_of, axis_of, boxed, copied, shape_of
from funcgrad.torch.operations.cumulative import cumsum
from funcgrad.torch.operations.joining import cat
from funcgrad.torch.operations.promotion import NUMBERS, dtype_of
from funcgrad.torch.operations.record import operation
from funcgrad.torch.operations.reductions import sum as sum_
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.operations.slicing import narrow, select

__all__ = ["cumulative_trapezoid", "diff", "gradient", "trapezoid", "trapz"]


@operation(
    "diff", "input, int n=1, int dim=-1, prepend=None, append=None, *, out", variants="method"
)
@requires("""
    shape(input): diff expects input to be at least one-dimensional
    n >= 0: order must be non-negative but got {n}
""")
def diff(input: Tensor, n: int, dim: int, prepend: Tensor | None, append: Tensor | None) -> Tensor:
    """The `n`-th differences of neighbours along a dimension."""
    shape = shape_of(input)
    axis = axis_of(dim, len(shape))
    if n == 0:  # nothing is put before or behind then, either
        return boxed(copied(input.content()))
    given = [x for x in (prepend, input, append) if x is not None]
    x = cat(given, axis) if len(given) > 1 else input
    for _ in range(min(n, shape_of(x)[axis])):
        length = shape_of(x)[axis] - 1
        later, earlier = narrow(x, axis, 1, length), narrow(x, axis, 0, length)
        if dtype_of(x.content()).kind == "b":
            x = comparison.logical_xor(later, earlier)
        else:
            x = arithmetic.sub(later, earlier)
    return x


# ------------------------------------------------------------------------------- trapezoids


def _ends(y: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    length = shape_of(y)[axis] - 1
    return narrow(y, axis, 0, length), narrow(y, axis, 1, length)


def _spacing(y: Tensor, x: Tensor, axis: int) -> Tensor:
    """The gaps between the places, in the rank of `y`."""
    if x.ndim == 1:
        if shape_of(x)[0] != shape_of(y)[axis]:
            raise RuntimeError("trapezoid: There must be one `x` value for each sample point")
        x = x.view([-1 if k == axis else 1 for k in range(y.ndim)])
    return diff(x, dim=axis - y.ndim)


AT_PLACES = "y, Tensor x, *, int dim=-1"
TRAPEZOID = f"{AT_PLACES} | y, *, Number dx=1, int dim=-1"


@operation("trapezoid", TRAPEZOID, variants="")
def trapezoid(y: Tensor, x: Tensor | None, dim: int, dx: Any) -> Tensor:
    """The integral by trapezoids along a dimension, at places `x` or `dx` apart."""
    axis = axis_of(dim, y.ndim)
    if x is None:
        ends = arithmetic.add(select(y, axis, 0), select(y, axis, -1))
        inner = arithmetic.sub(sum_(y, axis), arithmetic.mul_scalar(ends, 0.5))
        return arithmetic.mul_scalar(inner, dx)
    first, second = _ends(y, axis)
    heights = arithmetic.mul(arithmetic.add(first, second), _spacing(y, x, axis))
    return arithmetic.div_scalar(sum_(heights, axis), 2.0)


@operation("trapz", f"y, *, float dx=1, int dim=-1 | {AT_PLACES}", variants="")
def trapz(y: Tensor, dx: float, dim: int, x: Tensor | None) -> Tensor:
    """`trapezoid`."""
    return trapezoid(y, dx=dx, dim=dim) if x is None else trapezoid(y, x, dim=dim)


@operation("cumulative_trapezoid", TRAPEZOID, variants="")
def cumulative_trapezoid(y: Tensor, x: Tensor | None, dim: int, dx: Any) -> Tensor:
    """The running integral by trapezoids along a dimension."""
    axis = axis_of(dim, y.ndim)
    first, second = _ends(y, axis)
    heights = arithmetic.add(first, second)
    if x is None:
        found: Tensor = cumsum(arithmetic.mul_scalar(heights, dx / 2), axis)
        return found
    whole: Tensor = cumsum(arithmetic.mul(heights, _spacing(y, x, axis)), axis)
    return arithmetic.div_scalar(whole, 2.0)


# ------------------------------------------------------------------- derivatives by differences


def _gaps_along(input: Tensor, spacing: Any, dims: tuple[int, ...], all_dims: bool) -> list[Any]:
    """What lies between the places along each dimension: a number, or a vector of places."""
    if isinstance(spacing, NUMBERS):
        return [spacing] * len(dims)
    if all_dims and len(spacing) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
            f"equal to 'self.dim() = {input.ndim}', since dim argument was not given, but got a "
            f"list of length {len(spacing)}"
        )
    if len(spacing) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim "
            "arguments to have the same length, but got a spacing argument of length "
            f"{len(spacing)} and a dim argument of length {len(dims)}."
        )
    for places in spacing:
        if isinstance(places, Tensor) and places.ndim != 1:
            raise RuntimeError(
                "torch.gradient expected each element of spacing to have one dimension, but got "
                f"an element with {places.ndim} dimensions!"
            )
    return list(spacing)


ALONG, EDGES = "ints dim", "int edge_order=1"
GRADIENT = " | ".join(
    f"input, *, {given}, {EDGES}" for given in (
        ALONG, f"Number spacing, {ALONG}", "Number spacing=None, int dim=None",
        "Numbers spacing, int dim=None", f"Numbers spacing, {ALONG}",
        "Tensors spacing, int dim=None", f"Tensors spacing, {ALONG}",
    )
)  # fmt: skip


@operation("gradient", GRADIENT, variants="")
def gradient(input: Tensor, dim: Any, edge_order: int, spacing: Any) -> tuple[Tensor, ...]:
    """Derivatives along dimensions by differences of neighbours, to the second order inside.

    `spacing` is the distance of the samples, one for each dimension, or vectors of their places.
    """
    dims = () if dim == () else axes_of(dim, input.ndim)
    gaps = _gaps_along(input, 1 if spacing is None else spacing, dims, dim is None)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for k in dims:
        if shape_of(input)[k] < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1"
            )
    return tuple(
        (_uneven if isinstance(gap, Tensor) else _even)(input, k, gap, edge_order)
        for k, gap in zip(dims, gaps, strict=True)
    )


def _even(x: Tensor, k: int, gap: Any, edge_order: int) -> Tensor:
    n = shape_of(x)[k]

    def at(i: int) -> Tensor:
        return narrow(x, k, i % n, 1)

    inner = arithmetic.sub(narrow(x, k, 2, n - 2), narrow(x, k, 0, n - 2))
    if edge_order == 1:
        first, last = arithmetic.sub(at(1), at(0)), arithmetic.sub(at(-1), at(-2))
    else:
        mul = arithmetic.mul_scalar
        first = arithmetic.sub(arithmetic.add(mul(at(0), -1.5), mul(at(1), 2)), mul(at(2), 0.5))
        last = arithmetic.add(arithmetic.sub(mul(at(-3), 0.5), mul(at(-2), 2)), mul(at(-1), 1.5))
    inner = arithmetic.div_scalar(inner, 2)
    return cat([arithmetic.div_scalar(part, gap) for part in (first, inner, last)], k)


def _uneven(x: Tensor, k: int, places: Tensor, edge_order: int) -> Tensor:
    n, gaps = shape_of(x)[k], diff(places)

    def weighted(weights: Sequence[Tensor], first: int, count: int = 1) -> Tensor:
        terms = [arithmetic.mul(w, narrow(x, k, first + i, count)) for i, w in enumerate(weights)]
        return arithmetic.add(arithmetic.add(terms[0], terms[1]), terms[2])

    def along(weights: Tensor) -> Tensor:
        found: Tensor = weights.view([-1 if d == k else 1 for d in range(x.ndim)])
        return found

    before, after = narrow(gaps, 0, 0, n - 2), narrow(gaps, 0, 1, n - 2)
    inner = weighted([along(w) for w in _inner_weights(before, after)], 0, n - 2)
    if edge_order == 1:
        ends = [
            arithmetic.div(
                arithmetic.sub(narrow(x, k, i + 1, 1), narrow(x, k, i, 1)), select(gaps, 0, i)
            )
            for i in (0, n - 2)
        ]
    else:
        first = _end_weights(select(gaps, 0, 0), select(gaps, 0, 1), start=True)
        last = _end_weights(select(gaps, 0, n - 2), select(gaps, 0, n - 3), start=False)
        ends = [weighted(first, 0), weighted(last[::-1], n - 3)]
    return cat([ends[0], inner, ends[1]], k)


def _inner_weights(a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    """Of a value before, here and after, for the gaps `a` before and `b` after."""
    both = arithmetic.add(a, b)
    return (
        arithmetic.div(arithmetic.neg(b), arithmetic.mul(a, both)),
        arithmetic.div(arithmetic.sub(b, a), arithmetic.mul(a, b)),
        arithmetic.div(a, arithmetic.mul(b, both)),
    )


def _end_weights(near: Tensor, next: Tensor, start: bool) -> tuple[Tensor, ...]:
    """Of the value at an end and the two beside it, for the gaps between them."""
    both = arithmetic.add(near, next)
    signed = [arithmetic.add(arithmetic.mul_scalar(near, 2), next), both, near]
    for k in (0, 2) if start else (1,):
        signed[k] = arithmetic.neg(signed[k])
    return (
        arithmetic.div(signed[0], arithmetic.mul(near, both)),
        arithmetic.div(signed[1], arithmetic.mul(near, next)),
        arithmetic.div(signed[2], arithmetic.mul(next, both)),
    )
