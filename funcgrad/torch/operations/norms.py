"""Norms of vectors and matrices, and distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.forms import explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import Tracer, bind
from funcgrad.core.types import Array
from funcgrad.kernels.rows import serve
from funcgrad.ops import arithmetic as a
from funcgrad.ops import norms as core
from funcgrad.ops.shape import reshape, transpose
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.common import (
    axes_of,
    axis_of,
    boxed,
    computed,
    install,
    shape_of,
    told,
)
from funcgrad.torch.operations.converting import to_dtype
from funcgrad.torch.operations.dense import dense_composite, dense_or
from funcgrad.torch.operations.promotion import dtype_of, in_dtype, promoted
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.requirements import requirements, requires

__all__ = ["dist", "norm", "renorm"]

VECTOR_NORM = node(  # it bends in the norms 1 and inf
    "LinalgVectorNorm", "result self", tells="ord dim keepdim", bends="Mul"
)  # fmt: skip
REST = "bool keepdim=False, *, dtype dtype=None, out"


def _norm_pulled(
    g: Any, y: Any, x: Any, *, axes: Any, ord: Any = None, keepdims: bool = False
) -> Any:
    """As the core has it, but of sizes: a NaN has no sign, so that nothing arrives at it."""
    rule = core.NORM.vjp_rule[0]
    params = {"axes": axes, "ord": ord, "keepdims": keepdims}
    by_size = ord == 1 or (ord is not None and np.isinf(ord))
    if not by_size or (not isinstance(y, Tracer) and not np.isnan(y).any()):
        return rule(g, y, x, **params)
    if ord != 1:  # nor at the others
        g = a.where(a.isnan(y), 0.0, g)
    return rule(g, y, a.where(a.isnan(x), 0.0, x), **params)


def _of_vectors(norm: Any) -> list[Sample]:
    """The samples along one axis, which is all that is asked here."""
    along_one = [s for s in norm.sample() if len(s.params["axes"] or ()) == 1]
    return [s for s in along_one if type(s.params.get("ord")) is not str]


OF_VECTOR: Any = explicit(
    "torch.norm_restated", core.NORM.impl, type_rule=core.NORM._type, vjp=(_norm_pulled,),
    batch=core.NORM._batch, sample=lambda: _of_vectors(core.NORM),
)  # fmt: skip
OF_VECTOR.composed = lambda x, **params: bind(core.NORM, (x,), params)
serve(OF_VECTOR, core.NORM, lambda y: not np.isnan(y).any())


def _norm(x: Array, ord: float, axis: int, keepdims: bool = False) -> Array:
    more = {"keepdims": True} if keepdims else {}
    return bind(OF_VECTOR, (x,), {"axes": (axis % len(shape_of(x)),), "ord": ord, **more})


_norm.primitive = OF_VECTOR  # type: ignore[attr-defined]


def _merged(x: Array, axes: tuple[int, ...]) -> Array:
    """`x` with some axes made one, the last."""
    shape = shape_of(x)
    rest = [k for k in range(len(shape)) if k not in axes]
    size = math.prod(shape[k] for k in axes)
    return reshape(transpose(x, (*rest, *axes)), (*(shape[k] for k in rest), size))


def _vector(x: Array, order: float, axes: tuple[int, ...], keepdim: bool) -> Array:
    shape = shape_of(x)
    kept = tuple(1 if k in axes else n for k, n in enumerate(shape))
    y = _norm(_merged(x, axes), order, -1)
    return reshape(y, kept) if keepdim else y


NORM = dense_or("norm", _norm)
SEVERAL = dense_composite("vector_norm", _vector)


_check_floating = requirements("x", """
    kind(x) in "fc": linalg.vector_norm: Expected a floating point or complex tensor as input. Got
        {scalar_name(x)}
""")  # fmt: skip


@operation(
    "linalg_vector_norm", f"input, Number ord=2, dims dim=None, {REST}", variants="",
    remembers=True,
)  # fmt: skip
def vector_norm(
    input: Tensor, ord: float, dim: Any, keepdim: bool, dtype: dtypes.dtype | None
) -> Tensor:
    """The vector norm of an order over dimensions, all by default; its gradient at 0 is 0."""
    c = input.content()
    if dtype is not None:
        c = in_dtype(c, dtype.numpy)
    _check_floating(c)
    shape = shape_of(c)
    axes = axes_of(dim, len(shape))
    _check_empty(shape, axes, ord)
    order = float(ord)
    if len(axes) == 1:
        found = computed(NORM, c, ord=order, axis=axes[0], keepdims=keepdim)
    else:
        found = computed(SEVERAL, c, order=order, axes=axes, keepdim=keepdim)
    shown = None if dim is None else axes
    return told(boxed(found, VECTOR_NORM), ord=ord, dim=shown, keepdim=keepdim)


_check_empty = requirements("shape, axes, order", """
    order >= 0 and order != math.inf or all(shape[k] for k in axes): linalg.vector_norm
        cannot compute the {order} norm on an empty tensor because the operation does not have an
        identity
