"""New random tensors: uniform and normal numbers, integers, permutations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops.arithmetic import cast
from funcgrad.ops.shape import broadcast_to
from funcgrad.torch import dtypes, randomness
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.modes import modes
from funcgrad.torch.operations.common import check_int, into
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.creation import like, memory_order, shape_given
from funcgrad.torch.operations.data import finished, kind_given
from funcgrad.torch.operations.generator import Generator, default_generator
from funcgrad.torch.operations.promotion import wrong_type
from funcgrad.transforms.batch import BatchTracer

__all__ = [
    "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm",
]  # fmt: skip

DOUBLE = np.dtype(np.float64)
WIDEST = {"float16": 1 << 11, "float32": 1 << 24, "float64": 1 << 53}

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
    order = tuple(memory_order(x.stride()))
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


def _maker(name: str, draw: Draw, kernel: str, order: Order = None) -> Any:
    def function(
        *size: Any, generator: Generator | None = None, dtype: Any = None,
        requires_grad: bool = False, device: Any = None, out: Tensor | None = None,
        layout: Any = None, pin_memory: bool = False, **more: Any,
    ) -> Tensor:  # fmt: skip
        kind = kind_given(name, dtype) or dtypes.get_default_dtype()
        if not kind.is_floating_point and not kind.is_complex:
            raise NotImplementedError(
                f"\"{kernel}\" not implemented for '{dtypes.scalar_name(kind)}'"
            )
        shape = shape_given(name, size, more.get("size"))
        array = drawn(draw, generator, shape, kind.numpy, name, order)
        return into(out, finished(array, requires_grad, device, name), name)

    function.__name__ = function.__qualname__ = name
    return function


UNIFORM, NORMAL = "check_uniform_bounds", "normal_kernel_cpu"
rand = _maker("rand", draw_uniform, UNIFORM)
rand.__doc__ = "Random numbers, uniform in [0, 1)."
randn = _maker("randn", draw_normal, NORMAL)
randn.__doc__ = "Random numbers of the standard normal distribution."


def _like(name: str, draw: Draw, scattered: Draw, kernel: str) -> Any:
    def function(
        input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
        memory_format: Any = None, generator: Generator | None = None,
    ) -> Tensor:  # fmt: skip
        x = like(name, input)
        kind = kind_given(name, dtype) or x.dtype
        order = order_of(x)
        make = _maker(name[:-5], draw if order is None else scattered, kernel, order)
        made: Tensor = make(tuple(x.shape), dtype=kind, device=device,
                            requires_grad=requires_grad, generator=generator)  # fmt: skip
        return made

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name[:-5]}` in the shape and dtype of a tensor."
    return function


rand_like = _like("rand_like", draw_uniform, draw_uniform, UNIFORM)
randn_like = _like("randn_like", draw_normal, draw_normal_one_by_one, NORMAL)


# ------------------------------------------------------------------------------------ integers


def draw_integers(
    low: int, high: int, shape: tuple[int, ...], kind: dtypes.dtype, generator: Any,
    order: Order = None,
) -> Any:  # fmt: skip
    """Integers from `low` up to `high`, which is not among them."""
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    if kind.numpy.kind in "iu":
        limits = np.iinfo(kind.numpy)
        for name, value in (("from", low), ("to - 1", high - 1)):
            if not limits.min <= value <= limits.max:
                raise RuntimeError(f"{name} is out of bounds for {dtypes.c_name(kind)}")

    def draw(source: Generator, count: int, _: Any) -> Any:
        return low + source.below(count, high - low)

    made = drawn(draw, generator, shape, DOUBLE, "randint", order)
    return cast(made, kind.numpy)


def _randint_arguments(
    args: tuple[Any, ...], low: Any, high: Any, size: Any
) -> tuple[int, int, tuple[int, ...]]:
    """The limits and the shape, from PyTorch's ways to give them."""
    given = list(args)
    if size is None and len(given) > (1 if low is high is None else 0):
        size = given.pop()
    if len(given) == 1:
        low, high = (low, given[0]) if high is None else (given[0], high)
    elif given:
        low, high = given[0], given[1]
    if size is None or high is None or len(given) > 2:
        shown = ", ".join(type(a).__name__ for a in args)
        raise TypeError(
            f"randint() received an invalid combination of arguments - got ({shown}), but expected "
            "one of:\n * (int high, tuple of ints size)\n * (int low, int high, tuple of ints "
            "size)\n"
        )
    low = 0 if low is None else low
    for name, limit in (("low", low), ("high", high)):
        if isinstance(limit, float) or not hasattr(limit, "__index__"):
            wrong_type("randint", name, 1 if name == "high" else 2, "int", limit)
    if not isinstance(size, (tuple, list)):
        wrong_type("randint", "size", 2, "tuple of ints", size)
    return int(low), int(high), shape_given("randint", (size,), position=2)


def randint(
    *args: Any, low: int | None = None, high: int | None = None, size: Any = None,
    generator: Generator | None = None, dtype: Any = None, requires_grad: bool = False,
    device: Any = None, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Random integers from `low` (0) up to `high`, which is left out."""
    first, last, sizes = _randint_arguments(args, low, high, size)
    kind = kind_given("randint", dtype) or dtypes.int64
    array = draw_integers(first, last, sizes, kind, generator)
    return into(out, finished(array, requires_grad, device, "randint"), "randint")


def randint_like(
    input: Tensor, low: int, high: int | None = None, *, dtype: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Random integers in the shape and dtype of a tensor."""
    x = like("randint_like", input)
    limits = (0, low) if high is None else (low, high)
    kind = kind_given("randint_like", dtype) or x.dtype
    return finished(draw_integers(*limits, tuple(x.shape), kind, None, order_of(x)), requires_grad)


def randperm(
    n: int, *, generator: Generator | None = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The integers below `n` in random order."""
    if check_int("randperm", "n", 1, n) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    kind = kind_given("randperm", dtype) or dtypes.int64
    source = source_of(generator, "randperm")
    with source.lock:
        array = source.permutation(n)
    return finished(cast(array, kind.numpy), requires_grad, device)
