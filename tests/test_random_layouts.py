"""Random programs over layouts in memory: plain NumPy says which arrays a write reaches."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import Program, exact, laid_out
from strategies import backend, derandomized

import funcgrad as fg
import funcgrad.numpy as fnp

SEEDS = st.integers(0, 2**20)
SHAPES = [(2, 3), (3, 2), (2, 3, 2), (4,), (1, 3), (2, 2, 2), (2, 3, 1)]
STATEMENTS = 8


@pytest.fixture(autouse=True, scope="module")
def run_by_the_interpreter():
    with backend("interpreter"):
        yield


def traced(program):
    """The program as a function, and the list in which it leaves what it saw of the memory."""
    facts = []

    def f(*inputs):
        names, facts[:] = program.run(fnp, inputs)
        return names

    return f, facts


def check(program, names, facts, wanted):
    """The same elements of every array, and the same memory wherever the program looked."""
    want, seen = wanted
    for k, (a, b) in enumerate(zip(names, want, strict=True)):
        assert np.shape(a) == np.shape(b), (k, str(program))
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, err_msg=f"{k}\n{program}")
    assert facts == seen, (facts, seen, str(program))


ONE = {
    "vjp": lambda f: lambda *xs: fg.vjp(f, *xs)[0],
    "jvp": lambda f: lambda *xs: fg.jvp(f, xs, tuple(map(np.ones_like, xs)))[0],
    "jit": fg.jit,
    "jit of vjp": lambda f: fg.jit(lambda *xs: fg.vjp(f, *xs)[0]),
    "vjp of jit": lambda f: lambda *xs: fg.vjp(fg.jit(f), *xs)[0],
}


@pytest.mark.parametrize("transform", ONE)
@derandomized(100)
@given(SEEDS)
def test_one(transform, seed):
    rng = random.Random(seed)
    x = laid_out(rng, rng.choice(SHAPES))
    number = np.array(0.3) if rng.random() < 0.3 else np.float64(0.3)
    program = Program(rng, [x, number], STATEMENTS)
    with np.errstate(all="ignore"):
        wanted = program.run(np, [exact(x), exact(number)])
        f, facts = traced(program)
        check(program, ONE[transform](f)(exact(x), exact(number)), facts, wanted)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
@derandomized(100)
@given(SEEDS)
def test_each_example(compiled, seed):
    rng = random.Random(seed)
    shape = rng.choice(SHAPES)
    axis = rng.randrange(len(shape) + 1)
    xs = laid_out(rng, (*shape[:axis], 3, *shape[axis:]))
    numbers = np.array([0.3, 0.2, 0.7])
    rows = np.moveaxis(xs, axis, 0)
    program = Program(rng, [rows[0], numbers[0]], STATEMENTS)
    f, facts = traced(program)
    mapped = fg.vmap(f, in_axes=(axis, 0))
    with np.errstate(all="ignore"):
        found = (fg.jit(mapped) if compiled else mapped)(exact(xs), numbers)
        rows = np.moveaxis(exact(xs), axis, 0)
        wanted = [program.run(np, [row, number]) for row, number in zip(rows, numbers, strict=True)]
    whole = [np.stack(arrays) for arrays in zip(*(names for names, _ in wanted), strict=True)]
    check(program, found, facts, (whole, wanted[0][1]))


@derandomized(60)
@given(SEEDS)
def test_one_jitted_function_called_with_several_layouts(seed):
    rng = random.Random(seed)
    shape = rng.choice(SHAPES)
    inputs = [laid_out(rng, shape) for _ in range(2)]
    inputs += [np.ascontiguousarray(inputs[0]), np.asfortranarray(inputs[1])]
    inputs = [inputs[k] for k in (2, 3, 0, 1, 3, 2)]
    number = np.float64(0.3)
    program = Program(rng, [inputs[0], number], STATEMENTS)
    try:  # another layout may make a view of what was a copy, which NumPy then lets nobody write
        wanted = [program.run(np, [exact(x), number])[0] for x in inputs]
    except ValueError:
        return
    f = fg.jit(lambda *xs: program.run(fnp, xs)[0])
    with np.errstate(all="ignore"):
        for x, want in zip(inputs, wanted, strict=True):
            for a, b in zip(f(exact(x), number), want, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, err_msg=str(program))
