"""The backward pass of reductions over any axes, as loop nests.

What is computed for an element stands once in `REDUCTIONS`; two loops are written around it, since
no loop is fast for both places in which the elements of a group may lie:

- "along": arrays have four axes, kept, reduced, kept, reduced. A group is read along the last.
- "beside": arrays have three, kept, reduced, kept. Neighbouring groups are read side by side.

What has one element for each group has two axes, the kept ones. Sums are taken in blocks, and those
keep what rounding loses. Tests hold all to the rules of the primitives. It imports the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile.loops import Carry, Combine, Const, For, Kernel, Let
from funcgrad.kernels.nests import Nest, chunks, integer, printed
from funcgrad.kernels.rows import BLOCK, INTEGERS, QUOTIENTS, TILE

__all__ = ["REDUCTIONS", "text_of"]

Operand = str | Const


class Number:
    """A value of a nest, with Python's operators."""

    def __init__(self, n: Nest, body: list[Any], operand: Operand, dtype: str = "") -> None:
        self.n, self.body, self.operand, self.dtype = n, body, operand, dtype or n.dtype

    def let(self, op: str, *others: Any, dtype: str = "") -> Number:
        given = [o if isinstance(o, Number) else self.number(o) for o in others]
        self.n.count += 1
        name, kind = f"t{self.n.count}", dtype or self.dtype
        args = (self.operand, *(o.operand for o in given))
        self.body.append(Let(name, kind, op, args))
        return Number(self.n, self.body, name, kind)

    def number(self, x: float) -> Number:
        return Number(self.n, self.body, Const(x, self.n.dtype))

    def __add__(self, other: Any) -> Number:
        return self.let("add", other)

    def __sub__(self, other: Any) -> Number:
        return self.let("sub", other)

    def __mul__(self, other: Any) -> Number:
        return self.let("mul", other)

    def __truediv__(self, other: Any) -> Number:
        return self.let("div", other)

    def __rtruediv__(self, other: float) -> Number:
        return self.number(other) / self

    def __gt__(self, other: Any) -> Number:
        return self.let("gt", other, dtype="bool")

    def __lt__(self, other: Any) -> Number:
        return self.let("lt", other, dtype="bool")

    def __and__(self, other: Number) -> Number:
        return self.let("and", other)

    def equals(self, other: Any) -> Number:
        return self.let("eq", other, dtype="bool")

    def chosen(self, x: Any, y: Any) -> Number:
        """`x` where this holds, else `y`."""
        return self.let("select", x, y, dtype=self.n.dtype)


def infinite(y: Number) -> Number:
    return y.let("abs").equals(np.inf)


def taken(x: Number, y: Number) -> Number:
    """Whether an extremum is this element: a NaN is, too."""
    return x.equals(y).let("or", x.let("ne", x, dtype="bool"))


def least_one(s: Number) -> Number:
    return (s > 1.0).chosen(s, 1.0)


class Reduction(NamedTuple):
    """What is computed of the cotangent `g`, the output `y`, the operand `x`: by their names.

    `term` is added up over a group if `needs` holds for it; `settle` makes of the sum `s` and the
    number of elements `count` what `result` knows as `s`. `whole` says that `g` and `y` have the
    shape of the operand; `divisor` is that of a variance.
    """

    result: Callable[..., Number]
    term: Callable[..., Number] | None = None
    settle: Callable[..., Number] | None = None
    needs: Callable[..., Number] | None = None
    whole: bool = False


