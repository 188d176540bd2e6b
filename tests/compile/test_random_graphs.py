"""Random programs, their gradients and batched forms, in native code against the interpreter."""

from random import Random

import numpy as np
import pytest
import random_steps
from amount import examples
from derived import derived
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from native import check, check_jit
from random_graphs import Program

import funcgrad as fg
from funcgrad.graph.check import check as verify
from funcgrad.passes.pipeline import optimize

QUICK = settings(
    max_examples=examples(60),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def loss(program):
    def f(*xs):
        return sum(np.sum(np.sin(y)) for y in program(*xs) if y.dtype.kind == "f")

    return f


@QUICK
@given(st.randoms(use_true_random=False))
def test_values(random):
    program = Program(random)
    graph = fg.make_graph(program)(*program.inputs)
    optimize(graph, lambda name, g: verify(g))
    check(graph, *program.inputs, ulp=1e4, size=1.0)


@QUICK
@given(st.randoms(use_true_random=False))
def test_gradients(random):
    program = Program(random)
    which = tuple(range(len(program.inputs)))
    graph = fg.make_graph(fg.value_and_grad(loss(program), which))(*program.inputs)
    optimize(graph, lambda name, g: verify(g))
    check(graph, *program.inputs, ulp=1e5, size=1.0)


@pytest.mark.parametrize("number", [50578])  # columns next to a scatter, with rows side by side
def test_programs_that_once_failed(number):
    program = Program(Random(number))
    which = tuple(range(len(program.inputs)))
    graph = fg.make_graph(fg.value_and_grad(loss(program), which))(*program.inputs)
    check(graph, *program.inputs, ulp=1e5, size=1.0)


@settings(QUICK, max_examples=examples(40))
@given(st.randoms(use_true_random=False))
def test_most_of_numpy(random):
    for f, args in derived(random_steps.Program(random)).values():
        check_jit(f, *args, ulp=1e5, size=1.0)
