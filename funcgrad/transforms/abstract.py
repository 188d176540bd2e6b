"""Functions staged on abstract arguments and not run: `make_graph` and `eval_shape`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import operand, type_of
from funcgrad.core.types import ArrayType
from funcgrad.errors import located
from funcgrad.graph.build import Stage, finish
from funcgrad.graph.ir import Graph
from funcgrad.transforms.arguments import leaves_of, positions, within
from funcgrad.transforms.transformed import transformed

__all__ = [
    "ShapeDtypeStruct",
    "abstract",
    "eval_shape",
    "example_of",
    "make_graph",
    "shapes_of",
    "typeof",
]

Function = Callable[..., Any]


class ShapeDtypeStruct:
    """The shape and dtype of an array that need not exist.

    Parameters
    ----------
    shape : sequence of int
    dtype : dtype

    Examples
    --------
    >>> import funcgrad as fg
    >>> fg.ShapeDtypeStruct((2, 3), "float32")
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    @boundary
    def __init__(self, shape: Sequence[int], dtype: Any) -> None:
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(located("what stands for an array without axes has no length"))
        return self.shape[0]

    @boundary
    def update(self, *, shape: Any = None, dtype: Any = None) -> ShapeDtypeStruct:
        """Another one, of another shape or dtype."""
        kept = self.shape if shape is None else shape
        return ShapeDtypeStruct(kept, self.dtype if dtype is None else dtype)

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (self.shape, self.dtype) == (
            other.shape,
            other.dtype,
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))


def abstract(x: Any) -> ArrayType:
    """The type of an array, or of what stands for one."""
    if isinstance(x, ShapeDtypeStruct):
        return ArrayType(x.shape, x.dtype)
    return type_of(operand(x))


def example_of(x: Any) -> ShapeDtypeStruct:
    """What stands for an array like `x`, such as its cotangent."""
    kind = abstract(x)
    return ShapeDtypeStruct(kind.shape, kind.dtype)


def typeof(x: Any) -> ArrayType:
    """The type of an array or number, traced or not: its shape, its dtype, and whether it is weak.

    A weak type is that of a Python number, which takes the precision of what it meets.

    Raises
    ------
    TypeError
        `x` is no array.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> print(fg.typeof(np.ones((2, 3), "float32")), fg.typeof(1.0))
    float32[2,3] float64*[]
    """
    return type_of(operand(x))


def _staged_call(f: Function, args: Any, kwargs: Any) -> tuple[Graph, tree.TreeDef]:
    leaves, definition = tree.flatten((tuple(args), kwargs))
    out: list[tree.TreeDef] = []
    with Stage() as trace:
        inputs = [
            trace.input(abstract(x), None if isinstance(x, ShapeDtypeStruct) else operand(x))
            for x in leaves
        ]
        variables = [t.variable for t in inputs]
        new_args, new_kwargs = tree.unflatten(definition, inputs)
        outputs, out_definition = leaves_of(f(*new_args, **new_kwargs), ("the output", f))
        out.append(out_definition)
        graph, _ = finish(trace, variables, outputs)
    return graph, out[0]


def make_graph(
    f: Function, static_argnums: int | Sequence[int] = (), return_shape: bool = False
) -> Callable[..., Any]:
    """A function that returns the graph of `f` for its arguments.

    Parameters
    ----------
    f : callable
        A function of trees of arrays.
    static_argnums : int or sequence of int, optional
        Arguments that are handed to `f` as they are.
    return_shape : bool, optional
        Return ``(graph, shapes)``: what `eval_shape` says of the output as well.

    Returns
    -------
    callable
        Called as `f`, with arrays or `ShapeDtypeStruct` in their place; returns the `Graph`. Print
        it to read it: one line for each operation, with the type of its result.

    Raises
    ------
    AbstractValueError
        `f` branches on a traced value.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> print(fg.make_graph(fg.grad(np.sin))(1.0))
    graph(a: float64*[]) {
      b: float64[] = cos a
      c: float64[] = scale np.float64(1.0) b
      return c
    }
    """

    given = positions(static_argnums, "make_graph: static_argnums")

    @transformed(make_graph, f, static_argnums, return_shape)
    @boundary
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        static = within(given, len(args), "make_graph: static_argnums")

        def dynamic(*xs: Any, **named: Any) -> Any:
            rest = iter(xs)
            whole = [a if k in static else next(rest) for k, a in enumerate(args)]
            return f(*whole, **named)

        chosen = [a for k, a in enumerate(args) if k not in static]
        graph, definition = _staged_call(dynamic if static else f, chosen, kwargs)
        return (graph, shapes_of(graph, definition)) if return_shape else graph

    return wrapped


def shapes_of(graph: Graph, definition: tree.TreeDef) -> Any:
    """The shapes and dtypes of what a graph gives, in the tree of its outputs."""
    shapes = [ShapeDtypeStruct(o.type.shape, o.type.dtype) for o in graph.outputs]
    return tree.unflatten(definition, shapes)


@boundary
def eval_shape(f: Function, *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of the output of `f`, without computing anything.

    Parameters
    ----------
    f : callable
        A function of trees of arrays.
    *args, **kwargs
        Its arguments: arrays or `ShapeDtypeStruct`.

    Returns
    -------
    tree of `ShapeDtypeStruct`

    Raises
    ------
    AbstractValueError
        `f` branches on a traced value.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.eval_shape(np.dot, fg.ShapeDtypeStruct((2, 3), float), np.ones(3))
    ShapeDtypeStruct(shape=(2,), dtype=float64)
    """
    return shapes_of(*_staged_call(f, args, kwargs))
