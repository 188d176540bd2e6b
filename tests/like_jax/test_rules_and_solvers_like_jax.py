"""Rules and solvers that add zeros and close over traced values, and names that few programs use.

The same text with JAX's modules and with ours; where JAX computes in fewer digits, or has no
derivative, the tests below say what is right instead.
"""

import importlib

import numpy
import pytest
from like_jax.swapped import agree, evaluate, ours, theirs

import funcgrad as fg
from funcgrad import lax

pytestmark = pytest.mark.peers

SETUP = """
V = np.arange(1.0, 4.0)
A = np.eye(3) * 2 + 0.1
M = np.sin(np.arange(12.0)).reshape(3, 4)
T = np.sin(np.arange(24.0)).reshape(2, 3, 4)
G = np.sin(np.arange(48.0)).reshape(2, 2, 4, 3)
C = np.asarray([1 + 2j, 0.5 - 1j])
H = np.sin(np.arange(25.0)).reshape(5, 5)
H = H + H.T
X = np.asarray([[2, 4, 1, 1, 3, 4], [4, 2, 3, 3, 1, 2.0]])
Y = np.asarray([[1.0, 2.0, 2.5], [4.0, 5.0, 6.0]])
I8 = np.asarray([5, -7, 100], "int8")
B = {"u": 1.0, "v": 1.0}
axes = lax.RaggedDotDimensionNumbers
def ruled(f, rule):
    g = m.custom_jvp(f)
    g.defjvp(rule)
    return g
summed = ruled(lambda x, y: x * y, lambda p, t: (p[0] * p[1], sum([t[0] * p[1], t[1] * p[0]])))
around = ruled(lambda x, y: x * y, lambda p, t: (p[0] * p[1], 0.0 + t[0] * p[1] - 0.0))
onto = ruled(lambda x: x * 2, lambda p, t: (p[0] * 2, np.zeros(3) + 0 * t[0] + 2 * t[0]))
root = lambda a, solve, slope: lax.custom_root(lambda x: x**2 - a, 1.0, solve, slope)
divide = lambda g, y: y / g(1.0)
system = lambda a, b: lax.custom_linear_solve(lambda x: a * x, b, lambda mv, b: b / a, symmetric=True)
matrix = lambda a, b: lax.custom_linear_solve(lambda x: a @ x, b, lambda mv, b: np.linalg.solve(a, b), lambda vm, b: np.linalg.solve(a.T, b))
"""
PROGRAMS = """
m.grad(summed, (0, 1))(2.0, 3.0), m.hessian(lambda x: summed(x, x))(2.0), m.jit(m.vmap(m.grad(summed, (0, 1))))(V, V)
m.grad(around)(2.0, 3.0), m.jit(m.grad(around))(2.0, 3.0)
m.grad(lambda x: onto(x).sum())(V), m.jit(m.grad(lambda x: onto(x).sum()))(V)
m.grad(lambda a: root(a, lambda f, x: np.sqrt(a) + x * 0, divide))(3.0)
m.jit(m.hessian(lambda a: root(a, lambda f, x: np.sqrt(a) + x * 0, divide)))(3.0)
m.hessian(lambda a: root(a, lambda f, x: np.sqrt(a) + x * 0, lambda g, y: y / (2 * np.sqrt(a))))(3.0)
m.vmap(m.grad(lambda a: root(a, lambda f, x: np.sqrt(a) + x * 0, lambda g, y: y / (2 * np.sqrt(a)))))(V)
m.grad(lambda a: root(4.0, lambda f, x: np.sqrt(4.0) + a * 0, divide))(3.0)
m.grad(lambda a: lax.custom_root(lambda x: x**2 - a, 1.0, lambda f, x: (np.sqrt(a) + x * 0, {"n": a}), divide, has_aux=True)[0])(3.0)
m.jacfwd(lambda a: lax.custom_root(lambda x: {"u": x["u"] ** 2 - a, "v": x["v"] - x["u"]}, B, lambda f, x: {"u": np.sqrt(a), "v": np.sqrt(a)}, lambda g, y: {"u": y["u"] / (2 * np.sqrt(a)), "v": y["v"] + y["u"] / (2 * np.sqrt(a))}))(3.0)
m.grad(lambda a: system(a, V).sum())(2.0), m.vmap(m.grad(lambda a: system(a, V).sum()))(V)
m.jit(m.vmap(m.hessian(lambda a: system(a, V * a).sum())))(V), m.jacfwd(lambda a: system(a, V * a**2))(2.0)
m.jvp(m.grad(lambda a: (lax.custom_linear_solve(lambda x: a * x, V * a**2, lambda mv, b: (b / a, a), symmetric=True, has_aux=True)[0] ** 2).sum()), (2.0,), (1.0,))
m.jacrev(lambda a: matrix(a, V))(A), m.hessian(lambda a: matrix(a, V).sum())(A)
lax.population_count(I8), m.jit(lax.population_count)(I8), lax.population_count(np.asarray([-1, 5, -(2**40)]))
lax.fft(C, "fft", (2,)), lax.fft(C, "ifft", (2,)), lax.fft(V, "rfft", (3,))
special.bessel_jn(V, v=3), special.bessel_jn(0.5, v=0), m.hessian(lambda z: special.bessel_jn(z, v=2).sum())(V)
m.jit(m.vmap(m.jacfwd(lambda z: special.bessel_jn(z, v=3))))(V)
tuple(stats.mode(X)), tuple(stats.mode(X, axis=1)), tuple(stats.mode(X, axis=None)), tuple(stats.mode(X, axis=-1, keepdims=True))
m.jit(lambda x: tuple(stats.mode(x, axis=1)))(X), m.vmap(lambda x: tuple(stats.mode(x)))(X), m.jit(lambda x: tuple(stats.mode(x, axis=None, keepdims=True)))(X)
m.grad(lambda x: stats.mode(x, axis=1)[0].prod())(Y)
[np.abs(a) for a in lax.linalg.qr(M, pivoting=True)], lax.linalg.qr(M.T, pivoting=True, full_matrices=False)[2]
m.jacfwd(lambda x: np.abs(lax.linalg.qr(x, pivoting=True, full_matrices=False)[1]))(M.T + np.eye(4)[:, :3])
lax.linalg.tridiagonal(H)[1:], np.tril(lax.linalg.tridiagonal(H)[0]), lax.linalg.tridiagonal(H, lower=False)[1:]
m.jit(lambda x: lax.linalg.tridiagonal(x)[1:])(np.stack([H, 2 * H])), m.vmap(lambda x: lax.linalg.tridiagonal(x)[1:])(np.stack([H, 2 * H]))
lax.ragged_dot_general(M.T, G[:, 0, :3], np.asarray([1, 2]), axes((([1], [1]), ([], [])), [0], [0]))
lax.ragged_dot_general(T, G, np.asarray([[1, 2], [2, 0]]), axes((([2], [2]), ([0], [1])), [1], [0]))
lax.ragged_dot_general(M, M[:, :2], np.asarray([1, 2]), axes((([0], [0]), ([], [])), [0], []))
lax.ragged_dot_general(T, T[:, :, :2], np.asarray([[1, 2], [0, 2]]), axes((([1], [1]), ([0], [0])), [1], []))
[tu.treedef_is_leaf(tree.structure(x)) for x in (1, None, (), [1], {})]
tree.structure({"b": 1, "a": 2}).node_data()[1], [c.num_leaves for c in tree.structure([1, (2, 3)]).children()]
""".strip().split("\n")


