"""Steps that are traced in several threads: no lock is held while code of the user runs."""

import signal
import threading

import pytest

import funcgrad.torch as torch

LONG = 30.0  # seconds, in which only a deadlock does not end


def started(f):
    thread = threading.Thread(target=f, daemon=True)
    thread.start()
    return thread


def test_a_step_that_waits_for_another_thread_is_traced():
    w, v = torch.ones(3), torch.ones(3)
    asked, answered, found = threading.Barrier(2), threading.Barrier(2), []

    def work():
        asked.wait(LONG)
        found.append(float(torch.compile(lambda x: (v * x).sum())(torch.ones(3))))
        answered.wait(LONG)

    def step(x):
        asked.wait(LONG)
        answered.wait(LONG)
        return (w * x).sum()

    thread = started(work)
    run = torch.compile(step)
    assert float(run(torch.ones(3))) == 3.0
    thread.join(LONG)
    assert found == [3.0] and run.calls == 1


def test_a_step_that_sets_an_event_runs_as_it_is_written():
    """A program would set it at the first call only."""
    w, done = torch.ones(3), threading.Event()

    def step(x):
        done.set()
        return (w * x).sum()

    run = torch.compile(step)
    for _ in range(3):
        done.clear()
        assert float(run(torch.ones(3))) == 3.0 and done.is_set()
    assert run.calls == 0


def test_a_handler_of_a_signal_runs_a_step_while_another_thread_traces():
    if not hasattr(signal, "setitimer"):
        pytest.skip("there is no such signal here")
    w, v = torch.ones(3), torch.ones(3)
    inner = torch.compile(lambda x: (v * x).sum())
    traces, handled, found = threading.Event(), threading.Event(), []

    def step(x):
        traces.set()
        assert handled.wait(LONG)
        return (w * x).sum()

    def handle(*_):
        found.append(float(inner(torch.ones(3))))
        handled.set()

    before = signal.signal(signal.SIGALRM, handle)
    try:
        thread = started(lambda: found.append(float(torch.compile(step)(torch.ones(3)))))
        assert traces.wait(LONG)
        signal.raise_signal(signal.SIGALRM)
        thread.join(LONG)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert found == [3.0, 3.0]


def test_who_needs_the_same_tensors_waits_until_they_hold_numbers_again():
    w = torch.ones(3, requires_grad=True)
    traces, go = threading.Event(), threading.Event()
    found = {}

    def first(x):
        traces.set()
        assert go.wait(LONG)
        return (w * x).sum()

    other = torch.compile(lambda x: (w * x * 2.0).sum())
    other(torch.ones(3))  # it is known, and yet must not run with what `first` traces
    one = started(lambda: found.update(one=float(torch.compile(first)(torch.ones(3)))))
    assert traces.wait(LONG)
    new = torch.compile(lambda x: (w * x * 3.0).sum())
    two = started(lambda: found.update(two=float(other(torch.ones(3)))))
    three = started(lambda: found.update(three=float(new(torch.ones(3)))))
    for thread in (two, three):
        thread.join(0.05)
        assert thread.is_alive()
    go.set()
    for thread in (one, two, three):
        thread.join(LONG)
    assert found == {"one": 3.0, "two": 6.0, "three": 9.0}


def test_an_error_in_a_trace_gives_the_tensors_back():
    w = torch.ones(3)

    def step(x):
        raise RuntimeError("as it was written")

    with pytest.warns(UserWarning, match="as it was written"), pytest.raises(RuntimeError):
        torch.compile(step)(w)
    found = []
    thread = started(lambda: found.append(float(torch.compile(lambda x: x.sum())(w))))
    thread.join(LONG)
    assert found == [3.0]
