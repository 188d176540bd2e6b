"""Models whose derivatives are known from the literature: a mixture, bundle adjustment, attention.

The first two are those of ADBench (Šrajer, Kukelova, Fitzgibbon 2018), over whole arrays. `m` is
NumPy, `jax.numpy` or torch, as in `compiled_workloads`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["attention", "bundle", "heads", "mixture", "mixture_data", "observations", "project"]

Arguments = Callable[[Any, Any], tuple[Any, ...]]


def triangle(d: int) -> Any:
    """The number of each element below the diagonal of a matrix, by columns; else the last one."""
    found = np.full((d, d), d * (d - 1) // 2)
    rows, columns = np.tril_indices(d, -1)
    order = np.lexsort((rows, columns))
    found[rows[order], columns[order]] = np.arange(len(order))
    return found


def logsumexp(m: Any, x: Any) -> Any:
    top = m.stop(m.max(x, 0))
    return m.log(m.total(m.exp(x - top), 0)) + top


def mixture(m: Any, alphas: Any, means: Any, icf: Any, x: Any, below: Any) -> Any:
    """The log-likelihood of a Gaussian mixture with a Wishart prior, gamma = 1 and m = 0."""
    d = x.shape[1]
    logs = icf[:, :d]
    scales = m.exp(logs)
    rest = m.concatenate([icf[:, d:], m.zeros_like(icf[:, :1])], 1)
    lower = rest[:, below]
    away = x[None] - means[:, None]
    moved = scales[:, None] * away + away @ m.swapaxes(lower, 1, 2)
    total = m.sum(logs, 1)
    inner = alphas[:, None] + total[:, None] - 0.5 * m.sum(moved * moved, 2)
    fit = m.sum(logsumexp(m, inner)) - x.shape[0] * m.sum(logsumexp(m, alphas[:, None]))
    prior = 0.5 * (m.sum(scales * scales) + m.sum(icf[:, d:] ** 2)) - m.sum(total)
    return fit + prior


def mixture_data(d: int, k: int, n: int) -> Arguments:
    def arguments(rng: Any, dtype: Any) -> tuple[Any, ...]:
        shapes = ((k,), (k, d), (k, d * (d + 1) // 2), (n, d))
        return (*(rng.standard_normal(s).astype(dtype) for s in shapes), triangle(d))

    return arguments


def project(m: Any, camera: list[Any], point: list[Any]) -> tuple[Any, Any]:
    """Where a camera (rotation, centre, focal length, principal point, distortion) sees a point."""
    rotation, centre = camera[:3], camera[3:6]
    focal, u, v, k1, k2 = camera[6:]
    x = [p - c for p, c in zip(point, centre, strict=True)]
    angle = m.sqrt(sum(r * r for r in rotation))
    axis = [r / angle for r in rotation]
    c, s = m.cos(angle), m.sin(angle)
    along = sum(a * b for a, b in zip(axis, x, strict=True)) * (1.0 - c)
    crossed = [
        axis[1] * x[2] - axis[2] * x[1],
        axis[2] * x[0] - axis[0] * x[2],
        axis[0] * x[1] - axis[1] * x[0],
    ]
    seen = [b * c + q * s + a * along for a, b, q in zip(axis, x, crossed, strict=True)]
    a, b = seen[0] / seen[2], seen[1] / seen[2]
    square = a * a + b * b
    bent = 1.0 + square * (k1 + k2 * square)
    return a * bent * focal + u, b * bent * focal + v


def bundle(m: Any, cameras: Any, points: Any, weights: Any, at: Any, seen: Any) -> Any:
    """The squared reprojection errors of all observations, and a prior of their weights."""
    camera, point = cameras[at[:, 0]], points[at[:, 1]]
    u, v = project(m, [camera[:, k] for k in range(11)], [point[:, k] for k in range(3)])
    a, b = weights * (u - seen[:, 0]), weights * (v - seen[:, 1])
    prior = 1.0 - weights * weights
    return m.sum(a * a + b * b) + m.sum(prior * prior)


def observations(cameras: int, points: int, count: int) -> Arguments:
    def arguments(rng: Any, dtype: Any) -> tuple[Any, ...]:
        camera = rng.standard_normal((cameras, 11))
        camera[:, :3] *= 0.1  # so that the points lie in front of it, and float32 is enough
        point = rng.standard_normal((points, 3)) + np.array([0.0, 0.0, 30.0])
        at = np.stack([rng.integers(0, cameras, count), rng.integers(0, points, count)], 1)
        seen = rng.standard_normal((count, 2)).astype(dtype)
        weights = rng.random(count).astype(dtype)
        return camera.astype(dtype), point.astype(dtype), weights, at, seen

    return arguments


def attention(m: Any, q: Any, k: Any, v: Any, out: Any) -> Any:
    """Heads of scaled products, normalised over the keys, and a projection back."""
    scores = q @ m.swapaxes(k, -1, -2) * (1.0 / q.shape[-1] ** 0.5)
    weights = m.exp(scores - m.stop(m.max(scores, -1)))
    mixed = (weights / m.total(weights, -1)) @ v
    joined = m.swapaxes(mixed, 1, 2).reshape(q.shape[0], q.shape[2], -1)
    return m.sum(m.tanh(joined @ out))


def heads(batch: int, count: int, length: int, width: int) -> Arguments:
    def arguments(rng: Any, dtype: Any) -> tuple[Any, ...]:
        three = [rng.standard_normal((batch, count, length, width)).astype(dtype) for _ in range(3)]
        whole = count * width
        return (*three, (rng.standard_normal((whole, whole)) / whole**0.5).astype(dtype))

    return arguments
