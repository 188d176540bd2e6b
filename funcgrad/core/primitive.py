"""A primitive: one record that states an operation and all that the transforms need of it.

A transform reads the fields and calls the methods; it never asks what kind a primitive is. The
five forms in `core.forms` fill the fields from the little that an author states.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad.core.layout import Lies, fresh, moved, reshaped
from funcgrad.core.types import Array, ArrayType
from funcgrad.errors import NotDifferentiableError, located

__all__ = ["PRIMITIVES", "BackwardKernel", "Params", "Primitive", "Sample", "Samples"]

Params = dict[str, Any]
PRIMITIVES: dict[str, Primitive] = {}


class Sample(NamedTuple):
    """Valid operands and parameters of a primitive, for the tests that are made from records.

    `smooth` is False where finite differences cannot be trusted (a kink, an infinite partial);
    value, type, batching and duality are tested there all the same.
    """

    args: tuple[Any, ...]
    params: Params = {}  # noqa: RUF012 (a named tuple's default, never written)
    smooth: bool = True


Samples = Callable[[], list[Sample]]
Pull = Callable[..., tuple[Sequence[Any], bool]]


class BackwardKernel(NamedTuple):
    """What stands in front of the rule of a primitive in reverse mode.

    ``pull(node, g)`` gives the cotangents of the operands, and whether they are arrays that nobody
    else has. It is asked where the cotangent is a large array; with `of_operand`, of reductions,
    whose cotangents are small, where the first operand is. One of the former kind takes a third
    argument: whether `g` is an array that nobody reads afterwards.
    """

    pull: Pull
    of_operand: bool


def _defining_module() -> str:
    """The module that defines a record: the first one on the stack that is not made for that."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if not name.startswith(_DEFINING):
            return name
        frame = frame.f_back
    return ""


_DEFINING = ("funcgrad.core.", "funcgrad.extend")


