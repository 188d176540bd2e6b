"""Writing data as a pickle of PyTorch's form, without Python's pickler.

A pickle is a program for a small stack machine; these are its instructions for tensors and plain
containers.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.device import device
from funcgrad.torch.nn.parameter import Parameter
from funcgrad.torch.serialization.names import FACTORIES, OF_DTYPE
from funcgrad.torch.serialization.numpy_values import dtype_state
from funcgrad.torch.size import Size
from funcgrad.torch.storage import UntypedStorage, place_of
from funcgrad.torch.tensor_arrays import as_array

__all__ = ["Writer"]


class Writer:
    """Writes one object; the storages of its tensors are numbered in the order they are met."""

    def __init__(self) -> None:
        self.out = bytearray(b"\x80\x02")
        self.memo: dict[int, int] = {}
        self.kept: list[Any] = []  # what the memo knows by its id
        self.storages: dict[UntypedStorage, tuple[int, dtypes.dtype]] = {}

    def written(self, x: Any) -> bytes:
        """The pickle of `x`."""
        self.value(x, "")
        return bytes(self.out + b".")

    def value(self, x: Any, path: str) -> None:
        kind = type(x)
        if x is None:
            self.out += b"N"
        elif kind is bool:
            self.out += b"\x88" if x else b"\x89"
        elif kind is int:
            self.integer(x)
        elif kind is float:
            self.out += b"G" + struct.pack(">d", x)
        elif kind is str:
            data = x.encode("utf-8", "surrogatepass")
            self.out += b"X" + struct.pack("<I", len(data)) + data
        elif isinstance(x, dtypes.dtype):
            self.name("torch", repr(x).removeprefix("torch."))
        elif not self.known(x):
            write = WRITERS.get(kind)
            if write is None:
                raise TypeError(_refusal(x, path))
            write(self, x, path)

    def known(self, x: Any) -> bool:
        """Write a reference to what has been written already."""
        k = self.memo.get(id(x))
        if k is not None:
            self.out += b"j" + struct.pack("<I", k)
        return k is not None

    def remember(self, x: Any) -> None:
        """What was written last is `x`."""
        self.out += b"r" + struct.pack("<I", len(self.memo))
        self.memo[id(x)] = len(self.memo)
        self.kept.append(x)

    def integer(self, x: int) -> None:
        if -(1 << 31) <= x < 1 << 31:
            self.out += b"J" + struct.pack("<i", x)
            return
        data = x.to_bytes(x.bit_length() // 8 + 1, "little", signed=True)
        if len(data) < 256:
            self.out += b"\x8a" + struct.pack("<B", len(data)) + data
        else:
            self.out += b"\x8b" + struct.pack("<I", len(data)) + data

    def name(self, module: str, name: str) -> None:
        self.out += f"c{module}\n{name}\n".encode()

    def call(self, module: str, name: str, args: tuple[Any, ...], path: str) -> None:
        """What a name of `NAMES` gives for arguments."""
        self.name(module, name)
        self.out += b"("
        for a in args:
            self.value(a, path)
        self.out += b"tR"

    # -- containers

    def items(self, x: Any, path: str) -> None:
        self.out += b"("
        for k, v in x.items():
            self.value(k, path)
            self.value(v, f"{path}[{k!r}]")
        self.out += b"u"

    def write_dict(self, x: Any, path: str) -> None:
        self.out += b"}"
        self.remember(x)
        self.items(x, path)

    def ordered_dict(self, x: Any, path: str) -> None:
        self.name("collections", "OrderedDict")
        self.out += b")R"
        self.remember(x)
        self.items(x, path)
        if x.__dict__:
            self.write_dict(dict(x.__dict__), path)
            self.out += b"b"

    def write_list(self, x: Any, path: str) -> None:
        self.out += b"]"
        self.remember(x)
        self.out += b"("
        for k, v in enumerate(x):
            self.value(v, f"{path}[{k}]")
        self.out += b"e"

    def write_tuple(self, x: Any, path: str) -> None:
        self.out += b"("
        for k, v in enumerate(x):
            self.value(v, f"{path}[{k}]")
        self.out += b"t"
        self.remember(x)

    def size(self, x: Any, path: str) -> None:
        self.call("torch", "Size", (tuple(x),), path)

    def write_set(self, x: Any, path: str) -> None:
        self.call("builtins", "set", (list(x),), path)
        self.remember(x)

    def counter(self, x: Any, path: str) -> None:
        self.call("collections", "Counter", (dict(x),), path)
        self.remember(x)

    def write_complex(self, x: Any, path: str) -> None:
        self.call("builtins", "complex", (x.real, x.imag), path)

    def default_dict(self, x: Any, path: str) -> None:
        factory = x.default_factory
        if factory is not None and factory not in FACTORIES:
            raise TypeError(_refusal(x, path))
        self.name("collections", "defaultdict")
        self.out += b"("
        if factory is not None:
            self.name("builtins", factory.__name__)
        self.out += b"tR"
        self.remember(x)
        self.items(x, path)

    def device(self, x: Any, path: str) -> None:
        self.call("torch", "device", (str(x),), path)

    # -- NumPy

    def dtype(self, kind: Any, path: str) -> None:
        name, state = dtype_state(kind)
        self.call("numpy", "dtype", (name, False, True), path)
        self.write_tuple(state, path)
        self.out += b"b"

    def data(self, data: bytes, path: str) -> None:
        self.call("_codecs", "encode", (data.decode("latin1"), "latin1"), path)

    def array(self, x: Any, path: str) -> None:
        try:
            dtype_state(x.dtype)
        except TypeError as error:
            raise TypeError(f"{_refusal(x, path)} ({error})") from None
        self.name("numpy.core.multiarray", "_reconstruct")
        self.out += b"("
        self.name("numpy", "ndarray")
        self.write_tuple((0,), path)
        self.data(b"b", path)
        self.out += b"tR"
        self.remember(x)
        fortran = x.flags.fnc
        self.out += b"("
        self.integer(1)
        self.write_tuple(x.shape, path)
        self.dtype(x.dtype, path)
        self.value(bool(fortran), path)
        self.data(x.tobytes("F" if fortran else "C"), path)
        self.out += b"tb"

    def scalar(self, x: Any, path: str) -> None:
        self.name("numpy.core.multiarray", "scalar")
        self.out += b"("
        self.dtype(x.dtype, path)
        self.data(x.tobytes(), path)
        self.out += b"tR"

    # -- tensors

    def tensor(self, x: Tensor, path: str) -> None:
        state = dict(x.__dict__)
        if state:
            self.name("torch._tensor", "_rebuild_from_type_v2")
            self.out += b"("
            self.name("torch._utils", "_rebuild_tensor_v2")
            self.name("torch", "Tensor")
            self.place(x, x.requires_grad, path)
            self.write_dict(state, path)
            self.out += b"tR"
        else:
            self.name("torch._utils", "_rebuild_tensor_v2")
            self.place(x, x.requires_grad, path)
            self.out += b"R"
        self.remember(x)

    def parameter(self, x: Tensor, path: str) -> None:
        state = dict(x.__dict__)
        self.name("torch._utils", f"_rebuild_parameter{'_with_state' if state else ''}")
        self.out += b"("
        self.name("torch._utils", "_rebuild_tensor_v2")
        self.place(x, False, path)
        self.out += b"R"
        self.value(x.requires_grad, path)
        self.ordered_dict(OrderedDict(), path)
        if state:
            self.write_dict(state, path)
        self.out += b"tR"
        self.remember(x)

    def place(self, x: Tensor, requires_grad: bool, path: str) -> None:
        """The arguments from which a tensor is rebuilt."""
        array = as_array(x)
        storage, offset = place_of(x)
        step = array.itemsize
        number, kind = self.storages.setdefault(storage, (len(self.storages), x.dtype))
        if kind is not x.dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different "
                f"types: {path or 'the object'} is of {x.dtype}, another of {kind}"
            )
        self.out += b"(("
        self.value("storage", path)
        self.name("torch", OF_DTYPE[kind])
        for part in (str(number), "cpu", storage.memory.nbytes // step):
            self.value(part, path)
        self.out += b"tQ"
        self.value(offset // step, path)
        self.write_tuple(tuple(x.shape), path)
        self.write_tuple(x.stride(), path)
        self.value(requires_grad, path)
        self.ordered_dict(OrderedDict(), path)
        self.out += b"t"


WRITERS: dict[Any, Callable[..., None]] = {
    dict: Writer.write_dict,
    OrderedDict: Writer.ordered_dict,
    list: Writer.write_list,
    tuple: Writer.write_tuple,
    Size: Writer.size,
    set: Writer.write_set,
    Counter: Writer.counter,
    defaultdict: Writer.default_dict,
    device: Writer.device,
    np.ndarray: Writer.array,
    **{np.dtype(code).type: Writer.scalar for code in "?bhilqBHILQefdgFDG"},
    complex: Writer.write_complex,
    Tensor: Writer.tensor,
    Parameter: Writer.parameter,
}


def _refusal(x: Any, path: str) -> str:
    where = f" at {path}" if path else ""
    advice = "convert it to tensors, numbers, strings, lists or dictionaries"
    if isinstance(x, (np.ndarray, np.generic)):
        advice = "of NumPy's arrays it holds those of numbers and texts"
    elif isinstance(x, defaultdict):
        advice = f"it would have to hold the function {x.default_factory!r}; save dict(...) of it"
    elif hasattr(x, "state_dict"):
        advice = "save its state_dict()"
    return (
        f"torch.save: cannot save an object of type {type(x).__module__}.{type(x).__qualname__}"
        f"{where}: a file holds data only, so that loading it can run no code; {advice}"
    )
