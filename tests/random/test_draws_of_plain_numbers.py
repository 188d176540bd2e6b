"""A draw has the same bits by NumPy's own functions as within a transform, where ours are taken."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import random
from funcgrad.core.tracer import value
from funcgrad.random.keys import space

DRAWS = """
random.uniform(k, shape), random.uniform(k, shape, "float32", -1.0, 3)
random.uniform(k, shape, minval=np.float64(-2.0), maxval=np.array(0.5))
random.normal(k, shape), random.normal(k, shape, "float16")
random.exponential(k, shape), random.gumbel(k, shape), random.bernoulli(k, 0.3, shape)
random.bits(k, shape, "uint8"), random.bits(k, shape, "uint32"), random.bits(k, shape)
random.randint(k, shape, 0, 10), random.randint(k, shape, -5, 2**40), random.randint(k, shape, 7, 2)
random.randint(k, shape, 0, 300, "uint8"), random.randint(k, shape, -200, 200, "int8")
random.randint(k, shape, 0, 2**32, "uint32"), random.randint(k, shape, np.int64(3), np.array(9))
random.randint(k, shape, 0, 2**63, "uint64"), random.randint(k, shape, -(2**63), 2**63)
random.split(k), random.fold_in(k, 5), random.choice(k, 9, shape)
random.gamma(k, 2.0, shape), random.gamma(k, 0.01, shape), random.loggamma(k, 1e-3, shape)
random.gamma(k, np.float32(3.0), shape), random.beta(k, 0.5, 2, shape), random.t(k, 3.0, shape)
""".strip().split("\n")


def leaves(tree):
    found = fg.tree.leaves(fg.tree.map(value, tree))
    return [(np.asarray(x).dtype, np.shape(x), np.asarray(x).tobytes()) for x in found]


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 5), (0,)], ids=str)
@pytest.mark.parametrize("draw", DRAWS)
def test_the_bits_are_the_same_within_a_transform(draw, shape):
    code = compile(draw, "draw", "eval")
    of = lambda k: eval(code, {"random": random, "np": np, "k": k, "shape": shape})
    k = random.key(7)
    within = []
    fg.jvp(lambda x: (within.append(of(k)), x)[1], (1.0,), (1.0,))
    assert leaves(of(k)) == leaves(within[0])
    mapped = fg.vmap(of)(fg.tree.map(lambda w: w[None], k))
    assert leaves(of(k)) == leaves(fg.tree.map(lambda x: x[0], mapped))


@pytest.mark.parametrize("a", [0.0, -1.0, np.nan, np.inf, 1e-300, 0.02, 1e5, [0.01, 2.0], []])
def test_gamma_takes_the_short_way_only_where_it_is_the_same(a):
    """What would be tiny, or is no shape, goes the long way, which a traced shape always does."""
    k = random.key(3)
    a = np.asarray(a, float)[()]
    with np.errstate(all="ignore"):
        expected = fg.jvp(lambda a: random.loggamma(k, a), (a,), (a,))[0]
        np.testing.assert_array_equal(random.loggamma(k, a), expected)


def test_a_number_comes_as_a_number():
    for a in (2.0, 1e-4):
        assert type(random.gamma(random.key(0), a)) is np.float64
        assert type(random.loggamma(random.key(0), a, (), "float32")) is np.float32


def test_the_namespace_is_numpy_only_where_nothing_can_be_traced():
    assert space(1.0, np.ones(2), np.uint32(1)) is np
    assert space([1.0]) is fg.numpy
    seen = []
    fg.grad(lambda x: (seen.append(space(1.0)), x)[1])(1.0)
    assert seen == [fg.numpy]
