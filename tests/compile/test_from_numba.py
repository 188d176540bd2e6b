"""Functions of `numba.njit` as operations, against the same functions in ordinary NumPy."""

import itertools
import math
from math import cos as cosine

import numba
import numpy as np
import pytest
import scipy.special

import funcgrad as fg
from funcgrad.errors import AbstractValueError, NotDifferentiableError
from funcgrad.extend import Sample
from funcgrad.extend import from_numba as named
from funcgrad.testing import check_grads

pytestmark = pytest.mark.costly

X = np.array([0.3, -0.6, 0.9, 1.4])
Y = np.array([1.5, 0.7, -0.4, 2.0])
LONG = np.linspace(-2, 2, 1003)


def from_numba(*args, **kwargs):
    """Under a name for which test_rules.py asks for no samples."""
    return named(*args, **{"name": f"test_{next(numbers)}", **kwargs})


numbers = itertools.count()


@numba.njit
def wave(x, y):
    return math.sin(x) * y if y > -100.0 else 0.0


@numba.njit
def wave_x(x, y):
    return cosine(x) * y


@numba.njit
def wave_y(x, y):
    return math.sin(x)


@numba.njit
def ratio(x, y):
    return x / y


@numba.njit
def series(x):
    """A loop, of which the number of steps depends on the value."""
    total, term, k = 0.0, 1.0, 0
    while abs(term) > 1e-17:
        total += term
        k += 1
        term *= x / k
    return total


def waves(x, y):
    return np.sin(x) * y


f_wave = from_numba(
    wave,
    [wave_x, lambda x, y: np.sin(x)],
    name="numba.wave",
    sample=lambda: [Sample((X, Y)), Sample((X[:, None], Y)), Sample((0.3, Y))],
)
f_ratio = from_numba(ratio, [lambda x, y: 1 / y, lambda x, y: -x / y**2], name="test_ratio")
f_series = from_numba(series, [lambda x: f_series(x)], name="test_series")

TRANSFORMS = {
    "value": lambda f: f,
    "jit": fg.jit,
    "gradient": lambda f: fg.grad(lambda x, y: np.sum(f(x, y)), argnums=(0, 1)),
    "jit of gradient": lambda f: fg.jit(fg.grad(lambda x, y: np.sum(f(x, y)), argnums=(0, 1))),
    "gradient of jit": lambda f: fg.grad(fg.jit(lambda x, y: np.sum(f(x, y))), argnums=(0, 1)),
    "jvp": lambda f: lambda x, y: fg.jvp(f, (x, y), (y, x)),
    "vmap": fg.vmap,
    "vmap of one": lambda f: fg.vmap(f, in_axes=(0, None)),
    "jit of vmap of gradient": lambda f: fg.jit(fg.vmap(fg.grad(f))),
    "hessian": lambda f: fg.hessian(lambda x, y: np.sum(f(x, y) ** 2), argnums=(0, 1)),
    "jit of hessian": lambda f: fg.jit(fg.hessian(lambda x, y: np.sum(f(x, y)), argnums=(0, 1))),
    "third": lambda f: fg.vmap(fg.grad(fg.grad(fg.grad(f)))),
    "checkpoint": lambda f: fg.grad(fg.checkpoint(lambda x, y: np.sum(f(x, y)))),
}


def agree(got, want, rtol=1e-12):
    assert fg.tree.structure(got) == fg.tree.structure(want)
    for a, b in zip(fg.tree.leaves(got), fg.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-14)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_function_of_numbers(name):
    transform = TRANSFORMS[name]
    agree(transform(f_wave)(X, Y), transform(waves)(X, Y))


def test_checks_of_derivatives():
    check_grads(f_wave, (X, Y), order=2)
    check_grads(f_wave, (X[:, None], Y), order=2)
    check_grads(f_series, (X,), order=3)


def test_broadcast_strided_empty_and_numbers():
    w = np.arange(12.0).reshape(3, 4)
    for args in [(w, Y), (w[:, ::2], Y[1:3]), (w.T, Y[:3]), (0.5, Y), (0.5, 2.0), (w[:0], Y)]:
        agree(f_wave(*args), waves(*args))
        agree(fg.jit(f_wave)(*args), waves(*args))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32])
