"""SciPy's own classes made of traced values, or called on them: they hold, or become, ours."""

from __future__ import annotations

import sys
from typing import Any

import scipy.interpolate as sp

from funcgrad.errors import UnsupportedCallError, located
from funcgrad.numpy.function_calls import FUNCTIONS
from funcgrad.scipy.dispatch import scipy_method
from funcgrad.scipy.interpolate import cubics, grids, pieces, splines
from funcgrad.scipy.programs import program

__all__: list[str] = []


def _same(x: Any) -> Any:
    return x


def _hold(owner: Any, made: Any, arrays: str, plain: str) -> None:
    """Let SciPy's object hold what ours does, wherever its version of SciPy keeps it."""
    if isinstance(getattr(type(owner), "extrapolate", None), property):  # SciPy 1.18 delegates
        owner._delegate_to = made
        owner._xp = owner._xp_internal = sys.modules["funcgrad.numpy"]
        return
    for name in arrays:  # private behind properties since SciPy 1.17
        private = isinstance(getattr(type(owner), name, None), property)
        setattr(owner, f"_{name}" if private else name, getattr(made, name))
    for name in plain.split():
        setattr(owner, name, getattr(made, name))
    owner._asarray = _same


# ---------------------------------------------------------------------------------- in pieces


def _held_pieces(owner: Any) -> pieces.PPoly:
    if not isinstance(owner, sp.PPoly):
        raise _unsupported(type(owner).__name__)
    found: pieces.PPoly = pieces.PPoly.construct_fast(
        owner.c, owner.x, owner.extrapolate, owner.axis
    )
    return found


def _unsupported(name: str) -> UnsupportedCallError:
    return UnsupportedCallError(
        located(
            f"scipy.interpolate.{name} is not supported on traced values; "
            "funcgrad.scipy.interpolate lists the classes that are"
        )
    )


def _take_pieces(theirs: Any, ours: Any) -> None:
    """Let objects of SciPy's class be made by ours where they are made of traced values."""

    @scipy_method(theirs, "__init__")
    def init(owner: Any, *args: Any, **keywords: Any) -> None:
        if theirs is sp.PPoly and not isinstance(owner, sp.PPoly):
            raise _unsupported(type(owner).__name__)
        made = ours(*args, **keywords)
        _hold(owner, made, "cx", "extrapolate axis")
        owner._traced = made.c, made.x  # by which later calls of methods see them


@scipy_method(sp.BPoly, "__init__")
def _init_bernstein(owner: Any, *_: Any, **__: Any) -> None:
    raise _unsupported(type(owner).__name__)


_take_pieces(sp.PPoly, pieces.PPoly)  # SciPy before 1.18 has one method for both
for _name in (
    "CubicHermiteSpline",
    "PchipInterpolator",
    "Akima1DInterpolator",
    "CubicSpline",
):
    _take_pieces(getattr(sp, _name), getattr(cubics, _name))


@scipy_method(sp.PPoly, "__call__")
def _call_pieces(owner: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    return _held_pieces(owner)(x, nu, extrapolate)


@scipy_method(sp.PPoly, "derivative")
def _derivative(owner: Any, nu: int = 1) -> Any:
    return _held_pieces(owner).derivative(nu)


@scipy_method(sp.PPoly, "antiderivative")
def _antiderivative(owner: Any, nu: int = 1) -> Any:
    return _held_pieces(owner).antiderivative(nu)


@scipy_method(sp.PPoly, "integrate")
def _integrate(owner: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    return _held_pieces(owner).integrate(a, b, extrapolate)


# ---------------------------------------------------------------------------------- B-splines


def _held_spline(owner: Any) -> splines.BSpline:
    return splines.BSpline.construct_fast(owner.t, owner.c, owner.k, owner.extrapolate, owner.axis)


@scipy_method(sp.BSpline, "__init__")
def _init_spline(owner: Any, *args: Any, **keywords: Any) -> None:
    made = splines.BSpline(*args, **keywords)
    _hold(owner, made, "tc", "k extrapolate axis")


@scipy_method(sp.BSpline, "__call__")
def _call_spline(owner: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    return _held_spline(owner)(x, nu, extrapolate)


@scipy_method(sp.BSpline, "derivative")
def _spline_derivative(owner: Any, nu: int = 1) -> Any:
    return _held_spline(owner).derivative(nu)


@scipy_method(sp.BSpline, "antiderivative")
def _spline_antiderivative(owner: Any, nu: int = 1) -> Any:
    return _held_spline(owner).antiderivative(nu)


@scipy_method(sp.BSpline, "integrate")
def _spline_integrate(owner: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    return _held_spline(owner).integrate(a, b, extrapolate)


# ------------------------------------------------------------------------------ grids and lines


@scipy_method(sp.RegularGridInterpolator, "__init__")
def _init_grid(owner: Any, *args: Any, **keywords: Any) -> None:
    made = grids.RegularGridInterpolator(*args, **keywords)
    owner._held, owner._traced = made, (made.values, *made.grid)


@scipy_method(sp.RegularGridInterpolator, "__call__")
def _call_grid(owner: Any, xi: Any, method: Any = None, *, nu: Any = None) -> Any:
    if nu is not None:
        raise UnsupportedCallError(
            located(
                "scipy.interpolate.RegularGridInterpolator: nu= is not supported on traced values"
            )
        )
    held = owner.__dict__.get("_held")
    if held is None:
        held = grids.RegularGridInterpolator(
            owner.grid, owner.values, owner.method, owner.bounds_error, owner.fill_value
        )
    return held(xi, method)


@scipy_method(sp.interp1d, "__init__")
def _init_line(owner: Any, *args: Any, **keywords: Any) -> None:
    made = grids.interp1d(*args, **keywords)
    owner._held, owner._traced = made, (made.x, made.y)


@scipy_method(sp.interp1d, "__call__")
def _call_line(owner: Any, x: Any) -> Any:
    if not isinstance(owner, sp.interp1d):  # a class that SciPy derives from the same one
        return _LINE(owner, x)
    held = owner.__dict__.get("_held")
    if held is None:
        kind = owner._spline.k if owner._kind == "spline" else owner._kind
        fill = "extrapolate" if owner._extrapolate else owner.fill_value
        held = grids.interp1d(
            owner.x, owner.y, kind, owner.axis, bounds_error=owner.bounds_error, fill_value=fill
        )
    return held(x)


_LINE = program(sp.interp1d.__call__.__wrapped__)

FUNCTIONS[sp.make_interp_spline] = splines.make_interp_spline
FUNCTIONS[sp.pchip_interpolate] = cubics.pchip_interpolate
FUNCTIONS[sp.interpn] = grids.interpn
