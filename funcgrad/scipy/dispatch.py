"""How calls of SciPy's own functions on traced values reach the definitions of `funcgrad.scipy`.

SciPy's ufuncs hand traced operands over by NEP 13, and its Fourier transforms by the protocol of
their backends. Its other functions ask nobody: they convert their arguments. So when SciPy's
modules are imported, their public functions, and the methods of `METHODS`, are given another body:
while a transform runs, it looks whether an argument is traced, and calls our definition, which is
imported then. In all other calls it is SciPy's own body that runs, with the caller's own arguments.
It is the function itself that is changed, so it does not matter who took it out of SciPy, or when.
This file imports nothing of SciPy.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import sys
import threading
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, TypeVar

from funcgrad.core.boundary import hide_frames
from funcgrad.core.tracer import running
from funcgrad.errors import (
    FuncgradError,
    TracerConversionError,
    failed_in_scipy,
)
from funcgrad.numpy.function_calls import BOXED, FUNCTIONS, RAW, TRACED, Record, state, unbox
from funcgrad.numpy.ufuncs import LIBRARIES
from funcgrad.ops.storage import boxed

__all__ = ["BEHIND", "METHODS", "install", "scipy_method"]

F = TypeVar("F", bound=Callable[..., Any])

_PIECES = "__init__ __call__ derivative antiderivative integrate"
_LINES = "__init__ _evaluate _prepare_x _finish_y _reshape_yi _set_yi _set_dtype"
_PRODUCTS = "__matmul__ __rmatmul__ __mul__ __rmul__ multiply dot"
_SPARSE = ("bsr", "coo", "csc", "csr", "dia")

METHODS: dict[str, dict[str, str]] = {
    "scipy.integrate": {
        "OdeSolver": "__init__",  # of which the others are made
        "ode": "__init__ set_initial_value",
        "complex_ode": "__init__ set_initial_value",
    },
    "scipy.interpolate": {
        "PPoly": _PIECES,
        "BPoly": "__init__",
        "BSpline": _PIECES,
        "CubicHermiteSpline": "__init__",
        "CubicSpline": "__init__",
        "PchipInterpolator": "__init__",
        "Akima1DInterpolator": "__init__",
        "RegularGridInterpolator": "__init__ __call__",
        "RBFInterpolator": "__init__ __call__",
        "NearestNDInterpolator": "__init__ __call__",
        "interp1d": "__init__ __call__",
        "KroghInterpolator": f"{_LINES} _evaluate_derivatives derivative derivatives",
        "BarycentricInterpolator": f"{_LINES} set_yi add_xi",
        "InterpolatedUnivariateSpline": "__init__",
        "UnivariateSpline": "__init__ __call__ integral derivative antiderivative "
        "set_smoothing_factor",
        "LSQUnivariateSpline": "__init__",
    },
    "scipy.signal": {"CZT": "__call__"},
    "scipy.sparse": {
        **{f"{kind}_array": f"__init__ {_PRODUCTS}" for kind in _SPARSE},
        **{f"{kind}_matrix": _PRODUCTS for kind in _SPARSE},
    },
    "scipy.special": {"legendre_p": "__call__"},
    "scipy.stats": {
        "rv_continuous": "pdf logpdf cdf logcdf sf logsf ppf isf fit",
        "rv_discrete": "pmf logpmf cdf logcdf sf logsf ppf isf rvs expect",
        "levy_stable": "pdf cdf",
        "norm": "mean var std median entropy moment stats freeze rvs support",
        "gaussian_kde": (
            "__init__ evaluate __call__ pdf logpdf set_bandwidth _compute_covariance "
            "scotts_factor silverman_factor integrate_gaussian integrate_box_1d integrate_kde "
            "marginal"
        ),
        "multivariate_normal": "pdf logpdf cdf logcdf __call__",
        "multivariate_t": "pdf logpdf cdf __call__",
        "dirichlet": "pdf logpdf __call__",
        "wishart": "pdf logpdf __call__",
        "invwishart": "pdf logpdf __call__",
        "matrix_normal": "pdf logpdf __call__",
        "matrix_t": "pdf logpdf __call__",
        "vonmises_fisher": "pdf logpdf __call__",
        "normal_inverse_gamma": "pdf logpdf mean var __call__",
        "dirichlet_multinomial": "pmf logpmf __call__",
        "multinomial": "pmf logpmf __call__",
    },
}
"""Module of SciPy -> a class in it, or an object of that class -> the methods that are changed.

