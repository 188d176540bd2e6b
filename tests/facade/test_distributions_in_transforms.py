"""Distributions under `vmap`, in compiled steps, in mixtures, and at the ends of their ranges."""

import math
import warnings

import numpy as np
import pytest

import funcgrad.torch as torch

from .both import same

d = torch.distributions
X = [0.1, 0.2, 0.3]
MAPPED = {
    "normal": lambda x: d.Normal(x, 1.0).log_prob(torch.tensor(0.0)),
    "categorical": lambda x: d.Categorical(logits=torch.stack([x, -x])).log_prob(torch.tensor(1)),
    "gamma": lambda x: d.Gamma(x, 2.0).log_prob(torch.tensor(0.5)),
    "dirichlet": lambda x: d.Dirichlet(torch.stack([x, 2 * x])).entropy(),
    "divergence": lambda x: d.kl_divergence(d.Beta(x, 1.0), d.Beta(2.0, x)),
    "vectors": lambda x: d.MultivariateNormal(x * torch.ones(2), torch.eye(2)).log_prob(
        torch.zeros(2)
    ),
    "covariances": lambda x: d.MultivariateNormal(torch.zeros(2), x * torch.eye(2)).entropy(),
    "slope": lambda x: torch.func.grad(lambda a: d.StudentT(a).log_prob(torch.tensor(0.5)))(x),
}  # fmt: skip
DRAWN = {
    "normal": lambda x: d.Normal(x, 1.0).sample(),
    "normal, moved": lambda x: d.Normal(x, 1.0).rsample((2,)),
    "bernoulli": lambda x: d.Bernoulli(x).sample((3,)),
    "categorical": lambda x: d.Categorical(torch.stack([x, 1 - x])).sample((2,)),
    "one of them": lambda x: d.Categorical(torch.stack([x, 1 - x])).sample(),
    "exponential": lambda x: d.Exponential(x).rsample(),
    "gamma": lambda x: d.Gamma(x, 1.0).rsample((2,)),
    "poisson": lambda x: d.Poisson(x).sample(),
    "binomial": lambda x: d.Binomial(7, x).sample(),
    "dirichlet": lambda x: d.Dirichlet(torch.stack([x, x])).rsample(),
}


@pytest.mark.parametrize("name", MAPPED)
def test_maps_are_loops(name):
    x = torch.tensor(X, dtype=torch.float64)
    got = torch.func.vmap(MAPPED[name])(x)
    expected = torch.stack([MAPPED[name](v) for v in x])
    np.testing.assert_allclose(got.numpy(), expected.numpy(), 1e-6)


@pytest.mark.parametrize("name", DRAWN)
def test_each_example_draws_its_own(name):
    """One example after the other takes what a batch of parameters takes."""
    x = torch.full((400,), 0.3)
    torch.manual_seed(0)
    got = torch.func.vmap(DRAWN[name], randomness="different")(x).double()
    torch.manual_seed(1)
    single = torch.stack([DRAWN[name](v) for v in x]).double()
    assert got.shape == single.shape and got[:200].tolist() != got[200:].tolist()
    error = 5 * math.sqrt(2 * float(single.var()) / single.numel()) + 1e-12
    assert abs(float(got.mean() - single.mean())) < error
    with pytest.raises(RuntimeError, match="randomness error mode"):
        torch.func.vmap(DRAWN[name])(x)


@pytest.mark.parametrize("name", ["normal", "bernoulli", "categorical", "gamma", "poisson"])
def test_the_same_draw_of_parameters_that_differ_is_refused(name):
    with pytest.raises(RuntimeError, match="does not currently support same randomness"):
        torch.func.vmap(DRAWN[name], randomness="same")(torch.tensor(X))


def test_what_a_map_refuses_names_the_numbers():
    with pytest.raises(ValueError, match="Expected parameter scale"):
        torch.func.vmap(lambda s: d.Normal(0.0, s).entropy())(torch.tensor([1.0, -1.0]))


def test_slopes_of_draws_under_a_map():
    """The implicit derivative within `vmap`: E[x] = a."""
    slope = torch.func.grad(lambda a: d.Gamma(a, 1.0).rsample((50,)).mean())
    a = torch.full((40,), 2.0, dtype=torch.float64)
    torch.manual_seed(0)
    assert float(torch.func.vmap(slope, randomness="different")(a).mean()) == pytest.approx(
        1.0, abs=0.1
    )