REDUCTIONS = {
    "softmax": Reduction(lambda g, y, s: g * y - y * s, lambda g, y: g * y, whole=True),
    "log_softmax": Reduction(lambda g, y, s: g - y.let("exp") * s, lambda g: g, whole=True),
    "logsumexp": Reduction(  # infinities that are all there is share equally if they are +inf
        lambda g, y, x, s: g * (x.equals(y) & infinite(y)).chosen(s, (x - y).let("exp")),
        lambda y, x: x.equals(y).chosen(1.0, 0.0),
        lambda y, s: (y > 0.0).chosen(1.0, 0.0) / least_one(s),
        infinite,
    ),
    "extremum": Reduction(  # the chosen elements share equally
        lambda y, x, s: taken(x, y).chosen(s, 0.0),
        lambda y, x: taken(x, y).chosen(1.0, 0.0),
        lambda g, s: g * (1.0 / least_one(s)),
    ),
    "var": Reduction(
        lambda g, x, s, divisor: g * ((x - s) * 2.0 / divisor),
        lambda x: x,
        lambda s, count: s / count,
    ),
    "std": Reduction(  # 0 where there is no spread
        lambda g, y, x, s, divisor: g * y.equals(0.0).chosen(0.0, (x - s) / y / divisor),
        lambda x: x,
        lambda s, count: s / count,
    ),
    "quotient": Reduction(lambda g, y, x: g * (y / x)),  # of a product that is normal
    "norm": Reduction(  # the Euclidean one: 0 at 0
        lambda g, y, x: y.equals(0.0).chosen(0.0, g) * (x / y.equals(0.0).chosen(1.0, y)),
    ),
}


def names_of(function: Callable[..., Any] | None) -> tuple[str, ...]:
    return (
        () if function is None else function.__code__.co_varnames[: function.__code__.co_argcount]
    )


def text_of(name: str, loop: str, dtype: str) -> str:
    """The module of the backward pass of `name`, in a loop "along" or "beside"."""
    n = Groups(dtype)
    if loop.endswith(QUOTIENTS):
        name, loop = "quotient", loop.removesuffix(QUOTIENTS)
    if name == "prod":
        kernel = products_along(n) if loop == "along" else products_beside(n)
    else:
        kernel = (along if loop == "along" else beside)(n, REDUCTIONS[name])
    return printed(kernel)


class Groups(Nest):
    """What both loops share."""

    def __init__(self, dtype: str) -> None:
        super().__init__(dtype)
        for name in ("g", "y", "x"):
            self.array(name)
        self.array("c", "output")

    def whole(self, body: list[Any], op: str, x: Any, y: Any) -> str:
        """An integer."""
        self.count += 1
        given = tuple(Const(v, "int64") if isinstance(v, int) else v for v in (x, y))
        body.append(Let(f"t{self.count}", "int64", op, given))
        return f"t{self.count}"

    def written(self, chunk: For) -> Kernel:
        return Kernel(
            "call", list(self.buffers), list(INTEGERS),
            [("count_", "float64"), ("divisor_", "float64")], [chunk],
        )  # fmt: skip

    def numbers(self, body: list[Any]) -> None:
        """The numbers in the dtype."""
        convert = "copy" if self.dtype == "float64" else "cast"
        for name in ("count", "divisor"):
            body.append(Let(name, self.dtype, convert, (f"{name}_",)))

    def call(
        self, function: Callable[..., Number], body: list[Any], known: dict[str, str],
        where: Sequence[Any],
    ) -> str:  # fmt: skip
        """What a function gives; operands that are not `known` are loaded from `where`."""
        given = []
        for name in names_of(function):
            operand = known.get(name) or self.load(body, name, *where)
            given.append(Number(self, body, operand))
        found = function(*given).operand
        assert isinstance(found, str)
        return found

    def block_of(self, body: list[Any], extent: str) -> tuple[str, str]:
        """Where the block of this index begins, and how many elements it has."""
        begin = self.whole(body, "mul", "block", BLOCK)
        left = self.whole(body, "sub", extent, begin)
        return begin, self.whole(body, "min", left, BLOCK)

    def blocks(self, body: list[Any], count: str, total: str) -> list[Any]:
        made = For("block", count, "sequential", [], [Carry(total, self.dtype, "compensated")])
        body.append(made)
        return made.body

    def next_products(
        self, body: list[Any], extent: str, start: Operand, name: str, kind: str = "sequential"
    ) -> tuple[str, list[Any]]:
        """A loop whose carry is a running product."""
        self.count += 1
        carry = Carry(name, self.dtype, "next", start)
        made = For(f"i{self.count}", extent, kind, [], [carry])
        body.append(made)
        return made.index, made.body


