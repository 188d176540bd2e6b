"""The dtypes of PyTorch, their names, and the default one.

A `dtype` is a singleton that names the NumPy dtype of the arrays that hold its elements. For
bfloat16, which NumPy does not have, that is the core's, of four bytes an element (see
`core.bfloat16`). NumPy has no complex number of two halves either: where PyTorch would give it
(``complex32``) there is complex64.

The file imports NumPy and the core's dtype only. It ends by binding the names ``float``, ``int``
and ``bool`` to dtypes, as the namespace of PyTorch has them, and so it writes ``builtins.bool``
where it means Python's.
"""

from __future__ import annotations

import builtins
from typing import Any, ClassVar, final

import numpy as np

from funcgrad.core.bfloat16 import BFLOAT16

__all__ = [
    "Default", "check_byte_order", "checked", "dtype",
    "bfloat16", "float16", "half", "float32", "float", "float64", "double",
    "complex64", "cfloat", "complex128", "cdouble",
    "uint8", "int8", "int16", "short", "int32", "int", "int64", "long", "bool",
    "get_default_dtype", "set_default_dtype", "default_complex_dtype",
    "from_numpy_dtype", "from_type_name", "is_inexact", "scalar_name", "c_name", "type_name",
]  # fmt: skip


@final
class dtype:
    """The type of the elements of a tensor; there is one object for each type, made here.

    Attributes
    ----------
    numpy : numpy.dtype
        The type of the array that holds the elements.
    is_floating_point, is_complex, is_signed : bool
    itemsize : int
        Bytes of one element.
    abbr : str
        The short name, such as ``f32``.

    Examples
    --------
    >>> from funcgrad.torch.dtypes import complex64, float64
    >>> float64, float64.itemsize, float64.numpy
    (torch.float64, 8, dtype('float64'))
    >>> float64.to_complex(), complex64.to_real()
    (torch.complex128, torch.float32)
    """

    __slots__ = (
        "numpy", "is_floating_point", "is_complex", "is_signed", "itemsize", "abbr",
        "_name", "_scalar_name", "_c_name",
    )  # fmt: skip
    numpy: np.dtype[Any]
    is_floating_point: builtins.bool
    is_complex: builtins.bool
    is_signed: builtins.bool
    itemsize: builtins.int
    abbr: str
    _name: str
    _scalar_name: str
    _c_name: str

    def __new__(cls, *args: Any, **kwargs: Any) -> dtype:
        raise TypeError("cannot create 'torch.dtype' instances")

    def to_real(self) -> dtype:
        """The type of the real part; a type that is not complex is its own.

        Examples
        --------
        >>> from funcgrad.torch.dtypes import complex128
        >>> complex128.to_real()
        torch.float64
        """
        return {complex64: float32, complex128: float64}.get(self, self)

    def to_complex(self) -> dtype:
        """The complex type whose parts are of this type (complex64 for float16).

        Raises
        ------
        RuntimeError
            For integers and booleans.

        Examples
        --------
        >>> from funcgrad.torch.dtypes import float32
        >>> float32.to_complex()
        torch.complex64
        """
        if self.is_complex:
            return self
        if not self.is_floating_point:
            raise RuntimeError(f"Unknown Complex ScalarType for {self._scalar_name}")
        return complex128 if self is float64 else complex64

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(self, name):
            raise AttributeError(f"attribute '{name}' of 'torch.dtype' objects is not writable")
        raise AttributeError(f"'torch.dtype' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name  # pickle and copy find the singleton under this name in this module


_OF_NUMPY: dict[np.dtype[Any], dtype] = {}
_OF_TYPE_NAME: dict[str, dtype] = {}


def _made(name: str, scalar_name: str, abbr: str, c_name: str, held: Any = None) -> dtype:
    kind = object.__new__(dtype)
    held = np.dtype(name) if held is None else held
    values = {
        "numpy": held,
        "is_floating_point": held.kind == "f",
        "is_complex": held.kind == "c",
        "is_signed": held.kind in "ifc",
        "itemsize": 2 if held is BFLOAT16 else held.itemsize,
        "abbr": abbr,
        "_name": name,
        "_scalar_name": scalar_name,
        "_c_name": c_name,
    }
    for attribute, value in values.items():
        object.__setattr__(kind, attribute, value)
    _OF_NUMPY[held] = kind
    _OF_TYPE_NAME[f"torch.{scalar_name}Tensor"] = kind
    return kind


float64 = double = _made("float64", "Double", "f64", "double")
float32 = _made("float32", "Float", "f32", "float")
float16 = half = _made("float16", "Half", "f16", "c10::Half")
bfloat16 = _made("bfloat16", "BFloat16", "bf16", "c10::BFloat16", BFLOAT16)
complex64 = cfloat = _made("complex64", "ComplexFloat", "c64", "c10::complex<float>")
complex128 = cdouble = _made("complex128", "ComplexDouble", "c128", "c10::complex<double>")
int64 = long = _made("int64", "Long", "i64", "long int")
int32 = _made("int32", "Int", "i32", "int")
int16 = short = _made("int16", "Short", "i16", "short int")
int8 = _made("int8", "Char", "i8", "signed char")
uint8 = _made("uint8", "Byte", "u8", "unsigned char")
_boolean = _made("bool", "Bool", "b8", "bool")


def checked(function: str, argument: str, position: builtins.int, value: Any) -> dtype:
    if not isinstance(value, dtype):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be torch.dtype, "
            f"not {type(value).__name__}"
        )
    return value


