"""Sums of products over named or counted dimensions: einsum, tensordot, kron, cross, chains.

They take PyTorch's way through permutations and batched matrix products, so that their graphs are
PyTorch's and the work is done by BLAS.
"""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops.index import getitem
from funcgrad.ops.shape import stack
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations import arithmetic, axes, complexes, parts, products, reshaping
from funcgrad.torch.operations.common import (
    axis_of,
    boxed,
    computed,
    into,
    method,
    mismatch,
    named,
    numpy_names,
    shape_of,
)
from funcgrad.torch.operations.promotion import content, promoted
from funcgrad.torch.operations.reductions import sum as sum_

__all__ = [
    "chain_matmul", "cross", "einsum", "kron", "matrix_power", "tensordot",
]  # fmt: skip

# ---------------------------------------------------------------------------------- tensordot


def _dims_of(dims: Any, x: Tensor, y: Tensor) -> tuple[list[int], list[int]]:
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, (int, np.integer)):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(x.ndim, y.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(-dims, 0)), list(range(dims))
    first, second = (list(d) if isinstance(d, (tuple, list)) else [d] for d in dims)
    return first, second


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """The sum of products over dimensions of both, by number from the end or as two lists."""
    content(a, "tensordot", "a"), content(b, "tensordot", "b", 2)
    left, right = _dims_of(dims, a, b)
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    for i, j in zip(left, right, strict=True):
        n, m = shape_of(a)[axis_of(i, a.ndim)], shape_of(b)[axis_of(j, b.ndim)]
        if n != m and 1 not in (n, m):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in dim {i} and "
                f"second has size {m} in dim {j}"
            )
        if n != m:
            a = sum_(a, i, True) if m == 1 else a
            b = sum_(b, j, True) if n == 1 else b
    left, right = [axis_of(i, a.ndim) for i in left], [axis_of(j, b.ndim) for j in right]
    result = _contracted(a, b, left, right)
    return result if out is None else into(out, result, "tensordot")


def _contracted(x: Tensor, y: Tensor, left: list[int], right: list[int]) -> Tensor:
    mine = [k for k in range(x.ndim) if k not in left]
    others = [k for k in range(y.ndim) if k not in right]
    shape = tuple(shape_of(x)[k] for k in mine) + tuple(shape_of(y)[k] for k in others)
    p, q = axes.permute(x, (*mine, *left)), axes.permute(y, (*right, *others))
    if not mine and not others:
        out = products.dot(reshaping.flatten(p), reshaping.flatten(q))
    else:
        count = math.prod(shape_of(x)[k] for k in left)
        rows = math.prod(shape_of(x)[k] for k in mine)
        columns = math.prod(shape_of(y)[k] for k in others)
        out = products.mm(
            reshaping.reshape(p, (rows, count)), reshaping.reshape(q, (count, columns))
        )
    return reshaping.reshape(out, shape)


# ------------------------------------------------------------------------------------- einsum


