"""Where no thread can be made the caller does the work: the same bits, nothing piles up."""

import functools
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compile.llvm import pool as pools
from funcgrad.compile.llvm.pool import PythonPool, pool, share, started

BODY = """
import gc, os, resource, sys, threading
import numpy as np
import numpy.testing  # before there is another user
import funcgrad as fg
fg.config.threads = 4
x = np.linspace(0.1, 1.0, (1 << 19) + 37)
def loss(x):
    return np.sum(np.tanh(x) * np.exp(-x * x))
fg.jit(lambda x: x * 2.0)(1.0)
fg.config.threads = 1
fg.grad(loss)(x)  # what is imported or compiled is
fg.config.threads = 4
limit()
def start():
    thread = threading.Thread(target=print)
    try:
        thread.start()
    except RuntimeError:
        return False
    thread.join()
    return True
assert not start(), "threads can be made all the same"
expected = fg.jit(fg.grad(loss))(x)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
first = fg.grad(loss)(x)
np.testing.assert_allclose(first, expected, rtol=1e-12, atol=1e-14)
for _ in range(30):
    assert fg.grad(loss)(x).tobytes() == first.tobytes()
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
assert grown < 30 * x.nbytes // 1024, grown  # a job holds its arrays
print("done")
"""
# Root is not bound by the limit of processes, so the process becomes nobody.
PROCESSES = """
def limit():
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresuid(65534, 65534, 65534)
"""
# As a container refuses them: every call of the C library by which Python starts a thread fails.
LOWEST = """
def limit():
    import _thread
    def refuse(*unused, **named): raise RuntimeError("can't start new thread")
    for module in (_thread, threading):
        for name in dir(module):
            if name.removeprefix("_") in ("start_new_thread", "start_new", "start_joinable_thread"):
                setattr(module, name, refuse)  # the last is that of Python 3.13 and later
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
@pytest.mark.parametrize("way", [PROCESSES, LOWEST], ids=["processes", "lowest"])
@pytest.mark.parametrize("kernels", ["off", "always"])
def test_gradients_where_no_thread_can_be_made(way, kernels, tmp_path):
    env = {**os.environ, "FUNCGRAD_KERNELS": kernels, "FUNCGRAD_CACHE": "off"}
    env |= {"NUMBA_CACHE_DIR": str(tmp_path)}
    code = "import os, resource, threading" + way + textwrap.dedent(BODY)
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=env)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_python_threads_that_cannot_be_made(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(fg.config, "threads", 3)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    seen = np.zeros(9, int)
    PythonPool().share(lambda k: seen.__setitem__(k, seen[k] + 1), 9)
    assert (seen == 1).all() and not started(threading.Thread())


def test_no_call_waits_for_the_pool_to_be_compiled(monkeypatch):
    """A machine on which nothing was compiled yet: the caller works alone meanwhile."""
    jobs = []
    monkeypatch.setattr(fg.config, "threads", 3)
    monkeypatch.setattr(pools, "_asked", [])
    monkeypatch.setattr(pools, "known", lambda: False)
    monkeypatch.delitem(sys.modules, "llvmlite", raising=False)
    monkeypatch.setattr("funcgrad.compile.llvm.tiering.later", jobs.append)
    # The pool of this process stays: another one would start in the memory of its threads.
    monkeypatch.setattr(pools, "_pool", functools.cache(pools._pool.__wrapped__))
    who = set()
    for _ in range(2):
        pools.share(lambda k: who.add(threading.get_ident()), 9)
    assert who == {threading.get_ident()} and len(jobs) == 1
    assert pools._pool.cache_info().currsize == 0


@pytest.mark.parametrize("make", [pool, PythonPool])
def test_an_exception_ends_the_pieces_of_others(make, monkeypatch):
    """Helpers stop with the piece that they have."""
    monkeypatch.setattr(fg.config, "threads", 3)
    begun, failed = [], threading.Event()
    helping = threading.Event()
    caller = threading.get_ident()

    def work(piece):
        begun.append(piece)
        if threading.get_ident() == caller:
            helping.wait(60)
            failed.set()
            raise KeyError("the caller")
        helping.set()
        failed.wait(60)

    with pytest.raises(KeyError, match="the caller"):
        make().share(work, 100_000)
    count = len(begun)
    assert count < 1000 and len(begun) == count


@pytest.mark.parametrize("make", [pool, PythonPool])
def test_what_a_helper_raises_ends_the_run(make, monkeypatch):
    monkeypatch.setattr(fg.config, "threads", 3)
    caller, helped = threading.get_ident(), threading.Event()

    def work(piece):
        if threading.get_ident() != caller:
            helped.set()
            raise KeyError("a helper")
        helped.wait(60)

    with pytest.raises(KeyError, match="a helper"):
        make().share(work, 100_000)


def test_work_inside_of_work(monkeypatch):
    monkeypatch.setattr(fg.config, "threads", 3)
    seen = np.zeros((20, 30), int)

    def row(k):
        def element(j):
            seen[k, j] += 1

        pool().share(element, 30)

    pool().share(row, 20)
    assert (seen == 1).all()


def test_threads_have_a_stated_stack(monkeypatch):
    """A piece may use a megabyte of it, whatever the limit of stacks says."""
    code = """
        import threading
        import numpy as np
        import funcgrad as fg
        from funcgrad.compile import cache
        from funcgrad.compile.llvm.pool import pool
        fg.config.threads = 3
        text = '''
        define void @deep(ptr %arguments, i64 %first, i64 %last, i64 %thread) {
        entry:
          %room = alloca [3145728 x i8]
          store volatile i8 1, ptr %room
          %end = getelementptr i8, ptr %room, i64 3145727
          store volatile i8 1, ptr %end
          %place = getelementptr i8, ptr %arguments, i64 %first
          br label %idle
        idle:
          %k = phi i64 [ 0, %entry ], [ %next, %idle ]
          store volatile i8 1, ptr %place
          %next = add i64 %k, 1
          %more = icmp slt i64 %next, 100000
          br i1 %more, label %idle, label %out
        out:
          ret void
        }
        '''
        library = cache.library(text)
        kernel = library.address("deep")
        seen = np.zeros(1000, np.int8)
        def run():
            for _ in range(5):
                pool().run(kernel, seen.ctypes.data, 1000)
        threading.stack_size(16 << 20)
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        print("done")
    """
    if sys.platform != "linux":
        pytest.skip("a limit of Linux")
    command = ["sh", "-c", 'ulimit -s 1024; exec "$0" -c "$1"', sys.executable]
    command.append(textwrap.dedent(code))
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_interpreter_exits_while_helpers_run_python(monkeypatch):
    code = """
        import threading, time
        import funcgrad as fg
        from funcgrad.compile.llvm.pool import pool
        fg.config.threads = 3
        helped = threading.Event()
        def work(piece):
            helped.set()
            sum(range(2000))
        def churn():
            while True:
                pool().share(work, 50)
        for _ in range(3):
            threading.Thread(target=churn, daemon=True).start()
        helped.wait()
        print("leaving")
    """
    for _ in range(3):
        command = [sys.executable, "-c", textwrap.dedent(code)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert (done.returncode, done.stdout, done.stderr) == (0, "leaving\n", "")


def test_an_interrupt_comes_between_pieces():
    signal = pytest.importorskip("signal")
    if not hasattr(signal, "setitimer"):
        pytest.skip("needs timers")
    begun, before = [], signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            share(lambda piece: begun.append(sum(range(1000))), 10**9)
        count = len(begun)
        assert count < 10**6 and len(begun) == count
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
