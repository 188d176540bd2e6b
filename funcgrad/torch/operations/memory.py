"""The memory of tensors: addresses, storages, views by strides, and other memory in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.modes import modes
from funcgrad.torch.narrow import refuse_bytes
from funcgrad.torch.operations.common import install, told, warn_once
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.recorded import Underivable
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.root import RootTracer
from funcgrad.torch.staged import staged
from funcgrad.torch.storage import (
    TypedStorage,
    UntypedStorage,
    address,
    place_of,
    resize,
    root_of,
    storage_of,
)
from funcgrad.torch.tensor_arrays import as_array
from funcgrad.torch.views import AS_STRIDED_NODE, make_view, strided
from funcgrad.torch.writing import check_writable

__all__ = ["UntypedStorage", "as_strided"]

Read = Callable[[Any], Any]


@operation("storage_offset", "input", variants="method")
def _storage_offset(self: Tensor) -> int:
    """Where the first element lies in the storage, in elements."""
    if type(self._t) is not RootTracer or staged(self._t.value):
        return 0
    whole = address(root_of(self))
    return (address(as_array(self)) - whole) // self.dtype.numpy.itemsize


@operation("data_ptr", "input", variants="method")
def _data_ptr(self: Tensor) -> int:
    """The address of the first element."""
    array = as_array(self)
    return address(array) if array.size else 0


@operation("untyped_storage", "input", variants="method")
def _untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory in which the tensor lies, as bytes."""
    refuse_bytes("storage()", self.dtype)
    return storage_of(self)


@operation("storage", "input", variants="method")
def _storage(self: Tensor) -> TypedStorage:
    """The memory as numbers; `untyped_storage` gives it as PyTorch wants it."""
    memory = _untyped_storage(self)
    warn_once(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be "
        "the only storage class. This should only matter to you if you are using storages directly."
        "  To access UntypedStorage directly, use tensor.untyped_storage() instead of "
        "tensor.storage()"
    )
    return TypedStorage(memory, self.dtype)


