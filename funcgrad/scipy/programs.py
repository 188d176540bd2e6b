"""Functions of SciPy that are written in Python, run with our functions for those of NumPy.

Most of SciPy's statistics and many of its filters are programs over NumPy. Such a program is taken
as it is (`funcgrad.numpy.loader`), so that it computes with traced values what SciPy computes with
arrays. What it calls of SciPy's is taken in the same
way, but for what has a definition here, which its call reaches by itself. What leaves Python for
compiled code meets a traced value there, which is an error.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import sys
import textwrap
import threading
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from funcgrad.core.tracer import Operand, concrete, operand, type_of
from funcgrad.core.types import is_inexact
from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.borrowed import _Namespace, _ours
from funcgrad.numpy.function_calls import FUNCTIONS, TRACED, Record, state
from funcgrad.numpy.loader import Loader
from funcgrad.scipy.dispatch import BEHIND

__all__ = ["KNOWN", "program"]

_PRIVATE = ("scipy._lib", "scipy._external")  # SciPy 1.18 moved what others wrote to the second
_NUMPY = ("numpy", *(f"{where}.array_api_compat.numpy" for where in _PRIVATE))


def _is_for_show(statement: ast.stmt) -> bool:
    """Whether a statement warns, or makes the text of a message."""
    if isinstance(statement, ast.Assign):
        text = ast.unparse(statement.value).startswith(("'", '"', "f'", 'f"'))
        return text and all(isinstance(t, ast.Name) for t in statement.targets)
    calls = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    return calls and ast.unparse(statement.value.func).endswith("warn")  # type: ignore[attr-defined]


@functools.cache
def _checks(code: CodeType) -> frozenset[int]:
    """The lines of conditions on which a program of SciPy's raises, or warns, and does no more."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, SyntaxError):
        return frozenset()
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If):
            *_, last = node.body
            if isinstance(last, ast.Raise) or all(map(_is_for_show, node.body)):
                lines.update(range(node.test.lineno, (node.test.end_lineno or 0) + 1))
    return frozenset(k + code.co_firstlineno - 1 for k in lines)


def _any(a: Any, axis: Any = None, *args: Any, **keywords: Any) -> Any:
    """Whether anything holds; no, where that is not known and would be an error or a warning."""
    if axis is None and not concrete(operand(a)):
        frame = sys._getframe(1)
        if frame.f_lineno in _checks(frame.f_code):
            return False
    return FUNCTIONS[np.any](a, axis, *args, **keywords)


class _Numpy(_Namespace):
    """For `numpy`: unlike polynomials, these programs are not the same where nothing is special."""

    any = staticmethod(_any)

    def allclose(self, *args: Any, **keywords: Any) -> Any:
        return FUNCTIONS[np.allclose](*args, **keywords)


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


_HELD = threading.local()


def _looks_for_nan(x: Any, nan_policy: str = "propagate", *args: Any, **keywords: Any) -> Any:
    """Whether a sample holds a NaN; no, where that is not known and results follow it anyway."""
    theirs = sys.modules["scipy._lib._util"]._contains_nan
    if not _is_lazy(x):
        return program(theirs)(x, nan_policy, *args, **keywords)
    if nan_policy == "omit" and keywords.get("xp_omit_okay"):
        return True  # the caller counts them itself, whatever there are
    if nan_policy in ("omit", "raise"):
        raise UnsupportedCallError(
            located(f"{nan_policy=} is not supported for values that jit or vmap does not know")
        )
    asked = theirs(np.zeros(1), nan_policy, *args, **keywords)  # what it returns, or an error
    return (False, nan_policy) if isinstance(asked, tuple) else False  # SciPy before 1.17: a pair


def _of_samples(cells: dict[str, Any]) -> dict[str, Any]:
    """What SciPy's decorator of statistics calls, so that NaN propagates where it cannot look.

    It hands arrays over whose last axis is reduced, and asks what comes back for its results.
    """
    if "hypotest_fun_in" not in cells or not cells["override"]["nan_propagation"]:
        return cells
    run, parts = cells["hypotest_fun_in"], cells["result_to_tuple"]

    @functools.wraps(run)
    def statistic(*samples: Any, **keywords: Any) -> Any:
        found = run(*samples, **keywords)
        more = [keywords[k] for k in cells["kwd_samples"] if keywords.get(k) is not None]
        arrays = [x for x in (*samples, *more) if isinstance(x, (Operand, np.ndarray))]
        asked = [x for x in arrays if type_of(operand(x)).ndim]
        unknown = any(map(_is_lazy, asked))
        ours = _namespace()
        _HELD.last = found, [ours.any(ours.isnan(x), axis=-1) for x in asked if unknown]
        return found

    def results(found: Any, count: int) -> Any:
        (last, holes), _HELD.last = getattr(_HELD, "last", (None, [])), (None, [])
        made = parts(found, count)
        if last is not found or not holes:
            return made
        return tuple(_with_holes(y, functools.reduce(_namespace().logical_or, holes)) for y in made)

    return {**cells, "hypotest_fun_in": statistic, "result_to_tuple": results}


def _with_holes(y: Any, holes: Any) -> Any:
    if not isinstance(y, (Operand, np.ndarray, np.inexact, float)):
        return y
    dtype = type_of(operand(y)).dtype
    return _namespace().where(holes, dtype.type(np.nan), y) if is_inexact(dtype) else y


