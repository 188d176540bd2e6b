"""Elementwise operations on large tensors: values and cotangents by native code of our own.

An operation that is several of the core (an activation) reads and writes memory once, and so does
its derivative. Losses add up their elements while these are computed. The code is made by the
compiler of `jit` when it is first asked for (see `flat_code`), and lies on disk afterwards: nothing
else ever runs in its place, so values have the same bits from the first call on, with any number of
threads. It serves every size from `least` on; what is broadcast, of mixed dtypes or small goes the
general way. It imports kernels and the compiler's runtime.
"""

from __future__ import annotations

import functools
import sys
import warnings
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile.llvm.pool import pool
from funcgrad.compile.memory import address_of
from funcgrad.config import config
from funcgrad.core import memory
from funcgrad.core.primitive import Params, Primitive
from funcgrad.errors import CompilerError, outside
from funcgrad.kernels.native import Code
from funcgrad.kernels.noting import Call, notes
from funcgrad.kernels.threads import PARALLEL
from funcgrad.ops.records import ADD
from funcgrad.torch.modes import modes
from funcgrad.transforms.node import IN_PLACE_FROM

__all__ = [
    "FEWEST", "HOT", "SMALL", "Form", "Found", "code_of_sum", "costly", "form_of_pull",
    "form_of_value", "least", "pull", "suits", "value", "whole_of",
]  # fmt: skip

ndarray = np.ndarray
FEWEST = IN_PLACE_FROM  # elements: smaller tensors have the hot path, if the operation has one
SMALL = 1 << 9  # elements: with fewer, the calls of NumPy that make up an operation are as fast
HOT: set[Primitive] = set()  # the operations that have one
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
NAMES = {"d": "float64", "f": "float32"}
BOOL = np.dtype(bool)
COSTLY = 10  # additions: what costs less NumPy does as fast in one thread
CHUNK = 1 << 14  # elements that a thread takes at a time
PIECE = 1 << 12  # elements of a loss that are added up at once
SHARED = 1 << 16  # elements: with fewer the second thread comes too late
FEW = 4  # exponents up to which powers are products
VARIANTS = 64  # values of the parameters of an operation that have code: who changes them at each
# step goes the general way afterwards
PLAIN = (bool, int, float, str, type(None))
ELEMENTS = {"reduction": "none"}

ARRAY, MASK, NUMBER, NOTHING = "array", "mask", "number", "nothing"


class Form(NamedTuple):
    """What native code is made for, all that it depends on besides the operation.

    `operands` are ARRAY, MASK, NUMBER or NOTHING each, or a number that is written into the code;
    of a backward pass the first is the cotangent and the second the saved output, and `wanted`
    says whose cotangents are computed (None: the value is). With `total` pieces of the value are
    added up.
    """

    dtype: str
    operands: tuple[Any, ...]
    wanted: tuple[bool, ...] | None
    params: tuple[tuple[str, str], ...]
    total: bool = False


class Given(NamedTuple):
    """Operands for native code: arrays that lie in one order, their kinds, numbers."""

    arrays: list[ndarray[Any, Any]]
    kinds: list[Any]
    numbers: list[float]
    order: tuple[int, ...] | None  # of the axes, from the outermost in memory; None: as in C


@functools.cache
def suits(prim: Primitive) -> bool:
    """Whether an operation may be elementwise."""
    if not prim.is_ours or prim.opaque or prim.checks:
        return False
    if prim.form == "composite":
        return not (getattr(prim, "linear", True) or prim.multiple)
    return prim.aligned and prim.differentiable


@functools.cache
def costly(prim: Primitive) -> bool:
    """Whether native code of an operation is faster than NumPy in one thread, too.

    Of what chooses between its operands, NumPy's way back makes masks and multiplies by them; so it
    does where PyTorch's derivative stands in the place of the core's (see `operations/restated`).
    """
    return suits(prim) and (
        prim.form == "composite"
        or prim.in_pieces
        or prim.cost >= COSTLY
        or getattr(prim, "chooses", False)
        or getattr(prim, "composed", None) is not None
    )


@functools.cache
def least(prim: Primitive) -> int:
    """From how many elements on an operation has native code.

    What is made of many calls of NumPy and has no hot path has it for all; what is cheap, where
    threads help; losses, whose sum comes beside it, once they are not small.
    """
    if not suits(prim):
        return sys.maxsize
    if not costly(prim):
        return PARALLEL
    if prim.form == "composite":
        return SMALL if _adds(prim) else 1
    return 1 if prim.in_pieces and prim not in HOT else FEWEST


class Found(NamedTuple):
    """The code of an operation, and its operands; whose cotangents it gives, whether it adds up."""

    code: Code
    given: Given
    wanted: tuple[bool, ...]
    total: bool


