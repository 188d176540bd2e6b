"""Effects: what a program prints, it prints as often as it says, in its order, in every transform.

The same text runs with JAX's modules and with ours.
"""

import contextlib
import io

import jax_pair
import numpy as np
import pytest
from transforms.effect_programs import ONLY_FORWARD, PROGRAMS, ROWS, SHARED

import funcgrad as fg

P = fg.debug.print
EVERY = {**PROGRAMS, **ONLY_FORWARD}
CALLS = {
    "value": lambda m, f: f,
    "jit": lambda m, f: m.jit(f),
    "grad": lambda m, f: m.grad(f),
    "jit of grad": lambda m, f: m.jit(m.grad(f)),
    "grad of jit": lambda m, f: m.grad(m.jit(f)),
    "jvp": lambda m, f: lambda x: m.jvp(f, (x,), (x,))[1],
    "jit of jvp": lambda m, f: m.jit(lambda x: m.jvp(f, (x,), (x,))[1]),
    "linearize": lambda m, f: lambda x: m.linearize(f, x)[1](x),
    "twice": lambda m, f: lambda x: (m.jit(f)(x), m.jit(f)(x))[1],
}
REVERSE = ("grad", "jit of grad", "grad of jit", "linearize")
FORWARD = ("jvp", "jit of jvp", "linearize")
# What jax does not have (forward mode of custom_vjp, reverse mode of while_loop), or prints once
# although the program says three times (scans that print what does not change); and of custom_jvp
# our rule runs in the backward pass.
NOT_COMPARED = {
    "custom_vjp": FORWARD,
    "while_loop": REVERSE,
    "custom_jvp": REVERSE,
    "scan of a constant": REVERSE,
    "scan of a captured value": REVERSE,
}


def lines(f, *args):
    """What a call returns, and the lines that it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        found = f(*args)
    return found, out.getvalue().splitlines()


def theirs(f, x):
    import jax

    def run():
        found = f(x)
        jax.block_until_ready(found)
        jax.effects_barrier()
        return found

    return lines(run)


@pytest.mark.peers
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", EVERY)
def test_the_lines_of_jax(name, call):
    jax = pytest.importorskip("jax")
    if call in NOT_COMPARED.get(name, ()):
        pytest.skip("see NOT_COMPARED")
    source, x = EVERY[name]
    make = CALLS[call]
    mine = make(fg, jax_pair.function(source, jax_pair.ours(), SHARED))
    other = make(jax, jax_pair.function(source, jax_pair.theirs(), SHARED))
    expected, printed = theirs(other, x)
    found, own = lines(mine, x)
    np.testing.assert_allclose(found, expected, 1e-12)
    assert [line.replace("]", "").split() for line in own] == [
        line.replace("]", "").split() for line in printed
    ]


@pytest.mark.peers
@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("name", [n for n in PROGRAMS if n != "a constant"])
def test_vmap_prints_a_line_for_each_example(name, staged):
    """JAX's prints are not ordered there, so lines are compared as a collection."""
    jax = pytest.importorskip("jax")
    source, x = PROGRAMS[name]
    xs = np.stack([np.asarray(x), np.asarray(x) * 3.0])
    found, printed = [], []
    shared = SHARED.replace("ordered=True", "ordered=False")
    for module, names in ((fg, jax_pair.ours()), (jax, jax_pair.theirs())):
        f = module.vmap(jax_pair.function(source, names, shared))
        f = module.jit(f) if staged else f
        value, own = theirs(f, xs) if module is jax else lines(f, xs)
        found.append(np.asarray(value))
        printed.append(sorted(own))
    np.testing.assert_allclose(*found, 1e-12)
    if name in ("cond", "the other branch"):  # jax prints both branches for all examples
        assert set(printed[0]) <= set(printed[1]) and len(printed[0]) == 2
    else:
        assert printed[0] == printed[1]


