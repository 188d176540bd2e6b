"""What programs for functions of Numba's come from, and what is said of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from funcgrad.compile.numba.link import Loaded
from funcgrad.compile.program import NativeProgram
from funcgrad.core.types import ArrayType
from funcgrad.tree import TreeDef

__all__ = ["Made", "Slot", "Source", "Special"]


class Slot:
    """The place of an array or a number among the arguments: its number, dtype and rank."""

    __slots__ = ("dtype", "ndim", "number")

    def __init__(self, number: int, dtype: np.dtype[Any], ndim: int) -> None:
        self.number, self.dtype, self.ndim = number, dtype, ndim


class Made(NamedTuple):
    """What a source made for shapes: the program, the types of its outputs, and their tree."""

    program: NativeProgram
    outputs: tuple[ArrayType, ...]
    tree: TreeDef
    loaded: Callable[[], Loaded]


class Special(Protocol):
    """What a source knows of one kind of arguments."""

    def made(self, shapes: Sequence[tuple[int, ...]]) -> Made:
        """The program for these shapes."""
        ...

    def example(self) -> Made:
        """The program for some shapes that the function takes: for the types of its outputs."""
        ...


class Source(Protocol):
    """What makes programs: of one function, for any arguments."""

    name: str
    parameters: Sequence[tuple[Any, ...]]  # (name,) or (name, default), by position

    def special(self, arguments: Sequence[Any], slots: Sequence[Slot]) -> Special:
        """For arguments with slots in the place of arrays and numbers."""
        ...