def in_scipy(names, package):
    part = lambda name: importlib.import_module(f"{package}.scipy.{name}")
    return names | {"special": part("special"), "stats": part("stats")}


@pytest.mark.parametrize("program", PROGRAMS)
def test_like_jax(program):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        mine = evaluate(SETUP + program, in_scipy(ours(), "funcgrad"))
        other = evaluate(SETUP + program, in_scipy(theirs(), "jax"))
        agree(mine, other, rtol=1e-7)


def test_scaled_dot_in_single_precision():
    """JAX rounds the operands to bfloat16 on the way."""
    x, y = numpy.sin(numpy.arange(24.0)).reshape(2, 3, 4), numpy.ones((2, 4, 5))
    scale, other = numpy.full((2, 3, 2), 2.0), numpy.full((2, 1, 5), 3.0)
    found = lax.scaled_dot(x, y, lhs_scale=scale, rhs_scale=other)
    numpy.testing.assert_allclose(found, 6.0 * (x @ y), rtol=1e-6)
    gradient = fg.grad(lambda s: lax.scaled_dot(x, y, lhs_scale=s).sum())(scale)
    expected = 5.0 * x.reshape(2, 3, 2, 2).sum(-1)
    numpy.testing.assert_allclose(gradient, expected, rtol=1e-6)
    with pytest.raises(ValueError, match=r"scales of shape \(2, 3, 3\) do not divide"):
        lax.scaled_dot(x, y, lhs_scale=numpy.ones((2, 3, 3)))


