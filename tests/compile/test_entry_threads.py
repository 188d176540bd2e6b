"""Entry points called by several threads, interrupted, after fork and at exit."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from entry_programs import nested, same, slow

from funcgrad.config import config


@pytest.mark.parametrize("threads", [1, 3])
def test_parallel_kernels(entry, kernels, threads):
    config.threads = threads
    x = np.random.default_rng(0).standard_normal(5000)
    f = entry(slow(kernels, 5000, 10))
    for _ in range(5):
        same(f(x), x)


def test_several_threads_at_once(entry, kernels):
    config.threads = 2
    f = entry(slow(kernels, 300, 100, workspace=30_000), nested(kernels))
    failures = []

    def work(k):
        x = np.full(300, float(k))
        tail = [np.float64(k), (None, np.ones(1))]
        for j in range(150):
            if (f(x) != x).any():
                failures.append(k)
            result = f({"w": x[:3], "b": x[:2] + j}, tail)
            if (result["b"] != 2 * (x[:2] + j)).any() or result["more"][0] != k:
                failures.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures


def test_arguments_in_containers_live_while_a_kernel_reads_them(entry, kernels):
    """Another thread empties the container meanwhile."""
    config.threads = 1
    chunks = 200
    f = entry(slow(kernels, chunks, 300_000, arguments=({"x": 0},)))
    seen = 0
    while seen < 2:
        holder = {"x": np.full(chunks, 3.0)}
        junk = []

        def empty(holder=holder, junk=junk):
            time.sleep(0.005)
            holder.clear()
            junk.extend(np.full(chunks, -1.0) for _ in range(2000))

        thread = threading.Thread(target=empty)
        thread.start()
        result = f(holder)
        thread.join()
        if result is not NotImplemented:  # else the other one was there first
            assert (result == 3.0).all()
            seen += 1


PROGRAM = """
    import os, sys, time, threading
    sys.path[:0] = [{here!r}]
    from entry_programs import Kernels, slow
    from funcgrad.compile.llvm.entry import Entry, native
    from funcgrad.config import config
    import numpy as np
    {prepare}
    config.threads = {threads}
    kernels = Kernels()
    f = Entry()
    chunks = 200_000
    f.add(slow(kernels, chunks, 500_000))
    f.add(slow(kernels, 10, 1))
    x = np.zeros(chunks)
    print("ready", flush=True)
"""


def start(body, threads, make):
    prepare = "" if make == "native" else "native.native = lambda: None"
    head = PROGRAM.format(here=os.path.dirname(__file__), threads=threads, prepare=prepare)
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
@pytest.mark.parametrize("make", ["native", "python"])
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c(make, threads):
    body = """
        before = sys.getrefcount(x)
        try:
            f(x)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        assert sys.getrefcount(x) == before
        assert (f(np.ones(10)) == 1).all()
    """
    process = start(body, threads, make)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=120)
    assert (out, error) == ("interrupted\n", "")


@pytest.mark.parametrize("threads", [1, 2])
def test_the_interpreter_exits_while_a_call_runs(threads):
    body = """
        threading.Thread(target=f, args=(x,), daemon=True).start()
        def churn():
            while True: f(np.ones(10))
        threading.Thread(target=churn, daemon=True).start()
        time.sleep(0.1)
    """
    process = start(body, threads, "native")
    out, error = process.communicate(timeout=120)
    assert (process.returncode, error) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_fork(entry, kernels):
    config.threads = 2
    f = entry(slow(kernels, 500, 100, workspace=50_000))
    x = np.arange(500.0)
    same(f(x), x)
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if all((f(x) == x).all() for _ in range(5)) else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
