"""The modes of a thread: whether operations are recorded, inference mode, anomaly detection.

PyTorch's `no_grad`, `enable_grad`, `set_grad_enabled` and `inference_mode` serve as context,
as decorator and (the last two) as function. Each thread has its own modes.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from funcgrad.core.tracer import serial as level

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "modes",
    "no_grad",
    "set_grad_enabled",
]


class Modes(threading.local):
    """What holds in this thread."""

    def __init__(self) -> None:
        self.silent = contextvars.copy_context()  # in which NumPy does not warn
        self.silent.run(np.seterr, all="ignore")
        self.hot = self.silent.run

    grad = True
    inference = False
    anomaly = False
    check_nan = True
    saved_hooks: tuple[Any, ...] = ()  # pairs (pack, unpack), the innermost last
    saved_hooks_refused: str | None = None  # why hooks must not be used now
    dual: int | None = None  # the serial number of the level of `forward_ad`
    pushed_from = 0  # the first node of the latest tangent
    dual_nodes: list[Any]  # weak references of the nodes that have saved tangents
    forward_grad = True  # whether operations on dual numbers give tangents
    wished = False  # inside inference mode, where nothing is recorded: what `enable_grad` says
    off_since = 0  # the level of tracing at which recording was switched off

    stage: Any = None  # of the step that is traced to be compiled
    written: list[Any] | None = None  # tensors that hold values of a transform since, and theirs
    watching: list[Any] | None = None  # what the root tape is given, while a recipe is made of it

    autocast: Any = None  # the dtype in which operations of the first list compute (see `amp`)
    autocast_cache = True

    # calls a ufunc without NumPy's warnings; None unless operations are recorded and recording
    # does no more than to make a node
    hot: Callable[..., Any] | None

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in ("grad", "anomaly", "saved_hooks", "dual", "stage"):
            special = self.anomaly or self.saved_hooks or self.dual is not None
            special = special or self.stage is not None
            super().__setattr__("hot", self.silent.run if self.grad and not special else None)

    def switch(self, grad: bool) -> int:
        """Switch recording; gives `off_since` as it was."""
        before = self.off_since
        if self.inference:
            self.wished = grad
            return before
        if not grad:
            self.off_since = next(level)
        self.grad = grad
        return before

    def unrecorded(self, function: Callable[..., Any], *args: Any) -> Any:
        """A call that neither records nor runs code of the user, without NumPy's warnings."""
        state = self.__dict__
        before = self.grad, self.hot
        state["grad"], state["hot"] = False, None
        try:
            return self.silent.copy().run(function, *args)
        finally:
            state["grad"], state["hot"] = before

    def watched(
        self, applied: list[Any], function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """A call in the general way, which leaves in `applied` what the root tape is given."""
        state = self.__dict__
        before = self.hot
        state["watching"], state["hot"] = applied, None
        try:
            return function(*args, **kwargs)
        finally:
            state["watching"], state["hot"] = None, before

    @contextlib.contextmanager
    def without_saved_hooks(self) -> Iterator[None]:
        """What a pack hook computes is not packed again."""
        before, self.saved_hooks = self.saved_hooks, ()
        try:
            yield
        finally:
            self.saved_hooks = before


modes = Modes()


class Mode:
    """A context that also decorates functions, generator functions and classes' methods."""

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *_: object) -> None:
        raise NotImplementedError

    def clone(self) -> Self:
        """A fresh context of the same meaning: one for each call of a decorated function."""
        return type(self)()

    def __call__(self, function: Callable[..., Any]) -> Any:
        if inspect.isgeneratorfunction(function):
            return self._generator(function)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return wrapped

    def _generator(self, function: Callable[..., Any]) -> Any:
        """The mode holds while the generator's own code runs, not while its user's does."""

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                generator = function(*args, **kwargs)
            advance: Callable[[], Any] = functools.partial(next, generator)
            while True:
                try:
                    with self.clone():
                        item = advance()
                except StopIteration as stop:
                    return stop.value
                try:
                    sent = yield item
                    advance = functools.partial(generator.send, sent)
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    advance = functools.partial(generator.throw, error)

        return wrapped


class GradMode(Mode):
    """Switches recording on or off, and back at the end."""

    value: bool

    def __enter__(self) -> None:
        self.before = modes.grad, modes.wished
        self.off_before = modes.switch(self.value)

    def __exit__(self, *_: object) -> None:
        modes.grad, modes.wished = self.before
        modes.off_since = self.off_before


class no_grad(GradMode):
    """A context (or decorator) in which results do not require grad.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     print((x * 2).requires_grad)
    False
    """

    value = False

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        made = super().__new__(cls)
        return made if function is None else made(function)


class enable_grad(GradMode):
    """A context (or decorator) in which operations are recorded again.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     print((x * 2).requires_grad)
    True
    """

    value = True

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        made = super().__new__(cls)
        return made if function is None else made(function)


class set_grad_enabled(GradMode):
    """Switches recording: at once as a function, or until the end of a ``with`` block.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> with torch.set_grad_enabled(False):
    ...     print(torch.is_grad_enabled())
    False
    """

    def __init__(self, mode: bool) -> None:
        if type(mode) is not bool:
            raise TypeError(
                "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not "
                f"{type(mode).__name__}"
            )
        self.before = modes.grad, modes.wished
        self.value = mode
        self.off_before = modes.switch(self.value)

    def clone(self) -> Self:
        return type(self)(self.value)

    def __enter__(self) -> None:
        modes.switch(self.value)

    def __call__(self, function: Callable[..., Any]) -> Any:
        modes.grad, modes.wished = self.before  # a decorator changes nothing but the calls
        return super().__call__(function)


class inference_mode(Mode):
    """As `no_grad`, and the tensors made in it can never be recorded.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> with torch.inference_mode():
    ...     x = torch.ones(2)
    >>> x.is_inference()
    True
    """

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.mode = True
        return made(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def clone(self) -> Self:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        self.before = modes.grad, modes.inference, modes.wished
        modes.grad, modes.inference, modes.wished = not self.mode, self.mode, False

    def __exit__(self, *_: object) -> None:
        modes.grad, modes.inference, modes.wished = self.before


def is_grad_enabled() -> bool:
    """Whether operations are recorded in this thread.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.is_grad_enabled()
    True
    """
    return modes.wished if modes.inference else modes.grad


def is_inference_mode_enabled() -> bool:
    """Whether inference mode holds in this thread.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.is_inference_mode_enabled()
    False
    """
    return modes.inference
