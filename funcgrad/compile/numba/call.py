"""Intrinsics that call a program: from tuples of inputs and arrays to its status and its numbers.

A program takes two tables of addresses, of its inputs and of its outputs. Arrays are handed over as
they lie; a number gets a place on the stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types as _types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic
from numba.np import numpy_support

from funcgrad.compile.numba.link import library_of
from funcgrad.compile.numba.source import Made

types: Any = _types  # half annotated
cgutils: Any = _cgutils
WORD = ir.IntType(64)
POINTER = cgutils.voidptr_t


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


def run_known(made: Made) -> Any:
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


def run_found(made: Made) -> Any:
    """The program of a node that was found."""

    @intrinsic
    def run(typing_context: Any, node: Any, inputs: Any, arrays: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(WORD, [POINTER, POINTER])
            code = word_of(builder, arguments[0], 1)
            callee = builder.inttoptr(code, kind.as_pointer())
            _, inputs, arrays = zip(signature.args, arguments, strict=True)
            return _call_program(context, builder, signature, made, inputs, arrays, callee)

        return _result(made)(node, inputs, arrays), generate

    return run


def word_of(builder: Any, node: Any, number: int) -> Any:
    """A word of a node of a table."""
    words = builder.inttoptr(node, WORD.as_pointer())
    return builder.load(builder.gep(words, [ir.Constant(WORD, number)]))
