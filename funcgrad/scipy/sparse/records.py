"""Products with sparse matrices, and solutions of equations, as functions of the elements.

A product is linear in the elements and in the vectors. The cotangent of an element is that of its
row times its column: no dense matrix arises. Solutions are differentiated implicitly, by one more
solution with the transpose (Giles 2008, §2.3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from funcgrad.core.forms import Explicit, Multilinear, each_lane, explicit, multilinear
from funcgrad.core.primitive import Params, Sample
from funcgrad.core.tracer import bind, type_of
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import ConvergenceError, located
from funcgrad.ops.arithmetic import cast, multiply, negative
from funcgrad.ops.index import gather
from funcgrad.ops.samples import draw
from funcgrad.ops.shape import moveaxis, reshape
from funcgrad.ops.sums import sum as total
from funcgrad.scipy.sparse.pattern import Pattern

__all__ = ["Fixed", "product", "solve", "solve_iteratively"]

# --------------------------------------------------------------------------------- products


def _pairs(g: Array, x: Array, pattern: Pattern, kind: ArrayType) -> Array:
    """For each element the product of its row of `g` and its column of `x`."""
    each = multiply(gather(g, pattern.rows), gather(x, pattern.indices.astype(np.int64)))
    return cast(total(each, 1) if type_of(each).ndim > 1 else each, kind.dtype)


def _transposed(data: Array, pattern: Pattern) -> tuple[Array, Pattern]:
    turned, order = pattern.transposed
    return gather(data, order), turned


def _columns_in_front(run: Any) -> Any:
    """Batching: further examples of `x` are further columns."""

    def batch(size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        data, x = xs
        if batched[0] or not size:
            return each_lane(run(), size, xs, batched, params)
        shape = type_of(x).shape
        wide = reshape(moveaxis(x, 0, len(shape) - 1), (shape[1], -1 if 0 not in shape else 0))
        y = bind(run(), (data, wide), params)
        return moveaxis(reshape(y, (type_of(y).shape[0], *shape[2:], size)), len(shape) - 1, 0)

    return batch


def _product_type(data: ArrayType, x: ArrayType, *, pattern: Pattern) -> ArrayType:
    return ArrayType((pattern.shape[0], *x.shape[1:]), np.result_type(data.dtype, x.dtype))


def _product_x(g: Array, data: Any, x: Any, *, pattern: Pattern) -> Array:
    turned = _transposed(data, pattern)
    return cast(bind(PRODUCT, (turned[0], g), {"pattern": turned[1]}), x.dtype)


def _pattern() -> Pattern:
    m = sp.csr_array(np.array([[4.0, 1, 0, 0], [0, 3, 0, 1], [1, 0, 5, 0], [0, 2, 0, 6]]))
    return Pattern(m.indices, m.indptr, (4, 4))


def _values(seed: int = 0) -> Any:
    found = draw((8,), 0.2, 1.0, seed)
    found[[0, 2, 5, 7]] += 3.0  # the diagonal
    return found


PRODUCT: Multilinear = multilinear(
    "sparse_product",
    lambda data, x, pattern: pattern.matrix(data) @ x,
    (
        lambda g, data, x, *, pattern: _pairs(g, x, pattern, data),
        _product_x,
    ),
    _product_type,
    _columns_in_front(lambda: PRODUCT),
    sample=lambda: [
        Sample((_values(), draw((4,))), {"pattern": _pattern()}),
        Sample((_values() + 1j, draw((4, 3))), {"pattern": _pattern()}),
        Sample((draw((3,)), draw((2, 2))), {"pattern": Pattern([1, 0, 1], [0, 1, 1, 3], (3, 2))}),
    ],
)


def product(data: Array, x: Array, pattern: Pattern) -> Array:
    """The matrix of a pattern, with these values, times a vector or a matrix."""
    return bind(PRODUCT, (data, x), {"pattern": pattern})


# ---------------------------------------------------------------------------- direct solutions


def _solve(data: Any, b: Any, pattern: Pattern, spec: str | None, by: str) -> Any:
    kind = sp.csr_array if by == "rows" else sp.csc_array  # each has bits of its own
    found = spl.spsolve(pattern.matrix(data, kind), b, spec)
    return found.reshape(b.shape)  # SciPy makes a vector of a single column


def _solve_vjp(g: Any, x: Any, data: Any, b: Any, *, needs: Any, **params: Any) -> list[Any]:
    pattern = params.pop("pattern")
    values, turned = _transposed(data, pattern)
    w = bind(SOLVE, (values, g), {"pattern": turned, **params})
    of_data = negative(_pairs(w, x, pattern, type_of(data))) if needs[0] else None
    return [of_data, cast(w, type_of(b).dtype) if needs[1] else None]


SOLVE: Explicit = explicit(
    "sparse_solve",
    _solve,
    type_rule=lambda data, b, **_: ArrayType(b.shape, np.result_type(data.dtype, b.dtype)),
    vjp=_solve_vjp,
    batch=_columns_in_front(lambda: SOLVE),
    linear_in=(1,),
    sample=lambda: [
        Sample((_values(), draw((4,))), {"pattern": _pattern(), "spec": None, "by": "rows"}),
        Sample(
            (_values(), draw((4, 2))), {"pattern": _pattern(), "spec": "NATURAL", "by": "columns"}
        ),
        Sample((_values(), draw((4, 1))), {"pattern": _pattern(), "spec": None, "by": "rows"}),
        Sample(
            (_values() + 0.5j, draw((4,)) + 0j), {"pattern": _pattern(), "spec": None, "by": "rows"}
        ),
    ],
)


def solve(
    data: Array, b: Array, pattern: Pattern, permc_spec: str | None = None, by: str = "rows"
) -> Array:
    """The solution of the equations with that matrix, factorised by rows or by columns."""
    dtype = np.result_type(type_of(data).dtype, type_of(b).dtype)
    params = {"pattern": pattern, "spec": permc_spec, "by": by}
    return bind(SOLVE, (cast(data, dtype), cast(b, dtype)), params)


# ------------------------------------------------------------------------- iterative solutions

Options = tuple[tuple[str, Any], ...]


_COMMON = ("M", "atol", "maxiter", "rtol")  # what all iterations are told


_FRAGILE = ("bicg", "bicgstab", "cgs")  # they break down for some right-hand sides


class Fixed:
    """Something constant that is told from others by identity: a start, a preconditioner."""

    def __init__(self, held: Any) -> None:
        self.held = held


def _iterate(
    data: Any, b: Any, pattern: Pattern | None, method: str, options: Options, checked: bool
) -> Any:
    """SciPy's iteration; where `checked`, in derivatives, it has to converge."""
    matrix = data if pattern is None else pattern.matrix(data)
    given = {k: v.held if isinstance(v, Fixed) else v for k, v in options}
    x, info = getattr(spl, method)(matrix, b, **given)
    if checked and info and method in _FRAGILE:
        x, info = spl.gmres(matrix, b, **{k: v for k, v in given.items() if k in _COMMON})
    if checked and info:
        raise ConvergenceError(
            located(
                f"the derivative of a solution by {method} needs one with the transpose of the "
                f"matrix, which has not converged (info={info}); give a larger tolerance or "
                "maxiter, or solve directly (spsolve)"
            )
        )
    return x, np.asarray(info)


