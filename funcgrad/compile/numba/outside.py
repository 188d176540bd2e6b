"""What has no loop nest: functions of Numba that a program calls in the place of kernels.

An `Outside` is called as kernels are, ``void f(ptr words, i64 first, i64 last)``, with addresses of
dense arrays, then sizes, then the flag that takes what went wrong. Sizes are words, so that one
function serves all shapes. What it does stands in `factors` and `lines`.
"""

from __future__ import annotations

import functools
import importlib.util
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numba as _numba
import numpy as np
from llvmlite import ir
from numba import types as _types
from numba.extending import intrinsic

from funcgrad.compile.numba import factors, lines
from funcgrad.compile.numba.stored import kept
from funcgrad.compile.scalars import NATIVE
from funcgrad.core.primitive import Primitive
from funcgrad.errors import NativeCodeError
from funcgrad.graph.ir import Equation
from funcgrad.ops import records

__all__ = ["Outside", "OutsideCall", "outside_call"]

numba: Any = _numba  # half annotated
types: Any = _types
Shape = tuple[int, ...]


class Outside(NamedTuple):
    """A function of Numba's in the place of a kernel."""

    name: str
    address: int
    held: Any
    requires: bool = True


class OutsideCall(NamedTuple):
    """What an equation calls: `operands` are the shapes to which inputs are broadcast first."""

    kernel: Outside
    operands: tuple[Shape, ...]
    sizes: tuple[int, ...]


class Form(NamedTuple):
    """An equation for a function: how it sees the arrays, and the numbers that follow them."""

    function: Any
    operands: Sequence[Shape]
    seen: Sequence[Shape]
    numbers: Sequence[int] = ()
    lapack: bool = False


def outside_call(e: Equation) -> OutsideCall | None:
    """The function for an equation; None if there is none.

    Raises
    ------
    NativeCodeError
        It needs SciPy, from which Numba has LAPACK, and that is not there.
    """
    write = FORMS.get(e.prim)
    kinds = [x.type for x in (*e.inputs, *e.outputs)]
    form = write(e) if write is not None and all(t.dtype in NATIVE for t in kinds) else None
    if form is None:
        return None
    if form.lapack and importlib.util.find_spec("scipy") is None:
        raise NativeCodeError(
            f"{e.prim.name} in code of Numba's takes LAPACK from SciPy, which is not installed: "
            f"install it\n  at {e.source}"
        )
    dtypes = tuple(t.dtype for t in kinds)
    ranks = tuple(len(s) for s in form.seen)
    kernel = _outside(e.prim.name, form.function, dtypes, ranks, len(form.numbers))
    sizes = (*(n for s in form.seen for n in s), *map(int, form.numbers))
    return OutsideCall(kernel, tuple(form.operands), sizes)


# ---------------------------------------------------------------------------------- making


