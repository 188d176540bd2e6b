"""Threads and forks: no state is shared but counters and locked caches."""

import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

X = np.linspace(0.1, 0.9, 5)


def in_threads(work, count=8):
    """Run ``work(k)`` in `count` threads that start together; raise what one of them raised."""
    gate, raised = threading.Barrier(count), []

    def run(k):
        gate.wait()
        try:
            work(k)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if raised:
        raise raised[0]


def written(x):
    b = fnp.zeros(5)
    b[0] = x[1]
    b[1:] += x[:4] * x[1:]
    return np.sum(b**2)


PROGRAMS = {
    "grad": fg.grad(lambda x: np.sum(np.sin(x) * x)),
    "nested grad": fg.grad(lambda x: np.sum(x * fg.grad(lambda y: np.sum(np.sin(x * y)))(x))),
    "writing": fg.grad(written),
    "vmap of grad": fg.vmap(fg.grad(lambda x: np.sin(x) * x)),
    "jvp of grad": lambda x: fg.jvp(fg.grad(lambda y: np.sum(y**3)), (x,), (x,))[1],
    "jit": fg.jit(fg.grad(lambda x: np.sum(np.exp(-x * x)))),
    "grad of jit": fg.grad(fg.jit(lambda x: np.sum(np.exp(-x * x)))),
    "checkpoint": fg.grad(fg.checkpoint(lambda x: np.sum(np.exp(-x * x)))),
    "hessian": fg.hessian(lambda x: np.sum(np.sin(x)) * x[0]),
}


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_one_transformed_function_in_eight_threads(f):
    inputs = [X + k for k in range(8)]
    wanted = [f(x) for x in inputs]

    def work(k):
        for _ in range(25):
            np.testing.assert_array_equal(f(inputs[k]), wanted[k])

    in_threads(work)


def test_a_function_is_staged_in_several_threads_at_once():
    """The first call of every thread misses the cache; all of them get the same answer."""
    for _ in range(10):
        f = fg.jit(fg.grad(lambda x: np.sum(np.sin(x) * x)))
        in_threads(lambda k: np.testing.assert_allclose(f(X), np.cos(X) * X + np.sin(X)))


def test_first_use_of_an_operation_in_several_threads_at_once():
    """What is written out on first use (a recorder) may be written by two threads; both work."""
    code = """
        import threading
        import numpy as np
        import funcgrad as fg

        x = np.linspace(0.1, 0.9, 5)
        gate, right = threading.Barrier(8), []

        def work():
            gate.wait()
            g = fg.grad(lambda x: np.sum(np.sin(x) * np.exp(x) / np.sqrt(x)))(x)
            right.append(g)

        threads = [threading.Thread(target=work) for _ in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert len(right) == 8
        assert all(np.array_equal(g, right[0]) for g in right)
    """
    run(code)


def run(code):
    """Run a program in a fresh interpreter; a hang or an abort fails."""
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=120)


FORK = """
    import os, warnings
    import numpy as np
    os.environ.setdefault("FUNCGRAD_BACKEND", "interpreter")
    warnings.simplefilter("ignore", DeprecationWarning)
    import funcgrad as fg

    x = np.linspace(0.1, 0.9, 5)
    jitted = fg.jit(fg.grad(lambda x: np.sum(np.sin(x) * x)))

    def right():
        want = np.cos(x) * x + np.sin(x)
        assert np.allclose(fg.grad(lambda x: np.sum(np.sin(x) * x))(x), want)
        assert np.allclose(jitted(x), want)
        assert np.allclose(fg.vmap(fg.grad(lambda x: np.sin(x) * x))(x), want)

    def in_child():
        pid = os.fork()
        if pid == 0:
            try:
                right()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(pid, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs os.fork")
@pytest.mark.parametrize(
    "order",
    [
        "in_child(); right()",  # before anything was used
        "right(); in_child(); right(); in_child()",  # after, and once more
        "fg.grad(lambda x: (in_child(), x * x)[1])(1.0)",  # in the middle of a transform
    ],
)
def test_fork(order):
    run(textwrap.dedent(FORK) + order)


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs os.fork")
def test_fork_while_other_threads_take_gradients():
    run(
        textwrap.dedent(FORK)
        + textwrap.dedent("""
        import threading

        stop = threading.Event()

        def work():
            while not stop.is_set():
                right()

        threads = [threading.Thread(target=work) for _ in range(3)]
        [t.start() for t in threads]
        for _ in range(5):
            in_child()
        stop.set()
        [t.join() for t in threads]
        """)
    )
