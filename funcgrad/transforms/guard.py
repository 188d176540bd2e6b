"""What a node keeps of arrays that the caller owns: a copy, or a watched reference.

The caller may change an array after it was recorded: a workspace that a loop reuses, an input
that changes between `vjp` and its call. Small arrays are copied; of large ones a fingerprint is
kept and compared before backward, so that the gradient is right or an error is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from funcgrad.config import config
from funcgrad.core.tracer import Tracer, type_of
from funcgrad.errors import MutatedCaptureError, located

__all__ = ["Watch", "fingerprint", "verify"]

Watch = tuple[Any, Any]  # an array with its fingerprint, or a tracer with what its trace watches
_SAMPLES = 128


def fingerprint(x: np.ndarray[Any, Any]) -> bytes:
    """A digest of some elements of `x` spread evenly; of all of them in debug mode."""
    if config.debug or x.size <= _SAMPLES:
        return blake2b(np.ascontiguousarray(x).tobytes(), digest_size=16).digest()
    # An odd stride, so that the samples do not fall into one column of a matrix.
    where = np.linspace(0, x.size - 1, _SAMPLES).astype(np.intp)
    return x[np.unravel_index(where, x.shape)].tobytes()


def verify(watches: Sequence[Watch]) -> None:
    """Raise when one of the watched arrays has changed since it was recorded."""
    for x, mark in watches:
        if (x.owner.watch(x) if isinstance(x, Tracer) else fingerprint(x)) != mark:
            kind = type_of(x)
            raise MutatedCaptureError(
                located(
                    f"an array of shape {kind.shape} and dtype {kind.dtype} was changed in place "
                    "after it had been used in a computation whose gradient is now asked for; pass "
                    "a copy of it, or change it after the backward pass"
                )
            )
