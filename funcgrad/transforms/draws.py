"""Random numbers that a function draws while it is traced: they would be constants of its graph.

NumPy's global state, Python's, and the generators that the function can reach are looked at before
and after. A generator that is made inside the function, or comes as a static argument, is not seen.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.errors import located

__all__ = ["GENERATORS", "Draws", "warn"]

GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)


class Draws:
    """The states of the sources of random numbers when it was made."""

    def __init__(self, generators: Sequence[Any]) -> None:
        self.generators = tuple(generators)
        self.states = self._now()

    def _now(self) -> list[Any]:
        own = [np.random.get_state(legacy=False), random.getstate()]
        return [*map(_comparable, own), *(_comparable(_state(g)) for g in self.generators)]

    def happened(self) -> bool:
        return self._now() != self.states


def warn(name: str) -> None:
    """Say that the numbers are drawn anew at every call, at the price of tracing anew."""
    warnings.warn(
        located(
            f"jit of {name}: random numbers were drawn while the function was traced; so that "
            "every call draws its own, the function is traced anew at every call; draw outside "
            "and pass the numbers as an argument"
        ),
        RuntimeWarning,
        stacklevel=2,
    )


def _state(g: Any) -> Any:
    if isinstance(g, random.Random):
        return g.getstate()
    if isinstance(g, np.random.RandomState):
        return g.get_state(legacy=False)
    return (g.bit_generator if isinstance(g, np.random.Generator) else g).state


def _comparable(state: Any) -> Any:
    if isinstance(state, dict):
        return {name: _comparable(each) for name, each in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state
