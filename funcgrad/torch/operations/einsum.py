"""Einstein's convention: sums of products over named dimensions, as batched matrix products."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations import arithmetic, axes, products, reshaping, slicing
from funcgrad.torch.operations.common import shape_of
from funcgrad.torch.operations.promotion import content
from funcgrad.torch.operations.reductions import sum as sum_

__all__ = ["einsum"]


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
            x = axes.movedim(slicing.diagonal(x, 0, i, j), -1, i)
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
