"""What the functions of moving windows share: their arguments as PyTorch takes and refuses them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.axes import squeeze, unsqueeze
from funcgrad.torch.operations.common import shape_of

__all__ = ["batched", "is_ints", "refused_call", "spread"]


def is_ints(given: Any) -> bool:
    """Whether an argument is a whole number or a sequence of them."""
    items = given if isinstance(given, (tuple, list)) else (given,)
    return all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in items)


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


def refused_call(name: str, signatures: tuple[str, ...], *args: Any, **kwargs: Any) -> TypeError:
    """PyTorch's error for arguments that fit none of several signatures."""
    got = [type(x).__name__ for x in args]
    got += [f"{key}={type(x).__name__}" for key, x in kwargs.items()]
    listed = "".join(f" * ({s})\n" for s in signatures)
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({', '.join(got)}), but "
        f"expected one of:\n{listed}"
    )


def batched(name: str, rank: int, input: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """`function` of the batch `input`, or of the only example that it is."""
    shape = shape_of(input)
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, but got "
            f"input of size: {list(shape)}"
        )
    if len(shape) == rank + 2:
        return function(input)
    return squeeze(function(unsqueeze(input, 0)), 0)
