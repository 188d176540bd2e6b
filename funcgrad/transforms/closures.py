"""`closure_convert`: what a function closes over as arguments; and `custom_gradient`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import Tracer
from funcgrad.core.types import Array
from funcgrad.errors import CustomRuleError, located
from funcgrad.graph.build import stage
from funcgrad.graph.interpret import evaluate
from funcgrad.graph.ir import Graph
from funcgrad.transforms.abstract import abstract, example_of
from funcgrad.transforms.arguments import leaves_of, name_of
from funcgrad.transforms.call import call_graph
from funcgrad.transforms.custom import custom_vjp
from funcgrad.transforms.results import handed_back

__all__ = ["Converted", "closure_convert", "converted", "custom_gradient"]

Function = Callable[..., Any]


class Converted:
    """A function of trees as a graph, which takes traced values behind its arguments."""

    def __init__(
        self, graph: Graph, definition: tree.TreeDef, out: tree.TreeDef, name: str
    ) -> None:
        self.graph, self.definition, self.out = graph, definition, out
        self.__name__ = self.__qualname__ = name

    def __repr__(self) -> str:
        return f"<closure_convert of {self.__name__}>"

    def __call__(self, *args: Any) -> Any:
        count = len(self.definition.parts)
        leaves, got = leaves_of(tuple(args[:count]), ("the arguments", self))
        if got != self.definition:
            raise TypeError(
                located(f"{self!r} was made for arguments {self.definition}, and was given {got}")
            )
        consts = [leaf for c in args[count:] for leaf in leaves_of(c, ("a constant", self))[0]]
        return handed_back(self.out, call_graph(self.graph, *leaves, *consts))

    def on_numbers(self, *args: Any) -> Any:
        """The same of arrays that are known, with NumPy's bits: nothing is compiled."""
        return tree.unflatten(self.out, evaluate(self.graph, *tree.leaves(args)))


def converted(f: Function, args: tuple[Any, ...]) -> tuple[Converted, list[Tracer]]:
    """The function for arguments like these, and the traced values over which it closes."""
    leaves, definition = tree.flatten(args)
    out: list[tree.TreeDef] = []

    def flat(*xs: Array) -> list[Array]:
        found, made = leaves_of(f(*tree.unflatten(definition, xs)), ("the output", f))
        out[:] = [made]
        return found

    graph, consts = stage(flat, [abstract(x) for x in leaves])
    return Converted(graph, definition, out[0], name_of(f)), consts


@boundary
def closure_convert(f: Function, *example_args: Any) -> tuple[Function, list[Any]]:
    """`f` as a function that closes over no traced value, and the values that it closed over.

    Parameters
    ----------
    f : callable
        A function of trees of arrays. It is traced once, on abstract values.
    *example_args
        Arguments, or `ShapeDtypeStruct` in their place: it can be called with others of their
        trees, shapes and dtypes.

    Returns
    -------
    converted, consts
        ``converted(*args, *consts)`` is ``f(*args)``. The constants are traced values, so a custom
        rule can take them as arguments and give their gradients.

    Raises
    ------
    AbstractValueError
        `f` branches on the value of an argument.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> def g(y):
    ...     f, consts = fg.closure_convert(lambda x: np.sin(x * y), 1.0)
    ...     return f(2.0, *consts)
    >>> fg.grad(g)(0.0)
    np.float64(2.0)
    """
    made, consts = converted(f, tuple(example_args))
    return made, list(consts)


def custom_gradient(f: Function) -> Function:
    """A function that returns its value and its own pullback.

    Parameters
    ----------
    f : callable
        ``f(*args)`` returns ``(output, pull)``; ``pull(cotangent)`` the cotangent of the argument,
        or a tuple of one for each of several. `pull` may close over what `f` has computed.

    Returns
    -------
    callable
        ``f(*args)[0]``, with that derivative. Forward mode is derived by transposing `pull`, and
        it may be differentiated again.

    Raises
    ------
    CustomRuleError
        `f` returns no such pair, or `pull` the wrong number, tree or shape.

    See Also
    --------
    custom_vjp : the same with rule and function apart.

    Examples
    --------
    >>> import funcgrad as fg
    >>> @fg.custom_gradient
    ... def f(x):
    ...     return x**2, lambda g: g * 100.0 * x
    >>> f(3.0), fg.grad(f)(3.0)
    (9.0, np.float64(300.0))
    """

    def both(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        pair = f(*args, **kwargs)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not callable(pair[1]):
            raise CustomRuleError(
                located(f"custom_gradient: {name_of(f)} has to return (output, pullback)")
            )
        return pair[0], pair[1]

    def value(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[0]

    def forward(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        out, pull = both(*args, **kwargs)
        types = tree.map(example_of, out)
        made, consts = converted(pull, (types,))
        return out, (made, len(args), consts)

    def backward(residuals: Any, cotangent: Any) -> tuple[Any, ...]:
        made, count, consts = residuals
        found = made(cotangent, *consts)
        return tuple(found) if count > 1 or type(found) is tuple else (found,)

    functools.update_wrapper(value, f)
    made = custom_vjp(value)
    made.defvjp(forward, backward)
    return made
