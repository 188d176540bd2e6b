"""Functions of SciPy that are written in Python, run with our functions for those of NumPy.

Most of SciPy's statistics and many of its filters are programs over NumPy. Such a program is taken
as it is: the same code, in a space of names in which ours stand for NumPy's, so that it computes
with traced values what SciPy computes with arrays. What it calls of SciPy's is taken in the same
way, but for what has a definition here, which its call reaches by itself. What leaves Python for
compiled code meets a traced value there, which is an error.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from funcgrad.core.tracer import Operand, concrete, operand, type_of
from funcgrad.numpy.borrowed import _Namespace, _ours
from funcgrad.numpy.calls import FUNCTIONS, TRACED, Record, state

__all__ = ["KNOWN", "program"]

_NUMPY = ("numpy", "scipy._lib.array_api_compat.numpy")
_SPACES: dict[str, dict[str, Any]] = {}
_PROGRAMS: dict[Any, Any] = {}


class _Module:
    """A module of SciPy's whose functions are programs here."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _stand_in(getattr(self._module, name))


def _namespace(*_: Any, **__: Any) -> Any:
    """For SciPy's `array_namespace`: what its functions for any array library compute with."""
    return sys.modules["funcgrad.numpy"]


def _is_lazy(x: Any) -> bool:
    """For `is_lazy_array`: whether values are not known, so that nothing may ask for them."""
    return not concrete(operand(x))


def _contains_nan(x: Any, *args: Any, **keywords: Any) -> Any:
    """Whether an array holds a NaN, in the form of the SciPy at hand; no, where it is not known."""
    theirs = sys.modules["scipy._lib._util"]._contains_nan
    return program(theirs)(np.zeros(1) if _is_lazy(x) else x, *args, **keywords)


class _At:
    """For `array_api_extra.at`: a copy with some elements changed; a mask chooses by `where`."""

    def __init__(self, x: Any, index: Any = None) -> None:
        self.x, self.index = x, index

    def __getitem__(self, index: Any) -> _At:
        return _At(self.x, index)

    def set(self, y: Any, *_: Any, **__: Any) -> Any:
        ours = _namespace()
        whole = type_of(operand(self.x))
        if isinstance(self.index, (Operand, np.ndarray, np.bool_)):
            mask = type_of(operand(self.index))
            if mask.dtype == bool and mask.shape == whole.shape and not type_of(operand(y)).ndim:
                return ours.astype(ours.where(self.index, y, self.x), whole.dtype)
        new = ours.array(self.x)
        new[self.index] = y
        return new

    def _changed(self, how: Any, y: Any) -> Any:
        return self.set(how(self.x[self.index], y))

    def add(self, y: Any, *_: Any, **__: Any) -> Any:
        return self._changed(_namespace().add, y)

    def subtract(self, y: Any, *_: Any, **__: Any) -> Any:
        return self._changed(_namespace().subtract, y)

    def multiply(self, y: Any, *_: Any, **__: Any) -> Any:
        return self._changed(_namespace().multiply, y)

    def divide(self, y: Any, *_: Any, **__: Any) -> Any:
        return self._changed(_namespace().divide, y)


class _Math:
    """For `math`: its functions of traced values are those of arrays."""

    _NAMES = MappingProxyType(
        {"acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2", "pow": "power"}
    )

    def __getattr__(self, name: str) -> Any:
        theirs = getattr(math, name)
        ours = getattr(_namespace(), self._NAMES.get(name, name), None)
        if not callable(theirs) or ours is None:
            return theirs
        return lambda *args: (theirs if state(args) != TRACED else ours)(*args)


# The decorator of SciPy's statistics leaves axes and `keepdims` out where nothing is known; it asks
# of values only whether there are NaN.
_PRESET: dict[str, dict[str, Any]] = {
    "scipy.stats._axis_nan_policy": {"is_lazy_array": lambda x: False}
}
_STAND_INS: dict[str, Any] = {
    "array_namespace": _namespace,
    "is_lazy_array": _is_lazy,
    "_contains_nan": _contains_nan,
    "at": _At,
}


