"""Programs of the shapes that arguments turn out to have when compiled code runs.

The programs of one kind of arguments are a list of nodes that native code walks. For shapes of
which it has no node Python is called once to append one.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from funcgrad.compile.numba.call import WORD, cgutils, types, word_of
from funcgrad.compile.numba.source import Made, Slot, Special
from funcgrad.errors import NativeCodeError

_numbers = itertools.count()
_tables: dict[int, Table] = {}  # for as long as the process: code that Numba has stays


@intrinsic(prefer_literal=True)
def extent(typing_context: Any, node: Any, number: Any) -> Any:
    """A word of a node."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return word_of(builder, arguments[0], number.literal_value)

    return types.int64(node, number), generate


class Table:
    """The programs of one kind of arguments: a list of nodes that native code walks.

    A node is words: the next node, the address of the code, the extents of the inputs, and those
    of the outputs. Nodes are appended in front and never change.
    """

    def __init__(self, special: Special, made: Made, slots: Sequence[Slot]) -> None:
        self.special, self.example = special, made
        self.ranks = [s.ndim for s in slots]
        self.head = np.zeros(1, np.int64)
        self.lock = threading.RLock()  # of the head of the list
        self.known: dict[tuple[tuple[int, ...], ...], np.ndarray[Any, Any]] = {}
        self.keep: list[Any] = []
        self.number = next(_numbers)
        _tables[self.number] = self

    def add(self, shapes: tuple[tuple[int, ...], ...]) -> int:
        """The address of the node of shapes."""
        found = self.known.get(shapes)
        if found is None:  # this runs code of the user, so not under the lock
            made = self.special.made(shapes)
            self.check(made, shapes)
            loaded = made.loaded()
            extents = [n for t in (*shapes, *(o.shape for o in made.outputs)) for n in t]
            node = np.array([0, loaded.address, *extents], np.int64)
            self.keep.append((loaded, node))
            address = node.ctypes.data
            with self.lock:
                node[0] = self.head[0]
                self.head[0] = address
            found = self.known.setdefault(shapes, node)
        return int(found.ctypes.data)

    def check(self, made: Made, shapes: Any) -> None:
        """The code around is for outputs of the same ranks and dtypes."""
        now, then = ([(o.ndim, o.dtype) for o in m.outputs] for m in (made, self.example))
        if now != then or made.tree != self.example.tree:
            raise NativeCodeError(
                f"for arguments of the shapes {shapes} the outputs are {made.outputs}, of other "
                f"ranks or dtypes than for others ({self.example.outputs}); compiled code has one "
                "type of result for each type of arguments"
            )


def missing(number: int, address: int) -> int:
    """Called by native code for extents that it has no node of; gives the address of the node."""
    table = _tables[number]
    words = iter(memoryview(ctypes.string_at(address, 8 * sum(table.ranks))).cast("q"))
    return table.add(tuple(tuple(next(words) for _ in range(n)) for n in table.ranks))


def finder(table: Table) -> Any:
    """The node for the extents of the inputs."""
    head = table.head.__array_interface__["data"][0]

    @intrinsic
    def find(typing_context: Any, inputs: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            extents = _extents(context, builder, signature.args[0], arguments[0])
            first = context.add_dynamic_addr(builder, head, "programs")
            found = cgutils.alloca_once(builder, WORD)
            words = builder.bitcast(first, WORD.as_pointer())
            builder.store(builder.load(words), found)
            _walk(builder, found, extents)
            with builder.if_then(
                builder.icmp_unsigned("==", builder.load(found), WORD(0)), likely=False
            ):
                builder.store(_ask(context, builder, table.number, extents), found)
            return builder.load(found)

        return types.int64(inputs), generate

    return find


def _extents(context: Any, builder: Any, kinds: Any, given: Any) -> list[Any]:
    found = []
    values = cgutils.unpack_tuple(builder, given, len(kinds))
    for kind, value in zip(kinds, values, strict=True):
        if isinstance(kind, types.Array):
            array = context.make_array(kind)(context, builder, value)
            found += cgutils.unpack_tuple(builder, array.shape, kind.ndim)
    return found


def _walk(builder: Any, found: Any, extents: Sequence[Any]) -> None:
    """Go through the nodes until one has these extents; 0 if none has."""
    head = builder.append_basic_block("node")
    look = builder.append_basic_block("look")
    following = builder.append_basic_block("following")
    after = builder.append_basic_block("found")
    builder.branch(head)
    builder.position_at_end(head)
    node = builder.load(found)
    builder.cbranch(builder.icmp_unsigned("==", node, WORD(0)), after, look)
    builder.position_at_end(look)
    same = cgutils.true_bit
    for k, n in enumerate(extents):
        same = builder.and_(same, builder.icmp_signed("==", word_of(builder, node, 2 + k), n))
    builder.cbranch(same, after, following)
    builder.position_at_end(following)
    builder.store(word_of(builder, node, 0), found)
    builder.branch(head)
    builder.position_at_end(after)


def _ask(context: Any, builder: Any, number: int, extents: Sequence[Any]) -> Any:
    """Call `missing` in Python; its exception becomes that of the code around."""
    memory = cgutils.alloca_once(builder, ir.ArrayType(WORD, max(len(extents), 1)))
    for k, n in enumerate(extents):
        builder.store(n, cgutils.gep_inbounds(builder, memory, 0, k))
    python = context.get_python_api(builder)
    held = python.gil_ensure()
    callee = python.unserialize(python.serialize_object(missing))
    which = python.long_from_longlong(WORD(number))
    where = python.long_from_longlong(builder.ptrtoint(memory, WORD))
    result = python.call_function_objargs(callee, (which, where))
    failed = cgutils.is_null(builder, result)
    with builder.if_then(failed, likely=False):
        for x in (callee, which, where):
            python.decref(x)
        python.gil_release(held)
        context.call_conv.return_exc(builder)
    node = python.long_as_longlong(result)
    for x in (callee, which, where, result):
        python.decref(x)
    python.gil_release(held)
    return node
