"""Some of the eigenvalues of a symmetric matrix, or of a pencil, as LAPACK's drivers find them.

The values are SciPy's for the subset and the driver. What moves them is read off all eigenvectors,
for those that are asked for turn towards the others.
"""

from __future__ import annotations

from typing import Any

import scipy.linalg as sp

from funcgrad.core.forms import Explicit, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops import equal_values, factor
from funcgrad.ops.arithmetic import (
    add,
    conjugate,
    less_equal,
    logical_and,
    multiply,
    negative,
    real,
    subtract,
)
from funcgrad.ops.index import getitem, selected
from funcgrad.ops.matrices import adjoint, column, definite, row
from funcgrad.ops.product import matmul
from funcgrad.ops.sums import sum as total
from funcgrad.scipy.linalg.define import by_lanes, lapack_lies, sized

__all__ = ["some_of"]

Range = tuple[int, int]  # the first and the last of the values in order, as SciPy takes them


def _options(n: int, lower: bool, subset: Range, driver: str | None, by: Any = None) -> Any:
    options: dict[str, Any] = {"lower": lower, "driver": driver}
    if by is not None:
        return {**options, "subset_by_value": by}
    return options if subset == (0, n - 1) else {**options, "subset_by_index": list(subset)}


def _value(*xs: Any, **params: Any) -> Any:
    return tuple(sp.eigh(*xs, **_options(xs[0].shape[-1], **params)))


def _values_alone(*xs: Any, **params: Any) -> Any:
    return sp.eigvalsh(*xs, **_options(xs[0].shape[-1], **params))


def _types(a: ArrayType, *_: ArrayType, subset: Range, **params: Any) -> Any:
    w, v = factor.EIGH.type_rule((a,), {})
    size = subset[1] - subset[0] + 1
    return ArrayType((*a.shape[:-2], size), w.dtype), ArrayType((*a.shape[:-1], size), v.dtype)


def _moved(y: Any, ts: Any) -> tuple[Array, Array | None]:
    """a' v - w b' v, and b' v if `b` moves."""
    w, v = y
    a, *more = (None if t is None else matmul(_symmetric(t), v) for t in ts)
    b = more[0] if more else None
    if b is None:
        assert a is not None
        return a, None
    less = negative(multiply(b, row(w)))
    return less if a is None else add(a, less), b


def _symmetric(t: Array) -> Array:
    return multiply(0.5, add(t, adjoint(t)))


def _along(v: Array, t: Array) -> Array:
    """vᴴ t of each vector."""
    return total(multiply(conjugate(v), t), -2)


def _jvp(y: Any, xs: Any, ts: Any, *, subset: Range, lower: bool, **params: Any) -> Any:
    """Of a v = w b v: w' = vᴴ(a' - w b')v; v' = U c with c_i = u_iᴴ(a' - w b')v / (w - w_i).

    Along v itself it is -vᴴb'v / 2, for the length.
    """
    _, v = y
    w, u = (PENCIL if len(xs) > 1 else EIGH)(xs, lower)
    t, moved_b = _moved(y, ts)
    gaps = equal_values.apart(subtract(row(w), column(w)), w)
    some = getitem(gaps, (..., slice(subset[0], subset[1] + 1)))
    turned = matmul(u, multiply(some, matmul(adjoint(u), t)))
    if moved_b is not None:
        turned = add(turned, multiply(v, row(multiply(-0.5, _along(v, moved_b)))))
    return real(_along(v, t)), turned


def EIGH(xs: Any, lower: bool) -> Any:
    return bind(factor.EIGH, xs, {} if lower else {"uplo": "U"})


def PENCIL(xs: Any, lower: bool) -> Any:
    from funcgrad.scipy.linalg.eigen import PENCIL as record

    return bind(record, xs, {"lower": lower})


def _values_jvp(_: Any, xs: Any, ts: Any, **params: Any) -> Array:
    y = bind(SOME, xs, params)
    return real(_along(y[1], _moved(y, ts)[0]))


def _samples() -> list[Sample]:
    options: dict[str, Any] = {"lower": True, "subset": (1, 2), "driver": None}
    one = [Sample((definite(),), options), Sample((definite(2, n=3),), options)]
    pencil = Sample((definite(), definite(seed=3)), {**options, "lower": False, "subset": (0, 1)})
    return [s._replace(smooth=False) for s in (*one, pencil)]  # signs of vectors may turn


SOME: Explicit = explicit(
    "scipy_eigh_some",
    sized(lambda: SOME, _value),
    type_rule=_types,
    jvp=_jvp,
    batch=lambda *given: by_lanes(SOME, *given),
    multiple=True,
    sample=_samples,
)
SOME_VALUES: Explicit = explicit(
    "scipy_eigvalsh_some",
    sized(lambda: SOME_VALUES, _values_alone),
    type_rule=lambda *types, **params: _types(*types, **params)[0],
    jvp=_values_jvp,
    batch=lambda *given: by_lanes(SOME_VALUES, *given),
    sample=lambda: [s._replace(smooth=True) for s in _samples()],
)
for _prim in (SOME, SOME_VALUES):
    _prim.symmetric = True  # type: ignore[attr-defined]
    _prim.lies = lapack_lies


def some_of(
    xs: tuple[Array, ...], lower: bool, values: bool, index: Any, by: Any, driver: Any
) -> Any:
    """What `eigh` gives for a subset or a driver."""
    n = type_of(xs[0]).shape[-1]
    params: dict[str, Any] = {"lower": lower, "driver": driver}
    if by is not None:
        low, high = map(float, by)
        w = EIGH(xs, lower)[0] if len(xs) == 1 else PENCIL(xs, lower)[0]
        what = "the number of eigenvalues in an interval"
        start = selected(less_equal(w, low), what)
        end = selected(logical_and(less_equal(w, high), less_equal(low, high)), what)
        params |= {"subset": (start, end - 1), "by": (low, high)}
    else:
        first, last = (0, n - 1) if index is None else map(int, index)
        params["subset"] = (first, last)
    found = bind(SOME_VALUES if values else SOME, xs, params)
    return found if values else tuple(found)