def singles(r: Reduction) -> tuple[str, ...]:
    """What has one element for each group."""
    named = {n for f in (r.result, r.term, r.settle, r.needs) for n in names_of(f)}
    return () if r.whole else tuple(n for n in ("g", "y") if n in named)


# ----------------------------------------------------------------------------------------- along


def each_group(n: Groups) -> tuple[For, list[Any]]:
    """The groups of a chunk; `corner` is where the first element of one lies."""
    chunk = chunks("groups")
    n.numbers(chunk.body)
    row, body = n.loop(chunk.body, "some", "sequential")
    body += [
        integer("group", "add", "start", row),
        integer("outer", "div", "group", "across"),
        integer("inner", "rem", "group", "across"),
        integer("lead", "mul", "outer", "parts"),
    ]
    return chunk, body


def line_of(n: Groups, body: list[Any], p: str) -> str:
    """Where line `p` of a group begins."""
    line = n.whole(body, "mul", n.whole(body, "add", "lead", p), "across")
    return n.whole(body, "mul", n.whole(body, "add", line, "inner"), "length")


def along(n: Groups, r: Reduction) -> Kernel:
    chunk, body = each_group(n)
    known = {"count": "count", "divisor": "divisor"}
    for name in singles(r):
        known[name] = n.load(body, name, ("group", 1))
    if r.term is not None:
        parts = "parts"
        if r.needs is not None:
            held = n.call(r.needs, body, known, ())
            body.append(Let("needed", "int64", "select", (held, "parts", Const(0, "int64"))))
            parts = "needed"
        p, line = n.loop(body, parts, "sequential", [("s_", "compensated")])
        at = line_of(n, line, p)
        block = n.blocks(line, "blocks", "line_total")
        begin, width = n.block_of(block, "length")
        j, inner = n.loop(block, width, "vector", [("part", "add")])
        inner.append(Combine("part", n.call(r.term, inner, known, ((at, 1), (begin, 1), (j, 1)))))
        block.append(Combine("line_total", "part"))
        line.append(Combine("s_", "line_total"))
        known["s"] = "s_"
        if r.settle is not None:
            known["s"] = n.call(r.settle, body, known, ())
    p, line = n.loop(body, "parts", "sequential")
    at = line_of(n, line, p)
    j, inner = n.loop(line, "length", "vector")
    where = ((at, 1), (j, 1))
    n.store(inner, n.call(r.result, inner, known, where), "c", *where)
    return n.written(chunk)


# ---------------------------------------------------------------------------------------- beside


def each_tile(n: Groups) -> tuple[For, str, list[Any]]:
    """Neighbouring groups, side by side: tile by tile of `across`."""
    chunk = For("chunk", "groups", "chunks")
    chunk.body = [
        integer("outer", "div", "chunk", "tiles"),
        integer("tile", "rem", "chunk", "tiles"),
        Let("left", "int64", "mul", ("tile", Const(TILE, "int64"))),
        integer("rest", "sub", "across", "left"),
        Let("some", "int64", "min", ("rest", Const(TILE, "int64"))),
        integer("lead", "mul", "outer", "parts"),
        integer("corner_", "mul", "lead", "across"),
        integer("corner", "add", "corner_", "left"),
        integer("single_", "mul", "outer", "across"),
        integer("single", "add", "single_", "left"),
    ]
    n.numbers(chunk.body)
    k, body = n.loop(chunk.body, "some", "vector")
    return chunk, k, body


