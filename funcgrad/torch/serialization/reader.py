"""Reading PyTorch's pickles without running any code.

The reader is a stack machine that knows the instructions which plain data need. A name stands for
a thing in `NAMES` and for nothing else, and only what is in `CALLABLE` is ever called. Python's
unpickler takes no part.
"""

from __future__ import annotations

import pickle
import struct
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.copying import rebuild
from funcgrad.torch.device import device
from funcgrad.torch.nn.parameter import Parameter
from funcgrad.torch.serialization.names import DTYPES, FACTORIES, STORAGES, StorageType
from funcgrad.torch.serialization.numpy_values import NUMPY_CALLABLE, NUMPY_NAMES, set_state
from funcgrad.torch.size import Size
from funcgrad.torch.tensor_arrays import as_array
from funcgrad.transforms.node import new

__all__ = ["Reader"]


def _tensor(
    storage: Any, offset: int, size: Any, stride: Any, requires_grad: Any = False,
    _hooks: Any = None, flags: Any = None,
) -> Any:  # fmt: skip
    memory, kind = storage
    step = kind.numpy.itemsize
    strides = [s * step for s in stride]
    if flags:
        return _flagged(_tensor(storage, offset, size, stride), flags, bool(requires_grad))
    return rebuild(Tensor, memory, kind.numpy, offset * step, size, strides, bool(requires_grad))


def _flagged(x: Tensor, flags: Any, requires_grad: bool) -> Tensor:
    """`x`, of whose memory the conjugate or the negative is meant, in memory of its own."""
    array = as_array(x)
    for flag, change in (("conj", np.conjugate), ("neg", np.negative)):
        array = change(array) if flags.get(flag) else array
    return box(np.array(array)).requires_grad_(requires_grad)


def _defaultdict(factory: Any = None) -> Any:
    if factory is not None and not any(factory is kind for kind in FACTORIES):
        raise _unsupported(f"a defaultdict that makes {factory!r}")
    return defaultdict(factory)


def _parameter(data: Any, requires_grad: Any, hooks: Any = None, state: Any = None) -> Any:
    made = new(Parameter)
    made._t, made._grad, made._link, made._root = data._t, None, None, data._root
    made.__dict__.update(state or {})
    return made.requires_grad_() if requires_grad else made


def _from_type(function: Any, kind: Any, args: Any, state: Any) -> Any:
    if function is not _tensor or kind is not Tensor:
        raise _unsupported(f"a tensor of the type {kind!r}")
    made = _tensor(*args)
    if isinstance(state, dict):
        made.__dict__.update(state)
    return made


NAMES: dict[str, Any] = {
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    "collections.defaultdict": _defaultdict,
    **{
        f"{module}.{kind.__name__}": kind
        for module in ("builtins", "__builtin__")
        for kind in (set, complex, *FACTORIES)
    },
    **NUMPY_NAMES,
    "torch.device": device,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter,
    "torch._tensor._rebuild_from_type_v2": _from_type,
    "torch.Size": Size,
    "torch.Tensor": Tensor,
    **{f"torch.{name}": found for name, found in STORAGES.items()},
    **{f"torch.{name}": found for name, found in DTYPES.items()},
}
# What a damaged pickle makes the instructions raise, and what they call.
DAMAGE = (IndexError, KeyError, ValueError, TypeError, AttributeError, OverflowError, struct.error,
          RecursionError, AssertionError, BufferError)  # fmt: skip
DEEPEST = 50  # tuples in tuples as a key: Python takes the hash of one by recursion
CALLABLE = (OrderedDict, Counter, _defaultdict, set, complex, _tensor, _parameter, _from_type, Size,
            device, *NUMPY_CALLABLE)  # fmt: skip
HASHING = (OrderedDict, Counter, set)
MARK = object()


def _unsupported(what: str) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(
        f"Weights only load failed. Unsupported global: {what} is not allowed: a file may hold "
        "tensors, parameters and plain containers of numbers and strings; loading it never runs "
        "code, with weights_only=False neither. Save a state_dict() instead of an object"
    )


