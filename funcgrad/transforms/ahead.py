"""Functions traced and compiled ahead of their first call: ``jit(f).lower(x).compile()``."""

from __future__ import annotations

from typing import Any, Self

from funcgrad import tree
from funcgrad.compile.execute import executable
from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import type_of
from funcgrad.core.types import ArrayType
from funcgrad.errors import located
from funcgrad.graph.ir import Graph
from funcgrad.passes.costs import costs
from funcgrad.transforms.arguments import leaves_of
from funcgrad.transforms.static import Static

__all__ = ["Compiled", "Lowered"]

Types = tuple[ArrayType, ...]


class Lowered:
    """A function traced for arguments of certain types.

    Attributes
    ----------
    graph : Graph
    in_tree : TreeDef
        Of ``(args, kwargs)``, without those that are static.
    out_info : tree of `ShapeDtypeStruct`
    """

    def __init__(
        self, jitted: Any, graph: Graph, out_info: Any, types: Types, in_tree: tree.TreeDef,
        static: Any,
    ) -> None:  # fmt: skip
        self.jitted, self.graph, self.out_info = jitted, graph, out_info
        self.types, self.in_tree, self.static = types, in_tree, static

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} {self.jitted!r} for {_shown(self.types)}>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        """The same: nothing in it changes, and native code is not copied."""
        return self

    @boundary
    def __reduce__(self) -> Any:
        raise TypeError(
            located(
                f"{self!r} belongs to this process and cannot be pickled; pickle the function "
                "itself, jit(f), and lower it there, or write a library with jit(f).export"
            )
        )

    def lower(self) -> Lowered:
        """The same: tracing and lowering are one step here."""
        return self

    def as_text(self) -> str:
        """The graph."""
        return str(self.graph)

    def cost_analysis(self) -> dict[str, float]:
        """``flops``, ``transcendentals`` and ``bytes accessed`` of the graph as it stands."""
        return costs(self.graph)

    def compile(self) -> Compiled:
        """The function compiled; calls with arguments of other types are an error.

        It is called without the static arguments, which it has.
        """
        executable(self.graph)
        made = self.jitted, self.graph, self.out_info, self.types, self.in_tree, self.static
        return Compiled(*made)


class Compiled(Lowered):
    """A function compiled for arguments of certain types."""

    def as_text(self) -> str:
        """The program, loops and native code."""
        return executable(self.graph).show()

    @boundary
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
        return self.jitted(*Static.merge(self.static, args), **kwargs, **dict(self.static[1]))


def _shown(types: Types) -> str:
    return ", ".join(map(str, types))
