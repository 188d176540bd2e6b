"""Python loops under `jit` become loops, and nothing else changes."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.extend import Sample, explicit
from funcgrad.graph.interpret import evaluate
from funcgrad.transforms.rolling import rolled
from tests.transforms.rolling_programs import PARTLY, PROGRAMS, N, arguments, close, rows, stack


def hessian_product(f):
    def product(x, w):
        ones = (np.ones_like(x), np.ones_like(w))
        return fg.jvp(fg.grad(f, (0, 1)), (x, w), ones)[1]

    return product


# some 50,000 equations
LARGE = {
    ("loop_in_a_loop", "product"),
    ("rows_of_a_table", "gradient"),
    ("rows_of_a_table", "product"),
}
FORMS = {"value": lambda f: f, "gradient": lambda f: fg.grad(f, (0, 1)), "product": hessian_product}


@pytest.mark.parametrize(
    ("f", "form"),
    [(f, form) for f in PROGRAMS for form in FORMS if (f.__name__, form) not in LARGE],
    ids=lambda x: getattr(x, "__name__", x),
)
def test_the_program_with_loops_computes_the_same(f, form):
    x, w = arguments()
    graph = fg.make_graph(FORMS[form](f))(x, w)
    found = rolled(graph)
    close(evaluate(found.graph, x, w), evaluate(graph, x, w))
    if form == "value" or f not in PARTLY:
        assert len(found.graph.equations) < len(graph.equations) / 3
    assert any(note.startswith(("a loop of", "a map of")) for note in found.notes)


@pytest.mark.parametrize(
    "f", [f for f in PROGRAMS if (f.__name__, "gradient") not in LARGE], ids=lambda f: f.__name__
)
def test_a_compiled_loop_gives_value_and_gradient(f):
    x, w = arguments(1)
    close(fg.jit(fg.value_and_grad(f, (0, 1)))(x, w), fg.value_and_grad(f, (0, 1))(x, w))


@pytest.mark.parametrize("f", [rows, stack], ids=lambda f: f.__name__)
def test_transforms_go_through_a_compiled_loop(f):
    x, w = arguments(2)
    compiled = fg.jit(f)
    close(fg.grad(compiled, (0, 1))(x, w), fg.grad(f, (0, 1))(x, w))
    many = np.stack([x, x + 0.1])
    close(fg.vmap(compiled, (0, None))(many, w), np.array([f(many[0], w), f(many[1], w)]))
    ones = (np.ones_like(x), np.ones_like(w))
    close(fg.jvp(compiled, (x, w), ones), fg.jvp(f, (x, w), ones))
    close(fg.jit(fg.vmap(fg.grad(f), (0, None)))(many, w), fg.vmap(fg.grad(f), (0, None))(many, w))
    close(hessian_product(compiled)(x, w), hessian_product(f)(x, w))


def test_data_that_is_captured_becomes_rows():
    data = np.random.default_rng(3).normal(size=200)

    def f(p):
        s = t = p[0]
        for i in range(1, len(data)):
            s = p[1] + p[2] * data[i - 1] ** 2 + 0.5 * s
            t = t + np.log(s) + data[i] ** 2 / s
        return t

    p = np.array([0.3, 0.2, 0.1])
    compiled = fg.jit(fg.value_and_grad(f))
    close(compiled(p), fg.value_and_grad(f)(p))
    text = compiled.explain(p)
    assert "a loop of 199 steps" in text or "a loop of 198 steps" in text


def test_a_program_grows_no_further_with_the_number_of_steps():
    def f(x):
        s = x[0]
        for i in range(len(x)):
            s = np.sin(s) * x[i]
        return s

    sizes = {len(rolled(fg.make_graph(fg.grad(f))(np.ones(n))).graph.equations) for n in (100, 400)}
    assert len(sizes) == 1


def test_float32_stays_float32():
    x, w = (a.astype(np.float32) for a in arguments())

    def f(x, w):
        s = x[0]
        for i in range(N):
            s = s * w[0] * 0.5 + x[i] * (0.1 * i)
        return np.sum(s)

    value, gradient = fg.jit(fg.value_and_grad(f))(x, w)
    wanted, slope = fg.value_and_grad(f)(x, w)
    assert value.dtype == wanted.dtype == np.float32
    assert gradient.dtype == slope.dtype
    np.testing.assert_allclose(gradient, slope, rtol=1e-4, atol=1e-5)


def test_explain_names_the_branch_that_comes_irregularly():
    def f(x):
        s = x[0]
        for i in range(200):
            s = np.sin(s) * x[i % 3]
            if (i * i) % 7 < 3:
                s = np.cos(s)
        return s

    text = fg.jit(f).explain(np.linspace(0.1, 1, 7))
    assert "is no loop: sin at" in text
    assert "stands where cos of" in text


def test_large_arrays_stay_in_kernels_of_many_operations():
    def f(x):
        for _ in range(200):
            x = np.sin(x) * 1.01
        return np.sum(x)

    graph = fg.make_graph(f)(np.ones(10_000))
    assert rolled(graph).graph is graph


def test_explain_says_what_keeps_a_repetition_from_being_a_loop():
    def f(x):
        s = x[0]
        for i in range(200):
            s = np.sin(s) * np.sum(x[: i + 1])
        return s

    text = fg.jit(f).explain(np.linspace(0.1, 1, 200))
    assert "is no loop: sum at" in text
    assert "has other operands or types than before" in text


def test_checkpointed_steps_are_kept_apart():
    step = fg.checkpoint(lambda s, r: np.tanh(s * r))

    def f(x):
        s = x[0]
        for i in range(len(x)):
            s = step(s, x[i])
        return np.sum(s)

    x = arguments()[0]
    close(fg.jit(fg.grad(f))(x), fg.grad(f)(x))


def test_nan_and_absent_elements_are_those_of_the_program_written_out():
    def f(x):
        s = x[0]
        for i in range(N):
            s = np.where(x[i] > 0, np.sqrt(np.abs(x[i])) * s, s + x[i] ** 2)
        return np.sum(s)

    x = arguments()[0]
    x[5] = 0.0
    np.testing.assert_allclose(fg.jit(fg.grad(f))(x), fg.grad(f)(x), rtol=1e-10)


def test_rows_that_are_returned_one_by_one_end_the_search():
    def f(x):
        return [np.sin(x[i]) * 2.0 + x[i + 1] for i in range(150)] + [x[3 * i] for i in range(100)]

    x = np.linspace(0.0, 1.0, 301)
    close(fg.jit(f)(x), f(x))


def test_steps_that_are_batched_one_by_one_end_the_search():
    op = explicit(
        "tests.rolling.halves",
        lambda x: x * 0.5,
        vjp=(lambda g, _, x: g * 0.5,),
        type_rule=lambda x: x,
        sample=lambda: [Sample((np.ones(2),))],
    )
    f = lambda x: [np.sin(op(x[i])) for i in range(130)]
    x = np.linspace(0.0, 1.0, 260).reshape(130, 2)
    close(fg.jit(f)(x), f(x))
