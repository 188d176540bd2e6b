"""Gradients of scalar functions: `value_and_grad`, `grad`, and `hvp` on top of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.boundary import boundary, hide_frames, look_for_leaks
from funcgrad.core.tracer import Tracer, operand, twin, type_of, uncompiled
from funcgrad.core.types import is_inexact
from funcgrad.errors import located
from funcgrad.transforms.arguments import (
    check_complex,
    check_scalar,
    leaves_of,
    lower,
    name_of,
    named,
    present,
    select,
)
from funcgrad.transforms.deferred import applied
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.node import Node, TapeTracer
from funcgrad.transforms.optimism import seen
from funcgrad.transforms.results import as_trees, lowered, with_aux
from funcgrad.transforms.reverse import Tape, backward, node_of, verify
from funcgrad.transforms.signatures import P, R
from funcgrad.transforms.transformed import transformed
from funcgrad.tree import LEAF

__all__ = ["evaluated", "grad", "hvp", "value_and_grad"]

Function = Callable[..., Any]


def value_and_grad(
    f: Callable[P, R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    argnames: str | Sequence[str] | None = None,
) -> Callable[P, tuple[R, Any]]:
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
    allow_int : bool, optional
        Integers and bools may be among what is differentiated; theirs is a gradient of dtype
        ``float0``, which holds nothing.
    argnames : str or sequence of str, optional
        The argument(s) to differentiate by name instead, whether a call gives them by keyword or
        by position. The gradient is that of the one, or a dictionary of them.

    Returns
    -------
    callable
        Called as `f`; returns ``(value, gradient)``, or ``((value, aux), gradient)``. The value is
        that of ``f(…)`` bit for bit. The gradient has the tree, shapes and dtypes of the
        argument; a tuple of them if `argnums` is a sequence.

    Raises
    ------
    InputTypeError
        An argument to be differentiated holds integers or bools, without `allow_int`; with
        `holomorphic`, anything but complex numbers.
    TypeError
        A call has no argument of a name in `argnames`.
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
    >>> fg.value_and_grad(lambda x, w=1.0: w * x, argnames=["x", "w"])(3.0, w=2.0)
    (6.0, {'x': np.float64(2.0), 'w': np.float64(3.0)})
    """

    _check_names(argnums, argnames, "value_and_grad")

    @transformed(value_and_grad, f, argnums, has_aux, holomorphic, allow_int, argnames=argnames)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            value, aux, gradient = evaluated(
                f, argnums, has_aux, args, kwargs, True, holomorphic, allow_int, argnames
            )
        except Exception as error:
            hide_frames(error)
            raise
        if uncompiled:
            look_for_leaks()
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
    allow_int: bool = False,
    argnames: Any = None,
) -> Any:
    """The value of `f`, what it returned besides, and the gradient.

    Without `marks` the backward pass does not follow which elements are there.
    """
    wanted = select(argnums, args, f, "grad") if argnames is None else named(argnames, args, f)
    flat: list[tuple[list[Any], tree.TreeDef]] = []
    nodes: list[Any] = []
    new_args, new_kwargs, aux = list(args), kwargs, None
    node: Node | None
    if argnames is not None:
        new_kwargs = _checked(wanted, kwargs, f)
    for k in wanted:
        given = args[k] if type(k) is int else kwargs[k]
        named_so: Any = (k, f) if type(k) is int else (f"argument {k!r}", f)
        flat.append(leaves_of(given, named_so, not allow_int))
        if holomorphic:
            check_complex(flat[-1][0], "grad", f)
    with Tape(marks=marks) as tape:
        for k, (leaves, definition) in zip(wanted, flat, strict=True):
            if allow_int:
                inputs = [_input(tape, x, nodes) for x in leaves]
            else:
                inputs = tape.inputs(leaves, nodes)
            made = inputs[0] if definition is LEAF else tree.unflatten(definition, inputs)
            if type(k) is int:
                new_args[k] = made
            else:
                new_kwargs[k] = made
        out = applied(f, new_args, new_kwargs, tape)
        if has_aux:
            out, aux = with_aux(out, f)
            aux = lowered(aux, tape)
        aval = check_scalar(out, f, "grad", holomorphic)
        if type(out) is TapeTracer and out.owner is tape:
            node, value = out.node, out.value
        else:
            node, value = node_of(operand(out), tape), lower(out, tape)
        traced = isinstance(value, Tracer)
        value = present(twin(value)) if traced else value
        order = tape.nodes
    if tape.watches:
        verify(tape.watches)
    if node is None:
        found = [None] * len(nodes)
    else:
        hidden = traced and not seen(value)
        roots = [(node, _one(aval.dtype))]
        order.reverse()
        order += _there(nodes)
        if allow_int:  # leaves without a derivative have no node
            found = backward(roots, _there(nodes), traced, hidden, marks, order)
            found = _spread(found, nodes)
        else:
            found = backward(roots, nodes, traced, hidden, marks, order)
    gradient = as_trees(found, flat)
    if argnames is not None:
        names = (argnames,) if isinstance(argnames, str) else tuple(argnames)
        by_name = dict(zip(names, gradient, strict=True))
        return value, aux, gradient[0] if isinstance(argnames, str) else by_name
    return value, aux, gradient if isinstance(argnums, (tuple, list)) else gradient[0]


