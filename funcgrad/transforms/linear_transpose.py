"""`linear_transpose`: the transpose of a linear function, as a function of cotangents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import type_of
from funcgrad.core.types import Array, ArrayType, is_inexact
from funcgrad.errors import InputTypeError, located
from funcgrad.graph.build import stage
from funcgrad.graph.linearity import linear_flow
from funcgrad.ops.arithmetic import cast
from funcgrad.transforms.abstract import abstract
from funcgrad.transforms.arguments import check_matches, leaves_of, name_of
from funcgrad.transforms.call import call_graph
from funcgrad.transforms.results import handed_back, own
from funcgrad.transforms.reverse import require_linear, transpose_linear

__all__ = ["linear_transpose"]

Function = Callable[..., Any]


@boundary
def linear_transpose(f: Function, *primals: Any) -> Function:
    """The transpose of a linear function.

    Parameters
    ----------
    f : callable
        Linear in all of its arguments together; what is known to be zero may be added. It is
        called on zeros, once or twice.
    *primals
        Examples of its arguments: trees of arrays, or of `ShapeDtypeStruct`. Only their shapes
        and dtypes matter.

    Returns
    -------
    callable
        ``transposed(cotangent)`` takes a tree like the output of `f`, and returns a tuple of trees
        like `primals`. It may itself be differentiated and transposed.

    Raises
    ------
    NotDifferentiableError
        `f` is not linear: the message names the operation. Comparisons of an argument and what
        is constant between jumps are none, nor is `stop_gradient`; the functions of `cond` and the
        bodies of loops are looked at, too.
    InputTypeError
        An argument or the output holds integers or bools.
    CotangentError
        The cotangent has another tree, shape or dtype than the output.

    Notes
    -----
    Complex numbers are not conjugated: ⟨g, f(x)⟩ and ⟨transposed(g), x⟩ are sums of products.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> differences = lambda x: x[1:] - x[:-1]
    >>> transposed = fg.linear_transpose(differences, np.zeros(3))
    >>> transposed(np.array([1.0, 10.0]))
    (array([-1., -9., 10.]),)
    """
    leaves, definition = tree.flatten(tuple(primals))
    types = [_strong(abstract(x)) for x in leaves]
    _check_floats(types, f"an argument of {name_of(f)}")
    out: list[Any] = []

    def flat(*xs: Array) -> tuple[Any, ...]:
        found, out_definition = leaves_of(f(*tree.unflatten(definition, xs)), ("the output", f))
        out[:] = [out_definition, [type_of(o) for o in found]]
        return tuple(found)

    advice = f" (linear_transpose of {name_of(f)})"
    whole, captured = stage(flat, types)
    mask = [True] * len(types) + [False] * len(captured)
    require_linear(linear_flow(whole, mask)[0], advice)
    out_definition, out_types = out
    out_types = [_strong(t) for t in out_types]
    _check_floats(out_types, f"the output of {name_of(f)}")

    def back(*cts: Array) -> list[Array]:
        return transpose_linear(flat, types, cts, advice=advice, seen=True)

    graph, consts = stage(back, out_types)

    @boundary
    def transposed(cotangent: Any) -> Any:
        given = check_matches(cotangent, out_definition, out_types, "the cotangent")
        cts = [cast(c, t.dtype) for c, t in zip(given, out_types, strict=True)]
        return handed_back(definition, own(call_graph(graph, *cts, *consts), cts))

    return transposed


def _strong(aval: ArrayType) -> ArrayType:
    return ArrayType(aval.shape, aval.dtype)


def _check_floats(types: list[ArrayType], what: str) -> None:
    for aval in types:
        if not is_inexact(aval.dtype):
            raise InputTypeError(
                located(
                    f"linear_transpose: {what} has dtype {aval.dtype}; only functions of floating "
                    "point and complex numbers are linear"
                )
            )
