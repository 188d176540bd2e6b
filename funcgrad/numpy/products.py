"""Products: dot, matmul and einsum under NumPy's names, kron, cross, trace, convolution."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core.tracer import Operand, operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import located
from funcgrad.numpy.axes import diagonal
from funcgrad.numpy.function_calls import as_array, memory_of, numpy_function
from funcgrad.numpy.reshaping import shown
from funcgrad.numpy.ufunc_keywords import meant
from funcgrad.numpy.ufuncs import COMPOSED, Ufunc
from funcgrad.ops import arithmetic as ops
from funcgrad.ops import contraction, convolution, index, product, sums
from funcgrad.ops import einsum as einsums
from funcgrad.ops import shape as shapes

__all__ = [
    "convolve",
    "correlate",
    "cross",
    "dot",
    "einsum",
    "einsum_path",
    "inner",
    "kron",
    "outer",
    "tensordot",
    "trace",
    "vdot",
    "vecdot",
]


@numpy_function(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Array:
    """The product over the last axis of `a` and the last but one of `b`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.dot, (0, 1))(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    (array([3., 4.]), array([1., 2.]))
    """
    return contraction.dot(as_array(a), as_array(b))


@numpy_function(np.inner)
def inner(a: Any, b: Any, /) -> Array:
    """The product over the last axes of both.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.inner)(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array([3., 4.])
    """
    return contraction.inner(as_array(a), as_array(b))


@numpy_function(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Array:
    """All products of an element of `a` and one of `b`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.outer(x, np.array([2.0, 3.0]))))(np.ones(2))
    array([5., 5.])
    """
    return contraction.outer(as_array(a), as_array(b))


@numpy_function(np.vdot)
def vdot(a: Any, b: Any, /) -> Array:
    """The inner product of the flattened arrays, the first one conjugated.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.vdot(x, x))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    return contraction.vdot(as_array(a), as_array(b))


@numpy_function(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Array:
    """The product over some axes of both.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.tensordot(x, np.eye(2)))(np.ones((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    return contraction.tensordot(as_array(a), as_array(b), axes)


@numpy_function(np.einsum, views=True)
def einsum(
    *operands: Any,
    out: Any = None,
    optimize: Any = False,
    dtype: Any = None,
    order: str = "K",
    casting: str = "safe",
) -> Array:
    """Einstein's summation convention over any number of operands.

    Of one operand, without a sum, it is a view: a transpose, or a diagonal to be written into.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.einsum("i,i->", x, x))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    shows = einsums.view_spec(*operands)
    if shows is not None:  # whatever the keywords say
        spec, base = shows
        return shown(base, lambda x: einsums.einsum_letters(spec, (x,)))
    if dtype is not None or casting != "safe":
        operands = tuple(_cast_terms(operands, dtype, casting))
    arrays = operands[isinstance(operands[0], str) :: 1 if isinstance(operands[0], str) else 2]
    return einsums.einsum(*operands, optimize=optimize, order=meant(order, arrays))


def _cast_terms(operands: Any, dtype: Any, casting: Any) -> list[Any]:
    """The operands, with a specification among them, as NumPy casts them for `dtype`."""
    last = len(operands) - isinstance(operands[0], str)
    arrays = range(1, last + 1) if isinstance(operands[0], str) else range(0, last - last % 2, 2)
    found = list(operands)
    wanted = dtype or np.result_type(*(type_of(operand(found[k])).dtype for k in arrays))
    for k in arrays:
        x = as_array(found[k])
        if not np.can_cast(type_of(x).dtype, wanted, casting):
            raise TypeError(
                located(
                    f"einsum: an operand of dtype {type_of(x).dtype} cannot be cast to "
                    f"{np.dtype(wanted)} by the casting rule {casting!r}"
                )
            )
        found[k] = ops.cast(x, wanted)
    return found


@numpy_function(np.einsum_path, constant=True)
def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """The order of products that `einsum` takes, which depends on shapes alone.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> f = lambda x: x.sum() * len(np.einsum_path("ij,jk", x, x)[0])
    >>> fg.grad(f)(np.ones((1, 1)))
    array([[2.]])
    """
    shapes_of = [memory_of(x) if isinstance(x, Operand) else x for x in operands]
    return np.einsum_path(*shapes_of, optimize=optimize)


def _vecdot(x1: Any, x2: Any) -> Array:
    x, y = as_array(x1), as_array(x2)
    row = shapes.reshape(ops.conjugate(x), (*type_of(x).shape[:-1], 1, type_of(x).shape[-1]))
    return _drop(_drop(product.matmul(row, _column(y)), -1), -1)


vecdot = Ufunc(np.vecdot, "Of the last axes, the first operand conjugated; linear in the other.")
COMPOSED[np.vecdot] = _vecdot
if hasattr(np, "matvec"):
    COMPOSED[np.matvec] = lambda x, v: _drop(product.matmul(x, _column(v)), -1)
    COMPOSED[np.vecmat] = lambda v, x: product.vecmat(ops.conjugate(as_array(v)), as_array(x))


