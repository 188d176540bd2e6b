"""Random numbers written into a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import Tracer
from funcgrad.ops.arithmetic import cast, greater_equal, where
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.operations.common import HALF, SINGLE, shape_of
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.converting import filled
from funcgrad.torch.operations.distributions import (
    check_std,
    draw_cauchy,
    draw_exponential,
    toss,
)
from funcgrad.torch.operations.generator import Generator
from funcgrad.torch.operations.record import method_in_place
from funcgrad.torch.operations.recorded import elementwise_refusal
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.operations.sampling import (
    DOUBLE,
    WIDEST,
    Draw,
    draw_integers,
    draw_normal,
    draw_normal_one_by_one,
    draw_uniform,
    drawn,
    order_of,
)
from funcgrad.torch.writing import write

SOURCE = "*, Generator generator=None"


def _written(self: Tensor, array: Any, name: str) -> Tensor:
    given: Any = array if isinstance(array, Tracer) else np.asarray(array)
    made = box(cast(given, self.dtype.numpy))
    return write(self, filled(self, made, name, (0,))._t)


def _check_floating(self: Tensor, kernel: str) -> None:
    if not self.dtype.is_floating_point and not self.dtype.is_complex:
        raise elementwise_refusal(kernel, self.content())


@method_in_place("uniform_", f"input, float from=0.0, float to=1.0, {SOURCE}")
def uniform_(self: Tensor, low: float, to: float, generator: Any) -> Tensor:
    """Fill with numbers uniform in [from, to)."""
    _check_floating(self, "check_uniform_bounds")
    if low > to:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={to:g}"
        )
    kind = self.dtype.numpy
    wide = SINGLE if kind == HALF else kind
    u = drawn(draw_uniform, generator, shape_of(self), wide, "uniform_", order_of(self))
    made = u * wide.type(to - low) + wide.type(low)
    if kind == HALF:  # what is rounded to the end begins anew
        made = cast(made, kind)
        made = where(greater_equal(made, kind.type(to)), kind.type(low), made)
    return _written(self, made, "UniformBackward0")


@method_in_place("normal_", f"input, float mean=0.0, float std=1.0, {SOURCE}")
def normal_(self: Tensor, mean: float, std: float, generator: Any) -> Tensor:
    """Fill with numbers of a normal distribution."""
    check_std(std)
    _check_floating(self, "normal_kernel_cpu")
    kind = self.dtype.numpy
    draw = draw_normal if self.is_contiguous() else draw_normal_one_by_one
    z = drawn(draw, generator, shape_of(self), kind, "normal_", order_of(self))
    return _written(self, z * kind.type(std) + kind.type(mean), "NormalBackward0")


@method_in_place(
    "random_", f"input, {SOURCE} | input, int from, int to, {SOURCE} | input, int to, {SOURCE}"
)
def random_(self: Tensor, generator: Any, low: int | None, high: int | None) -> Tensor:
    """Fill with integers: below `to`, of [from, to), or all that the dtype can tell apart."""
    if high is None:
        return _written(self, _any_integers(self, generator), "RandomBackward2")
    order = order_of(self)
    found = draw_integers(low or 0, high, shape_of(self), self.dtype, generator, order)
    return _written(self, found, "RandomBackward1" if low is None else "RandomBackward0")


def _any_integers(self: Tensor, generator: Any) -> Any:
    kind = self.dtype.numpy
    if kind.kind == "f":
        most = WIDEST[kind] + 1
    elif kind.kind == "b":
        most = 2
    else:
        most = int(np.iinfo(kind).max) + 1

    def draw(source: Generator, count: int, _: Any) -> Any:
        words = source.long_words if kind.itemsize == 8 else source.words
        return words(count) % np.uint64(most)

    return drawn(draw, generator, shape_of(self), kind, "random_", order_of(self))


@method_in_place("bernoulli_", f"input, Tensor p, {SOURCE} | input, float p=0.5, {SOURCE}")
def bernoulli_(self: Tensor, p: Any, generator: Any) -> Tensor:
    """Fill with 0 or 1 with a probability."""
    if isinstance(p, Tensor):
        values = np.broadcast_to(known(p.content(), "bernoulli_()"), shape_of(self))
        return _written(self, toss(values, generator, order_of(self)), "BernoulliBackward1")
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    tossed = toss(np.full(shape_of(self), float(p)), generator, order_of(self))
    return _written(self, tossed, "BernoulliBackward2")


@method_in_place("exponential_", f"input, float lambd=1.0, {SOURCE}")
@requires("lambd > 0: exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
def exponential_(self: Tensor, lambd: float, generator: Any) -> Tensor:
    """Fill with numbers of an exponential distribution."""
    _check_floating(self, "exponential_cpu")
    return _filled_by(self, draw_exponential(lambd), generator, "ExponentialBackward0")


def _filled_by(self: Tensor, draw: Draw, generator: Any, node: str) -> Tensor:
    array = drawn(draw, generator, shape_of(self), self.dtype.numpy, node, order_of(self))
    return _written(self, array, node)


@method_in_place("log_normal_", f"input, float mean=1.0, float std=2.0, {SOURCE}")
@requires("std > 0: log_normal_ expects std > 0.0, but found std={std:g}")
def log_normal_(self: Tensor, mean: float, std: float, generator: Any) -> Tensor:
    """Fill with exponentials of numbers of a normal distribution."""
    _check_floating(self, "log_normal_cpu")

    def draw(source: Generator, count: int, kind: np.dtype[Any]) -> Any:
        z = np.array([source._one_normal() for _ in range(count)])
        return np.exp(z * std + mean)

    return _filled_by(self, draw, generator, "LogNormalBackward0")


@method_in_place("cauchy_", f"input, float median=0.0, float sigma=1.0, {SOURCE}")
@requires("sigma > 0: cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
def cauchy_(self: Tensor, median: float, sigma: float, generator: Any) -> Tensor:
    """Fill with numbers of a Cauchy distribution."""
    _check_floating(self, "cauchy_cpu")
    return _filled_by(self, draw_cauchy(median, sigma), generator, "CauchyBackward0")


@method_in_place("geometric_", f"input, float p, {SOURCE}")
@requires("0 < p < 1: geometric_ expects p to be in (0, 1), but got p={p:g}")
def geometric_(self: Tensor, p: float, generator: Any) -> Tensor:
    """Fill with how often one tosses until the first success."""

    def draw(source: Generator, count: int, kind: np.dtype[Any]) -> Any:
        return np.ceil(np.log(source.uniform(count, DOUBLE)) / np.log1p(-p))

    return _filled_by(self, draw, generator, "GeometricBackward0")
