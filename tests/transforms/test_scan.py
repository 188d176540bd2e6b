"""`scan`, `fori_loop` and `map` in every transform, against the loop written out in Python."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import errors, lax
from funcgrad.testing import check_grads

XS = np.linspace(-0.8, 1.0, 7)
ROWS = np.linspace(-1.0, 1.0, 21).reshape(7, 3)


def written_out(f, init, xs=None, length=None, reverse=False, **_):
    """The definition: a Python loop."""
    leaves, definition = fg.tree.flatten(xs)
    n = leaves[0].shape[0] if leaves else length
    carry, ys = init, []
    for i in range(n - 1, -1, -1) if reverse else range(n):
        carry, y = f(carry, fg.tree.unflatten(definition, [x[i] for x in leaves]))
        ys.append(y)
    if reverse:
        ys.reverse()
    return carry, fg.tree.map(lambda *each: fnp.stack(each), *ys)


def several(scan, w):
    """Two carries, a row of each, and two results of different shapes."""

    def step(c, x):
        s, v = c
        s2 = np.tanh(s * w[0] + x * 0.5) + s * s * 0.1
        return (s2, v * w + s2), {"a": s2 * np.sum(v), "b": v}

    (s, v), y = scan(step, (0.3, w * 2), XS)
    return s * np.sum(v) + np.sum(y["a"]) + np.sum(np.sin(y["b"]))


def backwards(scan, w):
    c, y = scan(lambda c, x: (c * w[0] + np.sin(x), c * x), w[1], XS, reverse=True)
    return c + np.sum(y * np.arange(7.0))


def without_rows(scan, w):
    return scan(lambda c, _: (np.cos(c) * w, None), w, length=5)[0] @ w


def of_rows(scan, w):
    def step(c, x):
        return c + np.sum(np.outer(w, x) @ c) * 0.1, np.exp(c)

    c, y = scan(step, np.ones(3), ROWS)
    return np.sum(c) + np.sum(y)


def nested(scan, w):
    def outer(c, row):
        inner, y = scan(lambda d, x: (d * w[0] + x * c, d), c, row)
        return np.tanh(inner), np.sum(y)

    c, y = scan(outer, w[1], ROWS)
    return c * np.sum(y)


def by_index(scan, w):
    def step(c, i):
        table = np.sin(w[0] * ROWS)
        return c + table[i, 1] * w[i % 2], c

    c, y = scan(step, 0.0, np.arange(7))
    return c + np.sum(y**2)


def poisoned(scan, w):
    """A branch that is not taken has an infinite derivative."""

    def step(c, x):
        return fnp.where(x > 0, np.sqrt(fnp.where(x > 0, c * c + x, 0.0)), c * w[0]), None

    return scan(step, w[1], XS)[0]


def counting(scan, w):
    """An integer carry, one that is not differentiated, and one that is handed through."""

    def step(c, x):
        n, t, v = c
        return (n + 1, t + 0.5, v * w[0] + t * x), n

    (n, t, v), y = scan(step, (0, 1.0, w[1]), XS)
    return v * t * n + np.sum(y)


def invariant(scan, w):
    def step(c, x):
        return c * np.exp(w[0]) * 0.3 + x * np.sum(np.sin(w)), None

    return scan(step, 0.2, XS)[0]


PROGRAMS = [
    several,
    backwards,
    without_rows,
    of_rows,
    nested,
    by_index,
    poisoned,
    counting,
    invariant,
]
W = np.array([0.7, 0.4])
MANY = np.stack([W, W + 0.3, 0.5 - W])
WAYS = {
    "value": lambda f: f,
    "jit": fg.jit,
    "grad": fg.value_and_grad,
    "jit of grad": lambda f: fg.jit(fg.value_and_grad(f)),
    "grad of jit": lambda f: fg.value_and_grad(fg.jit(f)),
    "jit of forward": lambda f: fg.jit(fg.jacfwd(f)),
    "jit of hessian": lambda f: fg.jit(fg.hessian(f)),
    "jit of reverse of reverse": lambda f: fg.jit(fg.jacrev(fg.grad(f))),
    "hessian of jit": lambda f: fg.hessian(fg.jit(f)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_a_scan_is_the_loop_written_out(program, way):
    transform = WAYS[way]
    found = transform(lambda w: program(fg.scan, w))(W)
    wanted = transform(lambda w: program(written_out, w))(W)
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_vmap_of_a_scan_is_each_example(program):
    def f(w):
        return program(fg.scan, w)

    wanted = np.array([f(w) for w in MANY])
    slopes = np.array([fg.grad(f)(w) for w in MANY])
    np.testing.assert_allclose(fg.vmap(f)(MANY), wanted, rtol=1e-12)
    np.testing.assert_allclose(fg.jit(fg.vmap(f))(MANY), wanted, rtol=1e-12)
    np.testing.assert_allclose(fg.jit(fg.vmap(fg.grad(f)))(MANY), slopes, rtol=1e-11, atol=1e-13)
    total = fg.jit(fg.grad(lambda ws: np.sum(fg.vmap(f)(ws))))
    np.testing.assert_allclose(total(MANY), slopes, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("program", [several, nested, by_index], ids=lambda p: p.__name__)
def test_gradients_of_a_compiled_scan_are_finite_differences(program):
    check_grads(fg.jit(lambda w: program(fg.scan, w)), (W,))


def test_values_have_the_bits_of_the_loop():
    """The law: a scan with numbers at hand, or within a derivative, is the loop."""

    def f(w):
        return several(fg.scan, w)

    wanted = several(written_out, W)
    assert f(W) == wanted
    assert fg.value_and_grad(f)(W)[0] == wanted


def test_a_staged_scan_is_one_equation():
    graph = fg.make_graph(lambda w: several(fg.scan, w))(W)
    assert [e.prim.name for e in graph.equations].count("loop") == 1
    assert len(graph.equations) < 15


def test_what_is_the_same_in_every_step_is_computed_before_the_loop():
    graph = fg.make_graph(lambda w: invariant(fg.scan, w))(W)
    (loop,) = [e for e in graph.equations if e.prim.name == "loop"]
    inside = {e.prim.name for e in loop.params["body"].equations}
    assert inside.isdisjoint({"exp", "sin", "sum", "getitem"})


def test_constants_of_a_loop_are_not_stacked_for_its_backward_pass():
    matrix = np.ones((3, 3))

    def f(m):
        return np.sum(fg.scan(lambda c, _: (np.tanh(m @ c), None), np.ones(3), length=50)[0])

    graph = fg.make_graph(fg.grad(f))(matrix)
    stacks = [v.type for e in graph.equations if e.prim.name == "loop" for v in e.outputs]
    assert max(t.size for t in stacks) == 150  # a vector for each step, and no matrix


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("transform", [lambda f: f, fg.jit, fg.grad], ids=["value", "jit", "grad"])
def test_loops_of_few_steps(n, transform):
    def f(x):
        c, y = fg.scan(lambda c, _: (c * 2.0, c), x, length=n)
        assert y.shape == (n,)
        return c + np.sum(y)

    wanted = {0: 1.0, 1: 3.0, 2: 7.0}[n]
    assert transform(f)(1.0) == wanted


def test_lax_has_the_names_of_jax():
    assert lax.scan is fg.scan
    carry, ys = lax.scan(lambda c, x: (c + x, c), 0.0, XS, unroll=2)
    np.testing.assert_allclose(ys, np.cumsum(XS) - XS)
    assert np.isclose(carry, np.sum(XS))


def test_a_number_as_the_first_carry_takes_the_type_of_the_next():
    def f(x):
        return fg.scan(lambda c, _: (c + x, None), 0, length=3)[0]

    assert f(0.5) == fg.jit(f)(0.5) == 1.5
    assert fg.jit(fg.grad(f))(0.5) == 3.0


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_a_carry_that_changes_its_type_is_named(wrap):
    def f(x):
        return fg.scan(lambda c, _: ({"a": c["a"], "b": c["b"][None]}, None), x, length=3)

    with pytest.raises(errors.LoopTypeError, match=r"carry\['b'\] has type float64\[2\].*\[1,2\]"):
        wrap(f)({"a": np.float64(1.0), "b": np.ones(2)})


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_bad_loops_are_refused(wrap):
    def call(f, *args):
        return wrap(f)(*args)

    x = np.ones(3)
    with pytest.raises(errors.LoopTypeError, match="carry of the tree"):
        call(lambda x: fg.scan(lambda c, _: ((c, c), None), x, length=2), x)
    with pytest.raises(TypeError, match="pair"):
        call(lambda x: fg.scan(lambda c, _: c, x, length=2), x)
    with pytest.raises(ValueError, match=r"differ: 3 for xs\[0\], 2 for xs\[1\]"):
        call(lambda x: fg.scan(lambda c, _: (c, None), 0.0, (x, x[:2])), x)
    with pytest.raises(ValueError, match="length="):
        call(lambda x: fg.scan(lambda c, _: (c, None), x), x)
    with pytest.raises(ValueError, match="differ: 3 for xs, 4 for length"):
        call(lambda x: fg.scan(lambda c, _: (c, None), 0.0, x, 4), x)
    with pytest.raises(ValueError, match="no rows"):
        call(lambda x: fg.scan(lambda c, _: (c, None), x, 1.0), x)
    with pytest.raises(ValueError, match="negative"):
        call(lambda x: fg.scan(lambda c, _: (c, None), x, length=-1), x)


def test_fori_loop_in_every_transform():
    def f(x, n=4):
        return fg.fori_loop(0, n, lambda i, v: v * x + i * np.sin(v), 1.0)

    def wanted(x):
        v = 1.0
        for i in range(4):
            v = v * x + i * np.sin(v)
        return v

    for way in WAYS.values():
        for a, b in zip(fg.tree.leaves(way(f)(0.9)), fg.tree.leaves(way(wanted)(0.9)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_fori_loop_with_a_traced_bound_has_a_gradient():
    def f(x, n):
        return fg.fori_loop(1, n, lambda i, v: v * x + i, 1.0)

    compiled = fg.jit(fg.value_and_grad(f))
    for n in (0, 1, 3, 6):
        value, slope = fg.value_and_grad(lambda x, n=n: f(x, n))(1.3)
        np.testing.assert_allclose(compiled(1.3, n), (value, slope), rtol=1e-14)
    with pytest.raises(TypeError, match="integers"):
        f(1.0, 2.5)


@pytest.mark.parametrize("batch_size", [None, 2, 7, 100])
def test_map_is_vmap(batch_size):
    def f(x):
        return {"a": np.sum(np.sin(x)), "b": x * 2}

    def g(rows):
        out = fg.map(f, rows, batch_size=batch_size)
        return np.sum(out["a"] ** 2) + np.sum(out["b"])

    wanted = fg.vmap(f)(ROWS)
    found = fg.jit(lambda rows: fg.map(f, rows, batch_size=batch_size))(ROWS)
    np.testing.assert_allclose(found["a"], wanted["a"], rtol=1e-14)
    np.testing.assert_array_equal(found["b"], wanted["b"])
    slope = 2 * wanted["a"][:, None] * np.cos(ROWS) + 2
    np.testing.assert_allclose(fg.grad(g)(ROWS), slope, rtol=1e-13)
    np.testing.assert_allclose(fg.jit(fg.grad(g))(ROWS), slope, rtol=1e-13)


def test_a_loop_in_python_looks_at_carries_that_change_after_many_steps():
    """What is like the step before is not taken apart again; what is not, is."""

    def late(c, i):
        return (c if i < 5 else np.append(c, 1.0)), None

    with pytest.raises(fg.errors.LoopTypeError, match=r"type float64\[2\].*float64\[3\]"):
        fg.scan(late, np.ones(2), np.arange(9))
    with pytest.raises(fg.errors.LoopTypeError, match=r"int64\[\].*float64\[\]"):
        fg.fori_loop(0, 9, lambda i, c: np.int64(1) if i < 5 else np.float64(0.5), np.int64(0))
    with pytest.raises(fg.errors.LoopTypeError, match="tree"):
        fg.while_loop(
            lambda c: c["n"] < 9,
            lambda c: {"n": c["n"] + 1, **({} if c["n"] < 5 else {"more": 1.0})},
            {"n": 0},
        )
    with pytest.raises(fg.errors.LoopTypeError, match="to stack"):
        fg.scan(lambda c, i: (c, i * 1.0 if i < 5 else (i, i)), 0.0, np.arange(9))
    with pytest.raises(fg.errors.LoopTypeError, match="single bool"):
        fg.while_loop(lambda c: c < 5 if c < 4 else 1.0, lambda c: c + 1, 0)


def test_traced_values_in_late_steps_of_a_loop_in_python():
    def late(x):
        step = lambda c, i: (c * 0.5, c) if i < 5 else (c * x, c * x)
        last, rows = fg.scan(step, 1.0, np.arange(9))
        return last + np.sum(rows)

    x = 1.3
    slope = sum(k * 0.5**5 * x ** (k - 1) for k in range(1, 5)) + 4 * 0.5**5 * x**3
    np.testing.assert_allclose(fg.grad(late)(x), slope, rtol=1e-14)