def _column(v: Any) -> Array:
    v = as_array(v)
    return shapes.reshape(v, (*type_of(v).shape, 1))


def _drop(x: Array, axis: int) -> Array:
    shape = list(type_of(x).shape)
    del shape[axis]
    return shapes.reshape(x, shape)


@numpy_function(np.kron)
def kron(a: Any, b: Any) -> Array:
    """The Kronecker product: blocks of `b`, each times an element of `a`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.kron(x, np.array([2.0, 3.0]))))(np.ones(2))
    array([5., 5.])
    """
    x, y = as_array(a), as_array(b)
    rank = max(type_of(x).ndim, type_of(y).ndim)
    if not type_of(x).ndim or not type_of(y).ndim:
        return ops.multiply(x, y)
    m, n = ((1,) * (rank - type_of(v).ndim) + type_of(v).shape for v in (x, y))
    left = shapes.reshape(x, tuple(k for extent in m for k in (extent, 1)))
    right = shapes.reshape(y, tuple(k for extent in n for k in (1, extent)))
    whole = ops.multiply(left, right)
    return shapes.reshape(whole, tuple(i * j for i, j in zip(m, n, strict=True)))


@numpy_function(np.cross)
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Array:
    """The cross product of vectors of 3 (or 2) components.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.cross(x, np.array([0.0, 0.0, 1.0]))[0])(np.ones(3))
    array([0., 1., 0.])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = as_array(a), as_array(b)
    dtype = np.promote_types(type_of(x).dtype, type_of(y).dtype)
    x = shapes.moveaxis(x, normalize_axis_index(axisa, type_of(x).ndim, "axisa"), -1)
    y = shapes.moveaxis(y, normalize_axis_index(axisb, type_of(y).ndim, "axisb"), -1)
    sizes = type_of(x).shape[-1], type_of(y).shape[-1]
    if any(n not in (2, 3) for n in sizes):
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    x, y = ops.cast(x, dtype), ops.cast(y, dtype)
    u, v = ([index.getitem(w, (..., k)) for k in range(n)] for w, n in zip((x, y), sizes))
    third = ops.subtract(ops.multiply(u[0], v[1]), ops.multiply(u[1], v[0]))
    if sizes == (2, 2):
        return shapes.in_c_order(third)
    if sizes == (3, 3):
        first = ops.subtract(ops.multiply(u[1], v[2]), ops.multiply(u[2], v[1]))
        second = ops.subtract(ops.multiply(u[2], v[0]), ops.multiply(u[0], v[2]))
    elif sizes == (2, 3):
        first = ops.multiply(u[1], v[2])
        second = ops.negative(ops.multiply(u[0], v[2]))
    else:
        first = ops.negative(ops.multiply(u[2], v[1]))
        second = ops.multiply(u[2], v[0])
    rank = type_of(third).ndim
    found = shapes.in_c_order(shapes.stack([first, second, third], rank))
    return shapes.moveaxis(found, rank, normalize_axis_index(axisc, rank + 1, "axisc"))


@numpy_function(np.trace)
def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Array:
    """The sum over a diagonal of two axes.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(fnp.trace)(np.ones((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    found = operand(diagonal(as_array(a), offset, axis1, axis2))
    return sums.sum(found, type_of(found).ndim - 1, False, dtype)


# ------------------------------------------------------------------------------- convolution


_MODES = {0: "valid", 1: "same", 2: "full", "v": "valid", "s": "same", "f": "full"}


def _vector(x: Any) -> Array:
    x = as_array(x)
    kind = type_of(x)
    if kind.ndim > 1:
        raise ValueError("object too deep for desired array")
    return x if kind.ndim else shapes.reshape(x, (1,))


@numpy_function(np.convolve)
def convolve(a: Any, v: Any, mode: Any = "full") -> Array:
    """The convolution of two vectors.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.convolve(x, np.array([2.0, 3.0]))[1])(np.ones(2))
    array([3., 2.])
    """
    x, y = _vector(a), _vector(v)
    for name, w in (("a", x), ("v", y)):
        if not type_of(w).size:
            raise ValueError(f"{name} cannot be empty")
    return convolution.convolve(x, y, _MODES.get(mode, mode))


@numpy_function(np.correlate)
def correlate(a: Any, v: Any, mode: Any = "valid") -> Array:
    """The cross-correlation of two vectors, the second one conjugated.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.correlate(x, np.array([2.0, 3.0]))[0])(np.ones(2))
    array([2., 3.])
    """
    x, y = _vector(a), _vector(v)
    mode = _MODES.get(mode, mode)
    if type_of(x).size >= type_of(y).size:
        return convolve(x, shapes.flip(ops.conjugate(y), (0,)), mode)
    swapped = convolve(ops.conjugate(y), shapes.flip(x, (0,)), mode)
    return shapes.in_c_order(shapes.flip(swapped, (0,)))
