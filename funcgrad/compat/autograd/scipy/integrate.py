"""autograd's `odeint`: SciPy's, with the adjoint method for its derivatives.

The gradient is found by solving the equation backwards, from one time of measurement to the one
before (Fröhlich, Loos and Hasenauer 2017, arXiv 1711.08079, section 2.4.2); its accuracy is that
of the solver.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

import funcgrad.numpy as fnp
from funcgrad.compat.autograd.core import make_vjp
from funcgrad.compat.autograd.extend import defvjp_argnums, primitive
from funcgrad.compat.autograd.misc.flatten import flatten
from funcgrad.compat.autograd.names import names_of

__all__ = ["odeint"]

__getattr__ = names_of("funcgrad.scipy.integrate", "scipy.integrate")

Function = Callable[..., Any]
odeint = primitive(scipy.integrate.odeint)


def _pull(yt: Any, func: Function, _: Any, t: Any, func_args: Any = (), **options: Any) -> Function:
    """The cotangents of the start, the times and the further arguments of `func`."""
    flat_args, unflatten = flatten(func_args)
    size, count = np.shape(yt)[1], np.size(flat_args)

    def flow(y: Any, time: Any, parameters: Any) -> Any:
        return func(y, time, *unflatten(parameters))

    def backwards(state: Any, time: Any, parameters: Any) -> Any:
        """The equation, and how the cotangents of y, t and the arguments change with it."""
        y, g = state[:size], state[size : 2 * size]
        together = lambda given: fnp.asarray(flow(*given))
        pull, slope = make_vjp(together, (y, time, parameters))
        return fnp.hstack([slope, *(fnp.ravel(part) for part in pull(-g))])

    def vjp(g: Any) -> tuple[Any, ...]:
        of_y, of_start, of_args, of_times = g[-1], 0.0, np.zeros(count), []
        for i in range(len(t) - 1, 0, -1):
            moved = fnp.dot(fnp.asarray(func(yt[i], t[i], *func_args)), g[i])
            of_times.append(moved)
            state = fnp.hstack([yt[i], of_y, of_start - moved, of_args])
            times = fnp.stack([t[i], t[i - 1]])
            found = odeint(backwards, state, times, (flat_args,), **options)[1]
            of_y = found[size : 2 * size] + g[i - 1]
            of_start, of_args = found[2 * size], found[2 * size + 1 :]
        of_times.append(of_start)
        return of_y, fnp.stack(of_times[::-1]), unflatten(of_args)

    return vjp


def _chosen(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Function:
    vjp = _pull(ans, *args, **kwargs)

    def some(g: Any) -> tuple[Any, ...]:
        found = vjp(g)
        return tuple(found[k - 1] for k in argnums)

    return some


defvjp_argnums(odeint, _chosen)
