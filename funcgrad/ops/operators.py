"""The operators of traced values and boxes: arithmetic, comparison, indexing.

They follow Python's and NumPy's rules: Python numbers stay Python numbers, `+=` changes an array
for every alias and rebinds a scalar. What Python converts is in `ops.conversions`.

Each is a boundary of errors (`core.boundary`): what is used after its transform has ended has no
other. Those that must cost nothing more, or look at the frame that calls them, are one
themselves: what stands in ``try`` costs nothing until an error comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from funcgrad.core.boundary import bounded_if_ours, hide_frames
from funcgrad.core.classes import has_own_rules
from funcgrad.core.forms import bind2
from funcgrad.core.primitive import Primitive
from funcgrad.core.tracer import (
    RAW_TYPES,
    ArrayOperand,
    Operand,
    Tracer,
    bind,
    is_scalar,
    operand,
    type_of,
)
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import (
    OperandError,
    located,
)
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index as ix
from funcgrad.ops import product
from funcgrad.ops.conversions import CONVERSIONS
from funcgrad.ops.shape import zero_dim
from funcgrad.ops.storage import Box, View, boxed, check_age, set_item, write

__all__ = ["install", "is_scalar"]

ndarray = np.ndarray


def _other(y: Any) -> Any:
    """The right operand of an operator; NotImplemented where Python should ask the other side."""
    if isinstance(y, Operand) and not isinstance(y, ArrayOperand):
        return NotImplemented  # a box with operators of its own
    try:
        return operand(y)
    except OperandError:
        if isinstance(y, (list, tuple, ndarray)) or has_own_rules(y):
            raise
        return NotImplemented


def _binary(prim: Primitive, swapped: bool = False) -> Callable[[Any, Any], Any]:
    def dunder(self: Any, y: Any) -> Any:
        try:
            x = self.content()
            kind = type(y)
            if kind not in RAW_TYPES or (kind is ndarray and y.dtype.char == "O"):
                y = _other(y)
                if y is NotImplemented:
                    return y
            return boxed(bind2(prim, y, x) if swapped else bind2(prim, x, y))
        except Exception as error:
            hide_frames(error)
            raise

    return dunder


def _traced_binary(prim: Primitive, swapped: bool, general: Any) -> Callable[[Any, Any], Any]:
    """The operator of a `Tracer`, which needs no look at its content; `general` does the rest."""

    def dunder(self: Any, y: Any) -> Any:
        try:
            trace, kind = self.owner, type(y)
            if kind is type(self):
                if y.owner.level > trace.level:
                    trace = y.owner
            elif kind not in RAW_TYPES or (kind is ndarray and y.dtype.char == "O"):
                return general(self, y)
            return trace.process2(prim, y, self) if swapped else trace.process2(prim, self, y)
        except Exception as error:
            hide_frames(error)
            raise

    return dunder


def _unary(prim: Primitive) -> Callable[[Any], Any]:
    def dunder(self: Any) -> Any:
        try:
            return boxed(bind(prim, (self.content(),)))
        except Exception as error:
            hide_frames(error)
            raise

    return dunder


def _inplace(compute: Callable[[Any, Any], Any], symbol: str) -> Callable[[Any, Any], Any]:
    def dunder(self: Any, y: Any) -> Any:
        try:
            x = self.content()
            new = compute(self, y)
            if new is NotImplemented or is_scalar(self):
                return new  # a scalar is immutable: Python rebinds the name
            new, aval = operand(new), type_of(x)
            _check_inplace(type_of(new), aval, symbol)
            _store(self, x, a.cast(new, aval.dtype))
            return self
        except Exception as error:
            hide_frames(error)
            raise

    return dunder


def _check_inplace(made: ArrayType, aval: ArrayType, symbol: str) -> None:
    if made.shape != aval.shape:
        raise ValueError(
            located(
                f"non-broadcastable output operand with shape {aval.shape} doesn't match the "
                f"broadcast shape {made.shape} in '{symbol}'"
            )
        )
    if not np.can_cast(made.dtype, aval.dtype, "same_kind"):
        raise TypeError(
            located(
                f"'{symbol}' cannot store a result of dtype {made.dtype} in an array of dtype "
                f"{aval.dtype}; make the array {made.dtype} first"
            )
        )


def _store(target: Operand, old: Array, new: Array) -> None:
    """Write `new` as the whole content, through NumPy's memory while nothing is traced."""
    if isinstance(old, ndarray) and not isinstance(new, Tracer):
        check_age(target)
        old[...] = new
    else:
        write(target, new if type_of(new).ndim else zero_dim(new))


