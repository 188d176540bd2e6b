"""The kinds of what is handed from step to step in drawn loops.

A kind has a first value, the floating point values that a step reads of it, and the next one, made
of what the step has computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import funcgrad as fg
import funcgrad.numpy as fnp

__all__ = ["KINDS", "Kind", "Pair", "ones"]


def ones(x):
    return np.ones(4, x.dtype)


class Pair(NamedTuple):
    vector: Any
    number: Any


class Kind(NamedTuple):
    """What a carry is: ``start(number, vector, x)``, ``read(c, x)``, ``next(c, v, place, x)``."""

    start: Callable[..., Any]
    read: Callable[..., Any]
    next: Callable[..., Any]


def _plain(c, x):
    """NumPy's functions make float64 of a Python number, so it becomes one of NumPy's."""
    return [c + np.zeros((), x.dtype)[()]]


def _drawn(c, x):
    return [fg.random.uniform(fg.random.fold_in(c, 1), (4,)).astype(x.dtype)]


def _named(c, v, place, x):
    return {"b": v, "a": np.tanh(c["a"] + v[0]), "count": c["count"] + place, "none": None}


KINDS = {
    "number": Kind(lambda n, v, x: n * 1.0, _plain, lambda c, v, place, x: v),
    "vector": Kind(lambda n, v, x: v * 1.0, _plain, lambda c, v, place, x: v),
    "counted": Kind(lambda n, v, x: 0.0, _plain, lambda c, v, place, x: v),
    "complex": Kind(
        lambda n, v, x: v + 1j * n,
        lambda c, x: [c.real, (c * np.conj(c)).real],
        lambda c, v, place, x: np.tanh(v) * (0.6 + 0.3j) + 0.5 * c / (2.0 + np.abs(c)),
    ),
    "one complex": Kind(
        lambda n, v, x: n + 0.5j,
        lambda c, x: [c.real + np.zeros((), x.dtype)[()], np.abs(c)],
        lambda c, v, place, x: c * np.exp(1j * np.sum(v)) * 0.7 + v[1],
    ),
    "named tuple": Kind(
        lambda n, v, x: Pair(v, n * 1.0),
        lambda c, x: [c.vector, c.number],
        lambda c, v, place, x: Pair(v, np.sum(v * c.vector) * 0.3),
    ),
    "dictionary": Kind(
        lambda n, v, x: {"b": v * 1.0, "a": n * 1.0, "count": 0, "none": None},
        lambda c, x: [c["b"], c["a"], fnp.asarray(c["count"]).astype(x.dtype) * 0.1],
        _named,
    ),
    "bools": Kind(
        lambda n, v, x: v > 0.2,
        lambda c, x: [np.where(c, 0.3, -0.5).astype(x.dtype)],
        lambda c, v, place, x: c ^ (v > 0.1),
    ),
    "integers": Kind(
        lambda n, v, x: np.arange(4),
        lambda c, x: [c.astype(x.dtype) * 0.1],
        lambda c, v, place, x: (c * 3 + place + (v > 0)) % 7,
    ),
    "small integer": Kind(
        lambda n, v, x: np.int32(1),
        lambda c, x: [c.astype(x.dtype), fnp.take(x, c % 4)],
        lambda c, v, place, x: c ^ (place.astype(np.int32) if hasattr(place, "astype") else place),
    ),
    "matrix": Kind(
        lambda n, v, x: np.outer(v, v[:3]),
        lambda c, x: [c @ ones(x)[:3] * 0.3, c[:, 1]],
        lambda c, v, place, x: c * 0.5 + v[:, None] * np.cumsum(v)[1:],
    ),
    "key": Kind(
        lambda n, v, x: fg.random.key(5),
        _drawn,
        lambda c, v, place, x: fg.random.split(c)[0],
    ),
    "past values": Kind(
        lambda n, v, x: (v * 1.0, v * 0.5, 0),
        lambda c, x: [c[0], c[1]],
        lambda c, v, place, x: (v, c[0], c[2] + 1),
    ),
    "table": Kind(
        lambda n, v, x: np.zeros(5, x.dtype),
        lambda c, x: [c[1:], c[-1]],
        lambda c, v, place, x: _put(c, v, place),
    ),
}


def _put(c, v, place):
    """One element written and one added to, at the places of the step."""
    out = fnp.array(c)
    out[place] = np.sum(v)
    out[place + 1] += v[0] * 0.5
    return out
