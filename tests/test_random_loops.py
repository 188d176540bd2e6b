"""Random programs with loops: compiled loops agree with the same loops written out in Python.

Programs are drawn from a number (`tests.loop_programs`): several carries of several kinds and
dtypes (`tests.loop_carries`), Python numbers, keys, complex numbers, named tuples and
dictionaries among them, few and many steps, rows that lie in memory in any way, none of them
perhaps, tables that are read by an index, places that are written, masks, branches,
factorisations, sorted and searched values, rules of the user, loops in loops, loops that end by
themselves, each example for itself, in any order and nested. Each is run with the loops of
funcgrad and with Python's, under nests of transforms, in native code and by the interpreter.

``python -m tests.test_random_loops FIRST LAST`` runs the seeds between, one way each.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.config import config
from funcgrad.graph.interpret import evaluate
from funcgrad.passes import fission, recurrences
from tests.amount import examples
from tests.loop_programs import AtHand, Draws, Ours, Written


def slope(f):
    """The derivative along a direction that depends on the place."""
    return lambda x: fg.jvp(f, (x,), (np.cos(fg.stop_gradient(x)),))[1]


def one_of(f):
    return lambda x: f(x[None])[0]


def interpreted(f):
    """The graph of a function, run one equation after the other."""
    return lambda x: evaluate(fg.make_graph(f)(x), x)


WAYS = {
    "jit of grad": (lambda f: fg.jit(fg.value_and_grad(f)), fg.value_and_grad),
    "grad of jit": (lambda f: fg.grad(fg.jit(f)), fg.grad),
    "jit of jacfwd": (lambda f: fg.jit(fg.jacfwd(f)), fg.grad),
    "jit of hessian": (lambda f: fg.jit(fg.hessian(f)), fg.hessian),
    "checkpoint": (lambda f: fg.jit(fg.grad(fg.checkpoint(f))), fg.grad),
    "jit of jvp": (lambda f: fg.jit(slope(f)), slope),
    "jit of jvp of grad": (lambda f: fg.jit(slope(fg.grad(f))), lambda f: slope(fg.grad(f))),
    "jit of grad of jvp": (lambda f: fg.jit(fg.grad(slope(f))), lambda f: slope(fg.grad(f))),
    "jvp of jit": (lambda f: slope(fg.jit(f)), slope),
    "jit of linearize": (lambda f: fg.jit(lambda x: fg.linearize(f, x)[1](np.cos(x))), slope),
    "jit of one example": (lambda f: fg.jit(one_of(fg.vmap(fg.grad(f)))), fg.grad),
    "jit of jacrev of jit": (lambda f: fg.jit(fg.jacrev(fg.jit(f))), fg.grad),
    "interpreter": (lambda f: interpreted(fg.grad(f)), fg.grad),
    "interpreted jit": (lambda f: fg.jit(fg.value_and_grad(f)), fg.value_and_grad),
}
SEEDS = st.integers(0, 2**20)


def agree(found, wanted, rounds=False):
    """The same but for rounding, of single precision where the program does so."""
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        size = 1.0 + np.max(np.abs(b))
        rtol, atol = (1e-3, 1e-4) if rounds else (1e-7, 1e-9)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol * size)


def drawn(count):
    return settings(max_examples=examples(count, least=2), deadline=None, derandomize=True)


@contextmanager
def short_ones_in_parts():
    """Loops of few steps are taken apart as those of many are, whatever is quicker."""
    with ExitStack() as stack:
        for passes in (fission, recurrences):
            stack.enter_context(patch.object(passes, "SHORTEST", 1))
        stack.enter_context(patch.object(recurrences._Program, "pays", lambda *_: True))
        stack.enter_context(patch.object(config, "cache", False))
        yield


def compare(way, seed):
    draws = Draws(seed)
    program = draws.program()
    compiled, plain = WAYS[way]
    x = np.random.default_rng(seed).uniform(0.1, 1.0, (4, 2))[:, seed % 2]
    backend = "interpreter" if way == "interpreted jit" else config.backend
    with np.errstate(all="ignore"), patch.object(config, "backend", backend):
        found = compiled(lambda x: program(Ours, x))(x)
        agree(found, plain(lambda x: program(Written, x))(x), draws.rounds)


@pytest.mark.parametrize("way", [way for way in WAYS if way != "jit of hessian"])
@drawn(18)
@given(SEEDS)
def test_compiled_loops_are_the_loops_written_out(way, seed):
    compare(way, seed)


@drawn(8)
@given(SEEDS)
def test_short_loops_in_parts(seed):
    with short_ones_in_parts():
        compare(sorted(WAYS)[seed % 3], seed)


@drawn(8)  # each takes ten times as long as a gradient
@given(SEEDS)
def test_compiled_hessians_are_those_of_loops_written_out(seed):
    compare("jit of hessian", seed)


@drawn(10)
@given(SEEDS)
def test_examples_run_their_own_steps(seed):
    draws = Draws(seed)
    program = draws.program()
    xs = np.random.default_rng(seed).uniform(0.1, 1.0, (3, 4))
    with np.errstate(all="ignore"):
        wanted = np.stack([fg.grad(lambda x: program(Written, x))(x) for x in xs])
        each = fg.vmap(fg.grad(lambda x: program(Ours, x)))
        agree(fg.jit(each)(xs), wanted, draws.rounds)
        one = fg.grad(lambda xs: np.sum(fg.vmap(lambda x: program(Ours, x))(xs)))
        agree(fg.jit(one)(xs), wanted, draws.rounds)


@drawn(40)
@given(SEEDS)
def test_loops_with_numbers_at_hand_have_the_bits_of_python(seed):
    program = Draws(seed).program()
    x = np.random.default_rng(seed).uniform(0.1, 1.0, 4)
    with np.errstate(all="ignore"):
        wanted = program(Written, x)
        assert program(AtHand, x) == wanted
        assert fg.value_and_grad(lambda x: program(AtHand, x))(x)[0] == wanted


@drawn(16)
@given(SEEDS)
def test_numbers_beside_single_precision_leave_it_single(seed):
    """Dtypes are those of Python, where a number takes that of the array beside it."""
    draws = Draws(seed)
    program = draws.program()
    x = np.random.default_rng(seed).uniform(0.1, 1.0, 4).astype(np.float32)
    with np.errstate(all="ignore"):
        both = fg.value_and_grad(lambda x: program(Ours, x))
        try:
            wanted = both(x)
        except fg.errors.LoopTypeError:
            with pytest.raises(fg.errors.LoopTypeError):
                fg.jit(both)(x)
            return
        try:
            found = fg.jit(both)(x)
        except fg.errors.LoopTypeError:
            assert draws.empty  # whose steps only the compiler has looked at
            return
        exact = fg.value_and_grad(lambda x: program(Written, x))(x.astype(float))
    for a, b, c in zip(*map(fg.tree.leaves, (found, wanted, exact)), strict=True):
        assert draws.empty or np.asarray(a).dtype == np.asarray(b).dtype
        if np.allclose(b, c, rtol=1e-4, atol=1e-4):  # rounding has moved no border
            np.testing.assert_allclose(a, b, rtol=5e-3, atol=5e-3)


def run(first, last):
    """The seeds from `first` on, one way each; print what fails."""
    whole = [*(f"compare {way}" for way in WAYS if way != "jit of hessian")]
    whole += ["examples", "numbers", "single"]
    failures = 0
    for seed in range(first, last):
        way = "compare jit of hessian" if seed % 40 == 0 else whole[seed % len(whole)]
        try:
            if way.startswith("compare") and seed // len(whole) % 2:
                with short_ones_in_parts():
                    compare(way.removeprefix("compare "), seed)
            elif way.startswith("compare"):
                compare(way.removeprefix("compare "), seed)
            elif way == "examples":
                test_examples_run_their_own_steps.hypothesis.inner_test(seed)
            elif way == "numbers":
                inner = test_loops_with_numbers_at_hand_have_the_bits_of_python.hypothesis
                inner.inner_test(seed)
            else:
                inner = test_numbers_beside_single_precision_leave_it_single.hypothesis
                inner.inner_test(seed)
        except Exception as error:
            failures += 1
            print(f"seed {seed}, {way}: {type(error).__name__} {str(error)[:400]}", flush=True)
        if (seed - first) % 50 == 49:
            print(f"{seed - first + 1} programs, {failures} failures", flush=True)
    print(f"{last - first} programs, {failures} failures: done", flush=True)


if __name__ == "__main__":
    run(int(sys.argv[1]), int(sys.argv[2]))