def test_dtypes_are_those_of_numba(dtype):
    @numba.njit
    def square(x):
        return x * x

    f = from_numba(square, [lambda x: 2 * x])
    x = np.arange(1, 9).astype(dtype)
    for g in (f, fg.jit(f)):
        agree(g(x), x * x)
    assert f(x).dtype == fg.jit(f)(x).dtype == fg.eval_shape(f, x).dtype
    if np.issubdtype(dtype, np.floating):
        g = fg.grad(lambda x: np.sum(f(x)))
        assert g(x).dtype == fg.jit(g)(x).dtype == dtype
        agree(fg.jit(g)(x), 2 * x)


def test_a_loop_whose_length_depends_on_the_value():
    agree(f_series(LONG), np.exp(LONG), rtol=1e-13)
    agree(fg.jit(f_series)(LONG), np.exp(LONG), rtol=1e-13)
    agree(fg.jit(fg.vmap(fg.grad(fg.grad(f_series))))(LONG), np.exp(LONG), rtol=1e-13)


def test_it_is_fused_and_inlined():
    def f(x, y):
        return np.sum(np.tanh(x) * f_wave(x, y) + y)

    compiled = fg.jit(fg.value_and_grad(f))
    assert "NumPy" not in compiled.explain(LONG, LONG)
    assert compiled.explain(LONG, LONG).count("in one kernel") == 1
    want = fg.value_and_grad(lambda x, y: np.sum(np.tanh(x) * waves(x, y) + y))(LONG, LONG + 1)
    agree(compiled(LONG, LONG + 1), want)


def test_no_call_is_left_in_the_code():
    """The function is inlined, and its arithmetic runs in vectors again."""
    from funcgrad.compile.execute import executable
    from funcgrad.compile.foreign import FOREIGN
    from funcgrad.compile.llvm.objects import _optimize, parsed
    from funcgrad.compile.llvm.printer import print_module
    from funcgrad.compile.llvm.target import host

    @numba.njit
    def polynomial(x):
        return ((x + 1.0) * x + 0.5) * x

    f = from_numba(polynomial, elementwise=True)
    g = fg.jit(lambda x: f(x) + x)
    g(LONG)
    staged = next(iter(g.cache.values()))
    module = print_module(executable(staged.graph).kernels, host())
    (foreign,) = module.foreign
    assert FOREIGN[foreign.symbol] is foreign
    with parsed(module.text, host(), [foreign.module]) as whole:
        _optimize(whole, host(), vectorize=True)
        text = str(whole.get_function("k0"))
    assert "numba" not in text
    lanes = host().vector_bits // 64
    assert f"fmul <{lanes} x double>" in text


def test_several_in_one_kernel():
    def f(x):
        return f_wave(f_series(x), x) + f_ratio(x, f_series(x))

    agree(fg.jit(f)(LONG), np.sin(np.exp(LONG)) * LONG + LONG / np.exp(LONG))
    agree(fg.jit(f)(0.3), f(0.3))


def test_exceptions_come_through():
    zero = np.where(np.arange(9) == 5, 0.0, 1.0)
    for f in (f_ratio, fg.jit(f_ratio), fg.jit(lambda x, y: np.exp(f_ratio(x, y)) + x)):
        with pytest.raises(ZeroDivisionError):
            f(zero, zero)
        agree(np.shape(f(zero, zero + 1)), (9,))
    # lanes behind the last element do not count
    agree(fg.jit(f_ratio)(LONG, LONG + 5), LONG / (LONG + 5))
    with pytest.raises(ZeroDivisionError):
        fg.jit(fg.value_and_grad(f_ratio))(1.0, 0.0)


def test_inside_compiled_callers():
    inner = fg.jit(fg.value_and_grad(f_wave)).njit
    outer = fg.jit(fg.grad(lambda x, y: np.sum(f_wave(x, y) * x))).njit
    bad = fg.jit(f_ratio).njit

    @numba.njit
    def use(x, y):
        return inner(x[0], y[0]), outer(x, y)

    @numba.njit
    def divide(x, y):
        return bad(x, y)

    want = fg.value_and_grad(waves)(X[0], Y[0]), fg.grad(lambda x, y: np.sum(waves(x, y) * x))(X, Y)
    agree(use(X, Y), want)
    assert divide(1.0, 4.0) == 0.25
    with pytest.raises(RuntimeError, match="that from_numba took in raised an exception"):
        divide(1.0, 0.0)


