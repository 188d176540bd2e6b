"""What loops and branches refuse, and what they do not run although they compute with all of it."""

from __future__ import annotations

import inspect
import signal

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import errors

WAYS = {
    "jit": fg.jit,
    "jit of grad": lambda f: fg.jit(fg.grad(f)),
    "jit of vmap": lambda f: lambda x, n: fg.jit(fg.vmap(f, in_axes=(None, 0)))(x, np.array([n])),
}


def reading(x, n):
    def inner(i, c):
        return fg.fori_loop(0, 2, lambda j, d: d + x[i * n + j], c)

    return fg.fori_loop(0, 3, inner, 0.0)


@pytest.mark.parametrize("way", WAYS)
def test_an_index_out_of_range_in_a_nested_loop_names_its_line(way):
    """IndexError, and not a crash: the kernel reads no memory that is not the array's."""
    x = np.arange(7.0)
    f = WAYS[way](reading)
    f(x, 2)
    with pytest.raises(IndexError, match="out of bounds") as error:
        f(x, 3)
    line = inspect.getsourcelines(reading)[1] + 2
    told = str(error.value) + "".join(getattr(error.value, "__notes__", []))
    assert f'{__file__}", line {line}' in told


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_an_integer_carry_that_becomes_a_float_is_named_with_both_types(wrap):
    def f(n):
        return fg.while_loop(
            lambda c: c["n"] < 5, lambda c: {"n": c["n"] + 0.5, "k": c["k"]}, {"n": n, "k": 0}
        )

    with pytest.raises(errors.LoopTypeError, match=r"carry\['n'\] has type int64\[\].*float64\[\]"):
        wrap(f)(np.int64(1))


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit])
def test_a_loop_of_indices_names_the_function_of_the_user(wrap):
    def widens(i, c):
        return c[:, None] * i

    with pytest.raises(errors.LoopTypeError, match="widens returns"):
        wrap(lambda x: fg.fori_loop(0, 3, widens, x))(np.ones(4))


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit])
def test_less_than_no_steps_are_refused_before_the_first(wrap):
    steps = []
    f = lambda x: fg.while_loop(lambda c: c < 9.0, lambda c: steps.append(c), x, max_steps=-1)
    with pytest.raises(ValueError, match="max_steps is -1; it is 0 or more"):
        wrap(f)(1.0)
    assert not steps


def test_branches_with_different_results_are_refused_with_both_types():
    def f(branch):
        return fg.jit(lambda x: fg.cond(x > 0, lambda v: v, branch, x))

    with pytest.raises(TypeError, match=r"float64.*\[\] and float64\[2\]"):
        f(lambda v: v * np.ones(2))(1.0)
    with pytest.raises(TypeError, match="different trees"):
        f(lambda v: (v, v))(1.0)
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        fg.jit(lambda x: fg.cond(x > 0, np.sum, np.max, x))(np.ones(2))


GENERATOR = np.random.default_rng(0)
DRAWING = {
    "scan": lambda x: fg.scan(lambda c, _: (c + GENERATOR.normal(), None), x, length=3)[0],
    "fori_loop": lambda x: fg.fori_loop(0, 3, lambda i, c: c + np.random.rand(), x),
    "while_loop": lambda x: fg.while_loop(lambda c: c < 9, lambda c: c + np.random.rand(), x),
}


@pytest.mark.parametrize("name", DRAWING)
def test_steps_of_a_compiled_loop_share_no_random_numbers(name):
    """Traced once, the body would draw once for all steps."""
    f = DRAWING[name]
    f(0.5)  # in Python every step draws its own
    with pytest.raises(errors.RandomnessError, match=f"{name}: .* before the loop"):
        fg.jit(f)(0.5)


def test_random_numbers_that_are_rows_of_a_loop():
    def f(x, draws):
        return fg.scan(lambda c, r: (c * 0.5 + r * x, None), 0.0, draws)[0]

    draws = np.random.default_rng(1).normal(size=20)
    slope = sum(r * 0.5**k for k, r in enumerate(draws[::-1]))
    np.testing.assert_allclose(fg.jit(fg.grad(f))(2.0, draws), slope, rtol=1e-13)


def inverse(a):
    return np.sum(np.linalg.inv(a))


def element(a):
    return np.sum(fnp.take(np.arange(3.0), (a[0, 0] * 2).astype(int)) * a)


@pytest.mark.parametrize("f", [inverse, element])
@pytest.mark.parametrize("ends", [[], [1.0], [3.0, 1.0, 2.0]], ids=["none", "one", "all"])
def test_examples_that_take_the_other_branch_raise_nothing(f, ends):
    """A matrix that is singular, or an index that is out of range, but for those examples only."""
    good = [np.array([[0.5, k], [k * 2, 1.0]]) for k in (0.1, 0.2)] if len(ends) != 0 else []
    xs = np.stack([np.full((2, 2), k) for k in (3.0, 4.0, *ends)] + good)

    def g(a):
        return fg.cond(a[0, 0] < 1, f, lambda a: np.sum(a * a), a)

    each = [g(a) for a in xs]
    slopes = [fg.grad(g)(a) for a in xs]
    for wrap in (lambda h: h, fg.jit):
        np.testing.assert_allclose(wrap(fg.vmap(g))(xs), each, rtol=1e-12)
        np.testing.assert_allclose(wrap(fg.vmap(fg.grad(g)))(xs), slopes, rtol=1e-11)
        whole = wrap(fg.grad(lambda xs: np.sum(fg.vmap(g)(xs))))
        np.testing.assert_allclose(whole(xs), slopes, rtol=1e-11)


