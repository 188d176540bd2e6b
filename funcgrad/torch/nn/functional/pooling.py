"""Pooling: the largest element, or the mean, of each place of a window that moves over images.

The positions of largest elements are found first, in PyTorch's order (the first of equals, the
last NaN), and the elements are then picked; means are sums along one axis after the other.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.primitive import Params
from funcgrad.core.types import Array
from funcgrad.kernels import pooling
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index as indexing
from funcgrad.ops.shape import reshape
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.composite import Composite, Inside, inside, spread_over
from funcgrad.torch.nn.functional.distance import padded
from funcgrad.torch.operations.common import boxed, computed, shape_of, widened
from funcgrad.torch.operations.gathering import positions_along
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import node, operation, refuse
from funcgrad.torch.operations.results import laid
from funcgrad.torch.root import bare

__all__ = [
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d",
    "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip

Sizes = tuple[int, ...]
WORDS = {1: "one int", 2: "two ints", 3: "three ints"}
# the gradients of all know of the images, in which they do not bend
MAX_2D, MAX_3D, AVG_2D, AVG_3D = (
    f"{name}BackwardBackward0"
    for name in ("MaxPool2DWithIndices", "MaxPool3DWithIndices", "AvgPool2D", "AvgPool3D")
)
MAX_NODES = {
    1: node("SqueezeBackward1", "", shows=(0,), bends=MAX_2D),
    2: node("MaxPool2DWithIndices", "self", shows=(0,), bends=MAX_2D),
    3: node("MaxPool3DWithIndices", "self", shows=(0,), bends=MAX_3D),
}
AVG_NODES = {
    1: node("SqueezeBackward1", "", shows=(0,), bends=AVG_2D),
    2: node("AvgPool2D", "self", shows=(0,), bends=AVG_2D),
    3: node("AvgPool3D", "self", shows=(0,), bends=AVG_3D),
}


class Pool(NamedTuple):
    """The windows along the last axes: their extents, steps, borders, and how many there are."""

    size: Sizes
    kernel: Sizes
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    places: Sizes

    @property
    def widths(self) -> list[tuple[int, int]]:
        """What has to be put before and after each axis, so that all windows are inside."""
        found = []
        for n, k, s, p, d, c in zip(*self, strict=True):
            found.append((p, max((c - 1) * s + (k - 1) * d + 1 - n - p, 0)))
        return found

    def part(self, axis: int, j: int) -> slice:
        """The j-th elements of all windows along one of the axes, in the padded array."""
        s, d, c = self.stride[axis], self.dilation[axis], self.places[axis]
        return slice(j * d, j * d + (c - 1) * s + 1, s)

    def inside(self, axis: int) -> Array:
        """Where the elements of each window lie along an axis of the array itself: (count, k)."""
        s, d, c = self.stride[axis], self.dilation[axis], self.places[axis]
        at = np.arange(c)[:, None] * s - self.padding[axis]
        return at + np.arange(self.kernel[axis]) * d

    @property
    def empty(self) -> Array | None:
        """Which windows lie in the border alone; None where there is none, as without dilation."""
        if max(self.dilation) == 1:
            return None
        held = [
            ((at >= 0) & (at < n)).sum(1)
            for at, n in zip(map(self.inside, range(len(self.size))), self.size, strict=True)
        ]
        found: Array = functools.reduce(np.multiply, np.ix_(*held)) == 0
        return found if found.any() else None


# ---------------------------------------------------------------------------------- arguments


def spread(name: str, what: str, given: Any, rank: int) -> Sizes:
    """A number for each axis."""
    items = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if len(items) not in (1, rank):
        raise RuntimeError(
            f"{name}: {what} must either be a single int, or a tuple of {WORDS[rank]}"
        )
    return tuple(int(n) for n in (items * rank if len(items) == 1 else items))


AXES = {1: "W", 2: "HW", 3: "THW"}


def _letters(numbers: Sizes, what: str) -> str:
    return " ".join(f"{what}{a}: {n}" for a, n in zip(AXES[len(numbers)], numbers, strict=True))


def pool_of(
    name: str,
    shape: Sizes,
    rank: int,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> Pool:
    """The windows over an image of some shape; PyTorch's errors for numbers that do not fit."""
    k, p = spread(name, "kernel_size", kernel, rank), spread(name, "padding", padding, rank)
    s = (
        k
        if stride is None or stride == () or stride == []
        else spread(name, "stride", stride, rank)
    )
    d = spread(name, "dilation", dilation, rank)
    if min(s) == 0:
        raise RuntimeError("stride should not be zero")
    if min(k) <= 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got {_letters(k, 'k')}")
    if min(s) < 0:
        raise RuntimeError(f"stride should be greater than zero, but got {_letters(s, 'd')}")
    if min(d) <= 0:
        raise RuntimeError(
            f"dilation should be greater than zero, but got {_letters(d, 'dilation')}"
        )
    for n, extent, apart in zip(p, k, d, strict=True):
        if n < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {n}")
        if n > ((extent - 1) * apart + 1) // 2:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got "
                f"pad={n}, kernel_size={extent} and dilation={apart}"
            )
    size = shape[-rank:]
    count = tuple(_count(*numbers, ceil_mode) for numbers in zip(size, k, s, p, d, strict=True))
    if min(count) < 1:
        front = shape[-rank - 1]
        given = "x".join(map(str, (front, *size)))
        found = "x".join(map(str, (front, *(max(c, 0) for c in count))))
        raise RuntimeError(
            f"Given input size: ({given}). Calculated output size: ({found}). Output size is too "
            "small"
        )
    return Pool(size, k, s, p, d, count)


