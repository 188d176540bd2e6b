"""Tensors of existing data: numbers, nested lists, NumPy arrays, buffers, other tensors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from funcgrad.errors import outside
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.autograd_state import check_differentiable
from funcgrad.torch.device import check_device
from funcgrad.torch.dimensions import check_requires_grad
from funcgrad.torch.narrow import refuse_bytes
from funcgrad.torch.operations.argument_kinds import PYTHON_DTYPES
from funcgrad.torch.operations.common import install, warn_once
from funcgrad.torch.operations.converting import to_dtype
from funcgrad.torch.operations.record import operation
from funcgrad.torch.tensor_arrays import as_array

__all__ = [
    "as_tensor", "asarray", "finished", "from_dlpack", "from_numpy", "frombuffer", "infer",
    "kind_given", "tensor",
]  # fmt: skip

TOO_DEEP = 128
COPY = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {name}(sourceTensor)."
)
ARRAYS = (
    "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting "
    "the list to a single numpy.ndarray with numpy.array() before converting to a tensor."
)
UNSPECIFIED = (
    "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. "
    "Pass requires_grad=False explicitly to get the old behavior and silence this warning."
)
READ_ONLY = (
    "The given {what} is not writable, and PyTorch does not support non-writable tensors. Writing "
    "to this tensor raises an error here. You may want to copy the {what} to protect its data or "
    "make it writable before converting it to a tensor."
)


def kind_given(function: str, dtype: Any) -> dtypes.dtype | None:
    """The argument ``dtype``: one of PyTorch's, a Python type, or None."""
    if dtype is None or isinstance(dtype, dtypes.dtype):
        return dtype
    if isinstance(dtype, type) and dtype in PYTHON_DTYPES:
        return PYTHON_DTYPES[dtype]
    raise TypeError(
        f"{function}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}"
    )


def finished(
    array: Any, requires_grad: bool = False, device: Any = None, function: str = ""
) -> Tensor:
    """A new tensor of an array that nobody else holds."""
    if device is not None:
        check_device(device)
    out = box(array)
    if check_requires_grad(requires_grad, function):
        check_differentiable(out.dtype)
        out.requires_grad_()
    return out


# --------------------------------------------------------------------------- nested sequences


def _is_sequence(x: Any) -> bool:
    """Lists and arrays; a tensor inside of them is an element."""
    if isinstance(x, np.ndarray):
        return x.ndim > 0
    return isinstance(x, (list, tuple, range))


def _sizes(data: Any) -> list[int]:
    """The shape, read off the first elements."""
    sizes: list[int] = []
    while _is_sequence(data):
        sizes.append(len(data))
        if not sizes[-1] or len(sizes) > TOO_DEEP:
            break
        data = data[0]
        if isinstance(data, str) or len(sizes) > TOO_DEEP:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
    return sizes


def _leaves(data: Any, sizes: list[int], dim: int) -> Iterator[Any]:
    """The numbers in order; an error where a sequence has another length than the first."""
    if dim == len(sizes):
        if _is_sequence(data) and not isinstance(data, (Tensor, np.ndarray)):
            raise TypeError(f"'{type(data).__name__}' object cannot be interpreted as an integer")
        if isinstance(data, Tensor) and data.numel() != 1:
            if data.dtype.is_floating_point or data.dtype.is_complex:
                raise ValueError("only one element tensors can be converted to Python scalars")
            raise TypeError("only integer tensors of a single element can be converted to an index")
        yield data.item() if isinstance(data, (Tensor, np.ndarray)) else data
        return
    if not _is_sequence(data) and not (isinstance(data, Tensor) and data.ndim):
        raise TypeError("not a sequence")
    if len(data) != sizes[dim]:
        raise ValueError(f"expected sequence of length {sizes[dim]} at dim {dim} (got {len(data)})")
    if isinstance(data, np.ndarray) and data.ndim == len(sizes) - dim:
        yield from data.reshape(-1).tolist()
        return
    for item in data:
        yield from _leaves(item, sizes, dim + 1)


def _kind_of_leaf(x: Any) -> dtypes.dtype:
    if isinstance(x, Tensor):
        return x.dtype
    if isinstance(x, (np.generic, np.ndarray)):
        return dtypes.from_numpy_dtype(x.dtype)
    if isinstance(x, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(x).__name__}'")
    if not isinstance(x, (bool, int, float, complex)):
        raise RuntimeError(f"Could not infer dtype of {type(x).__name__}")
    return dtypes.number_dtype(x)