class Disturbed(Exception):
    pass


def disturb(*_):
    raise Disturbed


def forever(x):
    return fg.while_loop(lambda c: c[1] > -1, lambda c: (np.sin(c[0]), c[1] + 1), (x, 0))[0]


NESTED = {
    "in a scan": lambda x: fg.scan(lambda c, _: (forever(c), None), x, length=10**6)[0],
    "in a branch": lambda x: fg.fori_loop(
        0, 3, lambda i, c: fg.cond(c < 5, forever, np.sin, c), x
    ),
    "in a while_loop": lambda x: fg.while_loop(lambda c: c < 5, forever, x),
}  # fmt: skip


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
@pytest.mark.parametrize("where", NESTED)
def test_a_signal_ends_a_long_loop_within_another(where):
    before = signal.signal(signal.SIGALRM, disturb)
    try:
        signal.setitimer(signal.ITIMER_REAL, 3.0, 3.0)
        with pytest.raises(Disturbed):
            fg.jit(NESTED[where])(0.5)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_errors_name_the_function_that_was_called():
    with pytest.raises(ValueError, match=r"map: the numbers of steps differ: 3 for xs\[0\], 4"):
        fg.map(lambda v: v[0] + v[1], (np.ones(3), np.ones(4)))
    with pytest.raises(ValueError, match="map: xs is a tree without arrays"):
        fg.map(lambda v: 1.0, None)
    pair = lambda u: (u, u)
    with pytest.raises(TypeError, match="functions of switch return different trees"):
        fg.jit(lambda k, v: fg.switch(k, [np.sin, pair, np.cos], v))(1, 2.0)
    with pytest.raises(TypeError, match=r"functions of switch return .* as the output"):
        fg.jit(lambda k, v: fg.switch(k, [np.sin, lambda u: u[None]], v))(1, np.ones(2))


def test_an_associative_function_keeps_shapes():
    x = np.ones((4, 3))
    with pytest.raises(ValueError, match=r"the result has shape \(3,\), not \(2, 3\)"):
        fg.associative_scan(lambda a, b: np.sum(a * b, axis=0), x)
    cut = lambda a, b: {"u": a["u"] * b["u"], "v": a["v"][..., :2]}
    with pytest.raises(ValueError, match=r"the result\['v'\] has shape \(2, 2\), not \(2, 3\)"):
        fg.associative_scan(cut, {"u": x, "v": x})


def test_a_compiled_loop_beyond_its_steps_names_its_line():
    def run(x):
        return fg.while_loop(lambda c: c < 100.0, lambda c: c + 1.0, np.sin(x), max_steps=5) * 2.0

    line = run.__code__.co_firstlineno + 1
    for function in (run, fg.jit(run), fg.jit(fg.grad(run))):
        with pytest.raises(errors.LoopLimitError, match=rf"line {line}, in run"):
            function(1.0)


def from_the_front(x, i):
    h = 0.0
    for k in range(60):
        h = h * 0.5 + x[i[k]]
    return h


def from_the_back(x, i):
    h = 0.0
    for k in range(59, -1, -1):
        h = h * 0.5 + x[i[k]]
    return h


def scanned(x, i):
    return fg.scan(lambda c, k: (c * 0.5 + x[k], None), 0.0, i)[0]


def scanned_back(x, i):
    return fg.scan(lambda c, k: (c * 0.5 + x[k], None), 0.0, i, reverse=True)[0]


def written_at(x, i):
    y = fnp.array(x)
    for k in range(60):
        y[i[k]] = y[i[k]] * 0.5 + np.sin(x[k])
    return np.sum(y)


@pytest.mark.parametrize("way", ["jit", "jit of grad", "grad of jit", "jit of jvp", "jit of vmap"])
@pytest.mark.parametrize(
    "f",
    [from_the_front, from_the_back, scanned, scanned_back, written_at],
    ids=lambda f: f.__name__,
)
def test_the_first_of_several_indices_out_of_range_is_named(f, way):
    """As the program is written, although its backward pass meets the last one first."""
    g = {
        "jit": lambda: fg.jit(f),
        "jit of grad": lambda: fg.jit(fg.grad(f)),
        "grad of jit": lambda: fg.grad(fg.jit(f)),
        "jit of jvp": lambda: fg.jit(lambda x, i: fg.jvp(lambda x: f(x, i), (x,), (x,))),
        "jit of vmap": lambda: fg.jit(fg.vmap(fg.grad(f), (None, None), axis_size=2)),
    }[way]()
    x, i = np.linspace(0.1, 1.0, 60), np.arange(60)
    g(x, i)
    i[[30, 40, 50]] = 200, 300, 400
    with pytest.raises(IndexError) as plain:
        f(x, i)
    for _ in range(2):  # the second time the call takes the short way
        with pytest.raises(IndexError) as error:
            g(x, i)
        assert str(error.value) == str(plain.value)
        lines, first = inspect.getsourcelines(f)
        told = "".join(getattr(error.value, "__notes__", []))
        assert any(f'{__file__}", line {first + k}' in told for k in range(len(lines)))
    assert np.all(np.isfinite(g(x, np.arange(60))))


def test_the_first_is_named_where_all_of_the_backward_pass_is_known():
    f = fg.jit(fg.grad(lambda x: fg.fori_loop(0, 5, lambda i, c: c + x[i], 0.0)))
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        f(np.arange(3.0))
