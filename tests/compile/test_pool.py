"""Kernels in threads: every chunk once, the same result, after fork, at exit, under Ctrl-C."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from funcgrad.compile import cache
from funcgrad.compile.llvm.pool import NativePool, PythonPool, pool
from funcgrad.config import config

# arguments = {i64 *counts, i64 turns}: count each chunk, after so many turns of an idle loop.
COUNT = """
define void @count(ptr %arguments, i64 %first, i64 %last) {
entry:
  %counts = load ptr, ptr %arguments
  %turns.at = getelementptr i64, ptr %arguments, i64 1
  %turns = load i64, ptr %turns.at
  br label %chunk
chunk:
  %c = phi i64 [ %first, %entry ], [ %c.next, %done ]
  br label %idle
idle:
  %i = phi i64 [ 0, %chunk ], [ %i.next, %idle ]
  %seen = load volatile i64, ptr %turns.at
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %turns
  br i1 %more, label %idle, label %done
done:
  %place = getelementptr i64, ptr %counts, i64 %c
  %old = atomicrmw add ptr %place, i64 1 monotonic
  %c.next = add i64 %c, 1
  %again = icmp slt i64 %c.next, %last
  br i1 %again, label %chunk, label %out
out:
  ret void
}
"""
# arguments = {double *x, double *partials}: one partial sum for each block of 1024.
BLOCKS = """
define void @sums(ptr %arguments, i64 %first, i64 %last) {
entry:
  %x = load ptr, ptr %arguments
  %partials.at = getelementptr ptr, ptr %arguments, i64 1
  %partials = load ptr, ptr %partials.at
  br label %chunk
chunk:
  %c = phi i64 [ %first, %entry ], [ %c.next, %done ]
  %base = mul i64 %c, 1024
  br label %loop
loop:
  %i = phi i64 [ 0, %chunk ], [ %i.next, %loop ]
  %sum = phi <8 x double> [ zeroinitializer, %chunk ], [ %sum.next, %loop ]
  %k = add i64 %base, %i
  %at = getelementptr double, ptr %x, i64 %k
  %v = load <8 x double>, ptr %at, align 8
  %sum.next = fadd <8 x double> %sum, %v
  %i.next = add i64 %i, 8
  %more = icmp slt i64 %i.next, 1024
  br i1 %more, label %loop, label %done
done:
  %total = call reassoc double @llvm.vector.reduce.fadd.v8f64(double 0.0, <8 x double> %sum.next)
  %place = getelementptr double, ptr %partials, i64 %c
  store double %total, ptr %place
  %c.next = add i64 %c, 1
  %again = icmp slt i64 %c.next, %last
  br i1 %again, label %chunk, label %out
out:
  ret void
}
"""
# arguments = {i64 *numbers, i64 *seen}: note for each chunk, and count, the number of the thread.
NUMBERS = """
define void @numbers(ptr %arguments, i64 %first, i64 %last, i64 %thread) {
entry:
  %numbers = load ptr, ptr %arguments
  %inside.at = getelementptr ptr, ptr %arguments, i64 1
  %all = load ptr, ptr %inside.at
  %inside = getelementptr i64, ptr %all, i64 %thread
  br label %chunk
chunk:
  %c = phi i64 [ %first, %entry ], [ %c.next, %fine ]
  %others = atomicrmw add ptr %inside, i64 1 monotonic
  %place = getelementptr i64, ptr %numbers, i64 %c
  %shared = icmp ne i64 %others, 0
  %noted = select i1 %shared, i64 -1, i64 %thread
  store i64 %noted, ptr %place
  br label %idle
idle:
  %i = phi i64 [ 0, %chunk ], [ %i.next, %idle ]
  %seen = load volatile i64, ptr %place
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, 20000
  br i1 %more, label %idle, label %fine
fine:
  %left = atomicrmw sub ptr %inside, i64 1 monotonic
  %c.next = add i64 %c, 1
  %again = icmp slt i64 %c.next, %last
  br i1 %again, label %chunk, label %out
out:
  ret void
}
"""
POOLS = [pytest.param(pool, id="native"), pytest.param(PythonPool, id="python")]


@pytest.fixture(autouse=True)
def restore(tmp_path_factory, monkeypatch):
    monkeypatch.setattr(config, "threads", config.threads)


class Counter:
    """The counting kernel with its memory."""

    def __init__(self, chunks, turns=1):
        self.library = cache.library(COUNT)
        self.kernel = self.library.address("count")
        self.counts = np.zeros(chunks, np.int64)
        self.arguments = np.array([self.counts.ctypes.data, turns], np.int64)

    def run(self, where):
        where.run(self.kernel, self.arguments.ctypes.data, len(self.counts))


def test_the_native_pool_is_used_here():
    if sys.platform in ("linux", "darwin"):
        assert isinstance(pool(), NativePool) and pool().address


@pytest.mark.parametrize("make", POOLS)
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("chunks", [1, 2, 3, 7, 1000, 100_003])
def test_every_chunk_runs_once(make, threads, chunks):
    config.threads = threads
    counter = Counter(chunks)
    for _ in range(5):
        counter.run(make())
    assert (counter.counts == 5).all()


@pytest.mark.parametrize("make", POOLS)
@pytest.mark.parametrize(("threads", "most"), [(1, None), (4, None), (4, 2), (8, 1), (3, 100)])
def test_each_thread_of_a_run_has_a_number_of_its_own(make, threads, most):
    config.threads = threads
    library = cache.library(NUMBERS)
    numbers, inside = np.empty(300, np.int64), np.zeros(8, np.int64)
    arguments = np.array([numbers.ctypes.data, inside.ctypes.data])
    for _ in range(5):
        make().run(library.address("numbers"), arguments.ctypes.data, len(numbers), most)
        assert numbers.min() >= 0  # nobody else has the number at the same time
        assert numbers.max() < min(threads, most or threads)


@pytest.mark.parametrize("make", POOLS)
def test_a_blocked_sum_has_the_same_bits_for_any_number_of_threads(make):
    library = cache.library(BLOCKS)
    x = np.random.default_rng(0).standard_normal(512 * 1024)
    results = set()
    for threads in (1, 2, 3, 5, 16, 1):
        config.threads = threads
        partials = np.empty(512)
        arguments = np.array([x.ctypes.data, partials.ctypes.data])
        make().run(library.address("sums"), arguments.ctypes.data, 512)
        results.add(partials.tobytes())
    assert len(results) == 1
    np.testing.assert_allclose(partials, x.reshape(512, 1024).sum(1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("make", POOLS)
def test_several_threads_at_once(make):
    config.threads = 3
    failures = []

    def work(k):
        for chunks in range(1, 120 if make is pool else 20):
            counter = Counter(chunks + k, turns=50)
            counter.run(make())
            if not (counter.counts == 1).all():
                failures.append(counter.counts)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(5)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures


@pytest.mark.parametrize("make", POOLS)
def test_other_threads_run_python_meanwhile(make):
    config.threads = 1
    counter = Counter(400, turns=300_000)
    ran = threading.Thread(target=counter.run, args=(make(),))
    turns = 0
    ran.start()
    while ran.is_alive():
        time.sleep(0.001)
        turns += 1
    ran.join()
    assert turns > 1 and (counter.counts == 1).all()


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2", None])
def test_a_number_of_threads_is_a_positive_integer(value):
    before = config.threads
    with pytest.raises(ValueError, match="positive integer"):
        config.threads = value
    assert config.threads == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("make", POOLS)
def test_a_child_of_fork_has_its_own_workers(make):
    """Also when other threads of the parent were in the middle of a run."""
    config.threads = 3
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            Counter(500, turns=1000).run(make())

    Counter(100).run(make())
    threads = [threading.Thread(target=churn) for _ in range(2)]
    [t.start() for t in threads]
    try:
        for _ in range(6):
            child = os.fork()
            if child == 0:
                try:
                    counter = Counter(3000, turns=100)
                    counter.run(make())
                    counter.run(make())
                    os._exit(0 if (counter.counts == 2).all() else 1)
                finally:
                    os._exit(2)
            assert os.waitpid(child, 0)[1] == 0
            Counter(100).run(make())
    finally:
        stop.set()
        [t.join() for t in threads]


def program(body, make=pool):
    """A process that has a Counter of about a minute, and runs `body`."""
    head = f"""
        import os, signal, sys, threading, time
        sys.path[:0] = {[os.path.dirname(__file__)]!r}
        from test_pool import Counter, PythonPool, config, pool
        where = {make.__name__}()
        long = Counter(200_000, turns=500_000)
        short = Counter(1000)
        def say(word): print(word, flush=True)
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
@pytest.mark.parametrize("make", POOLS)
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_a_run_between_chunks(make, threads):
    body = f"""
        config.threads = {threads}
        say("ready")
        try:
            long.run(where)
        except KeyboardInterrupt:
            before = long.counts.sum()
            time.sleep(0.05)
            assert long.counts.sum() == before and long.counts.max() == 1  # nobody works on
            short.run(where)
            assert (short.counts == 1).all()
            say("interrupted")
    """
    process = program(body, make)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=120)
    assert out == "interrupted\n", error


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
@pytest.mark.parametrize("make", POOLS)
def test_a_handler_that_returns_does_not_end_the_run(make):
    config.threads = 2
    calls = []
    counter = Counter(1000, turns=500_000)
    before = signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        counter.run(make())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert (counter.counts == 1).all() and calls


@pytest.mark.parametrize("make", POOLS)
@pytest.mark.parametrize("threads", [1, 3])
def test_the_interpreter_exits_while_threads_run(make, threads):
    body = f"""
        config.threads = {threads}
        short.run(where)
        threading.Thread(target=long.run, args=(where,), daemon=True).start()
        short_enough = Counter(2000, turns=10_000)
        def churn():
            while True: short_enough.run(where)
        for _ in range(2): threading.Thread(target=churn, daemon=True).start()
        time.sleep(0.1)
        say("leaving")
    """
    process = program(body, make)
    out, error = process.communicate(timeout=120)
    assert (process.returncode, out, error) == (0, "leaving\n", "")