def _kind_of_all(data: Any) -> dtypes.dtype | None:
    """The dtype in which all elements of nested lists meet; None for no elements."""
    if not isinstance(data, (list, tuple, range)):
        return _kind_of_leaf(data)
    found: dtypes.dtype | None = None
    for item in data:
        kind = _kind_of_all(item)
        if kind is not None and kind is not found:
            found = kind if found is None else dtypes.promote_types(found, kind)
    return found


def _plain_numbers(data: Any) -> bool:
    """Whether a list holds Python's floats alone, which NumPy reads at once."""
    return type(data) is list and bool(data) and all(type(x) is float for x in data)


def _cast(x: np.ndarray[Any, Any], kind: dtypes.dtype) -> np.ndarray[Any, Any]:
    """An array in a dtype, without NumPy's warnings of numbers that do not fit into it."""
    with np.errstate(all="ignore"):
        return x.astype(kind.numpy)


def check_array(x: Any) -> None:
    """Raise for arrays that no tensor can be: of other dtypes, masked, with negative strides."""
    dtypes.from_numpy_dtype(x.dtype)
    if np.ma.is_masked(x):
        raise TypeError(
            "can't convert np.ndarray with masked elements: a tensor has no mask. Fill it with "
            "array.filled(), or make two tensors of array.data and array.mask."
        )
    if any(s < 0 and n > 1 for s, n in zip(x.strides, x.shape, strict=True)):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array  with array.copy().) "
        )


def infer(data: Any, kind: dtypes.dtype | None = None) -> np.ndarray[Any, Any]:
    """The array of some data, copied, in a dtype or in the one that PyTorch gives it."""
    if isinstance(data, Tensor):
        found = np.array(as_array(data.detach()), order="C")
        return found if kind is None else _cast(found, kind)
    if isinstance(data, (np.ndarray, np.generic)):
        check_array(data)
        return np.array(data) if kind is None else _cast(np.array(data), kind)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    target = kind or dtypes.get_default_dtype()
    if target.is_floating_point and _plain_numbers(data):
        return _cast(np.array(data), target)
    sizes = _sizes(data)
    if isinstance(data[0] if sizes and sizes[0] else None, np.ndarray):
        warn_once(ARRAYS)
    target = kind or _kind_of_all(data) or dtypes.get_default_dtype()
    leaves = list(_leaves(data, sizes, 0)) if 0 not in sizes else []
    return _stored(leaves, target).reshape(sizes)


def _stored(leaves: list[Any], kind: dtypes.dtype) -> np.ndarray[Any, Any]:
    """Python numbers as an array; an integer type refuses what does not fit into it."""
    target = kind.numpy
    for x in leaves:
        if isinstance(x, str):
            raise TypeError("new(): invalid data type 'str'")
        if isinstance(x, complex) and not kind.is_complex:
            raise TypeError(
                "must be real number, not complex" if kind.is_floating_point else
                "'complex' object cannot be interpreted as an integer"
            )  # fmt: skip
    if target.kind not in "iu":
        with np.errstate(all="ignore"):
            return np.array(leaves, dtype=target)
    return np.array([_whole(x, kind) for x in leaves], dtype=np.int64).astype(target)


def _whole(x: Any, kind: dtypes.dtype) -> int:
    """A number cut to an integer that fits into a dtype; uint8 also takes negative ones."""
    limits = np.iinfo(kind.numpy)
    low = limits.min if kind.numpy.kind == "i" else -limits.max
    if not isinstance(x, float):
        number = int(x)
        if not -(1 << 63) <= number < 1 << 63:
            raise ValueError("Overflow when unpacking long long")
    if (isinstance(x, float) and not math.isfinite(x)) or not low <= int(x) <= limits.max:
        name = str(kind).removeprefix("torch.")
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")
    return int(x)


# ------------------------------------------------------------------------------- constructors


OPTIONS = "dtype dtype=None, device device=None, bool requires_grad=False"


