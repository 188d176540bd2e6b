"""The native code of `lines`, as loop nests: stated here once for both dtypes and every size.

Sums that may be long keep what rounding loses. It imports the compiler, inside functions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.compile.loops import (
    Accumulate,
    Address,
    Buffer,
    Carry,
    Combine,
    Const,
    For,
    Kernel,
    Let,
    Load,
    Store,
)
from funcgrad.kernels.nests import Nest, chunks, each_row, integer, printed
from funcgrad.torch.lines import LONGEST

__all__ = ["text_of"]


def text_of(name: str, dtype: str) -> str:
    return printed(KERNELS[name](Nest(dtype)))


# --------------------------------------------------------------------------------------- softmax


def _largest(n: Nest, body: list[Any]) -> None:
    j, inner = n.loop(body, "columns", "vector", [("top", "max")])
    inner.append(Combine("top", n.load(inner, "x", ("away", 1), (j, 1))))


def _sums_of_row(
    n: Nest, body: list[Any], count: int,
    terms: Callable[[list[Any], tuple[Any, ...]], Sequence[str]],
) -> list[str]:  # fmt: skip
    """Sums along a row: of blocks, whose sums keep what rounding loses."""
    n.count += 1
    names = [f"s{n.count}.{k}" for k in range(count)]
    block, outer = n.loop(body, "blocks", "blocks", [(x, "compensated") for x in names])
    begin = n.whole(outer, "mul", block, LONGEST)
    width = n.whole(outer, "min", n.whole(outer, "sub", "columns", begin), LONGEST)
    j, inner = n.loop(outer, width, "vector", [(f"{x}.part", "add") for x in names])
    found = terms(inner, (("away", 1), (begin, 1), (j, 1)))
    inner += [Combine(f"{x}.part", t) for x, t in zip(names, found, strict=True)]
    outer += [Combine(x, f"{x}.part") for x in names]
    return names


def _summed(n: Nest, body: list[Any], term: Callable[[list[Any], tuple[Any, ...]], str]) -> str:
    """One such sum."""
    return _sums_of_row(n, body, 1, lambda inner, where: [term(inner, where)])[0]


def _exponential(n: Nest, inner: list[Any], where: tuple[Any, ...]) -> str:
    return n.let(inner, "exp", n.let(inner, "sub", n.load(inner, "x", *where), "top"))


def _softmax(n: Nest) -> Kernel:
    """exp(x - max) over its sum."""
    n.array("x")
    n.array("y", "output")
    chunk, body = each_row(n)
    _largest(n, body)

    def term(inner: list[Any], where: tuple[Any, ...]) -> str:
        e = _exponential(n, inner, where)
        n.store(inner, e, "y", *where)
        return e

    total = _summed(n, body, term)
    j, inner = n.loop(body, "columns", "vector")
    y = n.let(inner, "div", n.load(inner, "y", ("away", 1), (j, 1)), total)
    n.store(inner, y, "y", ("away", 1), (j, 1))
    return n.kernel([], chunk)


def _log_softmax(n: Nest) -> Kernel:
    """(x - max) - log(Σ exp(x - max))."""
    n.array("x")
    n.array("y", "output")
    chunk, body = each_row(n)
    _largest(n, body)
    total = _summed(n, body, lambda inner, where: _exponential(n, inner, where))
    log = n.let(body, "log", total)
    j, inner = n.loop(body, "columns", "vector")
    d = n.let(inner, "sub", n.load(inner, "x", ("away", 1), (j, 1)), "top")
    n.store(inner, n.let(inner, "sub", d, log), "y", ("away", 1), (j, 1))
    return n.kernel([], chunk)


def _softmax_backward(n: Nest) -> Kernel:
    """y (g - Σ g y)."""
    n.array("g")
    n.array("y")
    n.array("c", "output")
    chunk, body = each_row(n)
    total = _summed(
        n,
        body,
        lambda inner, where: n.let(inner, "mul", *(n.load(inner, b, *where) for b in ("g", "y"))),
    )
    j, inner = n.loop(body, "columns", "vector")
    g, y = (n.load(inner, b, ("away", 1), (j, 1)) for b in ("g", "y"))
    c = n.let(inner, "mul", y, n.let(inner, "sub", g, total))
    n.store(inner, c, "c", ("away", 1), (j, 1))
    return n.kernel([], chunk)


def _log_softmax_backward(n: Nest) -> Kernel:
    """g - exp(y) Σ g."""
    n.array("g")
    n.array("y")
    n.array("c", "output")
    chunk, body = each_row(n)
    total = _summed(n, body, lambda inner, where: n.load(inner, "g", *where))
    j, inner = n.loop(body, "columns", "vector")
    g, y = (n.load(inner, b, ("away", 1), (j, 1)) for b in ("g", "y"))
    c = n.let(inner, "sub", g, n.let(inner, "mul", n.let(inner, "exp", y), total))
    n.store(inner, c, "c", ("away", 1), (j, 1))
    return n.kernel([], chunk)


# ------------------------------------------------------------------------- likelihood of classes


def _class_of_row(n: Nest, body: list[Any], place: str) -> None:
    """Of a row the class `at` (0 where there is none), and whether it is `skipped` or `wrong`."""
    zero = Const(0, "int64")
    body += [
        Load("given", "int64", Address("classes", ((place, 1),))),
        Let("skipped", "bool", "eq", ("given", "ignore")),
        Let("below", "bool", "lt", ("given", zero)),
        Let("above", "bool", "ge", ("given", "columns")),
        Let("outside", "bool", "or", ("below", "above")),
        Let("none", "bool", "or", ("outside", "skipped")),
        Let("at", "int64", "select", ("none", zero, "given")),
    ]


def _likelihood(n: Nest) -> Kernel:
    """The sum of -x at the class of each row; how many rows count, and how many have no class."""
    n.array("x")
    n.buffers.append(Buffer("classes", "int64", "input"))
    n.array("sums", "output")
    n.buffers.append(Buffer("counts", "int64", "output"))
    chunk, body = each_row(n)
    rows = chunk.body[-1]
    rows.carries += [Carry("total", n.dtype, "compensated"), Carry("kept", "int64", "add"),
                     Carry("wrong", "int64", "add")]  # fmt: skip
    _class_of_row(n, body, "place")
    zero, one = Const(0, "int64"), Const(1, "int64")
    x = n.load(body, "x", ("away", 1), ("at", 1))
    body += [
        Let("term", n.dtype, "select", ("skipped", Const(0.0, n.dtype), n.let(body, "neg", x))),
        Let("counts.now", "int64", "select", ("skipped", zero, one)),
        Let("lost", "int64", "select", ("outside", "counts.now", zero)),
        Combine("total", "term"),
        Combine("kept", "counts.now"),
        Combine("wrong", "lost"),
    ]
    n.store(chunk.body, "total", "sums", ("chunk", 1))
    chunk.body += [
        Store(Address("counts", (("chunk", 2),)), "kept", "int64"),
        Store(Address("counts", (("chunk", 2),), 1), "wrong", "int64"),
    ]
    kernel = n.kernel([], chunk)
    kernel.integers.append("ignore")
    return kernel


def _likelihood_backward(n: Nest) -> Kernel:
    """A number at the class of each row that counts, else 0."""
    n.buffers.append(Buffer("classes", "int64", "input"))
    n.array("c", "output")
    chunk, body = each_row(n)
    convert = "copy" if n.dtype == "float64" else "cast"
    chunk.body.insert(0, Let("number", n.dtype, convert, ("each",)))
    _class_of_row(n, body, "place")
    j, inner = n.loop(body, "columns", "vector")
    inner.append(Store(Address("c", (("away", 1), (j, 1))), Const(0.0, n.dtype), n.dtype))
    body.append(Let("put", n.dtype, "select", ("none", Const(0.0, n.dtype), "number")))
    n.store(body, "put", "c", ("away", 1), ("at", 1))
    kernel = n.kernel(["each"], chunk)
    kernel.integers.append("ignore")
    return kernel


# ---------------------------------------------------------------------------------- running sums


def _running_sum(n: Nest, backward: bool = False) -> Kernel:
    """Σ of the elements up to each, or from each on, added up in double precision."""
    n.array("x")
    n.array("y", "output")
    chunk, body = each_row(n)
    j, inner = n.loop(body, "columns", "sequential")
    body[-1].carries.append(Carry("total", "float64", "add"))
    place = j
    if backward:
        inner += [
            integer("back", "sub", "columns", j),
            Let("here", "int64", "sub", ("back", Const(1, "int64"))),
        ]
        place = "here"
    x = n.load(inner, "x", ("away", 1), (place, 1))
    convert = "copy" if n.dtype == "float64" else "cast"
    inner.append(Let("wide", "float64", convert, (x,)))
    inner.append(Combine("total", "wide"))
    n.store(inner, n.let(inner, convert, "total"), "y", ("away", 1), (place, 1))
    return n.kernel([], chunk)


# ------------------------------------------------------------------------------------ batch norm


def _each_column(n: Nest) -> tuple[For, str, list[Any]]:
    chunk = chunks("columns")
    convert = "copy" if n.dtype == "float64" else "cast"
    chunk.body += [
        Let("count", n.dtype, convert, ("samples",)),
        Let("more", n.dtype, convert, ("eps",)),
    ]
    j, body = n.loop(chunk.body, "some", "vector")
    return chunk, j, body


def _moments(n: Nest, body: list[Any], j: str) -> tuple[str, str, str]:
    """The mean, the variance and the reciprocal deviation of a column."""
    i, inner = n.loop(body, "rows", "sequential", [("total", "compensated")])
    inner.append(Combine("total", n.load(inner, "x", (i, "columns"), ("start", 1), (j, 1))))
    mean = n.let(body, "div", "total", "count")
    i, inner = n.loop(body, "rows", "sequential", [("spread", "compensated")])
    d = n.let(inner, "sub", n.load(inner, "x", (i, "columns"), ("start", 1), (j, 1)), mean)
    inner.append(Combine("spread", n.let(inner, "mul", d, d)))
    variance = n.let(body, "div", "spread", "count")
    root = n.let(body, "sqrt", n.let(body, "add", variance, "more"))
    return mean, variance, n.let(body, "div", 1.0, root)


def _double_sums(n: Nest, body: list[Any], j: str, with_cotangent: bool) -> dict[str, str]:
    """Of a column in single precision, from one pass that adds up in double.

    With d = x minus the first element, from Σ d and Σ d² come the mean and the variance, and from
    Σ g and Σ g d the sum of g n, n = (x - mean) / deviation: what cancels is far below the
    precision of the elements.
    """

    def wide(inner: list[Any], op: str, *xs: str) -> str:
        n.count += 1
        inner.append(Let(f"t{n.count}", "float64", op, xs))
        return f"t{n.count}"

    first = wide(body, "cast", n.load(body, "x", ("start", 1), (j, 1)))
    i, inner = n.loop(body, "rows", "sequential")
    names = ["d_sum", "square_sum", *(["g_sum", "product_sum"] if with_cotangent else [])]
    body[-1].carries.extend(Carry(name, "float64", "add") for name in names)
    where = ((i, "columns"), ("start", 1), (j, 1))
    d = wide(inner, "sub", wide(inner, "cast", n.load(inner, "x", *where)), first)
    inner += [Combine("d_sum", d), Combine("square_sum", d, d)]
    if with_cotangent:
        g = wide(inner, "cast", n.load(inner, "g", *where))
        inner += [Combine("g_sum", g), Combine("product_sum", g, d)]
    middle = wide(body, "div", "d_sum", "samples")
    variance = wide(
        body, "sub", wide(body, "div", "square_sum", "samples"), wide(body, "mul", middle, middle)
    )
    found = {
        "mean": n.let(body, "cast", wide(body, "add", first, middle)),
        "variance": n.let(body, "cast", variance),
    }
    root = n.let(body, "sqrt", n.let(body, "add", found["variance"], "more"))
    found["inverse"] = n.let(body, "div", 1.0, root)
    if with_cotangent:
        tilted = wide(body, "sub", "product_sum", wide(body, "mul", middle, "g_sum"))
        found["plain"] = n.let(body, "cast", "g_sum")
        found["tilted"] = n.let(body, "mul", n.let(body, "cast", tilted), found["inverse"])
    return found


def _batch_norm(n: Nest) -> Kernel:
    """(x - mean) / deviation · w + b."""
    for name in ("x", "w", "b"):
        n.array(name)
    for name in ("y", "means", "variances"):
        n.array(name, "output")
    chunk, j, body = _each_column(n)
    if n.dtype == "float32":
        sums = _double_sums(n, body, j, False)
        mean, variance, inverse = sums["mean"], sums["variance"], sums["inverse"]
    else:
        mean, variance, inverse = _moments(n, body, j)
    n.store(body, mean, "means", ("start", 1), (j, 1))
    n.store(body, variance, "variances", ("start", 1), (j, 1))
    w, b = (n.load(body, name, ("start", 1), (j, 1)) for name in ("w", "b"))
    i, inner = n.loop(body, "rows", "sequential")
    where = ((i, "columns"), ("start", 1), (j, 1))
    d = n.let(inner, "mul", n.let(inner, "sub", n.load(inner, "x", *where), mean), inverse)
    n.store(inner, n.let(inner, "add", n.let(inner, "mul", d, w), b), "y", *where)
    return n.kernel(["samples", "eps"], chunk)


def _sums_of_cotangents(
    n: Nest, body: list[Any], j: str, mean: str, inverse: str
) -> tuple[str, str]:
    """Σ g and Σ g n of a column."""
    sums = [("plain", "compensated"), ("tilted", "compensated")]
    i, inner = n.loop(body, "rows", "sequential", sums)
    where = ((i, "columns"), ("start", 1), (j, 1))
    g, x = n.load(inner, "g", *where), n.load(inner, "x", *where)
    d = n.let(inner, "mul", n.let(inner, "sub", x, mean), inverse)
    inner += [Combine("plain", g), Combine("tilted", n.let(inner, "mul", g, d))]
    return "plain", "tilted"


def _batch_norm_backward(n: Nest) -> Kernel:
    """(g w - mean(g w) - n mean(g w n)) / deviation, for n = (x - mean) / deviation; Σ g n; Σ g."""
    for name in ("g", "x", "w"):
        n.array(name)
    for name in ("cx", "cw", "cb"):
        n.array(name, "output")
    chunk, j, body = _each_column(n)
    if n.dtype == "float32":
        sums = _double_sums(n, body, j, True)
        mean, inverse = sums["mean"], sums["inverse"]
        plain, tilted = sums["plain"], sums["tilted"]
    else:
        mean, _, inverse = _moments(n, body, j)
        plain, tilted = _sums_of_cotangents(n, body, j, mean, inverse)
    n.store(body, tilted, "cw", ("start", 1), (j, 1))
    n.store(body, plain, "cb", ("start", 1), (j, 1))
    middle, slope = (n.let(body, "div", s, "count") for s in (plain, tilted))
    factor = n.let(body, "mul", n.load(body, "w", ("start", 1), (j, 1)), inverse)
    i, inner = n.loop(body, "rows", "sequential")
    where = ((i, "columns"), ("start", 1), (j, 1))
    g, x = n.load(inner, "g", *where), n.load(inner, "x", *where)
    d = n.let(inner, "mul", n.let(inner, "sub", x, mean), inverse)
    rest = n.let(inner, "sub", n.let(inner, "sub", g, middle), n.let(inner, "mul", d, slope))
    n.store(inner, n.let(inner, "mul", rest, factor), "cx", *where)
    return n.kernel(["samples", "eps"], chunk)


# ------------------------------------------------------------------------------------ layer norm


def _each_normal(n: Nest) -> tuple[For, list[Any], str, str]:
    """The rows, with the mean and the reciprocal deviation of each."""
    chunk, body = each_row(n)
    convert = "copy" if n.dtype == "float64" else "cast"
    chunk.body[-1:-1] = [
        Let("count", n.dtype, convert, ("samples",)),
        Let("more", n.dtype, convert, ("eps",)),
    ]
    total = _summed(n, body, lambda inner, where: n.load(inner, "x", *where))
    mean = n.let(body, "div", total, "count")

    def square(inner: list[Any], where: tuple[Any, ...]) -> str:
        d = n.let(inner, "sub", n.load(inner, "x", *where), mean)
        return n.let(inner, "mul", d, d)

    variance = n.let(body, "div", _summed(n, body, square), "count")
    root = n.let(body, "sqrt", n.let(body, "add", variance, "more"))
    return chunk, body, mean, n.let(body, "div", 1.0, root)


def _layer_norm(n: Nest) -> Kernel:
    """(x - mean) / deviation · w + b."""
    for name in ("x", "w", "b"):
        n.array(name)
    n.array("y", "output")
    chunk, body, mean, inverse = _each_normal(n)
    j, inner = n.loop(body, "columns", "vector")
    x, w, b = (n.load(inner, a, *at) for a, at in
               (("x", (("away", 1), (j, 1))), ("w", ((j, 1),)), ("b", ((j, 1),))))  # fmt: skip
    d = n.let(inner, "mul", n.let(inner, "sub", x, mean), inverse)
    n.store(inner, n.let(inner, "add", n.let(inner, "mul", d, w), b), "y", ("away", 1), (j, 1))
    return n.kernel(["samples", "eps"], chunk)


def _layer_norm_backward(n: Nest) -> Kernel:
    """(h - mean(h) - n mean(h n)) / deviation, for h = g w and n = (x - mean) / deviation.

    Σ g n and Σ g over the rows of a piece are added to what lies in `cw` and `cb`, `apart` from
    those of the next piece.
    """
    for name in ("g", "x", "w"):
        n.array(name)
    for name in ("cx", "cw", "cb"):
        n.array(name, "output")
    chunk, body, mean, inverse = _each_normal(n)

    def terms(inner: list[Any], where: tuple[Any, ...]) -> list[str]:
        g, x = n.load(inner, "g", *where), n.load(inner, "x", *where)
        d = n.let(inner, "mul", n.let(inner, "sub", x, mean), inverse)
        h = n.let(inner, "mul", g, n.load(inner, "w", *where[1:]))
        for name, term in (("cw", n.let(inner, "mul", g, d)), ("cb", g)):
            to = Address(name, (("chunk", "apart"), *where[1:]))
            inner.append(Accumulate(to, "add", term, n.dtype))
        return [h, n.let(inner, "mul", h, d)]

    sums = _sums_of_row(n, body, 2, terms)
    middle, slope = (n.let(body, "div", s, "count") for s in sums)
    j, inner = n.loop(body, "columns", "vector")
    g, x = (n.load(inner, a, ("away", 1), (j, 1)) for a in ("g", "x"))
    d = n.let(inner, "mul", n.let(inner, "sub", x, mean), inverse)
    h = n.let(inner, "mul", g, n.load(inner, "w", (j, 1)))
    rest = n.let(inner, "sub", n.let(inner, "sub", h, middle), n.let(inner, "mul", d, slope))
    n.store(inner, n.let(inner, "mul", rest, inverse), "cx", ("away", 1), (j, 1))
    kernel = n.kernel(["samples", "eps"], chunk)
    kernel.integers.append("apart")
    return kernel


KERNELS: dict[str, Callable[[Nest], Kernel]] = {
    "softmax": _softmax,
    "softmax_backward": _softmax_backward,
    "log_softmax": _log_softmax,
    "log_softmax_backward": _log_softmax_backward,
    "likelihood": _likelihood,
    "likelihood_backward": _likelihood_backward,
    "running_sum": _running_sum,
    "running_sum_backward": functools.partial(_running_sum, backward=True),
    "layer_norm": _layer_norm,
    "layer_norm_backward": _layer_norm_backward,
    "batch_norm": _batch_norm,
    "batch_norm_backward": _batch_norm_backward,
}
