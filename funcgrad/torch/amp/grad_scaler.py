"""The scaling of losses, so that small gradients of half precision are not rounded to zero."""

from __future__ import annotations

import collections
import enum
import math
import warnings
from collections.abc import Iterable
from typing import Any

from funcgrad.errors import outside
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.modes import no_grad
from funcgrad.torch.operations.creation import full

__all__ = ["GradScaler", "OptState"]


class OptState(enum.Enum):
    """What was done with the gradients of an optimizer since the last `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _fresh() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf": None}


class GradScaler:
    """Multiplies losses by a scale, divides gradients by it, and finds the largest that does well.

    A step whose gradients are not finite is left out, and the scale becomes smaller; after many
    steps without it becomes larger.

    Parameters
    ----------
    device : str, optional
        ``"cuda"``, the default, is disabled with a warning: there is none.
    init_scale, growth_factor, backoff_factor : float, optional
    growth_interval : int, optional
        How many steps in succession have to be finite before the scale grows.
    enabled : bool, optional
        Otherwise nothing is scaled, and `step` is that of the optimizer.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer, scaler = torch.optim.SGD([w], lr=0.5), torch.amp.GradScaler("cpu")
    >>> scaler.scale((w * w).sum()).backward()
    >>> w.grad
    tensor([131072., 131072.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w
    tensor([0., 0.], requires_grad=True)
    """

    _scale: Tensor | None
    _growth_tracker: Tensor | None

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda":
            said = "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling."
            warnings.warn(said, UserWarning, stacklevel=outside())
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._scale = init_scale, None
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker, self._growth_tracker = 0, None
        self._states: dict[int, dict[str, Any]] = collections.defaultdict(_fresh)

    def _made(self, function: str) -> tuple[Tensor, Tensor]:
        fix = (
            "This may indicate your script did not use scaler.scale(loss or outputs) earlier in "
            "the iteration."
        )
        if self._scale is None or self._growth_tracker is None:
            raise AssertionError(f"Attempted {function} but _scale is None.  {fix}")
        return self._scale, self._growth_tracker

    # ------------------------------------------------------------------------ scaling, unscaling

    def scale(self, outputs: Any) -> Any:
        """A loss, or tensors in tuples, lists and iterables, times the scale."""
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._scale = full((), self._init_scale, dtype=dtypes.float32)
            self._growth_tracker = full((), self._init_growth_tracker, dtype=dtypes.int32)
        return self._scaled(outputs)

    def _scaled(self, outputs: Any) -> Any:
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(map(self._scaled, outputs))
        if isinstance(outputs, Iterable):
            return map(self._scaled, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer by the scale, to clip them before `step`."""
        if not self._enabled:
            return
        scale, _ = self._made("unscale_")
        state = self._states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        state["found_inf"] = _unscaled(optimizer, 1.0 / scale.item())
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale, if that was not done, and let the optimizer step if all gradients are finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._made("step")
        state = self._states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if state["found_inf"] is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        made = None if state["found_inf"] else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return made

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Take the next scale: by what `step` has found, or `new_scale`."""
        if not self._enabled:
            return
        scale, tracker = self._made("update")
        if new_scale is None:
            found = [s["found_inf"] for s in self._states.values() if s["found_inf"] is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._grow(scale, tracker, any(found))
        elif isinstance(new_scale, float):
            scale.fill_(new_scale)
        elif new_scale.numel() != 1 or new_scale.requires_grad:
            raise AssertionError(
                "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
                "torch.FloatTensor with requires_grad=False."
            )
        else:
            scale.copy_(new_scale)
        self._states = collections.defaultdict(_fresh)

    def _grow(self, scale: Tensor, tracker: Tensor, found_inf: bool) -> None:
        if found_inf:
            scale.mul_(self._backoff_factor)
            tracker.fill_(0)
            return
        successful = int(tracker.item()) + 1
        if successful == self._growth_interval:
            larger = scale * self._growth_factor
            if math.isfinite(larger.item()):
                scale.copy_(larger)
            successful = 0
        tracker.fill_(successful)

    # -------------------------------------------------------------------------------- questions

    def get_scale(self) -> float:
        """The scale, 1 where it is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """By what the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Let the scale grow by `new_factor`."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """By what the scale is multiplied after a step that is not finite."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Multiply the scale by `new_factor` after a step that is not finite."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many finite steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Let the scale grow after `new_interval` finite steps."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        if self._growth_tracker is None:
            return self._init_growth_tracker
        return int(self._growth_tracker.item())

    def is_enabled(self) -> bool:
        """Whether losses are scaled."""
        return self._enabled

    # ------------------------------------------------------------------------------------ state

    def state_dict(self) -> dict[str, Any]:
        """The scale and how it grows; empty where it is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` gave, PyTorch's too."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None and self._growth_tracker is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, "
                    "or at the end after scaler.update()."
                )
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state


def _unscaled(optimizer: Any, factor: float) -> bool | None:
    """Multiply all gradients; whether one was not finite, None if there is none."""
    found: bool | None = None
    with no_grad():
        grads = [p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        if any(g.dtype is dtypes.float16 for g in grads):
            raise ValueError("Attempting to unscale FP16 gradients.")
        for g in grads:
            found = bool(found) or not bool(g.isfinite().all())
            g.mul_(factor)
    return found