@operation("tensor", f"object data, *, {OPTIONS}, bool pin_memory=False", variants="")
def tensor(data: Any, dtype: Any, device: Any, requires_grad: bool, pin_memory: bool) -> Tensor:
    """A tensor of some data, which is copied.

    Parameters
    ----------
    data : number, nested lists, numpy.ndarray or Tensor
    dtype : dtype, optional
        By default floats become float32 (`set_default_dtype`) and NumPy's arrays keep theirs.
    requires_grad : bool, optional
        Whether operations on it are recorded.

    Raises
    ------
    RuntimeError
        `requires_grad` with integers or booleans.
    ValueError
        Lists of different lengths.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.tensor([[1.0, 2.0]], requires_grad=True)
    tensor([[1., 2.]], requires_grad=True)
    """
    if isinstance(data, Tensor):
        warnings.warn(COPY.format(name="torch.tensor"), UserWarning, stacklevel=outside())
    return finished(infer(data, kind_given("tensor", dtype)), requires_grad, device, "tensor")


def _new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`tensor` in the dtype of this one."""
    if isinstance(data, Tensor):
        warnings.warn(COPY.format(name="tensor.new_tensor"), UserWarning, stacklevel=outside())
    kind = kind_given("new_tensor", dtype) or self.dtype
    return finished(infer(data, kind), requires_grad, device, "new_tensor")


install(new_tensor=_new_tensor)


@operation("as_tensor", "object data, *, dtype dtype=None, device device=None", variants="")
def as_tensor(data: Any, dtype: Any, device: Any) -> Tensor:
    """As `tensor`, but memory is shared where it can be."""
    check_device(device)
    kind = kind_given("as_tensor", dtype)
    if isinstance(data, Tensor):
        return data if kind is None else to_dtype(data, kind)
    if isinstance(data, np.ndarray):
        out = from_numpy(data)
        return out if kind is None else to_dtype(out, kind)
    return box(infer(data, kind))


def _check_alias(obj: Any, kind: dtypes.dtype | None) -> None:
    """Raise where no tensor can share the memory of an object, for ``copy=False``."""
    if not isinstance(obj, (Tensor, np.ndarray)):
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    held = obj.dtype if isinstance(obj, Tensor) else dtypes.from_numpy_dtype(obj.dtype)
    if kind is not None and kind is not held:
        raise ValueError(
            f"can't alias tensor with dtype '{dtypes.scalar_name(held)}' into dtype "
            f"'{dtypes.scalar_name(kind)}'."
        )


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:  # fmt: skip
    """A tensor of an object, sharing its memory where it can be, and unless `copy`."""
    kind = kind_given("asarray", dtype)
    check_requires_grad(requires_grad, "asarray")
    if requires_grad is None:
        requires_grad = isinstance(obj, Tensor) and obj.requires_grad
        if requires_grad:
            warn_once(UNSPECIFIED)
    if copy is False:
        _check_alias(obj, kind)
    if copy:
        return finished(infer(obj, kind), requires_grad, device, "asarray")
    out = as_tensor(obj, dtype=kind, device=device)
    if not requires_grad and out.requires_grad and out.is_leaf:
        return out.detach()
    return out.requires_grad_() if requires_grad and not out.requires_grad else out


def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that shares the memory of an array.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad.torch as torch
    >>> a = np.zeros(2)
    >>> x = torch.from_numpy(a)
    >>> a[0] = 1.0
    >>> x
    tensor([1., 0.], dtype=torch.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    check_array(ndarray)
    if not ndarray.flags.writeable:
        warn_once(READ_ONLY.format(what="NumPy array"))
    plain = type(ndarray) is np.ndarray  # a matrix would compute otherwise
    return box(ndarray if plain else ndarray.view(np.ndarray))


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A tensor that shares the memory of a buffer."""
    kind = kind_given("frombuffer", dtype)
    if kind is None:
        raise TypeError("frombuffer(): argument 'dtype' must be torch.dtype, not NoneType")
    refuse_bytes("frombuffer()", kind)
    size = kind.itemsize
    try:
        memory = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length = memory.nbytes
    if not length or not count:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({length} bytes) minus 1"
        )
    if count > 0 and offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must "
            f"not be greater than actual buffer length ({length} bytes)"
        )
    if count < 0 and (length - offset) % size:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a "
            f"multiple of element size ({size})"
        )
    if memory.readonly:
        warn_once(READ_ONLY.format(what="buffer"))
    return finished(np.frombuffer(buffer, kind.numpy, count, offset), requires_grad)


def from_dlpack(x: Any) -> Tensor:
    """A tensor that shares the memory of an object with DLPack's protocol."""
    return x.detach() if isinstance(x, Tensor) else from_numpy(np.from_dlpack(x))
