"""Long functions within transforms under `jit`: staged alone, and what is transformed are loops."""

import numpy as np
import pytest

import funcgrad as fg

RNG = np.random.default_rng(0)
ROWS, WEIGHTS = RNG.normal(size=130), np.array([0.05, 0.1, 0.85])


def steps(w, x, s=0.3):
    """A dozen operations a step, of which `x` and `w` are read."""
    total = 0.0
    for i in range(len(x)):
        q = x[i] * x[i]
        s = w[0] + w[1] * q + w[2] * s * np.cos(s)
        total = total + np.log(1 + s * s) + q / (1 + s * s)
    return total


def same(one, other):
    pairs = list(zip(fg.tree.leaves(one), fg.tree.leaves(other), strict=True))
    assert pairs
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


MANY = np.stack([ROWS, 0.5 * ROWS, 2.0 * ROWS])
NESTS = {
    "grad": (fg.grad(steps, (0, 1)), WEIGHTS, ROWS),
    "value and gradient": (fg.value_and_grad(steps), WEIGHTS, ROWS),
    "by name": (lambda w, x: fg.grad(steps, argnames="w")(w=w, x=x), WEIGHTS, ROWS),
    "jvp": (lambda w, x: fg.jvp(steps, (w, x), (w, x)), WEIGHTS, ROWS),
    "vjp": (lambda w, x: fg.vjp(steps, w, x)[1](2.0), WEIGHTS, ROWS),
    "product": (lambda w, x: fg.hvp(lambda w: steps(w, x), (w,), (w,)), WEIGHTS, ROWS),
    "hessian": (fg.hessian(steps), WEIGHTS, ROWS),
    "vmap": (fg.vmap(steps, (None, 0)), WEIGHTS, MANY),
    "vmap of grad": (fg.vmap(fg.grad(steps), (None, 0)), WEIGHTS, MANY),
    "grad of vmap": (
        fg.grad(lambda w, x: np.sum(fg.vmap(steps, (None, 0))(w, x))),
        WEIGHTS,
        MANY,
    ),
    "what is closed over": (
        lambda w, x: fg.grad(lambda v: steps(v * x[0], x) + np.sum(x * v[0]))(w),
        WEIGHTS,
        ROWS,
    ),
    "stopped": (
        lambda w, x: fg.grad(lambda v: steps(0.5 * fg.stop_gradient(v), x) + steps(v, x))(w),
        WEIGHTS,
        ROWS,
    ),
    "computed again": (fg.vmap(fg.grad(fg.checkpoint(steps)), (None, 0)), WEIGHTS, MANY),
    "a mask": (
        fg.grad(lambda w, x: steps(w, x) + np.sum(x[x > 0.2] * w[0])),
        WEIGHTS,
        ROWS,
    ),
}


@pytest.mark.parametrize("name", NESTS)
def test_nests_of_transforms(name):
    f, *args = NESTS[name]
    same(fg.jit(f)(*args), f(*args))


def test_a_long_function_is_called_twice_and_a_short_one_once():
    calls = []

    def f(w, x):
        calls.append(len(x))
        return steps(w, x)

    g = fg.jit(fg.grad(f))
    g(WEIGHTS, ROWS)
    g(WEIGHTS, ROWS[:9])
    assert calls == [130, 130, 9]


def test_the_derivative_is_that_of_the_loop():
    g = fg.jit(fg.grad(steps))
    assert g.explain(WEIGHTS, ROWS).count("a loop of") == 1


def test_jacobian_of_stacked_results_is_one_loop():
    def path(w):
        found = [w[0]]
        for x in ROWS:
            found.append(w[1] * np.sin(found[-1]) + w[2] * x + 0.1 * found[-1] * w[0])
        return np.stack(found)

    g = fg.jit(fg.jacfwd(path))
    same(g(WEIGHTS), fg.jacfwd(path)(WEIGHTS))
    assert len(fg.make_graph(g)(WEIGHTS).equations) < 100


def test_what_is_returned_beside():
    def f(w, x):
        value = steps(w, x)
        return value, {"twice": 2 * value, "text": "t", "none": None, "given": [x, w], "n": 3}

    def g(w, x):
        gradient, aux = fg.grad(f, has_aux=True)(w, x)
        assert aux["text"] == "t"
        assert aux["none"] is None
        return gradient, aux["twice"], aux["given"], aux["n"]

    same(fg.jit(g)(WEIGHTS, ROWS), g(WEIGHTS, ROWS))


def test_an_argument_that_is_written():
    def g(w, x):
        def f(w, y):
            found = steps(w, y)
            y[0] = 7.0
            y *= 2.0
            return found + np.sum(y)

        y = x * 1.0
        return fg.grad(f)(w, y), y

    same(fg.jit(g)(WEIGHTS, ROWS), g(WEIGHTS, ROWS))


def test_a_captured_value_that_is_written_between_two_uses():
    def g(w, x):
        y = x * 1.0

        def f(w):
            first = steps(w, y)
            y[3] = 5.0
            return first + steps(w, y)

        return fg.grad(f)(w), y

    same(fg.jit(g)(WEIGHTS, ROWS), g(WEIGHTS, ROWS))


def test_captured_arrays_stay_captures():
    data = RNG.normal(size=150)

    def f(w):
        s = w[0]
        for i in range(150):
            s = np.sin(s * w[1]) + data[i] * w[2] + np.dot(data[:3], w) * s - 0.01 * s * s
        return s

    g = fg.jit(fg.grad(f))
    same(g(WEIGHTS), fg.grad(f)(WEIGHTS))
    data *= 0.5
    same(g(WEIGHTS), fg.grad(f)(WEIGHTS))


def test_a_workspace_is_used_as_it_was():
    workspace = np.zeros(3)

    def f(w):
        s = w[0]
        for i in range(150):
            workspace[:] = 0.01 * i
            s = np.sin(s * w[1]) + np.dot(workspace, w) * s + np.cos(s) * w[2]
        return s

    g = fg.jit(fg.grad(f))
    want = fg.grad(f)(WEIGHTS)
    same(g(WEIGHTS), want)
    same(g(0.5 * WEIGHTS), fg.grad(f)(0.5 * WEIGHTS))


@pytest.mark.filterwarnings("ignore:jit of")
def test_random_numbers_are_drawn_once():
    def drawn(compiled):
        source = np.random.default_rng(5)

        def f(w):
            s = w[0]
            for _ in range(200):
                s = np.sin(s * w[1]) + source.normal() * s + np.cos(s) * w[2] - 0.01 * s * s
            return s

        g = fg.jit(fg.grad(f)) if compiled else fg.grad(f)
        return g(WEIGHTS), source.normal()

    same(drawn(True), drawn(False))


def test_code_that_catches_everything():
    def f(w):
        try:
            return steps(w, ROWS)
        except:  # noqa: E722
            return 0.0 * np.sum(w)

    same(fg.jit(fg.grad(f))(WEIGHTS), fg.grad(f)(WEIGHTS))


def test_a_value_that_is_handed_on_past_the_results():
    def g(w, x):
        seen = []

        def f(w):
            seen.append(fg.stop_gradient(np.sum(w)))
            return steps(w, x) * seen[-1]

        return fg.grad(f)(w), seen[-1]

    same(fg.jit(g)(WEIGHTS, ROWS), g(WEIGHTS, ROWS))


def test_errors_name_the_line():
    def f(w):
        found = steps(w, ROWS)
        return found if found > 0 else -found  # the line

    with pytest.raises(fg.errors.AbstractValueError, match="test_deferred"):
        fg.jit(fg.grad(f))(WEIGHTS)
