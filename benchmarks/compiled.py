"""Compiled gradients side by side: `jit` of funcgrad, `jax.jit`, torch as it comes and compiled,
PyTensor.

Everybody has a process of its own with all cores, and arguments of its own class. The first call,
which traces and compiles, is timed apart. Results have to agree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.compiled_workloads import WORKLOADS, Compiled
from benchmarks.peers import Peer
from benchmarks.rounds import Call
from benchmarks.rounds import race as rounds

__all__ = ["PROBES"]

TOLERANCE = {"float64": 1e-9, "float32": 1e-3}


class Names:
    """A namespace with the few functions that the peers call differently."""

    def __init__(self, m: Any, stop: Callable[[Any], Any], torch: bool = False) -> None:
        self.m, self.stop, self.torch = m, stop, torch

    def __getattr__(self, name: str) -> Any:
        return getattr(self.m, name)

    def _keep(self, name: str, x: Any, axis: int) -> Any:
        if self.torch:
            return getattr(self.m, {"max": "amax"}.get(name, name))(x, axis, keepdim=True)
        return getattr(self.m, name)(x, axis=axis, keepdims=True)

    def max(self, x: Any, axis: int) -> Any:
        return self._keep("max", x, axis)

    def total(self, x: Any, axis: int) -> Any:
        return self._keep("sum", x, axis)

    def average(self, x: Any, axis: int) -> Any:
        return self._keep("mean", x, axis)


MAPPED = {"examples": (2, 2), "jacobians": (0, 4)}  # the arguments that are mapped: from, to


def derived(m: Any, f: Callable[..., Any], work: Compiled) -> Callable[..., Any]:
    """What is measured, by the transforms of `m`: funcgrad, jax or torch.func."""
    if work.derive in ("hessian", "jacobian"):
        return getattr(m, {"hessian": "hessian", "jacobian": "jacrev"}[work.derive])(f, work.which)
    start, count = MAPPED[work.derive]
    axes = tuple(0 if start <= k < start + count else None for k in range(start + count))
    inner = m.grad if work.derive == "examples" else m.jacrev
    return m.vmap(inner(f, work.which), axes)


def with_funcgrad(work: Compiled, args: tuple[Any, ...]) -> Call:
    import funcgrad as fg

    f = partial(work.function, Names(np, fg.stop_gradient))
    if work.derive == "gradient":
        f = fg.jit(fg.value_and_grad(f, work.which))
    else:
        f = fg.jit(derived(fg, f, work))
    return lambda: f(*args)


def with_jax(work: Compiled, args: tuple[Any, ...]) -> Call:
    import jax

    jax.config.update("jax_enable_x64", True)
    f = partial(work.function, Names(jax.numpy, jax.lax.stop_gradient))
    if work.derive == "gradient":
        f = jax.jit(jax.value_and_grad(f, work.which))
    else:
        f = jax.jit(derived(jax, f, work))
    own = tuple(map(jax.numpy.asarray, args))
    return lambda: jax.block_until_ready(f(*own))


def with_torch(work: Compiled, args: tuple[Any, ...]) -> Call:
    import torch

    own = [torch.tensor(a) for a in args]
    f = partial(work.function, Names(torch, lambda x: x.detach(), torch=True))
    if work.derive != "gradient":
        made = derived(torch.func, f, work)
        return lambda: made(*own)
    leaves = [own[k].requires_grad_() for k in work.which]

    def call() -> Any:
        value = f(*own)
        return value.detach(), torch.autograd.grad(value, leaves)

    return call


def with_torch_compile(work: Compiled, args: tuple[Any, ...]) -> Call:
    import torch

    own = [torch.tensor(a) for a in args]
    f = torch.compile(partial(work.function, Names(torch, lambda x: x.detach(), torch=True)))
    if work.derive != "gradient":
        made = torch.compile(derived(torch.func, f, work))
        return lambda: made(*own)
    leaves = [own[k].requires_grad_() for k in work.which]

    def call() -> Any:
        value = f(*own)
        return value.detach(), torch.autograd.grad(value, leaves)

    return call


def with_pytensor(work: Compiled, args: tuple[Any, ...]) -> Call:
    import pytensor
    import pytensor.tensor as pt

    if work.derive != "gradient":
        raise NotImplementedError("only gradients are written for PyTensor")
    arrays = list(map(np.asarray, args))
    inputs = [pt.tensor(dtype=str(a.dtype), shape=(None,) * a.ndim) for a in arrays]
    names = Names(pt, pytensor.gradient.disconnected_grad)
    value = work.function(names, *inputs)
    gradients = pytensor.grad(value, [inputs[k] for k in work.which])
    call = pytensor.function(inputs, [value, *gradients], on_unused_input="ignore")
    call.trust_input = True
    return lambda: call(*arrays)


MAKERS = {
    "funcgrad": with_funcgrad,
    "jax": with_jax,
    "torch": with_torch,
    "torch-compile": with_torch_compile,
    "pytensor": with_pytensor,
}


def flat(result: Any) -> list[Any]:
    if not isinstance(result, (tuple, list)):
        return [np.asarray(result)]
    return [x for each in result for x in flat(each)]


def prepared(name: str, dtype: str, peer: str) -> Call:
    """The call that is timed, made where it is timed."""
    return MAKERS[peer](WORKLOADS[name], WORKLOADS[name].arguments(np.random.default_rng(0), dtype))


def race(
    name: str, dtype: str, peers: list[Peer], repeat: int
) -> tuple[dict[str, float], dict[str, str]]:
    """Microseconds of one call of each peer, and of the first call of it."""
    present = [peer.name for peer in peers if peer.name in MAKERS]
    makers = {peer: partial(prepared, name, dtype, peer) for peer in present}
    outcome = rounds(makers, flat, repeat, partial(disagreements, tolerance=TOLERANCE[dtype]))
    ours = outcome.timings.get("funcgrad")
    found = {peer: timing.median * 1e6 for peer, timing in outcome.timings.items()}
    for peer, timing in outcome.timings.items():
        if ours and peer != "funcgrad":
            found[f"ratio to {peer}"] = ours.ratio(timing)
    first = {f"{peer} first": seconds * 1e6 for peer, seconds in outcome.first.items()}
    return {**found, **first}, outcome.problems


def disagreements(answers: dict[str, list[Any]], tolerance: float) -> dict[str, str]:
    """Who differs from funcgrad, relative to the largest element."""
    problems: dict[str, str] = {}
    ours = answers.get("funcgrad", [])
    for peer, theirs in answers.items():
        for a, b in zip(ours, theirs, strict=False):
            worst = np.max(np.abs(a - b), initial=0.0) / max(np.max(np.abs(b), initial=0.0), 1e-30)
            if not worst < tolerance:
                problems[peer] = f"differs from funcgrad by {worst:.1e}"
    return problems


PROBES = {
    f"compiled-{name}-{short}": (
        f"{name} in {dtype}, compiled",
        "µs",
        partial(race, name, dtype),
    )
    for name in WORKLOADS
    for short, dtype in (("f64", "float64"), ("f32", "float32"))
}
