"""Loops side by side: value and gradient of `jit` with `scan`, here and in JAX, written once.

Each entry is a function of a namespace and of the control flow that goes with it, the arguments
that are differentiated, and what makes the arguments. The third that runs is `jit` of the function
with a loop of Python in the place of `scan`. Everybody has a process of its own, which has compiled
another function before, so that the first call is one of a session and not the start of a library;
it is timed apart, without code that was kept on disk. Results have to agree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.compiled import disagreements, flat
from benchmarks.peers import Peer
from benchmarks.rounds import Call
from benchmarks.rounds import race as rounds

__all__ = ["PROBES"]

TOLERANCE = 1e-8


class Loop(NamedTuple):
    function: Callable[..., Any]  # of a namespace, its control flow, and the arguments
    which: tuple[int, ...]
    arguments: Callable[[Any], tuple[Any, ...]]  # of a random generator


def garch(m: Any, lax: Any, theta: Any, returns: Any) -> Any:
    """The negative logarithm of the likelihood of GARCH(1, 1)."""

    def step(s: Any, r: Any) -> Any:
        q = r * r
        return theta[0] + theta[1] * q + theta[2] * s, m.log(s) + q / s

    _, terms = lax.scan(step, returns[0] * returns[0], returns)
    return 0.5 * (m.sum(terms) + len(returns) * 1.8378770664093453)


def runge_kutta(slope: Callable[[Any], Any], u: Any, h: float) -> Any:
    k1 = slope(u)
    k2 = slope(u + 0.5 * h * k1)
    k3 = slope(u + 0.5 * h * k2)
    return u + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(u + h * k3))


def lorenz(m: Any, lax: Any, start: Any, p: Any) -> Any:
    def slope(u: Any) -> Any:
        return m.stack(
            [p[0] * (u[1] - u[0]), u[0] * (p[1] - u[2]) - u[1], u[0] * u[1] - p[2] * u[2]]
        )

    step = lambda u, _: (runge_kutta(slope, u, 0.001), None)
    return m.sum(lax.scan(step, start, None, length=1000)[0] ** 2)


def pendulum(m: Any, lax: Any, start: Any, p: Any) -> Any:
    def slope(u: Any) -> Any:
        return m.stack([u[1], -p[0] * m.sin(u[0]) - p[1] * u[1]])

    step = lambda u, _: (runge_kutta(slope, u, 0.01),) * 2
    _, path = lax.scan(step, start, None, length=1000)
    return m.sum(path[:, 0] ** 2)


def kalman(m: Any, lax: Any, f: Any, h: Any, q: Any, r: Any, ys: Any) -> Any:
    """The logarithm of the likelihood of a linear model with four states, two observed."""

    def step(carry: Any, y: Any) -> Any:
        mean, cov = carry
        mean, cov = f @ mean, f @ cov @ f.T + q
        s, e = h @ cov @ h.T + r, y - h @ mean
        gain = m.linalg.solve(s, h @ cov).T
        term = e @ m.linalg.solve(s, e) + m.linalg.slogdet(s)[1]
        return (mean + gain @ e, cov - gain @ s @ gain.T), term

    _, terms = lax.scan(step, (m.zeros(4), m.eye(4)), ys)
    return -0.5 * m.sum(terms)


def gated(m: Any, lax: Any, w: Any, u: Any, b: Any, xs: Any) -> Any:
    """A recurrent net of gated units."""
    size = u.shape[0]

    def logistic(x: Any) -> Any:
        return 1 / (1 + m.exp(-x))

    def step(h: Any, x: Any) -> Any:
        one, two = x @ w + b, h @ u
        z = logistic(one[..., :size] + two[..., :size])
        r = logistic(one[..., size : 2 * size] + two[..., size : 2 * size])
        n = m.tanh(one[..., 2 * size :] + r * two[..., 2 * size :])
        return (1 - z) * n + z * h, None

    h, _ = lax.scan(step, m.zeros((*xs.shape[1:-1], size)), xs)
    return m.sum(h * h)


def long_short(m: Any, lax: Any, weights: Any, xs: Any) -> Any:
    """Two layers of ADBench's LSTM: all gates are element by element."""

    def logistic(x: Any) -> Any:
        return 1 / (1 + m.exp(-x))

    def layer(w: Any, h: Any, c: Any, x: Any) -> Any:
        forget, enter = logistic(x * w[0] + w[4]), logistic(h * w[1] + w[5])
        leave, change = logistic(x * w[2] + w[6]), m.tanh(h * w[3] + w[7])
        c = c * forget + enter * change
        return leave * m.tanh(c), c

    def step(carry: Any, x: Any) -> Any:
        (h1, c1), (h2, c2) = carry
        h1, c1 = layer(weights[0], h1, c1, x)
        h2, c2 = layer(weights[1], h2, c2, h1)
        wide = h2 - m.max(h2)
        return ((h1, c1), (h2, c2)), m.sum(x * (wide - m.log(m.sum(m.exp(wide)))))

    zero = m.zeros(xs.shape[1])
    _, terms = lax.scan(step, ((zero, zero), (zero, zero)), xs)
    return -m.sum(terms) / len(xs)