class _Parsed:
    """The subscripts of an equation: of each operand, of the output, ellipsis as ``"."``."""

    def __init__(self, equation: str, operands: Sequence[Tensor]) -> None:
        left, arrow, right = equation.replace(" ", "").partition("->")
        self.terms = [term.replace("...", ".") for term in left.split(",")]
        if len(self.terms) != len(operands):
            more = "more" if len(self.terms) < len(operands) else "fewer"
            raise RuntimeError(
                f"einsum(): {more} operands were provided than specified in the equation"
            )
        self.ellipsis = 0
        for k, (term, x) in enumerate(zip(self.terms, operands, strict=True)):
            self._check_term(k, term, x)
        letters = "".join(self.terms).replace(".", "")
        if arrow:
            self.output = right.replace("...", ".")
            self._check_output(letters)
        else:
            once = sorted(c for c in set(letters) if letters.count(c) == 1)
            dots = "." if any("." in t for t in self.terms) else ""
            self.output = dots + "".join(once)
        self.summed = sorted(set(letters) - set(self.output))

    def _check_term(self, k: int, term: str, x: Tensor) -> None:
        named_ = term.replace(".", "")
        for c in named_:
            if c not in string.ascii_letters:
                raise RuntimeError(
                    f"einsum(): invalid subscript given at index {k} in the equation string, "
                    "subscripts must be in [a-zA-Z]"
                )
        if "." in term:
            covered = x.ndim - len(named_)
            if covered < 0:
                raise RuntimeError(
                    f"einsum(): the number of subscripts in the equation ({len(named_)}) is more "
                    f"than the number of dimensions ({x.ndim}) for operand {k}"
                )
            self.ellipsis = max(self.ellipsis, covered)
        elif len(named_) != x.ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(named_)}) does not "
                f"match the number of dimensions ({x.ndim}) for operand {k} and no ellipsis was "
                "given"
            )

    def _check_output(self, letters: str) -> None:
        for c in self.output.replace(".", ""):
            if c not in letters:
                raise RuntimeError(
                    f"einsum(): output subscript {c} does not appear in the equation for any "
                    "input operand"
                )
            if self.output.count(c) > 1:
                raise RuntimeError(
                    f"einsum(): output subscript {c} appears more than once in the output"
                )


def einsum(*args: Any) -> Tensor:
    """Sums of products by Einstein's convention: ``einsum("ij,jk->ik", a, b)``."""
    equation, operands = _equation(args)
    if not operands:
        raise RuntimeError("einsum(): must provide at least one operand")
    parsed = _Parsed(equation, operands)
    places = _places(parsed)
    count = len(parsed.output.replace(".", "")) + (parsed.ellipsis if "." in parsed.output else 0)
    total = len(places)
    ops = [
        _arranged(k, term, x, places, parsed.ellipsis)
        for k, (term, x) in enumerate(zip(parsed.terms, operands, strict=True))
    ]
    _check_extents(ops, places)
    counts = [sum(shape_of(op)[d] != 1 for op in ops) for d in range(total)]
    while len(ops) > 1:
        first, second, *rest = ops
        ops = [_merged(first, second, counts, count), *rest]
    out = ops[0]
    if total == count:
        return out
    if len(operands) > 1:
        return reshaping.view(out, shape_of(out)[:count])
    return sum_(out, tuple(range(count, total)))


def _equation(args: tuple[Any, ...]) -> tuple[str, list[Tensor]]:
    """The equation and the operands, also from the form with lists of numbers."""
    if not isinstance(args[0], str):
        return _from_lists(args)
    rest = args[1:]
    if len(rest) == 1 and isinstance(rest[0], (tuple, list)):
        rest = tuple(rest[0])
    for k, x in enumerate(rest):
        content(x, "einsum", "operands", k + 2)
    return args[0], list(rest)