def _matmul(self: Any, y: Any) -> Any:
    y = _other(y)
    return y if y is NotImplemented else boxed(product.matmul(self.content(), y))


def _rmatmul(self: Any, y: Any) -> Any:
    y = _other(y)
    return y if y is NotImplemented else boxed(product.matmul(y, self.content()))


def _divmod(self: Any, y: Any) -> Any:
    return self // y, self % y


def _rdivmod(self: Any, y: Any) -> Any:
    return y // self, y % self


def _getitem(self: Any, index: Any) -> Any:
    try:
        if type(index) is int:  # a row or an element: what loops are made of
            out = _part(self, (index,))
            return out if type_of(out).ndim == 0 else View(self, _reader((index,)), (index,), out)
        if type(index) is slice and _is_plain(index) and not self.type.weak:
            return View(self, _reader((index,)), (index,), _part(self, (index,)))
        items = index if isinstance(index, tuple) else (index,)
        if ix.reads_view(items):
            if self.type.weak:
                raise TypeError(located("a Python number cannot be indexed"))
            index = tuple(map(ix.static, items))
            out = _part(self, index)
            if type_of(out).ndim == 0 and not any(i is Ellipsis for i in index):
                return out  # a scalar; with an Ellipsis it is an array without axes
            if is_scalar(self):
                return boxed(out)  # a new array: a scalar has no memory that could be shared
            return View(self, _reader(index), index, out)
        return boxed(ix.read(self.content(), tuple(_index_item(i) for i in items)))
    except Exception as error:
        hide_frames(error)
        raise


def _part(x: Any, index: tuple[Any, ...]) -> Array:
    """What a basic index chooses; of a box no more than that is put together."""
    return x.part(index) if isinstance(x, Box) else ix.getitem(x.content(), index)


def _is_plain(i: slice) -> bool:
    """Whether the bounds are Python's own integers."""
    return (
        (i.start is None or type(i.start) is int)
        and (i.stop is None or type(i.stop) is int)
        and (i.step is None or type(i.step) is int)
    )


def _reader(index: tuple[Any, ...]) -> Callable[[Array], Array]:
    return lambda base: ix.getitem(base, index)


def _index_item(i: Any) -> Any:
    if type(i) is list and any(isinstance(k, Operand) for k in i):
        i = operand(i)
    return i.content() if isinstance(i, Operand) else i


def _setitem(self: Any, index: Any, v: Any) -> None:
    try:
        if is_scalar(self):
            raise TypeError(located("a scalar does not support item assignment"))
        items = index if isinstance(index, tuple) else (index,)
        set_item(self, tuple(map(_index_item, items)), operand(v))
    except Exception as error:
        hide_frames(error)
        raise


def _delitem(self: Any, index: Any) -> None:
    raise ValueError("cannot delete array elements")


def _iter(self: Any) -> Iterator[Any]:
    shape = self.type.shape
    if not shape:
        raise TypeError(located("iteration over a 0-d array"))
    return _rows(self, shape[0])


def _rows(self: Any, count: int) -> Iterator[Any]:
    try:
        for i in range(count):
            yield self[i]
    except Exception as error:
        hide_frames(error)
        raise