def hidden_markov(m: Any, lax: Any, moves: Any, shows: Any, seen: Any) -> Any:
    """The forward pass of a hidden Markov model, in logarithms."""

    def together(x: Any) -> Any:
        most = m.max(x, axis=0)
        return most + m.log(m.sum(m.exp(x - most), axis=0))

    def step(a: Any, k: Any) -> Any:
        return together(a[:, None] + moves) + shows[k], None

    a, _ = lax.scan(step, m.zeros(16), seen)
    return together(a)


def nets(rng: Any, batch: tuple[int, ...]) -> tuple[Any, ...]:
    draw = lambda *shape: rng.standard_normal(shape) * 0.2
    return draw(32, 96), draw(32, 96), draw(96), draw(200, *batch, 32)


def logs(rng: Any, *shape: int) -> Any:
    return np.log(rng.dirichlet(np.ones(shape[1]), shape[0]))


LOOPS = {
    "garch": Loop(
        garch,
        (0,),
        lambda rng: (np.array([0.05, 0.1, 0.85]), rng.standard_normal(2000)),
    ),
    "lorenz": Loop(lorenz, (0, 1), lambda rng: (np.ones(3), np.array([10.0, 28.0, 8 / 3]))),
    "pendulum": Loop(pendulum, (0, 1), lambda rng: (np.array([1.0, 0.0]), np.array([9.81, 0.1]))),
    "kalman": Loop(
        kalman,
        (0, 1, 2, 3),
        lambda rng: (
            rng.standard_normal((4, 4)) * 0.3,
            rng.standard_normal((2, 4)),
            np.eye(4) * 0.1,
            np.eye(2) * 0.2,
            rng.standard_normal((500, 2)),
        ),
    ),
    "gru": Loop(gated, (0, 1, 2), lambda rng: nets(rng, ())),
    "gru-16": Loop(gated, (0, 1, 2), lambda rng: nets(rng, (16,))),
    "lstm-128": Loop(
        long_short,
        (0,),
        lambda rng: (rng.standard_normal((2, 8, 14)), rng.standard_normal((128, 14))),
    ),
    "lstm-1024": Loop(
        long_short,
        (0,),
        lambda rng: (rng.standard_normal((2, 8, 14)), rng.standard_normal((1024, 14))),
    ),
    "hmm": Loop(
        hidden_markov,
        (0, 1),
        lambda rng: (logs(rng, 16, 16), logs(rng, 8, 16), rng.integers(0, 8, 2000)),
    ),
}


class PythonLoops:
    """Control flow as Python has it."""

    @staticmethod
    def scan(f: Callable[[Any, Any], Any], carry: Any, xs: Any, length: int = 0) -> Any:
        ys = []
        for i in range(length or len(xs)):
            carry, y = f(carry, None if xs is None else xs[i])
            ys.append(y)
        return carry, None if ys[0] is None else np.stack(ys)


def compiled(lax: Any, loop: Loop, args: tuple[Any, ...]) -> Call:
    import funcgrad as fg

    fg.config.cache = False
    fg.jit(fg.value_and_grad(lambda x: np.sum(np.tanh(x))))(np.ones(9))
    f = fg.jit(fg.value_and_grad(partial(loop.function, np, lax), loop.which))
    return lambda: f(*args)


def with_scan(loop: Loop, args: tuple[Any, ...]) -> Call:
    from funcgrad import lax

    return compiled(lax, loop, args)


def with_jax(loop: Loop, args: tuple[Any, ...]) -> Call:
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.jit(jax.value_and_grad(lambda x: jax.numpy.sum(jax.numpy.tanh(x))))(jax.numpy.ones(9))
    f = jax.jit(jax.value_and_grad(partial(loop.function, jax.numpy, jax.lax), loop.which))
    own = tuple(map(jax.numpy.asarray, args))
    return lambda: jax.block_until_ready(f(*own))


OURS: dict[str, Callable[[Loop, tuple[Any, ...]], Call]] = {
    "scan": with_scan,
    "Python loop": partial(compiled, PythonLoops),
}
MAKERS: dict[str, Callable[[Loop, tuple[Any, ...]], Call]] = {**OURS, "jax": with_jax}


def prepared(name: str, peer: str) -> Call:
    """The call that is timed, made where it is timed."""
    return MAKERS[peer](LOOPS[name], LOOPS[name].arguments(np.random.default_rng(0)))


def race(name: str, peers: list[Peer], repeat: int) -> tuple[dict[str, float], dict[str, str]]:
    """Microseconds of one call and of the first one, and both in parts of what JAX takes."""
    makers = {peer: partial(prepared, name, peer) for peer in MAKERS}
    outcome = rounds(makers, flat, repeat, partial(disagreements, tolerance=TOLERANCE))
    found = {peer: timing.median * 1e6 for peer, timing in outcome.timings.items()}
    found |= {f"{peer}, first call": each * 1e6 for peer, each in outcome.first.items()}
    theirs, begun = outcome.timings.get("jax"), outcome.first.get("jax")
    for peer in OURS:
        if theirs and peer in outcome.timings:
            found[f"ratio of the {peer} to jax"] = outcome.timings[peer].ratio(theirs)
        if begun and peer in outcome.first:
            found[f"ratio of the first call, {peer}"] = outcome.first[peer] / begun
    return found, outcome.problems


PROBES = {
    f"scan-{name}": (f"{name}, written as a scan, compiled", "µs", partial(race, name))
    for name in LOOPS
}
