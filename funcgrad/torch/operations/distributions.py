"""Draws from distributions whose parameters are tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.ops.arithmetic import cast, less
from funcgrad.ops.shape import broadcast_to
from funcgrad.torch import dtypes, randomness
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.operations import rejection
from funcgrad.torch.operations.common import boxed, mismatch, shape_of
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.creation import creation
from funcgrad.torch.operations.generator import Generator
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.recorded import Flat, elementwise_refusal
from funcgrad.torch.operations.requirements import requirements, requires
from funcgrad.torch.operations.sampling import (
    DOUBLE,
    Draw,
    draw_normal,
    draw_uniform,
    drawn,
    drawn_given,
)
from funcgrad.torch.views import Held

__all__ = [
    "bernoulli", "binomial", "multinomial", "normal", "poisson",
]  # fmt: skip


check_std = requirements("std", """
    std >= 0: normal expects std >= 0.0, but found std {std:g}
""")  # fmt: skip


SOURCE = "Generator generator=None"


@creation(
    "normal", f"float mean, float std, ints size, *, {SOURCE}, out",
    plain=(
        f"Tensor mean, Tensor std, *, {SOURCE}, out", f"Tensor mean, float std=1, *, {SOURCE}, out",
        f"float mean, Tensor std, *, {SOURCE}, out",
    ),
)  # fmt: skip
def normal(mean: Any, std: Any, generator: Any, size: Any, given: dtypes.dtype | None) -> Any:
    """Random numbers of normal distributions; mean and deviation are tensors or numbers."""
    tensors = [p for p in (mean, std) if isinstance(p, Tensor)]
    if not tensors:
        check_std(std)
        kind = given or dtypes.get_default_dtype()
        array = drawn(draw_normal, generator, tuple(size), kind.numpy, "normal")
        return array * kind.numpy.type(std) + kind.numpy.type(mean)
    shapes = [shape_of(p) for p in tensors]
    if (message := mismatch(shapes)) is not None:
        raise RuntimeError(message)
    shape = np.broadcast_shapes(*shapes)
    kind = tensors[0].dtype
    if randomness.levels.found:
        return _normal_of_examples(mean, std, shape, kind, generator)
    if isinstance(std, Tensor):
        if (known(std.content(), "normal()") < 0).any():
            raise RuntimeError("normal expects all elements of std >= 0.0")
    else:
        check_std(std)
    array = drawn(draw_normal, generator, shape, kind.numpy, "normal")
    parts = [
        known(p.content(), "normal()") if isinstance(p, Tensor) else kind.numpy.type(p)
        for p in (mean, std)
    ]
    return np.asarray(array * parts[1] + parts[0], kind.numpy)


def _normal_of_examples(
    mean: Any, std: Any, shape: tuple[int, ...], kind: Any, generator: Any
) -> Any:
    """Under `vmap`: each example has its parameters."""

    def sample(means: Any, deviations: Any) -> Any:
        if (deviations < 0).any():
            raise RuntimeError("normal expects all elements of std >= 0.0")
        z = drawn(draw_normal, generator, means.shape, kind.numpy, "normal")
        return np.asarray(z * deviations + means, kind.numpy)

    given = [
        broadcast_to(x.content() if isinstance(x, Tensor) else kind.numpy.type(x), shape)
        for x in (mean, std)
    ]
    return drawn_given(sample, "normal()", *given)


def toss(p: Any, generator: Any, order: Any = None) -> Any:
    """0 or 1 with probabilities, in their shape and dtype."""
    kind = np.asarray(p).dtype
    u = drawn(lambda s, n, k: s.uniform(n, k), generator, np.shape(p), kind, "bernoulli", order)
    return cast(less(u, p), kind)


BERNOULLI = Flat("bernoulli", lambda x, made: made.array)
POISSON = Flat("poisson", lambda x, made: made.array)
BINOMIAL = Flat("binomial", lambda n, p, made: made.array)


BERNOULLI_NODE, POISSON_NODE = node("Bernoulli"), node("Poisson")
BINOMIAL_NODE = node("Binomial")


@operation("bernoulli", f"input, *, {SOURCE}, out | input, float p, *, {SOURCE}", variants="method")
def bernoulli(input: Tensor, generator: Any, p: float | None) -> Tensor:
    """0 or 1 with the probabilities given; the derivative is 0."""
    x = input.content()
    if dtype_of(x).kind != "f" and p is None:
        part = "self" if dtype_of(x).kind == "c" else "p"
        raise elementwise_refusal(f"bernoulli_tensor_cpu_{part}_", x)
    if p is not None:
        made = cast(toss(np.full(shape_of(x), p), generator), dtype_of(x))
    else:

        def sample(values: Any) -> Any:
            if not ((values >= 0) & (values <= 1)).all():
                raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
            return toss(values, generator)

        made = drawn_given(sample, "bernoulli()", x)
    return boxed(BERNOULLI(x, made=Held(made)), BERNOULLI_NODE)


def draw_exponential(rate: float) -> Draw:
    """Numbers of the exponential distribution, by inversion."""

    def draw(source: Generator, count: int, kind: np.dtype[Any]) -> Any:
        return -np.log1p(-source.uniform(count, DOUBLE)) / rate

    return draw


def draw_cauchy(median: float, sigma: float) -> Draw:
    """Numbers of a Cauchy distribution, by inversion."""

    def draw(source: Generator, count: int, kind: np.dtype[Any]) -> Any:
        return median + sigma * np.tan(np.pi * (source.uniform(count, DOUBLE) - 0.5))

    return draw


@operation(
    "multinomial", f"input, int num_samples, bool replacement=False, *, {SOURCE}, out",
    variants="method",
)  # fmt: skip
@requires("rank(input) in (1, 2): prob_dist must be 1 or 2 dim")
def multinomial(input: Tensor, num_samples: int, replacement: bool, generator: Any) -> Tensor:
    """Positions in rows of weights, drawn with the probabilities these have."""
    weights = input.content()

    def sample(rows: Any) -> Any:
        flat = rows.reshape(-1, rows.shape[-1])
        found = _positions(flat, num_samples, replacement, generator)
        return found.reshape((*rows.shape[:-1], num_samples))

    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > shape_of(weights)[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    return box(drawn_given(sample, "multinomial()", weights))


def _positions(weights: Any, num_samples: int, replacement: bool, generator: Any) -> Any:
    """The places drawn in each row."""
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if replacement and num_samples > 1:
        return _with_replacement(weights, num_samples, generator)
    race = drawn(draw_exponential(1.0), generator, weights.shape, weights.dtype, "multinomial")
    with np.errstate(all="ignore"):
        order = np.argsort(-(weights / race.astype(weights.dtype)), axis=-1, kind="stable")
    return order[..., :num_samples]


def _with_replacement(weights: Any, count: int, generator: Any) -> Any:
    rows = np.atleast_2d(weights).astype(float)
    sums = np.cumsum(rows, -1)
    sums /= sums[:, -1:]
    u = drawn(draw_uniform, generator, (len(rows), count), DOUBLE, "multinomial")
    found = np.stack([np.searchsorted(s, v, "left") for s, v in zip(sums, u, strict=True)])
    return found.reshape((*weights.shape[:-1], count))


_check_rates = requirements("values", """
    not (values < 0).any(): invalid Poisson rate, expected rate to be non-negative
