"""The text of a function under construction, and of the functions that it calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ["GENERIC", "Body", "External", "VectorTarget"]


class VectorTarget(Protocol):
    """What the emitter asks of a target."""

    @property
    def avx512(self) -> bool: ...  # AVX-512 F, DQ, BW and VL

    @property
    def vector_bits(self) -> int: ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True)
class _Generic:
    avx512: bool = False
    vector_bits: int = 128


GENERIC: VectorTarget = _Generic()


@dataclass(frozen=True)
class External:
    """A function that may be in the module that calls it, or in one that many share."""

    declaration: str
    definition: str  # with internal linkage
    needs: tuple[str, ...]  # what the definition has declared
    calls: tuple[tuple[str, External], ...] = ()  # by name: functions of the same kind

    @property
    def module(self) -> str:
        """The text of a module of its own."""
        definition = self.definition.replace("define internal", "define", 1)
        called = [x.declaration for _, x in self.calls]
        return "\n".join([definition, *self.needs, *called, ""])


@dataclass
class Body:
    """The text under construction, shared by emitters of different element types."""

    block: str = "entry"
    lines: list[str] = field(default_factory=list)
    declarations: dict[str, None] = field(default_factory=dict)  # "declare ...", an ordered set
    definitions: dict[str, str] = field(default_factory=dict)  # name -> "define ..." or a constant
    externals: dict[str, External] = field(default_factory=dict)  # by name, not yet declared
    count: int = 0
    # what instructions gave that are run before whatever is written next; see `Emitter.once`
    known: dict[str, Any] = field(default_factory=dict)

    def enclose(self) -> None:
        """Define the external functions in the module itself."""
        waiting = list(self.externals.items())
        while waiting:
            name, external = waiting.pop()
            self.definitions[name] = external.definition
            self.declarations |= dict.fromkeys(external.needs)
            waiting += external.calls
        self.externals = {}