def _count(n: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    """How many windows there are along an axis; none begins in the right border."""
    room = n + 2 * p - d * (k - 1) - 1
    count = (room + (s - 1 if ceil_mode else 0)) // s + 1
    return count - 1 if ceil_mode and (count - 1) * s >= n + p else count


def check_images(name: str, shape: Sizes, rank: int) -> None:
    """Raise for what is no image, or batch of images."""
    if rank == 1:
        if len(shape) not in (2, 3) or 0 in shape[-2:]:
            raise RuntimeError(
                f"{name}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
                f"input, but got:{list(shape)}"
            )
        return
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"non-empty {rank + 1}D or {rank + 2}D (batch mode) tensor expected for input"
        )
    if 0 in shape[-rank - 1 :]:
        raise RuntimeError(
            f"Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with optional 0 dim batch "
            f"size for input, but got:{list(shape)}"
        )


# ------------------------------------------------------------------------------------ largest


def _sum_of(lines: Iterable[Array]) -> Array:
    """The sums of all combinations of the elements of some lines, one axis for each."""
    return functools.reduce(np.add, np.ix_(*lines))


def _first_inside(pool: Pool, k: int) -> Array:
    """The first element of the array itself in each window along an axis."""
    at = pool.inside(k)
    return np.min(np.where(at < 0, pool.size[k], at), axis=1)


def _positions(x: Array, pool: Pool) -> Array:
    """Where the largest element of each window is in the flattened image."""
    if type(x) is np.ndarray:
        native = pooling.positions(x, pool)
        if native is not None:
            return native
    kind, rank = dtype_of(x), len(pool.size)
    lowest = _lowest(kind)
    wide = padded(x, ((0, 0),) * (len(shape_of(x)) - rank) + tuple(pool.widths), lowest)
    steps = [math.prod(pool.size[k + 1 :]) for k in range(rank)]
    places = [pool.inside(k) * steps[k] for k in range(rank)]
    best: Any = lowest
    first = _sum_of(_first_inside(pool, k) * steps[k] for k in range(rank))
    at: Any = np.minimum(first, math.prod(pool.size) - 1)  # of those in the border alone, too
    for offsets in itertools.product(*map(range, pool.kernel)):
        y = indexing.getitem(wide, (Ellipsis, *(pool.part(k, j) for k, j in enumerate(offsets))))
        flat = _sum_of(places[k][:, j] for k, j in enumerate(offsets))
        better = a.greater(y, best)
        if kind.kind == "f":
            better = a.logical_or(better, a.isnan(y))
        best, at = a.where(better, y, best), a.where(better, flat, at)
    return at


def _picked(x: Array, at: Array, axes: int) -> Array:
    """The elements of each image at flat positions."""
    shape, where = shape_of(x), shape_of(at)
    lead = shape[: len(shape) - axes]
    flat = reshape(x, (*lead, math.prod(shape[len(lead) :])))
    spots = reshape(at, (*lead, math.prod(where[len(lead) :])))
    return reshape(indexing.take_along_axis(flat, spots, len(lead)), where)