def value(prim: Primitive, xs: Sequence[Any], params: Params) -> Any:
    """What an operation gives for raw operands; None where this file does not compute it."""
    first = next((x for x in xs if type(x) is ndarray and x.dtype != BOOL), None)
    found = None if first is None else form_of_value(prim, first, xs, params)
    if found is None or first is None:
        return None
    code, given, _, total = found
    if total:
        parts = np.empty(-(-first.size // PIECE), first.dtype)
        _run(code, given.arrays, [parts], given.numbers, first.size, PIECE)
        return whole_of(parts, first.size, params["reduction"] == "mean")
    out = _empty(first, given.order)
    _run(code, given.arrays, [out], given.numbers, first.size)
    return _turned_back(out, given.order)


def whole_of(parts: ndarray[Any, Any], size: int, mean: bool) -> Any:
    """The sum, or the mean of `size` elements, of which pieces were added up."""
    whole = np.add.reduce(parts, dtype=np.float64)
    return parts.dtype.type(whole / size if mean else whole)


def form_of_value(
    prim: Primitive, first: ndarray[Any, Any], xs: Sequence[Any], params: Params
) -> Found | None:
    """The code that gives the value, of the shape of the operand `first`."""
    if not first.ndim or first.size < least(prim) or not config.kernels:
        return None
    adds, total = _adds(prim), False
    if adds:
        total = params["reduction"] != "none"
        xs, params = _repeated(first, xs), params | ELEMENTS
    given = _given(first, xs)
    written = _written(params)
    if given is None or written is None:
        return None
    form = Form(NAMES[first.dtype.char], tuple(given.kinds), None, written, total)
    code = _code(prim, form, params)
    return None if code is None else Found(code, given, (), total)


def pull(node: Any, g: Any, owned: bool = False) -> list[Any] | None:
    """The cotangents of the operands of a node, each an array of nobody else; None if not here.

    Where `g` is `owned`, an array that nobody reads afterwards, one is written in its place.
    """
    found = form_of_pull(node, g)
    if found is None:
        return None
    code, given, wanted, adds = found
    like = node.saved[1] if adds else g
    own = owned and given.arrays and given.kinds[0] is ARRAY and given.order is None
    outs = [
        given.arrays[0]
        if own and k == wanted.index(True) and given.arrays[0] is g
        else _empty(like, given.order)
        for k, w in enumerate(wanted)
        if w
    ]
    _run(code, given.arrays, outs, given.numbers, like.size)
    back = iter(outs)
    return [_turned_back(next(back), given.order) if w else None for w in wanted]


def form_of_pull(node: Any, g: Any) -> Found | None:
    """The code that gives the cotangents of the operands of a node."""
    prim, saved, params = node.prim, node.saved, node.params
    if type(saved) is not tuple or not config.kernels:
        return None
    adds = _adds(prim)
    like = saved[1] if adds else g
    if type(like) is not ndarray or not like.ndim or like.size < least(prim):
        return None
    wanted = tuple(p is not None for p in node.parents)
    if node.avals is not None and any(  # else all are of the type of the output
        w and (t.shape != like.shape or t.dtype != like.dtype)
        for w, t in zip(wanted, node.avals, strict=True)
    ):
        return None
    total = adds and params["reduction"] != "none"
    if adds:
        if params["reduction"] == "mean":
            g = float(g / like.dtype.type(like.size))
        elif params["reduction"] == "sum":
            g = float(g)
        saved, params = (saved[0], *_repeated(like, saved[1:])), params | ELEMENTS
    given = _given(like, (g, *saved), True)
    written = _written(params)
    if given is None or written is None:
        return None
    code = _code(prim, Form(NAMES[like.dtype.char], tuple(given.kinds), wanted, written), params)
    return None if code is None else Found(code, given, wanted, total)


def code_of_sum(dtype: np.dtype[Any]) -> Code | None:
    """The code that adds two arrays of a dtype: NumPy's sum, bit for bit."""
    return _code(ADD, Form(NAMES[dtype.char], (ARRAY, ARRAY), None, ()), {})


# -------------------------------------------------------------------------------------- operands


def _adds(prim: Any) -> bool:
    """Whether what the operation computes of each element is added up, if `reduction` says so."""
    return bool(getattr(prim, "adds", False))


def _repeated(like: ndarray[Any, Any], xs: Sequence[Any]) -> list[Any]:
    """Operands, those that are broadcast written out: weights of a loss."""
    return [
        np.ascontiguousarray(np.broadcast_to(x, like.shape))
        if type(x) is ndarray and x.shape != like.shape and x.ndim <= like.ndim
        else x
        for x in xs
    ]


def _given(first: ndarray[Any, Any], xs: Sequence[Any], repeats: bool = False) -> Given | None:
    """The operands as the code reads them; with `repeats` the first may be one number everywhere.

    None where they are not of one shape and one dtype.
    """
    shape, dtype = first.shape, first.dtype
    if dtype not in FLOATS:
        return None
    arrays: list[ndarray[Any, Any]] = []
    kinds: list[Any] = []
    numbers: list[float] = []
    for k, x in enumerate(xs):
        if type(x) is ndarray:
            if x.shape != shape or (x.dtype is not dtype and x.dtype != dtype and x.dtype != BOOL):
                return None
            if repeats and k == 0 and not any(x.strides):
                numbers.append(float(x[(0,) * x.ndim]))
                kinds.append(NUMBER)
            else:
                arrays.append(x)
                kinds.append(MASK if x.dtype == BOOL else ARRAY)
        elif type(x) is float or type(x) is dtype.type:
            numbers.append(float(x))
            kinds.append(NUMBER)
        elif type(x) is int and abs(x) <= FEW:
            kinds.append(x)
        elif type(x) is int:
            numbers.append(float(x))
            kinds.append(NUMBER)
        elif x is None:
            kinds.append(NOTHING)
        else:
            return None
    if all(x.flags.c_contiguous and x.flags.aligned for x in arrays):
        return Given(arrays, kinds, numbers, None)
    order = _order(arrays)
    turned = [np.require(x.transpose(order), None, ["C", "A"]) for x in arrays]
    return Given(turned, kinds, numbers, order)


def _order(arrays: Sequence[ndarray[Any, Any]]) -> tuple[int, ...]:
    """The axes, from the outermost in memory to the innermost, as PyTorch lays its results."""
    axes = [*reversed(range(arrays[0].ndim))]
    for k in range(1, len(axes)):
        at = k
        for before in range(k - 1, -1, -1):
            found = _compared(arrays, axes[before], axes[at])
            if found < 0:
                break
            if found > 0:
                axes[before], axes[at] = axes[at], axes[before]
                at = before
    return tuple(reversed(axes))


def _compared(arrays: Sequence[ndarray[Any, Any]], a: int, b: int) -> int:
    """1 if axis `a` lies outside axis `b`, -1 if inside; a step of 0 says nothing."""
    for x in arrays:
        one, two = abs(x.strides[a]), abs(x.strides[b])
        if one and two and (one != two or x.shape[a] > x.shape[b]):
            return 1 if one >= two else -1
    return 0


def _empty(like: ndarray[Any, Any], order: tuple[int, ...] | None) -> ndarray[Any, Any]:
    shape = like.shape if order is None else tuple(like.shape[k] for k in order)
    return memory.empty(shape, like.dtype)


def _turned_back(out: ndarray[Any, Any], order: tuple[int, ...] | None) -> ndarray[Any, Any]:
    return out if order is None else out.transpose(np.argsort(order))


def _written(params: Params) -> tuple[tuple[str, str], ...] | None:
    """Parameters as text; None where there are others than numbers and names."""
    found = []
    for name, x in params.items():
        if type(x) not in PLAIN and not isinstance(x, np.generic):
            return None
        found.append((name, f"{type(x).__name__} {x!r}"))
    return tuple(found)


# ------------------------------------------------------------------------------------------ code

_codes: dict[Any, Code | None] = {}
_variants: dict[
    Any, int
] = {}  # by what is the same but for parameters, how many of these there are


def _code(prim: Primitive, form: Form, params: Params) -> Code | None:
    """The code of an operation; None where it is not elementwise, or cannot be made."""
    key = (prim, form)
    try:
        return _codes[key]
    except KeyError:
        pass
    alike = (prim, form._replace(params=()))
    variants = _variants[alike] = _variants.get(alike, 0) + 1
    if variants > VARIANTS:
        return None
    from funcgrad.torch.flat_code import code_of  # it is needed once for each operation

    found = None
    watching, modes.watching = modes.watching, None  # what is staged is no call of the user's
    try:
        found = code_of(prim, form, params)
    except CompilerError as error:
        reason = (str(error).splitlines() or [repr(error)])[0]
        warnings.warn(
            f"there is no native code of {prim.name}, NumPy runs instead: {reason}",
            RuntimeWarning,
            stacklevel=outside(),
        )
    finally:
        modes.watching = watching
    _codes[key] = found
    return found


def _run(
    code: Code,
    read: Sequence[ndarray[Any, Any]],
    written: Sequence[ndarray[Any, Any]],
    numbers: Sequence[float],
    size: int,
    grain: int = CHUNK,
) -> None:
    address = address_of()
    table = array("q", [*map(address, (*read, *written)), size, grain])
    table.frombytes(array("d", numbers).tobytes())
    chunks = -(-size // grain)
    if notes.calls is not None and not numbers:  # numbers may be others at the next call
        arrays, words = (*read, *written), table[len(read) + len(written) :]
        shared = size >= SHARED and chunks > 1
        notes.calls.append(Call(code, arrays, len(written), words, chunks, shared))
    at = table.buffer_info()[0]
    if size >= SHARED and config.threads > 1:
        pool().run(code.address, at, chunks)
    else:
        code.call(at, 0, chunks, 0)