@intrinsic
def _pointer(typing_context: Any, word: Any) -> Any:
    """A word as an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generate


@functools.cache
def _outside(
    name: str, function: Any, dtypes: tuple[Any, ...], ranks: Shape, numbers: int
) -> Outside:
    """The function with the calling convention of kernels; it lives as long as the process."""
    count = len(ranks)
    total = count + sum(ranks) + numbers + 1
    given: dict[str, Any] = {"carray": numba.carray, "pointer": _pointer}
    given["function"] = kept(function)
    given |= {"int64": np.int64, "UNCONVERGED": factors.UNCONVERGED}
    text = ["def call(words, first, last):", f"    w = carray(words, ({total},), int64)"]
    at = count
    for k, (dtype, rank) in enumerate(zip(dtypes, ranks, strict=True)):
        given[f"d{k}"] = dtype.type
        shape = "".join(f"w[{at + i}], " for i in range(rank))
        text.append(f"    x{k} = carray(pointer(w[{k}]), ({shape}), d{k})")
        at += rank
    passed = [*(f"x{k}" for k in range(count)), *(f"w[{at + i}]" for i in range(numbers))]
    text += [
        "    try:",
        f"        status = function({', '.join(passed)})",
        "    except Exception:",  # Numba's linalg
        "        status = UNCONVERGED",
        "    if status != 0:",
        f"        carray(pointer(w[{total - 1}]), (1,), int64)[0] = status",
    ]
    exec("\n".join(text), given)
    made: Any = numba.cfunc(types.void(types.voidptr, types.int64, types.int64))(given["call"])
    symbol = f"funcgrad.outside.{name}.{made.address:x}"
    return Outside(symbol, made.address, made)


# ----------------------------------------------------------------------------------- forms


def _stack(shape: Shape, axes: int) -> Shape:
    """The leading axes as one."""
    cut = len(shape) - axes
    return (math.prod(shape[:cut]), *shape[cut:])


def _floats(e: Equation) -> bool:
    kinds = {x.type.dtype for x in e.inputs}
    return len(kinds) == 1 and kinds.pop().kind == "f"


def _matrices(function: Any, *axes: int, lapack: bool = False) -> Callable[[Equation], Form | None]:
    """Of stacks of matrices; `axes` are those of each output that are not of the stack."""

    def form(e: Equation) -> Form | None:
        if not _floats(e):
            return None
        inputs, outputs = ([x.type.shape for x in xs] for xs in (e.inputs, e.outputs))
        lead = outputs[0][: len(outputs[0]) - axes[0]]
        operands = [(*lead, *s[-2:]) for s in inputs]
        seen = [_stack(s, 2) for s in operands]
        seen += [_stack(s, n) for s, n in zip(outputs, axes, strict=True)]
        return Form(function, operands, seen, _side(e), lapack)

    return form


def _side(e: Equation) -> Sequence[int]:
    """Which triangle is read, of a function that asks."""
    if e.prim is records.CHOLESKY:
        return (e.params.get("upper", False),)
    return (e.params.get("uplo", "L") == "U",) if e.prim in (records.EIGH, records.EIGVALSH) else ()


def _line(shape: Shape, axis: int) -> Shape:
    axis %= len(shape)
    return (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))


def _along(function: Any) -> Callable[[Equation], Form | None]:
    """Along lines of which all operands have the same."""

    def form(e: Equation) -> Form | None:
        shape, axis = e.outputs[0].type.shape, e.params["axis"]
        if axis is None or any(x.type.shape != shape for x in e.inputs):
            return None
        line = _line(shape, axis)
        numbers = (e.params["back"],) if "back" in e.params else ()
        count = len(e.inputs) + len(e.outputs)
        return Form(function, [shape] * len(e.inputs), [line] * count, numbers)

    return form


def _search(e: Equation) -> Form | None:
    if len(e.inputs) != 2:
        return None
    a, v = (x.type.shape for x in e.inputs)
    right = e.params["side"] == "right"
    return Form(lines.searchsorted, [a, v], [a, (math.prod(v),), (math.prod(v),)], (right,))


@functools.cache
def _ufunc(prim: Primitive, floats: bool, count: int) -> Any:
    """A ufunc of NumPy, element by element, by Numba."""
    names = [f"x{k}" for k in range(count)]
    name = f"{prim.name}_of_{'floats' if floats else 'integers'}"
    text = f"def {name}({', '.join(names)}, y):\n    for i in range(y.size):\n"
    text += f"        y[i] = ufunc({', '.join(f'{x}[i]' for x in names)})\n    return 0\n"
    # Numba's are not NumPy's for infinities and for negative integers
    own: dict[Any, Any] = {
        (records.FLOOR_DIVIDE, True): lines.floor_divide,
        (records.FMOD, False): lines.integer_fmod,
    }
    given: dict[str, Any] = {"__name__": __name__}  # by both names it is found in the store
    given["ufunc"] = own.get((prim, floats)) or prim.ufunc  # type: ignore[attr-defined]
    exec(text, given)
    return numba.njit(nogil=True, error_model="numpy")(given[name])


def _elements(e: Equation) -> Form | None:
    shape, dtype = e.outputs[0].type.shape, e.outputs[0].type.dtype
    count = len(e.inputs)
    function = _ufunc(e.prim, dtype.kind == "f", count)
    return Form(function, [shape] * count, [(math.prod(shape),)] * (count + 1))


UFUNCS = (
    records.BITWISE_AND,
    records.BITWISE_OR,
    records.BITWISE_XOR,
    records.INVERT,
    records.FLOOR_DIVIDE,
    records.REMAINDER,
    records.FMOD,
)
FORMS: dict[Primitive, Callable[[Equation], Form | None]] = {
    records.SOLVE: _matrices(factors.solve, 2),
    records.INV: _matrices(factors.inv, 2),
    records.DET: _matrices(factors.det, 0),
    records.SLOGDET: _matrices(factors.slogdet, 0, 0),
    records.COFACTORS: _matrices(factors.cofactors, 2),
    records.CHOLESKY: _matrices(factors.cholesky, 2),
    records.EIGH: _matrices(factors.eigh, 1, 2, lapack=True),
    records.EIGVALSH: _matrices(factors.eigvalsh, 1, lapack=True),
    records.SVD: _matrices(factors.svd, 2, 1, 2, lapack=True),
    records.SVDVALS: _matrices(factors.svdvals, 1, lapack=True),
    records.SORT: _along(lines.sort),
    records.PARTITION: _along(lines.sort),
    records.ARGSORT: _along(lines.argsort),
    records.ARGPARTITION: _along(lines.argsort),
    records.PERMUTE: _along(lines.permute),
    records.SEARCHSORTED: _search,
    **dict.fromkeys(UFUNCS, _elements),
}
