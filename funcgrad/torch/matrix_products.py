"""Products of matrices as tensors have them: values and cotangents by native code of our own.

`kernels.products` says which it takes. What has few elements goes the general way, in which its
calls are written out. The bias of a linear layer is added where the product is stored, and its
cotangent, the sum of all rows, comes with that of the weight. It imports kernels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.primitive import Params, Primitive
from funcgrad.kernels.products import may_multiply, multiply
from funcgrad.ops.shape import unbroadcast
from funcgrad.torch.flat import FEWEST

__all__ = ["WITH_SUM", "affine", "affine_pull", "product", "product_pull", "times", "write_product"]

ndarray = np.ndarray
Cotangents = list[Any] | None
WITH_SUM = 1 << 16  # multiplications: NumPy adds a bias, and rows on the way back, by themselves


def product(prim: Primitive, xs: Sequence[Any], params: Params) -> Any:
    """`x @ y`; None where NumPy multiplies."""
    x, y = xs
    if not (type(x) is type(y) is ndarray and max(x.size, y.size) >= FEWEST):
        return None
    return multiply(x, y)


def affine(prim: Primitive, xs: Sequence[Any], params: Params) -> Any:
    """`bias + x @ w`; None where NumPy multiplies."""
    bias, x, w = xs
    if not (type(bias) is type(x) is type(w) is ndarray and _is_plain(params)):
        return None
    if max(bias.size, x.size, w.size) < FEWEST or bias.dtype != x.dtype:
        return None
    if bias.shape == w.shape[-1:] and bias.flags.c_contiguous and bias.flags.aligned:
        return multiply(x, w, bias, least=WITH_SUM)
    if bias.ndim > x.ndim:
        return None
    out = multiply(x, w, least=WITH_SUM)
    if out is not None:
        out += bias
    return out


def _is_plain(params: Params) -> bool:
    """Whether both factors are 1."""
    return bool(params["beta"] == 1 == params["alpha"])


def product_pull(node: Any, g: Any) -> Cotangents:
    """The cotangents of the factors; None for the general way."""
    _, x, y = node.saved
    if not _fits(node, g):
        return None
    left, right = (p is not None for p in node.parents)
    cx = times(g, y.swapaxes(-1, -2)) if left else None
    return [cx, _of_right(g, x, y) if right else None]


def affine_pull(node: Any, g: Any) -> Cotangents:
    """The cotangents of a bias and of the factors; None for the general way."""
    _, _, x, w = node.saved
    bias, first, second = node.avals
    if type(g) is not ndarray or g.ndim != 2 or not _is_plain(node.params):
        return None
    if not (len(first.shape) == len(second.shape) == 2 and first.dtype == second.dtype == g.dtype):
        return None
    if first.size < FEWEST and second.size < FEWEST and bias.size < FEWEST:
        return None
    of_bias, of_left, of_right = node.parents
    moved, left, right = of_bias is not None, of_left is not None, of_right is not None
    cb = cw = None
    if moved and right and bias.shape == g.shape[1:]:
        sums = np.empty(bias.shape, g.dtype)
        cw = multiply(g.T, x, sums=sums, least=WITH_SUM)
        if cw is not None:
            cb, cw = sums, cw.T
    if moved and cb is None:
        cb = unbroadcast(g, bias)
    if right and cw is None:
        cw = _of_right(g, x, None, WITH_SUM)
    return [cb, times(g, w.T, WITH_SUM) if left else None, cw]


def _fits(node: Any, g: Any) -> bool:
    """Whether the general way would multiply just these arrays, and some are large."""
    if type(g) is not ndarray or max(math.prod(t.shape) for t in node.avals) < FEWEST:
        return False
    x, y = node.avals[-2:]
    same = len(x.shape) == len(y.shape) == g.ndim >= 2 and x.shape[:-2] == y.shape[:-2]
    return bool(same and g.shape[:-2] == x.shape[:-2] and x.dtype == y.dtype == g.dtype)


def write_product(x: Any, y: Any, out: Any) -> None:
    """Write a product, of whatever size."""
    if multiply(x, y, out=out) is None:
        np.matmul(x, y, out=out)


def times(x: Any, y: Any, least: int | None = None) -> Any:
    """A product, of whatever size."""
    found = multiply(x, y, least=least)
    if found is not None:
        return found
    if x.shape[-1] == 1 and may_multiply(x, y) and x.ndim == y.ndim:  # BLAS takes ten times as long
        return x * y
    return np.matmul(x, y)


def _of_right(g: Any, x: Any, y: Any, least: int | None = None) -> Any:
    """The cotangent of a right factor, laid as this is: most often it is a transposed weight."""
    if y is not None and y.strides[-1] == y.itemsize:
        return times(x.swapaxes(-1, -2), g, least)
    return times(g.swapaxes(-1, -2), x, least).swapaxes(-1, -2)
