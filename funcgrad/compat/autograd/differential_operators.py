"""autograd's operators of functions: `grad`, `jacobian`, `make_vjp` and their kin.

All of them stand on `core.make_vjp` and `core.make_jvp`, for one argument or a tuple of them.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.compat.autograd import core
from funcgrad.compat.autograd.core import vspace
from funcgrad.compat.autograd.wrap_util import unary_to_nary
from funcgrad.core.tracer import operand, type_of
from funcgrad.errors import FuncgradError, NonScalarOutputError, located
from funcgrad.transforms.arguments import leaves_of, name_of
from funcgrad.transforms.checkpoint import checkpoint
from funcgrad.transforms.jacobian import jacrev

__all__ = [
    "checkpoint",
    "deriv",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "jacobian",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "tensor_jacobian_product",
    "value_and_grad",
    "vector_jacobian_product",
]

Function = Callable[..., Any]


@unary_to_nary
def make_vjp(fun: Function, x: Any) -> tuple[Function, Any]:
    """``make_vjp(fun, argnum)(*args)`` gives ``(vjp, value)``; `vjp` takes a cotangent."""
    return core.make_vjp(fun, x)


@unary_to_nary
def make_jvp(fun: Function, x: Any) -> Function:
    """``make_jvp(fun, argnum)(*args)`` gives `jvp`; ``jvp(tangent)`` the value and its change."""
    return core.make_jvp(fun, x)


@unary_to_nary
def value_and_grad(fun: Function, x: Any) -> tuple[Any, Any]:
    """``value_and_grad(fun, argnum)(*args)``: the value, and the gradient as `grad` gives it."""
    vjp, ans = core.make_vjp(fun, x)
    space = vspace(ans)
    if space.size != 1:
        raise NonScalarOutputError(
            located(
                f"grad: {name_of(fun)} returned {space.size} real numbers, not one; sum them, or "
                "use jacobian, elementwise_grad or holomorphic_grad"
            )
        )
    return ans, vjp(space.ones())


@unary_to_nary
def grad(fun: Function, x: Any) -> Any:
    """``grad(fun, argnum)(*args)``: the gradient of a function that returns one real number.

    Parameters
    ----------
    fun : callable
        Its value may be a number or an array of one element, of any shape.
    argnum : int or tuple of int, optional
        The positional argument to differentiate; with a tuple the gradient is a tuple.

    Raises
    ------
    NonScalarOutputError
        The value has another number of elements, or is complex.
    InputTypeError
        The argument holds integers.

    Examples
    --------
    >>> import funcgrad.compat.autograd.numpy as np
    >>> from funcgrad.compat.autograd import grad
    >>> grad(lambda x: np.dot(x[None], x[:, None]))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    return value_and_grad(lambda y: fun(y))(x)[1]


@unary_to_nary
def elementwise_grad(fun: Function, x: Any) -> Any:
    """The sums of the columns of the Jacobian: of an elementwise function, its derivative.

    Raises
    ------
    NonScalarOutputError
        The value is complex.
    """
    vjp, ans = core.make_vjp(fun, x)
    if vspace(ans).iscomplex:
        raise NonScalarOutputError(
            located(
                f"elementwise_grad: {name_of(fun)} returned complex numbers; take its real part"
            )
        )
    return vjp(vspace(ans).ones())


@unary_to_nary
def deriv(fun: Function, x: Any) -> Any:
    """The derivative along all ones, in forward mode."""
    return core.make_jvp(fun, x)(vspace(x).ones())[1]


