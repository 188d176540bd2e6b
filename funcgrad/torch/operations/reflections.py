"""Products of Householder's reflections ``1 - tau v vᴴ``, as LAPACK packs them into QR factors.

The vector v of reflection k is 0 above row k and 1 in it; what follows lies in column k.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops.arithmetic import add, conjugate, multiply, subtract, where
from funcgrad.ops.index import getitem
from funcgrad.ops.matrices import adjoint, column
from funcgrad.ops.product import matmul
from funcgrad.torch import dtypes, return_types
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.narrow import is_half
from funcgrad.torch.operations.common import boxed, boxed_all, computed, shape_of, warn_once
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.factorizations import linalg_qr
from funcgrad.torch.operations.promotion import dtype_of, kind_of
from funcgrad.torch.operations.record import alias, node, operation
from funcgrad.torch.operations.recorded import Underivable, elementwise_refusal
from funcgrad.torch.operations.requirements import requires

__all__ = ["geqrf", "orgqr", "ormqr", "qr"]

PRODUCT, APPLIED = (
    node("LinalgHouseholderProduct", "result input tau"),
    node("Ormqr", "result self"),
)
FACTORS = node("Geqrf")


def _vector(packed: Array, k: int) -> Array:
    """The vector of reflection `k`, as a matrix of one column."""
    rows = np.arange(shape_of(packed)[-2])[:, None]
    found = getitem(packed, (Ellipsis, slice(k, k + 1)))
    one = (rows == k).astype(dtype_of(packed))
    return add(where(rows > k, found, np.zeros((), dtype_of(packed))[()]), one)


def _reflected(x: Array, packed: Array, tau: Array, k: int) -> Array:
    v, t = _vector(packed, k), column(getitem(tau, (Ellipsis, slice(k, k + 1))))
    return subtract(x, matmul(multiply(t, v), matmul(adjoint(v), x)))


def _product(packed: Array, tau: Array) -> Array:
    """The first columns of the product, from the last reflection to the first."""
    found: Array = np.broadcast_to(np.eye(*shape_of(packed)[-2:], dtype=dtype_of(packed)),
                                   shape_of(packed))  # fmt: skip
    for k in reversed(range(shape_of(tau)[-1])):
        found = _reflected(found, packed, tau, k)
    return found


def _applied(packed: Array, tau: Array, x: Array, left: bool, transpose: bool) -> Array:
    if not left:  # x q = (qᴴ xᴴ)ᴴ
        return adjoint(_applied(packed, tau, adjoint(x), True, not transpose))
    count = shape_of(tau)[-1]
    for k in range(count) if transpose else reversed(range(count)):
        x = _reflected(x, packed, conjugate(tau) if transpose else tau, k)
    return x


def _raw(x: Array) -> Any:
    raw: Any = np.linalg.qr
    factors, tau = raw(known(x, "geqrf()"), "raw")
    return np.ascontiguousarray(np.swapaxes(factors, -1, -2)), tau


Q, OF_Q = Composite("householder_product", _product), Composite("ormqr", _applied)
RAW = Underivable("geqrf", _raw, listed=True, multiple=True)


@requires("""
    rank(input) >= 2: torch.{name}: input must have at least 2 dimensions.
    shape(input)[-2] >= shape(input)[-1]: torch.{name}: input.shape[-2] must be greater than or
        equal to input.shape[-1]
    not shape(tau)[-1:] or shape(tau)[-1] <= shape(input)[-1]: torch.{name}: input.shape[-1] must be
        greater than or equal to tau.shape[-1]
    rank(tau) == rank(input) - 1: torch.{name}: Expected tau to have one dimension less than input,
        but got tau.ndim equal to {rank(tau)} and input.ndim is equal to {rank(input)}
    shape(tau)[:-1] == shape(input)[:-2]: torch.{name}: Expected batch dimensions of tau to be equal
        to input.shape[:-2], but got {list(shape(tau)[:-1])}
""")
def _check(name: str, input: Array, tau: Array) -> None:
    if dtype_of(tau) != dtype_of(input):
        names = [dtypes.scalar_name(kind_of(x)) for x in (tau, input)]
        raise RuntimeError(
            f"torch.{name}: tau dtype {names[0]} does not match input dtype {names[1]}"
        )


@operation("linalg_householder_product", "input, Tensor tau, *, out", variants="")
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of reflections, as `geqrf` packs them.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> packed, tau = torch.geqrf(torch.tensor([[3.0], [4.0]]))
    >>> torch.linalg.householder_product(packed, tau)
    tensor([[-0.6000],
            [-0.8000]])
    """
    x, t = input.content(), tau.content()
    _check("linalg.householder_product", x, t)
    return boxed(computed(Q, x, t), PRODUCT)


orgqr = alias("orgqr", householder_product, "input, Tensor input2, *, out", variants="method")


@operation(
    "ormqr",
    "input, Tensor input2, Tensor input3, bool left=True, bool transpose=False, *, out",
    variants="method",
)
@requires("""
    rank(input) >= 2: torch.ormqr: input must have at least 2 dimensions.
    rank(input3) >= 2: torch.ormqr: other must have at least 2 dimensions.
""")
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: bool, transpose: bool) -> Tensor:
    """The product of all reflections (or of its adjoint) and a matrix, on either side."""
    x, t, y = input.content(), input2.content(), input3.content()
    side = -2 if left else -1
    if shape_of(y)[side] < shape_of(t)[-1]:
        raise RuntimeError(
            f"torch.ormqr: other.shape[{side}] must be greater than or equal to tau.shape[-1]"
        )
    if shape_of(y)[side] != shape_of(x)[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    return boxed(computed(OF_Q, x, t, y, left=left, transpose=transpose), APPLIED)


@operation("geqrf", "input, *, Tensors out", variants="method")
@requires("rank(input) >= 2: torch.geqrf: input must have at least 2 dimensions.")
def geqrf(input: Tensor) -> Any:
    """The QR factors as LAPACK packs them: reflections below, the triangle above.

    It has no derivative, which is said on the way back; `linalg.qr` has one.
    """
    x = input.content()
    if dtype_of(x).kind not in "fc" or is_half(dtype_of(x)):
        raise elementwise_refusal("geqrf_cpu", x)
    return return_types.geqrf(*boxed_all(computed(RAW, x), FACTORS))


@operation("qr", "input, bool some=True, *, Tensors out", variants="method")
def qr(input: Tensor, some: bool) -> Any:
    """What `linalg.qr` gives, which PyTorch wants in its place."""
    warn_once(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future "
        "PyTorch release.\nThe boolean parameter 'some' has been replaced with a string parameter "
        "'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced with\n"
        "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
    )
    return return_types.qr(*linalg_qr(input, "reduced" if some else "complete"))