def test_derivatives_of_declared_derivatives():
    """A compiled derivative calls the function, which stands for its operation there."""

    @numba.njit
    def bump(x, width):
        return np.exp(-((x / width) ** 2)) if abs(x) < 5 * width else 0.0

    @numba.njit
    def slope(x, width):
        return -2.0 * x / width**2 * bump(x, width)

    f = from_numba(bump, [slope, lambda x, w: 2.0 * x**2 / w**3 * f(x, w)])

    def g(x, w):
        return np.exp(-((x / w) ** 2))

    for transform in (fg.hessian, lambda f: fg.jit(fg.hessian(f)), lambda f: fg.grad(fg.grad(f))):
        agree(transform(f)(0.7, 1.3), transform(g)(0.7, 1.3))
    agree(fg.vmap(fg.grad(fg.grad(f)))(X, Y + 2), fg.vmap(fg.grad(fg.grad(g)))(X, Y + 2))


def test_numbers_as_derivatives():
    @numba.njit
    def shifted(x, y):
        return 2.0 * x + math.floor(y)

    f = from_numba(shifted, [2.0, 0])
    got = fg.grad(lambda x, y: np.sum(f(x, y)), argnums=(0, 1))(X, Y)
    agree(got, (np.full(4, 2.0), np.zeros(4)))


# ------------------------------------------------------------------ traced through the body


@numba.njit
def special(x):
    return math.erf(x) + math.lgamma(x + 2.0) + math.log2(x + 2.0) + math.pow(x + 2.0, 1.5)


def special_of_scipy(x):
    return (
        scipy.special.erf(x) + scipy.special.gammaln(x + 2.0) + np.log2(x + 2.0) + (x + 2.0) ** 1.5
    )


def test_the_body_of_a_function_of_numbers():
    f, g = from_numba(special), from_numba(special, elementwise=True)
    slope = 2 / np.sqrt(np.pi) * np.exp(-X * X) + scipy.special.digamma(X + 2.0)
    slope += 1 / ((X + 2.0) * np.log(2)) + 1.5 * np.sqrt(X + 2.0)
    agree(g(X), special_of_scipy(X))
    agree(fg.jit(g)(X), special_of_scipy(X))
    agree([f(x) for x in X], list(special_of_scipy(X)))
    agree(fg.vmap(fg.grad(g))(X), slope)
    agree([fg.grad(f)(x) for x in X], list(slope))
    agree(fg.jit(fg.vmap(fg.grad(g)))(X), slope, rtol=1e-11)
    agree(fg.jit(fg.vmap(fg.grad(f)))(X), slope, rtol=1e-11)
    check_grads(g, (X,), order=2)


@numba.njit
def horner(c, x):
    out = np.zeros_like(x)
    for i in range(c.size - 1, -1, -1):
        out = out * x + c[i]
    return out


@numba.njit
def recursion(x, n):
    state = np.empty(n)
    state[0] = x
    for i in range(1, n):
        state[i] = np.sin(state[i - 1]) + float(x)
    return state.sum()


@numba.njit
def nested(x):
    return recursion(x, 4) * series_of(x)


@numba.njit
def series_of(x):
    return x * x + 1.0


def test_the_body_of_functions_of_arrays():
    f = from_numba(horner)

    def reference(c, x):
        return sum(c[i] * x**i for i in range(len(c)))

    agree(f(Y, X), reference(Y, X))
    for transform in (fg.jacobian, fg.jacfwd, lambda f: fg.jit(fg.jacrev(f))):
        agree(transform(f)(Y, X), transform(reference)(Y, X))


@pytest.mark.parametrize("function", [lambda: from_numba(nested)])
def test_item_assignment_and_calls_in_the_body(function):
    f = function()

    def reference(x):
        total = state = x
        for _ in range(3):
            state = np.sin(state) + x
            total = total + state
        return total * (x * x + 1.0)

    assert f(0.4) == pytest.approx(reference(0.4), rel=1e-14)
    for transform in (fg.grad, lambda f: fg.jit(fg.grad(f)), lambda f: fg.grad(fg.grad(f))):
        agree(transform(f)(0.4), transform(reference)(0.4))