def beside(n: Groups, r: Reduction) -> Kernel:
    chunk, k, body = each_tile(n)
    known = {"count": "count", "divisor": "divisor"}
    for name in singles(r):
        known[name] = n.load(body, name, ("single", 1), (k, 1))
    if r.term is not None:
        block = n.blocks(body, "blocks", "s_")
        begin, width = n.block_of(block, "parts")
        p, inner = n.loop(block, width, "sequential", [("part", "add")])
        term = n.call(
            r.term, inner, known, ((p, "across"), (begin, "across"), ("corner", 1), (k, 1))
        )
        inner.append(Combine("part", term))
        block.append(Combine("s_", "part"))
        known["s"] = "s_"
        if r.settle is not None:
            known["s"] = n.call(r.settle, body, known, ())
    p, inner = n.loop(body, "parts", "sequential")
    where = ((p, "across"), ("corner", 1), (k, 1))
    n.store(inner, n.call(r.result, inner, known, where), "c", *where)
    return n.written(chunk)


# -------------------------------------------------------------------------------------- products


def products_along(n: Groups) -> Kernel:
    """``g · (product of what stands before · product of what stands after)``, of lines alone.

    Both products run at the same time, from either end: up to the middle each is written where it
    stands, from there on it meets the other one. So neither waits for more than itself.
    """
    chunk, body = each_group(n)
    g = n.load(body, "g", ("group", 1))
    at = line_of(n, body, n.whole(body, "add", 0, 0))
    half = n.whole(body, "div", "length", 2)
    odd = n.whole(body, "rem", "length", 2)
    behind = n.whole(body, "add", half, odd)
    starts: Sequence[Operand] = (Const(1.0, n.dtype), Const(1.0, n.dtype))
    for step, count in (("near", half), ("middle", odd), ("far", half)):
        names = [f"{step}_before", f"{step}_after"]
        carries = [
            Carry(name, n.dtype, "next", start) for name, start in zip(names, starts, strict=True)
        ]
        n.count += 1
        loop = For(f"i{n.count}", count, "sequential", [], carries)
        body.append(loop)
        low = high = loop.index
        if step == "near":
            high = n.whole(loop.body, "sub", n.whole(loop.body, "sub", "length", high), 1)
        else:
            low = high = n.whole(loop.body, "add", half, low)
        if step == "far":
            high = n.whole(loop.body, "add", behind, loop.index)
            low = n.whole(loop.body, "sub", n.whole(loop.body, "sub", half, loop.index), 1)
            places = ((high, names[0]), (low, names[1]))
        else:
            places = ((low, names[0]), (high, names[1]))
        for place, name in places[:1] if step == "middle" else places:
            found = name
            if step != "near":
                other = (
                    names[1] if step == "middle" else n.load(loop.body, "c", (at, 1), (place, 1))
                )
                found = n.let(loop.body, "mul", g, n.let(loop.body, "mul", other, name))
            n.store(loop.body, found, "c", (at, 1), (place, 1))
        for place, name in places:
            x = n.load(loop.body, "x", (at, 1), (place, 1))
            loop.body.append(Combine(name, n.let(loop.body, "mul", name, x)))
        starts = names
    return n.written(chunk)


def products_beside(n: Groups) -> Kernel:
    chunk, k, body = each_tile(n)
    g = n.load(body, "g", ("single", 1), (k, 1))
    one = Const(1.0, n.dtype)
    p, inner = n.next_products(body, "parts", one, "before")
    where: tuple[Any, ...] = ((p, "across"), ("corner", 1), (k, 1))
    n.store(inner, "before", "c", *where)
    inner.append(Combine("before", n.let(inner, "mul", "before", n.load(inner, "x", *where))))
    p, inner = n.next_products(body, "parts", one, "after")
    back = n.whole(inner, "sub", n.whole(inner, "sub", "parts", p), 1)
    where = ((back, "across"), ("corner", 1), (k, 1))
    others = n.let(inner, "mul", n.load(inner, "c", *where), "after")
    n.store(inner, n.let(inner, "mul", g, others), "c", *where)
    inner.append(Combine("after", n.let(inner, "mul", "after", n.load(inner, "x", *where))))
    return n.written(chunk)
