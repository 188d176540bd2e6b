"""Programs of NumPy's that are written in Python, run with our functions for the names they use.

Polynomials are such programs: of each of their functions NumPy has one statement, over `asarray`,
products and sums, which is taken as it is (`loader`). What a program asks about values (is the last
coefficient 0?) it asks of the values at hand; where these are not known, under `jit` and `vmap`,
the answer is that nothing is special.
"""

from __future__ import annotations

import inspect
import sys
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from funcgrad.core.tracer import Operand, concrete, operand, value
from funcgrad.numpy.function_calls import FUNCTIONS
from funcgrad.numpy.loader import Loader, define

__all__ = ["borrow", "hand_over", "program"]


class _Arrays(type):
    """What `isinstance(x, ndarray)` asks: traced arrays are arrays."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, (np.ndarray, Operand))


class ndarray(metaclass=_Arrays):
    """Stands for `numpy.ndarray` in the programs."""


class _Linalg:
    """`numpy.linalg` with our functions."""

    def __getattr__(self, name: str) -> Any:
        return _ours(getattr(np.linalg, name))


class _Namespace:
    """`numpy`, or a module of its own with the same names and more, with our functions."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    ndarray = ndarray
    linalg = _Linalg()

    def __getattr__(self, name: str) -> Any:
        ours = getattr(sys.modules["funcgrad.numpy"], name, None) if hasattr(np, name) else None
        return getattr(self._module, name) if ours is None else ours

    def allclose(self, a: Any, b: Any, *args: Any, **keywords: Any) -> Any:
        """False where it is not known."""
        known = concrete(operand(a)) and concrete(operand(b))
        return FUNCTIONS[np.allclose](a, b, *args, **keywords) if known else False

    def any(self, a: Any, *args: Any, **keywords: Any) -> Any:
        return _any(a, *args, **keywords)


def _any(a: Any, axis: Any = None, *args: Any, **keywords: Any) -> Any:
    """Whether anything holds: what a check asks for, and False where it is not known."""
    if axis is None and not concrete(operand(a)):
        return False
    return FUNCTIONS[np.any](a, axis, *args, **keywords)


NAMESPACES = ("numpy", "numpy._core.numeric")


def _ours(thing: Any) -> Any:
    """What stands for something of NumPy's."""
    if isinstance(thing, ModuleType):
        return _Namespace(thing) if thing.__name__ in NAMESPACES else thing
    if thing is np.any:
        return _any
    try:
        return FUNCTIONS.get(thing, thing)
    except TypeError:  # no hash
        return thing


def _trimseq(seq: Any) -> Any:
    """`seq` without the zeros at its end; as it is where these are not known."""
    values = operand(seq)
    if not len(seq) or not concrete(values):
        return seq
    last = np.flatnonzero(np.asarray(value(values)) != 0)
    return seq[: int(last[-1]) + 1] if last.size else seq[:1]


def _without_examples(text: str | None) -> str | None:
    """NumPy's docstring but for the examples, which are of NumPy and its version."""
    return text.partition("\n    Examples\n")[0].rstrip() + "\n" if text else text


def borrow(space: dict[str, Any], source: str) -> dict[str, FunctionType]:
    """Define in `space`, the names of a module of ours, what the module `source` of NumPy defines.

    Returns its functions; in `space` itself those of ours stand for them where we have one.
    """
    programs = define(space, source, _ours)
    for made in programs.values():
        made.__doc__ = _without_examples(made.__doc__)
    if "trimseq" in space:
        space["trimseq"] = programs["trimseq"] = _trimseq  # type: ignore[assignment]
    return programs


def hand_over(space: dict[str, Any], source: str) -> None:
    """Have the programs in `space` called where NumPy's own functions meet traced values."""
    for name in sys.modules[source].__all__:
        if isinstance(space[name], FunctionType):
            FUNCTIONS[getattr(sys.modules[source], name)] = space[name]


def _stand_in(thing: Any) -> Any:
    """What stands for something that a single program names: its own helpers are programs too."""
    found = _ours(thing)
    behind = inspect.unwrap(thing) if found is thing and callable(thing) else None
    if isinstance(behind, FunctionType) and behind.__module__ in _OF_PROGRAMS:
        return _PROGRAMS.program(behind)
    return found


_OF_PROGRAMS: set[str] = set()
"""The modules of NumPy of which a program was asked for."""
_PROGRAMS = Loader(_stand_in)


def program(function: Any) -> Any:
    """The program of a function of NumPy, over our functions."""
    made = inspect.unwrap(function)
    _OF_PROGRAMS.add(made.__module__)
    return _PROGRAMS.program(made)
