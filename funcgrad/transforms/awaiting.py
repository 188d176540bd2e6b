"""Transforms of async functions: what they make is awaited, as the function is.

A transform encloses the call of its function, and a plain call cannot be left while the function
waits. So the transform runs in a thread of its own, which takes turns with the thread that awaits
it: one computes while the other stands still. What the function waits for is handed to whoever
awaits the transform, so that any event loop will do. Under asyncio's debug mode the loop refuses
timers that are set from that thread, though nobody else runs meanwhile. It imports boundary and
errors.
"""

from __future__ import annotations

import _thread
import contextvars
import functools
import inspect
import sys
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any

from funcgrad.core.boundary import hide_frames
from funcgrad.errors import caller

__all__ = ["awaited", "is_async"]

Function = Callable[..., Any]


def is_async(f: Any) -> bool:
    """Whether calling `f` gives a coroutine: an async function, method, partial or object."""
    if type(f) is types.FunctionType:  # most are, and this is asked of each that is transformed
        return bool(f.__code__.co_flags & inspect.CO_COROUTINE)
    call = inspect.getattr_static(type(f), "__call__", None)
    return inspect.iscoroutinefunction(f) or inspect.iscoroutinefunction(call)


def awaited(make: Function, f: Function, given: tuple[Any, ...]) -> Function:
    """``make(f, *given)`` of an async function: an async function, too."""

    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        turns = _Turns()
        plain = _called(turns, f)
        try:
            return await _Awaitable(turns, lambda: make(plain, *given)(*args, **kwargs))
        except Exception as error:
            hide_frames(error)
            raise

    return wrapped


def _called(turns: _Turns, f: Function) -> Function:
    """`f` as a plain function of the transform's thread, under its own name."""

    def plain(*args: Any, **kwargs: Any) -> Any:
        return turns.result(f(*args, **kwargs))

    plain.__name__ = plain.__qualname__ = type(f).__name__  # of an object, which has none
    return functools.update_wrapper(plain, f, updated=())


class _Turns:
    """Two threads of which one runs at a time, and what they tell each other."""

    def __init__(self) -> None:
        import queue  # on first use, which most programs have not

        self.asked: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self.answered: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()

    def result(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """In the transform's thread: what a coroutine comes to."""
        step: Callable[[Any], Any] = coroutine.send
        answer: Any = None
        while True:
            try:
                promise = step(answer)
            except StopIteration as end:
                return end.value
            self.asked.put(("waits", promise))
            failed, answer = self.answered.get()
            step = coroutine.throw if failed else coroutine.send

    def run(self, call: Callable[[], Any], loop: Any, frame: Any) -> None:
        """The transform's thread: it knows the event loop and the line of who awaits it."""
        if loop is not None:
            sys.modules["asyncio"]._set_running_loop(loop)
        caller.frame = frame
        try:
            message = ("returned", call())
        except BaseException as error:
            message = ("raised", error)
        caller.frame = None
        self.asked.put(message)


class _Awaitable:
    """A call that runs in a thread of its own while it is awaited."""

    def __init__(self, turns: _Turns, call: Callable[[], Any]) -> None:
        self.turns, self.call = turns, call

    def __await__(self) -> Generator[Any, Any, Any]:
        turns, context = self.turns, contextvars.copy_context()
        asyncio = sys.modules.get("asyncio")  # which takes long to import: it may not be used
        loop = None if asyncio is None else asyncio._get_running_loop()
        frame = sys._getframe()
        _thread.start_new_thread(context.run, (turns.run, self.call, loop, frame))
        while True:
            try:
                kind, said = turns.asked.get()
            except BaseException as error:  # that of a signal: the function ends where it waits
                turns.answered.put((True, error))
                raise
            if kind == "returned":
                return said
            if kind == "raised":
                raise said
            try:
                turns.answered.put((False, (yield said)))
            except BaseException as error:
                turns.answered.put((True, error))
