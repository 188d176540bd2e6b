"""View or copy, scalar or array: what decides which arrays a write reaches."""

import numpy as np
import pytest
from layouts import exact

import funcgrad as fg
import funcgrad.numpy as fnp

X = np.arange(6.0).reshape(2, 3)
F = np.asfortranarray(X)


def eager(f):
    return lambda *args: fg.vjp(f, *args)[0]


@pytest.fixture(params=[eager, fg.jit], ids=["eager", "jit"])
def transform(request):
    return request.param


def test_ravel_in_memory_order(transform):
    for order in "AK":
        np.testing.assert_array_equal(
            transform(lambda x, order=order: np.ravel(x.T, order=order))(X), X.ravel()
        )
        np.testing.assert_array_equal(
            transform(lambda x, order=order: x.T.flatten(order))(X), X.ravel()
        )
    np.testing.assert_array_equal(transform(lambda x: np.reshape(x.T, 6, order="A"))(X), X.ravel())


def test_a_reshape_in_fortran_order_is_a_view_of_a_vector(transform):
    def f(x):
        y = x.reshape(6, order="F")
        x[0] = 9.0
        return np.sum(y)

    assert transform(f)(np.arange(6.0)) == 24.0


def test_a_reshape_of_a_new_grid_is_a_view(transform):
    def f(x):
        y = fnp.meshgrid(x, x, indexing="ij")[1] + 0.0
        t = y.reshape(-1)
        t[0] = 9.0
        return y[0, 0]

    assert transform(f)(np.ones(2)) == 9.0


def ravel_of_turned(x):
    t = np.sin(x.T).ravel()
    t *= 2.0
    y = np.sin(x.T)
    s = y.ravel()
    s *= 2.0
    return y


def ravel(x):
    t = x.ravel()
    t *= 2.0
    return x


def like(x):
    y = fnp.zeros_like(x) + 1.0
    t = y.ravel()
    t += 1.0
    return y


def copied(x):
    y = fnp.asarray(x, order="F")
    y += 1.0
    return x


@pytest.mark.parametrize("program", [ravel_of_turned, ravel, like, copied])
def test_each_layout_decides_anew(program, transform):
    f = transform(program)
    for x in (X, F, X, np.repeat(X, 2, 1)[:, ::2], F, X[::-1]):
        np.testing.assert_allclose(f(exact(x)), program(exact(x)), rtol=1e-15)


def test_strides_and_flags(transform):
    def f(x):
        for y in (x, x.T, x[::-1], x[:, ::2], x + x.T.T, np.sin(x.T)):
            facts.append((y.strides, y.flags.c_contiguous, y.flags.f_contiguous))
        return x

    for x in (X, F):
        facts = []
        transform(f)(x)
        traced, facts = facts, []
        f(x)
        assert traced == facts


@pytest.mark.parametrize("order", "CFA")
def test_bytes_in_memory_order(order):
    seen = []

    def f(x):
        b = fnp.zeros((2, 3), order="F")
        b[0] = 1.0
        seen.append(b.tobytes(order))
        return np.sum(x)

    fg.grad(f)(X)
    want = np.zeros((2, 3), order="F")
    want[0] = 1.0
    assert seen == [want.tobytes(order)]


def test_layouts_that_cannot_matter_share_a_graph():
    def f(x):
        y = x.reshape(3, 2).ravel() * x.T.reshape(-1)
        return np.sum(y) + np.sum(fnp.transpose(x)[0])

    g = fg.jit(f)
    for x in (X, F, X[::-1], F):
        np.testing.assert_allclose(g(x), f(x))
    assert g.report() == "1. the first call"


def test_layouts_that_matter_are_told_by_the_report():
    g = fg.jit(ravel)
    g(X.copy())
    g(F.copy("K"))
    assert "lies in memory in another order" in g.report()


def test_layouts_of_nested_functions():
    inner = fg.jit(ravel)
    outer = fg.jit(lambda x: inner(x) + inner(x.T).T)
    for x in (X, F):
        want = ravel(x.copy("K")) + ravel(x.copy("K").T).T
        np.testing.assert_array_equal(outer(x.copy("K")), want)


# ---------------------------------------------------------------- scalars, arrays without axes