def test_groups_that_both_keep():
    """The groups of an axis that both keep: what is in none of them counts as zero."""
    x, y = numpy.sin(numpy.arange(24.0)).reshape(2, 3, 4), numpy.ones((2, 4, 5))
    numbers = lax.RaggedDotDimensionNumbers((((2,), (1,)), ((0,), (0,))), (0,), ())
    found = lax.ragged_dot_general(x, y, numpy.array([1, 0]), numbers)
    numpy.testing.assert_allclose(found, numpy.stack([x[0] @ y[0], numpy.zeros((3, 5))]))
    rows = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
    product = lambda x: lax.ragged_dot_general(x, y[0], numpy.array([1, 3]), rows)
    gradient = fg.grad(lambda x: (product(x) ** 2).sum())(y[1])
    numpy.testing.assert_allclose(gradient, [[10.0] * 5] + [[30.0] * 5] * 3)
    with pytest.raises(TypeError, match="rhs has an axis of groups where"):
        lax.ragged_dot_general(x[0], y[0].T, numpy.array([1, 2]), rows._replace(
            dot_dimension_numbers=(((1,), (1,)), ((), ())), lhs_ragged_dimensions=(0,)
        ))  # fmt: skip
    with pytest.raises(TypeError, match="group_sizes are integers of shape"):
        lax.ragged_dot_general(x[0].T, y[0], numpy.ones((5, 2), int), rows)


def test_bernoulli_numbers():
    """To all digits, where JAX has seven of the fourth one."""
    import scipy.special

    found = fg.scipy.special.bernoulli(12)
    numpy.testing.assert_array_equal(found, scipy.special.bernoulli(12))
    with pytest.raises(TypeError, match="bernoulli: the last index is an integer"):
        fg.grad(lambda n: fg.scipy.special.bernoulli(n)[2])(2.0)
    with pytest.raises(ValueError, match="real, not complex"):
        fg.scipy.special.bessel_jn(1j, v=1)


def test_mode_like_scipy():
    import scipy.stats

    rng = numpy.random.default_rng(3)
    x = rng.integers(0, 4, (3, 4, 5)).astype(float)
    x[0, 0, 0], x[1, 2, :3], x[2, 1, 1:] = numpy.nan, numpy.nan, numpy.inf
    for axis in (0, 1, -1, None):
        for keepdims in (False, True):
            options = {"axis": axis, "keepdims": keepdims}
            mine = fg.jit(lambda x, o=options: fg.scipy.stats.mode(x, **o))(x)
            other = scipy.stats.mode(x, **options)
            for a, b in zip(mine, other, strict=True):
                numpy.testing.assert_array_equal(a, b)


def test_what_is_not_linear_is_still_refused():
    @fg.custom_jvp
    def f(x):
        return x

    f.defjvp(lambda p, t: (p[0], t[0] + 1.0))
    with pytest.raises(fg.errors.NotDifferentiableError, match="it applies add"):
        fg.grad(f)(2.0)
    with pytest.raises(fg.errors.NotDifferentiableError, match="no derivative"):
        fg.grad(lambda x: lax.linalg.tridiagonal(x)[1].sum())(numpy.eye(3))
    with pytest.raises(ValueError, match="fft: the type is one of FFT, IFFT, RFFT, IRFFT"):
        lax.fft(numpy.ones(2), "huh", (2,))


def test_a_solver_that_branches_in_python_may_close_over_numbers():
    tolerance = 1e-12

    def newton(f, x):
        while abs(f(x)) > tolerance:
            x = x - f(x) / fg.grad(f)(x)
        return x

    root = lambda a: lax.custom_root(lambda x: x**2 - a, 1.0, newton, lambda g, y: y / g(1.0))
    assert abs(fg.grad(root)(4.0) - 0.25) < 1e-12
