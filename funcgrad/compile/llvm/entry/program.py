"""What a call of compiled code does, in records: which arguments it takes, which arrays it makes,
which kernels it runs on what, and what it returns. It imports NumPy only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.compile.guards import Same

__all__ = [
    "Apart",
    "At",
    "Buffer",
    "Copy",
    "Fixed",
    "Given",
    "Held",
    "Leaf",
    "Made",
    "Number",
    "Output",
    "Program",
    "Same",
    "Step",
    "Stride",
    "View",
    "Word",
    "is_known",
]

DType: TypeAlias = "np.dtype[Any]"


class Leaf(NamedTuple):
    """An argument: an array of exactly this shape and dtype; without axes a NumPy scalar as well
    (and a Python bool), or where it is weak a Python number. Its data is read, never its type.

    `order` is "C", "F" or "any"; strides of "any" are whole elements.
    """

    shape: tuple[int, ...]
    dtype: DType
    weak: bool = False
    order: str = "C"
    writeable: bool = False


class Buffer(NamedTuple):
    """An array that is made for each call, uninitialised or with the content of another."""

    shape: tuple[int, ...]
    dtype: DType
    order: str = "C"
    content: np.ndarray[Any, Any] | None = None


class At(NamedTuple):
    """An address: `offset` bytes into a "leaf", a "buffer", the "workspace" (64-byte aligned) or
    the "flag", an int64 that is 0 before the kernels run; where one has set it, no other runs.
    """

    base: str
    number: int = 0
    offset: int = 0


class Stride(NamedTuple):
    """The stride of an axis of a leaf of order "any", in elements."""

    leaf: int
    axis: int


class Held(int):
    """The address of an array that the program holds; `source` is the array itself, or the number
    of a captured one.
    """

    source: Any

    def __new__(cls, address: int, source: Any) -> Held:
        made = super().__new__(cls, address)
        made.source = source
        return made


# What a kernel finds in its arguments: 8 bytes each, an integer or the bits of a number.
Word: TypeAlias = int | At | Stride


class Step(NamedTuple):
    """Run ``kernel(words, 0, chunks, 0)``, or in `parallel` threads at most, open to Ctrl-C."""

    kernel: int
    words: Sequence[Word]
    chunks: int = 1
    parallel: int = 0


class Apart(NamedTuple):
    """An array that is written into: the memory of the `others`, as many bytes, is not in it."""

    at: At
    bytes: int
    others: Sequence[tuple[At | int, int]]


class Copy(NamedTuple):
    """Copy so many bytes."""

    to: Word
    source: Word
    bytes: int


class Made(NamedTuple):
    """The array of a buffer."""

    buffer: int


class View(NamedTuple):
    """A view of a buffer; strides and offset are in bytes."""

    buffer: int
    shape: tuple[int, ...]
    dtype: DType
    strides: tuple[int, ...]
    offset: int = 0


class Given(NamedTuple):
    """An argument itself."""

    leaf: int


class Fixed(NamedTuple):
    """One object, the same in every call."""

    value: Any


class Number(NamedTuple):
    """A NumPy scalar made of what is at `at` afterwards; if weak a Python number (of float64,
    int64 or complex128).
    """

    dtype: DType
    at: At
    weak: bool = False


Output: TypeAlias = Made | View | Given | Fixed | Number


class Program:
    """What one call does. ValueError if entry points cannot do it.

    Attributes
    ----------
    leaves, buffers, steps, outputs : sequences
    workspace : int
        Bytes of memory for the time of the call.
    arguments : sequence of trees, optional
        One for each argument: the number of a leaf, None, the `Same` object, or a tuple, list or
        dict (exactly these classes) of trees. By default the arguments are the leaves.
    names : tuple of str, optional
        The last arguments are given by these keywords, in this order.
    result : tree, optional
        What is returned, in numbers of outputs. By default the tuple of the outputs.
    release : bool
        Let other Python threads run meanwhile. So it is always where a step is parallel.
    keep : object
        Whatever must live as long as the program: libraries, arrays whose addresses are words.
    apart : sequence
        Arguments are of another kind if any of these does not hold.
    """

    # Written out: making a dataclass takes a millisecond of every process.
    def __init__(
        self,
        leaves: Sequence[Leaf],
        buffers: Sequence[Buffer],
        steps: Sequence[Step | Copy],
        outputs: Sequence[Output],
        workspace: int = 0,
        arguments: Sequence[Any] | None = None,
        result: Any = None,
        names: tuple[str, ...] = (),
        release: bool = False,
        keep: Any = None,
        apart: Sequence[Apart] = (),
    ) -> None:
        self.leaves, self.buffers, self.steps, self.outputs = leaves, buffers, steps, outputs
        self.workspace, self.arguments, self.result = workspace, arguments, result
        self.names, self.release, self.keep, self.apart = names, release, keep, apart
        numbers = [o for o in self.outputs if isinstance(o, Number)]
        for dtype in (*(x.dtype for x in self.leaves), *(x.dtype for x in numbers)):
            if not is_known(dtype):
                raise ValueError(f"an entry point does not read numbers of dtype {dtype}")
        weak = [x.dtype for x in self.leaves if x.weak] + [x.dtype for x in numbers if x.weak]
        for dtype in weak:
            if dtype not in (np.float64, np.int64, np.complex128):
                raise ValueError(f"no Python number has dtype {dtype}")
        _check_tree(tuple(self.argument_trees), len(self.leaves))
        _check_tree(self.result_tree, len(self.outputs))
        if len(self.names) > len(self.argument_trees):
            raise ValueError("more names than arguments")

    @property
    def argument_trees(self) -> Sequence[Any]:
        return range(len(self.leaves)) if self.arguments is None else self.arguments

    @property
    def result_tree(self) -> Any:
        return tuple(range(len(self.outputs))) if self.result is None else self.result

    @property
    def releases(self) -> bool:
        return self.release or any(isinstance(step, Step) and step.parallel for step in self.steps)


def _check_tree(tree: Any, count: int) -> None:
    if type(tree) is int:
        if not 0 <= tree < count:
            raise ValueError(f"a tree names number {tree} of {count}")
    elif type(tree) in (tuple, list, dict):
        for child in tree.values() if type(tree) is dict else tree:
            _check_tree(child, count)
    elif tree is not None and type(tree) is not Same:
        raise ValueError(f"an entry point does not know the container {type(tree).__name__}")


def is_known(dtype: DType) -> bool:
    """Whether leaves and outputs may have this dtype."""
    return dtype.isnative and dtype.kind in "biufc" and dtype.char not in "gG"