OF_A_SCALAR = {
    "None": lambda s: s[None],
    "Ellipsis": lambda s: s[...],
    "view": lambda s: s.view(),
    "reshape": lambda s: s.reshape(1),
    "ravel": lambda s: s.ravel(),
    "copy": lambda s: s.copy(),
    "asarray": lambda s: fnp.asarray(s),
    "atleast_1d": lambda s: fnp.atleast_1d(s),
    "where": lambda s: fnp.where(s > 0, s, 0.0),
    "itself": lambda s: s,
    "transpose": lambda s: s.T,
    "real": lambda s: s.real,
    "squeeze": lambda s: fnp.squeeze(s),
}
MADE = {"sum": lambda x: np.sum(x), "element": lambda x: x[0, 0], "array": lambda x: x[0, 0, ...]}


@pytest.mark.parametrize("show", OF_A_SCALAR)
@pytest.mark.parametrize("make", MADE)
def test_what_is_seen_of_a_scalar_is_a_copy(make, show, transform):
    def f(x):
        s = MADE[make](x)
        t = OF_A_SCALAR[show](s)
        u = t
        t *= 2.0
        return s + 0.0, u + 0.0, x + 0.0

    for a, b in zip(transform(f)(X + 1.0), f(X + 1.0), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_where_of_scalars_can_be_written_into(transform):
    def f(x):
        w = fnp.where(x[0, 0] >= 0, x[0, 1], 0.0)
        alias = w
        w += 1.0
        return alias + 0.0

    assert transform(f)(X) == 2.0


def test_an_argument_without_axes_and_a_scalar(transform):
    def f(x):
        y = x
        x *= 2.0
        return y + 0.0

    g = transform(f)
    for _ in range(2):
        assert g(np.array(1.0)) == 2.0
        assert g(np.float64(1.0)) == 1.0
        assert g(1.0) == 1.0


def test_each_example_of_a_vector_is_a_scalar():
    def f(s):
        t = s
        t *= 2.0
        u = s[...]
        u *= 3.0
        return s, t, u

    xs = np.array([1.0, 2.0])
    for g in (fg.vmap(f), fg.jit(fg.vmap(f))):
        for a, k in zip(g(xs), (1.0, 2.0, 3.0), strict=True):
            np.testing.assert_array_equal(a, k * xs)


def custom_vjp(f):
    made = fg.custom_vjp(f)
    made.defvjp(lambda x: (f(x), None), lambda _, g: (g.T * 2.0,))
    return made


def custom_jvp(f):
    made = fg.custom_jvp(f)
    made.defjvp(lambda xs, ts: (f(*xs), ts[0].T * 2.0))
    return made


def both_branches(f):
    return lambda x: fg.cond(np.sum(x) > 0, f, lambda y: f(y) * 3.0, x)


def mapped(f):
    return lambda x: fg.vmap(f)(x[None])[0]


@pytest.mark.parametrize("around", [eager, fg.jit, mapped, lambda f: fg.jit(mapped(f))])
@pytest.mark.parametrize("made", [custom_vjp, custom_jvp, both_branches, fg.checkpoint, fg.jit])
def test_results_lie_as_their_body_lays_them_out(made, around):
    """Those of `jit` in C order, in which it hands them back where nothing is traced."""

    def f(x):
        seen.append(x.strides)
        y = made(lambda y: y.T * 2.0)(x)
        seen.append(y.strides)
        t = y.ravel()
        t *= 2.0
        return y

    seen = []
    want = f(X)
    np.testing.assert_array_equal(around(f)(X), want)
    assert seen[2:] == seen[:2]


def test_branches_that_differ_give_c_order():
    def f(x):
        y = fg.cond(x[0, 0] < 1.0, lambda y: y.T * 2.0, lambda y: y.T.copy("C"), x)
        return y.strides

    graphs = []
    fg.jit(lambda x: (graphs.append(f(x)), x)[1])(X)
    assert graphs == [(16, 8)]
    assert f(X) == (8, 24)


@pytest.mark.parametrize("around", [eager, fg.jit, mapped])
def test_einsum_by_lists_of_axes_is_a_view(around):
    def f(x):
        y = x * 1.0
        diagonal = np.einsum(y, [0, 0], [0])
        diagonal[...] = 9.0
        np.einsum(y, [0, 1], [1, 0])[0, 1] = 7.0
        return y

    square = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(around(f)(square), f(square))
