"""Random tensors: new ones, and tensors filled in place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer
from funcgrad.core.types import ArrayType
from funcgrad.torch import dtypes, randomness
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.modes import modes
from funcgrad.torch.operations.common import (
    boxed,
    check_int,
    install,
    into,
    mismatch,
    named,
    shape_of,
)
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.converting import filled
from funcgrad.torch.operations.creation import like, shape_given
from funcgrad.torch.operations.data import finished, kind_given
from funcgrad.torch.operations.generator import Generator, default_generator
from funcgrad.torch.operations.promotion import content, dtype_of, wrong_type
from funcgrad.torch.operations.recorded import Flat, elementwise_refusal
from funcgrad.torch.views import Held
from funcgrad.torch.writing import check_writable, write

__all__ = [
    "bernoulli", "multinomial", "normal", "poisson", "rand", "rand_like", "randint",
    "randint_like", "randn", "randn_like", "randperm",
]  # fmt: skip

DOUBLE = np.dtype(np.float64)
WIDEST = {"float16": 1 << 11, "float32": 1 << 24, "float64": 1 << 53}

Draw = Callable[[Generator, int, np.dtype[Any]], Any]


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


def drawn(
    draw: Draw, generator: Any, shape: tuple[int, ...], kind: np.dtype[Any], function: str = "rand"
) -> Any:
    """An array of random numbers; under `vmap` what that says of randomness."""
    source = source_of(generator, function)
    if modes.stage is not None:
        return _staged(draw, source, shape, kind)

    def sample(sizes: tuple[int, ...]) -> Any:
        with source.lock, np.errstate(all="ignore"):
            return np.asarray(draw(source, math.prod(sizes), kind)).reshape(sizes)

    return randomness.draw(sample, shape)


def _staged(draw: Draw, source: Generator, shape: tuple[int, ...], kind: np.dtype[Any]) -> Any:
    """Numbers that each call of a compiled step draws anew, from the same source."""
    count = math.prod(shape)

    def sample() -> Any:
        with source.lock, np.errstate(all="ignore"):
            return np.asarray(draw(source, count, kind)).reshape(shape)

    stage, modes.stage = modes.stage, None
    try:
        made = np.asarray(draw(Generator(), 1, kind)).dtype
    finally:
        modes.stage = stage
    return stage.drawn(sample, source, ArrayType(shape, made))


def _uniform(source: Generator, count: int, kind: np.dtype[Any]) -> Any:
    if kind.kind == "c":
        return _complex(source.uniform(2 * count, _part(kind)))
    return source.uniform(count, kind)


def _part(kind: np.dtype[Any]) -> np.dtype[Any]:
    found: np.dtype[Any] = np.zeros((), kind).real.dtype
    return found


def _complex(parts: Any) -> Any:
    return parts[0::2] + 1j * parts[1::2]


def _normal(source: Generator, count: int, kind: np.dtype[Any]) -> Any:
    if kind.kind == "c":
        part = _part(kind)
        return _complex(source.normal(2 * count, part) * part.type(math.sqrt(0.5))).astype(kind)
    return source.normal(count, kind)


def _maker(name: str, draw: Draw, kernel: str) -> Any:
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
        array = drawn(draw, generator, shape, kind.numpy, name)
        return into(out, finished(array, requires_grad, device), name)

    function.__name__ = function.__qualname__ = name
    return function


rand = _maker("rand", _uniform, "check_uniform_bounds")
rand.__doc__ = "Random numbers, uniform in [0, 1)."
randn = _maker("randn", _normal, "normal_kernel_cpu")
randn.__doc__ = "Random numbers of the standard normal distribution."


def _like(name: str, make: Callable[..., Tensor]) -> Any:
    def function(
        input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
        memory_format: Any = None, generator: Generator | None = None,
    ) -> Tensor:  # fmt: skip
        x = like(name, input)
        kind = kind_given(name, dtype) or x.dtype
        return make(tuple(x.shape), dtype=kind, device=device, requires_grad=requires_grad,
                    generator=generator)  # fmt: skip

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name.removesuffix('_like')}` in the shape and dtype of a tensor."
    return function


rand_like = _like("rand_like", rand)
randn_like = _like("randn_like", randn)


# ------------------------------------------------------------------------------------ integers


def _integers(
    low: int, high: int, shape: tuple[int, ...], kind: dtypes.dtype, generator: Any
) -> Any:
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    if kind.numpy.kind in "iu":
        limits = np.iinfo(kind.numpy)
        for name, value in (("from", low), ("to - 1", high - 1)):
            if not limits.min <= value <= limits.max:
                raise RuntimeError(f"{name} is out of bounds for {dtypes.c_name(kind)}")
    made = drawn(lambda s, n, _: low + s.below(n, high - low), generator, shape, DOUBLE, "randint")
    return made.astype(kind.numpy)


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
    array = _integers(first, last, sizes, kind, generator)
    return into(out, finished(array, requires_grad, device), "randint")


def randint_like(
    input: Tensor, low: int, high: int | None = None, *, dtype: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Random integers in the shape and dtype of a tensor."""
    x = like("randint_like", input)
    limits = (0, low) if high is None else (low, high)
    kind = kind_given("randint_like", dtype) or x.dtype
    return finished(_integers(*limits, tuple(x.shape), kind, None), requires_grad)


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
    return finished(array.astype(kind.numpy), requires_grad, device)