Of a method the attributes of its object count as arguments.
"""

BEHIND: dict[Any, Any] = {}
"""What a public function of SciPy calls after asking for array libraries -> that function."""

_DONE: set[Any] = set()
_LOCK = threading.Lock()


def scipy_method(holder: Any, name: str) -> Callable[[F], F]:
    """State what a method that is in `METHODS` does where an argument or attribute is traced."""

    def decorate(define: F) -> F:
        FUNCTIONS[inspect.getattr_static(_class(holder), name)] = define
        return define

    return decorate


def _class(holder: Any) -> Any:
    return holder if isinstance(holder, type) else type(holder)


def _chooser(
    own: Callable[..., Any], key: Any, module: str, name: str, method: bool
) -> Callable[..., Any]:
    """What says who computes a call: SciPy's body `own`, or ours of `key` for a traced value.

    `name` is the public one of `own` in its module.
    """
    name = f"{module}.{name}"

    def choose(args: Any, kwargs: Any) -> Callable[..., Any]:
        if not running.count:
            return own
        found = max(state(args), state(tuple(kwargs.values())))
        if method and found != TRACED:
            held = (getattr(x, "__dict__", {}) for x in args[:1])
            found = max(found, *(state(tuple(d.values())) for d in held), RAW)
        calls = any(map(callable, args)) or any(map(callable, kwargs.values()))
        if found == RAW and not calls:
            return own
        attempt = functools.partial(_attempt, own, name)
        if any(k.startswith("_") for k in kwargs):  # one program of SciPy's calls another
            return own if found == RAW else attempt
        importlib.import_module(LIBRARIES[module])
        ours = FUNCTIONS.get(key)
        if ours is not None and (found != RAW or getattr(ours, "record", Record()).calls):
            return ours
        if found == RAW:
            plain = ours is not None or (method and not _is_refused(name))
            return own if plain else functools.partial(_calling, own, name)
        if found == BOXED and not method:
            return functools.partial(_unboxed, own)
        return attempt

    choose.hide = hide_frames  # type: ignore[attr-defined]  # where the globals are SciPy's
    return choose


def _unboxed(own: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    return boxed(own(*map(unbox, args), **{k: unbox(v) for k, v in kwargs.items()}))


# `warnings.warn` passes over the frames of what is named so when it counts its `stacklevel`: a
# warning of SciPy's names the line that calls it, as it does without us. Tested, since it is not
# documented (`test_a_warning_of_scipys_names_the_line_that_called_it`).
_PASSED_OVER = "<funcgrad, passed over as importlib._bootstrap is>"


@functools.cache
def _body(cells: int) -> CodeType:
    """The code that asks; a function keeps its closure, so the code closes over as many names."""
    names = "".join(f"cell{k}, " for k in range(cells))
    source = f"""
def outer({names}):
    def body(*args, _choose, **kwargs):
        try:
            return _choose(args, kwargs)(*args, **kwargs)
        except Exception as error:
            _choose.hide(error)
            raise
        ({names})
    return body
