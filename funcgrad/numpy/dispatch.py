"""NEP 13 and NEP 18: plain ``np.sin(t)`` and ``np.sum(t)`` of traced values come here.

A ufunc goes to `ufuncs.call_ufunc`, any other function to the function of the namespace that
stands for it. What has no rule is a named error: nothing falls back to the bare value.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core.boundary import hide_frames
from funcgrad.core.forms import UFUNCS
from funcgrad.core.tracer import ArrayOperand
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import FUNCTIONS, TRACED, boxed, state, unbox
from funcgrad.numpy.ufuncs import LIBRARIES, call_ufunc

__all__ = ["install"]


# NumPy hands ``w * t`` of a NumPy scalar `w` to the ufunc, although it computes two scalars by
# other code, which rounds otherwise: a scalar on the left means an operator.
REFLECTED: dict[np.ufunc, str] = {
    np.add: "__radd__",
    np.subtract: "__rsub__",
    np.multiply: "__rmul__",
    np.divide: "__rtruediv__",
    np.power: "__rpow__",
    np.floor_divide: "__rfloordiv__",
    np.remainder: "__rmod__",
}


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, /, *inputs: Any, **keywords: Any) -> Any:
    """Apply a ufunc of which an input or output is traced."""
    try:
        if method == "__call__" and not keywords:
            if isinstance(inputs[0], np.generic) and ufunc in REFLECTED:
                return getattr(inputs[1], REFLECTED[ufunc])(inputs[0])
            rule = UFUNCS.get(ufunc)
            if rule is not None and len(inputs) == ufunc.nin:
                out = rule(*inputs)
                return boxed(out) if type(out) is np.ndarray else out
        return call_ufunc(ufunc, method, inputs, keywords)
    except Exception as error:
        hide_frames(error)
        raise


def array_function(
    self: Any, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
) -> Any:
    """Apply a function of NumPy of which an argument is traced."""
    try:
        ours = FUNCTIONS.get(function)
        if ours is not None:
            return ours(*args, **kwargs)
        if state(tuple(args)) < TRACED and state(tuple(kwargs.values())) < TRACED:
            return boxed(function(*map(unbox, args), **{k: unbox(v) for k, v in kwargs.items()}))
        module = getattr(function, "__module__", "numpy")
        if LIBRARIES.get(module, "") not in (*sys.modules, ""):
            importlib.import_module(LIBRARIES[module])
            return array_function(self, function, types, args, kwargs)
        raise UnsupportedCallError(
            located(
                f"{module}.{function.__name__} is not supported on traced values; write it with "
                "functions of funcgrad.numpy, state a rule with funcgrad.custom_vjp, or apply it "
                "to funcgrad.value(x) if it is a constant"
            )
        )
    except Exception as error:
        hide_frames(error)
        raise


def _text(a: Any, *args: Any, **kwargs: Any) -> str:
    return repr(a)


def _plain_text(a: Any, *args: Any, **kwargs: Any) -> str:
    return str(a)


def _apart(a: Any, b: Any, *args: Any, **kwargs: Any) -> bool:
    """Traced values share no memory that a program could see, but with themselves."""
    return a is b


def install() -> None:
    """Give traced values NumPy's two protocols."""
    FUNCTIONS.update(
        {
            np.array_repr: _text,
            np.array_str: _plain_text,
            np.array2string: _plain_text,
            np.shares_memory: _apart,
            np.may_share_memory: _apart,
        }
    )
    for name, method in (("__array_ufunc__", array_ufunc), ("__array_function__", array_function)):
        setattr(ArrayOperand, name, method)
