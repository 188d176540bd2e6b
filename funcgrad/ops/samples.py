"""Operands for the tests that are made from records: a few shapes, dtypes and strides each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.primitive import Sample

__all__ = ["binary", "draw", "unary"]


def draw(shape: tuple[int, ...], low: float = -2.0, high: float = 2.0, seed: int = 0) -> Any:
    """Uniform numbers in [low, high), the same in every run."""
    return np.random.default_rng([seed, *shape]).uniform(low, high, shape)


def unary(
    low: float = -2.0, high: float = 2.0, *, kinks: tuple[float, ...] = (), complex_: bool = False
) -> Callable[[], list[Sample]]:
    """Samples of an elementwise operation of one operand, smooth on (low, high)."""

    def samples() -> list[Sample]:
        middle = 0.5 * (low + high)
        out = [
            Sample((draw((3,), low, high),)),
            Sample((draw((2, 3), low, high)[:, ::-1],)),
            Sample((draw((2, 2), low, high).astype(np.float32),)),
            Sample((np.float64(middle + 0.11 * (high - low)),)),
            Sample((draw((0, 2), low, high),)),
        ]
        out += [Sample((np.array([k, middle]),), smooth=False) for k in kinks]
        if complex_:
            z = draw((3,), low, high) + 0.5j * draw((3,), low, high, 1)
            out.append(Sample((z,)))
        return out

    return samples


def binary(
    low: float = -2.0,
    high: float = 2.0,
    low2: float | None = None,
    high2: float | None = None,
    *,
    kinks: tuple[tuple[float, float], ...] = (),
    complex_: bool = False,
) -> Callable[[], list[Sample]]:
    """Samples of an elementwise operation of two operands, broadcasting among them."""
    low2 = low if low2 is None else low2
    high2 = high if high2 is None else high2

    def samples() -> list[Sample]:
        def pair(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[Any, Any]:
            return draw(a, low, high), draw(b, low2, high2, 1)

        x, y = pair((2, 3), (2, 3))
        out = [
            Sample(pair((3,), (3,))),
            Sample(pair((2, 1), (3,))),
            Sample(pair((), (2, 2))),
            Sample((x.T, y[::-1].T)),
            Sample((x.astype(np.float32), y.astype(np.float32))),
            Sample((x.astype(np.float32), y[0])),
            Sample((x[0], float(y[0, 0]))),
        ]
        out += [Sample((np.array([a]), np.array([b])), smooth=False) for a, b in kinks]
        if complex_:
            out.append(Sample((x + 0.5j * y, y - 0.3j * x)))
            out.append(Sample((x, y - 0.3j * x)))
        return out

    return samples