def _input(tape: Tape, x: Any, nodes: list[Any]) -> Any:
    """A leaf as an input of the tape; what has no derivative stays as it is."""
    if is_inexact(type_of(x).dtype):
        return tape.inputs([x], nodes)[0]
    nodes.append(None)
    return x


def _there(nodes: list[Any]) -> list[Any]:
    return nodes if None not in nodes else [n for n in nodes if n is not None]


def _spread(found: list[Any], nodes: list[Any]) -> list[Any]:
    """Cotangents, with None for the leaves that have no node."""
    if len(found) == len(nodes):
        return found
    rest = iter(found)
    return [None if n is None else next(rest) for n in nodes]


def _check_names(argnums: Any, argnames: Any, transform: str) -> None:
    if argnames is not None and not (type(argnums) is int and argnums == 0):
        raise TypeError(located(f"{transform}: give argnums or argnames, not both"))


def _checked(wanted: Sequence[Any], kwargs: Any, f: Function) -> dict[str, Any]:
    """The keyword arguments, among which are those that are wanted by name."""
    for k in wanted:
        if type(k) is str and k not in kwargs:
            raise TypeError(
                located(
                    f"grad: {name_of(f)} was called without its argument {k!r}, by which it is to "
                    "be differentiated; a default value is no argument of the call: pass it"
                )
            )
    return dict(kwargs)


def grad(
    f: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    argnames: str | Sequence[str] | None = None,
) -> Callable[P, Any]:
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
    allow_int : bool, optional
        Integers and bools may be among what is differentiated; theirs is a gradient of dtype
        ``float0``, which holds nothing.
    argnames : str or sequence of str, optional
        The argument(s) to differentiate by name instead, whether a call gives them by keyword or
        by position. The gradient is that of the one, or a dictionary of them.

    Returns
    -------
    callable
        Called as `f`; returns the gradient, or ``(gradient, aux)``. The gradient has the tree,
        shapes and dtypes of the argument; a tuple of them if `argnums` is a sequence.

    Raises
    ------
    InputTypeError
        An argument to be differentiated holds integers or bools, without `allow_int`; with
        `holomorphic`, anything but complex numbers.
    TypeError
        A call has no argument of a name in `argnames`.
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

    _check_names(argnums, argnames, "grad")

    @transformed(grad, f, argnums, has_aux, holomorphic, allow_int, argnames=argnames)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            _, aux, gradient = evaluated(
                f, argnums, has_aux, args, kwargs, True, holomorphic, allow_int, argnames
            )
        except Exception as error:
            hide_frames(error)
            raise
        if uncompiled:
            look_for_leaks()
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