def _stand_in(thing: Any) -> Any:
    """What stands for something that a program of SciPy names."""
    if isinstance(thing, ModuleType):
        if thing.__name__ in _NUMPY:
            return _Namespace(thing)
        if thing is math:
            return _Math()
        return _Module(thing) if thing.__name__.startswith("scipy.") else _ours(thing)
    private = str(getattr(thing, "__module__", "")).startswith("scipy._lib")
    if private and getattr(thing, "__name__", "") in _STAND_INS:
        return _STAND_INS[thing.__name__]
    if isinstance(thing, FunctionType):
        module = thing.__globals__.get("__name__", "")
        if not module.startswith(("scipy.", "numpy.")):
            return thing
        if "_choose" in (thing.__kwdefaults__ or {}):  # it asks for our definition by itself
            return thing
        return FUNCTIONS.get(thing) or program(thing)
    return _ours(thing)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def program(function: Any) -> Any:
    """`function` with our functions for those that its code names.

    It shares the defaults, and the name, by which errors and tracebacks call it.
    """
    if function in _PROGRAMS:
        return _PROGRAMS[function]
    known = function.__globals__
    module = known["__name__"]
    first = {k: known[k] for k in ("__name__", "__package__", "__builtins__")}
    space = _SPACES.setdefault(module, first | _PRESET.get(module, {}))
    held = function.__closure__ or ()
    closure = tuple(CellType() for _ in held)
    name, defaults = function.__name__, function.__defaults__
    made = FunctionType(function.__code__, space, name, defaults, closure or None)
    made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
    made.__dict__.update(function.__dict__)
    _PROGRAMS[function] = made  # before its names, among which it may be itself
    for cell, theirs in zip(closure, held):
        with contextlib.suppress(ValueError):  # it is empty
            cell.cell_contents = _stand_in(theirs.cell_contents)
    for name in _names(function.__code__):
        if name in known and name not in space:
            space[name] = _stand_in(known[name])
    return made


_IN_ALL = {
    "scipy.stats": (
        "pearsonr iqr tmean tmin tmax gstd boxcox boxcox_llf gzscore zmap kstat kstatvar variation "
        "median_abs_deviation describe entropy differential_entropy trim_mean trimboth trim1 "
        "ttest_ind ttest_1samp ttest_rel f_oneway bartlett levene jarque_bera skewtest "
        "wasserstein_distance energy_distance combine_pvalues scoreatpercentile "
        "gmean zscore sem skew kurtosis moment percentileofscore "
        "circmean circvar circstd pointbiserialr alexandergovern"
    ),
    "scipy.signal": (
        "czt zoom_fft hilbert2 envelope lombscargle wiener freqs group_delay zpk2tf ss2tf "
        "deconvolve gausspulse sweep_poly vectorstrength gauss_spline cspline1d qspline1d "
        "cspline1d_eval"
    ),
    "scipy.ndimage": (
        "center_of_mass sum sum_labels mean variance standard_deviation labeled_comprehension"
    ),
    "scipy.interpolate": "make_smoothing_spline",
}
_WHERE_VALUES_ARE_KNOWN = {
    "scipy.stats": (
        "tvar tstd tsem yeojohnson yeojohnson_llf pmean spearmanr theilslopes chisquare "
        "power_divergence expectile false_discovery_control sigmaclip obrientransform"
    ),
    "scipy.signal": "tf2zpk bilinear lp2lp lp2hp sawtooth square minimum_phase",
    "scipy.ndimage": "maximum minimum median extrema",
    "scipy.interpolate": "lagrange",
}
KNOWN = {  # with SciPy 1.17; in older ones more of them leave Python, which is an error
    f"{module}.{name}": Record(lacks=lacks)
    for table, lacks in ((_IN_ALL, ()), (_WHERE_VALUES_ARE_KNOWN, ("jit", "vmap")))
    for module, names in table.items()
    for name in names.split()
}
"""Full public name -> what `tests/scipy/test_programs.py` shows of a program of SciPy 1.17.

In older releases more of them leave Python, which is an error.
"""
