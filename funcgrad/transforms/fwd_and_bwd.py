"""`fwd_and_bwd`: the two halves of reverse mode as functions, so that each is compiled once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.transforms.abstract import example_of
from funcgrad.transforms.arguments import of_chosen, select
from funcgrad.transforms.closures import converted
from funcgrad.transforms.jit import jit
from funcgrad.transforms.vjp import vjp

__all__ = ["fwd_and_bwd"]

Function = Callable[..., Any]


class Residuals:
    """What the backward pass needs of the forward pass: a tree of arrays, and the graph that reads
    them."""

    __slots__ = ("pull", "values")

    def __init__(self, pull: Function, values: Sequence[Any]) -> None:
        self.pull, self.values = pull, tuple(values)

    def __repr__(self) -> str:
        return f"<residuals: {len(self.values)} arrays>"


tree.register_node(Residuals, lambda r: (r.values, r.pull), Residuals)


def fwd_and_bwd(
    f: Function, argnums: int | Sequence[int], has_aux: bool = False, jitted: bool = True
) -> tuple[Function, Function]:
    """The forward and the backward pass of `f` as two functions.

    `vjp` gives a new pullback at every call, which would be compiled anew; these two are compiled
    once for arguments of the same types.

    Parameters
    ----------
    f : callable
        A function of trees of arrays.
    argnums : int or sequence of int
        The argument(s) to differentiate.
    has_aux : bool, optional
        `f` returns ``(output, aux)``.
    jitted : bool, optional
        Whether both are compiled.

    Returns
    -------
    fwd, bwd : callable
        ``fwd(*args)`` returns ``(output, residuals)``, and `aux` behind these; the residuals are a
        tree of arrays. ``bwd(residuals, cotangent)`` returns the cotangent of the argument, or a
        tuple of them if `argnums` is a sequence.

    Raises
    ------
    CotangentError
        The cotangent has another tree, shape or dtype than the output.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fwd, bwd = fg.fwd_and_bwd(lambda x, w: np.sin(x @ w), argnums=(0, 1))
    >>> y, residuals = fwd(np.zeros(2), np.eye(2))
    >>> bwd(residuals, np.ones(2))[0]
    array([1., 1.])
    """

    @boundary
    def fwd(*args: Any) -> Any:
        wanted = select(argnums, args, f, "fwd_and_bwd")
        out, pull, *aux = vjp(
            of_chosen(f, args, wanted, {}), *(args[k] for k in wanted), has_aux=has_aux
        )
        if not jitted:
            return (out, Residuals(pull, ()), *aux)
        made, values = converted(pull, (tree.map(example_of, out),))
        return (out, Residuals(made, values), *aux)

    @boundary
    def bwd(residuals: Any, cotangent: Any) -> Any:
        found = residuals.pull(cotangent, *residuals.values)
        return found if isinstance(argnums, (tuple, list)) else found[0]

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)
