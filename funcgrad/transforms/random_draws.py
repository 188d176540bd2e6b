"""Random numbers that a function draws while it is traced.

Under `jit` they would be constants of its graph, under `vmap` all examples would share them.

NumPy's global state, Python's, and the generators that the function can reach are looked at before
and after. A generator that is made inside the function, or comes as a static argument, is not seen.
"""

from __future__ import annotations

import contextlib
import ctypes
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad.errors import EFFECTS, located, warn_at_line

__all__ = ["GENERATORS", "Draws", "SharedDraws", "undrawn", "warn"]

GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)


class Draws:
    """The states of the sources of random numbers when it was made."""

    def __init__(self, generators: Sequence[Any]) -> None:
        self.generators = tuple(generators)
        # The second normal number of a pair is there already, and drawing it changes no mark.
        self.in_full = bool(np.random.get_state(legacy=False)["has_gauss"])
        self.states = self._now()

    def _now(self) -> list[Any]:
        own: Any = np.random.get_state(legacy=False) if self.in_full else _mark()
        return [
            _comparable(own),
            random.getstate(),
            *(_comparable(_state(g)) for g in self.generators),
        ]

    def happened(self) -> bool:
        return self._now() != self.states


class SharedDraws:
    """The same for `vmap`, which looks at every call.

    To copy the state of NumPy's global generator takes longer than a small function, so its memory
    is read. That does not show a normal number that was kept from an earlier pair of them; a
    function that uses a module `random` is looked at in full.
    """

    def __init__(self, generators: Sequence[Any], in_full: bool) -> None:
        old = (random.Random, np.random.RandomState)
        in_full = in_full or any(isinstance(g, old) for g in generators)
        self.full = Draws(generators) if in_full else None
        self.generators = [] if in_full else generators
        self.states = self._now()

    def _now(self) -> list[Any]:
        if not self.generators:
            return [_mark()]
        return [_mark(), *(_comparable(_state(g)) for g in self.generators)]

    def happened(self) -> bool:
        return self._now() != self.states or (self.full is not None and self.full.happened())


# The bit generator that was asked last, and what shows that it was used: the position in its key,
# and the end of the key, which is another one when the position has gone round.
_last: tuple[Any, Any] = None, None
_KEY = 624  # words of the state of MT19937, behind which lies the position


def _mark() -> Any:
    """What changes when numbers are drawn of NumPy's global generator, in a hundredth of the time
    that a copy of its state takes.
    """
    global _last
    source = np.random.get_bit_generator()  # type: ignore[attr-defined]
    if type(source) is not np.random.MT19937:
        return _comparable(source.state)
    known, words = _last
    if known is not source:
        state = (ctypes.c_uint32 * (_KEY + 1)).from_address(source.ctypes.state_address)
        # not by np.ctypeslib: NumPy imports it on use, and a fork meanwhile leaves it locked
        words = np.frombuffer(memoryview(state), np.uint32)[-4:]
        _last = source, words
    mark: bytes = words.tobytes()
    return mark


@contextlib.contextmanager
def undrawn(generators: Sequence[Any]) -> Iterator[None]:
    """What is drawn meanwhile has not been: the sources are put back."""
    kept = np.random.get_state(legacy=False), random.getstate(), list(map(_state, generators))
    try:
        yield
    finally:
        np.random.set_state(kept[0])
        random.setstate(kept[1])
        for g, state in zip(generators, kept[2], strict=True):
            _put_back(g, state)


def warn(name: str) -> None:
    """Say that the numbers are drawn anew at every call, at the price of tracing anew."""
    warn_at_line(
        located(
            f"jit of {name}: random numbers were drawn while the function was traced; so that "
            "every call draws its own, the function is traced anew at every call; draw outside "
            "and pass the numbers as an argument",
            EFFECTS,
        ),
        RuntimeWarning,
    )


def _state(g: Any) -> Any:
    if isinstance(g, random.Random):
        return g.getstate()
    if isinstance(g, np.random.RandomState):
        return g.get_state(legacy=False)
    return (g.bit_generator if isinstance(g, np.random.Generator) else g).state


def _put_back(g: Any, state: Any) -> None:
    if isinstance(g, random.Random):
        g.setstate(state)
    elif isinstance(g, np.random.RandomState):
        g.set_state(state)
    else:
        (g.bit_generator if isinstance(g, np.random.Generator) else g).state = state


def _comparable(state: Any) -> Any:
    if isinstance(state, dict):
        return {name: _comparable(each) for name, each in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state
