"""The memory that tensors share: where it begins, how long it is, and where a tensor lies in it.

The storage of a tensor is the memory of the array that it was made with; its views, detached
tensors and their views lie in it. A tensor that is no view for autograd, and yet shows part of
another one's memory, remembers the array of that (`_root`).
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.lib.array_utils import byte_bounds

from funcgrad.torch.device import CPU
from funcgrad.torch.root import ROOT
from funcgrad.torch.tensor_arrays import as_array

if TYPE_CHECKING:
    from funcgrad.torch._tensor import Tensor

__all__ = [
    "TypedStorage",
    "UntypedStorage",
    "address",
    "in_storage",
    "place_of",
    "resize",
    "root_of",
    "storage_of",
]

Bytes = np.ndarray[Any, Any]
T = TypeVar("T")


class UntypedStorage:
    """The memory of a tensor, as bytes.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.arange(4, dtype=torch.uint8)
    >>> x[2:].untyped_storage().tolist()
    [0, 1, 2, 3]
    """

    __slots__ = ("__weakref__", "memory", "owner")

    def __init__(self, memory: Any = 0, owner: Any = None) -> None:
        if not isinstance(memory, np.ndarray):
            memory = np.zeros(memory, np.uint8) if isinstance(memory, int) else memory
        self.memory: Bytes = np.asarray(memory, np.uint8)
        self.owner = owner  # keeps the array alive by whose address the storage is found

    def data_ptr(self) -> int:
        """The address of the first byte; 0 of an empty storage."""
        return address(self.memory) if self.memory.size else 0

    def size(self) -> int:
        """The number of bytes."""
        return self.memory.size

    nbytes = __len__ = size

    def element_size(self) -> int:
        """1: the elements are bytes."""
        return 1

    @property
    def device(self) -> Any:
        return CPU

    @property
    def is_cuda(self) -> bool:
        return False

    def is_shared(self) -> bool:
        """No: not with other processes."""
        return False

    def is_pinned(self, device: Any = "cuda") -> bool:
        """No: there is the CPU only."""
        return False

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        found: list[int] = self.memory.tolist()
        return found

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return UntypedStorage(self.memory[index], self.owner)
        return int(self.memory[self._place(index)])

    def __setitem__(self, index: Any, value: int) -> None:
        self.memory[index if isinstance(index, slice) else self._place(index)] = value

    def _place(self, index: Any) -> int:
        n = self.memory.size
        if not -n <= index < n:
            raise IndexError(f"index {index} out of range for storage of size {n}")
        return int(index)

    def fill_(self, value: int) -> UntypedStorage:
        """Write one number into all bytes."""
        self.memory[...] = value
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Write the bytes of another storage."""
        self.memory[...] = source.memory
        return self

    def clone(self) -> UntypedStorage:
        """A storage of its own with the same bytes."""
        return UntypedStorage(self.memory.copy())

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        made = self.clone()
        memo[id(self)] = made
        return made

    def __reduce__(self) -> Any:
        return UntypedStorage, (np.array(self.memory),)

    def __repr__(self) -> str:
        lines = "".join(f" {byte}\n" for byte in self.tolist())
        return f"{lines}[torch.storage.UntypedStorage(device=cpu) of size {self.size()}]"


