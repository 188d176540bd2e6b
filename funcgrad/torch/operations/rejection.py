"""Draws by rejection, one element after the other, in the order of PyTorch's CPU kernels.

How many uniform numbers an element takes depends on what is drawn; so that a seed gives PyTorch's
numbers, the methods are its own, in its precision: Marsaglia and Tsang 2000 (gamma), Hörmann 1993
(Poisson, binomial).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from funcgrad.torch.operations.generator import Generator
from funcgrad.torch.operations.sampling import drawn_given, source_of

__all__ = ["binomial", "dirichlet", "drawn", "gamma", "poisson"]

WIDE = np.dtype(np.float64)
THIRD = float(np.float32(1 / 3))  # PyTorch's constants of single precision
SQUEEZE = float(np.float32(0.0331))


def drawn(
    draw: Callable[..., Any], generator: Any, what: str, *parameters: Any,
    check: Callable[[Any], None] | None = None,
) -> Any:  # fmt: skip
    """An array of draws with the parameters of each, which have one shape."""
    source = source_of(generator, what.removesuffix("()"))

    def sample(*arrays: Any) -> Any:
        if check is not None:
            check(arrays[0])
        flat = [np.ascontiguousarray(x).reshape(-1) for x in arrays]
        with source.lock, np.errstate(all="ignore"), Stream(source) as stream:
            found = draw(stream, arrays[0], *flat)
        return found.reshape(arrays[0].shape)

    return drawn_given(sample, what, *parameters)


class Stream:
    """The numbers of a source, one at a time; the source ends where the last one was taken."""

    BLOCK = 512

    def __init__(self, source: Generator) -> None:
        self.source = source

    def __enter__(self) -> Stream:
        self.before, self.taken = self.source.bits.state, 0
        self.block: Iterator[float] = iter(())
        return self

    def __exit__(self, *_: Any) -> None:
        self.source.bits.state = self.before
        if self.taken:
            self.source.words(2 * self.taken)

    def uniform(self) -> float:
        """A number of [0, 1)."""
        self.taken += 1
        for found in self.block:
            return found
        self.block = iter(self.source.uniform(self.BLOCK, WIDE).tolist())
        return next(self.block)

    def normal(self) -> float:
        """A number of the standard normal distribution; they come in pairs."""
        if self.source.spare is not None:
            found, self.source.spare = self.source.spare, None
            return found
        angle = 2 * math.pi * self.uniform()
        radius = math.sqrt(-2 * math.log1p(-self.uniform()))
        self.source.spare = radius * math.sin(angle)
        return radius * math.cos(angle)


# ------------------------------------------------------------------------------------------ gamma


def gamma(stream: Stream, like: Any, shapes: Any) -> Any:
    """Draws of gamma distributions of rate 1."""
    kind = like.dtype.type
    least = float(np.finfo(kind).tiny)
    made = [max(least, float(kind(_gamma(stream, a, kind)))) for a in shapes.tolist()]
    return np.array(made, kind)


def dirichlet(stream: Stream, like: Any, shapes: Any) -> Any:
    """Draws of Dirichlet distributions: gamma draws in double precision, over their sums."""
    kind, wide = like.dtype.type, np.float64
    limits = np.finfo(kind)
    least = float(np.finfo(wide).tiny)
    made = [max(least, _gamma(stream, a, wide)) for a in shapes.tolist()]
    rows = np.array(made).reshape(like.shape)
    found = (rows / rows.sum(-1, keepdims=True)).astype(kind)
    return np.clip(found, limits.tiny, np.nextafter(kind(1), kind(0)))


def _gamma(stream: Stream, shape: float, kind: Any) -> float:
    scale = 1.0
    if shape < 1:
        if shape == 0:
            return 0.0
        scale = (1 - stream.uniform()) ** float(kind(1) / kind(shape))
        shape = float(kind(shape) + kind(1))
    d = float(kind(shape) - kind(THIRD))
    c = 1 / math.sqrt(9 * d)
    while True:
        x = stream.normal()
        y = 1 + c * x
        while y <= 0:
            x = stream.normal()
            y = 1 + c * x
        v = y * y * y
        u = 1 - stream.uniform()
        xx = x * x
        if u < 1 - SQUEEZE * xx * xx or math.log(u) < 0.5 * xx + d * (1 - v + math.log(v)):
            return scale * d * v


# ---------------------------------------------------------------------------------------- Poisson


def poisson(stream: Stream, like: Any, rates: Any) -> Any:
    """Draws of Poisson distributions."""
    return np.array([_poisson(stream, r) for r in rates.tolist()], like.dtype)


def _poisson(stream: Stream, rate: float) -> float:
    if rate >= 10:
        return _poisson_far(stream, rate)
    if rate == 0:
        return 0
    least, product, found = math.exp(-rate), 1.0, 0
    while True:
        product *= stream.uniform()
        if not product > least:
            return found
        found += 1


def _poisson_far(stream: Stream, rate: float) -> float:
    if not rate < 1e18:
        return math.nan if math.isnan(rate) else rate
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    tall = math.log(1.1239 + 1.1328 / (b - 3.4))
    inner = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = stream.uniform() - 0.5
        v = stream.uniform()
        near = 0.5 - abs(u)
        k = math.floor((2 * a / near + b) * u + rate + 0.43) if near else -1
        if near >= 0.07 and v <= inner:
            return k
        if k < 0 or (near < 0.013 and v > near):
            continue
        height = (math.log(v) if v else -math.inf) + tall - math.log(a / (near * near) + b)
        if height <= -rate + k * log_rate - math.lgamma(k + 1.0):
            return k


# --------------------------------------------------------------------------------------- binomial


def binomial(stream: Stream, like: Any, counts: Any, probs: Any) -> Any:
    """Draws of binomial distributions."""
    pairs = zip(counts.tolist(), probs.tolist(), strict=True)
    return np.array([_binomial(stream, n, p) for n, p in pairs], like.dtype)


def _binomial(stream: Stream, count: float, prob: float) -> float:
    if count <= 0 or prob <= 0:
        return 0
    if prob >= 1:
        return count
    if prob > 0.5:
        return count - _binomial(stream, count, 1 - prob)
    if math.isnan(prob):
        return math.nan
    method = _binomial_far if count * prob >= 10 else _binomial_near
    return method(stream, count, prob)


def _binomial_near(stream: Stream, count: float, prob: float) -> float:
    """Successes are geometric numbers apart."""
    log, total, found = math.log1p(-prob), 0.0, 0
    while True:
        u = stream.uniform()
        total += math.ceil(math.log(u) / log) if u else math.inf
        if total > count:
            return found
        found += 1


def _binomial_far(stream: Stream, count: float, prob: float) -> float:
    deviation = math.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    middle, inner = count * prob + 0.5, 0.92 - 4.2 / b
    odds = prob / (1 - prob)
    tall = (2.83 + 5.1 / b) * deviation
    m = math.floor((count + 1) * prob)
    while True:
        u = stream.uniform() - 0.5
        v = stream.uniform()
        near = 0.5 - abs(u)
        k = math.floor((2 * a / near + b) * u + middle) if near else -1
        if k < 0 or k > count:
            continue
        if near >= 0.07 and v <= inner:
            return k
        v = math.log(v * tall / (a / (near * near) + b)) if v else -math.inf
        highest = (
            (m + 0.5) * math.log((m + 1) / (odds * (count - m + 1)))
            + (count + 1) * math.log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + _stirling(m) + _stirling(count - m) - _stirling(k) - _stirling(count - k)
        )  # fmt: skip
        if v <= highest:
            return k


TAILS = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
    0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
    0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _stirling(k: float) -> float:
    """log k! less Stirling's formula."""
    if k <= 9:
        return TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
