"""Functions traced and compiled ahead of their first call: ``jit(f).lower(x).compile()``."""

from __future__ import annotations

from typing import Any

from funcgrad import tree
from funcgrad.compile.execute import executable
from funcgrad.core.tracer import type_of
from funcgrad.core.types import ArrayType
from funcgrad.errors import located
from funcgrad.graph.ir import Graph
from funcgrad.passes.costs import costs
from funcgrad.transforms.arguments import leaves_of

__all__ = ["Compiled", "Lowered"]

Types = tuple[ArrayType, ...]


class Lowered:
    """A function traced for arguments of certain types.

    Attributes
    ----------
    graph : Graph
    in_tree : TreeDef
        Of ``(args, kwargs)``.
    out_info : tree of `ShapeDtypeStruct`
    """

    def __init__(
        self, jitted: Any, graph: Graph, out_info: Any, types: Types, in_tree: tree.TreeDef
    ) -> None:
        self.jitted, self.graph, self.out_info = jitted, graph, out_info
        self.types, self.in_tree = types, in_tree

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} {self.jitted!r} for {_shown(self.types)}>"

    def as_text(self) -> str:
        """The graph."""
        return str(self.graph)

    def cost_analysis(self) -> dict[str, float]:
        """``flops``, ``transcendentals`` and ``bytes accessed`` of the graph as it stands."""
        return costs(self.graph)

    def compile(self) -> Compiled:
        """The function compiled; calls with arguments of other types are an error."""
        executable(self.graph)
        return Compiled(self.jitted, self.graph, self.out_info, self.types, self.in_tree)


class Compiled(Lowered):
    """A function compiled for arguments of certain types."""

    def as_text(self) -> str:
        """The program, loops and native code."""
        return executable(self.graph).show()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, definition = leaves_of((args, kwargs), ("the arguments", self.jitted))
        types = tuple(map(type_of, leaves))
        if definition != self.in_tree or types != self.types:
            raise TypeError(
                located(
                    f"{self!r} was called with arguments of other types: {_shown(types)} in the "
                    f"tree {definition}; call the function itself, or lower it for these"
                )
            )
        return self.jitted(*args, **kwargs)


def _shown(types: Types) -> str:
    return ", ".join(map(str, types))
