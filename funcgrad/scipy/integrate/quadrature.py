"""Integrals of functions: SciPy's own search for the nodes, and the rule of Leibniz.

The integral of f(x, θ) from a to b has the differential f(b) db - f(a) da + (∫ ∂f/∂θ dx) dθ. The
last integral is one of the same kind, of a function with more results, so there are derivatives of
every order, in both modes. What is traced the integrand may close over, or get by `args`; it is
staged once, and SciPy calls it with numbers, also under `jit` and `vmap`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.integrate as sp

from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import Array
from funcgrad.errors import AbstractValueError, NotDifferentiableError, located
from funcgrad.numpy.function_calls import TRACED, numpy_function, refuse, state
from funcgrad.ops.arithmetic import cast, imag, isinf, logical_not, multiply, real, where
from funcgrad.ops.shape import reshape
from funcgrad.ops.sums import sum as total
from funcgrad.ops.transcendental import cos, sin
from funcgrad.transforms.api import (
    ShapeDtypeStruct,
    custom_jvp,
    eval_shape,
    jacobian,
    pure_callback,
)
from funcgrad.transforms.captures import walked
from funcgrad.transforms.closures import Converted, converted
from funcgrad.transforms.custom_call import SymbolicZero

__all__ = ["dblquad", "nquad", "quad", "quad_vec", "tplquad"]

Function = Callable[..., Any]
_POINT = ShapeDtypeStruct((), np.float64)


def _each(integrate: Function, f: Function, low: float, high: float, kind: Any) -> Any:
    """Integrals of the elements of `f`, which is asked once at each point, and the largest error.

    SciPy chooses points for each of them.
    """
    if not kind.shape:
        return integrate(f, low, high, kind.dtype.kind == "c")
    seen: dict[float, Any] = {}

    def once(x: float) -> Any:
        if x not in seen:
            seen[x] = np.asarray(f(x))
        return seen[x]

    made, errors = np.empty(kind.shape, kind.dtype), [0.0]
    for k in np.ndindex(kind.shape):
        made[k], error = integrate(lambda x, k=k: once(x)[k], low, high, kind.dtype.kind == "c")
        errors.append(abs(error))
    return made, max(errors)


def _integral(
    f: Function,
    run: Function,
    factor: Function,
    ends: Sequence[Any],
    held: Sequence[Any],
    compiled: bool = False,
) -> Any:
    """∫ f(x, *held) dx and the error, of which that has no derivative.

    Parameters
    ----------
    f : callable
        Its result is one array.
    run : callable
        ``run(f, low, high, kind)`` integrates where all is known; `kind` has shape and dtype.
    factor : callable
        ``factor(x)`` is the weight at an end.
    ends : (low, high)
    held : sequence of arrays
    compiled : bool, optional
        Whether SciPy calls a compiled `f`, which may lack NumPy's bits.
    """
    numbers = f if compiled else getattr(f, "on_numbers", f)
    kinds = [ShapeDtypeStruct(type_of(x).shape, type_of(x).dtype) for x in held]
    kind = _kind_of(f, kinds)

    @custom_jvp
    def integral(low: Any, high: Any, *xs: Any) -> Any:
        def host(low: Any, high: Any, *xs: Any) -> Any:
            made, error = run(lambda x: numbers(x, *xs), float(low), float(high), kind)
            return np.asarray(made, kind.dtype), np.float64(abs(error))

        out = kind, ShapeDtypeStruct((), np.float64)
        return pure_callback(host, out, low, high, *xs, vmap_method="sequential")

    def rule(given: Any, moved: Any) -> Any:
        found, xs = integral(*given), given[2:]
        tangent: Any = np.zeros(kind.shape, kind.dtype)
        for x, t, sign in zip(given[:2], moved[:2], (-1.0, 1.0), strict=True):
            if not isinstance(t, SymbolicZero):
                tangent = tangent + multiply(_at_end(f, factor, x, xs), sign * t)
        for k, t in enumerate(moved[2:]):
            if not isinstance(t, SymbolicZero):
                tangent = tangent + _moved(f, run, factor, given, kinds, k, t)
        return found, (cast(tangent, kind.dtype), np.zeros(()))

    integral.defjvp(rule, symbolic_zeros=True)
    return integral(*ends, *held)


def _kind_of(f: Function, kinds: Sequence[Any]) -> Any:
    """What `f` gives; a number where it closes over nothing that is traced."""
    if not isinstance(f, Converted):
        return _POINT
    found = eval_shape(f, _POINT, *kinds)
    return ShapeDtypeStruct(found.shape, np.result_type(found.dtype, np.float64))


def _at_end(f: Function, factor: Function, x: Any, xs: Any) -> Any:
    """The integrand at an end, and 0 at an infinite one."""
    finite = logical_not(isinf(x))
    there = where(finite, x, 0.0)
    return where(finite, multiply(f(there, *xs), factor(there)), 0.0)


def _moved(
    f: Function, run: Function, factor: Function, given: Any, kinds: Any, k: int, t: Any
) -> Array:
    """How the integral moves with operand `k`, which is real."""
    kind = kinds[k]
    slope, none = converted(jacobian(f, 1 + k), (_POINT, *kinds))
    assert not none
    rows, _ = _integral(slope, run, factor, given[:2], given[2:], compiled=True)
    shape = type_of(rows).shape
    spread = reshape(t, (1,) * (len(shape) - len(kind.shape)) + kind.shape)
    axes = tuple(range(len(shape) - len(kind.shape), len(shape)))
    out: Array = total(multiply(rows, spread), axes)
    return out


def _weight(weight: str | None, wvar: Any) -> Function:
    """The weight of SciPy's that stands at the ends of the integral."""
    if weight is None:
        return lambda x: 1.0
    if weight == "cos":
        return lambda x: cos(wvar * x)
    if weight == "sin":
        return lambda x: sin(wvar * x)

    def none(x: Any) -> Any:
        raise NotDifferentiableError(
            located(
                f"scipy.integrate.quad with {weight=} has no derivative here by its limits; pass "
                "funcgrad.value of them if they are constants"
            )
        )

    return none