def _len(self: Any) -> int:
    try:
        shape = self.type.shape
        if not shape:
            raise TypeError(located("len() of unsized object"))
        return int(shape[0])
    except Exception as error:
        hide_frames(error)
        raise


BINARY: dict[str, Any] = {
    "add": a.add,
    "sub": a.subtract,
    "mul": a.multiply,
    "truediv": a.divide,
    "pow": a.power,
    "floordiv": a.floor_divide,
    "mod": a.remainder,
}
COMPARE: dict[str, Any] = {
    "eq": a.equal,
    "ne": a.not_equal,
    "lt": a.less,
    "le": a.less_equal,
    "gt": a.greater,
    "ge": a.greater_equal,
}


def with_squares(power: Any) -> Any:
    """`power`, in which ``x**2`` of a real array is the square that NumPy computes for it.

    Its derivative is one product, where that of a power has to look for zeros.
    """

    def operator(self: Any, other: Any) -> Any:
        try:
            if (type(other) is int or type(other) is float) and other == 2:
                aval = self.type
                if aval.shape and aval.dtype.kind == "f":
                    return a.square(self)
            return power(self, other)
        except Exception as error:
            hide_frames(error)
            raise

    return operator


def _boxed_squares(power: Any) -> Any:
    """`power` of a view or a new array: of a traced content its own operator."""

    def operator(self: Any, other: Any) -> Any:
        try:
            if (type(other) is int or type(other) is float) and other == 2:
                content = self.content()
                if isinstance(content, Tracer):
                    traced: Any = content
                    return traced**other
            return power(self, other)
        except Exception as error:
            hide_frames(error)
            raise

    return operator


BITS: dict[str, Any] = {
    "and": a.bitwise_and,
    "or": a.bitwise_or,
    "xor": a.bitwise_xor,
    "lshift": a.left_shift,
    "rshift": a.right_shift,
}


def install() -> None:
    """Give `ArrayOperand` its operators."""
    for name, op in BINARY.items():
        prim = op.primitive
        forward = _boxed_squares(_binary(prim)) if name == "pow" else _binary(prim)
        setattr(ArrayOperand, f"__{name}__", forward)
        backward = _binary(prim, swapped=True)
        setattr(ArrayOperand, f"__r{name}__", backward)
        setattr(ArrayOperand, f"__i{name}__", _inplace(forward, name))
        setattr(Tracer, f"__{name}__", _traced_binary(prim, False, forward))
        setattr(Tracer, f"__r{name}__", _traced_binary(prim, True, backward))
    setattr(Tracer, "__pow__", with_squares(getattr(Tracer, "__pow__")))  # noqa: B009, B010
    for name, op in COMPARE.items():
        setattr(ArrayOperand, f"__{name}__", _binary(op.primitive))
    for name, op in BITS.items():
        forward = _binary(op.primitive)
        setattr(ArrayOperand, f"__{name}__", forward)
        setattr(ArrayOperand, f"__r{name}__", _binary(op.primitive, swapped=True))
        setattr(ArrayOperand, f"__i{name}__", _inplace(forward, name))
    unary: dict[str, Any] = {
        "neg": a.negative,
        "pos": a.positive,
        "abs": a.absolute,
        "invert": a.invert,
    }
    for name, op in unary.items():
        setattr(ArrayOperand, f"__{name}__", _unary(op.primitive))
    plain: dict[str, Callable[..., Any]] = {
        "matmul": _matmul,
        "rmatmul": _rmatmul,
        "imatmul": _inplace(_matmul, "matmul"),
        "divmod": _divmod,
        "rdivmod": _rdivmod,
        "getitem": _getitem,
        "setitem": _setitem,
        "iter": _iter,
        "len": _len,
        "delitem": _delitem,
        **CONVERSIONS,
    }
    for name, function in plain.items():
        setattr(ArrayOperand, f"__{name}__", bounded_if_ours(function))


install()
