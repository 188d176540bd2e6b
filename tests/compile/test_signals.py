"""What a signal's handler raises while a kernel asks is kept, wherever in the answer it comes."""

from __future__ import annotations

import signal
import sys
from time import perf_counter

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compile import signals


class Ended(BaseException):
    """No `OSError`, as `InterruptedError` is: reading kept code answers those by compiling anew."""


def interrupted(answers, frame):
    """The next answer, in which the first line that runs raises."""

    def trace(frame, event, _):
        sys.settrace(None)
        raise KeyboardInterrupt

    frame.f_trace = trace
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        return next(answers)
    finally:
        sys.settrace(before)


def test_a_handler_that_raises_at_the_jump_of_the_loop():
    answers = signals._answers()
    assert next(answers) == 0
    try:
        assert interrupted(answers, answers.gi_frame) == 1
        with pytest.raises(KeyboardInterrupt):
            signals.reraise()
        assert next(answers) == 0
    finally:
        signals._raised.clear()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
def test_one_signal_after_the_other_ends_a_long_loop():
    def stop(*_):
        raise Ended

    endless = fg.jit(lambda x: fg.fori_loop(0, 10**12, lambda i, c: np.sin(c) + x, x))
    endless.explain(0.3)
    old = signal.signal(signal.SIGALRM, stop)
    try:
        for k in range(20):
            signal.setitimer(signal.ITIMER_REAL, 0.02 + 0.0007 * k)
            with pytest.raises(Ended):
                endless(0.3)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
def test_what_comes_behind_a_loop_that_was_ended_does_not_run():
    """Another loop, which would take as long again, and a function of Python."""
    seen = []

    def stop(*_):
        raise Ended

    def f(x):
        y = fg.fori_loop(0, 10**12, lambda i, c: np.sin(c) + x, x)
        fg.debug.callback(seen.append, y)
        return fg.fori_loop(0, 10**12, lambda i, c: np.cos(c) + x, y)

    endless = fg.jit(f)
    endless.explain(0.3)
    old = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Ended):
            endless(0.3)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert not seen


def test_a_loop_of_many_steps_keeps_no_rows_for_its_index():
    """The index is counted, where an array of all of them would take gigabytes."""

    def f(x, n):
        return fg.fori_loop(2, n, lambda i, c: c * 0.5 + x * (i % 3), x)

    graph = fg.make_graph(lambda x: f(x, 10**10))(0.5)
    assert all(np.size(array) < 100 for _, array in graph.constants)
    n = 2**20 + 2  # steps, the most of which the indices are kept
    rows, counted = (fg.jit(fg.value_and_grad(lambda x, n=n: f(x, n))) for n in (n, n + 3))
    np.testing.assert_allclose(counted(0.5), rows(0.5), rtol=1e-14)


LONG = {
    "scan of examples": lambda x: fg.vmap(
        lambda a: fg.scan(lambda c, _: (np.sin(c) * a, None), a, length=10**9)[0]
    )(x),
    "while_loop of examples": lambda x: fg.vmap(
        lambda a: fg.while_loop(
            lambda c: c[1] < 10**9, lambda c: (np.sin(c[0]) * a, c[1] + 1), (a, 0)
        )[0]
    )(x),
    "nested": lambda x: fg.fori_loop(
        0, 10**7, lambda i, c: fg.fori_loop(0, 1000, lambda j, d: np.sin(d) * 0.5 + x, c), x
    ),
    "checkpointed gradient": fg.grad(
        lambda x: np.sum(
            fg.scan(lambda c, _: (np.sin(c) * x, None), x, length=10**8, checkpoint=(10**5, 300))[0]
        )
    ),
    "in Python": lambda x: fg.fori_loop(
        0, 10**8, lambda i, c: np.fft.ifft(np.fft.fft(c)).real * x, x
    ),
}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
@pytest.mark.parametrize("kind", LONG)
def test_a_signal_ends_every_kind_of_loop_soon(kind):
    came = []

    def stop(*_):
        came.append(perf_counter())
        raise Ended

    f, x = fg.jit(LONG[kind]), np.full(4, 0.5)
    f.explain(x)
    old = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        begin = perf_counter()
        with pytest.raises(Ended):
            f(x)
        assert perf_counter() - came[0] < 0.2 and came[0] - begin < 1.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
