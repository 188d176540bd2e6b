"""Gradients in the handlers of signals and in finalizers, while the same thread is inside one."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.core import memory

HEAD = """
import gc, os, signal, sys, threading, weakref
import numpy as np
import funcgrad as fg
from funcgrad.core import memory
x = np.linspace(0.1, 1.0, 1 << 16)
def loss(x):
    return np.sum(np.exp(-x * x) * np.tanh(x))
expected = fg.grad(loss)(x).tobytes()
found = []
def quiet():
    signal.signal(signal.SIGALRM, signal.SIG_IGN)  # the handler sets the timer again
def work(*_):
    found.append(fg.grad(loss)(x).tobytes() == expected)
"""


def run(body):
    """A process of its own: what hangs is ended after some minutes."""
    command = [sys.executable, "-c", HEAD + textwrap.dedent(body)]
    env = {**os.environ, "FUNCGRAD_KERNELS": "off"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_a_handler_computes_gradients():
    """At every place where the interpreter looks for signals, those of `empty` among them."""
    body = """
        def handler(*_):
            work()
            signal.setitimer(signal.ITIMER_REAL, 1e-4)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 1e-4)
        double = np.dtype(float)
        while len(found) < 100:
            for _ in range(200):
                memory.empty((1 << 15,), double)
            assert fg.grad(loss)(x).tobytes() == expected
        quiet()
        assert all(found)
        print("done")
    """
    assert run(body) == "done\n"


def test_finalizers_compute_gradients():
    """Of arrays that memory lets go of, and of objects that the collector finds anywhere."""
    body = """
        class Cyclic:
            def __init__(self): self.me = self
            def __del__(self): work()
        gc.set_threshold(5)
        fg.config.reused_memory = 1 << 21
        kept = []
        for k in range(40):
            Cyclic()
            y = memory.empty((1 << 14, 1 + k % 7), np.dtype(float))
            weakref.finalize(y, work)
            kept.append(y)
            del kept[:-3], y
        assert fg.grad(loss)(x).tobytes() == expected
        gc.set_threshold(700)
        kept.clear()
        memory.clear()
        gc.collect()
        assert all(found) and len(found) >= 70, len(found)
        print("done")
    """
    assert run(body) == "done\n"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_a_handler_runs_a_backward_pass_of_the_same_leaf():
    body = """
        import funcgrad.torch as torch
        w = torch.ones(5000, requires_grad=True)
        def handler(*_):
            with torch.enable_grad():  # a pass records nothing
                w.sum().backward()
            found.append(1)
            signal.setitimer(signal.ITIMER_REAL, 1e-4)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 1e-4)
        passes = 0
        while len(found) < 300:
            (w * 2.0).sum().backward()
            passes += 1
        quiet()
        assert (w.grad == 2.0 * passes + len(found)).all(), (w.grad, passes, len(found))
        torch.manual_seed(0)
        print("done")
    """
    assert run(body) == "done\n"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_a_handler_draws_random_numbers():
    body = """
        import funcgrad.torch as torch
        def handler(*_):
            found.append(torch.randn(7).shape[0] == 7)
            signal.setitimer(signal.ITIMER_REAL, 1e-4)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 1e-4)
        while len(found) < 200:
            torch.rand(100), torch.randn(33), torch.randperm(20)
        quiet()
        assert all(found)
        print("done")
    """
    assert run(body) == "done\n"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_a_handler_calls_compiled_functions_while_one_is_compiled():
    body = """
        f = fg.jit(fg.grad(loss))
        expected = f(x).tobytes()
        def handler(*_):
            found.append(f(x[:len(found) + 5]).shape[0] == len(found) + 5)
            signal.setitimer(signal.ITIMER_REAL, 1e-3)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 1e-3)
        k = 0
        while len(found) < 20:
            k += 1
            fg.jit(lambda x: np.sum(x * x * k))(x)
        quiet()
        assert all(found) and f(x).tobytes() == expected
        print("done")
    """
    assert run(body) == "done\n"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
@pytest.mark.parametrize("seconds", [5e-4, 2e-3, 1e-2])
def test_a_handler_calls_compiled_functions_while_the_compiler_is_imported(seconds):
    """Python cannot import a module within its own import: the interpreter computes."""
    body = f"""
        fg.config.cache = False  # nothing is found on disk: LLVM itself is imported
        small, g = x[:200], fg.jit(fg.grad(loss))
        want = fg.grad(loss)(small)
        def handler(*_):
            k = len(found)
            slope, line = g(small), fg.jit(lambda v: v * k)(small)
            found.append(np.allclose(slope, want) and np.allclose(line, small * k))
            signal.setitimer(signal.ITIMER_REAL, {seconds})
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, {seconds})
        assert np.allclose(fg.jit(loss)(small), loss(small))
        while len(found) < 5:
            fg.jit(lambda v: v + len(found))(small)
        quiet()
        assert all(found)
        print("done")
    """
    assert run(body) == "done\n"


@pytest.fixture
def fresh():
    memory.clear()
    yield
    memory.clear()


def test_an_array_that_a_weak_reference_sees_is_not_used_again(fresh):
    """The content behind a weak reference must not become another one."""
    cache = weakref.WeakValueDictionary()
    x = memory.empty((1 << 15,), np.dtype(float))
    x[:] = 1.0
    cache["x"] = x
    place = x.__array_interface__["data"][0]
    del x
    for _ in range(3):
        y = memory.empty((1 << 15,), np.dtype(float))
        y[:] = 2.0
    found = cache.get("x")
    assert found is None or (found == 1.0).all()
    assert found is None or found.__array_interface__["data"][0] == place


def test_threads_never_hold_the_same_memory(fresh):
    """Each writes its number into what it gets, and finds it there."""
    wrong, switch = [], sys.getswitchinterval()

    def work(number):
        held = []
        for k in range(1500):
            x = memory.empty((1 << 13,), np.dtype(float))
            x[0] = number
            held.append(x)
            if any(y[0] != number for y in held):
                wrong.append(number)
            if k % 5 == 0:
                held.clear()

    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
    finally:
        sys.setswitchinterval(switch)
    assert not wrong
    held = memory.held()
    assert 0 < held <= fg.config.reused_memory


def test_what_is_held_stays_bounded_among_threads(monkeypatch, fresh):
    monkeypatch.setattr(fg.config, "reused_memory", 1 << 21)

    def work(number):
        for k in range(400):
            memory.empty((1 + (k * number) % 11, 1 << 13), np.dtype(float))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    memory.empty((1, 1 << 18), np.dtype(float))
    assert memory.held() <= 1 << 21
