"""What arguments may be, by the names that signatures write (see `signature`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.tracer import Tracer
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.device import device, layout, memory_format
from funcgrad.torch.operations.promotion import NUMBERS
from funcgrad.torch.size import Size

__all__ = ["KINDS", "PYTHON_DTYPES", "SCALARS", "SEQUENCES", "WHOLE", "Kind", "is_index"]


class Kind(NamedTuple):
    """What an argument may be: `takes` says it of a class, with None where the value counts."""

    shown: str
    takes: Callable[[type], bool | None]
    holds: Callable[[Any], bool] = bool


INTEGERS = (int, np.integer)
REALS = (int, float, np.integer, np.floating)
TRUTH = (bool, np.bool_)
SEQUENCES = frozenset((tuple, list, Size))  # what they are depends on the types within
GENERATOR = ("funcgrad.torch.operations.generator", "Generator")  # its file stands on this one


def _of(*classes: Any) -> Callable[[type], bool]:
    return lambda kind: issubclass(kind, classes)


def _by_value(accepts: Callable[[type], bool], *asked: type) -> Callable[[type], bool | None]:
    return lambda kind: accepts(kind) or (None if issubclass(kind, asked) else False)


def _is_int(kind: type) -> bool:
    return issubclass(kind, INTEGERS) and not issubclass(kind, bool)


def _single(x: Tensor) -> bool:
    return not x.ndim and not x.requires_grad


def _single_integer(x: Tensor) -> bool:
    return _single(x) and not (x.dtype.is_floating_point or x.dtype.is_complex)


def _all(accepts: Callable[[type], bool]) -> Callable[[Any], bool]:
    return lambda xs: all(accepts(type(x)) for x in xs)


is_tensor, is_number = _of(Tensor, Tracer), _of(*NUMBERS)


def is_index(x: Any) -> bool:
    """Whether something is a whole number, or a tensor of one."""
    return _single_integer(x) if isinstance(x, Tensor) else _is_int(type(x))


def are_indices(xs: Any) -> bool:
    return all(map(is_index, xs))


def _indices(x: Any) -> bool:
    return is_index(x) if isinstance(x, Tensor) else are_indices(x)


def _never(_: type) -> bool:
    return False


# Python's classes that stand for a dtype
PYTHON_DTYPES: Mapping[Any, dtypes.dtype] = {
    bool: dtypes.bool, int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128,
}  # fmt: skip
KINDS: dict[str, Kind] = {
    "Tensor": Kind("Tensor", is_tensor),
    "operand": Kind("Tensor", _of(Tensor, Tracer, *NUMBERS)),  # of arithmetic: also a number
    "Number": Kind("Number", _by_value(is_number, Tensor), _single),
    "int": Kind("int", _by_value(_is_int, Tensor), _single_integer),
    "float": Kind("float", _by_value(_of(*REALS, np.bool_), Tensor), _single),
    "bool": Kind("bool", _of(*TRUTH)),
    "str": Kind("str", _of(str)),
    "dtype": Kind("torch.dtype", _by_value(_of(dtypes.dtype), type),
                  lambda x: x in PYTHON_DTYPES),
    "device": Kind("torch.device", _of(device, str, int)),
    "layout": Kind("torch.layout", _of(layout)),
    "memory_format": Kind("torch.memory_format", _of(memory_format)),
    "Generator": Kind("torch.Generator", lambda c: (c.__module__, c.__name__) == GENERATOR),
    "ints": Kind("tuple of ints", _by_value(_never, tuple, list), are_indices),
    "dims": Kind("tuple of ints", _by_value(_is_int, tuple, list, Tensor), _indices),
    "floats": Kind("tuple of floats", _by_value(_never, tuple, list), _all(_of(*REALS))),
    "Numbers": Kind("tuple of Scalars", _by_value(_never, tuple, list), _all(is_number)),
    "Tensors": Kind("tuple of Tensors", _by_value(_never, tuple, list), _all(is_tensor)),
    "indices": Kind("tuple of Tensors", _by_value(_never, tuple, list),
                    _all(_of(Tensor, Tracer, type(None)))),
    "object": Kind("object", _of(object)),
}  # fmt: skip


# for which a tensor may be given
SCALARS = (KINDS["Number"], KINDS["int"], KINDS["float"], KINDS["dims"])
WHOLE = (KINDS["ints"], KINDS["dims"])
