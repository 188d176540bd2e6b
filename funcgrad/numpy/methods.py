"""The methods and attributes of arrays, for traced values: each is a function of the namespace."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from funcgrad.core.boundary import bound_class, bounded_if_ours, hide_frames
from funcgrad.core.forms import UFUNCS
from funcgrad.core.tracer import (
    ArrayOperand,
    Tracer,
    concrete,
    is_scalar,
    layout,
    operand,
    type_of,
    value,
)
from funcgrad.core.types import dtype_meant
from funcgrad.errors import (
    AbstractValueError,
    UnsupportedCallError,
    located,
)
from funcgrad.numpy import (
    axes,
    complex_parts,
    creation,
    indexing,
    pointwise,
    products,
    reductions,
    repeating,
    running,
    sorting,
    writing,
)
from funcgrad.numpy import reshaping as shape
from funcgrad.numpy.at import at
from funcgrad.numpy.function_calls import refuse
from funcgrad.ops import arithmetic
from funcgrad.ops import shape as shapes
from funcgrad.ops.conversions import cut
from funcgrad.ops.index import warn_of_real_parts
from funcgrad.ops.storage import ReadOnlyView, set_item, view

__all__ = ["install"]

# ------------------------------------------------------------------------------- attributes


def _kind(self: Any) -> Any:
    return self.type


def _transposed(self: Any) -> Any:
    try:
        return axes.transpose(self) if _kind(self).ndim > 1 else self
    except Exception as error:
        hide_frames(error)
        raise


def _mt(self: Any) -> Any:
    if _kind(self).ndim < 2:
        raise ValueError("matrix transpose with ndim < 2 is undefined")
    return axes.matrix_transpose(self)


def _strides(self: Any) -> tuple[int, ...]:
    return tuple(np.asarray(layout(self)).strides)


def _flags(self: Any) -> Any:
    """Those of the memory as it lies; setting one does nothing."""
    x = layout(self)
    if not isinstance(x, np.ndarray):
        return x.flags if isinstance(x, np.generic) else np.asarray(x).flags
    shown = x.view()
    shown.flags.writeable = x.flags.writeable and not isinstance(self, ReadOnlyView)
    return shown.flags


CANNOT_FAIL = frozenset(
    ("shape", "dtype", "ndim", "size", "itemsize", "nbytes", "strides", "flags", "device")
)
ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "shape": lambda self: _kind(self).shape,
    "dtype": lambda self: _kind(self).dtype,
    "ndim": lambda self: _kind(self).ndim,
    "size": lambda self: _kind(self).size,
    "itemsize": lambda self: _kind(self).dtype.itemsize,
    "nbytes": lambda self: _kind(self).dtype.itemsize * _kind(self).size,
    "strides": _strides,
    "flags": _flags,
    "device": lambda self: "cpu",
    "at": at,
    "T": _transposed,
    "mT": _mt,
    "real": complex_parts.real,
    "imag": complex_parts.imag,
    "flat": lambda self: Flat(self),
}


class Flat:
    """``x.flat``: the elements in order, to be read, written and iterated over."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def _line(self) -> Any:
        size = _kind(self.array).size
        return view(self.array, lambda x: shapes.reshape(x, (size,)))

    def __len__(self) -> int:
        return int(_kind(self.array).size)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._line())

    def __getitem__(self, index: Any) -> Any:
        found = self._line()[index]
        return creation.copy(found) if _kind_of(found).ndim else found

    def __setitem__(self, index: Any, v: Any) -> None:
        x, v = self.array.content(), operand(v)
        if isinstance(x, Tracer) or isinstance(v, Tracer):
            self._line()[index] = v
        else:
            x.flat[index] = v


def _kind_of(x: Any) -> Any:
    return type_of(operand(x))


# ---------------------------------------------------------------------------------- methods


def _extents(shape_: tuple[Any, ...]) -> Any:
    one = len(shape_) == 1 and not isinstance(shape_[0], (int, np.integer))
    return shape_[0] if one else shape_


def _reshape(self: Any, *shape_: Any, order: str = "C", copy: bool | None = None) -> Any:
    """The array in another shape, as a view where NumPy gives one."""
    return shape.reshape(self, _extents(shape_), order, copy=copy)


def _transpose(self: Any, *order: Any) -> Any:
    """The array with its axes in another order, as a view."""
    return axes.transpose(self, _extents(order) if order else None)


def _ravel(self: Any, order: str = "C") -> Any:
    """The array with one axis, as a view where NumPy gives one."""
    return shape.ravel(self, order)


def _flatten(self: Any, order: str = "C") -> Any:
    """A copy of the array with one axis."""
    return creation.array(shape.ravel(self, order))


