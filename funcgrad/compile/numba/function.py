"""Functions that Numba can compile calls of, made from programs.

`function` gives a dispatcher of Numba's. For each kind of arguments it asks its `Source` for a
program and writes a small Python function around it, which Numba compiles: it takes tuples apart,
makes the arrays of the result, and calls the program by an intrinsic. Where shapes are known only
when the code runs, the program for them is looked up in a list that the code walks; for shapes that
it does not hold, Python is called once to append to it.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numba
import numpy as np
from llvmlite import ir
from numba import types as _types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic, overload
from numba.np import numpy_support

from funcgrad.compile.llvm.printer import foreign_of
from funcgrad.compile.numba.link import Loaded, library_of
from funcgrad.compile.numba.program import OUT_OF_BOUNDS, OUT_OF_MEMORY, NativeProgram
from funcgrad.compile.scalars import NATIVE
from funcgrad.core.types import ArrayType
from funcgrad.errors import NativeCodeError
from funcgrad.tree import TreeDef

__all__ = ["Made", "Slot", "Source", "Special", "function"]

types: Any = _types  # half annotated
cgutils: Any = _cgutils
WORD = ir.IntType(64)
POINTER = cgutils.voidptr_t


class Slot:
    """The place of an array or a number among the arguments: its number, dtype and rank."""

    __slots__ = ("dtype", "ndim", "number")

    def __init__(self, number: int, dtype: np.dtype[Any], ndim: int) -> None:
        self.number, self.dtype, self.ndim = number, dtype, ndim


class Made(NamedTuple):
    """What a source made for shapes: the program, the types of its outputs, and their tree."""

    program: NativeProgram
    outputs: tuple[ArrayType, ...]
    tree: TreeDef
    loaded: Callable[[], Loaded]


class Special(Protocol):
    """What a source knows of one kind of arguments."""

    def made(self, shapes: Sequence[tuple[int, ...]]) -> Made:
        """The program for these shapes."""
        ...

    def example(self) -> Made:
        """The program for some shapes that the function takes: for the types of its outputs."""
        ...


class Source(Protocol):
    """What makes programs: of one function, for any arguments."""

    name: str
    parameters: str

    def special(self, arguments: Sequence[Any], slots: Sequence[Slot]) -> Special:
        """For arguments with slots in the place of arrays and numbers."""
        ...


def function(source: Source) -> Any:
    """The dispatcher of a source: call it from functions that Numba compiles, or from Python."""

    def stand_in(*arguments: Any) -> Any:
        raise NotImplementedError  # Numba takes the overload

    @overload(stand_in, strict=False)
    def _(*arguments: Any) -> Any:
        return _implementation(source, arguments)

    given = ", ".join(p.split("=")[0].strip() for p in source.parameters.split(",") if p.strip())
    text = f"def {source.name}({source.parameters}):\n    return stand_in({given})\n"
    names = {"stand_in": stand_in}
    exec(text, names)
    return numba.njit(nogil=True)(names[source.name])


# ----------------------------------------------------------------------------- arguments


def _read(kind: Any, path: str, slots: list[tuple[Slot, str, Any]]) -> Any:
    """An argument of a type of Numba's, with slots for its arrays and numbers."""
    kind = types.unliteral(kind)
    if isinstance(kind, types.Omitted):
        return kind.value
    if isinstance(kind, types.NoneType):
        return None
    if isinstance(kind, types.Array):
        if not kind.aligned:
            raise NativeCodeError(f"argument {path} is an array that is not aligned; copy it")
        return _slot(kind.dtype, kind.ndim, kind, path, slots)
    if isinstance(kind, types.BaseTuple):
        children = [_read(t, f"{path}[{k}]", slots) for k, t in enumerate(kind.types)]
        made = getattr(kind, "instance_class", None)
        return tuple(children) if made is None else made(*children)
    return _slot(kind, 0, kind, path, slots)


def _slot(element: Any, ndim: int, kind: Any, path: str, slots: list[Any]) -> Slot:
    try:
        dtype = np.dtype(numpy_support.as_dtype(element))
    except (NotImplementedError, ValueError, TypeError):
        dtype = np.dtype(object)
    if dtype not in NATIVE:
        raise NativeCodeError(
            f"argument {path} has Numba's type {kind}; native code takes numbers and arrays of "
            f"{', '.join(sorted(NATIVE.values()))}, and tuples of them: convert it"
        )
    slot = Slot(len(slots), dtype, ndim)
    slots.append((slot, path, kind))
    return slot


# ---------------------------------------------------------------------- implementation


