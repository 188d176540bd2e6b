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
from funcgrad.torch.linear_recorder import ADDMM_NODE
from funcgrad.torch.operations import axes
from funcgrad.torch.operations.common import boxed, computed, shape_of
from funcgrad.torch.operations.products import (
    check_batches,
    check_inner,
    check_matrix,
    check_matrix_vector,
)
from funcgrad.torch.operations.promotion import dtype_of, kind_of, number
from funcgrad.torch.operations.record import Function, NodeClass, in_place, node, operation
from funcgrad.torch.operations.requirements import requirements

__all__ = ["addbmm", "addmm", "addmv", "addmv_", "addr", "baddbmm"]


def _added(
    core: Any,
    node: NodeClass,
    arguments: tuple[str, str],
    check: Any,
    result: Any,
    lies: str = "",
) -> Function[Tensor]:
    """``beta * input + alpha * product`` as one operation, its method and in-place method.

    `result` gives the shape of the product, to which the input is expanded.
    """
    name = node.__name__.removesuffix("Backward0").lower()
    y_, z_ = arguments
    number_, usual = "Number", "*, Number beta=1, Number alpha=1, out"
    signature = (
        f"input, {y_}, {z_}, {usual} | ~{number_} beta, self, {number_} alpha, {y_}, {z_}"
        f" | ~{number_} beta, self, {y_}, {z_}"
    )

    def function(input: Tensor, first: Tensor, second: Tensor, beta: Any, alpha: Any) -> Tensor:
        x, y, z = input.content(), first.content(), second.content()
        check(y, z)
        _check_added(x, z, "mat2")
        _check_added(x, y, "mat1")
        shape = result(shape_of(y), shape_of(z))
        if shape_of(x) not in (shape, shape[1:]):
            axes.expand(input.detach(), shape)  # for its error
        kind = dtype_of(x)
        beta = beta if type(beta) is int and beta == 1 else number(beta, kind)
        alpha = alpha if type(alpha) is int and alpha == 1 else number(alpha, kind)
        return boxed(computed(core, x, y, z, beta=beta, alpha=alpha), node)

    function.__doc__ = f"``beta * input + alpha * ({y_} @ {z_})``."
    return operation(name, signature, overlap="any", lies=lies)(function)


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


_check_outer = requirements("y, z", """
    rank(y) == 1 and rank(z) == 1: addr: Expected 1-D arguments, but got {rank(y)}-D and {rank(z)}-D
""")  # fmt: skip


def _composite(name: str, multiply: Any) -> Composite:
    def compute(x: Array, y: Array, z: Array, beta: Any, alpha: Any) -> Array:
        return combined(x, multiply(y, z), beta, alpha)

    return Composite(name, compute)


SIZES = "batch1_sym_argsize_0 batch1_sym_argsize_1 batch2_sym_argsize_2"
addmm = _added(
    affine.addmm, ADDMM_NODE, ("mat1", "mat2"), _check_mm,
    lambda y, z: (y[0], z[1]),
)  # fmt: skip
addmv = _added(
    affine.addmm, node("Addmv", "_ mat vec", tells="alpha beta"), ("mat", "vec"),
    lambda y, z: check_matrix_vector(shape_of(y), shape_of(z), 1), lambda y, z: (y[0],),
)  # fmt: skip
addr = _added(
    _composite("addr", contraction.outer), node("Addr", "_ vec1 vec2", tells="alpha beta"),
    ("vec1", "vec2"), _check_outer, lambda y, z: (y[0], z[0]), lies="first",
)  # fmt: skip
baddbmm = _added(
    affine.addmm, node("Baddbmm", "_ batch1 batch2", tells="alpha beta"), ("batch1", "batch2"),
    check_batches, lambda y, z: (*y[:2], z[2]),
)  # fmt: skip
addbmm = _added(
    _composite("addbmm", lambda y, z: sum_(product.matmul(y, z), 0)),
    node("Addbmm", "_ batch1 batch2", tells=f"alpha beta {SIZES}"), ("batch1", "batch2"),
    check_batches,
    lambda y, z: (y[1], z[2]),
)  # fmt: skip
(addmv_,) = in_place(addmv)
