"""How calls of SciPy's own functions on traced values reach the definitions of `funcgrad.scipy`.

SciPy's ufuncs hand traced operands over by NEP 13. Its other functions ask nobody: they convert
their arguments. So when SciPy's modules are imported, their public functions, and the methods of
`METHODS`, are wrapped: while a transform runs, the wrapper looks whether an argument is traced, and
calls our definition, which is imported then. In all other calls it is SciPy's function that runs,
with the caller's own arguments. This file imports nothing of SciPy.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from funcgrad.core.storage import boxed
from funcgrad.core.tracer import running
from funcgrad.errors import FuncgradError, UnsupportedCallError, failed_in_scipy, located
from funcgrad.numpy.calls import BOXED, FUNCTIONS, RAW, TRACED, state, unbox
from funcgrad.numpy.ufuncs import LIBRARIES

__all__ = ["METHODS", "install", "scipy_method"]

F = TypeVar("F", bound=Callable[..., Any])

_PIECES = "__init__ __call__ derivative antiderivative integrate"
_PRODUCTS = "__matmul__ __rmatmul__ __mul__ __rmul__ multiply dot"
_SPARSE = ("bsr", "coo", "csc", "csr", "dia")

METHODS: dict[str, dict[str, str]] = {
    "scipy.interpolate": {
        "PPoly": _PIECES,
        "BSpline": _PIECES,
        "CubicHermiteSpline": "__init__",
        "CubicSpline": "__init__",
        "PchipInterpolator": "__init__",
        "Akima1DInterpolator": "__init__",
        "RegularGridInterpolator": "__init__ __call__",
        "interp1d": "__init__ __call__",
    },
    "scipy.sparse": {
        **{f"{kind}_array": f"__init__ {_PRODUCTS}" for kind in _SPARSE},
        **{f"{kind}_matrix": _PRODUCTS for kind in _SPARSE},
    },
    "scipy.stats": {
        "rv_continuous": "pdf logpdf cdf logcdf sf logsf ppf isf",
        "rv_discrete": "pmf logpmf cdf logcdf sf logsf ppf isf",
        "norm": "mean var std median entropy",
        "multivariate_normal": "pdf logpdf __call__",
        "multivariate_t": "pdf logpdf __call__",
        "dirichlet": "pdf logpdf __call__",
        "wishart": "pdf logpdf __call__",
        "multinomial": "pmf logpmf __call__",
    },
}
"""Module of SciPy -> a class in it, or an object of that class -> the methods that are wrapped.

Of a method the attributes of its object count as arguments.
"""

_WRAPPERS: set[Any] = set()


def scipy_method(holder: Any, name: str) -> Callable[[F], F]:
    """State what a method that is in `METHODS` does where an argument or attribute is traced."""

    def decorate(define: F) -> F:
        FUNCTIONS[inspect.getattr_static(_class(holder), name)] = define
        return define

    return decorate


def _class(holder: Any) -> Any:
    return holder if isinstance(holder, type) else type(holder)


def _wrapped(function: Callable[..., Any], module: str, method: bool) -> Callable[..., Any]:
    """`function`, which our definition replaces where a traced value meets it."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not running.count:
            return function(*args, **kwargs)
        found = max(state(args), state(tuple(kwargs.values())))
        if method and found != TRACED:
            found = max(found, state(tuple(getattr(args[0], "__dict__", {}).values())))
        if found == RAW:
            return function(*args, **kwargs)
        importlib.import_module(LIBRARIES[module])
        ours = FUNCTIONS.get(call)
        if ours is not None:
            return ours(*args, **kwargs)
        if found == BOXED and not method:
            return boxed(function(*map(unbox, args), **{k: unbox(v) for k, v in kwargs.items()}))
        return _attempt(function, f"{module}.{function.__name__}", args, kwargs)

    if not method:
        call.__module__ = module  # where pickle finds it
    _WRAPPERS.add(call)
    return call


def _attempt(function: Callable[..., Any], name: str, args: Any, kwargs: Any) -> Any:
    """What SciPy makes of the object arrays that it makes of traced values: right, or an error."""
    try:
        return function(*args, **kwargs)
    except (TypeError, ValueError, AttributeError) as error:
        if not isinstance(error, FuncgradError) and failed_in_scipy(error):
            raise UnsupportedCallError(
                located(
                    f"{name} cannot compute with traced values ({error}), and "
                    f"{LIBRARIES[name.rpartition('.')[0]]} has no derivative of it; write it with "
                    "functions that have one, state a rule with funcgrad.custom_vjp, or apply it "
                    "to funcgrad.value(x) if it is a constant"
                )
            ) from error
        raise


# -------------------------------------------------------------------------------- install


def _wrap(module: Any) -> None:
    """Wrap the public functions of a module of SciPy, and the methods of its classes."""
    name = module.__name__
    for each in module.__all__:
        function = getattr(module, each)
        if inspect.isroutine(function) or type(function).__module__ == "uarray":
            setattr(module, each, _wrapped(function, name, False))
    for holder, methods in METHODS.get(name, {}).items():
        for method in methods.split():
            cls = next(c for c in _class(getattr(module, holder)).__mro__ if method in vars(c))
            function = vars(cls)[method]
            if function not in _WRAPPERS:
                setattr(cls, method, _wrapped(function, name, True))


class Finder:
    """Finds modules of SciPy as the other finders do, and has them wrapped once they have run."""

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
                _wrap(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def install() -> None:
    """Wrap what is imported of SciPy, and see to what will be."""
    for name in LIBRARIES:
        module = sys.modules.get(name)
        if module is not None and not getattr(module.__spec__, "_initializing", False):
            _wrap(module)
    sys.meta_path.insert(0, Finder)
