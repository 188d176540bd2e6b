"""Where CPython and NumPy keep what native code reads: found in known objects, never assumed.

The order of an array's fields is part of NumPy's binary interface (every extension module has it
compiled in), and so are the numbers of its C functions; what is not sure is the size of the header
before them. `find` looks for the fields in known objects and returns None when anything differs
from what it expects, in which case there are no native entry points. It imports NumPy only.
"""

from __future__ import annotations

import ctypes
import importlib
import struct
import sys
import sysconfig
from typing import Any, NamedTuple

import numpy as np

__all__ = ["ABI", "find", "symbols"]


class ABI(NamedTuple):
    """Offsets in bytes: of the type in any object, of fields of an array and of its dtype, and of
    the number in a Python float, a NumPy scalar of 8 bytes or less, and one of 16 bytes.
    """

    type: int
    data: int
    ndim: int
    shape: int
    strides: int
    dtype: int
    flags: int
    byteorder: int
    type_number: int
    number: int


class _Unknown(Exception):
    pass


def find() -> ABI | None:
    """The offsets in this process, or None where they are not the expected ones."""
    try:
        if sys.implementation.name != "cpython" or _is_without_gil():
            return None  # native entry points rely on the GIL
        if struct.calcsize("P") != 8 or sys.byteorder != "little":
            return None
        return _find()
    except _Unknown:
        return None


def _is_without_gil() -> bool:
    if hasattr(sys, "abiflags"):  # what the build says of itself takes a millisecond to read
        return "t" in sys.abiflags
    return bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def _find() -> ABI:
    arrays = _arrays()
    type_ = _offset([(x, id(type(x))) for x in [*arrays, 1.5, np.float64(1.5), (1,)]], 8)
    data = _offset([(x, x.__array_interface__["data"][0]) for x in arrays], 8)
    # The rest of the struct follows: data, ndim, shape, strides, base, dtype, flags.
    shape, strides, base, dtype, flags = (data + k for k in (16, 24, 32, 40, 48))
    for x in arrays:
        _expect(_read(x, data + 8, 4) == x.ndim)
        _expect(_read(x, base, 8) == (0 if x.base is None else id(x.base)))
        _expect(_read(x, dtype, 8) == id(x.dtype))
        _expect(_read(x, flags, 4) == x.flags.num)
        for offset, values in ((shape, x.shape), (strides, x.strides)):
            found = (ctypes.c_int64 * x.ndim).from_address(_read(x, offset, 8) if x.ndim else id(x))
            _expect(x.ndim == 0 or tuple(found) == values)
    byteorder, type_number = _dtype_offsets(type_)
    return ABI(
        type_, data, data + 8, shape, strides, dtype, flags, byteorder, type_number, _number()
    )


def _arrays() -> list[np.ndarray[Any, Any]]:
    grid = np.arange(24.0).reshape(2, 3, 4)
    read_only = np.arange(3)
    read_only.flags.writeable = False
    return [
        np.zeros(()),
        np.arange(5, dtype=np.float32),
        np.arange(7, dtype=np.int16)[1::2],
        grid,
        grid.T,
        grid[:, ::-1, 1:3],
        read_only,
        np.asfortranarray(np.ones((2, 3), complex)),
        np.zeros((0, 2), bool),
        np.zeros(3, ">f8"),
    ]


def _dtype_offsets(type_: int) -> tuple[int, int]:
    """In a dtype come the scalar type, then kind, type, byteorder, a free byte, and the number."""
    start = type_ + 8
    for code in ("f8", "f4", "i8", "i4", "?", "c16", ">f8", ">i4"):
        dtype = np.dtype(code)
        _expect(_read(dtype, start, 8) == id(dtype.type))
        _expect(chr(_read(dtype, start + 8, 1)) == dtype.kind)
        _expect(chr(_read(dtype, start + 9, 1)) == dtype.char)
        _expect(chr(_read(dtype, start + 10, 1)) == dtype.byteorder)
        _expect(_read(dtype, start + 12, 4) == dtype.num)
    return start + 10, start + 12


def _number() -> int:
    """Python's floats and complex numbers and all NumPy scalars begin at the same place."""
    offset = _offset([(x, struct.unpack("<q", struct.pack("<d", x))[0]) for x in (1.5, -2.25)], 8)
    for x in (np.float64(0.1), np.float32(0.1), np.int64(-7), np.int32(9), np.bool_(True),
              np.complex128(1 + 2j), np.complex64(3 - 4j), np.uint8(200)):  # fmt: skip
        _expect(ctypes.string_at(id(x) + offset, x.nbytes) == x.tobytes())
    for z in (1 + 2j, -0.5j):
        _expect(ctypes.string_at(id(z) + offset, 16) == np.complex128(z).tobytes())
    return offset


def _offset(objects: list[tuple[Any, int]], size: int) -> int:
    """The one place where each object has its value."""
    smallest = min(type(x).__basicsize__ for x, _ in objects)
    fits = [
        offset
        for offset in range(0, smallest - size + 1, 8)
        if all(_read(x, offset, size) == value for x, value in objects)
    ]
    _expect(len(fits) == 1)
    return fits[0]


def _read(x: Any, offset: int, size: int) -> int:
    _expect(offset + size <= type(x).__basicsize__)
    kind = {1: ctypes.c_uint8, 4: ctypes.c_int32, 8: ctypes.c_int64}[size]
    value: int = kind.from_address(id(x) + offset).value
    return value


def _expect(holds: bool) -> None:
    if not holds:
        raise _Unknown


# Numbers of NumPy's C functions in the table that extension modules use.
_NUMPY = {"PyArray_Scalar": 60, "PyArray_NewFromDescr": 94, "PyArray_SetBaseObject": 282}
_ABI_VERSION = 0x02000000  # of NumPy 2


def symbols() -> dict[str, int] | None:
    """The addresses that native entry points need, by name; None with another NumPy."""
    try:
        capsule = importlib.import_module("numpy._core._multiarray_umath")._ARRAY_API
    except (ImportError, AttributeError):
        return None
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    pointer = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))
    table = (ctypes.c_void_p * 300).from_address(pointer(capsule, None))
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(table[0] or 0)() if table[0] else 0
    if version & 0xFF000000 != _ABI_VERSION:
        return None
    found = {name: table[number] or 0 for name, number in _NUMPY.items()}
    return {**found, "ndarray": id(np.ndarray), "missed": id(NotImplemented)}
