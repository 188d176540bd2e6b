"""One checkpointed call: what stands for its saved tensors, and how they are computed again."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from typing import Any

from funcgrad.errors import user_line
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.autograd.graph import saved_tensors_hooks
from funcgrad.torch.graph_task import current_task
from funcgrad.torch.modes import enable_grad, modes
from funcgrad.torch.nodes import AccumulateGrad
from funcgrad.torch.saved import MODIFIED_TEXT, Packed

__all__ = ["CheckpointError", "Frame"]

TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint-debug mode globally.
"""
MULTIPLE = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked "
    "once. If you are calling ctx.saved_tensors in backward, make sure to do so only once. "
    "Otherwise please open an issue with details on your use case."
)


class CheckpointError(RuntimeError):
    """The recomputation did not do what the forward pass did."""


class StopRecomputation(Exception):
    """All that is needed has been computed again."""


class Holder:
    """In the place of a saved tensor; it gets one handle for each pass that needs it."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}


USED = object()


class Frame:
    """One call of a checkpointed function."""

    def __init__(
        self, again: Callable[..., Any], early_stop: bool, check: str, debug: bool
    ) -> None:
        self.again, self.early_stop, self.check, self.debug = again, early_stop, check, debug
        self.inputs: list[Any] = []
        self.holders: list[weakref.ref[Holder]] = []
        self.metadata: list[Any] = []
        self.lines: list[str] = []
        self.lines_again: list[str] = []
        self.counts: dict[Any, int] = {}
        self.done: set[Any] = set()
        self.completed = False
        self.ignore_mismatch = False

    def save_inputs(self, args: tuple[Any, ...]) -> None:
        """Keep the arguments; inside another checkpoint they are what that one has saved."""
        self.inputs = [Input(x) if isinstance(x, Tensor) else x for x in args]

    def describe(self, x: Tensor) -> Any:
        """What has to be the same when it is computed again."""
        if self.check == "none":
            return None
        return {"shape": x.shape, "dtype": x.dtype, "device": x.device}

    # -- the hooks of the forward pass

    def pack(self, x: Tensor) -> Holder:
        holder = Holder()
        self.holders.append(weakref.ref(holder))
        self.metadata.append(self.describe(x))
        if self.debug:
            self.lines.append(str(user_line()))
        return holder

    def unpack(self, holder: Holder) -> Any:
        task = current_task()
        key = object() if task is None else task.id
        if key not in self.done:
            args = [x.open() if isinstance(x, Input) else x for x in self.inputs]
            with contextlib.suppress(StopRecomputation):
                hooks = saved_tensors_hooks(lambda x: self.pack_again(key, x), lambda x: x)
                with hooks, enable_grad():
                    self.again(*args)
            self.done.add(key)
            self._check_match(key)
        found = holder.values[key]
        if found is USED:
            raise CheckpointError(MULTIPLE)
        holder.values[key] = USED
        return found

    # -- while it is computed again

    def pack_again(self, key: Any, x: Tensor) -> Tensor:
        x = x.detach() if x.requires_grad else x
        k = self.counts.get(key, 0)
        self.counts[key] = k + 1
        if self.debug:
            self.lines_again.append(str(user_line()))
        if k >= len(self.holders):
            if not self.completed:  # the forward pass has ended early, with an exception
                self.ignore_mismatch = True
                return x
            raise self._error(
                "torch.utils.checkpoint: trying to save more tensors during recomputation than "
                "during the original forward pass.\n"
            )
        holder = self.holders[k]()
        if holder is not None:
            holder.values[key] = x
        if self.early_stop and k + 1 == len(self.holders):
            raise StopRecomputation
        return x

    def _check_match(self, key: Any) -> None:
        if self.ignore_mismatch:
            return
        count = self.counts.get(key, 0)
        if len(self.holders) != count:
            raise self._error(
                "torch.utils.checkpoint: A different number of tensors was saved during the "
                "original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.holders)}\n"
                f"Number of tensors saved during recomputation: {count}.\n"
            )
        different = ""
        for k, reference in enumerate(self.holders):
            holder = reference()
            if holder is None or self.check == "none":
                continue
            now = self.describe(holder.values[key])
            if now != self.metadata[k]:
                different += (
                    f"tensor at position {k}:\nsaved metadata: {self.metadata[k]}\n"
                    f"recomputed metadata: {now}\n"
                )
        if different:
            raise self._error(
                "torch.utils.checkpoint: Recomputed values for the following tensors have "
                f"different metadata than during the forward pass.\n{different}.\n"
            )

    def _error(self, text: str) -> CheckpointError:
        if not self.debug:
            return CheckpointError(text + TIP)
        one, two = ("\n".join(f"  {line}" for line in x) for x in (self.lines, self.lines_again))
        return CheckpointError(
            f"{text}\nOperations executed during the original forward (those that saved a tensor):"
            f"\n\n{one}\n\nOperations executed during recomputation:\n\n{two}\n\nERROR: Detected "
            "non-determinism while running activation checkpointing"
        )


class Input:
    """An argument, as the hooks around the checkpoint want it kept."""

    def __init__(self, x: Tensor) -> None:
        self.node, self.requires_grad = x._renewed().node, x.requires_grad
        self.version, self.count = x._t.version, x._t.version.count
        leaf = type(self.node) is AccumulateGrad
        self.held: Any = x if leaf or not modes.saved_hooks else None
        if modes.saved_hooks and not leaf:
            pack, unpack = modes.saved_hooks[-1]
            self.held = Packed(pack, unpack, x)

    def open(self) -> Tensor:
        """The tensor, with its history."""
        if isinstance(self.held, Packed):
            return self.held.open().detach().requires_grad_(self.requires_grad)
        if self.version.count != self.count:
            raise RuntimeError(
                MODIFIED_TEXT.format(
                    kind=self.held.type(),
                    shape=list(self.held.shape),
                    writer="",
                    now=self.version.count,
                    then=self.count,
                )
            )
        found: Tensor = self.held
        return found
