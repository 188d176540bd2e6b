"""The normalisations of `funcgrad.torch` against PyTorch's, each with its backward pass.

One call normalises a tensor of `size` elements and pulls a cotangent back, to the tensor and to
weight and bias where there are some. The ratios of all stand in one table with their geometric
mean.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.facade_operations import ratios
from benchmarks.peers import Peer
from benchmarks.rounds import Call

__all__ = ["NORMALISATIONS", "PROBES", "normalisation"]

DTYPES = {"f32": "float32", "f64": "float64"}

# the library and the keywords of its layers: a function of rows, or of images
Layer = Callable[[Any, dict[str, Any], int], Any]
ROWS: dict[str, Layer] = {
    "layer_norm": lambda torch, kind, n: torch.nn.LayerNorm(n, **kind),
    "rms_norm": lambda torch, kind, n: torch.nn.RMSNorm(n, **kind),
    "batch_norm": lambda torch, kind, n: torch.nn.BatchNorm1d(n, **kind),
    "batch_norm-evaluation": lambda torch, kind, n: torch.nn.BatchNorm1d(n, **kind).eval(),
    "normalize": lambda torch, kind, n: torch.nn.functional.normalize,
    "softmax": lambda torch, kind, n: partial(torch.softmax, dim=1),
    "softmax-columns": lambda torch, kind, n: partial(torch.softmax, dim=0),
    "log_softmax": lambda torch, kind, n: partial(torch.log_softmax, dim=1),
    "logsumexp": lambda torch, kind, n: partial(torch.logsumexp, dim=1),
}
IMAGES: dict[str, Layer] = {
    "batch_norm-images": lambda torch, kind, n: torch.nn.BatchNorm2d(n, **kind),
    "group_norm-images": lambda torch, kind, n: torch.nn.GroupNorm(n // 2, n, **kind),
    "instance_norm-images": lambda torch, kind, n: torch.nn.InstanceNorm2d(n, affine=True, **kind),
}
NORMALISATIONS = ROWS | IMAGES
SIZES = {1280: ((128, 10), (2, 10, 8, 8)), 1_000_000: ((1000, 1000), (16, 64, 31, 31))}


def normalisation(name: str, dtype: str, size: int, library: str) -> Call:
    """Some times a normalisation and its backward pass."""
    torch = importlib.import_module(library)
    kind = {"dtype": getattr(torch, DTYPES[dtype])}
    shape = SIZES[size][name in IMAGES]
    count = 1
    for n in shape:
        count *= n
    spread = torch.arange(count, dtype=torch.float64) * 0.6180339887498949
    x = ((spread % 1.0) * 4 - 2).to(**kind).reshape(shape).requires_grad_()
    layer = NORMALISATIONS[name](torch, kind, shape[1])
    away = torch.arange(layer(x).numel(), dtype=torch.float64) * 0.7548776662466927
    g = (away % 1.0).to(**kind).reshape(layer(x).shape)

    def call() -> Any:
        for _ in range(calls(size)):
            x.grad = None
            layer(x).backward(g)
        return x.grad.reshape(-1)[:1000]

    return call


def calls(size: int) -> int:
    return max(1, 100_000 // size)


def table(size: int, peers: list[Peer], repeat: int) -> tuple[dict[str, float], dict[str, str]]:
    """The ratio of each normalisation in each dtype, and their geometric mean."""
    makers = {
        f"{name} {dtype}": partial(normalisation, name, dtype, size)
        for name in NORMALISATIONS
        for dtype in DTYPES
    }
    return ratios(makers, calls(size), peers, repeat)


PROBES = {
    f"facade-normalisations-{size}": (
        f"normalisations of {size} elements with their backward passes: ratios to PyTorch",
        "",
        partial(table, size),
    )
    for size in SIZES
}
