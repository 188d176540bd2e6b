"""Functions that read shape and dtype only, and the names that are NumPy's own objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import (
    bartlett,
    blackman,
    bool_,
    complex64,
    complex128,
    dtype,
    e,
    errstate,
    euler_gamma,
    finfo,
    float16,
    float32,
    float64,
    hamming,
    hanning,
    iinfo,
    inf,
    int8,
    int16,
    int32,
    int64,
    intp,
    isdtype,
    issubdtype,
    iterable,
    kaiser,
    nan,
    ndarray,
    newaxis,
    pi,
    printoptions,
    promote_types,
    set_printoptions,
    uint8,
    uint16,
    uint32,
    uint64,
)

from funcgrad.core.tracer import Operand, is_scalar, operand, type_of
from funcgrad.numpy.function_calls import numpy_function

__all__ = [
    "astype",
    "set_printoptions",
    "printoptions",
    "kaiser",
    "iterable",
    "hanning",
    "hamming",
    "blackman",
    "bartlett",
    "bool_",
    "can_cast",
    "common_type",
    "complex128",
    "complex64",
    "dtype",
    "e",
    "errstate",
    "euler_gamma",
    "finfo",
    "float16",
    "float32",
    "float64",
    "iinfo",
    "inf",
    "int16",
    "int32",
    "int64",
    "int8",
    "intp",
    "iscomplexobj",
    "isdtype",
    "isrealobj",
    "isscalar",
    "issubdtype",
    "min_scalar_type",
    "nan",
    "ndarray",
    "ndim",
    "newaxis",
    "pi",
    "promote_types",
    "result_type",
    "shape",
    "size",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
]


@numpy_function(np.shape, views=True, constant=True)
def shape(a: Any) -> tuple[int, ...]:
    """The extents of an array.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(x) / fnp.shape(x)[0])(np.ones(2))
    array([0.5, 0.5])
    """
    return type_of(operand(a)).shape


@numpy_function(np.ndim, views=True, constant=True)
def ndim(a: Any) -> int:
    """The number of axes.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad.numpy as fnp
    >>> fnp.ndim(np.ones((2, 3)))
    2
    """
    return type_of(operand(a)).ndim


@numpy_function(np.size, views=True, constant=True)
def size(a: Any, axis: Any = None) -> int:
    """The number of elements, or the extent of an axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(x) / fnp.size(x))(np.ones(2))
    array([0.5, 0.5])
    """
    kind = type_of(operand(a))
    if axis is None:
        return kind.size
    axes = axis if isinstance(axis, tuple) else (axis,)
    return int(np.prod([kind.shape[k] for k in axes], dtype=int))


@numpy_function(np.iscomplexobj, views=True, constant=True)
def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex.

    Examples
    --------
    >>> import funcgrad.numpy as fnp
    >>> fnp.iscomplexobj(1.0j)
    True
    """
    return type_of(operand(x)).dtype.kind == "c"


@numpy_function(np.isrealobj, views=True, constant=True)
def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex.

    Examples
    --------
    >>> import funcgrad.numpy as fnp
    >>> fnp.isrealobj(1.0j)
    False
    """
    return not iscomplexobj(x)


@numpy_function(np.result_type, views=True, constant=True)
def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype of a result of these operands.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad.numpy as fnp
    >>> fnp.result_type(np.float32, 1.0)
    dtype('float32')
    """
    return np.result_type(*(_promotable(x) for x in arrays_and_dtypes))


def _promotable(x: Any) -> Any:
    if not isinstance(x, Operand):
        return x
    kind = type_of(operand(x))
    return kind.dtype.type(0).item() if kind.weak else kind.dtype


@numpy_function(np.can_cast, views=True, constant=True)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Whether a cast between dtypes is possible under a rule.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad.numpy as fnp
    >>> fnp.can_cast(np.float64, np.float32)
    False
    """
    return np.can_cast(_dtype_of(from_), _dtype_of(to), casting)


def _dtype_of(x: Any) -> Any:
    return type_of(operand(x)).dtype if isinstance(x, Operand) else x


@numpy_function(np.common_type, views=True, constant=True)
def common_type(*arrays: Any) -> Any:
    """A floating point type to which all arrays can be cast.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad.numpy as fnp
    >>> fnp.common_type(np.ones(1, np.float32), np.ones(1, int)).__name__
    'float64'
    """
    return np.common_type(*(np.empty(0, type_of(operand(x)).dtype) for x in arrays))


@numpy_function(np.min_scalar_type, views=True, constant=True)
def min_scalar_type(a: Any, /) -> Any:
    """The dtype of a traced value.

    Examples
    --------
    >>> import funcgrad.numpy as fnp
    >>> fnp.min_scalar_type(3)
    dtype('uint8')
    """
    return _dtype_of(a)


@numpy_function(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """`x` in another dtype; integers and bools are locally constant.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.astype(x, np.float32)))(np.ones(2))
    array([1., 1.])
    """
    return x.astype(dtype, copy=copy)


def isscalar(element: Any) -> bool:
    """Whether `element` is a scalar, as in NumPy; a traced value is one if its value is.

    Examples
    --------
    >>> import funcgrad.numpy as fnp
    >>> fnp.isscalar(3.0)
    True
    """
    if isinstance(element, Operand):
        return is_scalar(operand(element))
    return np.isscalar(element)
