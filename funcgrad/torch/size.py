"""`Size`: the shape of a tensor."""

from __future__ import annotations

from typing import Any

__all__ = ["Size"]


class Size(tuple[int, ...]):
    """A shape, printed as PyTorch prints it.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.ones(2, 3).shape
    torch.Size([2, 3])
    """

    __slots__ = ()

    def __new__(cls, sizes: Any = ()) -> Size:
        """A shape of integers; a TypeError for anything else."""
        found = []
        for k, n in enumerate(sizes):
            if isinstance(n, float) or not hasattr(n, "__index__"):
                raise TypeError(
                    f"torch.Size() takes an iterable of 'int' (item {k} is '{type(n).__name__}')"
                )
            found.append(n.__index__())
        return tuple.__new__(cls, found)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        size = 1
        for extent in self:
            size *= extent
        return size

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            raise TypeError(
                f"can only concatenate tuple (not {type(other).__name__}) to torch.Size"
            )
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        return Size(other + tuple(self))

    def __mul__(self, times: Any) -> Any:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__
