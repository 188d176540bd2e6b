"""Calls of the native code of `flat` that were prepared once for operands of one kind.

`flat.value` and `flat.pull` look at each operand, find the code and write its table; for operands
of the same dtypes, shapes and layouts all of that comes out the same but for addresses. Recipes and
hot paths, which know that much, prepare it. Whatever does not fit (memory that is not aligned, a
cotangent with gaps) goes to `flat`, to the same code. It imports what `flat` imports.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.compile.llvm.entry import At, Buffer, Entry, Leaf, Made, Program, Step, native
from funcgrad.compile.llvm.pool import pool
from funcgrad.compile.memory import address_of
from funcgrad.config import config
from funcgrad.core import memory
from funcgrad.core.primitive import Params, Primitive
from funcgrad.kernels.noting import notes
from funcgrad.torch import flat

__all__ = ["FIT", "Pulls", "prepared", "value_plan"]

ndarray = np.ndarray
FIT = 0x101  # flags of NumPy: in C order without gaps, aligned
Pull = Callable[[Any, Any], "list[Any] | None"]


class _Call:
    """The code for a size, and its table but for addresses."""

    __slots__ = ("at", "call", "chunks", "code", "numbers", "shared", "tail")

    def __init__(self, code: Any, size: int, grain: int, numbers: Sequence[float]) -> None:
        self.call, self.at, self.chunks = code.call, code.address, -(-size // grain)
        self.code = code
        self.shared = size >= flat.SHARED
        self.tail, self.numbers = array("q", [size, grain]), len(numbers)
        self.tail.frombytes(array("d", numbers).tobytes())

    def run(self, arrays: Sequence[Any], number: float | None = None) -> None:
        """Run it; `number` takes the place of the first one of the table."""
        table = array("q", map(address_of(), arrays))
        table += self.tail
        if number is not None:
            at = len(table) - self.numbers
            table[at : at + 1] = array("q", array("d", [number]).tobytes())
        where = table.buffer_info()[0]
        if self.shared and config.threads > 1:
            pool().run(self.at, where, self.chunks)
        else:
            self.call(where, 0, self.chunks, 0)

    def entry(
        self, arrays: Sequence[Any], made: int, shape: tuple[int, ...], dtype: Any
    ) -> Callable[..., Any] | None:
        """A native function of operands like `arrays` that makes and returns so many of `shape`.

        It checks what it is given, and returns NotImplemented where that does not fit. What is so
        large that threads share it lies in memory that is used again, which it does not know.
        """
        return prepared(self.code, arrays, (), made, shape, dtype, self.tail, self.chunks)


def prepared(
    code: Any, arrays: Sequence[Any], constants: Sequence[int], made: int,
    shape: tuple[int, ...], dtype: Any, tail: Sequence[int], chunks: int, keep: Any = None,
    scratch: Sequence[int] = (),
) -> Callable[..., Any] | None:  # fmt: skip
    """A native function of operands like `arrays` that makes and returns so many of `shape`.

    It runs `code` in one thread with a table of their addresses, those of arrays to `keep`, those
    of what is made, of `scratch` memory, so many bytes each, and `tail`; see `_Call.entry`.
    """
    if math.prod(shape) >= flat.SHARED or native.native() is None:
        return None
    words: list[Any] = [At("leaf", k) for k in range(len(arrays))]
    words += [*constants, *(At("buffer", k) for k in range(made))]
    words += [At("workspace", 0, sum(scratch[:k])) for k in range(len(scratch))]
    program = Program(
        [Leaf(x.shape, x.dtype) for x in arrays],
        [Buffer(shape, dtype)] * made,
        [Step(code.address, [*words, *tail], chunks)],
        [Made(k) for k in range(made)],
        result=0 if made == 1 else None,
        keep=(code, keep),
        workspace=sum(scratch),
    )
    entry = Entry()
    entry.add(program)
    return entry.call


def value_plan(prim: Primitive, xs: Sequence[Any], params: Params) -> Callable[..., Any] | None:
    """`flat.value` for operands of the kinds of `xs`, given the arrays among them.

    Numbers of Python are those of `xs` at every call. It gives None where `flat` has to look.
    """
    first = next((x for x in xs if type(x) is ndarray and x.dtype != flat.BOOL), None)
    if first is None or any(isinstance(x, np.generic) for x in xs):
        return None
    if any(type(x) is ndarray and x.shape != first.shape for x in xs):
        return None
    found = flat.form_of_value(prim, first, xs, params)
    if found is None or found.given.order is not None:
        return None
    shape, dtype, size = first.shape, first.dtype, first.size
    call = _Call(found.code, size, flat.PIECE if found.total else flat.CHUNK, found.given.numbers)
    mean = found.total and params["reduction"] == "mean"
    entry = None if found.total else call.entry(found.given.arrays, 1, shape, dtype)

    def quick(*arrays: Any) -> Any:
        assert entry is not None
        out = entry(*arrays) if config.kernels else NotImplemented
        return None if out is NotImplemented else out

    def value(*arrays: Any) -> Any:
        if not config.kernels:
            return None
        for x in arrays:
            if x.flags.num & FIT != FIT:
                return None
        out = memory.empty(shape, dtype)
        call.run((*arrays, out))
        return out

    def total(*arrays: Any) -> Any:
        if not config.kernels:
            return None
        for x in arrays:
            if x.flags.num & FIT != FIT:
                return None
        parts = np.empty(call.chunks, dtype)
        call.run((*arrays, parts))
        return flat.whole_of(parts, size, mean)

    return total if found.total else value if entry is None else quick


class Pulls:
    """`flat.pull` for the nodes of one class, prepared for each shape.

    With `numbers` the numbers that such a node has saved are those of its class.
    """

    __slots__ = ("numbers", "plans")

    def __init__(self, numbers: bool) -> None:
        self.plans: dict[Any, Pull] = {}
        self.numbers = numbers

    def __call__(self, node: Any, g: Any) -> list[Any] | None:
        if type(g) is ndarray:
            if g.flags.num & FIT != FIT or notes.calls is not None:
                return flat.pull(node, g)
            key: Any = (g.shape, g.dtype.char)
        else:
            key = type(g)
        plan = self.plans.get(key)
        if plan is None:
            if len(self.plans) >= flat.VARIANTS:
                return flat.pull(node, g)
            plan = self.plans[key] = _pull_plan(node, g, self.numbers) or flat.pull
        return plan(node, g)


def _pull_plan(node: Any, g: Any, constant: bool) -> Pull | None:
    saved = node.saved
    found = flat.form_of_pull(node, g) if type(saved) is tuple else None
    if found is None or found.given.order is not None:
        return None
    places = [k for k, x in enumerate(saved) if type(x) is ndarray]
    adds = found.total
    own = 0 if adds else 1  # of what is read besides what is saved: the cotangent
    if len(found.given.arrays) != len(places) + own:
        return None
    others = len(found.given.numbers) - (1 if adds else 0)
    if (others and not constant) or any(isinstance(x, np.generic) for x in saved):
        return None
    like = saved[1] if adds else g
    shapes, dtype = [saved[k].shape for k in places], like.dtype
    if any(s != like.shape for s in shapes):
        return None
    shape, size = like.shape, like.size
    call = _Call(found.code, size, flat.CHUNK, found.given.numbers)
    wanted = found.wanted
    mean = adds and node.params["reduction"] == "mean"
    count = sum(wanted)
    single = wanted.index(True) if count == 1 else None
    entry = None
    if not adds:
        entry = call.entry(found.given.arrays, count, shape, dtype)

    def quick(node: Any, g: Any) -> list[Any] | None:
        assert entry is not None
        held = node.saved
        outs = entry(g, *[held[k] for k in places]) if config.kernels else NotImplemented
        if outs is NotImplemented:
            return flat.pull(node, g)
        if single is not None:
            outs = (outs,)
        back = iter(outs)
        return [next(back) if w else None for w in wanted]

    def pull(node: Any, g: Any) -> list[Any] | None:
        held = node.saved
        arrays = [held[k] for k in places]
        for x in arrays:
            if type(x) is not ndarray or x.flags.num & FIT != FIT or x.shape != shape:
                return flat.pull(node, g)
        if not config.kernels:
            return None
        number = None
        if adds:
            number = float(g / dtype.type(size)) if mean else float(g)
        else:
            arrays.insert(0, g)
        outs = [memory.empty(shape, dtype) for _ in range(count)]
        call.run([*arrays, *outs], number)
        if single is not None:
            made: list[Any] = [None] * len(wanted)
            made[single] = outs[0]
            return made
        back = iter(outs)
        return [next(back) if w else None for w in wanted]

    return pull if entry is None else quick
