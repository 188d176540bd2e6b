"""Gradients of scalar functions: `value_and_grad`, `grad`, and `hvp` on top of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.boundary import boundary, hide_frames
from funcgrad.core.tracer import Tracer, twin
from funcgrad.transforms.arguments import (
    check_complex,
    check_scalar,
    leaves_of,
    lower,
    present,
    select,
)
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.node import Node, TapeTracer
from funcgrad.transforms.optimism import seen
from funcgrad.transforms.results import as_trees, lowered, with_aux
from funcgrad.transforms.reverse import Tape, backward, node_of, verify
from funcgrad.transforms.transformed import transformed
from funcgrad.tree import LEAF

__all__ = ["evaluated", "grad", "hvp", "value_and_grad"]

Function = Callable[..., Any]


def value_and_grad(
    f: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
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
    holomorphic : bool, optional
        `f` is a holomorphic function of complex arguments: the result is its complex derivative.
        That it is one is not checked.

    Returns
    -------
    callable
        Called as `f`; returns ``(value, gradient)``, or ``((value, aux), gradient)``. The value is
        that of ``f(…)`` bit for bit. The gradient has the tree, shapes and dtypes of the
        argument; a tuple of them if `argnums` is a sequence.

    Raises
    ------
    InputTypeError
        An argument to be differentiated holds integers or bools; with `holomorphic`, anything but
        complex numbers.
    NonScalarOutputError
        `f` returns anything but a real scalar; with `holomorphic`, a complex one.

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

    @transformed(value_and_grad, f, argnums, has_aux, holomorphic)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            value, aux, gradient = evaluated(f, argnums, has_aux, args, kwargs, True, holomorphic)
        except Exception as error:
            hide_frames(error)
            raise
        return ((value, aux), gradient) if has_aux else (value, gradient)

    return wrapped


def evaluated(
    f: Function,
    argnums: Any,
    has_aux: bool,
    args: Any,
    kwargs: Any,
    marks: bool = True,
    holomorphic: bool = False,
) -> Any:
    """The value of `f`, what it returned besides, and the gradient.

    Without `marks` the backward pass does not follow which elements are there.
    """
    wanted = select(argnums, args, f, "grad")
    flat: list[tuple[list[Any], tree.TreeDef]] = []
    nodes: list[Node] = []
    new_args, aux = list(args), None
    node: Node | None
    for k in wanted:
        flat.append(leaves_of(args[k], (k, f), True))
        if holomorphic:
            check_complex(flat[-1][0], "grad", f)
    with Tape(marks=marks) as tape:
        for k, (leaves, definition) in zip(wanted, flat, strict=True):
            inputs = tape.inputs(leaves, nodes)
            new_args[k] = inputs[0] if definition is LEAF else tree.unflatten(definition, inputs)
        out = f(*new_args, **kwargs)
        if has_aux:
            out, aux = with_aux(out, f)
            aux = lowered(aux, tape)
        kind = check_scalar(out, f, "grad", holomorphic)
        if type(out) is TapeTracer and out.owner is tape:
            node, value = out.node, out.value
        else:
            node, value = node_of(out, tape), lower(out, tape)
        traced = isinstance(value, Tracer)
        value = present(twin(value)) if traced else value
    if tape.watches:
        verify(tape.watches)
    if node is None:
        found = [None] * len(nodes)
    else:
        hidden = traced and not seen(value)
        found = backward([(node, _one(kind.dtype))], nodes, traced, hidden, marks)
    gradient = as_trees(found, flat)
    return value, aux, gradient if isinstance(argnums, (tuple, list)) else gradient[0]


def grad(
    f: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Function:
    """A function that returns the gradient of `f`.

    Parameters
    ----------
    f : callable
        Returns a real scalar, or ``(scalar, anything)`` with `has_aux`.
    argnums : int or sequence of int, optional
        The positional argument(s) to differentiate: trees of floating point or complex arrays.
    has_aux : bool, optional
        `f` returns a second value, which is handed through.
    holomorphic : bool, optional
        `f` is a holomorphic function of complex arguments: the result is its complex derivative.
        That it is one is not checked.

    Returns
    -------
    callable
        Called as `f`; returns the gradient, or ``(gradient, aux)``. The gradient has the tree,
        shapes and dtypes of the argument; a tuple of them if `argnums` is a sequence.

    Raises
    ------
    InputTypeError
        An argument to be differentiated holds integers or bools; with `holomorphic`, anything but
        complex numbers.
    NonScalarOutputError
        `f` returns anything but a real scalar; with `holomorphic`, a complex one.

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
    >>> fg.grad(lambda z: z**2, holomorphic=True)(1.0 + 2.0j)
    np.complex128(2+4j)
    """

    @transformed(grad, f, argnums, has_aux, holomorphic)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            _, aux, gradient = evaluated(f, argnums, has_aux, args, kwargs, True, holomorphic)
        except Exception as error:
            hide_frames(error)
            raise
        return (gradient, aux) if has_aux else gradient

    return wrapped


@functools.cache
def _one(dtype: np.dtype[Any]) -> Any:
    """The cotangent that a backward pass begins with."""
    return dtype.type(1)


@boundary
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