# Names


def from_numpy_dtype(numpy_dtype: Any) -> dtype:
    """The dtype that stands for a NumPy dtype.

    Parameters
    ----------
    numpy_dtype : numpy.dtype or what `numpy.dtype` accepts

    Raises
    ------
    TypeError
        PyTorch, or this module, has no such type.
    ValueError
        The byte order is not this machine's.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.torch.dtypes import from_numpy_dtype
    >>> from_numpy_dtype(np.ones(3).dtype)
    torch.float64
    """
    held = np.dtype(numpy_dtype)
    if held in _OF_NUMPY and (held.isnative or held is BFLOAT16):
        return _OF_NUMPY[held]
    check_byte_order(held)
    *names, last = (kind._name for kind in _OF_NUMPY.values() if kind is not bfloat16)
    raise TypeError(
        f"can't convert np.ndarray of type numpy.{held.type.__name__}. "
        f"The only supported types are: {', '.join(names)}, and {last}."
    )


def check_byte_order(held: np.dtype[Any]) -> None:
    """Raise for arrays of a user's whose byte order is not this machine's.

    Such an array of float32 is not one of bfloat16, whose dtype has that order here.
    """
    if not held.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. "
            "Conversion between byte orders is currently not supported."
        )


def scalar_name(kind: dtype) -> str:
    """The name of a type in PyTorch's error messages.

    Examples
    --------
    >>> from funcgrad.torch.dtypes import complex64, float32, uint8, scalar_name
    >>> scalar_name(float32), scalar_name(complex64), scalar_name(uint8)
    ('Float', 'ComplexFloat', 'Byte')
    """
    return kind._scalar_name


def c_name(kind: dtype) -> str:
    """The name of a type in the messages of matrix products, which is that of C++.

    Examples
    --------
    >>> from funcgrad.torch.dtypes import c_name, float32, int64
    >>> c_name(float32), c_name(int64)
    ('float', 'long int')
    """
    return kind._c_name


def type_name(kind: dtype) -> str:
    """The old name of the tensors of a type, which ``Tensor.type()`` returns.

    Examples
    --------
    >>> from funcgrad.torch.dtypes import int64, type_name
    >>> type_name(int64)
    'torch.LongTensor'
    """
    return f"torch.{kind._scalar_name}Tensor"


def from_type_name(name: str) -> dtype:
    """The dtype of an old name of tensors, the inverse of `type_name`.

    Raises
    ------
    ValueError
        There is no such name.

    Examples
    --------
    >>> from funcgrad.torch.dtypes import from_type_name
    >>> from_type_name("torch.DoubleTensor")
    torch.float64
    """
    if name not in _OF_TYPE_NAME:
        raise ValueError(f"invalid type: '{name}'")
    return _OF_TYPE_NAME[name]


# The default


class Default:
    """Holds the default type: one of the process, as in PyTorch."""

    kind: ClassVar[dtype] = float32


def get_default_dtype() -> dtype:
    """The type of tensors that are made of Python's floats; at first float32.

    Examples
    --------
    >>> from funcgrad.torch.dtypes import get_default_dtype
    >>> get_default_dtype()
    torch.float32
    """
    return Default.kind


def set_default_dtype(d: dtype, /) -> None:
    """Choose the type of tensors that are made of Python's floats.

    Parameters
    ----------
    d : dtype
        A floating type.

    Raises
    ------
    TypeError
        `d` is something else.

    Examples
    --------
    >>> from funcgrad.torch.dtypes import float32, float64, number_dtype, set_default_dtype
    >>> set_default_dtype(float64)
    >>> number_dtype(1.5)
    torch.float64
    >>> set_default_dtype(float32)
    """
    message = "only floating-point types are supported as the default type"
    if not isinstance(d, dtype):
        raise TypeError(f"invalid dtype object: {message}")
    if not d.is_floating_point:
        raise TypeError(message)
    Default.kind = d


def default_complex_dtype() -> dtype:
    """The type of tensors that are made of Python's complex numbers.

    Examples
    --------
    >>> from funcgrad.torch.dtypes import default_complex_dtype
    >>> default_complex_dtype()
    torch.complex64
    """
    return Default.kind.to_complex()


def is_inexact(kind: dtype) -> builtins.bool:
    """Whether a type is floating point or complex."""
    return kind.is_floating_point or kind.is_complex


float, int, bool = float32, int32, _boolean