"""
    code = compile(source, _PASSED_OVER, "exec")
    for _ in range(2):
        code = next(c for c in code.co_consts if isinstance(c, CodeType))
    return code


def _change(function: Any, module: str, name: str, method: bool) -> None:
    """Give `function` the body above; what it was is its ``__wrapped__``, as decorators have it."""
    with _LOCK:  # two threads may import two modules that have it
        if not isinstance(function, FunctionType) or function in _DONE:
            return
        _DONE.add(function)
        if function.__globals__["__name__"].endswith("._support_alternative_backends"):
            BEHIND[inspect.unwrap(function)] = function
        code, keywords = function.__code__, function.__kwdefaults__
        if code.co_flags & inspect.CO_GENERATOR:  # it is asked for what it is
            return
        own = FunctionType(
            code, function.__globals__, function.__name__, function.__defaults__,
            function.__closure__,
        )  # fmt: skip
        more = dict(vars(function))
        functools.update_wrapper(own, function)
        vars(own).clear()
        vars(own).update(more)
        own.__kwdefaults__ = keywords
        function.__wrapped__ = own  # type: ignore[attr-defined]
        choose = _chooser(own, function, module, name, method)
        function.__kwdefaults__ = {**(keywords or {}), "_choose": choose}
        # profiles and tracebacks tell functions apart by these names
        function.__code__ = _body(len(code.co_freevars)).replace(
            co_name=code.co_name, co_qualname=code.co_qualname
        )


def _is_refused(name: str) -> bool:
    refused: bool = importlib.import_module("funcgrad.scipy.reasons").is_refused(name)
    return refused


def _calling(own: Callable[..., Any], name: str, /, *args: Any, **kwargs: Any) -> Any:
    """SciPy's own body, where nothing is traced but perhaps what its functions close over."""
    from funcgrad.scipy.watched import watched

    return watched(own, name)(*args, **kwargs)


def _attempt(function: Callable[..., Any], name: str, /, *args: Any, **kwargs: Any) -> Any:
    """SciPy's program, over our functions: right, or an error where it leaves Python."""
    from funcgrad.scipy.programs import program  # it stands on the namespace
    from funcgrad.scipy.watched import refusal

    if _is_refused(name):
        raise refusal(name, "gets traced values")
    try:
        return program(function)(*args, **kwargs)
    except (
        TypeError, ValueError, AttributeError, LookupError, NotImplementedError, BufferError,
        SystemError,
    ) as error:  # fmt: skip
        ours = isinstance(error, FuncgradError) and not isinstance(error, TracerConversionError)
        if not ours and failed_in_scipy(error):
            told = next(iter(str(error).splitlines()), type(error).__name__)
            raise refusal(name, f"cannot compute with traced values ({told})") from error
        raise


# -------------------------------------------------------------------------------- install


class _Fourier:
    """A backend of `scipy.fft`, as SciPy's manual describes them: it takes what is traced."""

    __ua_domain__ = "numpy.scipy.fft"

    @staticmethod
    def __ua_function__(method: Any, args: Any, kwargs: Any) -> Any:
        if not running.count:
            return NotImplemented

        def scipys(*_: Any, **__: Any) -> Any:
            return NotImplemented  # the next backend is asked

        scipys.__name__ = method.__name__
        choose = _chooser(scipys, method, "scipy.fft", method.__name__, False)
        return choose(args, kwargs)(*args, **kwargs)


def _prepare(module: Any) -> None:
    """Change the public functions of a module of SciPy, and the methods of its classes."""
    name = module.__name__
    for each in module.__all__:
        _change(getattr(module, each, None), name, each, False)
    if name == "scipy.fft":
        module.register_backend(_Fourier)
    for holder, methods in METHODS.get(name, {}).items():
        classes = _class(getattr(module, holder, None)).__mro__
        for method in methods.split():  # another version of SciPy may lack it
            found = next((vars(c)[method] for c in classes if method in vars(c)), None)
            public = holder if method == "__init__" else f"{holder}.{method}"
            _change(found, name, public, True)


class Finder:
    """Finds modules of SciPy as the other finders do, and prepares them once they have run."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        if name not in LIBRARIES:
            return None
        others = (f for f in sys.meta_path if f is not Finder)
        spec = next(filter(None, (f.find_spec(name, path, target) for f in others)), None)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                run(module)
                _prepare(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def install() -> None:
    """Prepare what is imported of SciPy, and see to what will be."""
    if Finder not in sys.meta_path:  # else funcgrad is loaded anew
        sys.meta_path.insert(0, Finder)
    for name in LIBRARIES:
        if name in sys.modules:
            with contextlib.suppress(ImportError):
                module = importlib.import_module(name)  # waits where another thread imports it
                if not getattr(module.__spec__, "_initializing", False):
                    _prepare(module)
