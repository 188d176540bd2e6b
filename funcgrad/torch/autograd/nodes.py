"""What user code may do with a node: hooks, its inputs' types, what it saved."""

from __future__ import annotations

from typing import Any, NamedTuple

from funcgrad.torch import dtypes
from funcgrad.torch.hooks import RemovableHandle, add_hook
from funcgrad.torch.nodes import SAVED_READERS, NodeFace, output_types
from funcgrad.torch.saved import SavedTensor, saved_tensor

__all__ = ["InputMetadata"]


class InputMetadata(NamedTuple):
    """The type of one output of the operation: of what comes into the node in a backward pass."""

    shape: list[int]
    dtype: dtypes.dtype
    device: str = "cpu"
    is_nested_tensor: bool = False


def register_hook(self: NodeFace, fn: Any) -> RemovableHandle:
    """Call ``fn(grad_inputs, grad_outputs)`` after the node; it may return other grad_inputs."""
    return add_hook(self.more.node_hooks, fn)


def register_prehook(self: NodeFace, fn: Any) -> RemovableHandle:
    """Call ``fn(grad_outputs)`` before the node; it may return others."""
    return add_hook(self.more.pre_hooks, fn)


def _input_metadata(self: Any) -> list[InputMetadata]:
    """The types of what comes into the node."""
    return [
        InputMetadata(list(t.shape), dtypes.from_numpy_dtype(t.dtype)) for t in output_types(self)
    ]


SAVED_READERS.extend((saved_tensor, SavedTensor))

for _name, _member in (
    ("register_hook", register_hook),
    ("register_prehook", register_prehook),
    ("_input_metadata", property(_input_metadata)),
):
    setattr(NodeFace, _name, _member)
