"""Code made in haste, and made well while it is in use: the same bits, at any moment."""

import os
import subprocess
import sys
import threading
from random import Random

import numpy as np
import pytest
from random_graphs import Program

import funcgrad as fg
from funcgrad.compile import cache
from funcgrad.compile.execute import executable
from funcgrad.compile.llvm import at_once, backend, origin, printer, tiering
from funcgrad.compile.llvm.target import host
from funcgrad.config import config
from funcgrad.errors import CompilerError


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    """Nothing in memory or on disk, and two threads also where there is one processor."""
    tiering.settle()
    monkeypatch.setattr(config, "cache_directory", str(tmp_path / "cache"))
    monkeypatch.setattr(config, "threads", 2)
    monkeypatch.setattr(config, "tiers", "both")
    cache._recent.clear()
    cache._libraries.clear()
    origin._kept.clear()
    backend._shared.cache_clear()
    backend._first_tier_shared.clear()
    backend._tiered_libraries.clear()
    yield
    tiering.settle()


@pytest.fixture
def jobs(monkeypatch):
    """What waits to be made well, and does not begin by itself."""
    found = []
    monkeypatch.setattr(tiering, "later", found.append)
    return found


def bits(x):
    """The bits of a result; a NaN is a NaN."""
    x = np.asarray(x)
    return np.where(np.isnan(x), np.nan, x).tobytes() if x.dtype.kind == "f" else x.tobytes()


def called(x):
    for k in range(8):
        x = np.sin(x) * (1.0 + 1.0 / (k + 1)) + np.cos(x)
    return np.sum(x)


def softmax(x):
    z = np.exp(x - x.max(1, keepdims=True))
    return np.sum((z / z.sum(1, keepdims=True)) ** 2)


