"""Random numbers under `vmap`: refused, the same for all examples, or different for each."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from funcgrad.core.types import Array
from funcgrad.transforms.batch import Batch, BatchTracer

__all__ = ["draw", "mapped", "randomness_of"]


class _Levels(threading.local):
    """The maps that run in this thread, the outermost first, and what each says of randomness."""

    found: tuple[tuple[Batch, str], ...] = ()


levels = _Levels()


@contextlib.contextmanager
def mapped(trace: Batch, randomness: str) -> Iterator[None]:
    """While a map runs."""
    before, levels.found = levels.found, (*levels.found, (trace, randomness))
    try:
        yield
    finally:
        levels.found = before


def randomness_of(trace: Batch) -> str:
    """What the map of a trace says of randomness."""
    return next((kind for t, kind in levels.found if t is trace), "error")


def draw(sample: Callable[[tuple[int, ...]], Any], shape: Sequence[int]) -> Array:
    """Random numbers of a shape: `sample(shape)`, under `vmap` with the dimensions it asks for."""
    if not levels.found:
        return sample(tuple(shape))
    if any(kind == "error" for _, kind in levels.found):
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the "
            "'same' or 'different' randomness flags on vmap or perform the randomness operation "
            "out of vmap"
        )
    different = [trace for trace, kind in levels.found if kind == "different"]
    out = sample((*(trace.size for trace in different), *shape))
    for trace in different:
        out = BatchTracer(out, trace)
    return out
