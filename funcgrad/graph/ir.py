"""The graph: typed variables, literals and equations. It is immutable once it is built."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import Any, NamedTuple

from funcgrad.core.boundary import boundary
from funcgrad.core.primitive import Params, Primitive
from funcgrad.core.types import ArrayType
from funcgrad.errors import SourceLine, located

__all__ = ["Atom", "Equation", "Graph", "Literal", "Var", "last_number"]


SIZES = 64  # of batches whose graphs are kept: most programs have few, ragged data have any number


class Var:
    """A value of a graph: an input, a constant, or what one equation computes."""

    __slots__ = ("id", "type")

    def __init__(self, aval: ArrayType, number: int) -> None:
        self.type, self.id = aval, number

    def __repr__(self) -> str:
        return f"v{self.id}"


class Literal:
    """A number written into the graph."""

    __slots__ = ("type", "value")

    def __init__(self, value: Any, aval: ArrayType) -> None:
        self.value, self.type = value, aval

    def __repr__(self) -> str:
        return repr(self.value)


Atom = Var | Literal


class Equation(NamedTuple):
    """One operation. `scope` keeps a recomputation apart from what it computes again."""

    prim: Primitive
    inputs: tuple[Atom, ...]
    params: Params
    outputs: tuple[Var, ...]
    scope: int
    source: SourceLine


class Graph:
    """Inputs, equations in order, outputs, and constants (variables with their arrays).

    `derived` holds what is made of it once: its forward and backward halves, executables, and the
    batched graphs of some sizes.
    """

    __slots__ = ("constants", "derived", "equations", "inputs", "outputs")

    def __init__(
        self,
        inputs: tuple[Var, ...],
        equations: tuple[Equation, ...],
        outputs: tuple[Atom, ...],
        constants: tuple[tuple[Var, Any], ...] = (),
    ) -> None:
        self.inputs, self.equations, self.outputs = inputs, equations, outputs
        self.constants = constants
        self.derived: dict[Any, Any] = {}

    def __deepcopy__(self, memo: Any) -> Graph:
        """The same: nothing in it changes, and the native code made of it is not copied."""
        return self

    def __copy__(self) -> Graph:
        return self

    @boundary
    def __reduce__(self) -> Any:
        raise TypeError(
            located(
                "a graph holds the functions of its operations and of their rules, and cannot be "
                "pickled; pickle the function that it is the graph of and its arguments, and call "
                "make_graph there, or keep the text, str(graph)"
            )
        )

    def batched(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What is made of it for the size of a batch; those used last are kept."""
        kept: dict[Hashable, Any] = self.derived.setdefault("batched", {})
        found = kept.pop(key, None)
        if found is None:
            found = make()
        kept[key] = found
        if len(kept) > SIZES:
            kept.pop(next(iter(tuple(kept))), None)  # other threads may do the same
        return found

    def digest(self) -> str:
        """A name for the content: equal for graphs that print the same."""
        return blake2b(str(self).encode(), digest_size=16).hexdigest()

    def __str__(self) -> str:
        from funcgrad.graph.show import show  # printing stands on this file

        return show(self)

    def __repr__(self) -> str:
        if len(self.equations) <= 100:
            return str(self)
        return f"<graph of {len(self.equations)} equations; print(graph) shows them>"


def last_number(graph: Graph) -> int:
    """The greatest number that a variable has, also in the graphs within."""
    used = [v.id for e in graph.equations for v in e.outputs]
    used += [v.id for v in (*graph.inputs, *(v for v, _ in graph.constants))]
    within = (p for e in graph.equations for p in e.params.values() if isinstance(p, Graph))
    return max([*used, *map(last_number, within)], default=-1)
