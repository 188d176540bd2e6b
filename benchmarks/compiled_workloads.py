"""What the compiler is measured by: value and gradient, written once for every namespace.

`m` is NumPy, `jax.numpy` or torch behind the few names that differ (`Names`). Each entry is a
function, the arguments that are differentiated, and what makes the arguments for a dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.compiled_models import (
    attention,
    bundle,
    heads,
    mixture,
    mixture_data,
    observations,
    project,
)

__all__ = ["WORKLOADS", "Compiled"]


class Compiled(NamedTuple):
    function: Callable[..., Any]
    which: tuple[int, ...]
    arguments: Callable[[Any, Any], tuple[Any, ...]]  # of a random generator and a dtype
    # "gradient" (with the value), "hessian", "jacobian", "examples" (a gradient for each of the
    # leading axis), or "jacobians" (a Jacobian for each)
    derive: str = "gradient"


def chain(m: Any, x: Any) -> Any:
    return m.sum(m.tanh(x) * m.exp(-x * x) + m.log1p(x * x))


def black_scholes(m: Any, s: Any, k: Any, t: Any, r: Any, v: Any) -> Any:
    """Calls with the tanh approximation of the normal distribution; the gradients are greeks."""

    def normal(x: Any) -> Any:
        return 0.5 * (1.0 + m.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))

    d1 = (m.log(s / k) + (r + 0.5 * v * v) * t) / (v * m.sqrt(t))
    return m.sum(s * normal(d1) - k * m.exp(-r * t) * normal(d1 - v * m.sqrt(t)))


def cross_entropy(m: Any, z: Any, labels: Any) -> Any:
    z = z - m.max(z, 1)
    logs = z - m.log(m.total(m.exp(z), 1))
    return -m.mean(logs[m.arange(z.shape[0]), labels])


def layer_norm(m: Any, x: Any, w: Any, b: Any) -> Any:
    away = x - m.average(x, 1)
    y = away / m.sqrt(m.average(away * away, 1) + 1e-5) * w + b
    return m.sum(0.5 * y * (1.0 + m.tanh(0.7978845608 * (y + 0.044715 * y * y * y))))


def logsumexp(axis: int) -> Callable[..., Any]:
    def f(m: Any, x: Any) -> Any:
        top = m.stop(m.max(x, axis))
        return m.sum(m.log(m.total(m.exp(x - top), axis)) + top)

    return f


def variance(axis: int) -> Callable[..., Any]:
    def f(m: Any, x: Any) -> Any:
        away = x - m.average(x, axis)
        return m.sum(m.average(away * away, axis))

    return f


def norm(m: Any, x: Any) -> Any:
    return m.sqrt(m.sum(x * x))


def logistic(m: Any, w: Any, x: Any, y: Any) -> Any:
    z = x @ w
    return m.mean(m.log1p(m.exp(-abs(z))) + 0.5 * (z + abs(z)) - y * z) + 0.01 * m.sum(w * w)


def mlp(m: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any, labels: Any) -> Any:
    h = m.tanh(m.tanh(x @ w1 + b1) @ w2 + b2)
    return cross_entropy(m, h @ w3 + b3, labels)


def bodies(m: Any, x: Any) -> Any:
    d = x[:, None] - x[None]
    return m.sum(1.0 / m.sqrt(m.total(d * d, -1) + 0.01))


def rosenbrock(m: Any, x: Any) -> Any:
    return m.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def scalar(m: Any, x: Any) -> Any:
    return m.sum(m.sin(x) * x)


def rows(m: Any, x: Any, a: Any) -> Any:
    return m.tanh(a @ x) * m.exp(-x * x)


def example(m: Any, w: Any, b: Any, x: Any, y: Any) -> Any:
    """The loss of one example of a small network, for the gradient of each."""
    h = m.tanh(x @ w + b)
    return m.sum((h - y) ** 2)


def observation(m: Any, camera: Any, point: Any, weight: Any, seen: Any) -> Any:
    u, v = project(m, [camera[k] for k in range(11)], [point[k] for k in range(3)])
    return m.stack([weight * (u - seen[0]), weight * (v - seen[1])])


def observed(cameras: int, points: int, count: int) -> Callable[[Any, Any], tuple[Any, ...]]:
    def arguments(rng: Any, dtype: Any) -> tuple[Any, ...]:
        camera, point, weights, at, seen = observations(cameras, points, count)(rng, dtype)
        return camera[at[:, 0]], point[at[:, 1]], weights, seen

    return arguments


def normal(*shapes: Any) -> Callable[[Any, Any], tuple[Any, ...]]:
    return lambda rng, dtype: tuple(rng.standard_normal(s).astype(dtype) for s in shapes)


def options(n: int) -> Callable[[Any, Any], tuple[Any, ...]]:
    ranges = ((90, 20), (90, 20), (0.5, 1), (0.01, 0.04), (0.1, 0.3))
    return lambda rng, dtype: tuple((a + b * rng.random(n)).astype(dtype) for a, b in ranges)


def labelled(n: int, classes: int) -> Callable[[Any, Any], tuple[Any, ...]]:
    return lambda rng, dtype: (
        rng.standard_normal((n, classes)).astype(dtype),
        rng.integers(0, classes, n),
    )


def network(batch: int) -> Callable[[Any, Any], tuple[Any, ...]]:
    def arguments(rng: Any, dtype: Any) -> tuple[Any, ...]:
        found: list[Any] = []
        for a, b in ((64, 256), (256, 128), (128, 10)):
            found += [(rng.standard_normal((a, b)) / a**0.5).astype(dtype), np.zeros(b, dtype)]
        x = rng.standard_normal((batch, 64)).astype(dtype)
        return (*found, x, rng.integers(0, 10, batch))

    return arguments


WORKLOADS: dict[str, Compiled] = {
    "scalar": Compiled(scalar, (0,), normal(())),
    "vector-3": Compiled(scalar, (0,), normal(3)),
    **{f"chain-{n}": Compiled(chain, (0,), normal(n)) for n in (100, 10**4, 10**6, 10**7)},
    **{f"options-{n}": Compiled(black_scholes, (0, 1, 2, 3, 4), options(n)) for n in (1000, 10**6)},
    "cross-entropy": Compiled(cross_entropy, (0,), labelled(4096, 1000)),
    "layer-norm": Compiled(layer_norm, (0, 1, 2), normal((2048, 768), 768, 768)),
    **{f"logsumexp-axis{a}": Compiled(logsumexp(a), (0,), normal((2000, 2000))) for a in (0, 1)},
    **{f"variance-axis{a}": Compiled(variance(a), (0,), normal((2000, 2000))) for a in (0, 1)},
    "norm": Compiled(norm, (0,), normal((2000, 2000))),
    "logistic": Compiled(logistic, (0,), normal(100, (10000, 100), 10000)),
    **{f"mlp-{n}": Compiled(mlp, tuple(range(6)), network(n)) for n in (128, 1024)},
    **{f"bodies-{n}": Compiled(bodies, (0,), normal((n, 3))) for n in (100, 500)},
    "attention": Compiled(attention, (0, 1, 2, 3), heads(4, 4, 128, 32)),
    **{
        f"mixture-d{d}k{k}n{n}": Compiled(mixture, (0, 1, 2), mixture_data(d, k, n))
        for d, k, n in ((2, 5, 1000), (10, 25, 1000), (20, 25, 10000), (32, 50, 1000))
    },
    **{
        f"bundle-{n}": Compiled(bundle, (0, 1, 2), observations(c, p, n))
        for c, p, n in ((20, 300, 1000), (49, 7776, 31843))
    },
    **{
        f"bundle-jacobian-{n}": Compiled(observation, (0, 1, 2), observed(c, p, n), "jacobians")
        for c, p, n in ((20, 300, 1000), (49, 7776, 31843))
    },
    "hessian-rosenbrock": Compiled(rosenbrock, (0,), normal(50), "hessian"),
    "hessian-logistic": Compiled(logistic, (0,), normal(30, (500, 30), 500), "hessian"),
    "jacobian": Compiled(rows, (0,), normal(64, (64, 64)), "jacobian"),
    "examples": Compiled(example, (0, 1), normal((32, 16), 16, (512, 32), (512, 16)), "examples"),
    **{f"rosenbrock-{n}": Compiled(rosenbrock, (0,), normal(n)) for n in (2, 100, 10**5)},
}