def test_examples_print_in_the_branch_that_they_take():
    f = lambda x: fg.cond(x > 0, lambda v: (P("+ {}", v), v)[1], lambda v: (P("- {}", v), -v)[1], x)
    x = np.array([1.0, -2.0, 3.0])
    for g in (fg.vmap(f), fg.jit(fg.vmap(f)), fg.vmap(fg.jit(f)), fg.vmap(fg.grad(f))):
        assert lines(g, x)[1] == ["+ 1.0", "+ 3.0", "- -2.0"]


def test_examples_print_until_their_loop_ends():
    w = lambda x: fg.while_loop(lambda v: v < 8.0, lambda v: (P("{}", v), 2.0 * v)[1], x)
    x = np.array([1.0, 3.0, 20.0])
    expected = ["1.0", "3.0", "2.0", "6.0", "4.0"]
    total = lambda x: fg.vmap(w)(x).sum()
    for g in (fg.vmap(w), fg.jit(fg.vmap(w)), fg.grad(total), fg.jit(fg.grad(total))):
        assert lines(g, x)[1] == expected


def test_a_branch_within_a_loop_for_each_example():
    def step(c, v):
        return fg.cond(v > c, lambda: (P("{} > {}", v, c), v)[1], lambda: c), None

    f = lambda rows: fg.scan(step, 0.0, rows)[0]
    rows = np.array([[1.0, 3.0, 2.0], [4.0, 2.0, 5.0]])
    expected = ["1.0 > 0.0", "4.0 > 0.0", "3.0 > 1.0", "5.0 > 4.0"]
    for g in (fg.vmap(f), fg.jit(fg.vmap(f)), fg.jit(fg.grad(lambda r: fg.vmap(f)(r).sum()))):
        assert lines(g, rows)[1] == expected


@pytest.mark.parametrize("policy", [None, fg.checkpoint_policies.dots_saveable])
@pytest.mark.parametrize("staged", [False, True])
def test_what_is_computed_again_does_not_print_again(policy, staged):
    f = fg.checkpoint(lambda x: (P("{}", x), np.sin(np.exp(x)))[1], policy=policy)
    g = fg.jit(fg.grad(f)) if staged else fg.grad(f)
    assert lines(g, 0.0)[1] == ["0.0"]
    scanned = lambda x: fg.scan(
        lambda c, v: (P("{}", v), (np.sin(c + v), None))[1], 0.0, x, checkpoint=2
    )[0]
    g = fg.jit(fg.grad(scanned)) if staged else fg.grad(scanned)
    assert lines(g, np.arange(4.0))[1] == ["0.0", "1.0", "2.0", "3.0"]


def test_a_derivative_that_meets_nan_prints_once():
    f = lambda x: (P("{}", x), np.where(x > 0, np.sqrt(x), 0.0))[1]
    assert lines(fg.jvp, f, (0.0,), (1.0,))[1] == ["0.0"]
    assert lines(fg.jacfwd(f), np.zeros(2))[1] == ["[0. 0.]"]

    @fg.custom_vjp
    def seen(x):
        return x

    seen.defvjp(lambda x: (x, None), lambda _, g: (P("{}", g), (g,))[1])
    g = fg.grad(lambda x: f(seen(x)))
    assert lines(g, 0.0)[1] == ["0.0", "0.0"]


def test_a_program_that_is_run_again_prints_once():
    f = fg.jit(lambda x, i: (P("{}", x), x[i])[1])
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(IndexError):
        f(np.arange(3.0), 7)
    assert out.getvalue() == "[0. 1. 2.]\n"
    masked = fg.jit(lambda x: (P("{}", x), x[x > 0].sum())[1])
    for x in (np.array([1.0, -1.0]), np.array([1.0, 2.0]), np.array([1.0, -1.0])):
        assert lines(masked, x) == (x[x > 0].sum(), [str(x)])


