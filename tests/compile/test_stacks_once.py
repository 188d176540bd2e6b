"""The stacks of a loop's residuals are made once: not for each step, nor for each call.

What the system hands out is counted in a process of its own: memory of before would be taken again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import funcgrad as fg

resource = pytest.importorskip("resource")  # which Windows lacks

X = np.linspace(0.1, 1.0, 8)
PAGE = resource.getpagesize()


def scanned(n):
    def step(c, _):
        return np.sin(c) * X + np.cos(c), None

    return lambda x: np.sum(fg.scan(step, x, length=n)[0])


def until(n):
    def f(x):
        step = lambda c: (c[0] + 1, np.sin(c[1]) * x + np.cos(c[1]))
        return np.sum(fg.while_loop(lambda c: c[0] < n, step, (0, x), max_steps=n)[1])

    return f


def in_numpy(n):
    """The step has no native form, so the loop runs step by step."""
    basis = np.fft.fft(np.eye(8))

    def step(c, _):
        return np.fft.ifft(np.fft.fft(np.sin(c) * X)).real + 0 * np.abs(basis[0]), None

    return lambda x: np.sum(fg.scan(step, x, length=n)[0])


def new_pages(run):
    """The pages of memory that the system hands out meanwhile."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    run()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def after_first_calls(f, n):
    """Pages of a further call of a compiled gradient."""
    g = fg.jit(fg.grad(f(n)))
    for _ in range(3):  # by the host program, then by the native entry, which has its own memory
        g(X)
    return min(new_pages(lambda: g(X)) for _ in range(3))


def of_first_calls(f, n):
    fg.jit(fg.grad(f(1000)))(X)  # what compiling takes
    g = fg.jit(fg.grad(f(n)))
    return new_pages(lambda: [g(X) for _ in range(4)])


LATER = {"scanned": 100_000, "until": 100_000, "in_numpy": 20_000}
FIRST = {"scanned": 400_000, "until": 400_000}
LARGE = 1 << 23  # numbers: more than the C library ever keeps of what was let go of


def report():
    """Print all figures, by name."""
    found = {f"later {name}": after_first_calls(globals()[name], n) for name, n in LATER.items()}
    found |= {f"first {name}": of_first_calls(globals()[name], n) for name, n in FIRST.items()}
    found["anew"] = new_pages(lambda: np.ones(LARGE))
    print(json.dumps(found))


@pytest.fixture(scope="module")
def pages(request):
    single = {"NUMPY_MADVISE_HUGEPAGE": "0"}  # else a page may be any size
    out = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, check=True,
        env={**os.environ, **single, "PYTHONPATH": str(request.config.rootpath)},
    )  # fmt: skip
    return json.loads(out.stdout)


@pytest.mark.parametrize("name", LATER)
def test_a_compiled_gradient_takes_no_new_memory_after_its_first_calls(pages, name):
    """The stack of the carry alone has 64 bytes a step."""
    assert pages[f"later {name}"] < LATER[name] * X.nbytes // PAGE // 20


@pytest.mark.parametrize("name", FIRST)
def test_first_calls_take_the_memory_of_the_stacks_and_no_more_for_each_step(pages, name):
    """The residuals are two arrays, each in the memory of the host program and of the entry."""
    assert pages[f"first {name}"] < 6 * FIRST[name] * X.nbytes // PAGE


def test_new_arrays_are_seen(pages):
    """What the tests look at sees arrays that are made anew."""
    assert pages["anew"] >= LARGE * 8 // PAGE


if __name__ == "__main__":
    report()
