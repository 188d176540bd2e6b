"""The native code of `moments_of_lines`, as loop nests. It imports the compiler."""

from __future__ import annotations

from typing import Any

from funcgrad.compile.loops import (
    Address,
    Buffer,
    Combine,
    Const,
    For,
    Kernel,
    Let,
    Load,
    Store,
)
from funcgrad.kernels.nests import Nest, chunks, integer, printed
from funcgrad.torch.moments_of_lines import TILE

__all__ = ["text_of"]


def text_of(loop: str, dtype: str) -> str:
    """The module of a loop "along" lines or over what lies "beside" each other."""
    n = Nest("float64")
    n.buffers = [Buffer("x", dtype, "input")]
    for name in ("means", "squares"):
        n.array(name, "output")
    return printed((_along if loop == "along" else _beside)(n, dtype))


def _loaded(n: Nest, body: list[Any], dtype: str, *where: Any) -> str:
    """An element, in double precision."""
    n.count += 1
    name = f"x{n.count}"
    body += [
        Load(name, dtype, Address("x", where)),
        Let(f"{name}.wide", "float64", "cast" if dtype == "float32" else "copy", (name,)),
    ]
    return f"{name}.wide"


def _stored(n: Nest, body: list[Any], mean: str, squares: str, *where: Any) -> None:
    body += [
        Store(Address("means", where), mean, "float64"),
        Store(Address("squares", where), squares, "float64"),
    ]


def _moments(n: Nest, body: list[Any], dtype: str, count: str, kind: str, where: Any) -> None:
    """The mean of `count` elements, and the sum of the squares about it."""
    i, inner = n.loop(body, count, kind, [("total", "add")])
    inner.append(Combine("total", _loaded(n, inner, dtype, *where(i))))
    body += [
        Let("extent", "float64", "cast", (count,)),
        Let("mean", "float64", "div", ("total", "extent")),
    ]
    i, inner = n.loop(body, count, kind, [("spread", "add")])
    away = n.let(inner, "sub", _loaded(n, inner, dtype, *where(i)), "mean")
    inner.append(Combine("spread", n.let(inner, "mul", away, away)))


def _block(extent: str) -> list[Let]:
    """Where the block of this number begins, and how `wide` it is."""
    return [
        integer("begin", "mul", "block", "width"),
        integer("left_here", "sub", extent, "begin"),
        integer("wide", "min", "left_here", "width"),
    ]


def _along(n: Nest, dtype: str) -> Kernel:
    chunk = chunks("pieces")
    k, body = n.loop(chunk.body, "some", "sequential")
    body += [
        integer("place", "add", "start", k),
        integer("line", "div", "place", "blocks"),
        integer("block", "rem", "place", "blocks"),
        *_block("length"),
        integer("away", "mul", "line", "length"),
    ]
    _moments(n, body, dtype, "wide", "vector", lambda j: (("away", 1), ("begin", 1), (j, 1)))
    _stored(n, body, "mean", "spread", ("place", 1))
    integers = ["grain", "pieces", "lines", "length", "blocks", "width"]
    return Kernel("call", n.buffers, integers, [], [chunk])


def _beside(n: Nest, dtype: str) -> Kernel:
    chunk = For("chunk", "chunks", "chunks")
    tile = Const(TILE, "int64")
    chunk.body = [
        Let("more", "int64", "add", ("across", Const(TILE - 1, "int64"))),
        Let("tiles", "int64", "div", ("more", tile)),
        integer("piece", "div", "chunk", "tiles"),
        integer("tile", "rem", "chunk", "tiles"),
        Let("left", "int64", "mul", ("tile", tile)),
        integer("rest", "sub", "across", "left"),
        Let("some", "int64", "min", ("rest", tile)),
        integer("outer_at", "div", "piece", "blocks"),
        integer("block", "rem", "piece", "blocks"),
        *_block("parts"),
        integer("line_", "mul", "outer_at", "parts"),
        integer("line", "add", "line_", "begin"),
    ]
    k, body = n.loop(chunk.body, "some", "vector")
    where = (("line", "across"), ("left", 1), (k, 1))
    _moments(n, body, dtype, "wide", "sequential", lambda p: ((p, "across"), *where))
    _stored(n, body, "mean", "spread", ("piece", "across"), ("left", 1), (k, 1))
    integers = ["grain", "pieces", "outer", "parts", "across", "blocks", "width"]
    return Kernel("call", n.buffers, integers, [], [chunk])
