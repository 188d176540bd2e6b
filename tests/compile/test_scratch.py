"""Scratch memory of kernels: from the workspace, for each thread its own, never from the stack."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compile.execute import executable
from funcgrad.compile.llvm.nests import FRAME
from funcgrad.compile.llvm.printer import print_kernel
from funcgrad.compile.llvm.target import host
from funcgrad.compile.loops import (
    Address,
    Buffer,
    Const,
    For,
    Kernel,
    Let,
    Load,
    Store,
    scratch_bytes,
)
from funcgrad.compile.numba.program import native_program
from funcgrad.compile.program import STACK
from funcgrad.config import config

PROGRAM = """
import sys, threading
import numpy as np
import funcgrad as fg

count, in_numpy, where = int(sys.argv[1]), sys.argv[2] == "numpy", sys.argv[3]
x = np.random.default_rng(0).standard_normal((3, 8192))

def normalised(x):
    if in_numpy:
        x = np.sort(x)  # a step that a host program leaves to NumPy
    rows = [np.tanh(x * (1 + k / count)) for k in range(count)]
    total = sum(rows[1:], rows[0])
    return total / np.sum(total, axis=-1, keepdims=True), sum(r * r / total for r in rows)

compiled = fg.jit(normalised)
if where == "njit":
    compiled = compiled.njit
    compiled(x)  # Numba itself is no guest of small stacks

def run():
    for got, want in zip(compiled(x), normalised(x)):
        np.testing.assert_allclose(got, want, rtol=1e-9)
    print("fine")

if where == "main":
    run()
else:
    threading.stack_size(512 * 1024)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
"""


@pytest.mark.parametrize(
    ("count", "steps", "where"),
    [
        (140, "kernels", "main"),
        (10, "kernels", "thread"),
        (40, "kernels", "thread"),
        (40, "numpy", "thread"),
        (40, "kernels", "njit"),
    ],
)
def test_many_rows_of_scratch_overflow_no_stack(count, steps, where):
    """Each row of 8192 numbers is kept for a second stage; threads have 512 KiB of stack."""
    command = [sys.executable, "-c", PROGRAM, str(count), steps, where]
    environment = os.environ | {"FUNCGRAD_CACHE": "off"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert done.stdout == "fine\n"


DRAWN = """
import random, threading
import numpy as np
import funcgrad as fg

FUNCTIONS = [np.tanh, np.exp, np.sin, lambda x: 1 / (1 + x * x), lambda x: x * 3.0]

def program(draw):
    \"\"\"Rows that are kept from one stage to the next, some of them for long.\"\"\"
    counts = [draw.randrange(1, 40) for _ in range(draw.randrange(1, 4))]
    stages = [[draw.choice(FUNCTIONS) for _ in range(n)] for n in counts]
    axis = draw.choice([-1, -1, 0])

    def f(x):
        rows = [x]
        for functions in stages:
            rows += [g(rows[k % len(rows)] * (1 + 0.1 * k)) for k, g in enumerate(functions)]
            total = sum(rows[1:], rows[0])
            scale = np.sqrt(np.mean(total * total, axis=axis, keepdims=True)) + 1
            rows = [r / scale for r in rows]
        return sum(rows[1:], rows[0]), np.sum(total, axis=axis)

    return f

def run():
    draw, rng = random.Random(int(SEED)), np.random.default_rng(int(SEED))
    shape = draw.choice([(2, 8192), (3, 5000), (40, 300), (700, 9)])
    x = rng.standard_normal(shape).astype(draw.choice(["f8", "f4"]))
    f = program(draw)
    for g, w in zip(fg.jit(f)(x), f(x)):
        eps = np.finfo(x.dtype).eps
        np.testing.assert_allclose(g, w, rtol=1e5 * eps, atol=1e4 * eps * abs(w).max())
    print("fine")

