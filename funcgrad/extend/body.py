"""The Python body of a function that Numba compiled, run on traced values.

The body names modules and functions that know no traced values: `math`, NumPy's creation
functions, other compiled functions. It is run with other globals, in which these names stand for
what does the same on traced values. It imports the public namespaces; Numba only by its users.
"""

from __future__ import annotations

import builtins
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.core.tracer import Operand
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.ops.error import erf
from funcgrad.ops.gamma import lgamma

__all__ = ["DECLARED", "SOURCE", "body_of", "is_dispatcher", "traced"]

Function = Callable[..., Any]
SOURCE = "funcgrad_source"  # attribute of a compiled function: what it was made of

# Functions of `math` whose names are not NumPy's.
NAMES: dict[str, Any] = {
    "asin": fnp.arcsin, "acos": fnp.arccos, "atan": fnp.arctan, "atan2": fnp.arctan2,
    "asinh": fnp.arcsinh, "acosh": fnp.arccosh, "atanh": fnp.arctanh, "pow": fnp.power,
    "erf": erf, "erfc": lambda x: 1.0 - erf(x), "lgamma": lgamma, "fabs": fnp.abs,
    "gamma": lambda x: fnp.exp(lgamma(x)),
}  # fmt: skip


def traced(x: Any) -> bool:
    """Whether a value is traced, or a tuple that holds one."""
    if isinstance(x, tuple | list):
        return any(map(traced, x))
    return isinstance(x, Operand)


def is_dispatcher(x: Any) -> bool:
    """Whether an object is a function of `numba.njit`, without importing Numba to find out."""
    return type(x).__module__.startswith("numba.") and hasattr(x, "py_func")


def body_of(function: Any) -> Function:
    """The Python function of a compiled one, for traced values; of others the function itself."""
    if not is_dispatcher(function):
        known: Function = function
        return known
    source = getattr(function, SOURCE, None)
    if source is not None:
        made: Function = source
        return made
    if function not in _bodies:
        _bodies[function] = _remade(function.py_func, function)
    return _bodies[function]


# Compiled functions that were made operations: a body that calls one calls the operation.
DECLARED: dict[Any, Function] = {}
_bodies: dict[Any, Function] = {}


def _remade(f: Any, key: Any) -> Function:
    """The function with other globals and closure."""
    names: dict[str, Any] = dict(f.__globals__)
    made = types.FunctionType(f.__code__, names, f.__name__, f.__defaults__, _cells(f.__closure__))
    made.__kwdefaults__ = f.__kwdefaults__
    _bodies[key] = made  # it may call itself
    for name in _names(f.__code__):
        if name in names:
            names[name] = _other(names[name])
        elif hasattr(builtins, name):
            names[name] = _BUILTINS.get(name, getattr(builtins, name))
    return made


def _names(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            found |= _names(c)
    return found


def _cells(closure: Any) -> Any:
    if closure is None:
        return None
    return tuple(types.CellType(_other(c.cell_contents)) for c in closure)


def _other(x: Any) -> Any:
    """What stands for a global on traced values."""
    if x is math:
        return _Math()
    if x is np:
        return _NumPy()
    if getattr(x, "__module__", None) == "math" and callable(x):
        return _of_math(x.__name__)
    if isinstance(x, types.ModuleType) or not is_dispatcher(x):
        return _of_numpy(x)
    return _called(x)


def _called(function: Any) -> Function:
    """A compiled function where another calls it; it may be declared later than this is made."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if any(map(traced, (*args, *kwargs.values()))):
            return (DECLARED.get(function) or body_of(function))(*args, **kwargs)
        return function(*args, **kwargs)

    return call


def _of_numpy(x: Any) -> Any:
    """A function taken out of NumPy by name, and a dtype that is called."""
    name = getattr(x, "__name__", "")
    if isinstance(x, type) and issubclass(x, np.floating):
        return _converter(x)
    mine = getattr(np, name, None) is x and callable(x) and not isinstance(x, type)
    return getattr(fnp, name, x) if mine else x


def _converter(kind: Any) -> Function:
    def convert(x: Any) -> Any:
        return fnp.asarray(x).astype(kind) if traced(x) else kind(x)

    return convert


def _of_math(name: str) -> Function:
    """A function of `math`: on traced values that of NumPy's of the same meaning."""
    plain = getattr(math, name)
    known = NAMES.get(name, getattr(fnp, name, None))

    def call(*args: Any) -> Any:
        if not any(traced(x) or np.ndim(x) for x in args):
            return plain(*args)
        if name == "log" and len(args) == 2:
            return fnp.log(args[0]) / fnp.log(args[1])
        if known is None:
            raise UnsupportedCallError(
                located(
                    f"math.{name} has no form for traced values; declare the derivatives of the "
                    "compiled function that calls it"
                )
            )
        return known(*args)

    return call


class _Math:
    """The module `math`."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(math, name)
        return _of_math(name) if callable(found) else found


class _NumPy:
    """The module NumPy, with functions of ours in place of those that would cut a gradient."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if isinstance(found, type) and issubclass(found, np.floating):
            return _converter(found)
        return getattr(fnp, name, found)


def _float(x: Any) -> Any:
    return fnp.asarray(x).astype(float) if traced(x) else float(x)


_BUILTINS: dict[str, Any] = {"float": _float}