def _reached(func: Any, args: tuple[Any, ...]) -> tuple[Function, list[Any]]:
    """`func` of a point, with `args`, and the traced values that it closes over."""

    def at(x: Any, *_: Any) -> Any:
        return func(x, *args)

    if not walked(func).traced and state(args) != TRACED:
        return at, []
    try:
        return _of_parts(*converted(at, (_POINT,)))
    except AbstractValueError as error:
        told = next(iter(str(error).splitlines()))
        raise AbstractValueError(
            located(
                f"{told} (scipy.integrate.quad differentiates an integrand without knowing at "
                "which points SciPy will call it: choose with np.where, or integrate the pieces "
                "one by one)"
            )
        ) from error


def _of_parts(f: Converted, held: Sequence[Any]) -> tuple[Function, list[Any]]:
    """`f` as a function of the real and the imaginary parts of what it closes over."""
    kinds = [type_of(x) for x in held]
    if all(kind.dtype.kind != "c" for kind in kinds):
        return f, list(held)

    def whole(x: Any, *parts: Any) -> Any:
        left = iter(parts)
        joined = [
            next(left) + 1j * next(left) if kind.dtype.kind == "c" else next(left) for kind in kinds
        ]
        return f(x, *joined)

    parts = [p for x, kind in zip(held, kinds, strict=True) for p in _parts(x, kind)]
    structs = [ShapeDtypeStruct(type_of(p).shape, type_of(p).dtype) for p in parts]
    made, _ = converted(whole, (_POINT, *structs))
    return made, parts


def _parts(x: Any, kind: Any) -> tuple[Any, ...]:
    return (real(x), imag(x)) if kind.dtype.kind == "c" else (x,)


def _is_plain(func: Any, args: tuple[Any, ...], *others: Any) -> bool:
    return state((*args, *others)) != TRACED and not walked(func).traced


