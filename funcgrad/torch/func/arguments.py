"""What the transforms of tensors share: picked arguments, trees of tensors, the border."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.types import Array
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.autograd_state import check_differentiable
from funcgrad.torch.func.writes import IN_GRAD, without_leaks
from funcgrad.torch.gradients import conjugated
from funcgrad.torch.modes import enable_grad, modes
from funcgrad.torch.root import bare

__all__ = [
    "Argnums",
    "chosen",
    "conjugated_tree",
    "differentiable",
    "finished",
    "only_tensors",
    "recording",
    "replaced",
    "structure_of",
    "tensor_leaves",
    "without_classes",
    "wrapped_argnums",
]

Argnums = int | tuple[int, ...]


def wrapped_argnums(argnums: Any, count: int) -> tuple[int, ...]:
    """`argnums` as non-negative positions."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    found = tuple(_wrapped(k, count) for k in ([argnums] if isinstance(argnums, int) else argnums))
    if not found:
        raise RuntimeError("argnums must be non-empty")
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {found}")
    return found


def _wrapped(k: Any, count: int) -> int:
    if not isinstance(k, int):
        raise RuntimeError(f"argnum must be int, got: {type(k)}")
    if not -count <= k < count:
        raise RuntimeError(f"Got argnum={k}, but only {count} positional inputs")
    return k % count


def chosen(args: Sequence[Any], argnums: Any) -> tuple[Any, ...]:
    """The arguments that `argnums` names."""
    return tuple(args[k] for k in wrapped_argnums(argnums, len(args)))


def replaced(args: Sequence[Any], argnums: Any, new: Sequence[Any]) -> list[Any]:
    """The arguments with those that `argnums` names replaced."""
    full = list(args)
    for k, x in zip(wrapped_argnums(argnums, len(args)), new, strict=True):
        full[k] = x
    return full


def tensor_leaves(x: Any) -> list[Any]:
    """The tensors in a tree, and what else is a leaf of it."""
    leaves, definition = tree.flatten(x)
    return [
        box(leaf) if is_tensor else leaf
        for leaf, is_tensor in zip(leaves, tensor_mask(definition), strict=True)
    ]


def structure_of(x: Any) -> tree.TreeDef:
    """The structure of a tree, in which a tensor is a leaf."""
    return _without_boxes(tree.structure(x))


def _without_boxes(definition: tree.TreeDef) -> tree.TreeDef:
    if definition.kind is None or issubclass(definition.kind, Tensor):
        return tree.TreeDef(None, None, ())
    return definition._replace(parts=tuple(map(_without_boxes, definition.parts)))


def without_classes(x: Any) -> Any:
    """A tree whose tensors are of no class of their own: the tangent of a Parameter is a Tensor."""
    leaves, definition = tree.flatten(x)
    return tree.unflatten(_of_tensors(definition), leaves)


def _of_tensors(definition: tree.TreeDef) -> tree.TreeDef:
    if definition.kind is None:
        return definition
    kind = Tensor if issubclass(definition.kind, Tensor) else definition.kind
    return definition._replace(kind=kind, parts=tuple(map(_of_tensors, definition.parts)))


def tensor_mask(definition: tree.TreeDef) -> list[bool]:
    """Which leaves are contents of tensors."""
    if definition.kind is None:
        return [False]
    if issubclass(definition.kind, Tensor):
        return [True]
    return [is_tensor for child in definition.parts for is_tensor in tensor_mask(child)]


def differentiable(x: Any) -> None:
    """Raise for a tree that holds anything but tensors that have derivatives."""
    for leaf in tensor_leaves(x):
        if not isinstance(leaf, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")
        check_differentiable(leaf.dtype, "only")


def only_tensors(x: Any, text: str) -> None:
    """Raise RuntimeError for a tree that holds anything but tensors; `text` names the type."""
    for leaf in tensor_leaves(x):
        if not isinstance(leaf, Tensor):
            raise RuntimeError(text.format(type(leaf)))


def recording(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` with recording switched on: a transform does not see the mode outside of it.

    It must not leave values of the transform in tensors that it captured.
    """
    checked = without_leaks(f, IN_GRAD)

    def run(*args: Any, **kwargs: Any) -> Any:
        with enable_grad():
            return checked(*args, **kwargs)

    return run


def finished(x: Any) -> Any:
    """Results without a history where the caller does not record."""
    if modes.grad:
        return x
    return tree.map(lambda c: bare(c), x)


def conjugated_tree(x: Any) -> Any:
    """PyTorch's convention for complex gradients, for every tensor of a tree."""
    return tree.map(_conjugated, x)


def _conjugated(c: Array) -> Array:
    return conjugated(c) if isinstance(c, np.ndarray | np.generic) or hasattr(c, "owner") else c
