"""Random numbers: distributions, gradients in their parameters, keys, and NumPy's generators."""

import copy
import pickle

import numpy as np
import pytest
import scipy.stats

import funcgrad as fg
from funcgrad import random
from funcgrad.errors import KeyReuseError, RandomnessError

KEY = random.PRNGKey(3)
SIZE = (4000,)
DISTRIBUTIONS = {
    "gamma": (lambda: random.gamma(KEY, 2.5, SIZE), scipy.stats.gamma(2.5)),
    "gamma of a small shape": (lambda: random.gamma(KEY, 0.05, SIZE), scipy.stats.gamma(0.05)),
    "gamma of a large shape": (lambda: random.gamma(KEY, 1e4, SIZE), scipy.stats.gamma(1e4)),
    "loggamma": (lambda: random.loggamma(KEY, 0.3, SIZE), scipy.stats.loggamma(0.3)),
    "beta": (lambda: random.beta(KEY, 0.5, 2.0, SIZE), scipy.stats.beta(0.5, 2.0)),
    "dirichlet": (lambda: random.dirichlet(KEY, np.array([1.0, 2.0, 3.0]), SIZE)[:, 1],
                  scipy.stats.beta(2.0, 4.0)),
    "chisquare": (lambda: random.chisquare(KEY, 3.0, SIZE), scipy.stats.chi2(3.0)),
    "t": (lambda: random.t(KEY, 3.0, SIZE), scipy.stats.t(3.0)),
    "f": (lambda: random.f(KEY, 3.0, 5.0, SIZE), scipy.stats.f(3.0, 5.0)),
    "generalized_normal": (lambda: random.generalized_normal(KEY, 1.5, SIZE),
                           scipy.stats.gennorm(1.5)),
    "normal": (lambda: random.normal(KEY, SIZE), scipy.stats.norm()),
    "wald": (lambda: random.wald(KEY, 2.0, SIZE), scipy.stats.invgauss(2.0)),
    "weibull_min": (lambda: random.weibull_min(KEY, 2.0, 1.5, SIZE),
                    scipy.stats.weibull_min(1.5, scale=2.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_draws_have_their_distribution(name):
    draw, distribution = DISTRIBUTIONS[name]
    x = draw()
    assert x.shape == SIZE
    assert scipy.stats.kstest(x, distribution.cdf).pvalue > 1e-3


COUNTS = {
    "poisson": (lambda: random.poisson(KEY, 3.5, SIZE), scipy.stats.poisson(3.5)),
    "poisson of a large mean": (lambda: random.poisson(KEY, 900.0, SIZE), scipy.stats.poisson(900)),
    "binomial": (lambda: random.binomial(KEY, 12, 0.3, SIZE), scipy.stats.binom(12, 0.3)),
    "multinomial": (lambda: random.multinomial(KEY, np.full(SIZE, 9.0), np.array([0.2, 0.5, 0.3]),
                                               shape=(*SIZE, 3))[:, 1], scipy.stats.binom(9, 0.5)),
    "geometric": (lambda: random.geometric(KEY, 0.3, SIZE), scipy.stats.geom(0.3)),
    "randint": (lambda: random.randint(KEY, SIZE, 3, 11), scipy.stats.randint(3, 11)),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_counts_have_their_distribution(name):
    draw, distribution = COUNTS[name]
    x = draw()
    low, high = (int(distribution.ppf(q)) for q in (0.02, 0.98))
    edges = np.arange(low, high + 1)
    found = np.array([np.mean(x <= k) for k in edges])
    np.testing.assert_allclose(found, distribution.cdf(edges), atol=1.95 / np.sqrt(SIZE[0]))


def test_counts_without_a_distribution():
    lam = np.array([0.0, -1.0, np.nan])
    np.testing.assert_array_equal(random.poisson(KEY, lam), [0, -1, -1])
    np.testing.assert_array_equal(random.binomial(KEY, 5, np.array([0.0, 1.0])), [0.0, 5.0])
    assert np.isnan(random.binomial(KEY, 5, 1.5))


# --------------------------------------------------------------------------------- gradients

A = np.array([0.4, 1.3, 6.0])
MOVES = {
    "gamma": lambda a: random.gamma(KEY, a),
    "a small shape": lambda a: random.loggamma(KEY, a * 0.01),
    "beta": lambda a: random.beta(KEY, a, a[::-1]),
    "dirichlet": lambda a: random.dirichlet(KEY, a),
    "t": lambda a: random.t(KEY, a),
    "chisquare": lambda a: random.chisquare(KEY, a),
    "f": lambda a: random.f(KEY, a, 3.0),
    "generalized_normal": lambda a: random.generalized_normal(KEY, a[1]),
    "ball": lambda a: random.ball(KEY, 3, a[2]),
    "lognormal": lambda a: random.lognormal(KEY, a),
    "triangular": lambda a: random.triangular(KEY, 0.0, a, 9.0),
    "truncated_normal": lambda a: random.truncated_normal(KEY, -a, a),
}


@pytest.mark.parametrize("name", MOVES)
def test_a_draw_moves_with_its_parameters(name):
    """The same uniform number: so differences of draws are what the derivative says."""
    f = MOVES[name]
    fg.testing.check_grads(f, (A,), order=1)
    g = fg.grad(lambda a: np.sum(np.cos(f(a))))
    np.testing.assert_allclose(fg.jit(g)(A), g(A), rtol=1e-9)
    rows = fg.vmap(g)(np.stack([A, A + 0.5]))
    np.testing.assert_allclose(rows, [g(A), g(A + 0.5)], rtol=1e-9)


def test_the_second_derivative_of_a_gamma_number():
    f = lambda a: np.sum(random.gamma(KEY, a))
    steps = [(fg.grad(f)(A + h) - fg.grad(f)(A - h)) / 2e-5 for h in np.eye(3) * 1e-5]
    np.testing.assert_allclose(fg.hessian(f)(A), steps, rtol=1e-5, atol=1e-7)


def test_what_is_discrete_has_no_gradient():
    for draw in (random.poisson, random.geometric, lambda k, p, s: random.binomial(k, 9, p, s)):
        f = lambda p, draw=draw: p * draw(KEY, p, (5,)).astype(float).sum()
        p = 0.4
        assert fg.grad(f)(p) == draw(KEY, p, (5,)).astype(float).sum()


# -------------------------------------------------------------------------------------- keys


def test_a_key_is_a_tree_and_a_value():
    k = random.key(7)
    assert fg.tree.leaves(k)[0].dtype == np.uint32
    for other in (copy.copy(k), copy.deepcopy(k), pickle.loads(pickle.dumps(k))):
        assert random.normal(other) == random.normal(k)
    rows = random.split(k, (2, 3))
    assert (rows.shape, len(rows), rows[0].shape, rows[1, 2].shape) == ((2, 3), 2, (3,), ())
    np.testing.assert_array_equal(rows[..., 1].data, rows.data[:, 1])
    np.testing.assert_array_equal(
        fg.vmap(fg.vmap(random.normal))(rows), [[random.normal(k) for k in row] for row in rows]
    )
    assert repr(k) == "<key of threefry, array([0, 7], dtype=uint32)>"
    with pytest.raises(TypeError, match="no length"):
        len(k)


def test_numbers_do_not_depend_on_the_transform():
    f = lambda k: random.normal(k, (3,)) + random.randint(k, (3,), 0, 5)
    want = f(KEY)
    np.testing.assert_allclose(fg.jit(f)(KEY), want, rtol=1e-14)
    np.testing.assert_array_equal(fg.vmap(f)(KEY[None])[0], want)
    np.testing.assert_array_equal(fg.checkpoint(f)(KEY), want)
    np.testing.assert_array_equal(fg.vjp(lambda x: x * f(KEY), 1.0)[0], want)


def test_a_key_that_is_used_twice_is_named():
    k = random.key(0)
    random.normal(k)
    random.normal(k)
    fg.config.check_keys = True
    try:
        for use in (random.normal, random.split, lambda k: random.gamma(k, 2.0)):
            k = random.key(0)
            random.fold_in(k, 3)
            use(k)
            for again in (random.uniform, random.split):
                with pytest.raises(KeyReuseError, match="is used twice") as info:
                    again(k)
                assert str(info.value).count(__file__) == 2
            random.normal(random.clone(k))
        a, b = random.split(random.key(1))
        assert random.normal(a) != random.normal(b)
        random.multinomial(random.key(2), 5, np.array([0.5, 0.5]))
        with pytest.raises(KeyReuseError):
            fg.vmap(lambda k: random.normal(k) + random.normal(k))(random.split(random.key(3)))
        with pytest.raises(KeyReuseError):
            fg.jit(lambda k: random.normal(k) + random.uniform(k))(random.key(3))
    finally:
        fg.config.check_keys = False


@pytest.mark.parametrize(
    "key, text",
    [
        (3, r"takes a key \(random.key\(seed\)\), a numpy.random.Generator or numpy.random first"),
        (np.zeros(2), "not float64"),
        (random.split(random.PRNGKey(0), 3), r"an array of keys of shape \(3,\); map over them"),
    ],
)
def test_what_is_no_key_is_named(key, text):
    with pytest.raises((TypeError, ValueError), match=text) as info:
        random.normal(key)
    assert __file__ in str(info.value)
    with pytest.raises(OverflowError, match="64 bits"):
        random.key(2**64)
    with pytest.raises(TypeError, match="a seed is one integer"):
        random.key(0.5)
    with pytest.raises(ValueError, match="'threefry2x32'"):
        random.key(0, impl="rbg")


# ------------------------------------------------------------------------ NumPy's generators


def test_generators_of_numpy_draw_keys():
    for make in (np.random.default_rng, np.random.RandomState):
        one, two = make(5), make(5)
        a, b = random.normal(one, (3,)), random.normal(one, (3,))
        assert not np.array_equal(a, b)
        np.testing.assert_array_equal(a, random.normal(two, (3,)))
        np.testing.assert_array_equal(
            random.permutation(one, 6), [random.normal(two, (3,)), random.permutation(two, 6)][1]
        )
    np.random.seed(0)
    a = random.gamma(np.random, 2.0)
    np.random.seed(0)
    assert random.gamma(np.random, 2.0) == a
    rng = np.random.default_rng(1)
    assert fg.grad(lambda s: s * random.normal(rng))(2.0) == random.normal(np.random.default_rng(1))


RNG = np.random.default_rng(0)


@pytest.mark.parametrize("source", [RNG, np.random])
def test_a_draw_of_numpy_under_vmap_is_said_to_be_whose(source):
    f = lambda x: x + random.normal(source)
    with pytest.raises(RandomnessError):
        fg.vmap(f)(np.zeros(3))
    assert len(set(fg.vmap(f, randomness="different")(np.zeros(3)))) == 3
    assert len(set(fg.vmap(f, randomness="same")(np.zeros(3)))) == 1


def test_a_draw_of_numpy_under_jit_is_made_at_every_call():
    f = fg.jit(lambda x: x + random.normal(RNG))
    with pytest.warns(RuntimeWarning, match="random numbers were drawn"):
        assert f(0.0) != f(0.0)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9])
def test_few_words_are_those_of_many(count):
    many = random.bits(KEY, (20_000,))
    np.testing.assert_array_equal(random.bits(KEY, (count,)), many[:count])
    np.testing.assert_array_equal(random.split(KEY, count), random.split(KEY, 999)[:count])
    keys = random.split(KEY, 40)
    rows = fg.vmap(lambda k: random.bits(k, (count,)))(keys)
    np.testing.assert_array_equal(rows, [random.bits(k, (count,)) for k in keys])