@numpy_function(sp.quad, calls=True)
def quad(
    func: Function,
    a: Any,
    b: Any,
    args: Any = (),
    full_output: int = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
    weight: str | None = None,
    wvar: Any = None,
    wopts: Any = None,
    maxp1: int = 50,
    limlst: int = 50,
    complex_func: bool = False,
) -> Any:
    """The integral of a function from `a` to `b`, and an estimate of its error.

    Parameters
    ----------
    func : callable
        ``func(x, *args)``; it may close over traced values. Where it does it is traced once,
        without knowing `x`, so it chooses with ``np.where``.
    a, b : float
        Differentiable, as what `func` closes over and `args`, to every order and in both modes. An
        infinite limit has the derivative 0.
    args : tuple
    full_output : int, optional
        Not supported on traced values.
    weight : str, optional
        With "alg", "alg-loga", "alg-logb", "alg-log" or "cauchy" there is no derivative by the
        limits.

    Notes
    -----
    The derivative by a parameter is SciPy's integral of the derivative, for each element of it.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.integrate
    >>> import funcgrad as fg
    >>> f = lambda a: scipy.integrate.quad(lambda x: np.exp(-a * x), 0.0, np.inf)[0]
    >>> fg.grad(f)(2.0).round(9)
    np.float64(-0.25)
    """
    args = args if isinstance(args, tuple) else (args,)
    options = {
        "epsabs": epsabs, "epsrel": epsrel, "limit": limit, "points": points, "weight": weight,
        "wvar": wvar, "wopts": wopts, "maxp1": maxp1, "limlst": limlst,
    }  # fmt: skip
    if _is_plain(func, args, a, b):
        own = sp.quad.__wrapped__
        return own(func, a, b, args, full_output, **options, complex_func=complex_func)
    refuse("scipy.integrate.quad", full_output=full_output or None)
    return _of_numbers(func, a, b, args, options)


_INNER = threading.local()
"""The errors of integrals within one whose integrand they are, while it is computed."""