def _implementation(source: Source, arguments: Sequence[Any]) -> Callable[..., Any]:
    """The Python function that Numba compiles for these types of arguments."""
    slots: list[tuple[Slot, str, Any]] = []
    if len(arguments) == 1 and isinstance(arguments[0], types.StarArgTuple):
        arguments = arguments[0].types
    read = [_read(t, f"a[{k}]", slots) for k, t in enumerate(arguments)]
    special = source.special(read, [s for s, _, _ in slots])
    made = special.example()
    names: dict[str, Any] = {"np": np, "IndexError": IndexError, "MemoryError": MemoryError}
    names["RuntimeError"] = RuntimeError
    lines = ["def implementation(*a):"]
    for slot, path, kind in slots:
        strided = isinstance(kind, types.Array) and kind.layout != "C" and kind.ndim > 0
        value = f"np.ascontiguousarray({path})" if strided else path
        lines.append(f"    x{slot.number} = {value}")
    inputs = "".join(f"x{s.number}, " for s, _, _ in slots)
    dynamic = any(s.ndim for s, _, _ in slots)
    if dynamic:
        table = _Table(special, made, [s for s, _, _ in slots])
        names["find"] = _find(table)
        names["extent"] = _extent
        names["run"] = _run_found(made)
        lines.append(f"    node = find(({inputs}))")
        before = "node, "
    else:
        names["run"] = _run(made)
        before = ""
    arrays, at = [], 2 + sum(s.ndim for s, _, _ in slots)
    for k, o in enumerate(made.outputs):
        if not o.ndim:
            continue
        names[f"d{k}"] = o.dtype.type
        shape = [f"extent(node, {at + i})" for i in range(o.ndim)] if dynamic else map(str, o.shape)
        at += o.ndim
        lines.append(f"    y{k} = np.empty(({', '.join(shape)},), d{k})")
        arrays.append(k)
    outputs = "".join(f"y{k}, " for k in arrays)
    lines.append(f"    found = run({before}({inputs}), ({outputs}))")
    lines.append("    if found[0] != 0:")
    lines.append(f"        if found[0] == {OUT_OF_MEMORY}:")
    lines.append('            raise MemoryError("no memory for intermediate values")')
    foreign = any(f.fails for f in foreign_of(made.program.kernels))
    what = (
        "an index is out of bounds"
        if not foreign
        else (
            "a function that from_numba took in raised an exception, or an index is out of bounds,"
        )
    )
    error = "RuntimeError" if foreign else "IndexError"  # the status does not say which it was
    lines.append(f'        raise {error}("{what} in {source.name}")')
    numbers = iter(range(1, 1 + len(made.outputs)))
    values = [f"y{k}" if o.ndim else f"found[{next(numbers)}]" for k, o in enumerate(made.outputs)]
    lines.append(f"    return {_built(made.tree, iter(values), names)}")
    exec("\n".join(lines), names)
    implementation: Callable[..., Any] = names["implementation"]
    return implementation


assert OUT_OF_BOUNDS == 1


def _built(tree: TreeDef, values: Any, names: dict[str, Any]) -> str:
    """The expression that builds the result of the outputs."""
    if tree.kind is None:
        return str(next(values))
    if tree.kind is type(None):
        return "None"
    inner = [_built(c, values, names) for c in tree.children]
    if tree.kind in (tuple, list):
        return f"({''.join(f'{x}, ' for x in inner)})"
    if isinstance(tree.kind, type) and issubclass(tree.kind, tuple):
        names[f"class_{tree.kind.__name__}"] = tree.kind
        return f"class_{tree.kind.__name__}({', '.join(inner)})"
    raise NativeCodeError(
        f"the result {tree} is no tuple: compiled code returns numbers, arrays and tuples of them"
    )


# -------------------------------------------------------------------------- intrinsics


