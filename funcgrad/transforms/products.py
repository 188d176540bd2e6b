"""Products of curvature matrices with vectors, without the matrices: `hvp` is in `grad`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.ops.arithmetic import divide
from funcgrad.transforms.grad import hvp
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.vjp import vjp

__all__ = ["fvp", "gnvp"]

Function = Callable[..., Any]


@boundary
def gnvp(f: Function, loss: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Gauss–Newton matrix of ``loss(f(…))`` times `tangents`.

    The matrix is Jᵀ H J: J the Jacobian of `f`, H the Hessian of `loss`. It is positive
    semidefinite where `loss` is convex, and the Hessian where `f` is linear. With the negative
    logarithm of a likelihood of the exponential family for a loss, by its natural parameters, it is
    the Fisher information.

    Parameters
    ----------
    f : callable
        The model: its output may be any tree of arrays.
    loss : callable
        A real scalar of what `f` returns.
    primals, tangents : tuple
        The arguments and the direction: trees of the same structure, shapes and dtypes.

    Returns
    -------
    tree
        Like the argument; a tuple of such trees if there are several arguments. The cost is one
        pass forward, one Hessian product of `loss`, and one pass back.

    Raises
    ------
    CotangentError
        A tangent has another tree, shape or dtype than its primal.
    NonScalarOutputError
        `loss` returns anything but a real scalar.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> squares = lambda r: 0.5 * np.sum(r**2)
    >>> fg.gnvp(np.exp, squares, (np.zeros(2),), (np.array([1.0, 0.0]),))
    array([1., 0.])
    """
    out, moved = jvp(f, tuple(primals), tuple(tangents))
    curved = hvp(loss, (out,), (moved,))
    found = vjp(f, *primals)[1](curved)
    return found[0] if len(found) == 1 else found


@boundary
def fvp(f: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The empirical Fisher information times `tangents`: the mean of g (g · t) over the examples.

    Parameters
    ----------
    f : callable
        The logarithm of the likelihood of each example: an array of any shape. g is the gradient of
        one element.
    primals, tangents : tuple
        The arguments and the direction: trees of the same structure, shapes and dtypes.

    Returns
    -------
    tree
        Like the argument; a tuple of such trees if there are several arguments. The cost is one
        pass forward and one back, whatever the number of examples.

    Raises
    ------
    CotangentError
        A tangent has another tree, shape or dtype than its primal.

    See Also
    --------
    gnvp : the Fisher information of the model itself.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> x = np.array([1.0, 3.0])
    >>> fg.fvp(lambda m: -0.5 * (x - m) ** 2, (0.0,), (1.0,))
    np.float64(5.0)
    """
    moved, pull = jvp(f, tuple(primals), tuple(tangents))[1], vjp(f, *primals)[1]
    count = sum(leaf.size for leaf in tree.leaves(moved))
    found = pull(tree.map(lambda t: divide(t, float(max(count, 1))), moved))
    return found[0] if len(found) == 1 else found