def _propagating(quantile: Any) -> Any:
    """SciPy's `quantile`, likewise."""

    @functools.wraps(quantile)
    def propagated(x: Any, p: Any, *, axis: Any = 0, **keywords: Any) -> Any:
        found = quantile(x, p, axis=axis, **keywords)
        if keywords.get("nan_policy", "propagate") != "propagate" or not _is_lazy(x):
            return found
        keep = axis is not None and type_of(operand(found)).ndim == type_of(operand(x)).ndim
        holes = _namespace().any(_namespace().isnan(x), axis=axis, keepdims=keep)
        return _with_holes(found, holes)

    return propagated


_PROPAGATE = {("scipy.stats._quantile", "quantile")}


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
    "scipy.stats._axis_nan_policy": {
        "is_lazy_array": lambda x: False,
        "is_numpy": lambda xp: True,  # else it leaves NaN in arrays of several axes as they are
        "_contains_nan": _looks_for_nan,
    },
    "scipy.stats._quantile": {"_contains_nan": _looks_for_nan},
    "scipy._lib._util": {"is_numpy": lambda xp: True},  # else it refuses to omit NaN
}
_STAND_INS: dict[str, Any] = {
    "array_namespace": _namespace,
    "is_lazy_array": _is_lazy,
    "at": _At,
}


def _stand_in(thing: Any) -> Any:
    """What stands for something that a program of SciPy names."""
    if isinstance(thing, ModuleType):
        if thing.__name__ in _NUMPY:
            return _Numpy(thing)
        if thing is math:
            return _Math()
        return _Module(thing) if thing.__name__.startswith("scipy.") else _ours(thing)
    private = str(getattr(thing, "__module__", "")).startswith(_PRIVATE)
    if private and getattr(thing, "__name__", "") in _STAND_INS:
        return _STAND_INS[thing.__name__]
    if isinstance(thing, FunctionType):
        module = thing.__globals__.get("__name__", "")
        if not module.startswith(("scipy.", "numpy.")):
            return thing
        if "_choose" in (thing.__kwdefaults__ or {}):  # it asks for our definition by itself
            return thing
        return FUNCTIONS.get(BEHIND.get(thing, thing)) or program(thing)
    return _any if thing is np.any else _ours(thing)


def _closed_over(module: str, cells: dict[str, Any]) -> dict[str, Any]:
    return _of_samples(cells) if module == "scipy.stats._axis_nan_policy" else cells


def _finish(function: FunctionType, made: Any) -> Any:
    known = function.__globals__["__name__"], function.__name__
    return _propagating(made) if known in _PROPAGATE else made


LOADER = Loader(_stand_in, _PRESET, _closed_over, _finish)
program = LOADER.program


_IN_ALL = {
    "scipy.stats": (
        "pearsonr iqr tmean tmin tmax gstd boxcox boxcox_llf gzscore zmap kstat kstatvar variation "
        "median_abs_deviation describe entropy differential_entropy trim_mean trimboth trim1 "
        "ttest_ind ttest_1samp ttest_rel f_oneway bartlett levene jarque_bera skewtest "
        "wasserstein_distance energy_distance combine_pvalues scoreatpercentile "
        "gmean zscore sem skew kurtosis moment "
        "circmean circvar circstd pointbiserialr alexandergovern "
        "tvar tstd tsem yeojohnson yeojohnson_llf pmean theilslopes chisquare "
        "power_divergence false_discovery_control sigmaclip "
        "obrientransform"
    ),
    "scipy.signal": (
        "czt zoom_fft hilbert2 envelope lombscargle wiener freqs zpk2tf ss2tf "
        "deconvolve gausspulse sweep_poly vectorstrength gauss_spline cspline1d qspline1d "
        "cspline1d_eval tf2zpk bilinear lp2lp lp2hp sawtooth square minimum_phase lsim"
    ),
    "scipy.ndimage": (
        "center_of_mass sum sum_labels mean variance standard_deviation labeled_comprehension "
        "sobel prewitt laplace gaussian_laplace gaussian_gradient_magnitude generic_laplace "
        "generic_gradient_magnitude uniform_filter grey_opening grey_closing "
        "morphological_gradient morphological_laplace white_tophat black_tophat extrema"
    ),
    "scipy.interpolate": "make_smoothing_spline lagrange",
    "scipy.integrate": "fixed_quad",
    "scipy.spatial": (
        "distance_matrix minkowski_distance minkowski_distance_p procrustes geometric_slerp"
    ),
    "scipy.optimize": "rosen rosen_der rosen_hess rosen_hess_prod",
    "scipy.linalg": "kron",  # until SciPy 1.17
}
_WHERE_VALUES_ARE_KNOWN = {"scipy.ndimage": "maximum minimum median"}
KNOWN = {  # with SciPy 1.17; in older ones more of them leave Python, which is an error
    f"{module}.{name}": Record(lacks=lacks)
    for table, lacks in ((_IN_ALL, ()), (_WHERE_VALUES_ARE_KNOWN, ("jit", "vmap")))
    for module, names in table.items()
    for name in names.split()
}
"""Full public name -> what `tests/scipy/test_programs.py` shows of a program of SciPy 1.17.

In older releases more of them leave Python, which is an error.
"""
