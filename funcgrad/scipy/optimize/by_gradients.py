"""`minimize` in JAX's manner, by our gradients, whose result has derivatives.

SciPy's solver runs; gradients are ours. Other solvers and constraints are those of
`scipy.optimize.minimize` itself, to which gradients and Hessians are given (the how-to pages).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from funcgrad.core.tracer import operand, running, type_of
from funcgrad.errors import located
from funcgrad.numpy.linalg import solve
from funcgrad.ops.arithmetic import negative, where
from funcgrad.transforms.api import (
    ShapeDtypeStruct,
    closure_convert,
    custom_jvp,
    grad,
    jacobian,
    jit,
    jvp,
    pure_callback,
    value_and_grad,
)
from funcgrad.transforms.implicit import no_tangents

__all__ = ["OptimizeResults", "minimize"]

Function = Callable[..., Any]
NOT_FINISHED = (1, 3)  # SciPy's numbers for too few iterations, and for NaN


class OptimizeResults(NamedTuple):
    """Where a function is smallest, and how that was found; the names are SciPy's.

    Attributes
    ----------
    x, fun, jac, hess_inv : array
        The point, the value, the gradient and an approximation of the inverse Hessian there.
    success : bool
    status : int
        SciPy's: 0 where it has converged, 1 after too many iterations, 2 where rounding ends it.
    nfev, njev, nit : int
        How many values, gradients and iterations that took.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


def minimize(
    fun: Function,
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """The minimum of a function of a vector, by SciPy's BFGS method and our gradients.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)``: a number.
    x0 : array (n,)
        Where the search begins; it has no derivative.
    args : tuple of trees of arrays, optional
    method : str
        "BFGS".
    tol : float, optional
        The largest element of the gradient at the end, 1e-5 by default.
    options : dict, optional
        SciPy's: ``maxiter``, ``gtol``, ``norm`` …

    Returns
    -------
    OptimizeResults

    Raises
    ------
    ValueError
        Another `method`, or `x0` is no vector.
    TypeError
        `args` is no tuple.

    Notes
    -----
    `x` and `fun` have derivatives of every order in `args` and in what `fun` closes over, by the
    implicit function theorem: the gradient is zero at the minimum. They are as good as the minimum,
    so ask for a small `tol`; where it was not reached (`status` 1 or 3), derivatives are NaN. The
    other results have none. Under `jit` and `vmap`, where `fun` may not branch on values, SciPy is
    called back, once for each example.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.optimize import minimize
    >>> root = lambda a: minimize(lambda x: (x[0] ** 2 - a) ** 2, np.ones(1), method="BFGS",
    ...                           tol=1e-12).x[0]
    >>> fg.grad(root)(4.0).round(6)
    np.float64(0.25)
    """
    if method.lower() != "bfgs":
        raise ValueError(
            located(
                f"minimize: the method is 'BFGS', not {method!r}; SciPy has others, which take our "
                "gradients: scipy.optimize.minimize(fg.value_and_grad(fun), x0, jac=True)"
            )
        )
    if not isinstance(args, tuple):
        raise TypeError(located(f"minimize: args is a tuple, not {type(args).__name__}"))
    kind = type_of(operand(x0))
    if kind.ndim != 1:
        raise ValueError(located(f"minimize: x0 is a vector, not an array of shape {kind.shape}"))
    dtype = np.result_type(kind.dtype, np.float32)
    settings = {"tol": tol, "options": None if options is None else dict(options)}
    if not running.count:
        return _search(lambda x: fun(x, *args), x0, dtype, settings)
    objective, consts = closure_convert(
        lambda x: fun(x, *args), ShapeDtypeStruct(kind.shape, dtype)
    )
    found: OptimizeResults = _differentiable(objective, dtype, settings)(x0, *consts)
    return found


def _search(f: Function, x0: Any, dtype: Any, settings: dict[str, Any]) -> OptimizeResults:
    """SciPy's search, of a function that closes over nothing that is traced."""
    both = value_and_grad(f)

    def pair(x: Any) -> tuple[float, Any]:
        value, slope = both(np.asarray(x, dtype))
        return float(value), np.asarray(slope, np.float64)

    found = scipy.optimize.minimize(pair, x0, jac=True, method="BFGS", **settings)
    return _of_types(OptimizeResults(*(found[name] for name in OptimizeResults._fields)), dtype)


def _of_types(found: OptimizeResults, dtype: Any) -> OptimizeResults:
    shapes = _shapes(len(found.x), dtype)
    return OptimizeResults(
        *(np.asarray(v).astype(s.dtype)[()] for v, s in zip(found, shapes, strict=True))
    )


def _shapes(n: int, dtype: Any) -> OptimizeResults:
    """The types of the results."""
    of = ShapeDtypeStruct
    whole = of((), np.dtype(np.int64))
    return OptimizeResults(
        x=of((n,), dtype), success=of((), np.dtype(bool)), status=whole, fun=of((), dtype),
        jac=of((n,), dtype), hess_inv=of((n, n), dtype), nfev=whole, njev=whole, nit=whole,
    )  # fmt: skip


def _differentiable(objective: Function, dtype: Any, settings: dict[str, Any]) -> Function:
    """The search as a function of where it begins, and of what the objective closes over."""
    compiled = jit(objective)
    slope = grad(objective)

    def host(x0: Any, *held: Any) -> OptimizeResults:
        return _search(lambda x: compiled(x, *held), x0, dtype, settings)

    @custom_jvp
    def found(x0: Any, *held: Any) -> OptimizeResults:
        shapes = _shapes(type_of(operand(x0)).shape[0], dtype)
        return OptimizeResults(*pure_callback(host, shapes, x0, *held, vmap_method="sequential"))

    @found.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        out = found(*primals)
        held, moved = primals[1:], tangents[1:]
        x, none = out.x, no_tangents(out)
        if not held:
            return out, none
        residual = jvp(lambda *c: slope(x, *c), held, moved)[1]
        step = negative(solve(jacobian(slope)(x, *held), residual))
        unknown = (out.status == NOT_FINISHED[0]) | (out.status == NOT_FINISHED[1])
        step = step * where(unknown, np.nan, 1.0)  # a selection would have the derivative 0
        rise = jvp(objective, (x, *held), (step, *moved))[1]
        return out, none._replace(x=step, fun=rise)

    return found