def _iterate_types(data: ArrayType, b: ArrayType, **_: Any) -> Any:
    dtype = np.result_type(data.dtype, b.dtype)
    return ArrayType(b.shape, dtype), ArrayType((), np.dtype(int))


def _backwards(options: Options, method: str) -> Options:
    """What a solution with the transpose is told: a start of the forward one means nothing."""
    kept = dict(options)
    kept.pop("x0", None)
    if "M" in kept and method not in ("cg", "minres"):  # theirs is symmetric
        kept["M"] = Fixed(kept["M"].held.T)
    return tuple(kept.items())


def _iterate_vjp(
    g: Any,
    y: Any,
    data: Any,
    b: Any,
    *,
    needs: Any,
    pattern: Any,
    method: str,
    options: Options,
    **_: Any,
) -> list[Any]:
    if pattern is None:
        values, turned = moveaxis(data, 0, 1), None
    else:
        values, turned = _transposed(data, pattern)
    params: Params = {"pattern": turned, "method": method, "checked": True}
    params["options"] = _backwards(options, method)
    w = bind(ITERATE, (values, g[0]), params)[0]
    found: list[Any] = [None, cast(w, type_of(b).dtype) if needs[1] else None]
    if needs[0]:
        kind = type_of(data)
        if pattern is None:
            n = type_of(w).shape[0]
            each = cast(multiply(reshape(w, (n, 1)), y[0]), kind.dtype)
        else:
            each = _pairs(w, y[0], pattern, kind)
        found[0] = negative(each)
    return found


def _dense() -> Any:
    return np.eye(4) * 4.0 + draw((4, 4), 0.0, 0.5)


_TIGHT: Options = (("atol", 0.0), ("rtol", 1e-14))

ITERATE: Explicit = explicit(
    "sparse_iterate",
    _iterate,
    type_rule=_iterate_types,
    vjp=_iterate_vjp,
    linear_in=(1,),
    multiple=True,
    sample=lambda: (
        [
            Sample(
                (_values(), draw((4,))),
                {"pattern": _pattern(), "method": method, "options": _TIGHT, "checked": False},
            )
            for method in ("bicgstab", "gmres")
        ]
        + [
            Sample(
                (_dense(), draw((4,))),
                {"pattern": None, "method": "gmres", "options": _TIGHT, "checked": True},
            ),
        ]
    ),
)


def solve_iteratively(
    data: Array, b: Array, pattern: Pattern | None, method: str, options: dict[str, Any]
) -> Any:
    """The solution by one of SciPy's iterations, and what it says; `pattern` None is dense.

    The derivative is that of the exact solution, to the tolerance of one more iteration with the
    transpose.
    """
    dtype = np.result_type(type_of(data).dtype, type_of(b).dtype, np.float32)
    params: Params = {"pattern": pattern, "method": method, "checked": False}
    params["options"] = tuple(sorted(options.items()))
    return bind(ITERATE, (cast(data, dtype), cast(b, dtype)), params)
