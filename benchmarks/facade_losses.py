"""The losses of `funcgrad.torch` against PyTorch's, each with its backward pass.

One call makes a loss of tensors with `size` elements, reduced to its mean, and pulls the gradient
of what a network would have given. Targets are no leaves. The ratios of all losses stand in one
table with their geometric mean. Kernels that are not on disk yet are compiled when they have paid,
so the first run measures NumPy as well; the second one counts.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.facade_operations import ratios
from benchmarks.peers import Peer
from benchmarks.rounds import Call

__all__ = ["LOSSES", "PROBES", "loss"]

CLASSES = 10
DTYPES = {"f32": "float32", "f64": "float64"}


class Data:
    """What losses are of: `size` elements as a vector, and as examples of some classes each."""

    def __init__(self, torch: Any, size: int, classes: int, dtype: Any) -> None:
        count = size // classes
        spread = torch.arange(size, dtype=torch.float64) * 0.6180339887498949
        away = torch.arange(size, dtype=torch.float64) * 0.7548776662466927
        unit, other = (spread % 1.0).to(dtype), (away % 1.0).to(dtype)
        self.x = (unit * 4 - 2).requires_grad_()
        self.y = other * 4 - 2
        self.z = ((unit + other) - 1.0).requires_grad_()
        self.p = (unit * 0.98 + 0.01).requires_grad_()
        self.q = other * 0.98 + 0.01
        self.sign = (other > 0.5).to(dtype) * 2 - 1
        self.count = (other * 5).floor()
        self.rows = (unit * 4 - 2).reshape(count, classes).detach().clone().requires_grad_()
        self.logs = torch.log_softmax(self.rows.detach(), 1).requires_grad_()
        self.others = self.y.reshape(count, classes)
        self.thirds = self.q.reshape(count, classes)
        self.classes = (torch.arange(count) * 7) % classes
        self.some = self.classes.clone()
        self.some[::5] = -100
        self.shares = torch.softmax(self.others, 1)
        self.weight = torch.linspace(0.5, 1.5, classes, dtype=dtype)
        self.present = (self.thirds > 0.5).to(dtype)
        self.chosen = torch.full((count, classes), -1)
        self.chosen[:, 0], self.chosen[:, 1] = self.classes, (self.classes + 3) % classes
        self.example_sign = self.sign[:count].clone()
        self.pixels = self.rows.detach().reshape(1, classes, count).clone().requires_grad_()
        self.pixel_classes = self.classes.reshape(1, count)


# the functional namespace and the data: which loss is made, and of which tensor is the gradient
LOSSES: dict[str, tuple[Callable[[Any, Data], Any], str]] = {
    "mse": (lambda F, d: F.mse_loss(d.x, d.y), "x"),
    "l1": (lambda F, d: F.l1_loss(d.x, d.y), "x"),
    "smooth_l1": (lambda F, d: F.smooth_l1_loss(d.x, d.y), "x"),
    "huber": (lambda F, d: F.huber_loss(d.x, d.y), "x"),
    "bce": (lambda F, d: F.binary_cross_entropy(d.p, d.q), "p"),
    "bce_logits": (lambda F, d: F.binary_cross_entropy_with_logits(d.x, d.q), "x"),
    "bce_logits-weighted": (
        lambda F, d: F.binary_cross_entropy_with_logits(
            d.rows, d.thirds, d.weight, pos_weight=d.weight
        ),
        "rows",
    ),
    "soft_margin": (lambda F, d: F.soft_margin_loss(d.x, d.sign), "x"),
    "kl_div": (lambda F, d: F.kl_div(d.logs, d.shares, reduction="sum"), "logs"),
    "kl_div-log": (
        lambda F, d: F.kl_div(d.logs, d.others, reduction="sum", log_target=True), "logs"
    ),
    "poisson_nll": (lambda F, d: F.poisson_nll_loss(d.x, d.count), "x"),
    "gaussian_nll": (lambda F, d: F.gaussian_nll_loss(d.x, d.y, d.p), "x"),
    "hinge_embedding": (lambda F, d: F.hinge_embedding_loss(d.x, d.sign), "x"),
    "margin_ranking": (lambda F, d: F.margin_ranking_loss(d.x, d.z, d.sign, 0.1), "x"),
    "cosine_embedding": (
        lambda F, d: F.cosine_embedding_loss(d.rows, d.others, d.example_sign), "rows"
    ),
    "triplet_margin": (lambda F, d: F.triplet_margin_loss(d.rows, d.others, d.thirds), "rows"),
    "multi_margin": (lambda F, d: F.multi_margin_loss(d.rows, d.classes), "rows"),
    "multilabel_margin": (lambda F, d: F.multilabel_margin_loss(d.rows, d.chosen), "rows"),
    "multilabel_soft_margin": (
        lambda F, d: F.multilabel_soft_margin_loss(d.rows, d.present), "rows"
    ),
    "nll": (lambda F, d: F.nll_loss(d.logs, d.classes), "logs"),
    "nll-weighted": (lambda F, d: F.nll_loss(d.logs, d.some, d.weight), "logs"),
    "cross_entropy": (lambda F, d: F.cross_entropy(d.rows, d.classes), "rows"),
    "cross_entropy-weighted": (lambda F, d: F.cross_entropy(d.rows, d.some, d.weight), "rows"),
    "cross_entropy-smoothed": (
        lambda F, d: F.cross_entropy(d.rows, d.classes, label_smoothing=0.1), "rows"
    ),
    "cross_entropy-shares": (lambda F, d: F.cross_entropy(d.rows, d.shares), "rows"),
    "cross_entropy-pixels": (lambda F, d: F.cross_entropy(d.pixels, d.pixel_classes), "pixels"),
}  # fmt: skip


def loss(name: str, dtype: str, size: int, classes: int, library: str) -> Call:
    """Some times a loss and its backward pass."""
    torch = importlib.import_module(library)
    function, of = LOSSES[name]
    data = Data(torch, size, classes, getattr(torch, DTYPES[dtype]))
    functional, x = torch.nn.functional, getattr(data, of)

    def call() -> Any:
        for _ in range(calls(size)):
            x.grad = None
            function(functional, data).backward()
        return x.grad.reshape(-1)[:1000] * size

    return call


def calls(size: int) -> int:
    return max(1, 100_000 // size)


def table(size: int, peers: list[Peer], repeat: int) -> tuple[dict[str, float], dict[str, str]]:
    """The ratio of each loss in both dtypes; of cross entropy also with many classes."""
    makers = {f"{name} {dtype}": partial(loss, name, dtype, size, CLASSES)
              for name in LOSSES for dtype in DTYPES}  # fmt: skip
    for dtype in DTYPES:
        wide = partial(loss, "cross_entropy", dtype, size, max(CLASSES, size // 1000))
        makers[f"cross_entropy-wide {dtype}"] = wide
    return ratios(makers, calls(size), peers, repeat)


PROBES = {
    f"facade-losses-{size}": (
        f"losses of {size} elements and their backward passes: ratios to PyTorch",
        "",
        partial(table, size),
    )
    for size in (1000, 10**6)
}
