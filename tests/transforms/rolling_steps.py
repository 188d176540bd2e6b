"""What a step of a drawn Python loop may do, and what it may hand on beside floating point values.

All functions are of three numbers and give three.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import funcgrad as fg
import funcgrad.numpy as fnp

__all__ = ["COLUMNS", "EXTRAS", "RICH", "Extra", "whole"]

COLUMNS = 3
GRID = np.array([-1.1, -0.4, 0.15, 0.6, 1.3])
HEIGHTS = np.cos(GRID)


def whole(v: Any) -> Any:
    """Three numbers of a carry, which may be one."""
    return v if np.ndim(v) else np.array([1.0, 0.7, -0.4]) * v


def matrix(v):
    return np.outer(v, v) * 0.3 + 2.0 * np.eye(COLUMNS)


@fg.custom_vjp
def bent(v):
    """A rule that is not the derivative: who follows it is told apart."""
    return np.sin(v)


bent.defvjp(lambda v: (bent(v), v), lambda v, g: (1.5 * g * np.cos(v),))


@fg.custom_jvp
def stated(v):
    return np.tanh(v)


@stated.defjvp
def _(primals, tangents):
    y = stated(primals[0])
    return y, tangents[0] * (1 - y) * 1.3


def scattered(v):
    """Written and added up at places that the values decide."""
    order = np.argsort(v)
    out = fnp.zeros(COLUMNS)
    out[order] = v * 0.5
    out[order[0]] += np.sin(v[1])
    np.add.at(out, order % 2, v * 0.3)
    return out


def inside(v):
    """A loop that is said outright."""
    return fg.scan(lambda c, r: (np.sin(c + r * v[0]), c * 0.5), v[1], v)[1]


def until(v):
    return fg.while_loop(
        lambda c: (c[1] < 4) & (np.sum(c[0]) < 2.0), lambda c: (c[0] * 0.9 + 0.2, c[1] + 1), (v, 0)
    )[0]


def counted(v):
    for k in range(3):
        v = np.where(v[k] > 0, np.roll(v, 1), v) * 0.8
    return v


def complex_numbers(v):
    z = (v + 1j * v[::-1]) * np.exp(0.5j * v[0])
    return z.real * 0.5 - (z * np.conj(z)).real * 0.1 + z.imag * 0.3


def branch(v):
    return fg.cond(np.sum(v) > 0.2, lambda v: np.sin(v), lambda v: v[::-1] * 0.5, v)


def switched(v):
    functions = [np.sin, lambda v: v * v * 0.3, lambda v: np.flip(v)]
    return fg.switch(np.argmax(v), functions, v)


RICH = {
    "running sum": lambda v: np.cumsum(v) * 0.3,
    "running product": lambda v: np.cumprod(np.tanh(v) + 0.2),
    "running maximum": lambda v: np.maximum.accumulate(v),
    "sorted": lambda v: np.sort(v),
    "ordered": lambda v: v[np.argsort(-v)] * 0.9,
    "solved": lambda v: np.linalg.solve(matrix(v), v + 1.0),
    "inverse": lambda v: np.linalg.inv(matrix(v)) @ v,
    "factored": lambda v: np.linalg.cholesky(matrix(v)) @ v * 0.3,
    "determinant": lambda v: np.linalg.det(matrix(v)) * v * 0.05,
    "logarithm": lambda v: np.linalg.slogdet(matrix(v))[1] * 0.2 + v,
    "searched": lambda v: np.searchsorted(GRID, v) * 0.1 + v * 0.5,
    "interpolated": lambda v: np.interp(v, GRID, HEIGHTS),
    "scattered": scattered,
    "bent": bent,
    "stated": stated,
    "scan": inside,
    "while": until,
    "for": counted,
    "complex": complex_numbers,
    "branch": branch,
    "switch": switched,
    "joined": lambda v: fg.associative_scan(lambda a, b: a * b, np.tanh(v) + 0.3),
    "mapped": lambda v: fg.map(lambda e: np.sin(e) * e, v),
    "einsum": lambda v: np.einsum("ij,j->i", matrix(v), v) * 0.2,
    "integer": lambda v: (np.floor(v * 2).astype(int) % 3) * 0.1 + v * 0.5,
    "chosen before": lambda v: np.where(False, np.sin(v), v * 0.7) + v * 0.1,
    "clipped": lambda v: np.clip(v, -0.5, 0.8),
}


class Extra(NamedTuple):
    """What a loop hands on: ``start(w)``, ``read(e, x)`` and ``next(e, v)`` of a value `v`."""

    start: Callable[[Any], Any]
    read: Callable[[Any, Any], Any]
    next: Callable[[Any, Any], Any]


def _named(e, v):
    return {"a": e["b"] * 0.5, "b": (v + e["a"]) * 0.5, "n": (e["n"] + 1) % 3}


EXTRAS = {
    "integer": Extra(
        lambda w: np.argmax(w[0]), lambda e, x: x[e], lambda e, v: (e + np.argmax(v) + 1) % 7
    ),
    "integers": Extra(
        lambda w: np.argsort(w[0]), lambda e, x: x[0][e], lambda e, v: np.argsort(v)[e]
    ),
    "truths": Extra(
        lambda w: w[0] > 0, lambda e, x: np.where(e, 0.4, -0.3), lambda e, v: e ^ (v > 0.1)
    ),
    "complex": Extra(
        lambda w: w[0] + 0.5j,
        lambda e, x: e.real * e.imag,
        lambda e, v: 0.5 * e * np.exp(1j * v) + v,
    ),
    "key": Extra(
        lambda w: fg.random.key(7),
        lambda e, x: fg.random.uniform(fg.random.fold_in(e, 1), (COLUMNS,)),
        lambda e, v: fg.random.split(e)[0],
    ),
    "dictionary": Extra(
        lambda w: {"a": w[0] * 0.5, "b": w[1] * 1.0, "n": 0},
        lambda e, x: e["a"] + e["b"] * 0.3 + e["n"] * 0.1,
        _named,
    ),
    "single": Extra(
        lambda w: w[0].astype(np.float32),
        lambda e, x: e * np.float32(0.5),
        lambda e, v: e * np.float32(0.25) + np.float32(0.5),
    ),
}