@pytest.mark.parametrize("derived", [False, True])
def test_a_python_loop_that_prints_is_found_and_prints_in_order(derived):
    def loop(x):
        y = x[0]
        for k in range(100):
            P("before {}", y)
            y = np.sin(y) + x[k]
            P("{} {:.3f}", k, y)
        return y

    x = np.arange(100.0)
    f = fg.grad(loop) if derived else loop
    staged = fg.jit(f)
    value, own = lines(staged, x)
    assert "a loop of" in fg.jit(loop).explain(x)
    eager, printed = lines(f, x)
    np.testing.assert_allclose(value, eager, 1e-9)
    assert [line.split()[0] for line in own] == [line.split()[0] for line in printed]
    assert len(own) == 200


def test_equal_lines_of_a_program_are_all_printed():
    f = fg.jit(lambda x: (P("{}", x), P("{}", x), fg.checkpoint(lambda v: P("{}", v))(x), x)[3])
    assert lines(f, 1.0)[1] == ["1.0"] * 3
    g = fg.jit(lambda x: fg.map(lambda v: P("{}", v), x))
    assert lines(g, np.arange(2.0)) == (None, ["0.0", "1.0"])
    assert lines(fg.jit(lambda x: fg.cond(x > 0, lambda: P("yes"), lambda: None)), 1.0)[1] == [
        "yes"
    ]


def test_tracing_alone_prints_nothing():
    f = lambda x: (P("{}", x), P("hello"), x)[2]
    assert lines(fg.make_graph(f), 1.0)[1] == []
    assert lines(fg.eval_shape, f, 1.0)[1] == []
    assert "debug_callback" in str(fg.make_graph(f)(1.0))


def test_jet_and_hessian_print_once():
    f = lambda x: (P("{}", x), np.sin(x).sum())[1]
    assert lines(fg.jet, f, (0.5,), ((1.0, 0.0),))[1] == ["0.5"]
    assert lines(fg.hessian(f), ROWS)[1] == ["[1. 2. 4.]"]
    assert lines(fg.jit(fg.hessian(f)), ROWS)[1] == ["[1. 2. 4.]"]


def test_the_interpreter_prints_the_same(monkeypatch):
    f = fg.jit(fg.grad(lambda x: fg.scan(lambda c, v: (P("{}", v), (c * v, None))[1], 1.0, x)[0]))
    monkeypatch.setattr(fg.config, "backend", "interpreter")
    assert lines(f, ROWS)[1] == ["1.0", "2.0", "4.0"]


@pytest.mark.parametrize("staged", [False, True])
def test_what_jax_prints_once_is_printed_at_each_step(staged):
    f = lambda x: fg.scan(lambda c, v: (P("hi"), (c + v, None))[1], 0.0, x)[0]
    g = fg.jit(fg.grad(f)) if staged else fg.grad(f)
    assert lines(g, ROWS)[1] == ["hi"] * 3


@pytest.mark.parametrize("name", ["scan", "while_loop"])
def test_a_step_that_is_given_a_python_number_prints_once(name):
    """The number becomes an array of the compiled loop; the line was written for either."""

    def step(c):
        P("{}", c)
        return c * 0.5

    def f(x):
        if name == "scan":
            return fg.scan(lambda c, _: (step(c), None), x, length=2)[0]
        return fg.while_loop(lambda c: c > 1.0, step, x)

    for g in (fg.jit(f), fg.jit(fg.grad(f))):
        assert lines(g, 4.0)[1] == ["4.0", "2.0"]


@pytest.mark.parametrize("staged", [False, True])
def test_a_custom_jvp_in_reverse_mode_calls_its_rule_and_the_function_once(staged):
    @fg.custom_jvp
    def square(x):
        P("square {}", x)
        return x * x

    square.defjvp(lambda p, t: (P("rule"), (square(*p), 2.0 * p[0] * t[0]))[1])
    g = fg.jit(fg.grad(square)) if staged else fg.grad(square)
    assert lines(g, 3.0)[1] == ["rule", "square 3.0"]
