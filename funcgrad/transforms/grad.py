"""Gradients of scalar functions: `value_and_grad`, `grad`, and `hvp` on top of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad import tree
from funcgrad.core.tracer import Tracer
from funcgrad.core.types import ArrayType
from funcgrad.transforms.arguments import (
    check_scalar,
    leaves_of,
    lower,
    name_of,
    rebuild,
    select,
)
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.results import as_trees, lowered, with_aux
from funcgrad.transforms.reverse import Tape, backward, node_of, verify
from funcgrad.transforms.transformed import transformed

__all__ = ["grad", "hvp", "value_and_grad"]

Function = Callable[..., Any]


def value_and_grad(
    f: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Function:
    """A function that returns the value of `f` and its gradient.

    Parameters
    ----------
    f : callable
        Returns a real scalar, or ``(scalar, anything)`` with `has_aux`.
    argnums : int or sequence of int, optional
        The positional argument(s) to differentiate: trees of floating point or complex arrays.
    has_aux : bool, optional
        `f` returns a second value, which is handed through.

    Returns
    -------
    callable
        Called as `f`; returns ``(value, gradient)``, or ``((value, aux), gradient)``. The value is
        that of ``f(…)`` bit for bit. The gradient has the tree, shapes and dtypes of the
        argument; a tuple of them if `argnums` is a sequence.

    Raises
    ------
    InputTypeError
        An argument to be differentiated holds integers or bools.
    NonScalarOutputError
        `f` returns anything but a real scalar.

    Notes
    -----
    Reverse mode: the cost is a small multiple of that of `f`, whatever the size of the argument.
    For a complex argument the gradient is ∂f/∂x − i ∂f/∂y (JAX's convention).

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """

    @transformed(value_and_grad, f, argnums, has_aux)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        wanted = select(argnums, args, f, "grad")
        name = name_of(f)
        flat = [leaves_of(args[k], f"argument {k} of {name}", True) for k in wanted]
        aux = None
        with Tape() as tape:
            inputs = [[tape.input(x) for x in leaves] for leaves, _ in flat]
            nodes = [t.node for group in inputs for t in group]
            new_args = list(args)
            for k, group, (_, definition) in zip(wanted, inputs, flat, strict=True):
                new_args[k] = tree.unflatten(definition, group)
            out = f(*new_args, **kwargs)
            if has_aux:
                out, aux = with_aux(out, f)
                aux = lowered(aux, tape)
            kind = check_scalar(out, f, "grad")
            node = node_of(out, tape)
            low = lower(out, tape)
            value = rebuild(tree.structure(out), [low])
        verify(tape.watches)
        if node is None:
            found = [None] * len(nodes)
        else:
            found = backward([(node, _one(kind))], nodes, traced=isinstance(low, Tracer))
        gradient = as_trees(found, flat)
        result = gradient if isinstance(argnums, (tuple, list)) else gradient[0]
        return ((value, aux), result) if has_aux else (value, result)

    return wrapped


def grad(f: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """A function that returns the gradient of `f`.

    Parameters
    ----------
    f : callable
        Returns a real scalar, or ``(scalar, anything)`` with `has_aux`.
    argnums : int or sequence of int, optional
        The positional argument(s) to differentiate: trees of floating point or complex arrays.
    has_aux : bool, optional
        `f` returns a second value, which is handed through.

    Returns
    -------
    callable
        Called as `f`; returns the gradient, or ``(gradient, aux)``. The gradient has the tree,
        shapes and dtypes of the argument; a tuple of them if `argnums` is a sequence.

    Raises
    ------
    InputTypeError
        An argument to be differentiated holds integers or bools.
    NonScalarOutputError
        `f` returns anything but a real scalar.

    See Also
    --------
    value_and_grad : the value as well, at no further cost; how complex arguments are treated.
    jacobian, vjp : for functions that return arrays.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.sum(np.sin(x)))(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """
    both = value_and_grad(f, argnums, has_aux)

    @transformed(grad, f, argnums, has_aux)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapped


def _one(kind: ArrayType) -> Any:
    return kind.dtype.type(1)


def hvp(f: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Hessian of the scalar function `f` at `primals` times `tangents`.

    Forward over reverse: about four times the cost of `f`, without the Hessian.

    Parameters
    ----------
    f : callable
        Returns a real scalar.
    primals, tangents : tuple
        The arguments and the direction: trees of the same structure, shapes and dtypes.

    Returns
    -------
    tree
        Like the argument; a tuple of such trees if there are several arguments.

    Raises
    ------
    CotangentError
        A tangent has another tree, shape or dtype than its primal.
    NonScalarOutputError
        `f` returns anything but a real scalar.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    array([6., 0.])
    """
    argnums = tuple(range(len(primals)))
    moved = jvp(grad(f, argnums), primals, tangents)[1]
    return moved[0] if len(moved) == 1 else moved
