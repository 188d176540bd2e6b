"""An element that was not taken is absent; the number 0 times infinity is NaN."""

import numpy as np
import pytest
from absent_programs import FIRST, POINTS, SECOND, composed, drawn, total

import funcgrad as fg

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


# ---------------------------------------------------------------------- singular compositions


@pytest.mark.parametrize("way", FIRST)
@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: np.sqrt(x) ** 2, 0.0),
        (lambda x: np.cos(np.arccos(x)), 1.0),
        (lambda x: np.exp(np.log(x)), 0.0),
        (lambda x: np.sqrt(x**2), 0.0),
        (lambda x: 0.0 * np.sqrt(x), 0.0),
    ],
)
def test_the_number_zero_times_infinity_is_nan(f, x, way):
    got = np.asarray(FIRST[way](f)(np.array([x, 0.5])))
    assert np.isnan(got[0]) or got[0] == 1.0
    assert np.isfinite(got[1])


MASKED = {
    "where": lambda x: np.where(x > 0, np.sqrt(x), 0.0),
    "inside": lambda x: np.sqrt(np.where(x > 0, x, 0.0)),
    "log": lambda x: np.where(x > 0, np.log(x), 0.0),
    "x log x": lambda x: np.where(x > 0, x * np.log(x), 0.0),
    "a chain": lambda x: np.where(x > 0, np.exp(-1.0 / np.sqrt(x)), 0.0),
    "maximum": lambda x: np.maximum(np.sqrt(np.abs(x)), 0.5),
    "select": lambda x: np.select([x > 0], [np.sqrt(x)], 0.0),
    "cond": lambda x: fg.vmap(lambda v: fg.cond(v > 0, lambda: np.sqrt(v), lambda: 0.0 * v))(x),
    "fmax": lambda x: np.fmax(np.log(np.abs(x)), -0.5),
}


@pytest.mark.parametrize("way", ["grad", "jit of grad", "grad of jit", "sum of jit", "jacfwd"])
@pytest.mark.parametrize("name", MASKED)
def test_what_was_not_taken_is_absent(name, way):
    got = FIRST[way](MASKED[name])(np.array([-1e-3, 0.0, 0.25, 4.0]))
    np.testing.assert_array_equal(got[:2], 0.0)
    assert np.isfinite(got).all() and got[3] != 0


