"""New random tensors: uniform and normal numbers, integers, permutations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.bfloat16 import BFLOAT16
from funcgrad.core.tracer import Tracer, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.shape import broadcast_to
from funcgrad.torch import dtypes, randomness
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.modes import modes
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.creation import check_sizes, creation
from funcgrad.torch.operations.generator import Generator, default_generator
from funcgrad.torch.operations.record import Function
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.operations.results import memory_order
from funcgrad.transforms.batch import BatchTracer

__all__ = [
    "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm",
]  # fmt: skip

DOUBLE = np.dtype(np.float64)
WIDEST: dict[np.dtype[Any], int] = {
    BFLOAT16: 1 << 8, np.dtype(np.float16): 1 << 11, np.dtype(np.float32): 1 << 24, DOUBLE: 1 << 53,
}  # fmt: skip

Draw = Callable[[Generator, int, np.dtype[Any]], Any]
Order = tuple[int, ...] | None


def source_of(generator: Any, function: str = "rand") -> Generator:
    """The generator given, or the default one."""
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise TypeError(
            f"{function}(): argument 'generator' must be torch.Generator, not "
            f"{type(generator).__name__}"
        )
    return generator


def order_of(x: Tensor) -> Order:
    """The dimensions of `x` as its elements lie in memory; None where that is their order."""
    order = tuple(memory_order(x.shape, [x.stride()]))
    return None if order == tuple(range(len(order))) else order


def drawn(
    draw: Draw, generator: Any, shape: tuple[int, ...], kind: np.dtype[Any], function: str = "rand",
    order: Order = None,
) -> Any:  # fmt: skip
    """An array of random numbers; under `vmap` what that says of randomness.

    The numbers come as PyTorch writes them: in the order of memory, which is `order`.
    """
    source = source_of(generator, function)
    if modes.stage is not None:
        return _staged(draw, source, shape, kind, order)

    def sample(sizes: tuple[int, ...]) -> Any:
        with source.lock, np.errstate(all="ignore"):
            return _laid(draw(source, math.prod(sizes), kind), sizes, order)

    return randomness.draw(sample, shape)


def drawn_given(sample: Callable[..., Any], what: str, *xs: Array) -> Array:
    """Random numbers that depend on arrays of one shape; under `vmap` for each example its own."""
    if not randomness.levels.found:
        return sample(*(known(x, what) for x in xs))
    if any(kind == "error" for _, kind in randomness.levels.found):
        randomness.draw(sample, ())  # raises
    before = randomness.levels.found
    trace, kind = before[-1]
    xs = tuple(map(_value, xs))
    batched = any(isinstance(x, BatchTracer) and x.owner is trace for x in xs)
    if kind == "same" and batched:
        raise RuntimeError(
            "Vmap does not currently support same randomness with a batched tensor input. Please "
            "file an issue with functorch"
        )
    randomness.levels.found = before[:-1]
    try:
        if kind == "same":
            return drawn_given(sample, what, *xs)
        inner = [
            x.value if isinstance(x, BatchTracer) and x.owner is trace
            else broadcast_to(x, (trace.size, *type_of(x).shape))
            for x in xs
        ]  # fmt: skip
        return BatchTracer(drawn_given(sample, what, *inner), trace)
    finally:
        randomness.levels.found = before


def _value(x: Array) -> Array:
    """An array without the traces of derivatives: numbers that are drawn are constants."""
    while isinstance(x, Tracer) and not isinstance(x, BatchTracer) and not x.abstract:
        x = x.value
    return x


def _laid(numbers: Any, sizes: tuple[int, ...], order: Order) -> Any:
    """Numbers in a shape whose last dimensions lie in memory as `order` says."""
    if order is None:
        return np.asarray(numbers).reshape(sizes)
    lanes = len(sizes) - len(order)
    axes = (*range(lanes), *(lanes + k for k in order))
    return np.asarray(numbers).reshape([sizes[k] for k in axes]).transpose(np.argsort(axes))


def _staged(
    draw: Draw, source: Generator, shape: tuple[int, ...], kind: np.dtype[Any], order: Order
) -> Any:
    """Numbers that each call of a compiled step draws anew, from the same source."""
    count = math.prod(shape)

    def sample() -> Any:
        with source.lock, np.errstate(all="ignore"):
            return _laid(draw(source, count, kind), shape, order)

    stage, modes.stage = modes.stage, None
    try:
        made = np.asarray(draw(Generator(), 1, kind)).dtype
    finally:
        modes.stage = stage
    return stage.drawn(sample, source, ArrayType(shape, made))


def draw_uniform(source: Generator, count: int, kind: np.dtype[Any]) -> Any:
    """Numbers in [0, 1), of complex numbers in both parts."""
    if kind.kind == "c":
        return _complex(source.uniform(2 * count, _part(kind)))
    return source.uniform(count, kind)


def _part(kind: np.dtype[Any]) -> np.dtype[Any]:
    found: np.dtype[Any] = np.zeros((), kind).real.dtype
    return found


def _complex(parts: Any) -> Any:
    return parts[0::2] + 1j * parts[1::2]


def draw_normal(source: Generator, count: int, kind: np.dtype[Any]) -> Any:
    """Numbers of the standard normal distribution; complex ones have variance 1 as well."""
    if kind.kind == "c":
        part = _part(kind)
        return _complex(source.normal(2 * count, part) * part.type(math.sqrt(0.5))).astype(kind)
    return source.normal(count, kind)


def draw_normal_one_by_one(source: Generator, count: int, kind: np.dtype[Any]) -> Any:
    """The same numbers in the way that PyTorch goes where the elements do not lie in a row."""
    if kind.kind == "c":
        part = _part(kind)
        return _complex(source.normals(2 * count, part) * part.type(math.sqrt(0.5))).astype(kind)
    return source.normals(count, kind)


SOURCE = "Generator? generator"


def _maker(
    name: str, draw: Draw, scattered: Draw, kernel: str, doc: str
) -> tuple[Function[Tensor], Function[Tensor]]:
    """The functions of a shape, and of a tensor; what does not lie in a row is `scattered`."""

    def made(shape: tuple[int, ...], kind: dtypes.dtype, generator: Any, order: Order) -> Any:
        if not kind.is_floating_point and not kind.is_complex:
            raise NotImplementedError(
                f"\"{kernel}\" not implemented for '{dtypes.scalar_name(kind)}'"
            )
        made = draw if order is None else scattered
        return drawn(made, generator, check_sizes(shape), kind.numpy, name, order)

    def function(size: tuple[int, ...], generator: Any, kind: dtypes.dtype | None) -> Any:
        return made(size, kind or dtypes.get_default_dtype(), generator, None)

    def like(input: Tensor, generator: Any, memory_format: Any, kind: dtypes.dtype) -> Any:
        return made(tuple(input.shape), kind, generator, order_of(input))

    return (
        creation(name, f"ints size, *, {SOURCE}, out", "ints size, *, out", doc=doc)(function),
        creation(f"{name}_like", *as_other("input"),
                 doc=f"`{name}` in the shape and dtype of a tensor.")(like),
    )  # fmt: skip


def as_other(given: str) -> list[str]:
    """The overloads of what takes shape, dtype and order in memory of a tensor."""
    formats = "memory_format memory_format=None"
    return [f"{given}, *, {SOURCE}, {formats}", f"{given}, *, {formats}"]


rand, rand_like = _maker(
    "rand", draw_uniform, draw_uniform, "check_uniform_bounds",
    "Random numbers, uniform in [0, 1).",
)  # fmt: skip
randn, randn_like = _maker(
    "randn", draw_normal, draw_normal_one_by_one, "normal_kernel_cpu",
    "Random numbers of the standard normal distribution.",
)  # fmt: skip


# ------------------------------------------------------------------------------------ integers


@requires("""
    low < high: random_ expects 'from' to be less than 'to', but got from={low} >= to={high}
