"""Several threads give the same bits as one, and what happens in one reaches the caller."""

import os
import threading
import warnings

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.ops.activation
import funcgrad.ops.normal
from funcgrad.extend import PRIMITIVES
from funcgrad.kernels import forward, threads

SIZE = (1 << 19) + 37


@pytest.fixture
def two(monkeypatch):
    monkeypatch.setattr(fg.config, "threads", 3)


def test_every_element_is_visited_once(two):
    seen = np.zeros(SIZE, np.int64)

    def work(first, last):
        seen[first:last] += 1

    threads.run(work, SIZE, SIZE)
    assert np.all(seen == 1)


def test_an_exception_reaches_the_caller(two):
    def work(first, last):
        if threading.current_thread() is not threading.main_thread() or first > 1 << 18:
            raise KeyError("a worker")

    for _ in range(20):
        with pytest.raises(KeyError, match="a worker"):
            threads.run(work, SIZE, SIZE)


def of_numpy(field):
    """Our records that say so of themselves, whatever a user's test has registered."""
    found = [p for p in PRIMITIVES.values() if getattr(p, field, False) and "." not in p.name]
    assert len(found) > 2
    return found


@pytest.mark.parametrize("prim", of_numpy("fills"), ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_those_of_numpy(prim, dtype, two):
    rng = np.random.default_rng(0)
    xs = [rng.uniform(0.01, 0.99, SIZE).astype(dtype) for _ in range(prim.ufunc.nin)]
    with np.errstate(all="ignore"):
        expected = prim.ufunc(*xs)
        found = forward.apply(prim, xs)
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("prim", of_numpy("in_pieces"), ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_in_blocks_are_those_of_the_whole(prim, dtype):
    x = np.random.default_rng(0).normal(size=3 * forward.BLOCK + 5).astype(dtype)
    x[::1000], x[1::1000], x[2::1000], x[3::1000] = np.nan, np.inf, -np.inf, -0.0
    with np.errstate(all="ignore"):
        expected = prim.impl(x)
        found = forward.apply(prim, (x,))
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


def test_the_error_state_of_the_caller_holds(two):
    x = np.zeros(SIZE)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        fg.vjp(np.log, x)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        fg.vjp(np.log, x)


def test_gradients_have_the_same_bits(monkeypatch):
    x = np.random.default_rng(0).normal(size=SIZE)
    gradient = fg.grad(lambda x: np.sum(np.tanh(x) * np.exp(-x * x)))
    found = []
    for count in (1, 2, 5):
        monkeypatch.setattr(fg.config, "threads", count)
        found.append(gradient(x).tobytes())
    assert found[0] == found[1] == found[2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_of_fork_has_threads_of_its_own(two):
    total = np.zeros(1)
    threads.run(lambda a, b: None, SIZE, SIZE)
    child = os.fork()
    if child == 0:
        try:
            threads.run(lambda a, b: total.__iadd__(b - a), SIZE, SIZE)
        finally:
            os._exit(0 if total[0] > 0 else 1)
    assert os.waitpid(child, 0)[1] == 0
