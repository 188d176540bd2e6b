"""``ctx``: what `forward` of a custom function leaves for `backward` and `jvp`.

On the root tape it is the node of the call, so ``y.grad_fn`` is what `forward` got as `ctx`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.modes import modes
from funcgrad.torch.nodes import AccumulateGrad, GradNode, pick
from funcgrad.torch.root import ROOT, RootTracer, bare
from funcgrad.torch.saved import FREED_TEXT, HOOKED, Packed, modified

__all__ = ["BackwardCFunction", "FunctionCtx"]


class FunctionCtx:
    """The methods of ``ctx``."""

    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True
    to_save: Sequence[Any] = ()
    saved_for_forward: Sequence[Any] | None = None
    dirty_tensors: Sequence[Any] = ()
    non_differentiable: Sequence[Any] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for `backward`, which finds them in ``ctx.saved_tensors``.

        Inputs and outputs are checked there for changes in place, and `backward` may be
        differentiated through them; what else is saved is a constant.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`, which finds them in ``ctx.saved_tensors``."""
        for x in tensors:
            if not (isinstance(x, Tensor) or x is None):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save "
                    "non-tensors as attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Say which inputs `forward` has changed in place; they have to be returned."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say which outputs have no derivative."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` and `jvp` get zeros in the place of None; they do by default."""
        self.materialize_grads = value


class SavedEntry:
    """A tensor that a custom function saved.

    Of an input it holds the tracer, of an output the value only, for the output holds the node.
    """

    __slots__ = ("count", "held", "k", "parent", "version")

    def __init__(self, node: BackwardCFunction, x: Tensor, k: int | None) -> None:
        t = x._renewed()
        self.version, self.count, self.k = t.version, t.version.count, k
        self.parent = None if k is not None else t.node
        if modes.saved_hooks:
            shown = box(ROOT.tracer(t.value, pick(node, k))) if k is not None else x
            pack, unpack = modes.saved_hooks[-1]
            self.held: Any = Packed(pack, unpack, shown)
        else:
            self.held = bare(t) if k is not None else t

    def check(self, node: Any) -> None:
        """Raise when the tensor has been changed since."""
        if type(self.held) is not Packed and self.version.count != self.count:
            value = self.held.value if type(self.held) is RootTracer else self.held
            made_by = self.parent if self.k is None else pick(node, self.k)
            raise modified(node, value, self.version, self.count, made_by)

    def open(self, node: Any) -> Tensor:
        """The tensor, with its history."""
        self.check(node)
        held = self.held
        if type(held) is Packed:
            held = held.open()._t
            held = held.value if type(held) is RootTracer else held
        elif type(self.parent) is AccumulateGrad:
            found: Tensor = self.parent.variable
            return found
        elif type(held) is RootTracer:
            return box(held)
        parent = self.parent if self.k is None else pick(node, self.k)
        if parent is None:
            return box(held)
        made = ROOT.tracer(held.value if type(held) is RootTracer else held, parent)
        made.version = self.version
        return box(made)

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Pack the saved tensor now; it is unpacked when it is needed."""
        if type(self.held) is Packed:
            raise RuntimeError(HOOKED)
        t = self.held
        shown = box(t.value if type(t) is RootTracer else t)
        shown._t.version = self.version
        self.held = Packed(pack_hook, unpack_hook, shown)


FREED_ENTRIES: tuple[Any, ...] = ()


class BackwardCFunction(FunctionCtx, GradNode):
    """The node of a custom function, which is its ``ctx``; a class for each function derives."""

    _forward_cls: ClassVar[Any]
    entries: Any = None  # of what is saved; None before, FREED_ENTRIES after

    def record(self, count: int) -> None:
        """Take the first state of a node."""
        self.params, self.saved, self.avals = {}, None, None
        self.extra = self.made = None
        self.origins, self.counts = (), ()
        self.places: tuple[int, ...] = tuple(range(count))

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {hex(id(self))}>"

    def shown_parents(self) -> Sequence[Any]:
        return [self.parents[k] for k in self.places]

    def check(self) -> None:
        """Raise when what was saved has been given back or changed."""
        if self.entries is FREED_ENTRIES:
            raise RuntimeError(FREED_TEXT)
        for entry in self.entries or ():
            if entry is not None:
                entry.check(self)

    def release(self) -> None:
        if self.entries:
            self.entries = FREED_ENTRIES

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` was given (in `jvp`: what `save_for_forward` was given)."""
        if self.__dict__.get("in_jvp"):
            return tuple(self.saved_for_forward or ())
        if self.entries is FREED_ENTRIES:
            raise RuntimeError(FREED_TEXT)
        return tuple(None if e is None else e.open(self) for e in self.entries or ())

    saved_variables = saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        if self.entries is FREED_ENTRIES:
            raise RuntimeError(FREED_TEXT)
        return tuple(self.entries or ())

    def keep(self, outputs: Sequence[Any]) -> None:
        """Save what `save_for_backward` was given."""
        entries: list[SavedEntry | None] = []
        for i, x in enumerate(self.to_save):
            if x is None:
                entries.append(None)
                continue
            if not isinstance(x, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type "
                    f"{type(x).__name__}"
                )
            k = next((k for k, o in enumerate(outputs) if o is x), None)
            entries.append(SavedEntry(self, x, k))
        self.to_save = ()
        self.entries = entries

    def forget(self) -> None:
        """Let go of the outputs, whose node this is, after the call."""
        self.dirty_tensors = self.non_differentiable = ()
        self.saved_for_forward = None

    def keep_nothing(self) -> None:
        """No backward pass will come: only what the user asks for is checked."""
        for i, x in enumerate(self.to_save):
            if x is not None and not isinstance(x, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type "
                    f"{type(x).__name__}"
                )
        self.to_save, self.entries = (), ()

    def zeros(self, k: int) -> Any:
        """The zero cotangent of output `k`."""
        kind = self.outputs[k]
        return box(np.zeros(kind.shape, kind.dtype)[()])
