"""NumPy's arrays and numbers in files: written as NumPy pickles them, read without running code.

A dtype and an array are begun empty and given their content afterwards, which is checked here: a
damaged file can neither ask for much memory nor make objects of bytes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["NUMPY_CALLABLE", "NUMPY_NAMES", "dtype_state", "set_state"]

KINDS = "biufcSU"  # whose bytes are plain data


def _dtype(name: Any, align: Any = False, copy: Any = True) -> Any:
    """A dtype as a file names it; its state tells the byte order."""
    if not isinstance(name, str):
        raise TypeError("the name of a dtype is no text")
    kind = np.dtype(name, align=False, copy=True)
    if kind.kind not in KINDS or kind.names is not None or kind.subdtype is not None:
        raise ValueError(f"an array of the dtype {name!r}")
    return kind


def _array(_kind: Any, _shape: Any, _code: Any) -> Any:
    """An array, until its state tells its shape, dtype and bytes."""
    return np.empty(0, np.int8)


def _scalar(kind: Any, data: Any) -> Any:
    """A number of NumPy's."""
    if not isinstance(kind, np.dtype) or len(data) != kind.itemsize:
        raise ValueError("a number of NumPy's with a wrong number of bytes")
    return np.frombuffer(data, kind)[0]


def _encoded(text: Any, encoding: Any) -> bytes:
    """The bytes that a file holds as text."""
    if encoding != "latin1":
        raise ValueError(f"bytes in the encoding {encoding!r}")
    return bytes(text.encode("latin1"))


def _no_bytes() -> bytes:
    return b""


def set_state(target: Any, state: Any) -> None:
    """Give a dtype or an array its content."""
    if isinstance(target, np.dtype):
        _set_dtype(target, state)
    else:
        _set_array(target, state)


def _set_dtype(target: Any, state: Any) -> None:
    version, order, inner, names, fields, size, align, flags, *units = state
    sizes = (-1, -1) if target.kind not in "SU" else (target.itemsize, target.alignment)
    plain = order in ("<", ">", "|", "=") and inner is None and names is None and fields is None
    if not plain or (size, align) != sizes or units:
        raise ValueError(f"a dtype with the state {state!r}")
    target.__setstate__((version, order, None, None, None, size, align, flags))


def _set_array(target: Any, state: Any) -> None:
    _version, shape, kind, fortran, data = state
    if not isinstance(data, bytes) or not isinstance(kind, np.dtype):
        raise TypeError("an array without bytes")
    if not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"an array of the shape {shape!r}")
    if len(data) != math.prod(shape) * kind.itemsize:
        raise ValueError("an array with another number of bytes than its shape says")
    target.__setstate__((1, tuple(shape), kind, bool(fortran), data))


def dtype_state(kind: Any) -> tuple[str, tuple[Any, ...]]:
    """The name and the state of a dtype whose values a file can hold."""
    if kind.kind not in KINDS or kind.names is not None:
        raise TypeError(f"the dtype {kind}")
    reduced = kind.__reduce__()
    return reduced[1][0], reduced[2]


NUMPY_NAMES = {
    "_codecs.encode": _encoded,
    "__builtin__.bytes": _no_bytes,
    "builtins.bytes": _no_bytes,
    "numpy.dtype": _dtype,
    "numpy.ndarray": None,  # the class, of which files only tell the name
    **{
        f"numpy.{core}.multiarray.{name}": found
        for core in ("core", "_core")
        for name, found in (("_reconstruct", _array), ("scalar", _scalar))
    },
}
NUMPY_CALLABLE = (_encoded, _no_bytes, _dtype, _array, _scalar)