def _from_lists(args: tuple[Any, ...]) -> tuple[str, list[Tensor]]:
    def letters(numbers: Any) -> str:
        return "".join("..." if n is Ellipsis else string.ascii_letters[n] for n in numbers)

    operands, terms = list(args[0 : len(args) // 2 * 2 : 2]), args[1 : len(args) // 2 * 2 : 2]
    equation = ",".join(map(letters, terms))
    if len(args) % 2:
        equation += "->" + letters(args[-1])
    return equation, operands


def _places(parsed: _Parsed) -> dict[Any, int]:
    """Where each subscript stands in the common order: the output first, then what is summed."""
    places: dict[Any, int] = {}
    for c in parsed.output:
        if c == ".":
            for k in range(parsed.ellipsis):
                places[k] = len(places)
        else:
            places[c] = len(places)
    if "." not in parsed.output:
        for k in range(parsed.ellipsis):
            places[k] = len(places)
    for c in parsed.summed:
        places[c] = len(places)
    return places


def _arranged(k: int, term: str, x: Tensor, places: dict[Any, int], ellipsis: int) -> Tensor:
    """An operand with all dimensions in the common order, missing ones of extent 1."""
    order = [-1] * len(places)
    j = 0
    for c in term:
        if c == ".":
            covered = _covered(term, x, j)
            for _ in range(ellipsis - covered):
                x = axes.unsqueeze(x, j)
            for n in range(ellipsis):
                order[places[n]] = j
                j += 1
        elif order[places[c]] != -1:
            i = order[places[c]]
            sizes = shape_of(x)[i], shape_of(x)[j]
            if sizes[0] != sizes[1]:
                raise RuntimeError(
                    f"einsum(): subscript {c} is repeated for operand {k} but the sizes don't "
                    f"match, {sizes[1]} != {sizes[0]}"
                )
            x = axes.movedim(parts.diagonal(x, 0, i, j), -1, i)
        else:
            order[places[c]] = j
            j += 1
    for place, found in enumerate(order):
        if found == -1:
            x = axes.unsqueeze(x, -1)
            order[place] = j
            j += 1
    return axes.permute(x, order)


def _covered(term: str, x: Tensor, j: int) -> int:
    """How many dimensions of `x` the ellipsis stands for, with `j` done before it."""
    before, after = term.split(".")
    repeated = len(before) - j  # diagonals have taken dimensions away
    return x.ndim - (len(before) - repeated) - len(after)


def _check_extents(ops: list[Tensor], places: dict[Any, int]) -> None:
    known: dict[int, int] = {}
    for k, op in enumerate(ops):
        for c, d in places.items():
            n = shape_of(op)[d]
            if n != 1 and known.setdefault(d, n) != n:
                raise RuntimeError(
                    f"einsum(): subscript {c} has size {n} for operand {k} which does not "
                    f"broadcast with previously seen size {known[d]}"
                )


def _merged(x: Tensor, y: Tensor, counts: list[int], out: int) -> Tensor:
    """Two operands multiplied, and summed over what no other operand has."""
    both: list[int] = []
    alone: tuple[list[int], list[int]] = ([], [])
    for d in range(out, x.ndim):
        here = shape_of(x)[d] != 1, shape_of(y)[d] != 1
        if all(here):
            counts[d] -= 1
            if counts[d] == 1:
                both.append(d)
                counts[d] = 0
        elif counts[d] == 1 and any(here):
            alone[0 if here[0] else 1].append(d)
            counts[d] = 0
    if alone[0]:
        x = sum_(x, tuple(alone[0]), True)
    if alone[1]:
        y = sum_(y, tuple(alone[1]), True)
    return _pair(x, y, both)


def _pair(x: Tensor, y: Tensor, summed: list[int]) -> Tensor:
    """The product summed over dimensions, which stay with extent 1: a batched matrix product."""
    if not summed:
        return arithmetic.mul(x, y)
    left, right = shape_of(x), shape_of(y)
    free = [d for d in range(x.ndim) if d not in summed]
    shared = [d for d in free if left[d] != 1 and right[d] != 1]
    mine = [d for d in free if left[d] != 1 and right[d] == 1]
    others = [d for d in free if left[d] == 1]
    sizes = [math.prod(left[d] for d in dims) for dims in (shared, mine, summed)]
    columns = math.prod(right[d] for d in others)
    first = axes.permute(x, (*shared, *mine, *summed, *others))
    second = axes.permute(y, (*shared, *summed, *others, *mine))
    made = products.bmm(
        reshaping.reshape(first, tuple(sizes)),
        reshaping.reshape(second, (sizes[0], sizes[2], columns)),
    )
    shape = (*(left[d] for d in (*shared, *mine)), *(1,) * len(summed), *(right[d] for d in others))
    order = [*shared, *mine, *summed, *others]
    back = [order.index(d) for d in range(x.ndim)]
    return axes.permute(reshaping.view(made, shape), back)


# ------------------------------------------------------------------------------- kron and cross


@method()
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product."""
    content(input, "kron"), content(other, "kron", "other", 2)
    n = max(input.ndim, other.ndim)
    left = (1,) * (n - input.ndim) + shape_of(input)
    right = (1,) * (n - other.ndim) + shape_of(other)
    first = tuple(size for s in left for size in (s, 1))
    second = tuple(size for s in right for size in (1, s))
    made = arithmetic.mul(_spaced(input, first), _spaced(other, second))
    shape = tuple(p * q for p, q in zip(left, right, strict=True))
    result = reshaping.unsafe_viewed(made, shape)
    return result if out is None else into(out, result, "kron")


def _spaced(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A view of `x` in a shape with more dimensions of extent 1."""
    return reshaping.viewed(x, shape, "UnsafeViewBackward0")


def _cross(x: Array, y: Array, axis: int) -> Array:
    def component(c: Array, k: int) -> Array:
        return getitem(c, (slice(None),) * axis + (k,))

    return stack(
        [
            a.subtract(
                a.multiply(component(x, i), component(y, j)),
                a.multiply(component(x, j), component(y, i)),
            )
            for i, j in ((1, 2), (2, 0), (0, 1))
        ],
        axis,
    )


CROSS = Composite("cross", _cross)


@numpy_names
def linalg_cross(
    input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None
) -> Tensor:
    """The cross product along a dimension of extent 3."""
    shapes = shape_of(content(input, "cross")), shape_of(content(other, "cross", "other", 2))
    if len(shapes[0]) != len(shapes[1]):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = axis_of(dim, len(shapes[0]))
    extents = [s[axis] for s in shapes]
    if extents != [3, 3]:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {extents[0]} and "
            f"{extents[1]}"
        )
    message = mismatch(shapes)
    if message is not None:
        raise RuntimeError(message)
    x, y = promoted("cross", input, other)
    made = computed(CROSS, x, y, axis=axis)
    result = boxed(made, named("LinalgCrossBackward0", "", "self", "other"))
    return result if out is None else into(out, result, "cross")


@method()
@numpy_names
def cross(
    input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The cross product; by default along the first dimension of extent 3."""
    if dim is None:
        shape = np.broadcast_shapes(shape_of(input), shape_of(other))
        if 3 not in shape:
            raise RuntimeError("no dimension of size 3 in input")
        dim = shape.index(3)
    return linalg_cross(input, other, dim=dim, out=out)


@numpy_names
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The inner products along a dimension, `x` conjugated."""
    if x.ndim == y.ndim == 1:
        return products.vdot(x, y, out=out)
    result = sum_(arithmetic.mul(complexes.conj(x), y), dim)
    return result if out is None else into(out, result, "linalg_vecdot")


# ------------------------------------------------------------------------------------- chains


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


def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of several matrices in the best order; the ends may be vectors."""
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
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
    result = made if len(tensors) == 2 and len(shape) == 2 else reshaping.view(made, tuple(shape))
    return result if out is None else into(out, result, "multi_dot")


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of several matrices in the best order."""
    return matrices[0] if len(matrices) == 1 else multi_dot(matrices, out=out)


@method()
def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """A whole power of square matrices; of the inverse for a negative one."""
    from funcgrad.torch.operations import linear_algebra

    x = content(input, "matrix_power")
    linear_algebra.check_square("linalg.matrix_power", x)
    if n == 0:
        made = np.broadcast_to(np.eye(shape_of(x)[-1], dtype=np.int8), shape_of(x))
        return into(out, input.clone().copy_(box(made)), "matrix_power")
    if n == 1:
        return into(out, input.clone(), "matrix_power")
    base = input if n > 0 else linear_algebra.inv(input)
    result = _power(base, abs(n))
    return result if out is None else into(out, result, "matrix_power")


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
