"""Transforms of async functions are async functions."""

import asyncio
import contextlib
import contextvars
import functools
import inspect
import signal
import threading
import traceback

import numpy as np
import pytest

import funcgrad as fg

X = np.array([0.3, -0.7, 1.1])
OURS = fg.__path__[0]
number = contextvars.ContextVar("number", default=0)


def plain(x, k=2.0):
    return np.sum(np.sin(x) * k)


async def loss(x, k=2.0):
    await asyncio.sleep(0.001)
    y = np.sin(x) * k
    await asyncio.sleep(0)
    return np.sum(y)


class Model:
    w = 1.0

    async def method(self, x, k=2.0):
        return await loss(x, self.w * k)

    async def __call__(self, x, k=2.0):
        return await loss(x, self.w * k)


WAYS = {
    "grad": fg.grad,
    "value_and_grad": fg.value_and_grad,
    "twice": lambda f: fg.grad(lambda_of(fg.grad(f))),
    "jacfwd": fg.jacfwd,
    "jacrev": fg.jacrev,
    "jacobian": fg.jacobian,
    "hessian": fg.hessian,
    "checkpoint": fg.checkpoint,
    "gradient of a checkpoint": lambda f: fg.grad(fg.checkpoint(f)),
    "mapped": lambda f: lambda x: fg.vmap(fg.grad(f))(np.stack([x, 2 * x])),
    "chosen": lambda f: functools.partial(fg.grad(f, argnames="x"), k=3.0),
}


def lambda_of(g):
    """The sum of what a function gives, async as that is."""
    if not inspect.iscoroutinefunction(g):
        return lambda x: np.sum(g(x) ** 2)

    async def total(x):
        return np.sum(await g(x) ** 2)

    return total


@contextlib.contextmanager
def as_users_see_it():
    before, fg.config.traceback = fg.config.traceback, "program"
    try:
        yield
    finally:
        fg.config.traceback = before


def came_to(call):
    """What awaiting a call comes to, in a loop of its own."""

    async def main():
        return await call()

    return asyncio.run(main())


KINDS = {
    "function": loss,
    "partial": functools.partial(loss),
    "method": Model().method,
    "object": Model(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_they_are_those_of_the_function_that_does_not_wait(way, kind):
    f = KINDS[kind]
    found = came_to(lambda: WAYS[way](f)(X))
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(WAYS[way](plain)(X)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_they_are_async_functions_of_the_same_name():
    made = fg.grad(loss)
    assert inspect.iscoroutinefunction(made)
    assert made.__name__ == "loss"
    assert repr(made) == "<grad of loss>"


def test_many_at_once_and_within_each_other():
    async def main():
        return await asyncio.gather(*(fg.grad(loss)(k * X) for k in range(20)))

    before = threading.active_count()
    for k, found in enumerate(asyncio.run(main())):
        np.testing.assert_array_equal(found, fg.grad(plain)(k * X))
    assert threading.active_count() == before


def test_an_error_is_the_functions_own_and_shows_no_frame_of_ours():
    async def fails(x):
        await asyncio.sleep(0)
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine") as found, as_users_see_it():
        came_to(lambda: fg.grad(fails)(1.0))
    names = [frame.filename for frame in traceback.extract_tb(found.value.__traceback__)]
    assert [name for name in names if name.startswith(OURS)] == []
    assert names[-1] == __file__


def test_an_error_of_ours_names_the_line_that_awaits():
    async def vector(x):
        return x * np.ones(3)

    async def main():
        await fg.grad(vector)(1.0)  # here

    with pytest.raises(fg.errors.NonScalarOutputError, match=r"awaiting.py., line \d+, in main"):
        asyncio.run(main())


def test_who_is_cancelled_ends_where_it_waits():
    ended = []

    async def slow(x):
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(x)
        return x

    async def main():
        task = asyncio.create_task(fg.grad(slow)(1.0))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await fg.grad(slow)(2.0)

    asyncio.run(main())
    assert len(ended) == 2


def test_a_limit_of_time_within_the_function():
    async def f(x):
        async with asyncio.timeout(60):
            await asyncio.sleep(0.001)
        return x**2

    assert came_to(lambda: fg.grad(f)(3.0)) == 6.0


def test_any_event_loop_will_do():
    """Whatever drives the coroutine is given what the function waits for."""

    class Promise:
        def __await__(self):
            return (yield "promise")

    async def f(x):
        return x * await Promise()

    running = fg.grad(f)(3.0)
    assert running.send(None) == "promise"
    with pytest.raises(StopIteration) as end:
        running.send(5.0)
    assert end.value.value == 5.0
    left = fg.grad(f)(3.0)
    left.send(None)
    left.close()


def test_context_variables_are_those_of_the_task():
    async def f(x):
        return x * number.get()

    number.set(7)
    assert came_to(lambda: fg.grad(f)(1.0)) == 7.0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
def test_a_signal_while_it_waits_ends_it():
    class Ended(BaseException):
        pass

    def stop(*_):
        raise Ended

    async def f(x):
        await asyncio.sleep(60)
        return x

    old = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Ended):
            came_to(lambda: fg.grad(f)(1.0))
    finally:
        signal.signal(signal.SIGALRM, old)
