"""Fixed points, with derivatives by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad import tree
from funcgrad.compat.autograd.core import make_vjp, vspace
from funcgrad.compat.autograd.extend import defvjp, primitive

__all__ = ["fixed_point"]

Function = Callable[..., Any]


@primitive
def fixed_point(f: Function, a: Any, x0: Any, distance: Function, tol: float) -> Any:
    """The x with ``f(a)(x) == x``.

    Parameters
    ----------
    f : callable
        ``f(a)`` is a function that contracts.
    a : tree
        What the derivative is with respect to.
    x0 : tree
        Where the iteration starts; the derivative with respect to it is zero.
    distance : callable
        ``distance(x, y)`` of two iterates.
    tol : float
        The iteration ends when two are no further apart.

    Examples
    --------
    >>> import funcgrad.compat.autograd.numpy as np
    >>> from funcgrad.compat.autograd import grad
    >>> from funcgrad.compat.autograd.misc.fixed_points import fixed_point
    >>> root = lambda a: fixed_point(lambda a: lambda x: (x + a / x) / 2, a, 1.0,
    ...                              lambda x, y: abs(x - y), 1e-12)
    >>> grad(root)(4.0)
    np.float64(0.25)
    """
    step = f(a)
    x, before = step(x0), x0
    while distance(x, before) > tol:
        x, before = step(x), x
    return x


def _pull(ans: Any, f: Function, a: Any, x0: Any, distance: Function, tol: float) -> Function:
    of_a, _ = make_vjp(lambda given: f(given)(ans), a)

    def adjoint(given: Any) -> Function:
        """The cotangent of the fixed point solves w = g + w ∂f/∂x."""
        a, x, g = given
        of_x, _ = make_vjp(f(a), x)
        return lambda w: tree.map(lambda u, v: u + v, of_x(w), g)

    return lambda g: of_a(fixed_point(adjoint, (a, ans, g), vspace(ans).zeros(), distance, tol))


defvjp(fixed_point, None, _pull, None)
