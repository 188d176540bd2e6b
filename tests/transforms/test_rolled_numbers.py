"""Python numbers that a loop is given or hands on stay Python numbers."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.graph.interpret import evaluate
from funcgrad.transforms.rolling import rolled
from tests.transforms.rolling_programs import close

ROWS = np.linspace(-1, 1, 80)


def powers(a):
    s = 1.0
    for _ in range(200):
        s = s * a + 0.1
    return s


def decay(a, b, x):
    y = b
    for v in x:
        y = a * y + (1 - a) * v
    return y


def several(a, k, x):
    s, t, n = 1.0, 0.0, k
    for i in range(len(x)):
        s = s * a + 0.1
        t = t + s * x[i]
        n = n + 1
        t = t * (0.01 * i) + n
    return s, t, n


def kept(a, x):
    s, found = a, []
    for _ in x:
        s = s * 0.5 + 0.25
        found.append(s)
    return [f * v for f, v in zip(found, x, strict=True)], found[3], found[-1]


CASES = {
    "powers": (powers, (0.5,)),
    "decay": (decay, (0.5, 0.1, ROWS)),
    "decay of float32": (decay, (0.5, 0.1, ROWS.astype(np.float32))),
    "several": (several, (0.5, 3, ROWS)),
    "several of float32": (several, (0.5, 3, ROWS.astype(np.float32))),
    "kept": (kept, (0.3, ROWS)),
    "kept of float32": (kept, (0.3, ROWS.astype(np.float32))),
}


@pytest.mark.parametrize("name", CASES)
def test_a_loop_over_python_numbers_is_found(name):
    f, given = CASES[name]
    graph = fg.make_graph(f)(*given)
    made = rolled(graph)
    assert any(n.startswith("a loop of") for n in made.notes)
    for a, b in zip(evaluate(made.graph, *given), evaluate(graph, *given), strict=True):
        assert type(a) is type(b)
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", CASES)
def test_compiled_results_are_of_the_types_of_the_program(name):
    f, given = CASES[name]
    found, wanted = fg.jit(f)(*given), f(*given)
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        assert type(a) is type(b)
        np.testing.assert_allclose(a, b, rtol=1e-5 if np.asarray(b).dtype == "f4" else 1e-13)


@pytest.mark.parametrize("order", ["jit of grad", "grad of jit"])
def test_derivatives_with_respect_to_python_numbers(order):
    for f, given in ((powers, (0.5,)), (decay, (0.5, 0.1, ROWS))):
        places = tuple(range(len(given)))
        g = fg.jit(fg.grad(f, places)) if order == "jit of grad" else fg.grad(fg.jit(f), places)
        close(g(*given), fg.grad(f, places)(*given))
        h = fg.jvp(fg.jit(fg.grad(f)), given[:1] + given[1:], tuple(np.ones_like(v) for v in given))
        close(h, fg.jvp(fg.grad(f), given, tuple(np.ones_like(v) for v in given)))


def test_examples_beside_a_python_number():
    many = np.stack([ROWS, 2 * ROWS]).astype(np.float32)
    found = fg.vmap(fg.jit(decay), (None, None, 0))(0.5, 0.1, many)
    wanted = np.stack([decay(0.5, 0.1, row) for row in many])
    assert found.dtype == wanted.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    many = np.array([0.5, 0.25])
    close(fg.vmap(fg.jit(powers))(many), np.array([powers(v) for v in many]))


def test_loops_over_python_numbers_are_native():
    text = fg.jit(fg.value_and_grad(decay, (0, 1, 2))).explain(0.5, 0.1, ROWS)
    assert "step by step" not in text
    assert "NumPy" not in text
