"""Neither the end of a process nor a fork waits for code that is made well meanwhile."""

import os
import subprocess
import sys
import textwrap

import pytest

from funcgrad.compile.llvm.emission import Emission

pytestmark = pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="no process makes code")

# The other process is held up in the first module that it is given, for as long as a day.
HELD_UP = """
import atexit, os, sys, time
os.environ["FUNCGRAD_TIERS"] = "both"
import numpy as np
import funcgrad as fg
from funcgrad.compile.llvm import emission, tiering
fg.config.threads = 2
text = open(emission.__file__).read()
line = "                code = target_machine"
assert line in text
slow = text.replace(line, "                import time; time.sleep(86400)\\n" + line)
place = os.path.join(os.environ["FUNCGRAD_CACHE_DIR"], "slow.py")
os.makedirs(os.path.dirname(place), exist_ok=True)
open(place, "w").write(slow)
emission.__file__ = place
f = fg.jit(fg.grad(lambda x: np.sum(np.tanh(x) * np.cos(x))))
x = np.linspace(0.0, 1.0, 50)
first = f(x)
process = tiering._work.emission
assert process is not None
"""


def run(body, tmp_path, **settings):
    env = {**os.environ, "FUNCGRAD_CACHE_DIR": str(tmp_path / "own"), "FUNCGRAD_CACHE": "on"}
    command = [sys.executable, "-W", "ignore", "-c", HELD_UP + textwrap.dedent(body)]
    done = subprocess.run(command, env=env | settings, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_end_of_the_process_leaves_it_alone(tmp_path):
    out = run("print('leaving')", tmp_path)
    assert out == "leaving\n"


def test_the_other_process_ends_with_this_one(tmp_path):
    """The pipe that it reads from is all that holds it."""
    body = """
        tiering._work.lose()
        assert process._answers.read() == b""  # it has ended: nobody can write any more
        print("ended")
    """
    assert run(body, tmp_path) == "ended\n"


def test_a_fork_does_not_wait_for_it(tmp_path):
    body = """
        child = os.fork()
        again = f(x)
        other = fg.jit(fg.grad(lambda x: np.sum(np.tanh(x) * np.cos(x) ** 2)))(x)
        assert again.tobytes() == first.tobytes() and np.isfinite(other).all()
        if child == 0:
            assert tiering._work.emission is not process
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert tiering._work.emission is process and not tiering._work.jobs.empty()
        print("forked")
    """
    assert run(body, tmp_path) == "forked\n"


def test_a_program_that_waits_for_its_children_does_not_wait_for_it(tmp_path):
    body = """
        try:
            while True:
                os.wait()
        except ChildProcessError:
            print("no children")
    """
    assert run(body, tmp_path) == "no children\n"


def test_pipes_are_closed_once(tmp_path):
    """Else the second time might close a file of somebody else."""
    body = """
        import gc
        def files():
            return len(os.listdir("/proc/self/fd"))
        def again(k):
            return fg.jit(lambda x: np.sin(x) * k)(0.5)
        before = files()
        child = os.fork()
        if child == 0:
            gc.collect()
            held = [open(os.devnull) for _ in range(9)]
            tiering._in_child()
            gc.collect()
            assert files() == before - 2 + 9
            [os.fstat(file.fileno()) for file in held]
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        tiering._work.lose()
        tiering.settle()
        del process
        gc.collect()
        assert files() == before - 2, (files(), before)
        print("closed")
    """
    if sys.platform != "linux":
        pytest.skip("looks at the files of Linux")
    assert run(body, tmp_path) == "closed\n"


def test_a_handler_that_compiles_meanwhile(tmp_path):
    body = """
        import signal
        calls = []
        def handler(*_):
            calls.append(fg.jit(lambda x: x * np.sin(x) + len(calls))(0.5))
            signal.setitimer(signal.ITIMER_REAL, 0.005)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.005)
        k = 0
        while len(calls) < 20:
            k += 1
            fg.jit(lambda x: np.cos(x) * k + x)(0.5)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print("done")
    """
    assert run(body, tmp_path) == "done\n"


def test_one_that_was_killed_leaves_code_made_in_haste(tmp_path):
    body = """
        tiering._work.emission.close()
        tiering.settle()
        assert not tiering._work.possible and f(x).tobytes() == first.tobytes()
        assert np.isfinite(fg.jit(lambda x: np.sin(x) + x * x)(0.5))
        print("done")
    """
    assert run(body, tmp_path) == "done\n"


@pytest.mark.parametrize("python", ["", "/usr/bin/blender", "/nowhere/python"])
def test_where_no_process_can_be_made(python, monkeypatch):
    monkeypatch.setattr(sys, "executable", python)
    with pytest.raises(OSError):
        Emission()
