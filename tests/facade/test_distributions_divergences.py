"""Divergences beside PyTorch: all pairs of classes, their derivatives, dispatch and errors."""

import itertools

import numpy as np
import pytest

from .both import same
from .distribution_cases import close, ours, theirs

pytestmark = pytest.mark.peers
SIMPLE = {
    "Bernoulli": [[0.2, 0.5]], "Beta": [[0.7, 2.0], [1.5, 0.6]], "Binomial": [4, [0.2, 0.5]],
    "Categorical": [[[0.2, 0.8], [0.5, 0.5]]], "ContinuousBernoulli": [[0.2, 0.7]],
    "Exponential": [[0.5, 2.0]], "Gamma": [[0.7, 2.0], [1.5, 0.6]],
    "Gumbel": [[0.3, -1.0], [1.5, 0.6]],
    "Laplace": [[0.3, -1.0], [1.5, 0.6]], "Normal": [[0.3, -1.0], [1.5, 0.6]],
    "Pareto": [[0.5, 0.2], [1.5, 3.0]], "Poisson": [[0.5, 4.0]],
    "Uniform": [[0.1, 0.4], [0.6, 0.9]],
    "Cauchy": [[0.3, -1.0], [1.5, 0.6]], "HalfNormal": [[0.5, 2.0]], "Geometric": [[0.2, 0.5]],
    "LogNormal": [[0.3, -1.0], [1.5, 0.6]], "Dirichlet": [[[0.7, 2.0], [1.5, 0.6]]],
    "OneHotCategorical": [[[0.2, 0.8], [0.5, 0.5]]], "Chi2": [[0.7, 2.0]],
    "Weibull": [[0.5, 2.0], [1.0, 2.0]],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _needs_pytorch():
    pytest.importorskip("torch")


def make(m, name, factor=1.0, grad=False):
    given = [
        v if isinstance(v, int)
        else m.tensor(np.array(v) * factor, dtype=m.float64, requires_grad=grad)
        for v in SIMPLE[name]
    ]  # fmt: skip
    return getattr(m.distributions, name)(*given), [v for v in given if not isinstance(v, int)]


def gradients(m, first, second):
    p, given = make(m, first, grad=True)
    q, more = make(m, second, 0.9, True)
    y = m.distributions.kl_divergence(p, q)
    if not y.requires_grad or not bool(m.isfinite(y).all()):
        return y, []
    found = m.autograd.grad(y.sum(), given + more, create_graph=True, allow_unused=True)
    whole = sum((g**2).sum() for g in found if g is not None)
    again = m.autograd.grad(whole, given + more, allow_unused=True)
    return y, [g for g in (*found, *again) if g is not None]


@pytest.mark.parametrize("pair", itertools.product(SIMPLE, SIMPLE), ids="-".join)
def test_pairs_and_their_derivatives(pair):
    found = []
    for m in (ours, theirs):
        try:
            found.append(gradients(m, *pair))
        except NotImplementedError as error:
            found.append(str(error))
    if isinstance(found[1], str):
        assert found[0] == found[1]
        return
    close(found[0][0], found[1][0])
    for got, expected in zip(found[0][1], found[1][1], strict=True):
        np.testing.assert_allclose(got.tolist(), expected.tolist(), 1e-7, 1e-9)


def test_unit_intervals_within_each_other():
    """The mean of log p - log q under p, by numbers; PyTorch calls it infinite."""
    d = ours.distributions
    c, u = d.ContinuousBernoulli(ours.tensor(0.3, dtype=ours.float64)), d.Uniform(0.0, 1.0)
    x = ours.linspace(0.0005, 0.9995, 1000, dtype=ours.float64)
    log = c.log_prob(x)
    assert d.kl_divergence(c, u).item() == pytest.approx((log.exp() * log).mean().item(), rel=1e-4)
    assert d.kl_divergence(u, c).item() == pytest.approx(-log.mean().item(), rel=1e-4)


NORMALS = {
    "full": lambda m, d: d.MultivariateNormal(
        m.tensor([[0.5, -1.0], [0.0, 2.0]]), m.tensor([[2.0, 0.5], [0.5, 1.0]])
    ),
    "low rank": lambda m, d: d.LowRankMultivariateNormal(
        m.tensor([0.1, 0.7]), m.tensor([[0.5], [-0.8]]), m.tensor([0.4, 1.2])
    ),
    "of factors": lambda m, d: d.MultivariateNormal(
        m.tensor([0.1, 0.3]),
        scale_tril=m.tensor([[[1.0, 0.0], [0.3, 2.0]], [[0.5, 0.0], [1.0, 1.0]]]),
    ),
    "three": lambda m, d: d.MultivariateNormal(m.zeros(3), m.eye(3)),
    "low rank of three": lambda m, d: d.LowRankMultivariateNormal(
        m.zeros(3), m.ones(3, 1), m.ones(3)
    ),
}  # fmt: skip


@pytest.mark.parametrize("pair", itertools.product(NORMALS, NORMALS), ids="-".join)
def test_normal_vectors(pair):
    def program(m, say):
        p, q = (NORMALS[k](m, m.distributions) for k in pair)
        say([f"{abs(v):.4f}" for v in m.distributions.kl_divergence(p, q).flatten().tolist()])

    same(program)


def test_independent_transformed_and_shapes_that_broadcast():
    def program(m, say):
        d = m.distributions

        def rows(loc, n):
            return d.Independent(d.Normal(m.zeros(2, 3) + loc, 1.0), n)

        say(d.kl_divergence(rows(0.0, 1), rows(1.0, 1)))
        say(d.kl_divergence(d.LogNormal(m.zeros(3, 1), 1.0), d.LogNormal(m.ones(2), 2.0)))
        for ask in (
            lambda: d.kl_divergence(rows(0.0, 1), rows(1.0, 2)),
            lambda: d.kl_divergence(d.LogNormal(0.0, 1.0), d.Weibull(1.0, 1.0)),
            lambda: d.kl_divergence(d.Bernoulli(0.5), d.Cauchy(0.0, 1.0)),
            lambda: d.kl_divergence(d.Binomial(3, m.tensor(0.5)), d.Binomial(4, m.tensor(0.5))),
            lambda: d.kl_divergence(d.Poisson(0.5), d.Exponential(1.0)),
        ):
            try:
                say(ask())
            except NotImplementedError as error:
                say("refused", error)

    same(program)


def test_edges_of_probabilities():
    def program(m, say):
        d = m.distributions
        ends = m.tensor([0.0, 0.5, 1.0])
        for make in (d.Bernoulli, lambda p: d.Categorical(m.stack([p, 1 - p], -1))):
            for q in ends:
                say(d.kl_divergence(make(ends), make(q.expand(3))))
        two = d.Binomial(5, m.tensor([0.5, 0.5]))
        say(d.kl_divergence(two, d.Binomial(4, m.tensor([0.5, 0.25]))))

    same(program)


def test_registered_rules_are_found_by_the_nearest_classes():
    def program(m, say):
        d = m.distributions

        class Near(d.Normal):
            pass

        class Nearer(Near):
            pass

        say(d.kl_divergence(Nearer(0.0, 1.0), d.Normal(1.0, 1.0)))

        @d.register_kl(Near, d.Normal)
        def one(p, q):
            return "left"

        say(d.kl_divergence(Nearer(0.0, 1.0), d.Normal(1.0, 1.0)))

        @d.register_kl(d.Normal, Near)
        def other(p, q):
            return "right"

        say(d.kl_divergence(Nearer(0.0, 1.0), Nearer(1.0, 1.0)))
        say(d.kl_divergence(d.Normal(0.0, 1.0), Nearer(1.0, 1.0)))

    same(program)