""")
def draw_integers(
    low: int, high: int, shape: tuple[int, ...], kind: dtypes.dtype, generator: Any,
    order: Order = None,
) -> Any:  # fmt: skip
    """Integers from `low` up to `high`, which is not among them."""
    if kind.numpy.kind in "iu":
        limits = np.iinfo(kind.numpy)
        for name, value in (("from", low), ("to - 1", high - 1)):
            if not limits.min <= value <= limits.max:
                raise RuntimeError(f"{name} is out of bounds for {dtypes.c_name(kind)}")

    def draw(source: Generator, count: int, _: Any) -> Any:
        return low + source.below(count, high - low)

    made = drawn(draw, generator, shape, DOUBLE, "randint", order)
    return cast(made, kind.numpy)


BELOW = ("int high", "int low, int high")


@creation(
    "randint",
    *(f"{limits}, ints size, *, {g}out" for limits in BELOW for g in (f"{SOURCE}, ", "")),
)
def randint(
    high: int, size: tuple[int, ...], generator: Any, low: int | None, kind: dtypes.dtype | None
) -> Any:
    """Random integers from `low` (0) up to `high`, which is left out."""
    return draw_integers(low or 0, high, check_sizes(size), kind or dtypes.int64, generator)


@creation(
    "randint_like", *as_other("input, int low, int high"), *as_other("input, Tensor high"),
    *as_other("input, int high"),
)  # fmt: skip
def randint_like(
    input: Tensor, low: int | None, high: Any, generator: Any, memory_format: Any,
    kind: dtypes.dtype,
) -> Any:  # fmt: skip
    """Random integers in the shape and dtype of a tensor."""
    limits = low or 0, int(high)
    return draw_integers(*limits, tuple(input.shape), kind, generator, order_of(input))


@creation("randperm", f"int n, *, {SOURCE}, out", "int n, *, out")
def randperm(n: int, generator: Any, kind: dtypes.dtype | None) -> Any:
    """The integers below `n` in random order."""
    check_sizes((n,))
    source = source_of(generator, "randperm")
    with source.lock:
        return cast(source.permutation(n), (kind or dtypes.int64).numpy)
