"""Threads, processes, depth and garbage.

The numbers are those of the table of traps.
"""

import gc
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp


def test_trap_30_threads():
    wrong = []

    def work(seed):
        x = np.random.default_rng(seed).normal(size=5)
        for _ in range(200):
            g = fg.grad(lambda x: fnp.sum(x * fg.grad(lambda y: fnp.sum(fnp.sin(x * y)))(x)))(x)
            # inner: x cos(x²); outer: d/dx of x² cos(x²)
            want = 2 * x * np.cos(x * x) - 2 * x**3 * np.sin(x * x)
            if not np.allclose(g, want):
                wrong.append(g)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_trap_30_fork():
    """In an interpreter of its own: other packages of the tests have threads that do not fork."""
    code = """
        import os
        import funcgrad as fg

        def child():
            pid = os.fork()
            if pid == 0:
                os._exit(0 if fg.grad(lambda x: x * x)(3.0) == 6.0 else 1)
            assert os.waitpid(pid, 0)[1] == 0

        child()
        assert fg.grad(lambda x: x * x)(3.0) == 6.0
        child()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)


def test_trap_31_a_million_operations():
    def f(x):
        for _ in range(1_000_000):
            x = x + 0.0
        return x

    assert fg.grad(f)(1.0) == 1.0


def test_trap_32_nothing_for_the_cycle_collector():
    x = np.linspace(0, 1, 4)

    def f(x):
        return fnp.sum(fnp.tanh(x) * x[1] + fnp.max(x))

    fg.grad(f)(x)
    gc.collect()
    gc.disable()
    try:
        for _ in range(100):
            fg.grad(f)(x)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_trap_33_nested_gradients_in_a_loop_leave_nothing():
    x = np.linspace(0, 1, 4)

    def f(x):
        return fnp.sum(fg.grad(lambda y: fnp.sum(fnp.sin(y) * y))(x) ** 2)

    fg.grad(f)(x)
    gc.collect()
    gc.disable()
    try:
        for _ in range(50):
            fg.grad(f)(x)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_trap_33_create_graph_in_a_loop():
    """Nothing is kept by `.grad`: as many objects after fifty passes as after ten."""
    torch = pytest.importorskip("funcgrad.torch")
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def step():
        (gradient,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        (gradient**2).sum().backward()
        x.grad = None

    def objects():
        gc.collect()
        return len(gc.get_objects())

    for _ in range(100):
        step()
    before = objects()
    for _ in range(50):
        step()
    assert objects() - before < 50


def test_trap_39_the_same_bits_from_first_call_to_last_and_for_any_number_of_threads():
    x = np.linspace(-2.0, 2.0, 100_001)

    def f(x):
        return np.sum(np.tanh(x) * np.exp(-x * x) + np.log1p(x * x))

    for run in (fg.grad(f), fg.jit(fg.grad(f))):
        first = run(x).tobytes()
        before = fg.config.threads
        try:
            for threads in (1, 2, 1):
                fg.config.threads = threads
                assert all(run(x).tobytes() == first for _ in range(10))
        finally:
            fg.config.threads = before


def test_trap_39_the_same_bits_from_process_to_process():
    code = """
        import hashlib
        import numpy as np
        import funcgrad as fg
        x = np.linspace(-2.0, 2.0, 5001)
        f = lambda x: np.sum(np.tanh(x) * np.exp(-x * x) + np.log1p(x * x))
        g = fg.grad(f)(x).tobytes() + fg.jit(fg.grad(f))(x).tobytes()
        print(hashlib.sha256(g).hexdigest())
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout
