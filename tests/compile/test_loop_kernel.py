"""Loops as one kernel: what is native, where carries lie, and that values are the interpreter's."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compile.execute import executable
from funcgrad.compile.loops import For, statements
from funcgrad.config import config

RETURNS = np.sin(np.arange(300.0)) * 0.1
THETA = np.array([0.05, 0.1, 0.85])


def garch(th):
    def step(s, r):
        q = r * r
        return th[0] + th[1] * q + th[2] * s, np.log(s) + q / s

    return np.sum(fg.scan(step, RETURNS[0] ** 2 + 0.01, RETURNS)[1])


def lorenz(th):
    def slope(u):
        return np.stack([u[1] - u[0], u[0] * (th[0] - u[2]) - u[1], u[0] * u[1] - th[1] * u[2]])

    def step(u, _):
        k = slope(u)
        return u + 0.01 * slope(u + 0.005 * k), None

    return np.sum(fg.scan(step, np.ones(3) * th[2], length=50)[0] ** 2)


def recurrent(th):
    w = np.sin(np.arange(400.0).reshape(20, 20)) * th[0]

    def step(h, x):
        return np.tanh(w @ h + x * th[1]), h

    h, hs = fg.scan(step, np.zeros(20), RETURNS)
    return np.sum(h * h) + np.sum(hs) * th[2]


def table(th):
    lines = np.cos(np.arange(12.0).reshape(4, 3) * th[0])

    def step(c, k):
        return np.sin(c * lines[k]) + th[1], np.max(c)

    c, y = fg.scan(step, np.ones(3), np.arange(40) % 4)
    return np.sum(c) + np.sum(y)


def within(th):
    def step(c, row):
        d, _ = fg.scan(lambda d, x: (np.sin(d * th[0]) + x, None), c, row)
        return d * th[1], d

    c, y = fg.scan(step, th[2], RETURNS.reshape(30, 10))
    return c + np.sum(y)


def until(th):
    return fg.while_loop(
        lambda c: c[0] < 40.0, lambda c: (c[0] + th[0] + c[1], c[1] * th[2]), (th[1], 1.0)
    )[0]


PROGRAMS = [garch, lorenz, recurrent, table, within, until]
WAYS = [lambda f: f, fg.value_and_grad, lambda f: fg.vmap(fg.grad(f)), fg.hessian]


def loops_of(graph):
    found = executable(graph)
    return [s for k in found.kernels for s in statements(k.body) if _is_loop(s)], found


def _is_loop(s):
    return isinstance(s, For) and s.kind == "steps"


@pytest.mark.costly
@pytest.mark.parametrize("way", WAYS, ids=["value", "gradient", "examples", "hessian"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_a_loop_is_native_and_agrees_with_the_interpreter(program, way, monkeypatch):
    examples = way is WAYS[2]
    x = np.stack([THETA, THETA * 1.1]) if examples else THETA
    f = fg.jit(way(program))
    text = f.explain(x)
    assert "step by step" not in text and "NumPy: loop" not in text
    found = f(x)
    monkeypatch.setattr(config, "backend", "interpreter")
    wanted = fg.jit(way(program))(x)
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_small_carries_are_in_registers():
    for program, count in ((garch, 1), (lorenz, 3)):
        (loop,), _ = loops_of(fg.make_graph(program)(THETA))
        assert [c.op for c in loop.carries] == ["next"] * count


def test_the_code_of_a_step_does_not_grow_with_its_matrices():
    """Loops over many rows stay loops: written out, LLVM needs milliseconds for each row."""

    def length(n):
        def step(mean, x):
            cov = np.outer(mean, x) + np.eye(n)
            return np.linalg.solve(cov, cov @ mean) + cov.T @ x, None

        f = lambda xs: np.sum(fg.scan(step, xs[0], xs)[0])
        _, found = loops_of(fg.make_graph(fg.grad(f))(np.ones((5, n))))
        return sum(len(statements(k.body)) for k in found.kernels)

    assert length(64) < length(16)


def test_what_nobody_writes_is_read_before_the_loop():
    (loop,), _ = loops_of(fg.make_graph(lorenz)(THETA))
    assert not any(type(s).__name__ == "Load" for s in statements(loop.body))


@pytest.mark.parametrize("rows", [5, 16])
def test_factors_that_no_step_changes_are_turned_round_before_the_loop(rows):
    """Backward, a step multiplies by the transpose of what it multiplies by forward."""
    u, x = np.cos(np.arange(32.0 * 40)).reshape(32, 40) * 0.1, np.ones((rows, 32))

    def f(u, x):
        return np.sum(fg.scan(lambda h, _: (np.tanh((h @ u)[:, :32] + x), None), x, None, 20)[0])

    found, executable = loops_of(fg.make_graph(fg.grad(f, (0, 1)))(u, x))
    back = found[-1]
    inputs = {b.name for k in executable.kernels for b in k.buffers if b.role == "input"}
    reads = [s for s in statements(back.body) if type(s).__name__ == "Load"]
    of_all_steps = [s for s in reads if s.address.buffer in inputs and not any(
        t.startswith(("r_", "t_")) for t, _ in s.address.terms)]  # fmt: skip
    assert not of_all_steps
    compiled, plain = fg.jit(fg.grad(f, (0, 1))), fg.grad(f, (0, 1))
    for a, b in zip(compiled(u, x), plain(u, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_what_has_no_native_form_is_said():
    def f(x):
        return fg.scan(lambda c, _: (np.sort(c) + np.fft.fft(c).real, None), x, length=3)[0]

    text = fg.jit(f).explain(np.ones(4))
    assert "runs step by step in Python" in text and "no native form" in text
    assert __file__ in text
    np.testing.assert_allclose(fg.jit(f)(np.arange(4.0)), f(np.arange(4.0)))


WITHOUT_NATIVE_FORM = {
    "eigh": lambda m: np.linalg.eigh(m)[0],
    "svd": lambda m: np.linalg.svd(m)[1],
    "qr": lambda m: np.linalg.qr(m)[1][0],
    "dft": lambda m: np.real(np.fft.fft(m[0])) + np.imag(np.fft.fft(m[1])),
}
DERIVED = {
    "value": lambda f: f,
    "gradient": fg.grad,
    "Hessian": fg.hessian,
    "examples": lambda f: lambda x: fg.vmap(fg.grad(f))(np.stack([x, x * 0.5])),
}


@pytest.mark.parametrize("name", WITHOUT_NATIVE_FORM)
@pytest.mark.parametrize("way", DERIVED)
def test_loops_of_python_are_those_written_out_and_name_the_operation(name, way):
    def f(x, scan=fg.scan):
        def step(c, r):
            m = np.outer(c, c) + np.diag(np.array([1.0, 2.0, 3.0])) + r * 0.1
            return np.tanh(WITHOUT_NATIVE_FORM[name](m) + c * 0.1), np.sum(c)

        c, ys = scan(step, x, np.arange(3.0))
        return np.sum(c) + np.sum(ys * ys)

    def written_out(step, c, rows):
        ys = []
        for r in rows:
            c, y = step(c, r)
            ys.append(y)
        return c, np.stack(ys)

    x = np.array([0.3, 0.2, 0.9])
    compiled = fg.jit(DERIVED[way](f))
    plain = DERIVED[way](lambda x: f(x, written_out))
    np.testing.assert_allclose(compiled(x), plain(x), rtol=1e-7, atol=1e-12)
    if way in ("value", "gradient"):
        said = [n for n in compiled.explain(x).split("\n") if "step by step in Python" in n]
        assert any(f"{name} of float64" in n and __file__ in n for n in said)


def eigenvalues(v):
    return np.linalg.eigvalsh(np.outer(v, v) + np.eye(3))


LOOPS_OF_PYTHON = {
    "scan": lambda x: fg.scan(lambda c, i: (np.sin(c) * eigenvalues(c), None), x, XS)[0],
    "fori_loop": lambda x: fg.fori_loop(0, 60, lambda i, c: np.sin(c) * eigenvalues(c), x),
    "while_loop": lambda x: fg.while_loop(
        lambda c: np.sum(c) < 50.0, lambda c: c + 0.1 * eigenvalues(c), x, max_steps=100),
    "map": lambda x: fg.map(lambda r: eigenvalues(r * x), np.ones((60, 3))),
    "cond": lambda x: fg.scan(
        lambda c, i: (fg.cond(i > 0.0, eigenvalues, np.sin, c) * c, None), x, XS)[0],
    "nested": lambda x: fg.scan(
        lambda c, i: (fg.fori_loop(0, 3, lambda k, d: np.sin(eigenvalues(d)), c), None), x, XS)[0],
}  # fmt: skip
XS = np.linspace(-1.0, 1.0, 60)


@pytest.mark.parametrize("name", LOOPS_OF_PYTHON)
def test_the_loop_of_the_backward_pass_is_that_of_the_program(name):
    """It had the line that asked for the gradient, and the operation had none."""
    f = LOOPS_OF_PYTHON[name]
    text = fg.jit(fg.grad(lambda x: np.sum(f(x)))).explain(np.array([0.1, 0.5, 0.9]))
    said = [n for n in text.split("\n") if "step by step in Python" in n]
    line = f.__code__.co_firstlineno
    back = [n for n in said if "eigh of float64[3,3] has no native form, at File" in n]
    assert back
    for n in said:
        loop, _, why = n.partition(" runs step by step")
        assert any(f'{__file__}", line {line + k}, in <lambda>' in loop for k in (0, 1)), n
        assert __file__ in why


def test_a_key_that_a_step_draws_from_makes_the_loop_one_of_python():
    """Arrays of dtypes without a native form, behind a part that has one."""
    key = fg.random.key(3)

    def f(x):
        def step(c, i):
            c = fg.scan(lambda c, _: (np.sin(c), None), c, None, length=3)[0]
            return c + fg.random.uniform(fg.random.fold_in(key, i), (4,)), None

        return np.sum(fg.scan(step, x, np.arange(4))[0])

    compiled = fg.jit(fg.value_and_grad(f))
    for a, b in zip(compiled(np.ones(4)), fg.value_and_grad(f)(np.ones(4)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    assert "uint32" in compiled.explain(np.ones(4))


def test_an_index_out_of_range_in_a_loop_names_the_line():
    @fg.jit
    def f(x, n):
        return fg.fori_loop(0, 5, lambda i, c: c + x[i * n], 0.0)

    x = np.arange(9.0)
    assert f(x, 2) == 20.0
    with pytest.raises(IndexError) as error:
        f(x, 3)
    assert any(__file__ in note for note in error.value.__notes__)


def test_a_loop_without_steps():
    @fg.jit
    def f(x):
        return fg.while_loop(lambda c: c[0] > 5.0, lambda c: (c[0] - 1, c[1] / 0.0), (x, x))

    assert f(1.0) == (1.0, 1.0)
    assert f(6.0) == (5.0, np.inf)


def test_carries_that_change_places():
    @fg.jit
    def f(a, b, v):
        (x, y, w), _ = fg.scan(lambda c, _: ((c[1], c[0], c[2][::-1]), None), (a, b, v), length=5)
        return x, y, w

    x, y, w = f(1.0, 2.0, np.arange(40.0))
    assert (x, y) == (2.0, 1.0)
    np.testing.assert_array_equal(w, np.arange(40.0)[::-1])


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int32, bool])
def test_carries_of_other_dtypes(dtype):
    xs = (np.arange(30) % 3).astype(dtype)

    def f(xs):
        def step(c, x):
            return (c | x, x) if dtype is bool else (c + x * x, c)

        return fg.scan(step, xs[0], xs)

    found, wanted = fg.jit(f)(xs), f(xs)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_in_any_layout(order):
    xs = np.asarray(np.arange(60.0).reshape(3, 4, 5), order=order)

    @fg.jit
    def f(xs):
        moved = np.transpose(xs, (2, 0, 1))[::-1]
        return fg.scan(lambda c, x: (c * 0.5 + x, np.sum(x)), np.zeros((3, 4)), moved)

    c, y = f(xs)
    wanted = np.zeros((3, 4))
    for x in np.transpose(xs, (2, 0, 1))[::-1]:
        wanted = wanted * 0.5 + x
    np.testing.assert_allclose(c, wanted, rtol=1e-14)
    np.testing.assert_allclose(y, np.transpose(xs, (2, 0, 1))[::-1].sum((1, 2)), rtol=1e-14)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
@pytest.mark.parametrize("way", ["scan", "while", "gradient"])
def test_a_signal_ends_a_long_loop(way):
    """What its handler raises comes out, and the next call is a call like any other."""

    class Disturbed(Exception):
        pass

    def disturb(*_):
        raise Disturbed

    def f(x, n):
        return fg.while_loop(lambda c: c[1] < n, lambda c: (np.sin(c[0]), c[1] + 1), (x, 0))[0]

    def g(x):
        return fg.scan(lambda c, _: (np.sin(c) + x, None), x, length=10**12)[0]

    compiled = {
        "scan": lambda: fg.jit(g)(0.5),
        "while": lambda: fg.jit(f)(0.5, 10**12),
        "gradient": lambda: fg.jit(fg.jacfwd(g))(0.5),
    }[way]
    before = signal.signal(signal.SIGALRM, disturb)
    try:
        signal.setitimer(signal.ITIMER_REAL, 3.0, 3.0)
        with pytest.raises(Disturbed):
            compiled()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert fg.jit(f)(0.5, 2) == np.sin(np.sin(0.5))


def spread(a):
    return a + 3.0 * np.eye(a.shape[-1])


FACTORED = {
    "solve": lambda a: np.sum(np.linalg.solve(a, a.T[:, :2])),
    "solve a vector": lambda a: np.sum(np.linalg.solve(a, a[0])),
    "inv": lambda a: np.sum(np.linalg.inv(a) ** 2),
    "det": lambda a: np.linalg.det(a),
    "slogdet": lambda a: np.linalg.slogdet(-a)[1] * np.linalg.slogdet(-a)[0],
    "cholesky": lambda a: np.sum(np.sin(np.linalg.cholesky(a @ a.T))),
    "upper cholesky": lambda a: np.sum(np.linalg.cholesky(a @ a.T, upper=True) ** 2),
}


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("name", FACTORED)
def test_small_factorisations_are_native(name, n):
    rng = np.random.default_rng(n)
    matrices = rng.standard_normal((5, n, n))[:, ::-1]

    def f(ms):
        return fg.scan(lambda c, m: (c + FACTORED[name](spread(m) * c), None), 0.9, ms)[0]

    both = fg.jit(fg.value_and_grad(f))
    assert "step by step" not in both.explain(matrices)
    found, wanted = both(matrices), fg.value_and_grad(f)(matrices)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-9)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-7, atol=1e-9 * abs(wanted[1]).max())


def test_pivots_are_exchanged_and_singular_matrices_refused():
    @fg.jit
    def f(ms):
        return fg.scan(lambda c, m: (c + np.linalg.solve(m, np.arange(3.0)), None), np.zeros(3), ms)

    a = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [1.0, 5.0, 0.0]])
    np.testing.assert_allclose(f(a[None])[0], np.linalg.solve(a, np.arange(3.0)), rtol=1e-14)
    with pytest.raises(np.linalg.LinAlgError):
        f(np.stack([a, np.ones((3, 3))]))

    @fg.jit
    def det(ms):
        return fg.scan(lambda c, m: (c, np.linalg.det(m)), 0.0, ms)[1]

    found = det(np.stack([a, np.ones((3, 3)), np.zeros((3, 3))]))
    np.testing.assert_allclose(found, [np.linalg.det(a), 0.0, 0.0], rtol=1e-14)