""")  # fmt: skip


OF_MATRIX = f"ints dim=LAST_TWO, {REST}"


@operation(
    "linalg_matrix_norm", f"input, Number ord, {OF_MATRIX} | input, str ord='fro', {OF_MATRIX}",
    variants="",
)  # fmt: skip
def matrix_norm(
    input: Tensor, ord: Any, dim: Any, keepdim: bool, dtype: dtypes.dtype | None
) -> Tensor:
    """The matrix norm over two dimensions: ``"fro"``, ``"nuc"``, ±1, ±2, ±inf."""
    A = input if dtype is None else to_dtype(input, dtype)
    shape = shape_of(A.content())
    if len(shape) < 2:
        raise RuntimeError(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."
        )
    if len(dim) != 2:
        raise RuntimeError(
            f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}"
        )
    axes = axes_of(tuple(dim), len(shape))
    if ord in ("fro", "f"):
        return vector_norm(A, 2, axes, keepdim)
    if ord == "nuc" or (not isinstance(ord, str) and abs(ord) == 2):
        return _spectral(A, ord, axes, keepdim)
    if not isinstance(ord, str) and abs(ord) in (1, math.inf):
        return _of_rows(A, ord, axes, keepdim)
    raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")


def _spectral(A: Tensor, ord: Any, axes: tuple[int, ...], keepdim: bool) -> Tensor:
    from funcgrad.torch.operations import axes as moving
    from funcgrad.torch.operations import extrema, reductions
    from funcgrad.torch.operations.linear_algebra import svdvals

    n = A.ndim
    order = (*(k for k in range(n) if k not in axes), *axes)
    s = svdvals(moving.permute(A, order))
    reduce = reductions.sum if ord == "nuc" else extrema.amax if ord > 0 else extrema.amin
    found: Tensor = reduce(s, -1, keepdim)
    if keepdim:
        back = sorted(range(n), key=order.__getitem__)
        found = moving.permute(moving.unsqueeze(found, -1), back)
    return found


def _of_rows(A: Tensor, ord: float, axes: tuple[int, ...], keepdim: bool) -> Tensor:
    """The largest or smallest column or row sum."""
    from funcgrad.torch.operations import extrema

    first, second = axes if abs(ord) == 1 else axes[::-1]
    totals = vector_norm(A, 1, first, keepdim)
    if not keepdim and first < second:
        second -= 1
    reduce = extrema.amax if ord > 0 else extrema.amin
    found: Tensor = reduce(totals, second, keepdim)
    return found


@operation(
    "linalg_norm",
    f"input, Number ord=None, dims dim=None, {REST} | input, str ord, dims dim=None, {REST}",
    variants="",
)  # fmt: skip
def linalg_norm(
    input: Tensor, ord: Any, dim: Any, keepdim: bool, dtype: dtypes.dtype | None
) -> Tensor:
    """The vector or matrix norm: of a matrix where `ord` is given for two dimensions."""
    n = input.ndim
    if ord is None:
        return vector_norm(input, 2, dim, keepdim, dtype=dtype)
    if dim is None:
        if n not in (1, 2):
            raise RuntimeError(
                "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                f"{n}D."
            )
        dim = tuple(range(n))
    dims = dim if isinstance(dim, (tuple, list)) else (dim,)
    if isinstance(ord, str) or len(dims) == 2:
        return matrix_norm(input, ord, tuple(dims), keepdim, dtype=dtype)
    return vector_norm(input, ord, dim, keepdim, dtype=dtype)


def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None,
    dtype: Any = None,
) -> Tensor:  # fmt: skip
    """The vector norm over dimensions, all by default; ``p="nuc"`` is the nuclear norm."""
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    if p == "nuc":
        axes = tuple(range(input.ndim)) if dim is None else dim
        return matrix_norm(input, "nuc", axes, keepdim, dtype=dtype, out=out)
    order = 2.0 if p == "fro" or p is None else p
    return vector_norm(input, order, dim, keepdim, dtype=dtype, out=out)


install(norm=norm)


def _distance(x: Array, y: Array, order: float) -> Array:
    gap = a.subtract(x, y)
    return _vector(gap, order, tuple(range(len(shape_of(gap)))), False)


DIST = dense_composite("dist", _distance)
DIST_NODE = node("Dist", "result self other", tells="p")


@operation("dist", "input, other, Number p=2", variants="method")
def dist(input: Tensor, other: Tensor, p: float) -> Tensor:
    """The norm of ``input - other`` over all elements."""
    x, y = promoted("dist", input, other)
    return boxed(computed(DIST, x, y, order=float(p)), DIST_NODE)


# ---------------------------------------------------------------------- norms that are bounded


def _bounded(x: Array, p: float, dim: int, maxnorm: float) -> Array:
    """Slices along `dim`, those of a larger norm scaled down to `maxnorm`."""
    kind = x if dtype_of(x).kind == "f" else a.real(x)
    axes = tuple(k for k in range(len(shape_of(x))) if k != dim)
    size = _vector(x, p, axes, True)
    limit = np.asarray(maxnorm, dtype_of(kind))[()]
    scale = a.divide(limit, a.add(size, 1e-7))
    return a.multiply(x, a.where(a.greater(size, limit), scale, np.ones((), dtype_of(kind))[()]))


RENORM = dense_composite("renorm", _bounded)
RENORM_NODE = node("Renorm", "self", tells="p dim maxnorm")


@operation("renorm", "input, Number p, int dim, Number maxnorm, *, out")
@requires("""
    p > 0: renorm: non-positive-norm not supported
    maxnorm >= 0: renorm: expected maxnorm to be >= 0 but got {maxnorm:g}
    rank(input) >= 2: renorm: input needs at least 2 dimensions, got {rank(input)} dimensions
""")
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Slices along a dimension, of which those with a `p`-norm above `maxnorm` are scaled down."""
    x = input.content()
    n = len(shape_of(x))
    axis = axis_of(dim, n)
    _check_floating(x)
    found = computed(RENORM, x, p=float(p), dim=axis, maxnorm=float(maxnorm))
    return told(boxed(found, RENORM_NODE), p=p, dim=axis, maxnorm=maxnorm)