threading.stack_size(512 * 1024)
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("seed", range(6))
def test_random_rows_of_scratch_in_a_small_stack(seed):
    code = DRAWN.replace("SEED", f"'{seed}'")
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert done.stdout == "fine\n", done.stderr[-2000:]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def lowered(f, *args):
    made = executable(fg.make_graph(f)(*args))
    return made, [low for low in made.lowered.values() if low.scratch]


def test_threads_have_scratch_memory_of_their_own(monkeypatch):
    x = np.random.default_rng(1).standard_normal((4000, 700))
    f = fg.jit(softmax)
    found = set()
    for threads in (1, 2, 3, 8):
        monkeypatch.setattr(config, "threads", threads)
        for _ in range(5):
            found.add(f(x).tobytes())
    assert len(found) == 1


def test_scratch_memory_is_planned_for_all_threads_of_a_step(monkeypatch):
    monkeypatch.setattr(config, "threads", 4)
    made, steps = lowered(softmax, np.ones((4000, 700)))
    (low,) = steps
    assert low.parallel and low.threads >= 4
    assert made.places.total >= low.threads * low.scratch > 0
    assert low.scratch == scratch_bytes(low.kernel, low.main.integers)


def test_a_step_of_one_thread_has_scratch_memory_for_one():
    _, steps = lowered(softmax, np.ones((4, 700)))
    assert [low.threads for low in steps] == [1]


def test_more_threads_than_memory_was_planned_for_take_no_part(monkeypatch):
    x = np.random.default_rng(2).standard_normal((4000, 700))
    monkeypatch.setattr(config, "threads", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    f = fg.jit(softmax)
    want = f(x).tobytes()
    monkeypatch.setattr(config, "threads", 8)
    assert all(f(x).tobytes() == want for _ in range(10))


def test_scratch_memory_lies_in_that_of_values_that_are_read_no_more():
    def f(x):
        for _ in range(5):
            x = np.sort(softmax(x))
        return x

    one, steps = lowered(softmax, np.ones((4, 700)))
    many, all_steps = lowered(f, np.ones((4, 700)))
    assert len(all_steps) == 5
    assert many.places.total < 2 * sum(low.scratch for low in steps) + 8 * one.places.total


def on_stack(text):
    """Bytes of what a function takes from the stack."""
    sizes = {"i64": 8, "i8": 1}
    found = re.findall(r"alloca (?:\[(\d+) x )?(i64|i8)", text)
    return sum(int(count or 1) * sizes[kind] for count, kind in found)


@pytest.mark.parametrize("count", [3, 400])
def test_a_program_in_numba_takes_little_of_the_stack(count):
    pytest.importorskip("numba")

    def f(x):
        for k in range(count):
            x = x / (np.sum(x * x) + k)
        return softmax(x)

    made = executable(fg.make_graph(f)(np.ones((2, 9000))))
    program = native_program(made, "p")
    assert "alloca" not in "".join(made.backend.text(program.kernels).split("%failed = alloca"))
    assert on_stack(program.text) <= 2 * STACK


def long_kernel(count):
    """y = x + 1 + 1 …: as many values as statements."""
    load = Load("v0", "float64", Address("x", (("i", 1),)))
    lets = [
        Let(f"v{k + 1}", "float64", "add", (f"v{k}", Const(1.0, "float64"))) for k in range(count)
    ]
    store = Store(Address("y", (("i", 1),)), f"v{count}", "float64")
    buffers = [Buffer("x", "float64", "input"), Buffer("y", "float64", "output")]
    return Kernel("long", buffers, ["n"], [], [For("i", "n", "vector", [load, *lets, store])])


@pytest.mark.parametrize("count", [10, 1000, 3000, 10_000, 30_000])
def test_long_code_has_fewer_lanes_so_that_its_values_fit_on_the_stack(count):
    text, _ = print_kernel(long_kernel(count), host())
    lanes = max(map(int, re.findall(r"<(\d+) x double>", text)), default=1)
    assert lanes == 1 or 8 * lanes * count <= FRAME
    assert lanes > 1 or count > 1000
