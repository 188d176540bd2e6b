"""``funcgrad.scipy.differentiate``: derivatives by adaptive differences.

They are SciPy's programs (1.15 and later), run over our functions, so their derivatives are those
of the differences that SciPy takes: `funcgrad.grad` of the function itself is exact and cheaper.
"""

from __future__ import annotations

from inspect import unwrap
from typing import Any

import scipy.differentiate as sp

from funcgrad.core.boundary import publish
from funcgrad.numpy.function_calls import numpy_function
from funcgrad.scipy.programs import program
from funcgrad.scipy.reasons import why_not

__all__ = ["derivative", "hessian", "jacobian"]


@numpy_function(sp.derivative, calls=True, lacks=("jit", "vmap"))
def derivative(f: Any, x: Any, **options: Any) -> Any:
    """The derivative of an elementwise function, and how sure SciPy is of it.

    How many differences are taken depends on values, which have to be known. The function may close
    over traced values.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.differentiate import derivative
    >>> slope = fg.grad(lambda a: derivative(lambda t: a * t**2, 1.5).df)(2.0)
    >>> print(f"{slope:.6f}")
    3.000000
    """
    return program(unwrap(sp.derivative))(f, x, **options)


@numpy_function(sp.jacobian, calls=True, lacks=("jit", "vmap"))
def jacobian(f: Any, x: Any, **options: Any) -> Any:
    """The Jacobian of a function of vectors, along the first axis of `x`; see `derivative`."""
    return program(unwrap(sp.jacobian))(f, x, **options)


@numpy_function(sp.hessian, calls=True, lacks=("jit", "vmap"))
def hessian(f: Any, x: Any, **options: Any) -> Any:
    """The Hessian of a function of vectors, along the first axis of `x`; see `derivative`."""
    return program(unwrap(sp.hessian))(f, x, **options)


publish(__name__, reason=why_not(__name__))