""")  # fmt: skip


@operation("poisson", f"input, {SOURCE}", variants="")
def poisson(input: Tensor, generator: Any) -> Tensor:
    """Random numbers of Poisson distributions with the rates given; the derivative is 0."""
    x = input.content()
    if dtype_of(x).kind != "f":
        raise elementwise_refusal("poisson_cpu", x)
    made = rejection.drawn(rejection.poisson, generator, "poisson()", x, check=_check_rates)
    return boxed(POISSON(x, made=Held(made)), POISSON_NODE)


@operation("binomial", f"count, prob, {SOURCE}", variants="")
def binomial(count: Tensor, prob: Tensor, generator: Any) -> Tensor:
    """How many of `count` trials of probability `prob` succeed; the derivative is 0."""
    n, p = count.content(), prob.content()
    shape = np.broadcast_shapes(shape_of(n), shape_of(p))
    n, p = broadcast_to(n, shape), broadcast_to(p, shape)
    if dtype_of(n).kind != "f":
        raise elementwise_refusal("binomial_cpu", n)
    if dtype_of(n) != dtype_of(p):
        raise RuntimeError("Found dtype mismatch in binomial: count and prob have one dtype")
    made = rejection.drawn(rejection.binomial, generator, "binomial()", n, p)
    return boxed(BINOMIAL(n, p, made=Held(made)), BINOMIAL_NODE)
