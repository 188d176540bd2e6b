"""Functions that Numba can compile calls of, made from programs.

`function` gives a dispatcher of Numba's. For each kind of arguments it asks its `Source` for a
program and writes a small Python function around it, which Numba compiles: it takes tuples apart,
makes the arrays of the result, and calls the program by an intrinsic. Where shapes are known only
when the code runs, the program for them is looked up in a list that the code walks; for shapes that
it does not hold, Python is called once to append to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from numba.core.errors import NumbaError
from numba.extending import overload
from numba.np import numpy_support

from funcgrad.compile import loops
from funcgrad.compile.llvm.printer import foreign_of
from funcgrad.compile.numba.call import run_found, run_known, types
from funcgrad.compile.numba.default import Default, DefaultType
from funcgrad.compile.numba.factors import INDEFINITE, SINGULAR, UNCONVERGED
from funcgrad.compile.numba.shapes import Table, extent, finder
from funcgrad.compile.numba.source import Made, Slot, Source, Special
from funcgrad.compile.program import OUT_OF_MEMORY
from funcgrad.compile.scalars import NATIVE
from funcgrad.errors import NativeCodeError
from funcgrad.tree import TreeDef

__all__ = ["function"]


FAILURES = {
    SINGULAR: "a matrix is singular",
    INDEFINITE: "a matrix is not positive definite",
    UNCONVERGED: "a factorisation did not converge",
}


def function(source: Source) -> Any:
    """The dispatcher of a source: call it from functions that Numba compiles, or from Python."""

    def stand_in(*arguments: Any) -> Any:
        raise NotImplementedError  # Numba takes the overload

    @overload(stand_in, strict=False)
    def _(*arguments: Any) -> Any:
        return _implementation(source, arguments)

    names: dict[str, Any] = {"stand_in": stand_in}
    parameters = []
    for k, (name, *default) in enumerate(source.parameters):
        names |= {f"default{k}": Default(value) for value in default}
        parameters.append(f"{name}=default{k}" if default else name)
    given = ", ".join(name for name, *_ in source.parameters)
    text = f"def {source.name}({', '.join(parameters)}):\n    return stand_in({given})\n"
    exec(text, names)
    return numba.njit(nogil=True)(names[source.name])


# ----------------------------------------------------------------------------- arguments


def _read(kind: Any, path: str, slots: list[tuple[Slot, str, Any]]) -> Any:
    """An argument of a type of Numba's, with slots for its arrays and numbers."""
    kind = types.unliteral(kind)
    if isinstance(kind, DefaultType):
        return kind.default.value
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
    except (NumbaError, NotImplementedError, ValueError, TypeError):
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
    given: list[tuple[Slot, str, Any]] = []
    if len(arguments) == 1 and isinstance(arguments[0], types.StarArgTuple):
        arguments = arguments[0].types
    read = [_read(t, f"a[{k}]", given) for k, t in enumerate(arguments)]
    slots = [slot for slot, _, _ in given]
    special = source.special(read, slots)
    made = special.example()
    names: dict[str, Any] = {"np": np}
    numbers = iter(range(1, 1 + len(made.outputs)))
    values = [f"y{k}" if o.ndim else f"found[{next(numbers)}]" for k, o in enumerate(made.outputs)]
    lines = [
        *_inputs(given),
        *_call(special, made, slots, names),
        *_failure(source, made, names),
        f"return {_built(made.tree, iter(values), names)}",
    ]
    exec("def implementation(*a):\n    " + "\n    ".join(lines), names)
    implementation: Callable[..., Any] = names["implementation"]
    return implementation


def _inputs(given: Sequence[tuple[Slot, str, Any]]) -> list[str]:
    """The arrays and numbers by name, arrays in C order."""
    lines = []
    for slot, path, kind in given:
        strided = isinstance(kind, types.Array) and kind.layout != "C" and kind.ndim > 0
        value = f"np.ascontiguousarray({path})" if strided else path
        lines.append(f"x{slot.number} = {value}")
    return lines


def _call(special: Special, made: Made, slots: Sequence[Slot], names: dict[str, Any]) -> list[str]:
    """The call of the program into new arrays; for arrays as inputs by the node of their shapes."""
    lines, before = [], ""
    inputs = "".join(f"x{s.number}, " for s in slots)
    dynamic = any(s.ndim for s in slots)
    if dynamic:
        names.update(find=finder(Table(special, made, slots)), extent=extent, run=run_found(made))
        lines.append(f"node = find(({inputs}))")
        before = "node, "
    else:
        names["run"] = run_known(made)
    arrays, at = "", 2 + sum(s.ndim for s in slots)
    for k, o in enumerate(made.outputs):
        if not o.ndim:
            continue
        names[f"d{k}"] = o.dtype.type
        shape = [f"extent(node, {at + i})" for i in range(o.ndim)] if dynamic else map(str, o.shape)
        at += o.ndim
        lines.append(f"y{k} = np.empty(({', '.join(shape)},), d{k})")
        arrays += f"y{k}, "
    return [*lines, f"found = run({before}({inputs}), ({arrays}))"]


def _failure(source: Source, made: Made, names: dict[str, Any]) -> list[str]:
    """The error that a status other than 0 becomes."""
    error, what = "IndexError", "an index is out of bounds"
    if any(f.fails for f in foreign_of(made.program.kernels)):  # the status does not say which
        error = "RuntimeError"
        what = (
            "a function that from_numba took in raised an exception, or an index is out of bounds,"
        )
    factorised = [
        line
        for status, what_failed in FAILURES.items()
        for line in (
            f"    if found[0] == {status}:",
            f'        raise LinAlgError("{what_failed} in {source.name}")',
        )
    ]
    failed = (SINGULAR, INDEFINITE)
    bits = [
        line
        for bit, status in zip((loops.SINGULAR, loops.INDEFINITE), failed, strict=True)
        for line in (
            f"    if found[0] & {bit}:",
            f'        raise LinAlgError("{FAILURES[status]} in {source.name}")',
        )
    ]
    names["LinAlgError"] = np.linalg.LinAlgError
    return [
        "if found[0] != 0:",
        f"    if found[0] == {OUT_OF_MEMORY}:",
        '        raise MemoryError("no memory for intermediate values")',
        *bits,
        *(factorised if made.program.outside else ()),
        f'    raise {error}("{what} in {source.name}")',
    ]


def _built(tree: TreeDef, values: Any, names: dict[str, Any]) -> str:
    """The expression that builds the result of the outputs."""
    if tree.kind is None:
        return str(next(values))
    if tree.kind is type(None):
        return "None"
    inner = [_built(c, values, names) for c in tree.parts]
    if tree.kind in (tuple, list):
        return f"({''.join(f'{x}, ' for x in inner)})"
    if isinstance(tree.kind, type) and issubclass(tree.kind, tuple):
        names[f"class_{tree.kind.__name__}"] = tree.kind
        return f"class_{tree.kind.__name__}({', '.join(inner)})"
    raise NativeCodeError(
        f"the result {tree} is no tuple: compiled code returns numbers, arrays and tuples of them"
    )