class TypedStorage:
    """The memory of a tensor as numbers of its dtype, which PyTorch has given up for bytes.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.arange(4)[2:].storage().tolist()
    [0, 1, 2, 3]
    """

    __slots__ = ("_untyped_storage", "dtype")

    def __init__(self, memory: UntypedStorage, dtype: Any) -> None:
        self._untyped_storage, self.dtype = memory, dtype

    def _numbers(self) -> Bytes:
        memory = self._untyped_storage.memory
        width = self.dtype.itemsize
        return memory[: memory.size // width * width].view(self.dtype.numpy)

    def untyped(self) -> UntypedStorage:
        """The memory as bytes."""
        return self._untyped_storage

    @property
    def device(self) -> Any:
        return CPU

    @property
    def is_cuda(self) -> bool:
        return False

    def size(self) -> int:
        """The number of elements."""
        return self._numbers().size

    __len__ = size

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """The bytes of an element."""
        width: int = self.dtype.itemsize
        return width

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._untyped_storage.data_ptr()

    def tolist(self) -> list[Any]:
        """The elements as Python's numbers."""
        found: list[Any] = self._numbers().tolist()
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def _place(self, index: Any) -> int:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        n = self.size()
        if not -n <= index < n:
            raise IndexError(f"index {index} out of range for storage of size {n}")
        return int(index)

    def __getitem__(self, index: Any) -> Any:
        return self._numbers()[self._place(index)].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._numbers()[index if isinstance(index, slice) else self._place(index)] = value

    def fill_(self, value: Any) -> TypedStorage:
        """Write one number into all elements."""
        self._numbers()[...] = value
        return self

    def __repr__(self) -> str:
        lines = "".join(f" {x}\n" for x in self.tolist())
        kind = f"dtype={self.dtype}, device=cpu"
        return f"{lines}[torch.storage.TypedStorage({kind}) of size {self.size()}]"


# One storage for each piece of memory in use: an entry lives as long as its storage, which holds
# the array, so no other memory can have the same bounds meanwhile.
storages: weakref.WeakValueDictionary[tuple[int, int], UntypedStorage] = (
    weakref.WeakValueDictionary()
)


def address(array: Bytes) -> int:
    """Where the first element of an array lies."""
    found: int = array.__array_interface__["data"][0]
    return found


def root_of(x: Tensor) -> Bytes:
    """The array of whose memory `x` shows a part, or all."""
    base = x if x._link is None else x._link.base
    root: Bytes | None = getattr(base, "_root", None)
    return as_array(base) if root is None else root


def in_storage(made: T, x: Tensor, whole: bool = True) -> T:
    """`made`, which shows the memory of `x` (`whole`: all of it), and is no view for autograd."""
    if x._link is not None or not whole or hasattr(x, "_root"):
        made._root = root_of(x)  # type: ignore[attr-defined]
    return made


def _bytes_of(root: Bytes) -> Bytes:
    """The memory between the bounds of an array, gaps and all."""
    low, high = byte_bounds(root)
    if not root.size:
        return np.empty(0, np.uint8)
    lowest = tuple(n - 1 if s < 0 else 0 for n, s in zip(root.shape, root.strides, strict=True))
    first = root[(*lowest, ...)].reshape(1).view(np.uint8)
    return np.lib.stride_tricks.as_strided(
        first, (high - low,), (1,), writeable=root.flags.writeable
    )


def storage_of(x: Tensor) -> UntypedStorage:
    """The storage in which a tensor lies: one object for as long as anybody holds it."""
    root = root_of(x)
    key = byte_bounds(root)
    found = storages.get(key)
    if found is None:
        found = UntypedStorage(_bytes_of(root), root)
        if root.size:
            storages[key] = found
    return found


def place_of(x: Tensor) -> tuple[UntypedStorage, int]:
    """The storage in which a tensor lies, and how many bytes after its beginning."""
    found, array = storage_of(x), as_array(x)
    return found, address(array) - found.data_ptr() if array.size and found.size() else 0


def resize(x: Tensor, shape: tuple[int, ...]) -> None:
    """Give `x` another shape: in its storage where that suffices, else in fresh memory.

    The first elements of the memory stay.
    """
    old, (storage, offset) = as_array(x), place_of(x)
    count = math.prod(shape)
    if offset + count * old.itemsize <= storage.size():
        memory, x._root = storage.memory, root_of(x)
    else:
        memory = x._root = np.empty(offset + count * old.itemsize, np.uint8)
        kept = min(memory.size, storage.size())
        memory[:kept] = storage.memory[:kept]
    x._t.value = np.ndarray(shape, old.dtype, memory, offset)
    x._t.kind = ROOT.kind_of(x._t.value)
