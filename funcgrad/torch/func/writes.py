"""Writes of a function under a transform: into its arguments, and into tensors it captured.

Inside a transform an in-place operation replaces the content of a tensor. What was written into an
argument of `vmap` or `jvp` has to reach the caller's tensor; what was written into a tensor that
is older than the call must not stay there, because it belongs to the transform.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

from funcgrad import tree
from funcgrad.core.tracer import Tracer
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.modes import modes
from funcgrad.torch.writing import check_writable, write

__all__ = ["IN_GRAD", "IN_VMAP", "pairs", "without_leaks", "write_back"]

IN_GRAD = (
    "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call an "
    "in-place operation that would mutate a captured Tensor. This is not supported; please rewrite "
    "the function being transformed to explicitly accept the mutated Tensor(s) as inputs."
)
IN_VMAP = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor "
    "`other` in extra_args that has more elements than `self`. This happened due to `other` being "
    "vmapped over but `self` not being vmapped over in a vmap. Please try to use out-of-place "
    "operators instead of inplace arithmetic."
)


def without_leaks(f: Callable[..., Any], message: str) -> Callable[..., Any]:
    """`f`, and RuntimeError with a message if it left values of its transform in older tensors.

    These have their contents back then. A tensor that `f` made itself is gone when it has returned,
    or is part of what it returns.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        before, modes.written = modes.written, []
        try:
            out = f(*args, **kwargs)
            kept = [(reference, old) for reference, old in modes.written if _alive(reference)]
        finally:
            modes.written = before
        if kept:
            _check_gone(kept, out, message)
        return out

    return run


def _alive(reference: Any) -> bool:
    x = reference()
    return x is not None and isinstance(x._t, Tracer)


def _check_gone(kept: list[Any], out: Any, message: str) -> None:
    results = {id(leaf) for leaf in tree.leaves(out)}
    kept = [pair for pair in kept if id(pair[0]()._t) not in results]
    if kept:
        gc.collect()  # a tensor in a cycle is no one's any more
    left = [(x, old) for reference, old in kept if (x := reference()) is not None]
    for x, old in reversed(left):
        x._t = old
    if left:
        raise RuntimeError(message)


def pairs(given: Any, inner: Any) -> Iterator[tuple[Tensor, Tensor]]:
    """The tensors of the arguments, each with that which the function was given in its place."""
    if isinstance(given, Tensor) and isinstance(inner, Tensor):
        yield given, inner
    elif isinstance(given, dict):
        for k in given:
            yield from pairs(given[k], inner[k])
    elif isinstance(given, (tuple, list)):
        for one, other in zip(given, inner, strict=True):
            yield from pairs(one, other)


def write_back(x: Tensor, content: Any) -> None:
    """Write into the caller's tensor what a function wrote into its argument."""
    check_writable(x)
    write(x, content)