# ------------------------------------------------------------------------------- distributions


def _check_std(std: float) -> None:
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None,
    dtype: Any = None, out: Tensor | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Random numbers of normal distributions; mean and deviation are tensors or numbers."""
    tensors = [p for p in (mean, std) if isinstance(p, Tensor)]
    if not tensors:
        _check_std(std)
        kind = kind_given("normal", dtype) or dtypes.get_default_dtype()
        array = drawn(_normal, generator, tuple(size), kind.numpy, "normal")
        array = array * kind.numpy.type(std) + kind.numpy.type(mean)
        return into(out, finished(array, requires_grad), "normal")
    shapes = [shape_of(p) for p in tensors]
    if (message := mismatch(shapes)) is not None:
        raise RuntimeError(message)
    shape = np.broadcast_shapes(*shapes)
    kind = tensors[0].dtype
    if isinstance(std, Tensor):
        if (known(std.content(), "normal()") < 0).any():
            raise RuntimeError("normal expects all elements of std >= 0.0")
    else:
        _check_std(std)
    array = drawn(_normal, generator, shape, kind.numpy, "normal")
    parts = [
        known(p.content(), "normal()") if isinstance(p, Tensor) else kind.numpy.type(p)
        for p in (mean, std)
    ]
    return into(out, box(np.asarray(array * parts[1] + parts[0], kind.numpy)), "normal")


def _tossed(p: Any, generator: Any) -> Any:
    """0 or 1 with probabilities, in their shape and dtype."""
    kind = np.asarray(p).dtype
    u = drawn(lambda s, n, k: s.uniform(n, k), generator, np.shape(p), kind, "bernoulli")
    return (u < p).astype(kind)


BERNOULLI = Flat("bernoulli", lambda x, made: made.array)


def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """0 or 1 with the probabilities given; the derivative is 0."""
    x = content(input, "bernoulli")
    if dtype_of(x).kind != "f" and p is None:
        part = "self" if dtype_of(x).kind == "c" else "p"
        raise elementwise_refusal(f"bernoulli_tensor_cpu_{part}_", x)
    if p is not None:
        made = _tossed(np.full(shape_of(x), p), generator).astype(dtype_of(x))
    else:
        values = known(x, "bernoulli()")
        if not ((values >= 0) & (values <= 1)).all():
            raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
        made = _tossed(values, generator)
    result = boxed(BERNOULLI(x, made=Held(made)), named("BernoulliBackward0"))
    return into(out, result, "bernoulli")


install(bernoulli=bernoulli)


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Positions in rows of weights, drawn with the probabilities these have."""
    weights = known(content(input, "multinomial"), "multinomial()")
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if replacement:
        return box(_with_replacement(weights, num_samples, generator))
    race = drawn(_exponential(1.0), generator, weights.shape, weights.dtype, "multinomial")
    with np.errstate(all="ignore"):
        order = np.argsort(-(weights / race.astype(weights.dtype)), axis=-1, kind="stable")
    return box(np.ascontiguousarray(order[..., :num_samples]))


def _with_replacement(weights: Any, count: int, generator: Any) -> Any:
    rows = np.atleast_2d(weights).astype(float)
    sums = np.cumsum(rows, -1)
    sums /= sums[:, -1:]
    u = drawn(_uniform, generator, (len(rows), count), DOUBLE, "multinomial")
    found = np.stack([np.searchsorted(s, v, "left") for s, v in zip(sums, u, strict=True)])
    return found.reshape((*weights.shape[:-1], count))