READS = {
    "slice": lambda y, _: y[1:],
    "element by element": lambda y, _: [y[k] for k in range(1, len(y))],
    "mask": lambda y, x: y[x > 0],
    "take": lambda y, _: np.take(y, [1, 2, 1]),
    "where=": lambda y, x: np.sum(y, where=x > 0),
    "mean where=": lambda y, x: np.mean(y, where=x > 0),
    "max": lambda y, _: np.max(y),
    "sort": lambda y, _: np.sort(y)[1:],
    "median": lambda y, _: np.median(y),
    "split": lambda y, _: np.split(y, [1])[1],
    "flip": lambda y, _: y[::-1].reshape(1, -1)[:, :2],
    "compress": lambda y, x: np.compress(x > 0, y),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", READS)
def test_elements_that_are_not_read_are_absent(name, compiled):
    def f(x):
        found = READS[name](np.sqrt(x), x)
        return sum(map(np.sum, found)) if isinstance(found, list) else np.sum(found)

    g = fg.grad(f)
    got = (fg.jit(g) if compiled else g)(np.array([0.0, 1.0, 4.0]))
    assert got[0] == 0 and np.isfinite(got).all() and np.any(got)
    np.testing.assert_array_equal(fg.jacfwd(f)(np.array([0.0, 1.0, 4.0]))[0], 0.0)


def test_absent_elements_pass_calls_in_both_directions():
    x = np.array([-1.0, 0.0, 4.0])
    chosen = fg.jit(lambda y, x: np.where(x > 0, y, 0.0))
    for f in (
        lambda x: np.sum(chosen(np.sqrt(x), x)),
        lambda x: np.sum(np.where(x > 0, fg.jit(np.sqrt)(x), 0.0)),
        lambda x: np.sum(np.where(x > 0, fg.checkpoint(np.sqrt)(x), 0.0)),
        lambda x: np.sum(fg.jit(np.sqrt)(chosen(x, x))),
    ):
        for g in (fg.grad(f), fg.jit(fg.grad(f)), fg.jacfwd(f)):
            np.testing.assert_array_equal(g(x), [0.0, 0.0, 0.25])
        np.testing.assert_array_equal(fg.hessian(f)(x), np.diag([0.0, 0.0, -1 / 32]))


def test_a_broadcast_operand_is_there_if_one_lane_took_it():
    def f(s, c):
        return np.sum(np.where(c, np.sqrt(s) * np.arange(3.0), 0.0))

    none, some = np.zeros(3, bool), np.array([False, True, False])
    for g in (fg.grad(f), fg.jit(fg.grad(f))):
        assert g(0.0, none) == 0.0
        assert g(0.0, some) == np.inf
    assert np.isnan(fg.grad(f)(0.0, np.array([True, False, False])))  # 0 · inf


def test_loops_of_reading_stay_linear():
    def f(x):
        y = np.sqrt(x)
        total = 0.0
        for k in range(1, len(x)):
            total = total + np.where(x[k] > 0, y[k], 0.0) ** 2
        return total

    x = np.zeros(400)
    x[:3] = 4.0
    got = fg.grad(f)(x)
    np.testing.assert_array_equal(got[3:], 0.0)
    np.testing.assert_array_equal(got[:3], [0.0, 1.0, 1.0])


# --------------------------------------------------------------------------- second order


def test_hessians_of_masked_branches_agree():
    def f(x):
        return np.sum(np.where(x > 0, np.log(x), x**2))

    x = np.array([0.0, 1.0])
    for way in SECOND:
        got = SECOND[way](lambda x: np.where(x > 0, np.log(x), x**2))(x)
        np.testing.assert_array_equal(got, [2.0, -1.0])
    for h in (fg.hessian(f), fg.jacrev(fg.grad(f)), fg.jacfwd(fg.jacfwd(f))):
        np.testing.assert_array_equal(h(x), [[2.0, 0.0], [0.0, -1.0]])


def test_hessians_of_cond_under_vmap_agree():
    def one(v):
        return fg.cond(v > 0, np.log, lambda w: w**2, v)

    for way in ("each alone", "hessian", "reverse over reverse", "jit of hessian"):
        f = one if way == "each alone" else fg.vmap(one)
        np.testing.assert_array_equal(SECOND[way](f)(np.array([0.0, 1.0])), [2.0, -1.0])


def test_jacobians_keep_other_elements_out():
    want = [[np.inf, 0.0], [0.0, 0.5]]
    for way in (fg.jacobian, fg.jacrev, fg.jacfwd):
        np.testing.assert_array_equal(way(np.sqrt)(np.array([0.0, 1.0])), want)
        np.testing.assert_array_equal(fg.jit(way(np.sqrt))(np.array([0.0, 1.0])), want)


# -------------------------------------------------------------------------- random programs


@pytest.mark.parametrize("seed", range(60))
def test_every_way_gives_the_same(seed):
    names = drawn(np.random.default_rng(seed))
    f = composed(names)
    first = {name: np.asarray(way(f)(POINTS)) for name, way in FIRST.items()}
    for name, got in first.items():
        np.testing.assert_allclose(got, first["grad"], 1e-9, 1e-12, err_msg=f"{names} {name}")
    _never_a_wrong_zero(f, first["grad"], names)


@pytest.mark.parametrize("seed", range(20))
def test_every_way_gives_the_same_to_second_order(seed):
    names = drawn(np.random.default_rng(1000 + seed))
    f = composed(names)
    second = {name: np.asarray(way(f)(POINTS)) for name, way in SECOND.items()}
    want = second["reverse over reverse"]
    finite = np.isfinite(want)
    for name, got in second.items():  # of infinite terms, one mode may meet 0 · inf on its way
        np.testing.assert_array_equal(np.isfinite(got), finite, err_msg=f"{names} {name}")
        got, expected = got[finite], want[finite]
        np.testing.assert_allclose(got, expected, 1e-7, 1e-9, err_msg=f"{names} {name}")


def _never_a_wrong_zero(f, got, names):
    """Where the gradient is 0, so is one of the derivatives to both sides (a kink), or none is."""
    h = 1e-7
    y, right, left = f(POINTS), f(POINTS + h), f(POINTS - h)
    for g, a, b in zip(got, (right - y) / h, (y - left) / h, strict=True):
        sides = [s for s in (a, b) if np.isfinite(s)]
        if g == 0 and sides:
            assert min(map(abs, sides)) < 1e-3 or abs(sum(sides)) < 1e-3, names


def test_where_of_a_total():
    """A product with an absent row is no row."""

    def f(x):
        return np.sum(np.where(np.array([True, False]), np.log(np.sum(x * x, axis=1)), 0.0))

    x = np.array([[1.0, 2.0], [0.0, 0.0]])
    for g in (fg.grad(f), fg.jit(fg.grad(f)), fg.jacfwd(f)):
        np.testing.assert_allclose(g(x), [[0.4, 0.8], [0.0, 0.0]])
    assert total(np.sqrt)(np.ones(2)) == 2.0


CHOSEN = {
    "Python's bool": lambda x, c: np.where(c, np.sin(x), x * 0.5) + x,
    "a number": lambda x, c: np.where(int(c), np.sin(x), x * 0.5) + x,
    "NumPy's bool": lambda x, c: np.where(np.bool_(c), np.sin(x), x * 0.5) + x,
    "select": lambda x, c: np.select([c], [np.sin(x)], x * 0.5) + x,
    "twice": lambda x, c: np.where(c, np.where(not c, x, np.sin(x)), x * 0.5) + x,
    "a step": lambda x, c: np.where(c, np.sin(x), np.where(not c, x * 0.5, x * x)) + x,
}
HOW = {
    "grad": fg.grad,
    "jit of grad": lambda f: fg.jit(fg.grad(f)),
    "grad of jit": lambda f: fg.grad(fg.jit(f)),
    "jit of jacfwd": lambda f: fg.jit(fg.jacfwd(f)),
    "jit of grad of vmap": lambda f: fg.jit(fg.grad(lambda x: fg.vmap(f)(x[None])[0])),
    "jit of grad of checkpoint": lambda f: fg.jit(fg.grad(fg.checkpoint(f))),
    "vmap of grad": lambda f: lambda x: fg.vmap(fg.grad(f))(x[None])[0],
}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("chosen", CHOSEN)
@pytest.mark.parametrize("condition", [True, False])
def test_what_a_known_condition_does_not_choose_has_no_derivative(chosen, condition, how):
    """Python's False was taken for "nothing of it is known to be there", which has no mask."""
    found = HOW[how](lambda x: CHOSEN[chosen](x, condition))(np.float64(0.3))
    np.testing.assert_allclose(found, 1 + (np.cos(0.3) if condition else 0.5), rtol=1e-14)