def _memory_of(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The address of an input or output: of an array's elements, or of a copy of a number."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        return builder.bitcast(array.data, POINTER)
    slot = cgutils.alloca_once(builder, context.get_data_type(kind))
    builder.store(context.data_model_manager[kind].as_data(builder, value), slot)
    return builder.bitcast(slot, POINTER)


def _table_of(builder: Any, addresses: Sequence[Any]) -> Any:
    table = cgutils.alloca_once(builder, ir.ArrayType(POINTER, max(len(addresses), 1)))
    for k, address in enumerate(addresses):
        builder.store(address, cgutils.gep_inbounds(builder, table, 0, k))
    return builder.bitcast(table, POINTER)


def _call_program(
    context: Any,
    builder: Any,
    signature: Any,
    made: Made,
    inputs: tuple[Any, Any],
    arrays: tuple[Any, Any],
    callee: Any,
) -> Any:
    """Call a program on tuples of inputs and arrays; the status and the numbers that came out."""
    kinds, given = inputs
    values = cgutils.unpack_tuple(builder, given, len(kinds))
    into = [_memory_of(context, builder, t, v) for t, v in zip(kinds, values, strict=True)]
    kinds, given = arrays
    made_arrays = iter(zip(kinds, cgutils.unpack_tuple(builder, given, len(kinds)), strict=True))
    out, numbers = [], []
    for o in made.outputs:
        if o.ndim:
            out.append(_memory_of(context, builder, *next(made_arrays)))
            continue
        kind = numpy_support.from_dtype(o.dtype)
        slot = cgutils.alloca_once(builder, context.get_data_type(kind))
        numbers.append((kind, slot))
        out.append(builder.bitcast(slot, POINTER))
    status = builder.call(callee, [_table_of(builder, into), _table_of(builder, out)])
    found = [status]
    for kind, slot in numbers:
        model = context.data_model_manager[kind]
        found.append(model.from_data(builder, builder.load(slot)))
    return context.make_tuple(builder, signature.return_type, found)


def _result(made: Made) -> Any:
    numbers = [numpy_support.from_dtype(o.dtype) for o in made.outputs if not o.ndim]
    return types.Tuple((types.int64, *numbers))


def _run(made: Made) -> Any:
    """The program of shapes that are known, linked into the caller."""

    @intrinsic
    def run(typing_context: Any, inputs: Any, arrays: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            context.add_linking_libs([library_of(context.codegen(), made.program)])
            kind = ir.FunctionType(WORD, [POINTER, POINTER])
            callee = cgutils.get_or_insert_function(builder.module, kind, made.program.name)
            inputs, arrays = zip(signature.args, arguments, strict=True)
            return _call_program(context, builder, signature, made, inputs, arrays, callee)

        return _result(made)(inputs, arrays), generate

    return run


def _run_found(made: Made) -> Any:
    """The program of a node that was found."""

    @intrinsic
    def run(typing_context: Any, node: Any, inputs: Any, arrays: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(WORD, [POINTER, POINTER])
            code = _word(builder, arguments[0], 1)
            callee = builder.inttoptr(code, kind.as_pointer())
            _, inputs, arrays = zip(signature.args, arguments, strict=True)
            return _call_program(context, builder, signature, made, inputs, arrays, callee)

        return _result(made)(node, inputs, arrays), generate

    return run


def _word(builder: Any, node: Any, number: int) -> Any:
    words = builder.inttoptr(node, WORD.as_pointer())
    return builder.load(builder.gep(words, [ir.Constant(WORD, number)]))


@intrinsic(prefer_literal=True)
def _extent(typing_context: Any, node: Any, number: Any) -> Any:
    """A word of a node."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _word(builder, arguments[0], number.literal_value)

    return types.int64(node, number), generate


# ------------------------------------------------------------------- shapes met later

_numbers = itertools.count()
_tables: dict[int, _Table] = {}  # for as long as the process: code that Numba has stays


class _Table:
    """The programs of one kind of arguments: a list of nodes that native code walks.

    A node is words: the next node, the address of the code, the extents of the inputs, and those
    of the outputs. Nodes are appended in front and never change.
    """

    def __init__(self, special: Special, made: Made, slots: Sequence[Slot]) -> None:
        self.special, self.example = special, made
        self.ranks = [s.ndim for s in slots]
        self.head = np.zeros(1, np.int64)
        self.lock = threading.RLock()
        self.known: dict[tuple[tuple[int, ...], ...], np.ndarray[Any, Any]] = {}
        self.keep: list[Any] = []
        self.number = next(_numbers)
        _tables[self.number] = self

    def add(self, shapes: tuple[tuple[int, ...], ...]) -> int:
        """The address of the node of shapes."""
        with self.lock:
            if shapes not in self.known:
                made = self.special.made(shapes)
                self.check(made, shapes)
                loaded = made.loaded()
                extents = [n for t in (*shapes, *(o.shape for o in made.outputs)) for n in t]
                node = np.array([self.head[0], loaded.address, *extents], np.int64)
                self.keep.append(loaded)
                self.known[shapes] = node
                self.head[0] = node.ctypes.data
            return int(self.known[shapes].ctypes.data)

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
    words = iter((ctypes.c_int64 * sum(table.ranks)).from_address(address))
    return table.add(tuple(tuple(next(words) for _ in range(n)) for n in table.ranks))


def _find(table: _Table) -> Any:
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
        same = builder.and_(same, builder.icmp_signed("==", _word(builder, node, 2 + k), n))
    builder.cbranch(same, after, following)
    builder.position_at_end(following)
    builder.store(_word(builder, node, 0), found)
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
