"""Roots and linear solves by a solver of the user's, differentiated by what they solve.

Neither the steps of the solver nor its branches are followed: by the implicit function theorem the
derivative is one linear solve. What the equation closes over becomes arguments of the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import zeros
from funcgrad.errors import AbstractValueError, NotDifferentiableError, TreeError, located
from funcgrad.ops.arithmetic import negative, subtract
from funcgrad.transforms.abstract import ShapeDtypeStruct
from funcgrad.transforms.arguments import name_of
from funcgrad.transforms.captures import walked
from funcgrad.transforms.closures import Converted, converted
from funcgrad.transforms.custom import custom_jvp, custom_vjp
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.linear_transpose import linear_transpose
from funcgrad.transforms.linearize import linearize
from funcgrad.transforms.results import with_aux
from funcgrad.transforms.stop_gradient import stop_gradient
from funcgrad.transforms.vjp import vjp

__all__ = ["custom_linear_solve", "custom_root", "no_tangents"]

Function = Callable[..., Any]


def _shapes(x: Any) -> Any:
    def one(leaf: Any) -> ShapeDtypeStruct:
        aval = type_of(operand(leaf))
        return ShapeDtypeStruct(aval.shape, aval.dtype)

    return tree.map(one, x)


def no_tangents(x: Any) -> Any:
    return tree.map(lambda leaf: zeros(type_of(operand(leaf))), x)


def _same_trees(f: Any, given: Any, found: Any, what: str) -> None:
    one = tree.map(lambda s: (s.shape, s.dtype), given), tree.structure(given)
    two = tree.map(lambda s: (s.shape, s.dtype), found), tree.structure(found)
    if one != two:
        raise TreeError(
            located(f"{what}: {name_of(f)} returns {found} for {given}; they have to be alike")
        )


@boundary
def custom_root(
    f: Function,
    initial_guess: Any,
    solve: Function,
    tangent_solve: Function,
    has_aux: bool = False,
) -> Any:
    """A root of a function, found by any solver, with the derivatives of the root.

    Parameters
    ----------
    f : callable
        ``f(x)`` is zero at the root: a tree like `x`. It may close over traced values, by which
        the root is differentiated.
    initial_guess : tree of arrays
        It has no derivative.
    solve : callable
        ``solve(f, initial_guess)`` returns the root, by whatever steps; with `has_aux` a pair of it
        and anything else. It is not differentiated. If it closes over traced values it is traced
        once, on abstract values.
    tangent_solve : callable
        ``tangent_solve(g, y)`` solves ``g(x) = y`` for the linear `g`, the derivative of `f` at the
        root: ``y / g(1.0)`` for numbers, ``np.linalg.solve(jacobian(g)(y), y)`` for vectors.
        It has to be linear in `y`, and may close over traced values as `solve` may.
    has_aux : bool, optional

    Returns
    -------
    root[, aux]

    Raises
    ------
    NotDifferentiableError
        `tangent_solve` is not linear in `y`.
    TreeError
        `f` returns another tree, other shapes or dtypes than it is given.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> def newton(f, x):
    ...     for _ in range(20):
    ...         x = x - f(x) / fg.grad(f)(x)
    ...     return x
    >>> root = lambda a: lax.custom_root(
    ...     lambda x: x**2 - a, 1.0, newton, lambda g, y: y / g(1.0)
    ... )
    >>> fg.grad(root)(4.0)
    np.float64(0.25)
    """
    initial_guess = stop_gradient(initial_guess)
    shapes = _shapes(initial_guess)
    equation, consts = converted(f, (shapes,))
    _same_trees(f, shapes, _shapes_of(equation), "custom_root")

    count = len(consts)
    solved, more = _open(lambda guess, *held: solve(_fixed(equation, held), guess), solve, (
        shapes, *map(_shapes, consts)
    ))  # fmt: skip
    kinds = (shapes, shapes, *map(_shapes, consts))
    moved_by, rest = _open(
        lambda x, residual, *held: tangent_solve(_slope(equation, x, held), residual),
        tangent_solve,
        kinds,
    )

    @custom_jvp
    def root(guess: Any, *operands: Any) -> Any:
        found = solved(guess, *operands[: count + len(more)])
        return with_aux(found, solve) if has_aux else found

    @root.defjvp
    def _(given: Any, moved: Any) -> Any:
        operands, moved = given[1:], moved[1:]
        held = operands[:count]
        out = root(*given)
        x = out[0] if has_aux else out
        residual = jvp(lambda *c: equation(x, *c), held, moved[:count])[1]
        tangent = tree.map(negative, moved_by(x, residual, *held, *operands[count + len(more) :]))
        return out, ((tangent, no_tangents(out[1])) if has_aux else tangent)

    if consts:
        found = root(initial_guess, *consts, *more, *rest)
    else:
        found = _plain(solve, f, initial_guess, has_aux)
    return tuple(found) if has_aux else found


def _fixed(function: Function, held: Any) -> Function:
    return lambda x: function(x, *held)


def _slope(equation: Function, x: Any, held: Any) -> Function:
    pushed: Function = linearize(_fixed(equation, held), x)[1]
    return pushed


def _open(made: Function, given: Function, kinds: tuple[Any, ...]) -> tuple[Function, list[Any]]:
    """`made`, which calls `given`, and the traced values of `given`, to be passed behind the rest.

    A rule would give these no gradient and use them when they are no more, so where there are any
    the function is staged. One that branches on numbers is left as it is.
    """
    if not walked(given).traced:
        return made, []
    try:
        return converted(made, kinds)
    except AbstractValueError:
        return made, []


def _plain(solve: Function, f: Function, guess: Any, has_aux: bool) -> Any:
    """The root of a function that closes over nothing that is traced."""
    found = solve(f, guess)
    if not has_aux:
        return stop_gradient(found)
    root, aux = with_aux(found, solve)
    return stop_gradient(root), aux


def _shapes_of(equation: Converted) -> Any:
    outputs = [ShapeDtypeStruct(o.type.shape, o.type.dtype) for o in equation.graph.outputs]
    return tree.unflatten(equation.out, outputs)


@boundary
def custom_linear_solve(
    matvec: Function,
    b: Any,
    solve: Function,
    transpose_solve: Function | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """The solution of a linear system, found by any solver, with the derivatives of the solution.

    Parameters
    ----------
    matvec : callable
        ``matvec(x)``: linear, a tree like `x`. It may close over traced values, by which the
        solution is differentiated.
    b : tree of arrays
        The right-hand side.
    solve : callable
        ``solve(matvec, b)`` returns the solution, with `has_aux` a pair of it and anything else. It
        is not differentiated, and may be a loop of unknown length.
    transpose_solve : callable, optional
        ``transpose_solve(vecmat, b)`` solves the transposed system, and returns what `solve` does:
        needed in reverse mode, unless the system is symmetric.
    symmetric : bool, optional
        Whether `matvec` is its own transpose.
    has_aux : bool, optional

    Returns
    -------
    solution[, aux]
        Linear in `b`, also for `linear_transpose`.

    Raises
    ------
    NotDifferentiableError
        In reverse mode without a `transpose_solve`, of what is not `symmetric`.
    TreeError
        `matvec` returns another tree, other shapes or dtypes than it is given.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad import lax
    >>> def solution(d):
    ...     divide = lambda matvec, b: b / matvec(np.ones(2))
    ...     return lax.custom_linear_solve(lambda x: d * x, np.ones(2), divide, symmetric=True)
    >>> fg.grad(lambda d: solution(d).sum())(np.array([1.0, 2.0]))
    array([-1.  , -0.25])
    """
    back = solve if symmetric and transpose_solve is None else transpose_solve
    shapes = _shapes(b)
    product, consts = converted(matvec, (shapes,))
    _same_trees(matvec, shapes, _shapes_of(product), "custom_linear_solve")

    held_types = tuple(map(_shapes, consts))
    solved, more = _open(
        lambda rhs, *held: solve(_fixed(product, held), rhs), solve, (shapes, *held_types)
    )

    def turned(held: Any) -> Function:
        made = linear_transpose(_fixed(product, held), shapes)
        return lambda v: made(v)[0]

    solved_back, rest = (None, []) if back is None else _open(
        lambda rhs, *held: back(turned(held), rhs), back, (shapes, *held_types)
    )  # fmt: skip
    count = len(consts)

    def passing(solver: Function, held: Any, own: Any) -> Function:
        return lambda _, rhs: solver(rhs, *held, *own)

    def parts(operands: Any) -> tuple[Any, Function, Function | None]:
        """What the product closes over, and both solvers, as functions of a right-hand side."""
        held, own = operands[:count], operands[count : count + len(more)]
        others = operands[count + len(more) :]
        forward = passing(solved, held, own)
        backward = None if solved_back is None else passing(solved_back, held, others)
        return held, forward, backward

    def again(product: Function, rhs: Any, forward: Any, backward: Any, aux: bool) -> Any:
        return custom_linear_solve(product, rhs, forward, backward, symmetric, aux)

    def solution(rhs: Any, *operands: Any) -> Any:
        found = parts(operands)[1](None, rhs)
        return with_aux(found, solve) if has_aux else found

    def forward(rhs: Any, *operands: Any) -> Any:
        out = made(rhs, *operands)
        return out, (out[0] if has_aux else out, operands)

    def backward(residuals: Any, g: Any) -> Any:
        x, operands = residuals
        held, ahead, behind = parts(operands)
        if behind is None:
            raise _no_transpose(matvec)
        found = again(turned(held), g[0] if has_aux else g, behind, ahead, has_aux)
        found = found[0] if has_aux else found
        unmoved = no_tangents(operands[count:])
        if not held:
            return (found, *unmoved)
        pull = vjp(lambda *c: product(x, *c), *held)[1]
        return (found, *pull(tree.map(negative, found)), *unmoved)

    def push(primals: Any, tangents: Any) -> Any:
        (rhs, *operands), (moved, *others) = primals, tangents
        held, ahead, behind = parts(operands)
        out = made(rhs, *operands)
        x = out[0] if has_aux else out
        if held:
            change = jvp(lambda *c: product(x, *c), tuple(held), tuple(others[:count]))[1]
            moved = tree.map(subtract, moved, change)
        tangent = again(_fixed(product, held), moved, ahead, behind, has_aux)
        return out, ((tangent[0], no_tangents(out[1])) if has_aux else tangent)

    made = custom_vjp(solution)
    made.defvjp(forward, backward, push)
    made.linear_in = len(tree.leaves(b))
    found = made(b, *consts, *more, *rest)
    return tuple(found) if has_aux else found


def _no_transpose(matvec: Function) -> Exception:
    return NotDifferentiableError(
        located(
            f"custom_linear_solve with {name_of(matvec)} is differentiated in reverse mode, and "
            "nothing solves the transposed system: give transpose_solve, or say symmetric=True if "
            "it is"
        )
    )
