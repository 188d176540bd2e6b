"""Splitting arrays: the parts are views, as in NumPy."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core.tracer import Operand
from funcgrad.core.types import Array
from funcgrad.numpy.function_calls import as_array, numpy_function
from funcgrad.numpy.reshaping import shape_of
from funcgrad.ops import index
from funcgrad.ops.storage import view

__all__ = [
    "array_split",
    "dsplit",
    "hsplit",
    "split",
    "unstack",
    "vsplit",
]


@numpy_function(np.array_split, views=True)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """The parts of `ary` along an axis, as views; they may differ in size.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.array_split(x, 2)[1]))(np.ones(3))
    array([0., 0., 1.])
    """
    shape = shape_of(ary)
    axis = normalize_axis_index(axis, len(shape))
    total = shape[axis]
    if np.ndim(indices_or_sections):
        points = [0, *map(operator.index, indices_or_sections), total]
    else:
        count = operator.index(indices_or_sections)
        if count <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extra = divmod(total, count)
        sizes = [each + 1] * extra + [each] * (count - extra)
        points = [0, *np.cumsum(sizes).tolist()]
    return [_slab(ary, axis, lo, hi) for lo, hi in itertools.pairwise(points)]


def _slab(x: Any, axis: int, lo: int, hi: int) -> Array:
    at = (slice(None),) * axis + (slice(lo, hi),)
    if isinstance(x, Operand):
        return view(x, lambda base: index.getitem(base, at), at)
    return as_array(x)[at]


@numpy_function(np.split, views=True)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """The parts of `ary` along an axis, as views; an integer has to divide the extent.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.split(x, [1])[1]))(np.ones(3))
    array([0., 1., 1.])
    """
    if not np.ndim(indices_or_sections):
        total = shape_of(ary)[axis]
        if total % operator.index(indices_or_sections):
            raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@numpy_function(np.hsplit, views=True)
def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """The parts of `ary` along its second axis, of a vector along its first.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.hsplit(x, 2)[1]))(np.ones((1, 2)))
    array([[0., 1.]])
    """
    if not shape_of(ary):
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 1 if len(shape_of(ary)) > 1 else 0)


@numpy_function(np.vsplit, views=True)
def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """The parts of `ary` along its first axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.vsplit(x, 2)[1]))(np.ones((2, 1)))
    array([[0.],
           [1.]])
    """
    if len(shape_of(ary)) < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


@numpy_function(np.dsplit, views=True)
def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """The parts of `ary` along its third axis.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.sum(fnp.dsplit(x, 2)[1]))(np.ones((1, 1, 2)))
    array([[[0., 1.]]])
    """
    if len(shape_of(ary)) < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


@numpy_function(*([np.unstack] if hasattr(np, "unstack") else [None]), views=True)
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The parts of `x` along an axis, which is dropped; views.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> import funcgrad.numpy as fnp
    >>> fg.grad(lambda x: fnp.unstack(x)[0] * fnp.unstack(x)[1])(np.array([2.0, 3.0]))
    array([3., 2.])
    """
    shape = shape_of(x)
    if not shape:
        raise ValueError("Input array must be at least 1-d.")
    axis = normalize_axis_index(axis, len(shape))
    lead = (slice(None),) * axis
    target: Any = x if isinstance(x, Operand) else as_array(x)
    return tuple(target[(*lead, i)] for i in range(shape[axis]))
