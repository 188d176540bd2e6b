"""Single operations of `funcgrad.torch` against PyTorch's, each with its own backward pass.

One call makes the result of one operation on one or two vectors and pulls its cotangent back: what
is measured is what an operation and a backward pass cost besides arithmetic. On 3-vectors that is
everything, on 1000-vectors about half; on a million elements it is nothing, and what counts is how
often memory is read and written. The ratios of all operations stand in one table with their
geometric mean and the largest. Both libraries have two threads.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import Peer
from benchmarks.rounds import Call
from benchmarks.rounds import race as rounds

__all__ = ["OPERATIONS", "PROBES", "operation", "ratios"]

OURS, THEIRS = "funcgrad.torch", "torch"
TOLERANCE = 1e-4
THREADS = 2
CALLS = {3: 100, 1000: 100, 10**5: 4, 10**6: 1}  # in what is timed, by the size of the vectors
DTYPES = {"f32": "float32", "f64": "float64"}

# functions of the library, two vectors with elements between 0.1 and 0.9, and what belongs to them
Operation = Callable[[Any, Any, Any, Any], Any]


class Given:
    """Constants of the operations on vectors of `size`."""

    def __init__(self, torch: Any, size: int, dtype: Any) -> None:
        columns = {3: 1, 1000: 10}.get(size, 100)
        self.rows = (size // columns, columns)
        self.matrix = torch.linspace(-1.0, 1.0, 4 * size, dtype=dtype).reshape(4, size)
        self.last = torch.tensor([size - 1, 0, size - 1])
        self.places = torch.arange(size) * 7 % size
        self.classes = torch.arange(self.rows[0]) * 3 % columns
        self.mask = torch.arange(size) % 2 == 0


OPERATIONS: dict[str, Operation] = {
    # arithmetic
    "add": lambda torch, x, z, c: x + z,
    "sub": lambda torch, x, z, c: x - z,
    "mul": lambda torch, x, z, c: x * z,
    "div": lambda torch, x, z, c: x / z,
    "neg": lambda torch, x, z, c: -x,
    "scaled": lambda torch, x, z, c: x * 2.5,
    "from-one": lambda torch, x, z, c: 1 - x,
    "pow": lambda torch, x, z, c: x**2,
    "pow-tensor": lambda torch, x, z, c: x**z,
    # pointwise
    "exp": lambda torch, x, z, c: x.exp(),
    "log": lambda torch, x, z, c: torch.log(x),
    "sqrt": lambda torch, x, z, c: x.sqrt(),
    "sin": lambda torch, x, z, c: torch.sin(x),
    "tanh": lambda torch, x, z, c: torch.tanh(x),
    "sigmoid": lambda torch, x, z, c: torch.sigmoid(x),
    "relu": lambda torch, x, z, c: torch.relu(x),
    "abs": lambda torch, x, z, c: x.abs(),
    "clamp": lambda torch, x, z, c: x.clamp(0.2, 0.8),
    "maximum": lambda torch, x, z, c: torch.maximum(x, z),
    "where": lambda torch, x, z, c: torch.where(c.mask, x, z),
    "softplus": lambda torch, x, z, c: torch.nn.functional.softplus(x),
    "gelu": lambda torch, x, z, c: torch.nn.functional.gelu(x),
    "silu": lambda torch, x, z, c: torch.nn.functional.silu(x),
    "elu": lambda torch, x, z, c: torch.nn.functional.elu(x),
    "leaky_relu": lambda torch, x, z, c: torch.nn.functional.leaky_relu(x),
    "logsigmoid": lambda torch, x, z, c: torch.nn.functional.logsigmoid(x),
    # reductions
    "sum": lambda torch, x, z, c: x.sum(),
    "sum-dim": lambda torch, x, z, c: x.sum(0, keepdim=True),
    "mean": lambda torch, x, z, c: x.mean(),
    "prod": lambda torch, x, z, c: x.prod(),
    "max": lambda torch, x, z, c: x.max(),
    "max-dim": lambda torch, x, z, c: x.max(0).values,
    "var": lambda torch, x, z, c: x.var(),
    "norm": lambda torch, x, z, c: x.norm(),
    "logsumexp": lambda torch, x, z, c: torch.logsumexp(x, 0),
    "cumsum": lambda torch, x, z, c: x.cumsum(0),
    "sort": lambda torch, x, z, c: x.sort().values,
    "topk": lambda torch, x, z, c: x.topk(3).values,
    # shapes
    "reshape": lambda torch, x, z, c: x.reshape(1, -1),
    "view": lambda torch, x, z, c: x.view(-1, 1),
    "unsqueeze": lambda torch, x, z, c: x.unsqueeze(0),
    "expand": lambda torch, x, z, c: x.expand(2, -1),
    "flip": lambda torch, x, z, c: x.flip(0),
    "cat": lambda torch, x, z, c: torch.cat([x, z]),
    "stack": lambda torch, x, z, c: torch.stack([x, z]),
    "clone": lambda torch, x, z, c: x.clone(),
    # indexing
    "index": lambda torch, x, z, c: x[1],
    "slice": lambda torch, x, z, c: x[1:],
    "gather": lambda torch, x, z, c: x[c.last],
    "index_select": lambda torch, x, z, c: torch.index_select(x, 0, c.last),
    "masked_fill": lambda torch, x, z, c: x.masked_fill(c.mask, 0.5),
    "index_add": lambda torch, x, z, c: x.index_add(0, c.places, z),
    # products
    "dot": lambda torch, x, z, c: x @ z,
    "mv": lambda torch, x, z, c: c.matrix @ x,
    "mm": lambda torch, x, z, c: x.reshape(1, -1) @ z.reshape(-1, 1),
    "linear": lambda torch, x, z, c: torch.nn.functional.linear(x, c.matrix),
    # what networks end with
    "softmax": lambda torch, x, z, c: torch.softmax(x, 0),
    "log_softmax": lambda torch, x, z, c: torch.log_softmax(x, 0),
    "softmax-rows": lambda torch, x, z, c: torch.softmax(x.reshape(c.rows), 1),
    "batch_norm": lambda torch, x, z, c: torch.nn.functional.batch_norm(
        x.reshape(c.rows), None, None, training=True
    ),
    "layer_norm": lambda torch, x, z, c: torch.nn.functional.layer_norm(
        x.reshape(c.rows), c.rows[1:]
    ),
    "mse_loss": lambda torch, x, z, c: torch.nn.functional.mse_loss(x, z),
    "cross_entropy": lambda torch, x, z, c: torch.nn.functional.cross_entropy(
        x.reshape(c.rows), c.classes
    ),
    "bce-logits": lambda torch, x, z, c: torch.nn.functional.binary_cross_entropy_with_logits(x, z),
}


def operation(name: str, size: int, dtype: str, library: str) -> Call:
    """Calls of one operation on two vectors, each with its own backward pass."""
    torch = importlib.import_module(library)
    torch.set_num_threads(THREADS)
    kind = getattr(torch, DTYPES[dtype])
    function, given = OPERATIONS[name], Given(torch, size, kind)
    x = torch.linspace(0.1, 0.9, size, dtype=kind).requires_grad_()
    z = torch.linspace(0.9, 0.2, size, dtype=kind).requires_grad_()
    one = torch.ones(function(torch, x, z, given).shape, dtype=kind)

    def call() -> Any:
        for _ in range(CALLS[size]):
            x.grad = z.grad = None
            function(torch, x, z, given).backward(one)
        return x.grad

    return call


def shown(gradient: Any) -> Any:
    return np.asarray(gradient[:: max(1, len(gradient) // 1000)].tolist())


def disagreements(answers: dict[str, Any]) -> dict[str, str]:
    one, *others = answers.values()
    agree = all(np.allclose(one, other, TOLERANCE, TOLERANCE) for other in others)
    return {} if agree else {OURS: "differs from torch"}


def table(
    size: int, dtype: str, peers: list[Peer], repeat: int
) -> tuple[dict[str, float], dict[str, str]]:
    """The ratio of each operation, and their geometric mean; without PyTorch microseconds."""
    makers = {name: partial(operation, name, size, dtype) for name in OPERATIONS}
    return ratios(makers, CALLS[size], peers, repeat)


def ratios(
    makers: dict[str, Callable[[str], Call]], calls: int, peers: list[Peer], repeat: int
) -> tuple[dict[str, float], dict[str, str]]:
    """The ratios of what `makers` make for a library, which does `calls` times one thing."""
    libraries = [OURS] + [THEIRS] * any(peer.name == THEIRS for peer in peers)
    found: dict[str, float] = {}
    problems: dict[str, str] = {}
    for name, make in makers.items():
        each = {library: partial(make, library) for library in libraries}
        outcome = rounds(each, shown, repeat, disagreements)
        problems |= {f"{name}: {library}": text for library, text in outcome.problems.items()}
        if OURS not in outcome.timings:
            continue
        ours = outcome.timings[OURS]
        if THEIRS in outcome.timings:
            found[name] = ours.ratio(outcome.timings[THEIRS])
        elif len(libraries) == 1:
            found[name] = ours.median * 1e6 / calls
    if found:
        found["geometric mean"] = math.exp(sum(map(math.log, found.values())) / len(found))
    return found, problems


PROBES = {
    f"facade-operations-{size}-{dtype}": (
        f"single operations and their backward passes on {size} elements, {dtype}: ratios to "
        "PyTorch",
        "",
        partial(table, size, dtype),
    )
    for size in CALLS
    for dtype in DTYPES
}
