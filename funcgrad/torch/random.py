"""``torch.random``: the default source of random numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from funcgrad.torch.operations.generator import (
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

__all__ = [
    "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
    "set_rng_state",
]  # fmt: skip


@contextlib.contextmanager
def fork_rng(devices: Any = (), enabled: bool = True) -> Iterator[None]:
    """A context after which the default source is where it was before.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> with torch.random.fork_rng():
    ...     first = torch.rand(2)
    >>> bool((first == torch.rand(2)).all())
    True
    """
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