ODD = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 1e300, -3.0])
PROGRAMS = {
    "numbers": (lambda x: np.tanh(x) * x, 0.7),
    "called functions": (called, np.linspace(-2.0, 9.0, 77)),
    "rows": (softmax, np.linspace(-3.0, 3.0, 600).reshape(20, 30)),
    "a total": (lambda x: np.sum(np.log1p(x * x)), np.linspace(0.0, 1.0, 5000)),
    "indices": (lambda x: np.sum(x[np.arange(7) % 3] ** 3), np.linspace(0.0, 1.0, 9)),
    "float32": (lambda x: np.sum(np.exp(x) / (1 + x)), np.linspace(0, 1, 99, dtype=np.float32)),
    "odd numbers": (lambda x: np.sum(np.tanh(x) * np.abs(x)), ODD),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_have_the_same_bits(name, jobs):
    f, x = PROGRAMS[name]
    jitted = fg.jit(fg.value_and_grad(f))
    first_tier = jitted(x)
    assert len(jobs) == 1
    jobs.pop()()
    refined = jitted(x)
    assert not jobs
    assert list(map(bits, first_tier)) == list(map(bits, refined))
    assert list(map(bits, fg.jit(fg.value_and_grad(f))(x))) == list(map(bits, refined))


@pytest.mark.parametrize("number", range(25))
def test_random_programs_have_the_same_bits(number, jobs):
    program = Program(Random(number))
    made = executable(fg.make_graph(program)(*program.inputs))
    first_tier = made(*program.inputs)
    for job in jobs:
        job()
    for one, other in zip(first_tier, made(*program.inputs), strict=True):
        assert bits(one) == bits(other)


def test_kernels_are_replaced_where_they_are():
    made = executable(fg.make_graph(np.sin)(np.ones(3)))
    before = made.code.address("k0")
    made(np.ones(3))
    tiering.settle()
    assert made.code.library.better is not None
    assert made.code.address("k0") == before
    np.testing.assert_array_equal(made(np.ones(3))[0], np.sin(np.ones(3)))


def test_the_same_text_is_built_once(jobs):
    one, other = (executable(fg.make_graph(np.sin)(np.ones(n))) for n in (3, 4))
    assert one.code.library is other.code.library
    assert len(jobs) == 1


def test_calls_meanwhile_agree():
    f = fg.jit(fg.grad(called))
    x = np.linspace(-2.0, 9.0, 500)
    found = {bits(f(x)) for _ in range(300)}
    tiering.settle()
    assert found == {bits(f(x))}


def test_several_threads_compile_at_once():
    x, found = np.linspace(0.0, 1.0, 64), {}

    def run(k):
        found[k] = fg.jit(fg.grad(lambda x: np.sum(np.tanh(x) * np.exp(x) ** (k % 3 + 1))))(x)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(9)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(9):
        want = fg.grad(lambda x, k=k: np.sum(np.tanh(x) * np.exp(x) ** (k % 3 + 1)))(x)
        np.testing.assert_allclose(found[k], want, rtol=1e-12)


@pytest.mark.parametrize("why", ["one thread", "many wait", "no process", "much work"])
def test_code_is_made_well_at_once_where_nobody_could_do_it_later(why, jobs, monkeypatch):
    if why == "one thread":
        monkeypatch.setattr(config, "threads", 1)
    elif why == "many wait":
        monkeypatch.setattr(tiering, "MOST", 0)
    elif why == "much work":
        monkeypatch.setattr(tiering, "WORK", -1)
    else:
        monkeypatch.setattr(tiering._work, "process", lambda: None)
    assert fg.jit(lambda x: x * 2.0 + np.sin(x))(0.0) == 0.0
    assert not jobs and not backend._tiered_libraries


def test_long_modules_are_made_in_haste_for_more_work_than_short_ones(monkeypatch):
    """What LLVM needs grows with the text, what bad code loses with the work."""
    monkeypatch.setattr(tiering._work, "process", object)
    short, long = 1000, 100_000
    assert tiering.worth_tiering(1e5, short) and tiering.worth_tiering(2e7, long)
    assert not tiering.worth_tiering(2e7, short) and not tiering.worth_tiering(2e9, long)


@pytest.mark.parametrize("tier", ["first", "second"])
def test_one_tier_alone(tier, jobs, monkeypatch):
    """With the bits of both, and without another process."""
    x = np.linspace(0.1, 1.0, 1000)
    wanted = fg.jit(called)(x)
    assert len(jobs) == 1
    jobs.clear()
    backend._tiered_libraries.clear()
    tiering._work.lose()
    monkeypatch.setattr(config, "tiers", tier)
    f = fg.jit(lambda x: called(x) * 1.0)
    assert bits(f(x)) == bits(wanted)
    assert not jobs and tiering._work.emission is None
    assert bool(backend._tiered_libraries) is (tier == "first")


def test_a_job_that_fails_is_reported_and_the_next_one_runs(monkeypatch):
    seen = []
    monkeypatch.setattr(threading, "excepthook", lambda args: seen.append(str(args.exc_value)))
    tiering.later(lambda: 1 // 0)
    tiering.settle()
    tiering.later(lambda: seen.append("next"))
    tiering.settle()
    assert seen == ["integer division or modulo by zero", "next"]


SCRIPT = """
import os
import numpy as np
import funcgrad as fg
fg.config.threads = 2

def f(k):
    return fg.jit(fg.grad(lambda x: np.sum(np.tanh(x) * np.cos(x) ** k)))

x = np.linspace(0.0, 1.0, 50)
first = f(3)(x)
child = os.fork()
again, other = f(3)(x), f(2)(x)
assert again.tobytes() == first.tobytes() and np.isfinite(other).all()
if child:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_meanwhile(tmp_path):
    settings = {**os.environ, "FUNCGRAD_CACHE_DIR": str(tmp_path / "own"), "FUNCGRAD_CACHE": "1"}
    settings["FUNCGRAD_TIERS"] = "both"
    for _ in range(3):
        command = [sys.executable, "-W", "ignore", "-c", SCRIPT]
        subprocess.run(command, env=settings, check=True, timeout=300)


def test_a_job_waits_for_its_call_to_return_but_not_when_it_is_waited_for(monkeypatch):
    monkeypatch.setattr(tiering, "PAUSE", 1e6)
    done = []
    tiering.later(lambda: done.append(1))
    tiering.later(lambda: done.append(2))
    assert not done and tiering._work.jobs.qsize() >= 1
    tiering.settle()
    assert done == [1, 2]


def test_kernels_made_at_once_have_the_bits_of_those_made_well(jobs, monkeypatch):
    """In modules of their own, with the functions that they call."""
    monkeypatch.setattr(at_once, "WORTH", 1)
    x = np.linspace(0.1, 1.0, 60).reshape(6, 10)
    f = fg.jit(fg.grad(lambda x: softmax(np.sin(x)) + called(x[0])))
    first_tier = f(x)
    (found,) = backend._tiered_libraries.values()
    assert len({library for library, _ in found.places.values()}) > 1
    assert len(jobs) == 1
    jobs[0]()
    assert bits(f(x)) == bits(first_tier) and found.better is not None


RIGHT = "define void @f() {\n  ret void\n}\n"


def test_an_error_in_a_module_is_that_of_the_call():
    with (
        pytest.raises(CompilerError, match="rejected generated code"),
        at_once.Emissions(host()) as emissions,
    ):
        emissions.take(RIGHT)
        emissions.take("define void @g() {\n  no\n}\n")
    with at_once.Emissions(host()) as emissions:
        assert [emissions.take(RIGHT) for _ in range(3)] == [0, 1, 2]
        assert len(emissions.codes()) == 3


def test_an_error_of_another_thread_is_that_of_the_call(monkeypatch):
    def emit(*_):
        raise MemoryError("none left")

    with at_once.Emissions(host()) as emissions:
        monkeypatch.setattr(at_once._Emission, "emitted", emit)
        emissions.take(RIGHT)
        with pytest.raises(MemoryError, match="none left"):
            emissions.codes()


def test_modules_are_made_where_llvmlite_is_not_as_we_know_it(monkeypatch):
    with at_once.Emissions(host()) as emissions:
        emissions.take(RIGHT)
        usual = emissions.codes()
    with at_once.Emissions(host()) as emissions:
        monkeypatch.setattr(at_once, "without_lock", lambda: None)
        emissions.take(RIGHT)
        assert emissions.codes() == usual


def long_program(x):
    """Several kernels."""
    for k in range(6):
        x = np.tanh(x) * np.sin(x + k)
        x = x / np.sum(x * x, axis=0) + np.cumsum(x, axis=0)
    return np.sum(x)


def test_kernels_are_begun_before_all_of_them_are_known(jobs, monkeypatch):
    """With the results, and the bits, of those that are made together."""
    x = np.linspace(0.1, 1.0, 60).reshape(6, 10)
    monkeypatch.setattr(at_once, "WORTH", 10**9)
    monkeypatch.setattr(backend, "WORTH", 10**9)
    together = fg.jit(fg.grad(long_program))(x)
    backend._tiered_libraries.clear()
    printer._printed.clear()
    taken = []
    monkeypatch.setattr(at_once, "WORTH", 1)
    monkeypatch.setattr(backend, "WORTH", 1)
    take, code = at_once.Emissions.take, backend.Making.code
    monkeypatch.setattr(
        at_once.Emissions, "take", lambda self, text: taken.append("module") or take(self, text)
    )
    monkeypatch.setattr(
        backend.Making, "code", lambda self: taken.append("all are known") or code(self)
    )
    assert bits(fg.jit(fg.grad(long_program))(x)) == bits(together)
    assert taken.index("all are known") > 2


def test_work_that_is_found_to_be_too_much_is_made_well(jobs, monkeypatch):
    """What was begun meanwhile is dropped."""
    monkeypatch.setattr(backend, "WORTH", 1)
    asked = []
    monkeypatch.setattr(tiering, "worth_tiering", lambda *_: asked.append(_) or len(asked) < 3)
    x = np.linspace(0.1, 1.0, 60).reshape(6, 10)
    fg.jit(long_program)(x)
    assert len(asked) >= 3 and not jobs


def test_an_error_while_others_are_made_waits_for_them(monkeypatch):
    with pytest.raises(ZeroDivisionError), at_once.Emissions(host()) as emissions:
        for _ in range(4):
            emissions.take(RIGHT)
        1 // 0
    assert not any(each.is_alive() for each in emissions.helpers)
    assert fg.jit(long_program)(np.ones((2, 3))).dtype == np.float64


FORKS = """
import gc, os, threading
import numpy as np
import funcgrad as fg
from funcgrad.compile.llvm import at_once, backend
fg.config.threads = 3
at_once.WORTH = backend.WORTH = 1
ended, statuses = threading.Event(), []

def program(k):
    def f(x):
        for j in range(6):
            x = np.tanh(x) * np.sin(x + (k + 1) * j)
            x = x / np.sum(x * x, axis=0) + np.cumsum(x, axis=0)
        return np.sum(x)
    return fg.jit(fg.grad(f))

def forks():
    while not ended.is_set() or len(statuses) < 4:
        child = os.fork()
        if not child:
            made = program(1000 + len(statuses))(np.linspace(0.1, 1.0, 12).reshape(3, 4))
            os._exit(0 if np.isfinite(made).all() else 1)
        statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

program(99)(np.ones((3, 4)))  # a child of one who is importing could not import
thread = threading.Thread(target=forks)
thread.start()
for k in range(12):
    assert np.isfinite(program(k)(np.linspace(0.1, 1.0, 12).reshape(3, 4))).all()
    gc.collect()
ended.set()
thread.join()
assert not any(statuses) and len(statuses) >= 4, statuses
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_while_several_threads_make_code(tmp_path):
    """It waits for them, and the child makes code of its own."""
    settings = {**os.environ, "FUNCGRAD_CACHE": "0", "FUNCGRAD_TIERS": "first"}
    command = [sys.executable, "-W", "ignore", "-c", FORKS]
    subprocess.run(command, env=settings, check=True, timeout=300)


def test_pieces_are_shared_out_by_their_sizes(monkeypatch):
    monkeypatch.setattr(at_once, "WORTH", 10)
    assert at_once.shared_out([9, 1, 5, 5]) == [[0, 1], [2, 3]]
    assert at_once.shared_out([3, 1, 2]) == [[0, 1, 2]]
    monkeypatch.setattr(config, "threads", 1)
    assert at_once.shared_out([90, 10]) == [[0, 1]]
