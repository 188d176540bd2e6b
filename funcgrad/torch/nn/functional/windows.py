"""What the functions of moving windows share: their arguments as PyTorch takes and refuses them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.axes import squeeze, unsqueeze
from funcgrad.torch.operations.common import shape_of
from funcgrad.torch.operations.requirements import requirements

__all__ = ["batched", "spread"]


def spread(given: Any, rank: int, weight: Sequence[int], name: str) -> tuple[int, ...]:
    """A number for each dimension of `weight` but two; PyTorch's error for another count of them.

    A single number stands for `rank` of them.
    """
    items = tuple(given) if isinstance(given, (tuple, list)) else (given,) * rank
    many = max(len(weight) - 2, 1)
    if len(items) not in (1, many):
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {many} values to match the "
            f"convolution dimensions, but got {name}={list(items)}"
        )
    return tuple(map(int, items * many if len(items) == 1 else items))


_check_images = requirements(
    "name, rank, shape",
    """
    len(shape) in (rank + 1, rank + 2): Expected {rank + 1}D (unbatched) or {rank + 2}D (batched)
        input to {name}, but got input of size: {[*shape]}
    """,
)


def batched(name: str, rank: int, input: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """`function` of the batch `input`, or of the only example that it is."""
    shape = shape_of(input)
    _check_images(name, rank, shape)
    if len(shape) == rank + 2:
        return function(input)
    return squeeze(function(unsqueeze(input, 0)), 0)