@unary_to_nary
def jacobian(fun: Function, x: Any) -> Any:
    """The Jacobian of an array in an array, of shape ``value.shape + x.shape``.

    Raises
    ------
    InputTypeError
        The argument holds integers.

    Notes
    -----
    All rows are found at once. Where a rule of the user's needs numbers (`defvjp` with a function
    of SciPy's in it) they are found one by one.

    Examples
    --------
    >>> import funcgrad.compat.autograd.numpy as np
    >>> from funcgrad.compat.autograd import jacobian
    >>> jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    try:
        return jacrev(fun)(x)
    except FuncgradError as error:
        try:
            return _row_by_row(fun, x)
        except FuncgradError:
            raise error from None


def _row_by_row(fun: Function, x: Any) -> Any:
    vjp, ans = core.make_vjp(fun, x)
    rows = [operand(vjp(row)) for row in vspace(ans).standard_basis()]
    return fnp.reshape(fnp.stack(rows), vspace(ans).shape + type_of(rows[0]).shape)


@unary_to_nary
def holomorphic_grad(fun: Function, x: Any) -> Any:
    """The complex derivative of a holomorphic function of one value."""
    if not vspace(x).iscomplex:
        warnings.warn("Input to holomorphic_grad is not complex", stacklevel=3)
    return grad(lambda z: fnp.real(fun(z)))(x)


def grad_named(fun: Function, argname: str) -> Function:
    """`grad` with respect to a positional argument that is named."""
    gradient: Function = grad(fun, list(inspect.signature(fun).parameters).index(argname))
    return gradient


@unary_to_nary
def hessian(fun: Function, x: Any) -> Any:
    """The Jacobian of the Jacobian."""
    return jacobian(jacobian(fun))(x)


@unary_to_nary
def make_hvp(fun: Function, x: Any) -> tuple[Function, Any]:
    """``make_hvp(fun, argnum)(*args)``: the product with the Hessian, and the gradient."""
    return core.make_vjp(grad(fun), x)


def hessian_tensor_product(fun: Function, argnum: int = 0) -> Function:
    """A function of ``(*args, tensor)``: the Hessian times the tensor."""
    gradient = grad(fun, argnum)

    def product(*args: Any, **kwargs: Any) -> Any:
        *given, tensor = args
        return fnp.tensordot(gradient(*given, **kwargs), tensor, np.ndim(tensor))

    found: Function = grad(product, argnum)
    return found


hessian_vector_product = hessian_tensor_product


def tensor_jacobian_product(fun: Function, argnum: int = 0) -> Function:
    """A function of ``(*args, tensor)``: the tensor times the Jacobian."""

    def product(*args: Any, **kwargs: Any) -> Any:
        *given, tensor = args
        return fnp.tensordot(tensor, fun(*given, **kwargs), axes=np.ndim(tensor))

    found: Function = jacobian(product, argnum)
    return found


vector_jacobian_product = tensor_jacobian_product


@unary_to_nary
def make_jvp_reversemode(fun: Function, x: Any) -> Function:
    """The product with the Jacobian: in forward mode, which gives the same."""
    jvp = core.make_jvp(fun, x)
    return lambda tangent: jvp(tangent)[1]


def _half_square(x: Any) -> Any:
    return 0.5 * fnp.sum(x**2, axis=-1)


def make_ggnvp(f: Function, g: Function = _half_square, f_argnum: int = 0) -> Function:
    """Products with the generalised Gauss–Newton matrix Jᵀ H J of ``g(f(x))`` (Schraudolph 2002).

    Parameters
    ----------
    f, g : callable
        `g` returns one number; H is its Hessian and J the Jacobian of `f`.
    f_argnum : int, optional
        The argument of `f` to differentiate.

    Returns
    -------
    callable
        Called with the arguments of `f`, it gives a function of a tangent.
    """

    @unary_to_nary
    def made(fun: Function, x: Any) -> Function:
        vjp, ans = core.make_vjp(fun, x)
        hvp, _ = core.make_vjp(grad(g), ans)
        jvp = core.make_jvp(fun, x)
        return lambda v: vjp(hvp(jvp(v)[1]))

    found: Function = made(f, f_argnum)
    return found


@unary_to_nary
def grad_and_aux(fun: Function, x: Any) -> tuple[Any, Any]:
    """Of a function that returns ``(value, anything)``: the gradient, and the second output."""
    box: list[Any] = []

    def first(y: Any) -> Any:
        out, aux = fun(y)
        box[:] = [aux]
        return out, aux

    vjp, (ans, aux) = core.make_vjp(first, x)
    leaves_of(aux, f"the second output of {name_of(fun)}")
    return vjp((vspace(ans).ones(), vspace(aux).zeros())), aux


def multigrad_dict(fun: Function) -> Function:
    """The gradient with respect to all arguments, by name: an ordered dictionary."""
    signature = inspect.signature(fun)

    @functools.wraps(fun)
    def gradients(*args: Any, **kwargs: Any) -> OrderedDict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()

        def of_all(arguments: dict[str, Any]) -> Any:
            given = inspect.BoundArguments(signature, OrderedDict(arguments))
            return fun(*given.args, **given.kwargs)

        found = grad(of_all)(dict(bound.arguments))
        return OrderedDict((name, found[name]) for name in bound.arguments)

    return gradients
