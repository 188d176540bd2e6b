"""`cond` in every transform, against the Python branch that it stands for."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.testing import check_grads

SCALE = np.array([2.0, 3.0])


def branch(p, one, other, *xs):
    return one(*xs) if p else other(*xs)


def simple(cond, x):
    return cond(np.sum(x) > 0, lambda v: np.sum(np.sin(v)), lambda v: np.sum(v**3), x)


def poisoned(cond, x):
    """The branch not taken has an infinite derivative, or none."""
    return np.sum(cond(x[0] > 0, np.sqrt, lambda v: np.log(-v) * v, x * np.sign(x[0]) * x[0]))


def closed_over(cond, x):
    y = np.exp(x)
    z = x[0] * y[1]
    return cond(x[0] > 0, lambda v: np.sum(v * y), lambda v: z * np.sum(SCALE * v), x**2)


def several(cond, x):
    """Trees, an operand that is not differentiated, and an output without gradient."""
    found = cond(
        x[1] > 0,
        lambda d, n: {"a": d["x"] * n, "b": (1.0, n)},
        lambda d, n: {"a": d["x"] ** 2, "b": (d["x"][0], n * 2)},
        {"x": x},
        3,
    )
    return np.sum(found["a"]) * found["b"][0] * found["b"][1]


def nested(cond, x):
    def inner(v):
        return cond(v[1] > 0, lambda w: w[0] * w[1], lambda w: w[0] / w[1], v)

    return cond(x[0] > 0, inner, lambda v: inner(-v) ** 2, x)


def masked(cond, x):
    return cond(x[0] > 0, lambda v: np.sum(v[v > 0] ** 2), lambda v: np.sum(v[v < 0]), x)


PROGRAMS = [simple, poisoned, closed_over, several, nested, masked]
POINTS = [np.array(p) for p in ([0.5, 0.7], [-0.5, -0.7], [-0.5, 2.0], [0.5, -2.0])]
WAYS = {
    "jit": lambda f: fg.jit(f),
    "jit of grad": lambda f: fg.jit(fg.value_and_grad(f)),
    "grad of jit": lambda f: fg.value_and_grad(fg.jit(f)),
    "hessian of jit": lambda f: fg.hessian(fg.jit(f)),
    "jit of hessian": lambda f: fg.jit(fg.hessian(f)),
    "jacfwd of jit": lambda f: fg.jacfwd(fg.jit(f)),
    "jit of jacrev of jacfwd": lambda f: fg.jit(fg.jacrev(fg.jacfwd(f))),
    "jit of checkpoint": lambda f: fg.jit(fg.grad(fg.checkpoint(f))),
    "linearize of jit": lambda f: lambda x: fg.linearize(fg.jit(f), x)[1](np.ones(2)),
}
DIRECT = {"linearize of jit": lambda f: lambda x: fg.jvp(f, (x,), (np.ones(2),))[1]}


def same(got, want):
    for a, b in zip(fg.tree.leaves(got), fg.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def direct(way, f):
    if way in DIRECT:
        return DIRECT[way](f)
    if "hessian" in way:
        return fg.hessian(f)
    if "jacrev" in way:
        return fg.jacrev(fg.jacfwd(f))
    if way == "jit":
        return f
    return fg.grad(f) if "jac" in way or "checkpoint" in way else fg.value_and_grad(f)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_a_python_branch(program, way):
    made = WAYS[way](lambda x: program(fg.cond, x))
    for x in POINTS:
        with np.errstate(all="ignore"):
            want = direct(way, lambda x: program(branch, x))(x)
        same(made(x), want)


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p is not masked])
@pytest.mark.parametrize(
    "way",
    [
        lambda f: fg.vmap(fg.value_and_grad(f)),
        lambda f: fg.jit(fg.vmap(fg.value_and_grad(f))),
        lambda f: fg.vmap(fg.jit(fg.value_and_grad(f))),
        lambda f: fg.vmap(fg.value_and_grad(fg.jit(f))),
    ],
)
def test_each_example_chooses(program, way):
    xs = np.array(POINTS)
    values, gradients = way(lambda x: program(fg.cond, x))(xs)
    for x, value, gradient in zip(xs, values, gradients, strict=True):
        with np.errstate(all="ignore"):
            same((value, gradient), fg.value_and_grad(lambda x: program(branch, x))(x))


def test_one_choice_for_all_examples():
    def f(p, x):
        return fg.cond(p > 0, lambda v: np.sum(v**2), lambda v: np.sum(np.sin(v)), x)

    xs = np.array(POINTS)
    mapped = fg.jit(fg.vmap(fg.grad(f, argnums=1), in_axes=(None, 0)))
    np.testing.assert_allclose(mapped(1.0, xs), 2 * xs)
    np.testing.assert_allclose(mapped(-1.0, xs), np.cos(xs))


def test_what_the_other_function_raises_is_not_asked_for_where_the_condition_is_known():
    def never(x):
        raise AssertionError

    assert fg.grad(lambda x: fg.cond(x > 0, np.square, never, x))(3.0) == 6.0
    assert fg.cond(0, never, np.negative, 1.0) == -1.0


def test_finite_differences_agree():
    check_grads(fg.jit(lambda x: closed_over(fg.cond, x)), (POINTS[2],), order=2)


def test_a_changed_capture_is_seen():
    data = np.ones(2)
    f = fg.jit(fg.grad(lambda x: fg.cond(x > 0, lambda v: np.sum(v * data), np.sin, x)))
    assert f(1.0) == 2.0
    data[0] = 5.0
    assert f(1.0) == 6.0


def test_a_python_number_takes_the_dtype_of_the_other_branch():
    f = fg.jit(lambda x: fg.cond(x > 0, lambda v: v * 2, lambda v: 0.0, x))
    assert f(np.float32(2.0)).dtype == np.float32
    assert f(np.float32(-2.0)).dtype == np.float32


@pytest.mark.parametrize(
    "f, error, text",
    [
        (lambda x: fg.cond(x > 0, np.sin, np.cos, x), ValueError, r"has shape \(2,\).*where"),
        (
            lambda x: fg.cond(x[0] > 0, lambda v: (v, v), np.cos, x),
            TypeError,
            "different trees",
        ),
        (
            lambda x: fg.cond(x[0] > 0, lambda v: {"a": v}, lambda v: {"a": v[0]}, x),
            TypeError,
            r"float64\[2\] and float64\[\] as the output\['a'\]",
        ),
        (
            lambda x: fg.cond(x[0] > 0, lambda v: v.astype("f4"), lambda v: v, x),
            TypeError,
            r"float32\[2\] and float64\[2\]",
        ),
    ],
)
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("way", [lambda f: f, fg.jit, fg.grad], ids=["plain", "jit", "grad"])
def test_errors_name_the_line(f, error, text, sign, way):
    """Also where the condition is known, and whichever of the two is taken."""
    with pytest.raises(error, match=text) as info:
        way(f)(sign * POINTS[0])
    assert __file__ in str(info.value)


@pytest.mark.parametrize("way", [lambda f: f, fg.jit], ids=["plain", "jit"])
@pytest.mark.parametrize("k", [0, 1, 2])
def test_all_functions_of_a_switch_agree(k, way):
    f = way(lambda k, x: fg.switch(k, [np.sin, np.cos, lambda v: v[None]], x))
    with pytest.raises(TypeError, match=r"switch return float64\[2\] and float64\[1,2\]"):
        f(k, POINTS[0])


@pytest.mark.parametrize("way", [lambda f: f, fg.jit], ids=["plain", "jit"])
def test_a_condition_is_a_bool_or_a_real_number(way):
    f = way(lambda p: fg.cond(p, np.sin, np.cos, 1.0))
    assert f(0.5) == f(True) == f(3) == np.sin(1.0)
    assert f(0.0) == f(False) == np.cos(1.0)
    with pytest.raises(TypeError, match=r"type complex128\*\[\]; it is a single bool or real"):
        f(1j)


class TestTheFunctionThatDoesNotRun:
    """It is asked once for the types that it gives, and for nothing else."""

    def test_is_traced_once_for_operands_of_one_type(self):
        seen = []

        def other(x):
            seen.append(type(x))
            return -x

        for x in (1.0, 2.0, np.ones(2), np.zeros(2)):
            fg.cond(True, np.sin, other, x)
        assert len(seen) == 2 and float not in seen and np.ndarray not in seen

    def test_draws_no_numbers(self):
        own = np.random.default_rng(1)
        np.random.seed(3)
        state = np.random.get_state(legacy=False)["state"]["pos"], own.bit_generator.state
        other = lambda: own.normal() + np.random.normal()
        assert fg.cond(True, lambda: 0.5, other) == 0.5
        assert state == (
            np.random.get_state(legacy=False)["state"]["pos"],
            own.bit_generator.state,
        )

    def test_writes_into_nothing(self):
        total, x = np.zeros(2), np.ones(2)

        def other(v):
            total[:] = 5.0
            v[0] = 7.0
            return v

        assert fg.cond(True, np.sin, other, x)[0] == np.sin(1.0)
        assert not total.any() and x.all()
        total[0] = 1.0  # it can be written into again

    def test_has_no_effects(self, capsys):
        def other(x):
            fg.debug.print("{}", x)
            return x

        assert fg.cond(True, np.sin, other, 0.0) == 0.0
        assert not capsys.readouterr().out

    def test_does_not_warn(self, recwarn):
        x = np.array([-1.0])
        assert fg.cond(False, lambda: np.log(x), lambda: x) == -1.0
        assert not recwarn

    def test_may_call_itself(self):
        def factorial(n):
            return fg.cond(n == 0, lambda n: 1.0, lambda n: n * factorial(n - 1.0), n)

        assert factorial(4.0) == 24.0
        assert fg.grad(factorial)(2.0) == 3.0

    def test_may_give_what_is_no_array(self):
        assert fg.cond(True, lambda: "yes", lambda: 1.0) == "yes"

    def test_may_be_given_what_is_no_array(self):
        assert fg.cond(True, lambda name, x: x, lambda name, x: -x, "a", 2.0) == 2.0


def test_the_graph_shows_both_branches():
    text = str(fg.make_graph(lambda x: fg.cond(x > 0, np.sin, np.cos, x))(1.0))
    assert "cond" in text and "sin" in text and "cos" in text


def test_branches_share_the_memory_of_their_residuals_and_keep_no_operand_twice():
    def f(w, x):
        def step(c, _):
            return fg.cond(
                c[0] > 0, lambda c: np.tanh(w @ c), lambda c: np.exp(-np.abs(w.T @ c)), c
            ), None

        return np.sum(fg.scan(step, x, length=10)[0])

    w, x = np.full((4, 4), 0.3), np.arange(4.0) - 1
    both = fg.grad(f, argnums=(0, 1))
    graph = fg.make_graph(both)(w, x)
    loops = [e for e in graph.equations if e.prim.name == "loop"]
    stacks = [v.type.shape for v in loops[0].outputs if v.type.ndim > 1]
    assert (10, 4, 4) not in stacks and len(stacks) <= 4
    for a, b in zip(fg.jit(both)(w, x), both(w, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