@operation("is_set_to", "input, tensor", variants="method")
def _is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both show the same memory in the same way."""
    a, b = as_array(self), as_array(tensor)
    return address(a) == address(b) and a.shape == b.shape and a.strides == b.strides


# --------------------------------------------------------------------------- views by strides


@requires("offset >= 0: Tensor: invalid storage offset {offset}")
def _check_bounds(
    shape: Sequence[int], steps: Sequence[int], offset: int, width: int, available: int
) -> None:
    if 0 in shape:
        return
    last = offset + sum((n - 1) * s for n, s in zip(shape, steps, strict=True))
    if last < 0 or (last + 1) * width > available:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(steps)}, storage offset {offset}, and "
            f"itemsize {width} requiring a storage size of {(last + 1) * width} are out of bounds "
            f"for storage of size {available}"
        )


@operation(
    "as_strided", "input, ints size, ints stride, int storage_offset=None", variants="method"
)
def as_strided(
    input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None
) -> Tensor:
    """A view by sizes and strides of the storage, counted in elements."""
    shape, steps, width = tuple(size), tuple(stride), input.dtype.numpy.itemsize
    if len(shape) != len(steps):
        raise RuntimeError("mismatch in length of strides and shape")
    offset = input.storage_offset() if storage_offset is None else storage_offset
    base = input if input._base is None else input._base
    if input.requires_grad and not base.requires_grad:  # a view that was made a leaf
        base = input
    if type(base._t) is not RootTracer or staged(base._t.value):
        array = np.empty(base.shape, base.dtype.numpy)
        _check_bounds(shape, steps, offset, width, array.nbytes)
        read = _reader(None, input, shape, steps, offset)
    else:
        array = as_array(base)
        _check_bounds(shape, steps, offset, width, storage_of(base).size())
        read = _reader(base, input, shape, steps, offset)
    made = make_view(base, read, lambda c: strided(c, array, read), AS_STRIDED_NODE)
    return told(made, size=shape, stride=steps, storage_offset=storage_offset)


def _reader(
    base: Tensor | None, input: Tensor, shape: tuple[int, ...], steps: tuple[int, ...], offset: int
) -> Read:
    """How the view is read: from the memory of the base, or from an array that is laid out so."""
    kind, width = input.dtype.numpy, input.dtype.numpy.itemsize
    begin, array, memory = 0, None, None
    if base is not None:
        array, memory = as_array(base), storage_of(base).memory
        begin = place_of(base)[1] // width
    first = offset - begin  # in what the base shows
    last = first + sum((n - 1) * s for n, s in zip(shape, steps, strict=True))

    def read(v: Any) -> Any:
        if v is array:
            if 0 in shape:
                return np.empty(shape, kind)
            return np.ndarray(shape, kind, memory, offset * width, [s * width for s in steps])
        flat = _flat(v, v.dtype if v.dtype.kind != "c" or kind.kind == "c" else v.real.dtype)
        if 0 not in shape and (first < 0 or last >= flat.size):
            raise RuntimeError(BEYOND.format(shape=list(shape), steps=list(steps), offset=offset))
        return np.lib.stride_tricks.as_strided(
            flat[max(first, 0) :], shape, [s * flat.itemsize for s in steps], writeable=True
        )

    return read


def _flat(v: Any, part: Any) -> Any:
    """The memory from the first to the last element of an array, in elements of the type `part`."""
    extent = 1 + sum((n - 1) * s // v.itemsize for n, s in zip(v.shape, v.strides, strict=True))
    if not v.size:
        return np.empty(0, part)
    count = extent * (v.itemsize // part.itemsize)
    start = v[(0,) * v.ndim + (...,)].reshape(1).view(part)
    return np.lib.stride_tricks.as_strided(start, (count,), (part.itemsize,), writeable=True)


BEYOND = (
    "as_strided: the sizes {shape}, strides {steps} and storage offset {offset} reach beyond the "
    "memory of a detached tensor into the rest of its storage, through which no gradient can go; "
    "take the view of the tensor that was detached, and detach it afterwards"
)


# ------------------------------------------------------------------------ other memory in place


@operation("resize_", "input, ints size, *, memory_format memory_format=None", variants="method")
@requires("not input.requires_grad: cannot resize variables that require grad")
def _resize_(input: Tensor, size: Sequence[int], memory_format: Any) -> Tensor:
    """Another size in place: the first elements are kept, more are undefined."""
    resize(input, tuple(size))
    return input


SET = Underivable("set_", lambda x, source: source)


def _set_(
    self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = (), stride: Any = ()
) -> Tensor:
    """Show the memory of another tensor, or a part of a storage, from now on."""
    check_writable(self)
    if isinstance(source, Tensor):
        shown, root = as_array(source), root_of(source)
        if source.dtype is not self.dtype:
            names = (dtypes.scalar_name(d).lower() for d in (source.dtype, self.dtype))
            raise RuntimeError("Could not set tensor of type {} to a tensor of type {}".format(
                *(CPP_NAMES.get(n, n) for n in names)))  # fmt: skip
    else:
        shown, root = _part(self, source, int(storage_offset), size, stride)
    recorded: Array = None
    if modes.grad and (self.requires_grad or (isinstance(source, Tensor) and source.requires_grad)):
        other = source.content() if isinstance(source, Tensor) else shown
        recorded = SET(self.content(), other)
    t = self._t
    t.version.before_write()
    fresh = box(shown.view())._t
    fresh.version = t.version
    fresh.version.count += 1
    if isinstance(recorded, RootTracer):
        recorded.node.become(SET_NODE)
        fresh.node = recorded.node
    self._t, self._link, self._root = fresh, None, root
    return self


CPP_NAMES = {
    "long": "long int", "half": "c10::Half", "char": "signed char", "byte": "unsigned char",
    "complexfloat": "c10::complex<float>", "complexdouble": "c10::complex<double>",
}  # fmt: skip
SET_NODE = node("NotImplemented")


def _part(
    x: Tensor, source: Any, offset: int, size: Any, stride: Any
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """What `set_` shows of a storage, and the array of that."""
    kind, width = x.dtype.numpy, x.element_size()
    if source is None:
        empty = np.empty(0, kind)
        return empty, empty
    refuse_bytes("set_()", x.dtype)
    if not isinstance(source, UntypedStorage):
        raise TypeError(
            "set_(): argument 'source' (position 1) must be Tensor or UntypedStorage, not "
            f"{type(source).__name__}"
        )
    shape = tuple(size) if size != () else (source.size() // width - offset,)
    steps = tuple(stride) if stride != () else tuple(
        int(np.prod(shape[k + 1 :])) for k in range(len(shape))
    )  # fmt: skip
    _check_bounds(shape, steps, offset, width, source.size())
    places = tuple(s * width for s in steps)
    return np.ndarray(shape, kind, source.memory, offset * width, places), source.memory


install(set_=_set_)