def _copy(self: Any, order: str = "C") -> Any:
    """A copy: writing into it leaves the array as it is; of a scalar a scalar."""
    return self.content() if is_scalar(self) else creation.array(self, order=order)


def _astype(
    self: Any,
    dtype: Any,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Any:
    """The array in another dtype; integers and bools are locally constant."""
    kind, dtype = _kind(self), dtype_meant(dtype)
    if not np.can_cast(kind.dtype, dtype, casting):  # type: ignore[arg-type]
        raise TypeError(
            located(
                f"Cannot cast array data from {kind.dtype!r} to {dtype!r} "
                f"according to the rule '{casting}'"
            )
        )
    warn_of_real_parts(kind.dtype, dtype)
    if is_scalar(self):
        return arithmetic.cast(self.content(), dtype)
    if not copy and order == "A":  # contiguous in one order or the other
        flags = layout(self).flags
        copy = not (flags.c_contiguous or flags.f_contiguous)
    convert = creation.array if copy else creation.asarray
    return convert(self, dtype, order=order)


def _plain(self: Any, what: str) -> Any:
    """The array of a box; an error for a traced value, of which `what` would make a constant."""
    x = self.content()
    if isinstance(x, Tracer):
        raise cut(what, self)
    return x


def _copied(self: Any) -> Any:
    """What `copy.copy` makes: a scalar is its own copy, as a number is."""
    return self if is_scalar(self) else _copy(self, "K")


def _deeply_copied(self: Any, memo: Any) -> Any:
    """What `copy.deepcopy` makes, and with it `dataclasses.asdict`: a copy that is followed."""
    return _copied(self)


def _reduced(self: Any, protocol: Any) -> Any:
    """What `pickle` takes; an error for a traced value."""
    return _plain(self, "pickling").__reduce_ex__(protocol)


def _item(self: Any, *args: Any) -> Any:
    """The element as a Python number; an error for a traced value."""
    return _plain(self, ".item()").item(*args)


def _tolist(self: Any) -> Any:
    """The elements as Python numbers; an error for a traced value."""
    return _plain(self, ".tolist()").tolist()


def _fill(self: Any, value: Any) -> None:
    """Write one value into all elements."""
    set_item(self, Ellipsis, operand(value))


def _sort(
    self: Any, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> None:
    """Sort in place along an axis."""
    set_item(self, Ellipsis, operand(sorting.sort(self, axis, kind, order, stable=stable)))


def _partition(
    self: Any, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None
) -> None:
    """Partition in place along an axis."""
    set_item(self, Ellipsis, operand(sorting.partition(self, kth, axis, kind, order)))


def _clip(self: Any, min: Any = None, max: Any = None, out: Any = None, **keywords: Any) -> Any:
    """The array limited to an interval."""
    if min is None and max is None:
        raise ValueError("One of max or min must be given")
    refuse("clip", **keywords)
    return pointwise.clip(self, min, max, out)


def _conj(self: Any) -> Any:
    """The complex conjugate; a real array itself, as in NumPy."""
    return arithmetic.conjugate(self) if _kind(self).dtype.kind == "c" else self


def _tobytes(self: Any, order: Any = "C") -> bytes:
    """The bytes of the array; an error for a traced value."""
    made: bytes = np.asarray(_plain(self, ".tobytes()")).tobytes(order)
    return made


def _view(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The array itself; another dtype or type would reinterpret the bytes."""
    if args or kwargs:
        raise UnsupportedCallError(
            located("a view with another dtype is not supported on traced values")
        )
    return self.content() if is_scalar(self) else view(self, lambda x: x)


def _resize(self: Any, *args: Any, **kwargs: Any) -> None:
    """Not supported: a traced array cannot change its size in place."""
    raise UnsupportedCallError(located("resize() in place is not supported on traced values"))


def _choose(self: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """For each element the choice that it names."""
    return indexing.choose(self, choices, out, mode)


def _compress(self: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    """The slices along an axis where the condition holds."""
    return indexing.compress(condition, self, axis, out)


def _searchsorted(self: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where the elements of `v` would go."""
    return sorting.searchsorted(self, v, side, sorter)


def _dot(self: Any, b: Any, out: Any = None) -> Any:
    """The product with `b`."""
    return products.dot(self, b, out)


def _setflags(self: Any, *args: Any, **kwargs: Any) -> None:
    """Nothing to set: the memory of a traced value is not the program's."""


def _to_device(self: Any, device: str, /, *, stream: None = None) -> Any:
    """The array itself: there is one device, "cpu"."""
    if stream is not None:
        raise ValueError("The stream argument to to_device() is not supported")
    if device != "cpu":
        raise ValueError(f"Unsupported device: {device!r}.")
    return self


def _array_namespace(self: Any, /, *, api_version: Any = None) -> Any:
    """The namespace of the array API standard for traced values: `funcgrad.numpy`."""
    np.empty(0).__array_namespace__(api_version=api_version)  # NumPy's refusal of other versions
    return sys.modules["funcgrad.numpy"]


def _dlpack(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The memory for another library; an error for a traced value."""
    return _plain(self, "__dlpack__()").__dlpack__(*args, **kwargs)


def _dlpack_device(self: Any) -> Any:
    """Where the memory for another library lies; an error for a traced value."""
    return _plain(self, "__dlpack_device__()").__dlpack_device__()


METHODS: dict[str, Callable[..., Any]] = {
    "all": reductions.all,
    "any": reductions.any,
    "argmax": reductions.argmax,
    "argmin": reductions.argmin,
    "argpartition": sorting.argpartition,
    "argsort": sorting.argsort,
    "astype": _astype,
    "choose": _choose,
    "clip": _clip,
    "compress": _compress,
    "conj": _conj,
    "conjugate": _conj,
    "copy": _copy,
    "cumprod": running.cumprod,
    "cumsum": running.cumsum,
    "diagonal": axes.diagonal,
    "dot": _dot,
    "fill": _fill,
    "flatten": _flatten,
    "item": _item,
    "max": reductions.max,
    "mean": reductions.mean,
    "min": reductions.min,
    "nonzero": indexing.nonzero,
    "partition": _partition,
    "prod": reductions.prod,
    "put": writing.put,
    "ravel": _ravel,
    "repeat": repeating.repeat,
    "reshape": _reshape,
    "resize": _resize,
    "round": pointwise.round,
    "searchsorted": _searchsorted,
    "setflags": _setflags,
    "sort": _sort,
    "squeeze": shape.squeeze,
    "std": reductions.std,
    "sum": reductions.sum,
    "swapaxes": axes.swapaxes,
    "take": indexing.take,
    "to_device": _to_device,
    "tobytes": _tobytes,
    "tolist": _tolist,
    "trace": products.trace,
    "transpose": _transpose,
    "var": reductions.var,
    "view": _view,
}

# NumPy calls the method of this name for an object array, which ``np.asarray(t)`` is
SCALAR_METHODS = (
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "hypot"),
    *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "logaddexp2"),
    *("sqrt", "cbrt", "square", "reciprocal", "fabs", "rint", "trunc", "copysign", "fmod"),
    *("degrees", "radians", "deg2rad", "rad2deg", "isnan", "isinf", "isfinite"),
)


def _scalar_method(name: str) -> Callable[..., Any]:
    rule = UFUNCS[getattr(np, name)]

    def method(self: Any, *others: Any) -> Any:
        return rule(self, *others)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"numpy.{name} of the value."
    return method


def _round(self: Any, decimals: int | None = None) -> Any:
    """Python's round()."""
    x = self.content()
    aval = type_of(x)
    weak = aval.weak and aval.dtype.kind in "if"
    if concrete(x) and (weak or decimals is None):
        return round(value(x), decimals)  # locally constant
    if decimals is None:
        raise AbstractValueError(
            located("round() to an integer is not known under jit or vmap; use np.round")
        )
    if weak:
        return pointwise.round_number(x, operator.index(decimals))
    return pointwise.round(self, decimals)


PROTOCOLS: dict[str, Callable[..., Any]] = {
    "__array_namespace__": _array_namespace,
    "__copy__": _copied,
    "__deepcopy__": _deeply_copied,
    "__dlpack__": _dlpack,
    "__dlpack_device__": _dlpack_device,
    "__reduce_ex__": _reduced,
    "__round__": _round,
}


def install() -> None:
    """Give traced values the methods and attributes of arrays."""
    for name in SCALAR_METHODS:
        setattr(ArrayOperand, name, bounded_if_ours(_scalar_method(name)))
    for name, function in (*METHODS.items(), *PROTOCOLS.items()):
        setattr(ArrayOperand, name, bounded_if_ours(function))
    for name, getter in ATTRIBUTES.items():
        getter = getter if name in CANNOT_FAIL else bounded_if_ours(getter)
        setter = bounded_if_ours(_setter(name)) if name in ("real", "imag", "flat") else None
        setattr(ArrayOperand, name, property(getter, setter))
    bound_class(Flat, "funcgrad.")


def _setter(name: str) -> Callable[[Any, Any], None]:
    def write(self: Any, v: Any) -> None:
        getattr(self, name)[...] = v

    return write
