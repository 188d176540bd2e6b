"""`trace`: a function is run, and a node of the caller's class made of every operation in it.

It is autograd's way to look at a computation without differentiating it: to print it, or draw it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from funcgrad.core.boundary import boundary
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.tracer import Operand, Trace, Tracer, bind, operand, sealed, serial
from funcgrad.core.types import Array
from funcgrad.errors import warn_at_line

__all__ = ["Node", "trace"]

Function = Callable[..., Any]


class Node:
    """What a class of nodes derives from: one is made of every operation that `trace` sees.

    ``__init__(value, fun, args, kwargs, parent_argnums, parents)`` gets the result (a tuple of
    them where there are several), the operation, which can be called and has a ``__name__``, its
    positional arguments as plain values, its parameters, the positions of those that were traced,
    and their nodes. `new_root` makes the node of the argument, by ``initialize_root``.
    """

    __slots__ = ()

    def __init__(
        self,
        value: Any,
        fun: Function,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        parent_argnums: Sequence[int],
        parents: Sequence[Any],
    ) -> None:
        raise NotImplementedError(f"{type(self).__name__}.__init__ says what a node keeps")

    def initialize_root(self, *args: Any, **kwargs: Any) -> None:
        """Fill in the node of the argument."""
        raise NotImplementedError(f"{type(self).__name__}.initialize_root says what a root keeps")

    @classmethod
    def new_root(cls, *args: Any, **kwargs: Any) -> Self:
        """The node of an argument."""
        root = cls.__new__(cls)
        root.initialize_root(*args, **kwargs)
        return root


class _Operation:
    """An operation, as nodes see it."""

    def __init__(self, prim: Primitive) -> None:
        self.primitive = prim
        self.__name__ = prim.name

    def __call__(self, *args: Any, **params: Any) -> Any:
        return bind(self.primitive, [operand(a) for a in args], params)

    def __repr__(self) -> str:
        return f"<operation {self.__name__}>"


class _NodeTracer(Tracer):
    """A value and its node."""

    __slots__ = ("born", "node")

    def __init__(self, value: Array, owner: _Nodes, node: Any) -> None:
        self.value, self.owner, self.node = value, owner, node
        self.born = next(serial)

    def assign(self, new: Tracer) -> None:
        assert isinstance(new, _NodeTracer)
        self.value, self.node = new.value, new.node


class _Nodes(Trace):
    """The trace that makes nodes of one class."""

    __slots__ = ("make",)
    what: ClassVar[str] = "trace"

    def __init__(self, make: Function) -> None:
        super().__init__()
        self.make = make

    def process(self, prim: Primitive, args: Sequence[Array], params: Params) -> Any:
        self.check_open()
        mine = [k for k, a in enumerate(args) if isinstance(a, _NodeTracer) and a.owner is self]
        parents: list[Any] = [args[k].node for k in mine]
        values = [a.value if k in mine else a for k, a in enumerate(args)]
        made = bind(prim, values, params)
        seen = tuple(map(_seen, made)) if prim.multiple else _seen(made)
        given = tuple(map(_seen, values))
        node = self.make(seen, _Operation(prim), given, dict(params), tuple(mine), parents)
        if prim.multiple:
            return tuple(_NodeTracer(y, self, node) for y in made)
        return _NodeTracer(made, self, node)


def _seen(x: Array) -> Array:
    """A value for the code of a node, which must not write into it: others read it later."""
    return sealed(x) if type(x) is np.ndarray else x


@boundary
def trace(start_node: Node, fun: Function, x: Any) -> tuple[Any, Any]:
    """Run a function, and make a node of every operation that depends on its argument.

    Parameters
    ----------
    start_node : Node
        The node of the argument. Those of the operations are of its class.
    fun : callable
        A function of one argument that returns one array or number.
    x : array_like
        The argument.

    Returns
    -------
    value : array
        What the function returns.
    node : Node
        Its node. None, with a warning, where it does not depend on the argument.

    Notes
    -----
    Nothing is differentiated, and traces nest: the function may be a gradient, whose operations are
    then seen, too. They are funcgrad's own, several of which may be one function of autograd's.

    Examples
    --------
    >>> import funcgrad.compat.autograd.numpy as np
    >>> from funcgrad.compat.autograd.tracer import Node, trace
    >>> class Steps(Node):
    ...     def initialize_root(self):
    ...         self.text = "x"
    ...     def __init__(self, value, fun, args, kwargs, parent_argnums, parents):
    ...         self.text = f"{fun.__name__}({', '.join(p.text for p in parents)})"
    >>> trace(Steps.new_root(), lambda x: np.sin(x) * x, 2.0)[1].text
    'multiply(sin(x), x)'
    """
    with _Nodes(type(start_node)) as running:
        end = fun(_NodeTracer(operand(x), running, start_node))
        content = end.content() if isinstance(end, Operand) else end
        if isinstance(content, _NodeTracer) and content.owner is running:
            return content.value, content.node
    warn_at_line("Output seems independent of input.", UserWarning)
    return end, None
