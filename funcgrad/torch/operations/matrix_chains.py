"""Products of several matrices: chains in the best order, and powers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.operations import axes, linear_algebra, products, reshaping
from funcgrad.torch.operations.common import into, shape_of
from funcgrad.torch.operations.record import alias, operation
from funcgrad.torch.operations.requirements import requires

__all__ = ["chain_matmul", "matrix_power"]  # the others are those of ``torch.linalg``


def _best_order(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to split the product of the matrices i…j, for the fewest multiplications."""
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            ]
            cost[i, j], split[i, j] = min(options)
    return split


@operation("linalg_multi_dot", "Tensors tensors, *, out", variants="")
@requires("len(tensors) >= 2: multi_dot(): expected at least 2 tensors but got {len(tensors)}")
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of several matrices in the best order; the ends may be vectors."""
    xs = list(tensors)
    shape: list[int] = []
    if xs[0].ndim == 1:
        xs[0] = axes.unsqueeze(xs[0], 0)
    else:
        shape.append(shape_of(xs[0])[0])
    if xs[-1].ndim == 1:
        xs[-1] = axes.unsqueeze(xs[-1], -1)
    else:
        shape.append(shape_of(xs[-1])[1])
    for k, x in enumerate(xs):
        if x.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {k} must be 2D but got {x.ndim}D")
    split = _best_order([shape_of(xs[0])[0], *(shape_of(x)[1] for x in xs)])

    def chain(i: int, j: int) -> Tensor:
        return xs[i] if i == j else products.mm(chain(i, split[i, j]), chain(split[i, j] + 1, j))

    made = chain(0, len(xs) - 1)
    if len(tensors) == 2 and len(shape) == 2:
        return made
    found: Tensor = reshaping.view(made, tuple(shape))
    return found


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of several matrices in the best order."""
    return into(out, matrices[0] if len(matrices) == 1 else multi_dot(matrices), "chain_matmul")


@operation("matrix_power", "input, int n, *, out", variants="method")
def matrix_power(input: Tensor, n: int) -> Tensor:
    """A whole power of square matrices; of the inverse for a negative one."""
    x = input.content()
    linear_algebra.check_square("linalg.matrix_power", x, low=True)
    if n in (0, 1):
        found: Tensor = input.clone()
        if n == 0:
            made = np.broadcast_to(np.eye(shape_of(x)[-1], dtype=np.int8), shape_of(x))
            found.copy_(box(made))
        return found
    return _power(input if n > 0 else linear_algebra.inv(input), abs(n))


linalg_matrix_power = alias("linalg_matrix_power", matrix_power, variants="")


def _power(x: Tensor, n: int) -> Tensor:
    if n == 1:
        return x
    if n == 2:
        return products.matmul(x, x)
    if n == 3:
        return products.matmul(products.matmul(x, x), x)
    out, square = None, x
    while n:
        if n % 2:
            out = square if out is None else products.matmul(out, square)
        n //= 2
        if n:
            square = products.matmul(square, square)
    assert out is not None
    return out
