"""`scipy.integrate` on traced samples: SciPy's bits, derivatives in samples and points, errors."""

import numpy as np
import pytest
import scipy.integrate as sp

import funcgrad as fg
import funcgrad.scipy.integrate as ours
from funcgrad.testing import check_grads

RNG = np.random.default_rng(5)
NAMES = ["trapezoid", "simpson", "cumulative_trapezoid", "cumulative_simpson"]


def points(shape):
    return np.cumsum(RNG.uniform(0.2, 1.0, shape), -1)


def same(found, wanted):
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
@pytest.mark.parametrize("name", NAMES)
def test_values_are_scipys_and_both_arguments_have_derivatives(name, count):
    theirs, mine = getattr(sp, name), getattr(ours, name)
    for y, x in (
        (RNG.normal(size=count), points(count)),
        (RNG.normal(size=(2, count)), points(count)),
        (RNG.normal(size=(2, count)), points((2, count))),
    ):
        same(fg.vjp(lambda y, x: mine(y, x=x), y, x)[0], theirs(y, x=x))
        same(fg.vjp(lambda y, h: mine(y, dx=h), y, 0.3)[0], theirs(y, dx=0.3))
        check_grads(lambda y, x: mine(y, x=x), (y, x), order=1 if y.ndim > 1 else 2)
        np.testing.assert_allclose(fg.jit(lambda y, x: mine(y, x=x))(y, x), theirs(y, x=x))
    check_grads(lambda y, h: mine(y, dx=h, axis=0), (RNG.normal(size=(count, 2)), 0.3), order=1)
    stacked = RNG.normal(size=(3, count))
    np.testing.assert_array_equal(fg.vmap(mine)(stacked), [theirs(y) for y in stacked])


def test_romb():
    for count in (2, 3, 9):
        y = RNG.normal(size=(count, 2))
        same(fg.vjp(lambda y: ours.romb(y, 0.3, 0), y)[0], sp.romb(y, 0.3, 0))
        check_grads(lambda y, h: ours.romb(y, h, 0), (y, 0.3), order=2)


def test_initial_values():
    y = RNG.normal(size=(2, 5))
    same(
        fg.vjp(lambda y: ours.cumulative_trapezoid(y, initial=0, axis=0), y)[0],
        sp.cumulative_trapezoid(y, initial=0, axis=0),
    )
    f = lambda y, i: ours.cumulative_simpson(y, dx=0.5, initial=i)
    same(fg.vjp(f, y, 2.0)[0], sp.cumulative_simpson(y, dx=0.5, initial=2.0))
    check_grads(f, (y, np.array([[1.0], [2.0]])), order=2)


def test_points_that_coincide_count_for_nothing_in_simpsons_rule():
    x, y = np.array([0.0, 1.0, 1.0, 2.0, 3.0]), np.arange(5.0)
    same(fg.vjp(lambda y: ours.simpson(y, x), y)[0], sp.simpson(y, x))
    weights = [float(sp.simpson(row, x)) for row in np.eye(5)]
    np.testing.assert_allclose(fg.grad(lambda y: ours.simpson(y, x))(y), weights)


@pytest.mark.parametrize(
    ("name", "args", "keywords"),
    [
        ("simpson", (np.ones(4),), {"x": np.ones(3)}),
        ("simpson", (np.ones((2, 4)),), {"x": np.ones((1, 2, 4))}),
        ("cumulative_trapezoid", (np.ones(4),), {"initial": 1}),
        ("cumulative_trapezoid", (np.ones(4),), {"x": np.ones(3)}),
        ("cumulative_trapezoid", (np.ones((2, 0)),), {}),
        ("cumulative_simpson", (np.ones(4),), {"x": np.ones(4)}),
        ("cumulative_simpson", (np.ones(4),), {"x": np.ones(3)}),
        ("cumulative_simpson", (np.ones(4),), {"dx": np.ones(4)}),
        ("cumulative_simpson", (np.ones(4),), {"initial": np.ones(4)}),
        ("romb", (np.ones(4),), {}),
    ],
)
def test_errors_are_scipys(name, args, keywords):
    with pytest.raises(ValueError) as theirs:
        getattr(sp, name)(*args, **keywords)
    with pytest.raises(ValueError, match=str(theirs.value)[:30].replace("(", ".")):
        fg.vjp(lambda y: getattr(ours, name)(y, **keywords), *args)