class Reader:
    """Reads one object; `load_storage` is given the type, number and size of each storage."""

    def __init__(self, data: bytes, load_storage: Callable[[Any, str, str, int], Any]) -> None:
        self.data, self.at = data, 0
        self.load_storage = load_storage
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.left = 1_000_000 + 16 * len(data)  # elements that may be copied from one to another

    def read(self) -> Any:
        """The object."""
        try:
            while True:
                code = self.take(1)
                if code == b".":
                    return self.stack.pop()
                action = CODES.get(code)
                if action is None:
                    raise _unsupported(f"the pickle instruction {code!r}")
                action(self)
        except DAMAGE as error:
            raise pickle.UnpicklingError(f"the pickle is damaged: {error!r}") from error

    def copied(self, x: Any) -> Any:
        """A container whose elements go into another one: few bytes could ask for that often."""
        if isinstance(x, (list, tuple, dict, set)):
            self.left -= len(x)
            if self.left < 0:
                raise pickle.UnpicklingError(
                    "the pickle would take far more memory than it has bytes"
                )
        return x

    def key(self, x: Any) -> Any:
        """What may be a key or an element of a set: nothing that is deep."""
        waiting = [(x, 0)]
        while waiting:
            part, depth = waiting.pop()
            if isinstance(part, tuple):
                if depth == DEEPEST:
                    raise pickle.UnpicklingError("the pickle has a key of too many tuples")
                waiting += [(p, depth + 1) for p in self.copied(part)]
        return x

    # -- input

    def take(self, count: int) -> bytes:
        found = self.data[self.at : self.at + count]
        if len(found) != count:
            raise pickle.UnpicklingError("the pickle is damaged: it ends early")
        self.at += count
        return found

    def unpacked(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def line(self) -> str:
        end = self.data.index(b"\n", self.at)
        text = self.data[self.at : end].decode()
        self.at = end + 1
        return text

    def marked(self) -> list[Any]:
        """What lies above the last mark."""
        start = len(self.stack) - 1
        while self.stack[start] is not MARK:
            start -= 1
            if start < 0:
                raise pickle.UnpicklingError("the pickle is damaged: a mark is missing")
        found = self.stack[start + 1 :]
        del self.stack[start:]
        return found

    # -- instructions

    def find(self, name: str) -> None:
        if name not in NAMES:
            raise _unsupported(f"GLOBAL {name}")
        self.stack.append(NAMES[name])

    def stack_global(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.find(f"{module}.{name}")

    def call(self) -> None:
        args, function = self.stack.pop(), self.stack.pop()
        if not any(function is f for f in CALLABLE) or not isinstance(args, tuple):
            raise _unsupported(f"a call of {getattr(function, '__name__', type(function))}")
        for a in args:
            if isinstance(self.copied(a), (list, tuple)) and function in HASHING:
                for part in a:
                    self.key(part)
        self.stack.append(function(*args))

    def build(self) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        if isinstance(target, (np.ndarray, np.dtype)):
            set_state(target, state)
            return
        if type(target) not in (OrderedDict, Tensor, Parameter) or not isinstance(state, dict):
            raise _unsupported(f"BUILD of {type(target).__name__}")
        target.__dict__.update(self.copied(state))

    def persistent(self) -> None:
        what, kind, number, location, size = self.stack.pop()
        if what != "storage" or not isinstance(kind, StorageType):
            raise _unsupported("a persistent object that is no storage")
        self.stack.append(self.load_storage(kind, number, location, size))

    def append(self, values: list[Any]) -> None:
        if type(self.stack[-1]) is not list:
            raise _unsupported(f"APPEND to {type(self.stack[-1]).__name__}")
        self.stack[-1].extend(values)

    def set_items(self, values: list[Any]) -> None:
        if type(self.stack[-1]) not in (dict, OrderedDict, Counter, defaultdict):
            raise _unsupported(f"SETITEM of {type(self.stack[-1]).__name__}")
        for k, v in zip(values[::2], values[1::2], strict=True):
            self.stack[-1][self.key(k)] = v

    def push(self, x: Any) -> None:
        self.stack.append(x)

    def long(self, form: str) -> None:
        data = self.take(self.unpacked(form))
        self.push(int.from_bytes(data, "little", signed=True))

    def text(self, form: str) -> None:
        self.push(self.take(self.unpacked(form)).decode("utf-8", "surrogatepass"))

    def remember(self, k: int) -> None:
        self.memo[k] = self.stack[-1]

    def several(self, count: int) -> None:
        found = tuple(self.stack[-count:])
        del self.stack[-count:]
        self.push(found)

    def add_items(self, values: list[Any]) -> None:
        if type(self.stack[-1]) is not set:
            raise _unsupported(f"ADDITEMS to {type(self.stack[-1]).__name__}")
        self.stack[-1].update(map(self.key, values))


CODES: dict[bytes, Callable[[Any], Any]] = {
    b"\x80": lambda r: r.take(1),  # the protocol
    b"\x95": lambda r: r.take(8),  # a frame
    b"(": lambda r: r.push(MARK),
    b"N": lambda r: r.push(None),
    b"\x88": lambda r: r.push(True),
    b"\x89": lambda r: r.push(False),
    b"J": lambda r: r.push(r.unpacked("<i")),
    b"K": lambda r: r.push(r.unpacked("<B")),
    b"M": lambda r: r.push(r.unpacked("<H")),
    b"\x8a": lambda r: r.long("<B"),
    b"\x8b": lambda r: r.long("<I"),
    b"G": lambda r: r.push(r.unpacked(">d")),
    b"X": lambda r: r.text("<I"),
    b"\x8c": lambda r: r.text("<B"),
    b"\x8d": lambda r: r.text("<Q"),
    b"]": lambda r: r.push([]),
    b"}": lambda r: r.push({}),
    b")": lambda r: r.push(()),
    b"\x8f": lambda r: r.push(set()),
    b"t": lambda r: r.push(tuple(r.marked())),
    b"\x85": lambda r: r.several(1),
    b"\x86": lambda r: r.several(2),
    b"\x87": lambda r: r.several(3),
    b"a": lambda r: r.append([r.stack.pop()]),
    b"e": lambda r: r.append(r.marked()),
    b"s": lambda r: r.set_items([r.stack.pop(), r.stack.pop()][::-1]),
    b"u": lambda r: r.set_items(r.marked()),
    b"\x90": lambda r: r.add_items(r.marked()),
    b"c": lambda r: r.find(f"{r.line()}.{r.line()}"),
    b"\x93": lambda r: r.stack_global(),
    b"R": lambda r: r.call(),
    b"b": lambda r: r.build(),
    b"Q": lambda r: r.persistent(),
    b"q": lambda r: r.remember(r.unpacked("<B")),
    b"r": lambda r: r.remember(r.unpacked("<I")),
    b"\x94": lambda r: r.remember(len(r.memo)),
    b"h": lambda r: r.push(r.memo[r.unpacked("<B")]),
    b"j": lambda r: r.push(r.memo[r.unpacked("<I")]),
    b"0": lambda r: r.stack.pop(),
}