class Picked(Inside):
    """Elements of raw images at raw positions, for the way back."""

    __slots__ = ("operands", "params")

    def __init__(self, operands: Sequence[Any], params: Params) -> None:
        self.operands, self.params, self.saved = operands, params, None

    def pull(
        self, cts: Sequence[Any], wanted: Sequence[int], count: int, quick: bool = False
    ) -> list[Array | None]:
        (g,) = cts
        x, at = self.operands
        if quick and type(g) is np.ndarray and g.dtype == x.dtype:
            found = pooling.put(g, at, x.shape, self.params["axes"])
            if found is not None:
                return spread_over(wanted, [found], count)
        again = inside(_picked, self.operands, self.params, wanted)[1]
        return again.pull(cts, wanted, count, quick)


def _recorded(xs: Sequence[Any], params: Params) -> tuple[Any, Inside] | None:
    x, at = xs
    if type(x) is not np.ndarray or type(at) is not np.ndarray:
        return None
    found = pooling.taken(x, at, params["axes"])
    return None if found is None else (found, Picked(xs, params))


PICKED = Composite("max_pool", _picked, linear=False, fixed=1, recorded=_recorded)


def _picked_or_lowest(x: Array, at: Array, pool: Pool) -> Array:
    """As `_picked`, and the lowest number of windows that lie in the border alone."""
    return a.where(pool.empty, _lowest(dtype_of(x)), _picked(x, at, len(pool.size)))


PICKED_OR_LOWEST = Composite("max_pool_with_border", _picked_or_lowest, linear=False, fixed=1)


def _lowest(kind: np.dtype[Any]) -> Any:
    return kind.type(-np.inf if kind.kind == "f" else np.iinfo(kind).min)