class Primitive:
    """The record of one operation.

    Attributes
    ----------
    name : str
        Its name in printed graphs, for people alone: nothing is looked up by it, and two may have
        the same. Those of funcgrad's own records are unique.
    module : str
        Where it was defined.
    impl : callable
        ``impl(*arrays, **params)`` computes it with NumPy.
    form : str
        The form that made the record; for people, never for transforms.
    multiple : bool
        Whether `impl` returns a tuple of outputs.
    differentiable : bool
        False for operations whose result is locally constant (comparisons, floor, argsort).
    saves : tuple
        ``saves[mask]`` says what a node keeps for backward when the operands of the bits of
        `mask` are traced: a tuple of flags (outputs, operand 0, operand 1, …).
    sample : callable
        Returns the list of `Sample` from which the tests are made.
    kernel : callable
        What has been put in front of `impl` by `take_kernel`; None where nothing has.
    backward_kernel : BackwardKernel
        What computes cotangents of large arrays, put there by `take_backward_kernel`; None where
        the rule always does.
    aligned : bool
        Whether an element of the result is made of those elements of the operands that
        broadcasting puts in its place, and of nothing else.
    commutes : bool
        Whether its two operands may change places.
    fills : bool
        Whether its `ufunc` gives the value of `impl`, in the dtype of the operands, into ``out=``.
    in_pieces : bool
        Whether its function of one operand is ours, made of ufuncs and of the operand's dtype, so
        that it may be computed piece by piece.
    cost : int
        What an element that is read or computed takes, in additions. That of a function of
        mathematics, which is what is thought of one that is not known, is 15.
    composed : callable
        The same function in simpler operations, which the compiler takes in its place; None where
        there is none, or `passes.expand` looks at its parameters first.
    within_loops : callable
        What writes an equation of it in loops (`graph.loop`), for programs that run without Python:
        a function of a `passes.rewrite.Rewriter` and the equation. None where there is none.
    scalar : object
        How native code computes an element (`compile.scalars`); None where NumPy does it.
    effect : bool or None
        Whether running it is seen from outside, as a line that it prints: it then runs as often as
        the program says, and in its order. None where that depends on the graphs in its
        parameters (`graph.effects`).
    """

    form = "primitive"
    multiple = False
    differentiable = True
    checks = False  # whether it runs in a graph even if nobody reads its result, for its error
    effect: bool | None = False
    opaque = False  # whether its vjp runs code of the user, which may look at the cotangent
    aligned = commutes = False
    fills = in_pieces = False
    by_number = False  # whether a partial is simpler where the other operand is a Python number
    counts = False  # whether of Python's bools it is an integer, as Python's + is
    cost = 1
    scalar: Any = None
    composed: Callable[..., Any] | None = None
    within_loops: Callable[..., Any] | None = None
    lies: Lies = staticmethod(fresh)  #: how its results lie in memory: a rule of `core.layout`
    loops = False  # whether it is the operation whose parameters are a `graph.loop.Loop`
    wraps = False  # whether it is its parameter `graph`, applied to the operands
    branches = False  # or, by the first of them, `true` or `false`, applied to the others
    chooses = False  # whether its derivative may leave elements absent that were not taken
    gaps = False  # whether its result has zeros in places to which it moves nothing
    hands_on = False  # whether the cotangents of its operands are views of its result's

    def __init__(self, name: str, impl: Callable[..., Any]) -> None:
        self.name, self.module = name, _defining_module()
        known = PRIMITIVES.get(name)
        if known is not None and known.is_ours and self.is_ours:
            raise ValueError(f"a primitive named {name!r} exists")
        self.impl = impl
        self.sample: Samples | None = None
        self.kernel: Callable[..., Any] | None = None
        self.backward_kernel: BackwardKernel | None = None
        self.flags: Any = None  # of elementwise operations: `saved_flags` for every mask
        self.recorders: list[Any] = []  # what a tape has written for it, by the traced operands
        if known is None or not known.is_ours:
            PRIMITIVES[name] = self

    @property
    def view(self) -> bool:
        """Whether it only shows elements of its operand in another order or shape."""
        return self.lies is moved or self.lies is reshaped

    @property
    def is_ours(self) -> bool:
        """Whether it was defined by funcgrad itself, so that its name and our sources tell all."""
        return self.module.startswith("funcgrad.")

    @property
    def opens(self) -> bool:
        """Whether its graphs may be given one operand more, as it is itself."""
        return self.loops or self.wraps or self.branches

    def place_of_consts(self, params: Params) -> int:
        """Where that operand stands; the graphs take it first."""
        return int(self.branches or bool(self.loops and params["counted"]))

    def stated(self) -> tuple[Any, ...]:
        """What its author stated: the functions that it is made of, and its class."""
        return (self.impl, type(self))

    def __repr__(self) -> str:
        return self.name

    def __call__(self, *operands: Any, **params: Any) -> Any:
        """Apply it to operands of any kind: numbers, lists, arrays, traced values and views."""
        from funcgrad.core.tracer import bind, operand  # tracers stand on primitives

        return bind(self, [operand(x) for x in operands], params)

    def take_kernel(self, kernel: Callable[..., Any]) -> None:
        """Let ``kernel(impl, *arrays, **params)`` compute it from now on.

        The kernel calls `impl` for what it does not take.
        """
        self.kernel = kernel
        self.impl = functools.partial(kernel, self.impl)

    def take_backward_kernel(self, pull: Pull, *, of_operand: bool = False) -> None:
        """Let ``pull(node, g)`` compute the cotangents of large arrays from now on.

        Large is the cotangent, or the first operand if `of_operand`.
        """
        self.backward_kernel = BackwardKernel(pull, of_operand)

    def saved_flags(self, mask: int, count: int) -> tuple[bool, ...]:
        """Which of (outputs, operand 0, …) a node has to keep; `mask` has the traced operands."""
        return (True,) * (count + 1)

    def type_rule(self, types: Sequence[ArrayType], params: Params) -> Any:
        """The type of the output, or the tuple of types of the outputs."""
        raise NotDifferentiableError(located(f"{self.name} states no type rule"))

    def vjp(self, node: Any, g: Any) -> Sequence[Array | None]:
        """The cotangents of the operands of `node`, given that of its output(s)."""
        raise NotDifferentiableError(located(f"{self.name} has no derivative in reverse mode"))

    def jvp(self, y: Any, xs: Sequence[Array], ts: Sequence[Array | None], params: Params) -> Any:
        """The tangent of the output(s) `y`, given the tangents `ts` (None is zero)."""
        raise NotDifferentiableError(located(f"{self.name} has no derivative in forward mode"))

    def batch(self, size: int, xs: Sequence[Array], batched: Sequence[bool], params: Params) -> Any:
        """Apply to operands of which some carry a batch axis of `size` in front."""
        raise NotDifferentiableError(located(f"{self.name} has no batching rule"))

    def is_linear(self, mask: Sequence[bool], params: Params) -> bool:
        """Whether the operation is linear in the operands of `mask` taken together."""
        return False

    def linear_flow(
        self, mask: Sequence[bool | None], params: Params
    ) -> tuple[str, Sequence[bool | None] | None]:
        """The name of what is not linear in the operands of `mask`, or "", and which outputs
        depend on them (None: all). In the mask, and of an output, None means that it is zero.
        """
        if self.is_linear([bool(m) for m in mask], params):
            return "", None
        with_zeros = None in mask and self.is_linear([m is not False for m in mask], params)
        return "" if with_zeros else self.name, None

    # A higher-order primitive overrides these five to state its own action.

    def tape(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        """Record one application on a tape."""
        return trace.record(self, args, params)

    def forward(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        """Apply to dual numbers."""
        return trace.push(self, args, params)

    def map(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        """Apply to batched operands."""
        return trace.batch(self, args, params)

    def stage(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        """Append an equation to a graph."""
        return trace.append(self, args, params)

    def mark(self, trace: Any, args: Sequence[Array], params: Params) -> Any:
        """Apply to cotangents or tangents of which elements may be absent."""
        return trace.plainly(self, args, params)