def poisson(input: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Random numbers of Poisson distributions with the rates given."""
    rates = known(content(input, "poisson"), "poisson()")
    if (rates < 0).any():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    source = source_of(generator, "poisson")
    with source.lock:
        numpy = np.random.default_rng(source.words(4))
    return box(np.asarray(numpy.poisson(rates)).astype(rates.dtype))


# ------------------------------------------------------------------------------------- in place


def _written(self: Tensor, array: Any, name: str) -> Tensor:
    check_writable(self)
    given: Any = array if isinstance(array, Tracer) else np.asarray(array)
    made = box(given.astype(self.dtype.numpy))
    return write(self, filled(self, made, name, (0,))._t)


def _check_floating(self: Tensor, kernel: str) -> None:
    if not self.dtype.is_floating_point and not self.dtype.is_complex:
        raise elementwise_refusal(kernel, self.content())


def uniform_(
    self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Generator | None = None,
    **more: Any,
) -> Tensor:  # fmt: skip
    """Fill with numbers uniform in [from, to)."""
    low = more.get("from", from_)
    _check_floating(self, "check_uniform_bounds")
    if low > to:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={to:g}"
        )
    kind = self.dtype.numpy
    check_writable(self)
    u = drawn(_uniform, generator, shape_of(self), kind, "uniform_")
    return _written(self, u * kind.type(to - low) + kind.type(low), "UniformBackward0")


def normal_(
    self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers of a normal distribution."""
    _check_std(std)
    _check_floating(self, "normal_kernel_cpu")
    kind = self.dtype.numpy
    check_writable(self)
    z = drawn(_normal, generator, shape_of(self), kind, "normal_")
    return _written(self, z * kind.type(std) + kind.type(mean), "NormalBackward0")


def random_(self: Tensor, *limits: int, generator: Generator | None = None, **more: Any) -> Tensor:
    """Fill with integers: below `to`, of [from, to), or all that the dtype can tell apart."""
    low, high = more.get("from"), more.get("to")
    if len(limits) == 1:
        high = limits[0]
    elif limits:
        low, high = limits
    check_writable(self)
    name = "RandomBackward2" if high is None else "RandomBackward1" if low is None else (
        "RandomBackward0")  # fmt: skip
    if high is None and low is None:
        return _written(self, _any_integers(self, generator), name)
    found = _integers(low or 0, int(high), shape_of(self), self.dtype, generator)  # type: ignore[arg-type]
    return _written(self, found, name)


def _any_integers(self: Tensor, generator: Any) -> Any:
    kind = self.dtype.numpy
    if kind.kind == "f":
        most = WIDEST[kind.name] + 1
    elif kind.kind == "b":
        most = 2
    else:
        most = int(np.iinfo(kind).max) + 1
    if kind.itemsize == 8:
        return drawn(lambda s, n, _: s.long_words(n) % np.uint64(most), generator, shape_of(self),
                     kind, "random_")  # fmt: skip
    return drawn(lambda s, n, _: s.words(n) % np.uint64(most), generator, shape_of(self), kind,
                 "random_")  # fmt: skip


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with 0 or 1 with a probability."""
    if isinstance(p, Tensor):
        values = np.broadcast_to(known(p.content(), "bernoulli_()"), shape_of(self))
        return _written(self, _tossed(values, generator), "BernoulliBackward1")
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    check_writable(self)
    tossed = _tossed(np.full(shape_of(self), float(p)), generator)
    return _written(self, tossed, "BernoulliBackward2")


def _exponential(rate: float) -> Draw:
    def draw(source: Generator, count: int, kind: np.dtype[Any]) -> Any:
        return -np.log1p(-source.uniform(count, DOUBLE)) / rate

    return draw


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers of an exponential distribution."""
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    _check_floating(self, "exponential_cpu")
    return _filled_by(self, _exponential(lambd), generator, "ExponentialBackward0")


def _filled_by(self: Tensor, draw: Draw, generator: Any, node: str) -> Tensor:
    check_writable(self)
    array = drawn(draw, generator, shape_of(self), self.dtype.numpy, node)
    return _written(self, array, node)


def log_normal_(
    self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None
) -> Tensor:
    """Fill with exponentials of numbers of a normal distribution."""
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    _check_floating(self, "log_normal_cpu")

    def draw(source: Generator, count: int, kind: np.dtype[Any]) -> Any:
        z = np.array([source._one_normal() for _ in range(count)])
        return np.exp(z * std + mean)

    return _filled_by(self, draw, generator, "LogNormalBackward0")


def cauchy_(
    self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None
) -> Tensor:
    """Fill with numbers of a Cauchy distribution."""
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    _check_floating(self, "cauchy_cpu")

    def draw(source: Generator, count: int, kind: np.dtype[Any]) -> Any:
        return median + sigma * np.tan(np.pi * (source.uniform(count, DOUBLE) - 0.5))

    return _filled_by(self, draw, generator, "CauchyBackward0")


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with how often one tosses until the first success."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")

    def draw(source: Generator, count: int, kind: np.dtype[Any]) -> Any:
        return np.ceil(np.log(source.uniform(count, DOUBLE)) / np.log1p(-p))

    return _filled_by(self, draw, generator, "GeometricBackward0")


install(
    uniform_=uniform_, normal_=normal_, random_=random_, bernoulli_=bernoulli_,
    exponential_=exponential_, log_normal_=log_normal_, cauchy_=cauchy_, geometric_=geometric_,
    multinomial=multinomial,
)  # fmt: skip
