"""What traced values say where Python or NumPy asks for a number, an array, a text or a hash.

Under `grad` the truth and the integer are those of the value; a float would cut the gradient, and
is an error. Under `jit` and `vmap` there is no number, and the error tells who asked for one.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from funcgrad.core.boundary import hide_frames
from funcgrad.core.caller import callee, calls, instead_of, is_storing
from funcgrad.core.objects import about_objects, note_objects
from funcgrad.core.tracer import Tracer, concrete, type_of, value
from funcgrad.errors import (
    AbstractValueError,
    TracerConversionError,
    UnhashableTracerError,
    UnsupportedCallError,
    located,
    user_line,
)
from funcgrad.ops import index as ix
from funcgrad.ops.elements import elements_of
from funcgrad.ops.shape import reshape

__all__ = ["CONVERSIONS", "PROGRAM", "cut"]

_BRANCH = (
    "use funcgrad.numpy.where (or cond) instead of a Python branch, or make the argument static "
    "with static_argnums"
)


def _concrete(self: Any, what: str, advice: str = _BRANCH) -> Any:
    x = self.content()
    if not concrete(x):
        raise AbstractValueError(
            located(
                f"{what} of a value of type {type_of(x)} is not known while it is traced by jit or "
                f"vmap; {advice}"
            )
            + _of_objects(x)
        )
    return value(x)


def _of_objects(x: Any) -> str:
    """What to add to an error where NumPy may have met the elements of an object array."""
    about = about_objects(x.owner) if isinstance(x, Tracer) else ""
    return about and f"\n  {about}"


PROGRAM = "__program_of_another_library__"
"""The name that marks the globals of a program of NumPy's or SciPy's that is run over ours."""


def _bool(self: Any) -> bool:
    try:
        x = self.content()
        if concrete(x):
            return bool(value(x))
        frame = sys._getframe(1)
        if PROGRAM in frame.f_globals:
            # the user could not write `where` in it: it is settled for the values at hand
            what = "the branch that a program of NumPy's or SciPy's takes"
            return bool(ix.selected(reshape(x, (1,)), what))
        if calls(frame) and (about := _of_objects(x)):  # no branch that could be written otherwise
            raise AbstractValueError(
                located(
                    "NumPy compares objects that it has made of traced values, and the truth of a "
                    f"value of type {type_of(x)} is not known while it is traced by jit or vmap"
                )
                + about
            )
        return bool(_concrete(self, "the truth"))
    except Exception as error:
        hide_frames(error)
        raise


def _index(self: Any) -> int:
    x = self.content()
    if type_of(x).dtype.kind in "fc":
        raise cut("an index", self)
    return int(_concrete(self, "the integer value").__index__())


def _int(self: Any) -> int:
    if type_of(self.content()).dtype.kind in "fc":
        raise cut("int()", self)
    return int(_concrete(self, "the integer value"))


_CONSTANT = (
    "leave it out, or say funcgrad.value(t) or funcgrad.stop_gradient(t) if it is meant to be a "
    "constant"
)


_STORE = (
    "a plain NumPy array holds numbers only: make it with funcgrad.numpy.zeros or empty (import "
    "funcgrad.numpy as np), or np.stack a list of the values"
)


_RANGE = (
    "the length of an array has to be known: say np.arange(int(funcgrad.value(n))) of a number "
    "that is, mark an argument static with static_argnums, or write start + step * "
    "np.arange(count) for ends that are traced"
)


def cut(what: str, self: Any, frame: types.FrameType | None = None) -> TracerConversionError:
    """The error where a conversion would make a constant of a traced value.

    `frame` is that of the program, whose instruction tells what asks for the number.
    """
    advice, branch = _CONSTANT, _BRANCH
    if frame is not None:
        called = callee(frame)
        instead = instead_of(called)
        if instead is not None:
            what = f"{called.__module__}.{called.__name__}()"
            advice = branch = f"call {instead}, which computes with traced values"
        elif called is np.arange:
            what, advice, branch = "np.arange()", _RANGE, _RANGE
        elif is_storing(frame):
            what, advice, branch = "storing the number", _STORE, _STORE
    number = "the number to be stored" if branch is _STORE else f"the number for {what}"
    _concrete(self, number, branch)  # where there is none, a constant is not either
    return TracerConversionError(
        located(
            f"{what} of a traced value of type {type_of(self.content())} would cut its gradient; "
            f"{advice}"
        )
        + _of_objects(self.content())
    )


def _trunc(self: Any) -> int:
    try:
        if type_of(self.content()).ndim:
            raise TypeError("only scalar arrays can be converted to Python scalars")
        raise cut("math.trunc()", self, sys._getframe(1))
    except Exception as error:
        hide_frames(error)
        raise


def _hash(self: Any) -> int:
    # Equal numbers have equal hashes, and a look-up by another hash would find nothing.
    raise UnhashableTracerError(
        located(
            "a traced value has no hash, so it can be no key of a dictionary, no member of a "
            "set and no argument of a cached function; use the number behind it, "
            "funcgrad.value(t), where there is one, id(t) if the object is meant, or a list"
        )
    )


def _float(self: Any) -> float:
    try:
        x = self.content()
        if not isinstance(x, Tracer):
            return float(x)
        raise cut("float()", self, sys._getframe(1))
    except Exception as error:
        hide_frames(error)
        raise


def _complex(self: Any) -> complex:
    try:
        x = self.content()
        if not isinstance(x, Tracer):
            return complex(x)
        raise cut("complex()", self, sys._getframe(1))
    except Exception as error:
        hide_frames(error)
        raise


def _array(self: Any, dtype: Any = None, copy: Any = None) -> Any:
    try:
        return _as_numpy(self, dtype, copy, sys._getframe(1))
    except Exception as error:
        hide_frames(error)
        raise


def _as_numpy(self: Any, dtype: Any, copy: Any, frame: types.FrameType) -> Any:
    """What NumPy gets that asks for an array; `frame` is that of the program that asks."""
    x = self.content()
    if not isinstance(x, Tracer):
        return np.array(x, dtype=dtype, copy=copy)
    if frame.f_code is as_strided.__code__:  # it would read objects as numbers
        raise UnsupportedCallError(
            located(
                "numpy.lib.stride_tricks.as_strided reads memory, which a traced value has none "
                "of; use sliding_window_view, broadcast_to or an index"
            )
        )
    if type_of(x).dtype.kind in "biu" and (type_of(x).ndim == 0 or dtype is not None):
        return np.asarray(_number(self, x, frame), dtype)
    if dtype is not None and np.dtype(dtype) != object:
        raise cut(f"numpy.asarray(…, dtype={np.dtype(dtype)})", self, frame)
    if type_of(x).dtype not in _PYTHONS_OWN:
        raise UnsupportedCallError(
            located(
                f"numpy.array and numpy.asarray make Python objects of a traced {type_of(x)}, "
                "which next to an array of another precision do not promote as arrays do; use "
                "funcgrad.numpy.array or numpy.stack"
            )
        )
    if is_storing(frame):  # in an array of objects, which was told of when it was made
        x.owner.objects = x.owner.objects or user_line()
    else:
        note_objects(x.owner)
    return elements_of(self, x, bool(copy))


# Python's own numbers, as NumPy converts the elements of other arrays to objects
_PYTHONS_OWN = tuple(map(np.dtype, (float, complex, int, bool)))


_TABLE = (
    "to index a plain array with it say funcgrad.numpy.take(table, i), or make the array with "
    "funcgrad.numpy.array(table)"
)


def _number(self: Any, x: Tracer, frame: types.FrameType) -> Any:
    """An integer or bool that NumPy wants to see, such as `i` in ``table[i]`` of a plain array."""
    if not concrete(x):
        advice = _RANGE if callee(frame) is np.arange else _TABLE
        raise AbstractValueError(
            located(
                f"the number behind a value of type {x.type} is not known while it is traced by "
                f"jit or vmap; {advice}"
            )
        )
    return value(x)


def _repr(self: Any) -> str:
    x = self.content()
    if not isinstance(x, Tracer):
        return repr(x)
    inner = f", value={value(x)!r}" if concrete(x) else ""
    return f"Traced({x.type}{inner})"


def _format(self: Any, spec: str) -> str:
    if not spec and not concrete(self):
        return repr(self)
    return format(_concrete(self, f"the text {spec!r}"), spec)


CONVERSIONS: dict[str, Callable[..., Any]] = {
    "bool": _bool,
    "index": _index,
    "int": _int,
    "float": _float,
    "complex": _complex,
    "array": _array,
    "repr": _repr,
    "format": _format,
    "hash": _hash,
    "trunc": _trunc,
}
"""Python's methods, which `ops.operators` installs."""
