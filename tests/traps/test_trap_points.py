"""Values and derivatives at singular points.

The numbers are those of the table of traps.
"""

import warnings

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp


def second(f):
    return fg.grad(fg.grad(f))


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    ("partial", "want"),
    [
        (lambda x: fnp.sqrt(x), [0.0, 0.0, 0.25]),
        (lambda x: fnp.log(x), [0.0, 0.0, 0.25]),
        (lambda x: x * fnp.log(x), [0.0, 0.0, np.log(4.0) + 1.0]),
    ],
)
def test_trap_01_masked_lanes_stay_zero(partial, want, transform):
    x = np.array([-1.0, 0.0, 4.0])

    def f(x):
        return fnp.sum(fnp.where(x > 0, partial(x), 0.0))

    with np.errstate(all="ignore"):
        np.testing.assert_allclose(transform(fg.grad(f))(x), want)
        forward = fg.jvp(lambda x: fnp.where(x > 0, partial(x), 0.0), (x,), (np.ones(3),))[1]
        np.testing.assert_allclose(forward, want)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: fnp.sqrt(x) ** 2, 0.0),
        (lambda x: fnp.cos(fnp.arccos(x)), 1.0),
        (lambda x: fnp.exp(fnp.log(x)), 0.0),
    ],
)
def test_trap_01_the_number_zero_times_infinity_is_nan(f, x):
    with np.errstate(all="ignore"):
        for way in (fg.grad(f), fg.jit(fg.grad(f)), fg.grad(fg.jit(f)), fg.jacfwd(f)):
            assert np.isnan(way(x)) or way(x) == 1.0


def test_trap_01_zero_cotangent_keeps_the_second_order():
    assert second(lambda x: fnp.sin(x) * fnp.sin(x))(0.0) == 2.0


def test_trap_02_double_where_to_second_order():
    def f(x):
        safe = fnp.where(x > 0, x, 1.0)
        return fnp.where(x > 0, fnp.sqrt(safe), 0.0)

    assert second(f)(0.0) == 0.0
    np.testing.assert_allclose(second(f)(4.0), -0.25 * 4.0**-1.5)


def test_trap_04_kinks():
    assert fg.grad(lambda x: fnp.maximum(x, 0.0))(0.0) == 0.5
    assert fg.grad(lambda x: fnp.clip(x, 0.0, 1.0))(0.0) == 0.5
    assert fg.grad(lambda x: fnp.clip(x, 0.0, 1.0))(0.5) == 1.0


def test_trap_05_abs_and_sign_at_zero():
    assert fg.grad(abs)(0.0) == 0.0
    assert fg.grad(fnp.sign)(0.0) == 0.0


def test_trap_06_roots_at_the_origin():
    with np.errstate(all="ignore"):
        assert fg.grad(fnp.sqrt)(0.0) == np.inf
    zero = np.zeros(3)
    np.testing.assert_array_equal(fg.grad(fnp.linalg.norm)(zero), zero)
    np.testing.assert_array_equal(fg.grad(fnp.std)(zero), zero)
    assert fg.grad(fnp.hypot, argnums=(0, 1))(0.0, 0.0) == (0.0, 0.0)
    assert fg.grad(fnp.arctan2, argnums=(0, 1))(0.0, 0.0) == (0.0, 0.0)


def test_trap_07_powers():
    assert fg.grad(lambda x: x**0.0)(0.0) == 0.0
    assert fg.grad(lambda x: x ** np.array(0.0))(0.0) == 0.0
    with np.errstate(all="ignore"):
        base, exponent = fg.grad(fnp.power, argnums=(0, 1))(-2.0, 3.0)
    assert base == 12.0
    assert np.isnan(exponent)
    assert fg.grad(lambda x: x**2)(0.0) == 0.0
    assert fg.grad(lambda x: x**1)(0.0) == 1.0
    assert fg.grad(lambda y: 0.0**y)(2.0) == 0.0
    for two in (2, 2.0, np.array(2.0), np.array(2)):
        assert second(lambda x, two=two: fnp.power(x, two))(0.0) == 2.0
    for three in (3, 3.0, np.array(3.0)):
        assert second(lambda x, three=three: fnp.power(x, three))(0.0) == 0.0


@pytest.mark.parametrize("zeros", [[0], [0, 2], [0, 1, 2], []])
def test_trap_08_products_with_zeros_to_second_order(zeros):
    x = np.array([2.0, 3.0, 5.0, 7.0])
    x[zeros] = 0.0
    others = [
        [np.prod(np.delete(x, [i, j])) if i != j else 0.0 for j in range(4)] for i in range(4)
    ]
    np.testing.assert_allclose(fg.hessian(fnp.prod)(x), others)
    np.testing.assert_allclose(fg.hessian(lambda x: fnp.cumprod(x)[-1])(x), others)