def _of_numbers(
    func: Function,
    a: Any,
    b: Any,
    args: tuple[Any, ...],
    options: dict[str, Any],
    outer: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """`quad` of traced values; the error of an `outer` one is the largest of those within."""
    own = sp.quad.__wrapped__
    f, held = _reached(func, args)

    def one(f: Function, low: float, high: float, complex_: bool) -> Any:
        return own(f, low, high, **options, complex_func=complex_)

    def run(f: Function, low: float, high: float, kind: Any) -> Any:
        before = getattr(_INNER, "errors", None)
        if outer:
            _INNER.errors = []
        try:
            made, error = _each(one, f, low, high, kind)
            if outer:
                error = max(abs(error), *_INNER.errors, 0.0)
        finally:
            _INNER.errors = before
        if before is not None:
            before.append(abs(error))
        return made, error

    weight = _weight(options.get("weight"), options.get("wvar"))
    made, error = _integral(f, run, weight, (operand(a), operand(b)), held)
    return made, error


@numpy_function(sp.quad_vec, calls=True)
def quad_vec(
    f: Function,
    a: Any,
    b: Any,
    epsabs: float = 1e-200,
    epsrel: float = 1e-8,
    norm: Any = "2",
    cache_size: float = 100e6,
    limit: float = 10000,
    workers: Any = 1,
    points: Any = None,
    quadrature: str | None = None,
    full_output: bool = False,
    *,
    args: tuple[Any, ...] = (),
) -> Any:
    """The integral of a function whose result is an array, and an estimate of its error.

    As `quad`, whose notes hold here too; what is integrated for a derivative has one norm.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.integrate
    >>> import funcgrad as fg
    >>> rates = np.array([1.0, 2.0])
    >>> f = lambda a: scipy.integrate.quad_vec(lambda x: np.exp(-a * x * rates), 0.0, np.inf)[0]
    >>> fg.jacobian(f)(2.0).round(9)
    array([-0.25 , -0.125])
    """
    options = {
        "epsabs": epsabs, "epsrel": epsrel, "norm": norm, "cache_size": cache_size,
        "limit": limit, "workers": workers, "points": points, "quadrature": quadrature,
    }  # fmt: skip
    own = sp.quad_vec.__wrapped__
    if _is_plain(f, args, a, b):
        return own(f, a, b, **options, full_output=full_output, args=args)
    refuse("scipy.integrate.quad_vec", full_output=full_output or None)
    made, held = _of_parts(*converted(lambda x: f(x, *args), (_POINT,)))

    def run(f: Function, low: float, high: float, kind: Any) -> Any:
        return own(f, low, high, **options)

    return tuple(_integral(made, run, _weight(None, None), (operand(a), operand(b)), held))


# ------------------------------------------------------------------------- of several variables


def _always(x: Any) -> Function:
    return x if callable(x) else lambda *_: x


def _nested(
    func: Function, ranges: Sequence[Function], opts: Sequence[Function], args: tuple[Any, ...]
) -> tuple[Any, Any]:
    """The integral over the last range of those over the others, as SciPy nests them."""
    *inner_ranges, limits = ranges
    *inner_opts, opt = opts
    low, high = limits(*args)
    options = dict(opt(*args))
    if "points" in options:
        if state((low, high)) == TRACED:
            refuse("scipy.integrate.nquad", points=options["points"])
        options["points"] = [x for x in options["points"] if low <= x <= high]
    inner = func
    if inner_ranges:

        def inner(*xs: Any) -> Any:
            return _nested(func, inner_ranges, inner_opts, xs)[0]

    return _of_numbers(inner, low, high, args, options, outer=bool(inner_ranges))


def _closed_over_nothing(*parts: Any) -> bool:
    return all(
        not walked(p).traced
        if callable(p)
        else _closed_over_nothing(*p)
        if isinstance(p, (list, tuple))
        else state(p) != TRACED
        for p in parts
    )


@numpy_function(sp.nquad, calls=True)
def nquad(
    func: Function, ranges: Any, args: Any = None, opts: Any = None, full_output: bool = False
) -> Any:
    """The integral of a function of several variables, and an estimate of its error.

    Parameters
    ----------
    func : callable
        ``func(x0, …, xn, *args)``, as in `quad`.
    ranges : sequence of (low, high) or of callables
        ``ranges[0](x1, …, xn, *args)`` gives the limits of x0; differentiable.
    args : tuple, optional
    opts : dict, callable, or sequence of them, optional
        Options of `quad`, for all or for each variable; `points` only between known limits.
    full_output : bool, optional
        Not supported on traced values.

    Notes
    -----
    It is `quad` of `quad`, and has its derivatives; the value is SciPy's.

    Examples
    --------
    >>> import scipy.integrate
    >>> import funcgrad as fg
    >>> triangle = lambda a: scipy.integrate.nquad(
    ...     lambda y, x: x * y, [lambda x: (0.0, x), (0.0, a)])[0]
    >>> fg.grad(triangle)(2.0).round(9)  # a**4 / 8
    np.float64(4.0)
    """
    given = () if args is None else args if isinstance(args, tuple) else (args,)
    options = [] if opts is None else list(opts.values()) if isinstance(opts, dict) else opts
    if _closed_over_nothing(func, list(ranges), given, [o for o in options if callable(o)]):
        own = sp.nquad.__wrapped__
        return own(func, ranges, args, opts, full_output)
    refuse("scipy.integrate.nquad", full_output=full_output or None)
    each = list(opts) if isinstance(opts, (list, tuple)) else [opts or {}] * len(ranges)
    return _nested(func, list(map(_always, ranges)), list(map(_always, each)), given)


@numpy_function(sp.dblquad, calls=True)
def dblquad(
    func: Function, a: Any, b: Any, gfun: Any, hfun: Any, args: Any = (),
    epsabs: float = 1.49e-8, epsrel: float = 1.49e-8,
) -> Any:  # fmt: skip
    """The integral of ``func(y, x)`` over x from `a` to `b` and y from `gfun` to `hfun` of x.

    As `nquad`.

    Examples
    --------
    >>> import scipy.integrate
    >>> import funcgrad as fg
    >>> f = lambda a: scipy.integrate.dblquad(lambda y, x: a * x * y, 0.0, 1.0, 0.0, 2.0)[0]
    >>> fg.grad(f)(3.0).round(9)
    np.float64(1.0)
    """
    low, high = _always(gfun), _always(hfun)

    def inner(x: Any, *_: Any) -> Any:
        return low(x), high(x)

    return nquad(
        func, [inner, [a, b]], args=args, opts={"epsabs": epsabs, "epsrel": epsrel}
    )  # fmt: skip


@numpy_function(sp.tplquad, calls=True)
def tplquad(
    func: Function, a: Any, b: Any, gfun: Any, hfun: Any, qfun: Any, rfun: Any, args: Any = (),
    epsabs: float = 1.49e-8, epsrel: float = 1.49e-8,
) -> Any:  # fmt: skip
    """The integral of ``func(z, y, x)``; z runs from ``qfun(x, y)`` to ``rfun(x, y)``.

    As `dblquad`, and `nquad`.
    """
    (low, high), (lower, upper) = (
        (_always(f) for f in pair) for pair in ((gfun, hfun), (qfun, rfun))
    )

    def of_y(x: Any, *_: Any) -> Any:
        return low(x), high(x)

    def of_z(y: Any, x: Any, *_: Any) -> Any:
        return lower(x, y), upper(x, y)

    return nquad(
        func, [of_z, of_y, [a, b]], args=args, opts={"epsabs": epsabs, "epsrel": epsrel}
    )  # fmt: skip
