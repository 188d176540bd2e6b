"""Random numbers: the same program text with `jax.random` draws the same numbers."""

import numpy
import pytest
from like_jax.swapped import NESTS, agree, evaluate, in_both, ours, theirs

pytestmark = pytest.mark.peers

SETUP = """
k = random.PRNGKey(5)
t = random.key(11)
p = np.asarray([0.1, 0.2, 0.3, 0.4])
L = np.log(np.stack([p, p[::-1]]))
A = np.arange(12.0).reshape(3, 4)
C = np.asarray([[2.0, 0.5], [0.5, 1.0]])
"""
DRAWS = """
random.split(k)
random.split(k, 3), random.split(k, (2, 3))
random.key_data(random.split(t, 4)[2]), random.key_data(t)
random.fold_in(k, 7), random.key_data(random.fold_in(t, 7))
random.key_data(random.wrap_key_data(k)), random.key_impl(t)
random.key_data(random.key(-1)), random.PRNGKey(2**40 + 3)
random.split(t, (2, 3)).shape, random.split(t, 5)[1:].shape, t.ndim, random.split(t, 5).size
[random.key_data(i) for i in random.split(t)]
random.bits(k, (3, 5))
random.bits(k, (7,), "uint8"), random.bits(k, (7,), "uint16"), random.bits(k, (7,), "uint32")
random.uniform(k, (3, 5)), random.uniform(t)
random.uniform(k, (7,), "float16"), random.uniform(k, (7,), "float32")
random.uniform(k, (7,), minval=-1.0, maxval=3.0)
random.uniform(k, (7,), "float32", minval=-1.0, maxval=3.0)
random.normal(k, (5, 4)), random.normal(t, (3,))
random.normal(k, (7,), "complex128")
random.truncated_normal(k, -1.0, np.asarray([2.0, 0.5]), (6, 2))
random.exponential(k, (9,)), random.gumbel(k, (9,)), random.laplace(k, (9,))
random.logistic(k, (9,)), random.cauchy(k, (9,)), random.maxwell(k, (9,))
random.gumbel(k, (9,), mode="high")
random.lognormal(k, 0.7, (9,)), random.pareto(k, 2.5, (9,))
random.rayleigh(k, np.asarray(2.0), (9,)), random.wald(k, np.asarray(2.0), (9,))
random.weibull_min(k, 2.0, 1.5, (9,)), random.triangular(k, 0.0, 1.0, 3.0, (9,))
random.double_sided_maxwell(k, 1.0, 2.0, (9,))
random.multivariate_normal(k, np.zeros(2), C, (4,))
random.orthogonal(k, 4), random.orthogonal(k, 2, (3,), m=5)
random.rademacher(k, (9,)), random.bernoulli(k, 0.3, (20,)), random.bernoulli(k, p)
random.bernoulli(k, 0.3, (20,), mode="high")
random.randint(k, (50,), 0, 10), random.randint(k, (50,), -5, 7, "int32")
random.randint(k, (50,), 0, 300, "uint8"), random.randint(k, (50,), -200, 200, "int8")
random.randint(k, (50,), 0, 2**62), random.randint(k, (50,), 5, 5)
random.randint(k, (50,), 0, 2**32, "uint32"), random.randint(k, (4,), 0, np.arange(1, 5))
random.permutation(k, 100), random.permutation(k, A), random.permutation(k, A, axis=1)
random.permutation(k, A, axis=1, independent=True)
random.choice(k, 10, (5,)), random.choice(k, 4, (50,), p=p)
random.choice(k, 4, (3,), replace=False, p=p), random.choice(k, np.arange(10.0), (3, 2), replace=False)
random.choice(k, A, (2,), axis=1), random.choice(k, A, (2, 3), axis=1), random.choice(k, A)
random.categorical(k, L), random.categorical(k, L, axis=0), random.categorical(k, np.log(p), shape=(20,))
random.categorical(k, L, shape=(20, 2))
np.asarray(random.categorical(k, L, shape=(3, 2), replace=False), "int64")
random.geometric(k, 0.3, (9,))
m.vmap(random.normal)(random.split(k, 3))
m.vmap(random.normal)(random.split(t, 3))
m.vmap(lambda k: random.randint(k, (4,), 0, 9))(random.split(t, 3))
m.vmap(lambda k, i: random.key_data(random.fold_in(k, i)), in_axes=(None, 0))(t, np.arange(3))
m.vmap(lambda k: random.permutation(k, 6))(random.split(k, 3))
m.vmap(lambda k, a: random.choice(k, a, (2,)))(random.split(k, 3), A)
m.jit(lambda k: random.normal(k, (3,)))(k), m.jit(lambda k: random.uniform(k, (3,)))(t)
m.jit(m.vmap(lambda k: random.exponential(k, (2,))))(random.split(t, 3))
m.jit(lambda s: random.normal(random.key(s), (3,)))(3)
m.jit(lambda s: [random.key_data(k) for k in random.split(random.key(s))])(np.asarray(3))
m.grad(lambda s: np.sum(random.normal(k, (5,)) * s) ** 2)(2.0)
m.grad(lambda b: random.uniform(k, minval=b, maxval=3.0))(1.0)
m.jit(m.grad(lambda c: np.sum(random.multivariate_normal(k, np.zeros(2), c, (4,)) ** 2)))(C)
m.hessian(lambda c: np.sum(random.lognormal(k, c, (5,))))(0.3)
m.vmap(m.grad(lambda b, k: random.pareto(k, b)))(np.asarray([2.0, 3.0]), random.split(t))
m.jvp(lambda a: random.weibull_min(k, a, 2.0, (3,)), (1.5,), (1.0,))
m.grad(lambda u: np.sum(random.truncated_normal(k, -1.0, u, (5,))))(2.0)
m.grad(lambda a: np.sum(random.triangular(k, 0.0, a, 3.0, (5,))))(1.0)
m.grad(lambda x: np.sum(random.permutation(k, x) * np.arange(4.0)))(p)
m.jit(m.grad(lambda x: np.sum(random.choice(k, x, (9,)) ** 2)))(p)
lax.scan(lambda c, k: (c + random.normal(k), random.uniform(k)), 0.0, random.split(k, 4))
lax.scan(lambda k, _: (random.split(k)[0], random.normal(k)), k, None, length=4)[1]
lax.fori_loop(0, 3, lambda i, c: c + random.normal(random.fold_in(k, i)), 0.0)
[(lambda a, b: random.normal(b) - random.normal(a))(*random.split(t))]
""".strip().split("\n")


