"""Products of matrices and vectors added to a tensor, as one operation."""

from __future__ import annotations

from typing import Any

from funcgrad.core.types import Array
from funcgrad.ops import affine, contraction, product
from funcgrad.ops.affine import combined
from funcgrad.ops.sums import sum as sum_
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.hot_linear import ADDMM_NODE
from funcgrad.torch.operations import axes
from funcgrad.torch.operations.common import (
    NodeClass,
    boxed,
    computed,
    inplace,
    install,
    into,
    named,
    shape_of,
)
from funcgrad.torch.operations.products import (
    check_batches,
    check_inner,
    check_matrix,
    check_matrix_vector,
)
from funcgrad.torch.operations.promotion import content, dtype_of, kind_of, number

__all__ = ["addbmm", "addmm", "addmv", "addr", "baddbmm"]


def _added(
    operation: Any, node: NodeClass, arguments: tuple[str, str], check: Any, result: Any
) -> Any:
    """``beta * input + alpha * product`` as one operation, its method and in-place method.

    `result` gives the shape of the product, to which the input is expanded.
    """
    name = node.__name__.removesuffix("Backward0").lower()

    def function(
        input: Tensor, first: Tensor, second: Tensor, *, beta: Any = 1, alpha: Any = 1,
        out: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        x = content(input, name)
        y = content(first, name, arguments[0], 2)
        z = content(second, name, arguments[1], 3)
        check(y, z)
        _check_added(x, z, "mat2")
        _check_added(x, y, "mat1")
        shape = result(shape_of(y), shape_of(z))
        if shape_of(x) not in (shape, shape[1:]):
            axes.expand(input.detach(), shape)  # for its error
        kind = dtype_of(x)
        beta = beta if type(beta) is int and beta == 1 else number(beta, kind)
        alpha = alpha if type(alpha) is int and alpha == 1 else number(alpha, kind)
        found = computed(operation, x, y, z, beta=beta, alpha=alpha)
        sum_of_both = boxed(found, node)
        return sum_of_both if out is None else into(out, sum_of_both, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``beta * input + alpha * ({arguments[0]} @ {arguments[1]})``."
    install(**{name: function, f"{name}_": inplace(function, f"{name}_")})
    return function


def _check_added(x: Array, y: Array, name: str) -> None:
    if dtype_of(x) != dtype_of(y):
        first, second = (dtypes.scalar_name(kind_of(c)) for c in (x, y))
        raise RuntimeError(
            f"self and {name} must have the same dtype, but got {first} and {second}"
        )


def _check_mm(y: Array, z: Array) -> None:
    check_matrix(y, "mat1")
    check_matrix(z, "mat2")
    check_inner(shape_of(y), shape_of(z))


def _check_outer(y: Array, z: Array) -> None:
    if len(shape_of(y)) != 1 or len(shape_of(z)) != 1:
        raise RuntimeError(
            f"addr: Expected 1-D arguments, but got {len(shape_of(y))}-D and {len(shape_of(z))}-D"
        )


def _composite(name: str, multiply: Any) -> Composite:
    def compute(x: Array, y: Array, z: Array, beta: Any, alpha: Any) -> Array:
        return combined(x, multiply(y, z), beta, alpha)

    return Composite(name, compute)


addmm = _added(
    affine.addmm, ADDMM_NODE, ("mat1", "mat2"), _check_mm,
    lambda y, z: (y[0], z[1]),
)  # fmt: skip
addmv = _added(
    affine.addmm, named("AddmvBackward0", "", "", "mat", "vec"), ("mat", "vec"),
    lambda y, z: check_matrix_vector(shape_of(y), shape_of(z), 1), lambda y, z: (y[0],),
)  # fmt: skip
addr = _added(
    _composite("addr", contraction.outer), named("AddrBackward0", "", "", "vec1", "vec2"),
    ("vec1", "vec2"), _check_outer, lambda y, z: (y[0], z[0]),
)  # fmt: skip
baddbmm = _added(
    affine.addmm, named("BaddbmmBackward0", "", "", "batch1", "batch2"), ("batch1", "batch2"),
    check_batches, lambda y, z: (*y[:2], z[2]),
)  # fmt: skip
addbmm = _added(
    _composite("addbmm", lambda y, z: sum_(product.matmul(y, z), 0)),
    named("AddbmmBackward0", "", "", "batch1", "batch2"), ("batch1", "batch2"), check_batches,
    lambda y, z: (y[1], z[2]),
)  # fmt: skip