def _check_padding(rank: int, shown: bool, kernel: Any, padding: Any, dilation: Any) -> None:
    """Raise where a border is wider than half of the windows, whose dilation does not count."""
    if padding == 0:
        return
    name = f"max_pool{rank}d"
    k, p = spread(name, "kernel_size", kernel, rank), spread(name, "padding", padding, rank)
    d = spread(name, "dilation", dilation, rank)
    if min(k) < 1 or all(n <= extent // 2 for n, extent in zip(p, k, strict=True)):
        return
    if rank == 1 and not shown:
        raise RuntimeError(
            "max_pool1d() padding should be at most half of kernel size, but got "
            f"padding={p[0]} and kernel_size={k[0]}"
        )
    if any(n > ((extent - 1) * apart + 1) // 2 for n, extent, apart in zip(p, k, d, strict=True)):
        return  # which the windows refuse
    told = (
        "kT: {2} kW: {0} kH: {1} padT: {5} padW: {3} padH: {4}"
        if rank == 3
        else "padW = {2}, padH = {3}, kW = {0}, kH = {1}"
    )
    wide, border = ((1, *k), (0, *p)) if rank == 1 else (k, p)
    numbers = told.format(*wide[:-3:-1], *wide[:-2], *border[:-3:-1], *border[:-2])
    raise RuntimeError(
        f"pad should be smaller than or equal to half of kernel size, but got {numbers}"
    )


def _largest(
    name: str, input: Tensor, rank: int, shown: bool, *numbers: Any
) -> tuple[Tensor, Tensor | None]:
    x = input.content()
    refuse({"bc": name}, x)
    check_images(name, shape_of(x), rank)
    kernel, _, padding, dilation, _ = numbers
    _check_padding(rank, shown, kernel, padding, dilation)
    pool = pool_of(name, shape_of(x), rank, *numbers)
    at = _positions(bare(x), pool)
    picked = (
        computed(PICKED, x, at, axes=rank)
        if pool.empty is None
        else computed(PICKED_OR_LOWEST, x, at, pool=pool)
    )
    found = boxed(picked, MAX_NODES[rank])
    # lines without a gradient and positions go another way in PyTorch
    how = "lines" if rank == 1 and (shown or found.requires_grad) else "images"
    y = laid(found, how, input)
    # apart from what the way back reads, which native code trusts
    shown_at = at.copy() if type(at) is np.ndarray and shown else at
    return y, laid(box(shown_at), how, input) if shown else None


def _max_pool(rank: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    name = f"max_pool{rank}d"

    def with_indices(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        return _largest(name, input, rank, True, kernel_size, stride, padding, dilation, ceil_mode)

    def pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        found = _largest(
            name, input, rank, return_indices, kernel_size, stride, padding, dilation, ceil_mode
        )
        return found if return_indices else found[0]

    pool.__name__ = pool.__qualname__ = name
    with_indices.__name__ = with_indices.__qualname__ = f"{name}_with_indices"
    pool.__doc__ = (
        f"The largest element of each place of a window over {rank} dimensions; with "
        "`return_indices`, where they are in the flattened image. Of equals the first counts."
    )
    with_indices.__doc__ = f"As `{name}` with ``return_indices=True``."
    return pool, with_indices


max_pool1d, max_pool1d_with_indices = _max_pool(1)
max_pool2d, max_pool2d_with_indices = _max_pool(2)
max_pool3d, max_pool3d_with_indices = _max_pool(3)

# -------------------------------------------------------------------------------------- means


def _means(x: Array, pool: Pool, include_pad: bool, override: int | None) -> Array:
    rank = len(pool.size)
    lead = len(shape_of(x)) - rank
    x = padded(x, ((0, 0),) * lead + tuple(pool.widths), 0)
    for k in range(rank):
        rest = (slice(None),) * (rank - k - 1)
        parts = [
            indexing.getitem(x, (Ellipsis, pool.part(k, j), *rest)) for j in range(pool.kernel[k])
        ]
        x = functools.reduce(a.add, parts)
    divisors = _divisors(pool, include_pad, override).astype(dtype_of(x))
    if dtype_of(x).kind == "i":  # towards zero
        return a.multiply(a.sign(x), a.floor_divide(a.absolute(x), divisors))
    return a.divide(x, divisors)


MEANS = Composite("avg_pool", widened(_means), linear=True)


def _divisors(pool: Pool, include_pad: bool, override: int | None) -> Array:
    """How many elements each window has: those of the border count too, unless they must not."""
    if override is not None:
        return np.array(float(override))
    extents = []
    for n, k, s, p, _, c in zip(*pool, strict=True):
        begin = np.arange(c) * s - p
        end = np.minimum(begin + k, n + p)
        if not include_pad:
            begin, end = np.maximum(begin, 0), np.minimum(end, n)
        extents.append((end - begin).astype(float))
    return functools.reduce(np.multiply, np.ix_(*extents))


def _mean(
    rank: int, input: Tensor, kernel: Any, stride: Any, padding: Any, ceil_mode: bool,
    include_pad: bool, override: int | None = None,
) -> Tensor:  # fmt: skip
    name = f"avg_pool{rank}d"
    x = input.content()
    if dtype_of(x) != np.int64:
        refuse({"biuc": "avg_pool3d" if rank == 3 else "avg_pool2d"}, x)
    if override == 0:
        raise RuntimeError("divisor must be not zero")
    check_images(name, shape_of(x), rank)
    pool = pool_of(name, shape_of(x), rank, kernel, stride, padding, 1, ceil_mode)
    found = computed(MEANS, x, pool=pool, include_pad=include_pad, override=override)
    return boxed(found, AVG_NODES[rank])


OF_MEANS = """The mean of each place of a window over {} dimensions.

Examples
--------
>>> import funcgrad.torch as torch
>>> x = torch.arange(16.0).reshape(1, 1, 4, 4)
>>> torch.nn.functional.avg_pool2d(x, 2)
tensor([[[[ 2.5000,  4.5000],
          [10.5000, 12.5000]]]])
"""
AVG_POOL = (
    "input, dims kernel_size, dims? stride=(), dims padding=0, bool ceil_mode=False, "
    "bool count_include_pad=True"
)


def _avg_pool(rank: int) -> Callable[..., Tensor]:
    signature = AVG_POOL + (", int divisor_override=None, *, out" if rank > 1 else "")
    doc = OF_MEANS.format(rank)
    row = operation(f"avg_pool{rank}d", signature, variants="", doc=doc,
                    lies="images" if rank > 1 else "lines")  # fmt: skip
    return row(functools.partial(_mean, rank))


avg_pool1d, avg_pool2d, avg_pool3d = map(_avg_pool, (1, 2, 3))


def _lp_pool(rank: int) -> Callable[..., Tensor]:
    average, largest = (
        (avg_pool1d, max_pool1d), (avg_pool2d, max_pool2d), (avg_pool3d, max_pool3d)
    )[rank - 1]  # fmt: skip

    def pool(
        input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None,
        ceil_mode: bool = False,
    ) -> Tensor:  # fmt: skip
        if norm_type in (math.inf, -math.inf):
            sign = 1 if norm_type > 0 else -1
            found: Tensor = largest(sign * input.abs(), kernel_size, stride, 0, 1, ceil_mode)
            return found if sign > 0 else -found
        y = average(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        count = math.prod(spread("lp_pool", "kernel_size", kernel_size, rank))
        out: Tensor = (y.sign() * y.abs().relu()).mul(count).pow(1.0 / norm_type)
        return out

    pool.__name__ = pool.__qualname__ = f"lp_pool{rank}d"
    pool.__doc__ = f"The p-norm of each place of a window over {rank} dimensions."
    return pool


lp_pool1d, lp_pool2d, lp_pool3d = _lp_pool(1), _lp_pool(2), _lp_pool(3)

# ------------------------------------------------------------------------------------ unpooling


def _unpooled_size(shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, given: Any) -> Sizes:
    rank = len(kernel)
    numbers = zip(shape[-rank:], kernel, stride, padding, strict=True)
    usual = [(n - 1) * s + k - 2 * p for n, k, s, p in numbers]
    if given is None:
        return tuple(usual)
    wanted = list(given)[-rank:] if len(given) == rank + 2 else list(given)
    if len(wanted) != rank:
        raise ValueError(
            f"output_size should be a sequence containing {rank} or {rank + 2} elements, but it "
            f"has a length of '{len(given)}'"
        )
    for k, (n, u, s) in enumerate(zip(wanted, usual, stride, strict=True)):
        if not u - s < n < u + s:
            raise ValueError(
                f'invalid output_size "{given}" (dim {k} must be between {u - s} and {u + s})'
            )
    return tuple(wanted)


def _unpooled(x: Array, at: Array, total: int, shape: Sizes) -> Array:
    lead = shape_of(x)[:-1]
    positions = positions_along((*lead, total), at, len(lead))
    size = math.prod(shape_of(x))
    nothing = np.zeros(math.prod(lead) * total, dtype_of(x))
    put = indexing.set_positions(nothing, reshape(positions, (size,)), reshape(x, (size,)))
    return reshape(put, shape)


class Unpooled(Composite):
    """What is put back at its places: PyTorch's derivative reads at all of these.

    It does not ask which of two elements that went to one place is there.
    """

    def vjp(self, node: Any, g: Any, quick: bool = False) -> Sequence[Array | None]:
        if node.parents[0] is None:
            return [None, None]
        at = node.saved[-1]
        lead = shape_of(at)[:-1]
        grid = [np.arange(n).reshape((-1,) + (1,) * (len(lead) - k)) for k, n in enumerate(lead)]
        flat = reshape(g, (*lead, node.params["total"]))
        return [indexing.gather(flat, *grid, at), None]


UNPOOLED = Unpooled("max_unpool", _unpooled, linear=True, fixed=1)
UNPOOL_NODES = {
    1: node("SqueezeBackward1", "", shows=(0,)),
    2: node("MaxUnpool2D", "_ indices", shows=(0,)),
    3: node("MaxUnpool3D", "_ indices", shows=(0,)),
}


def _max_unpool(rank: int) -> Callable[..., Tensor]:
    name = f"max_unpool{rank}d"

    def unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> Tensor:
        k = spread(name, "kernel_size", kernel_size, rank)
        s = k if stride is None else spread(name, "stride", stride, rank)
        p = spread(name, "padding", padding, rank)
        size = _unpooled_size(tuple(input.shape), k, s, p, output_size)
        if indices.shape != input.shape:
            raise RuntimeError(
                f"Expected shape of indices to be same as that of the input tensor "
                f"({list(input.shape)}), but got indices tensor with shape: {list(indices.shape)}"
            )
        lead = tuple(input.shape[:-rank])
        total = math.prod(size)
        count = math.prod(input.shape[-rank:])
        at = indices.reshape(*lead, count)
        low, high = (int(at.min()), int(at.max())) if at.numel() else (0, -1)
        if low < 0 or high >= total:
            found = low if low < 0 else high
            raise RuntimeError(
                f"Found an invalid max index: {found} (output volumes are of size "
                f"{'x'.join(map(str, size))}"
            )
        flat = input.reshape(*lead, count).content()
        made = computed(UNPOOLED, flat, at.content(), total=total, shape=(*lead, *size))
        return boxed(made, UNPOOL_NODES[rank])

    unpool.__name__ = unpool.__qualname__ = name
    unpool.__doc__ = (
        f"What `max_pool{rank}d` has picked, back at its places; all else is 0.\n\n"
        "    Where two elements go to one place, one of them stays."
    )
    return unpool


max_unpool1d, max_unpool2d, max_unpool3d = _max_unpool(1), _max_unpool(2), _max_unpool(3)