@pytest.mark.parametrize("program", DRAWS)
def test_draws_like_jax(program):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        mine, other = (evaluate(SETUP + program, names) for names in (ours(), theirs()))
        agree(mine, other, rtol=1e-9)


INITIALISERS = """
init.zeros(k, (2, 3)), init.ones(k, (2, 3), "float32"), init.constant(2.5)(k, (3,))
init.normal()(k, (3, 4)), init.normal(0.5, "float32")(k, (3, 4))
init.uniform(2.0)(k, (3, 4))
init.truncated_normal(0.5)(k, (3, 4)), init.truncated_normal(1.0, lower=-1.0, upper=0.5)(k, (9,))
init.variance_scaling(2.0, "fan_in", "normal")(k, (3, 4))
init.variance_scaling(2.0, "fan_out", "uniform")(k, (2, 3, 4))
init.variance_scaling(2.0, "fan_avg", "truncated_normal", in_axis=0, out_axis=1, batch_axis=2)(k, (2, 3, 4))
init.variance_scaling(2.0, "fan_geo_avg", "normal", in_axis=(0, 1))(k, (2, 3, 4))
init.variance_scaling(1.0, "fan_in", "uniform", dtype="complex128")(k, (3, 4))
init.variance_scaling(1.0, "fan_in", "truncated_normal", dtype="complex128")(k, (3, 4))
init.glorot_normal()(k, (3, 4)), init.glorot_uniform()(k, (3, 4)), init.xavier_normal()(k, (3, 4))
init.he_normal()(k, (3, 4)), init.he_uniform()(k, (3, 4)), init.kaiming_uniform()(k, (3, 4))
init.lecun_normal()(k, (3, 4)), init.lecun_uniform()(k, (3, 4))
init.orthogonal()(k, (4, 4)), init.orthogonal(2.0, column_axis=0)(k, (3, 2, 4))
init.delta_orthogonal()(k, (3, 2, 4)), init.delta_orthogonal()(k, (3, 3, 2, 4))
m.vmap(lambda k: init.he_normal()(k, (3, 4)))(random.split(k, 2))
""".strip().split("\n")


@pytest.mark.parametrize("program", INITIALISERS)
def test_initialisers_like_jax(program):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        mine, other = (evaluate(SETUP + program, names) for names in (ours(), theirs()))
        agree(mine, other, rtol=1e-6)


REFUSED = """
random.normal(random.split(k, 3))
random.split(random.split(t, 3))
random.uniform(k, (3,), "int32")
random.uniform(k, (3,), minval=np.zeros(2))
random.randint(k, (3,), 0, 5, "float32")
random.permutation(k, 2.5)
random.choice(k, 3, (5,), replace=False)
random.choice(k, 3, (5,), p=p)
random.choice(k, np.zeros(0), (5,))
random.multivariate_normal(k, np.zeros(3), C)
random.gamma(k, np.ones(3), (2,))
random.bernoulli(k, 0.5, mode="x")
random.gumbel(k, mode="x")
random.normal(0)
random.normal(np.zeros(2))
random.bits(k, (2,), "int32")
random.categorical(k, L, shape=(9, 2), replace=False)
init.delta_orthogonal()(k, (3, 4))
init.orthogonal()(k, (3,))
init.glorot_normal()(k, (3,))
init.variance_scaling(1.0, "fan", "normal")(k, (3, 4))
init.variance_scaling(1.0, "fan_in", "x")(k, (3, 4))
""".strip().split("\n")


@pytest.mark.parametrize("program", REFUSED)
def test_random_refuses_like_jax(program):
    jax = pytest.importorskip("jax")
    for names in (ours(), theirs()):
        with jax.enable_x64(True), pytest.raises((TypeError, ValueError)):
            evaluate(SETUP + program, names)


@pytest.mark.parametrize("nest", [n for n in NESTS if n not in ("hessian", "hvp")])
def test_draws_within_nests_like_jax(nest):
    pytest.importorskip("jax")
    text = "x * random.normal(random.fold_in(random.key(3), 1), x.shape) + random.uniform(random.key(4))"
    [(mine, other)] = in_both(text, numpy.array([0.5, -1.0, 2.0]), [nest])
    agree(mine, other, rtol=1e-9)


def test_gradients_of_gamma_are_those_of_jax():
    """What moves the same number with its shape: JAX's own function of implicit derivatives."""
    jax = pytest.importorskip("jax")
    import funcgrad as fg

    a = numpy.array([0.05, 0.4, 1.0, 2.5, 40.0])
    key = fg.random.key(0)
    with jax.enable_x64(True):
        x, moved = fg.jvp(lambda a: fg.random.gamma(key, a), (a,), (numpy.ones(5),))
        wanted = jax.lax.random_gamma_grad(a, x)
    numpy.testing.assert_allclose(moved, wanted, rtol=1e-6)