def test_a_branch_on_numbers_is_followed():
    @numba.njit
    def leaky(x):
        if x > 0:
            return x
        return 0.1 * x

    f, g = from_numba(leaky), from_numba(leaky, elementwise=True)
    assert [fg.grad(f)(x) for x in (2.0, -2.0)] == [1.0, 0.1]
    agree(fg.jit(g)(X), np.where(X > 0, X, 0.1 * X))
    with pytest.raises(NotDifferentiableError, match="declare its derivatives"):
        fg.grad(lambda x: np.sum(g(x)))(X)
    with pytest.raises(AbstractValueError):
        fg.jit(fg.grad(f))(2.0)


def test_a_compiled_gradient_in_a_body():
    slope = fg.jit(fg.grad(np.sin)).njit

    @numba.njit
    def f(x):
        return x * slope(x)

    agree(fg.grad(from_numba(f))(0.3), np.cos(0.3) - 0.3 * np.sin(0.3))


# -------------------------------------------------------------------------- whole arrays


@numba.njit
def logsumexp(x):
    top = x.max()
    return top + np.log(np.sum(np.exp(x - top)))


@numba.njit
def logsumexp_back(g, y, x):
    return g * np.exp(x - y)


@numba.njit
def polar(x):
    return np.cos(x), np.sin(x)


def test_whole_arrays():
    f = from_numba(logsumexp, vjp=[logsumexp_back], signature="(n)->()")

    def reference(x):
        return (
            scipy.special.logsumexp(x) if isinstance(x, np.ndarray) else np.log(np.sum(np.exp(x)))
        )

    agree(f(X), reference(X))
    for transform in (
        fg.grad,
        fg.hessian,
        lambda f: fg.jit(fg.grad(f)),
        lambda f: fg.jit(fg.hessian(f)),
        fg.jacfwd,
    ):
        agree(transform(f)(X), transform(lambda x: np.log(np.sum(np.exp(x))))(X))
    rows = np.stack([X, Y, X * Y])
    agree(fg.vmap(f)(rows), np.array([reference(r) for r in rows]))
    agree(fg.jit(fg.vmap(fg.grad(f)))(rows), scipy.special.softmax(rows, axis=1))
    agree(f(np.stack([rows, rows])), np.stack([[reference(r) for r in rows]] * 2))


def test_several_results_from_a_jvp():
    f = from_numba(
        polar,
        jvp=lambda y, xs, ts: (-y[1] * ts[0], y[0] * ts[0]),
        signature="(n)->(n),(n)",
        multiple=True,
    )
    agree(fg.grad(lambda x: np.sum(f(x)[0] * f(x)[1]))(X), np.cos(2 * X))
    agree(fg.jit(fg.vmap(lambda x: f(x)[1]))(np.stack([X, Y])), np.sin(np.stack([X, Y])))


# -------------------------------------------------------------------------------- misuse


def test_what_is_refused():
    with pytest.raises(TypeError, match=r"decorated with numba\.njit"):
        from_numba(np.sin)
    with pytest.raises(TypeError, match="has 2 arguments and 1 derivatives were declared"):
        from_numba(wave, [wave_x])
    for rule in (numba.njit(lambda x: x), lambda x: x, lambda x, y, w: x):
        with pytest.raises(
            TypeError, match=r"a derivative takes \(.*the function has 2 arguments"
        ) as e:
            from_numba(wave, [wave_x, rule])
        assert "test_from_numba.py" in str(e.value)
    with pytest.raises(TypeError, match=r"a rule of vjp takes \(g, x\).*output and 2 operands"):
        from_numba(wave, vjp=[lambda g, x: g, None])
    with pytest.raises(TypeError, match="exclude derivatives"):
        from_numba(wave, [1, 1], vjp=[wave_x, wave_x])

    @numba.njit
    def two(x):
        return x, x

    with pytest.raises(TypeError, match="returns one number"):
        from_numba(two, [1.0])(X)

    @numba.njit
    def mantissa(x):
        return math.frexp(x)[0]

    assert fg.grad(from_numba(mantissa))(1.0) == 0.5

    @numba.njit
    def odd(x):
        return x * math.gcd(int(x), 4)

    with pytest.raises(TypeError, match=r"int\(\) of a traced value"):
        fg.grad(from_numba(odd))(1.0)


def test_names_are_unique_and_the_function_is_at_hand():
    sample = lambda: [Sample((X, Y))]
    one, two = (named(wave, [wave_x, wave_y], sample=sample) for _ in range(2))
    assert one.primitive.name != two.primitive.name
    assert one.primitive.name.endswith("test_from_numba.wave")
    assert one.njit is wave
