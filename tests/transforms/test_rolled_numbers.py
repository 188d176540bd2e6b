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


# ------------------------------------------------------- complex numbers that differ in each step

LONG = 150
PARTS = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -2.5, 1e308, 5e-324]
COMPLEX = {
    "finite": [complex(np.sin(k), 0.7 * np.cos(2 * k)) for k in range(LONG)],
    "special": [complex(PARTS[k % 9], PARTS[(k // 9 + k) % 9]) for k in range(LONG)],
}


def multiplied_and_added(z, numbers):
    for c in numbers:
        z = z * c * 0.5 + c
    return z


def of_each_number(z, numbers):
    return np.stack([w for c in numbers for w in (z * c, c - z)])


def divided(z, numbers):
    for c in numbers:
        z = c / (z + c)
    return z


def of_functions(z, numbers):
    for c in numbers:
        z = np.exp(z * c * 0.1) + np.conj(z) * c
    return z


def chosen(z, numbers):
    for c in numbers:
        z = np.where(z.real > 0.1, c, z * 0.9)
    return z


def powers_of_numbers(z, numbers):
    for c in numbers:
        z = (z * 0.1 + 1) ** c
    return z


def compared(z, numbers):
    s = 0
    for c in numbers:
        z = z * 0.5 + 0.1
        s = s + (z != c) * 1.0
    return z + s


def beside_reals(z, numbers):
    x, s = z.real, z
    for c in numbers:
        x = (x * c).imag * 0.7 + 0.1
        s = s + x * c
    return s


OF_COMPLEX = (
    multiplied_and_added,
    of_each_number,
    divided,
    of_functions,
    chosen,
    powers_of_numbers,
    compared,
    beside_reals,
)
GIVEN = {
    "number": np.complex128(0.3 + 0.2j),
    "single": np.complex64(0.3 + 0.2j),
    "array": np.array([0.3 + 0.2j, -0.1 - 0.4j, 0.9]),
    "single array": np.array([0.3 + 0.2j, -0.1 - 0.4j], np.complex64),
    "real array": np.array([0.3, 0.7]),
}


def same_bits(a, b):
    a, b = np.atleast_1d(a), np.atleast_1d(b)
    assert a.dtype == b.dtype and a.shape == b.shape
    a, b = a.view(a.real.dtype), b.view(b.real.dtype)
    np.testing.assert_array_equal(a, b)
    known = ~np.isnan(a)
    np.testing.assert_array_equal(np.signbit(a)[known], np.signbit(b)[known])


@pytest.mark.parametrize("numbers", COMPLEX)
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("f", OF_COMPLEX, ids=lambda f: f.__name__)
def test_a_loop_over_complex_numbers_is_found_and_has_the_bits_of_its_steps(f, given, numbers):
    z, steps = GIVEN[given], COMPLEX[numbers]
    with np.errstate(all="ignore"):
        graph = fg.make_graph(f, static_argnums=1)(z, tuple(steps))
        made = rolled(graph)
        assert any(n.startswith(("a loop of", "a map of")) for n in made.notes)
        for a, b in zip(evaluate(made.graph, z), evaluate(graph, z), strict=True):
            same_bits(a, b)
        same_bits(fg.jit(lambda z: f(z, steps))(z), f(z, steps))


@pytest.mark.parametrize("order", ["jit of grad", "grad of jit"])
@pytest.mark.parametrize("f", OF_COMPLEX, ids=lambda f: f.__name__)
def test_derivatives_of_loops_over_complex_numbers(f, order):
    g = lambda z: np.sum(np.abs(f(z, COMPLEX["finite"])) ** 2)
    z = GIVEN["array"]
    found = fg.jit(fg.grad(g)) if order == "jit of grad" else fg.grad(fg.jit(g))
    np.testing.assert_allclose(found(z), fg.grad(g)(z), rtol=1e-10)
    text = fg.jit(fg.grad(g)).explain(z)
    assert "a loop of" in text or "a map of" in text


def test_a_number_that_is_complex_in_some_steps_only_ends_the_loop():
    """A real factor is another operation: 0.5 * (nan + 1j) has an imaginary part that is finite."""
    numbers = [0.5, 0.3, 0.9] * 50 + [0.5j, 0.2 + 0j] * 50
    z = np.array([np.nan + 1j, np.inf - 1j, 0.2])
    with np.errstate(all="ignore"):
        same_bits(
            fg.jit(lambda z: multiplied_and_added(z, numbers))(z), multiplied_and_added(z, numbers)
        )