def test_trap_09_sinc_at_zero():
    assert fg.grad(fnp.sinc)(0.0) == 0.0
    np.testing.assert_allclose(second(fnp.sinc)(0.0), -(np.pi**2) / 3, rtol=1e-12)
    np.testing.assert_allclose(second(fnp.sinc)(1e-3), -(np.pi**2) / 3, rtol=1e-5)


def test_trap_12_logaddexp_far_out():
    x, y = np.array([1e4]), np.array([-1e4])
    a, b = fg.grad(lambda x, y: fnp.sum(fnp.logaddexp(x, y)), argnums=(0, 1))(x, y)
    assert (a[0], b[0]) == (1.0, 0.0)
    both = fg.grad(fnp.logaddexp, argnums=(0, 1))(-np.inf, -np.inf)
    assert both == (0.5, 0.5)
    np.testing.assert_allclose(second(lambda x: fnp.logaddexp(x, 0.3))(0.3), 0.25)


def test_trap_38_second_order_through_masked_branches():
    def f(x):
        return np.sum(np.where(x > 0, np.log(x), x**2))

    x, want = np.array([0.0, 1.0]), [[2.0, 0.0], [0.0, -1.0]]
    with np.errstate(all="ignore"):
        for h in (
            fg.hessian(f),
            fg.jacrev(fg.grad(f)),
            fg.jacfwd(fg.grad(f)),
            fg.jit(fg.hessian(f)),
        ):
            np.testing.assert_array_equal(h(x), want)


def test_trap_23_overflow_in_partials():
    gradient = fg.grad(lambda y: 1e300 / y)(1e200)
    np.testing.assert_allclose(gradient, -1e-100)


@pytest.mark.parametrize("point", [(0.0, 1.0), (2.0, 0.0), (0.0, 2.0)])
def test_trap_38_mixed_derivatives_of_powers_at_zero(point):
    def power(v):
        return v[0] ** v[1]

    for second in (fg.hessian(power), fg.jit(fg.hessian(power)), fg.jacrev(fg.jacfwd(power))):
        got = second(np.array(point))
        want = [0.0, point[0] ** (point[1] - 1.0)][point != (0.0, 2.0)]
        assert got[0, 1] == got[1, 0] == want


def test_no_warning_from_a_gradient():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fg.grad(lambda x: fnp.sum(fnp.where(x > 0, x, 0.0) ** 0.5))(np.array([1.0, 4.0]))


def test_trap_06_distances_at_the_origin():
    x = np.zeros((2, 3))
    for f in (
        lambda x: np.sum(np.linalg.norm(x, axis=1)),
        lambda x: np.sum(np.std(x, axis=0)),
        lambda x: np.sum(np.hypot(x[0], x[1])),
        lambda x: np.sum(np.arctan2(x[0], x[1])),
    ):
        for way in (fg.grad(f), fg.jit(fg.grad(f)), fg.jacfwd(f)):
            np.testing.assert_array_equal(way(x), 0.0)


def test_trap_12_logsumexp_of_nothing_but_infinities():
    special = pytest.importorskip("funcgrad.scipy.special")
    x = np.full(3, -np.inf)
    value, gradient = fg.value_and_grad(special.logsumexp)(x)
    assert value == -np.inf
    np.testing.assert_array_equal(gradient, 0.0)
    assert fg.value_and_grad(np.logaddexp)(-np.inf, -np.inf) == (-np.inf, 0.5)


@pytest.mark.parametrize("way", [lambda f: fg.grad(f), lambda f: fg.jit(fg.grad(f)), fg.jacfwd])
def test_trap_13_far_out(way):
    special = pytest.importorskip("scipy.special")
    with np.errstate(over="ignore"):
        assert way(lambda x: special.xlogy(x, 2.0))(0.0) == np.log(2.0)
        assert way(lambda y: special.xlogy(0.0, y))(0.0) == 0.0
        assert way(lambda x: np.logaddexp(0.0, x))(800.0) == 1.0  # softplus
        assert way(lambda x: np.logaddexp(0.0, x))(-800.0) == 0.0
        assert way(lambda x: -np.logaddexp(0.0, -x))(-800.0) == 1.0  # log-sigmoid
        assert way(special.log_expit)(-800.0) == 1.0
        assert way(special.log_expit)(800.0) == 0.0
    assert np.logaddexp(0.0, 800.0) == 800.0