def elbo(m, s):
    q = d.Normal(m, s, validate_args=False)
    z = q.rsample()
    return (q.log_prob(z) + d.kl_divergence(q, d.Normal(0.0, 1.0, validate_args=False))).sum()


def test_a_compiled_step_draws_what_eager_code_draws():
    m, s = torch.zeros(4, requires_grad=True), torch.ones(4, requires_grad=True)
    step = torch.compile(elbo, fullgraph=True)
    for seed in range(3):
        found = []
        for f in (elbo, step):
            torch.manual_seed(seed)
            m.grad = s.grad = None
            y = f(m, s)
            y.backward()
            found.append([y.item(), *m.grad.tolist(), *s.grad.tolist()])
        assert found[0] == pytest.approx(found[1], rel=1e-5, abs=1e-6)
    assert "3 calls in 1 compiled programs" in step.report()


def test_checks_in_a_compiled_step_are_made_in_silence():
    step = torch.compile(lambda s: d.Normal(0.0, s).entropy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert step(torch.tensor(1.0)).item() == pytest.approx(1.41893, rel=1e-5)
    with pytest.raises(ValueError, match="Expected parameter scale"):
        step(torch.tensor(-1.0))


EXTREMES = {
    "certain": lambda m, d: d.Bernoulli(m.tensor([0.0, 1.0])).log_prob(m.tensor([0.0, 1.0])),
    "impossible": lambda m, d: d.Bernoulli(m.tensor([0.0, 1.0])).log_prob(m.tensor([1.0, 0.0])),
    "certain, modes": lambda m, d: d.Bernoulli(m.tensor([0.0, 0.5, 1.0])).mode,
    "certain, entropy": lambda m, d: d.Bernoulli(m.tensor([0.0, 0.5, 1.0])).entropy(),
    "certain draws": lambda m, d: d.Bernoulli(m.tensor([0.0, 1.0])).sample((3,)),
    "one outcome": lambda m, d: d.Categorical(m.tensor([0.0, 1.0])).log_prob(m.tensor([0, 1])),
    "one outcome, entropy": lambda m, d: d.Categorical(m.tensor([0.0, 1.0])).entropy(),
    "minus infinity": lambda m, d: d.Categorical(logits=m.tensor([-math.inf, 0.0])).entropy(),
    "all trials": lambda m, d: d.Binomial(5, m.tensor([0.0, 1.0])).log_prob(m.tensor([0.0, 5.0])),
    "first trial": lambda m, d: d.Geometric(m.tensor(1.0)).log_prob(m.tensor(0.0)),
    "no event": lambda m, d: d.Poisson(m.tensor([0.0, 1e-30])).log_prob(m.tensor([0.0, 0.0])),
    "no failures": lambda m, d: d.NegativeBinomial(m.tensor(0.0), m.tensor(0.5)).log_prob(
        m.tensor(0.0)
    ),
    "huge scale": lambda m, d: d.Normal(0.0, 1e30).log_prob(m.tensor([0.0, 1e35])),
    "tiny scale": lambda m, d: d.Laplace(0.0, 1e-30).log_prob(m.tensor([0.0, 1e-30])),
    "far tails": lambda m, d: d.Normal(0.0, 1.0).cdf(m.tensor([-40.0, 40.0])),
    "ends": lambda m, d: d.Normal(0.0, 1.0).icdf(m.tensor([0.0, 1.0])),
    "ends of beta": lambda m, d: d.Beta(1.0, 2.0).log_prob(m.tensor([0.0, 1.0])),
    "zero of gamma": lambda m, d: d.Gamma(m.tensor([0.5, 1.0, 2.0]), 1.0).log_prob(m.zeros(3)),
    "ends of uniform": lambda m, d: d.Uniform(0.0, 1.0).log_prob(m.tensor([0.0, 1.0])),
    "modes of dirichlet": lambda m, d: d.Dirichlet(m.tensor([[2.0, 3.0], [1.0, 3.0]])).mode,
    "moments of student": lambda m, d: d.StudentT(m.tensor([0.5, 1.0, 1.5, 2.0, 3.0])).variance,
    "means of student": lambda m, d: d.StudentT(m.tensor([0.5, 1.0, 1.5])).mean,
    "moments of fisher": lambda m, d: d.FisherSnedecor(2.0, m.tensor([2.0, 3.0, 5.0])).mean,
    "spread of fisher": lambda m, d: d.FisherSnedecor(2.0, m.tensor([2.0, 4.0, 5.0])).variance,
    "moments of pareto": lambda m, d: d.Pareto(1.0, m.tensor([0.5, 1.0, 3.0])).mean,
    "integers": lambda m, d: d.Normal(0, 1).log_prob(m.tensor([0, 1])),
    "integer counts": lambda m, d: d.Poisson(2.0).log_prob(m.tensor([0, 3])),
    "numbers and 0-d": lambda m, d: (d.Normal(0.0, m.tensor(2.0)).batch_shape,
                                     d.Normal(0.0, 2.0).sample().shape,
                                     d.Gamma(1, 2).sample((2,)).shape),
    "half a half": lambda m, d: d.ContinuousBernoulli(m.tensor([0.0, 0.5, 1.0])).mean,
}  # fmt: skip


@pytest.mark.peers
@pytest.mark.parametrize("name", EXTREMES)
def test_ends_of_ranges(name):
    def program(m, say):
        m.manual_seed(0)
        found = EXTREMES[name](m, m.distributions)
        if isinstance(found, tuple):
            say(found)
        else:
            numbers = [v if v % 1 == 0 else round(v, 4) for v in found.double().flatten().tolist()]
            say([f"{v + 0.0:.5g}" for v in numbers], found.dtype == m.float32)

    same(program)


MIXTURES = {
    "scalars": lambda m, d: d.MixtureSameFamily(
        d.Categorical(m.tensor([0.3, 0.7])), d.Normal(m.tensor([-1.0, 2.0]), m.tensor([1.0, 0.5]))
    ),
    "batch": lambda m, d: d.MixtureSameFamily(
        d.Categorical(m.tensor([[0.3, 0.7], [0.5, 0.5]])),
        d.Normal(m.tensor([[-1.0, 2.0], [0.0, 1.0]]), 1.0),
    ),
    "vectors": lambda m, d: d.MixtureSameFamily(
        d.Categorical(m.tensor([0.3, 0.7])),
        d.Independent(d.Normal(m.tensor([[-1.0, 2.0, 0.0], [0.0, 1.0, 5.0]]), 1.0), 1),
    ),
    "correlated": lambda m, d: d.MixtureSameFamily(
        d.Categorical(m.ones(3, 2)), d.MultivariateNormal(m.zeros(3, 2, 2), m.eye(2))
    ),
    "counts": lambda m, d: d.MixtureSameFamily(
        d.Categorical(m.ones(2)), d.Poisson(m.tensor([1.0, 9.0]))
    ),
}


@pytest.mark.peers
@pytest.mark.parametrize("name", MIXTURES)
def test_mixtures(name):
    def program(m, say):
        m.manual_seed(2)
        mix = MIXTURES[name](m, m.distributions)
        say(mix, mix.batch_shape, mix.event_shape, mix.support.event_dim)
        x = mix.sample((3,))
        wide = mix.expand((4, *mix.batch_shape))
        for found in (x, mix.log_prob(x), mix.mean, mix.variance, wide.sample((2,))):
            say([f"{v:.4f}" for v in found.flatten().tolist()], tuple(found.shape))
        try:
            say([f"{v:.4f}" for v in mix.cdf(x).flatten().tolist()])
        except NotImplementedError:
            say("no cdf")

    same(program)


@pytest.mark.peers
def test_losses_of_a_variational_autoencoder():
    def program(m, say):
        d, nn = m.distributions, m.nn
        m.manual_seed(0)
        encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
        optimizer = m.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.02)
        data = (m.rand(32, 6) > 0.5).float()
        prior = d.Independent(d.Normal(m.zeros(2), m.ones(2)), 1)
        for step in range(100):
            loc, log = encoder(data).chunk(2, -1)
            q = d.Independent(d.Normal(loc, log.exp()), 1)
            z = q.rsample()
            p = d.Independent(d.Bernoulli(logits=decoder(z)), 1)
            loss = (d.kl_divergence(q, prior) - p.log_prob(data)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 10 == 9:
                say(f"{loss.item():.3f}")

    same(program)
