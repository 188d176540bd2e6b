"""The hot path of the cross entropy of classes: the logarithm of a softmax, and its likelihood.

As in `linear_recorder`, it makes the two nodes that the general path makes, by the same native code
for values and cotangents (see `lines`), and decides nothing while it runs. Weights, other shapes
and dtypes, special modes, and what is to be refused (a class that is none) take the general path.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.config import config
from funcgrad.core.types import ArrayType
from funcgrad.ops.likelihood import NLL_LOSS
from funcgrad.ops.softmax import LOG_SOFTMAX
from funcgrad.torch import lines
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.modes import modes
from funcgrad.torch.native_runs import Run
from funcgrad.torch.nodes import GradNode
from funcgrad.torch.root import ROOT, RootTracer
from funcgrad.torch.versions import Version
from funcgrad.transforms.node import Cotangents, add, seq

__all__ = ["written"]

ndarray = np.ndarray
INTEGER = np.dtype(np.int64)
ROWS: dict[str, Any] = {"axis": 1}
MANY = 1 << 10  # kinds of operands; then all are forgotten


class _Hot(GradNode):
    """What both nodes have: the first operand alone is moved."""

    __slots__ = ()
    hot, keeps = True, True
    line, extra = None, None

    def pull_quick(self, cts: Cotangents, g: Any) -> None:
        found = lines.pull(self, g)
        if found is None:
            super().pull_quick(cts, g)
            return
        p, c = self.parents[0], found[0]
        old = cts.get(p)
        cts[p] = c if old is None else add(old, c)


def written(softmax: type[GradNode], likelihood: type[GradNode]) -> Any:
    """The hot path, for the classes of the nodes."""

    class Logarithm(softmax, _Hot):  # type: ignore[misc, valid-type]
        __slots__ = ()
        prim, params, counts = LOG_SOFTMAX, ROWS, (0,)

    class Likelihood(likelihood, _Hot):  # type: ignore[misc, valid-type]
        __slots__ = ()  # what `inner` has of a composite, here is by how many rows was divided
        prim, made = NLL_LOSS, None

        def pull_quick(self, cts: Cotangents, g: Any) -> None:
            kept, x = self.inner, self.avals[0]
            if type(kept) is not int or type(g) is not x.dtype.type or not config.kernels:
                super().pull_quick(cts, g)
                return
            c = lines.likelihood_back(g, self.saved[2], x.shape, self.params["ignore"], kept)
            p = self.parents[0]
            old = cts.get(p)
            cts[p] = c if old is None else add(old, c)

    Logarithm.__name__, Likelihood.__name__ = softmax.__name__, likelihood.__name__

    def cross_entropy(input: Any, target: Any, ignore: Any, reduction: str) -> Tensor | None:
        """The loss; None where the general path has to look."""
        if modes.hot is None or modes.watching is not None or type(ignore) is not int:
            return None
        if not (isinstance(input, Tensor) and isinstance(target, Tensor)):
            return None
        t, u, link = input._t, target._t, input._link
        if not (type(t) is type(u) is RootTracer) or t.node is None or u.node is not None:
            return None
        x, classes, held = t.value, u.value, t.held_version
        if link is not None and link.seen != held.so_far:
            return None
        if type(x) is not ndarray or x.ndim != 2 or _is_inference(held, u.held_version):
            return None
        found = _found(t.kind, x, classes, reduction, ignore)
        if found is None:
            return None
        logs, loss, kept = found
        below, node, between = Logarithm(), Likelihood(), RootTracer()
        between.value, between.node, between.kind = logs, below, None
        between.held_version = version = Version()
        below.parents, below.saved, below.made = (t.node,), (logs, None), (version, 0)
        below.avals, node.avals = _types(x.shape, x.dtype)
        below.origins, below.seq = (None,), next(seq)
        node.params, node.parents = _settings(reduction, ignore), (below, None)
        node.saved, node.origins = (None, logs, classes), (between, u)
        node.counts = (0, 0 if u.held_version is None else u.held_version.so_far)
        node.inner, node.seq = kept, next(seq)
        return box(ROOT.tracer(loss, node))

    return cross_entropy


_calls: dict[Any, Callable[..., Any]] = {}


def _found(kind: Any, x: Any, classes: Any, reduction: str, ignore: int) -> Any:
    """The logarithms of the softmax, the loss, and by how many rows it was divided; None where the
    general path has to look.
    """
    call = _calls.get((kind, ignore))
    if call is not None and (reduction == "mean" or reduction == "sum") and config.kernels:
        made = call(x, classes)
        if made is not NotImplemented:
            logs, sums, counts = made
            loss = lines.likelihood_of(sums, counts, reduction)
            return None if loss is None else (logs, *loss)
    logs = lines.value(LOG_SOFTMAX, (x,), ROWS)
    loss = None if logs is None else lines.likelihood(logs, classes, reduction, ignore)
    if loss is None:
        return None
    if kind is not None and call is None:
        if len(_calls) >= MANY:
            _calls.clear()
        _calls[kind, ignore] = Run.of(lambda x, classes: _both(x, classes, ignore), x, classes)
    return (logs, *loss)


def _both(x: Any, classes: Any, ignore: int) -> Any:
    logs = lines.value(LOG_SOFTMAX, (x,), ROWS)
    return (logs, *lines.likelihoods(logs, classes, ignore))


def _is_inference(*versions: Any) -> bool:
    return any(v is not None and v.inference for v in versions)


@functools.lru_cache(1 << 10)
def _types(shape: Any, dtype: Any) -> tuple[tuple[ArrayType, ...], tuple[ArrayType, ...]]:
    x = ArrayType(shape, dtype)
    return (x,), (x, ArrayType(shape[:1], INTEGER))


@functools.lru_cache(64)
def _settings(reduction: str, ignore: int) -> dict[str, Any]:
    return {"reduction": reduction, "ignore": ignore}
