"""``torch.autograd.graph``: nodes, edges, and hooks on what is saved and on several tensors."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.autograd import nodes as _nodes  # noqa: F401 (what nodes can do)
from funcgrad.torch.autograd.backward_and_grad import GradientEdge
from funcgrad.torch.graph_task import current_task
from funcgrad.torch.hooks import RemovableHandle
from funcgrad.torch.modes import modes
from funcgrad.torch.nodes import NodeFace, edge_of
from funcgrad.torch.versions import Version

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]

Node = NodeFace


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place of a tensor in the graph.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.autograd.graph.get_gradient_edge(x * 2).node.name()
    'MulBackward0'
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    return GradientEdge(*edge_of(tensor._renewed().node))


def increment_version(tensor: Any) -> None:
    """Count a change of the memory that was made behind the library's back."""
    for x in [tensor] if isinstance(tensor, Tensor) else tensor:
        if not x.is_inference():
            x._t.version.count += 1


# -------------------------------------------------------------------------- hooks on what is saved


class saved_tensors_hooks:
    """A context in which what operations save is packed by one function, and unpacked by another.

    Parameters
    ----------
    pack_hook : callable
        Called with each tensor that is saved; what it returns is kept.
    unpack_hook : callable
        Called with that when the tensor is needed; returns a tensor.

    Raises
    ------
    RuntimeError
        Where `disable_saved_tensors_hooks` holds, and for a pack hook that changes its argument.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
    ...     y = x.sin().sum()
    >>> y.grad_fn.next_functions[0][0]._raw_saved_self.__class__.__name__
    'SavedTensor'
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[..., Any]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> Any:
        if modes.saved_hooks_refused is not None:
            raise RuntimeError(modes.saved_hooks_refused)
        modes.saved_hooks = (*modes.saved_hooks, (self.pack_hook, self.unpack_hook))

    def __exit__(self, *_: object) -> None:
        modes.saved_hooks = modes.saved_hooks[:-1]


class save_on_cpu(saved_tensors_hooks):
    """A context in which what is saved is kept in the memory of the CPU, as it is here anyway."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: tensor, lambda packed: packed)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """A context in which `saved_tensors_hooks` raises RuntimeError with this message."""
    if modes.saved_hooks:
        raise RuntimeError(error_message)
    before, modes.saved_hooks_refused = modes.saved_hooks_refused, error_message
    try:
        yield
    finally:
        modes.saved_hooks_refused = before


class _Original:
    """A saved tensor; it gets a copy of the values when the storage is written."""

    __slots__ = ("__weakref__", "context", "inner", "saved")

    def __init__(self, context: _Context, value: Any) -> None:
        self.context, self.saved, self.inner = context, (value,), None


class _Context:
    """What `allow_mutation_on_saved_tensors` gives: whether it still holds."""

    open = True


class _Mutable(threading.local):
    context: _Context | None = None


mutable = _Mutable()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_Context]:
    """A context in which saved tensors may be changed in place: the graph keeps their old values.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     a = torch.ones(2, requires_grad=True)
    ...     b = a.clone()
    ...     out = (b**2).sum()
    ...     _ = b.sin_()
    ...     out.backward()
    >>> a.grad
    tensor([2., 2.])
    """
    if mutable.context is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = _Context()

    def pack(tensor: Tensor) -> _Original:
        t = tensor._t
        held = _Original(context, t.value)
        version: Version = t.version
        version.kept_by(held, 0)
        return held

    def unpack(held: _Original) -> Tensor:
        if not held.context.open:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
                "in which the graph was originally recorded."
            )
        return box(held.saved[0])

    mutable.context = context
    try:
        with saved_tensors_hooks(pack, unpack):
            yield context
    finally:
        mutable.context, context.open = None, False


# --------------------------------------------------------------------- hooks on several tensors


class _Handles(RemovableHandle):
    """Removes the hooks of several tensors."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn` in a backward pass once the gradients of several tensors are known.

    Parameters
    ----------
    tensors : sequence of Tensor
    fn : callable
        With ``mode="all"`` it gets the list of the gradients, with None for tensors that the pass
        does not reach, after the last one; with ``mode="any"`` the first gradient.

    Returns
    -------
    RemovableHandle

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> handle = torch.autograd.graph.register_multi_grad_hook((a, b), print)
    >>> (a * b).backward()
    [tensor([1.]), tensor([1.])]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        return _on_any(tensors, fn)
    if not all(t.requires_grad for t in tensors):
        raise AssertionError("Expected gradient function to be set")
    nodes_ = [get_gradient_edge(t).node for t in tensors]
    found: dict[int, list[Any]] = {}  # by the pass: the gradients, how many there are and will be
    lock = threading.RLock()  # a signal's handler may run a pass in the middle

    def hook(k: int, g: Any) -> None:
        task = _task()
        with lock:
            if task.id not in found:
                found[task.id] = [[None] * len(tensors), 0, sum(map(task.will_execute, nodes_))]
            entry = found[task.id]
            entry[0][k] = g
            entry[1] += 1
            done = entry[1] == entry[2]
            if done:
                del found[task.id]
        if done:
            fn(entry[0])

    return _Handles([t.register_hook(functools.partial(hook, k)) for k, t in enumerate(tensors)])


def _on_any(tensors: Sequence[Tensor], fn: Callable[..., Any]) -> RemovableHandle:
    seen: set[int] = set()
    lock = threading.RLock()  # a signal's handler may run a pass in the middle

    def hook(g: Any) -> None:
        task = _task()
        with lock:
            first = task.id not in seen
            seen.add(task.id)
        if first:
            fn(g)

    return _Handles([t.register_hook(hook) for t in tensors if t.requires_grad])


def _task() -> Any:
    task = current_task()
    assert task is not None, "expected this hook to be called inside a backward call"
    return task
