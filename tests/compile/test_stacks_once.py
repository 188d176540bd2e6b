"""The stacks of a loop's residuals are made once: not for each step, nor for each call."""

from __future__ import annotations

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


@pytest.mark.parametrize(("f", "n"), [(scanned, 100_000), (until, 100_000), (in_numpy, 20_000)])
def test_a_compiled_gradient_takes_no_new_memory_after_its_first_calls(f, n):
    """The stack of the carry alone has 64 bytes a step."""
    g = fg.jit(fg.grad(f(n)))
    for _ in range(3):  # by the host program, then by the native entry, which has its own memory
        g(X)
    stack = n * X.nbytes // PAGE
    assert min(new_pages(lambda: g(X)) for _ in range(3)) < stack // 20


@pytest.mark.parametrize("f", [scanned, until])
def test_first_calls_take_the_memory_of_the_stacks_and_no_more_for_each_step(f):
    """The residuals are two arrays, each in the memory of the host program and of the entry."""
    fg.jit(fg.grad(f(1000)))(X)  # what compiling takes
    n = 400_000
    g = fg.jit(fg.grad(f(n)))
    stack = n * X.nbytes // PAGE
    taken = new_pages(lambda: [g(X) for _ in range(4)])
    assert taken < 6 * stack  # less where what was let go of is taken again


def test_a_second_stack_would_show():
    """What the first test looks at sees an array as large as the stack, if it is made anew."""
    n = 100_000
    assert new_pages(lambda: np.ones((n, 8))) > n * X.nbytes // PAGE // 20
