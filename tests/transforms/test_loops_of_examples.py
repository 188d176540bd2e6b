"""Loops of several examples: one that has ended computes nothing that could fail."""

import numpy as np
import pytest

import funcgrad as fg


def solved(x):
    """As many steps as `x` wants; what solves the last of them is used on the way back."""
    step = lambda c: (c[0] - 0.5, np.sum(np.linalg.solve(np.eye(2) * c[0], np.ones(2))) + c[1])
    return fg.while_loop(lambda c: c[0] > 0.6, step, (x, 0.0 * x), max_steps=9)[1]


WAYS = {
    "gradients": lambda f: fg.vmap(fg.grad(f)),
    "compiled": lambda f: fg.jit(fg.vmap(fg.grad(f))),
    "forward": lambda f: fg.vmap(fg.jacfwd(f)),
    "of the sum": lambda f: fg.grad(lambda xs: np.sum(fg.vmap(f)(xs))),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_matrix_of_an_example_that_has_ended_is_never_singular(way):
    xs = np.array([0.5, 1.0, 2.75, 1.7])
    wanted = [fg.grad(solved)(x) for x in xs]
    np.testing.assert_allclose(WAYS[way](solved)(xs), wanted)
