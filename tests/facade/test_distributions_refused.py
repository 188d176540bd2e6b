"""What distributions refuse, word for word as PyTorch."""

import pytest

from .both import same

pytestmark = pytest.mark.peers
NAN = float("nan")
REFUSED = {
    "negative scale": lambda m, d: d.Normal(m.zeros(2), m.tensor([1.0, -1.0])),
    "negative scale, number": lambda m, d: d.Normal(0.0, -1.0),
    "NaN": lambda m, d: d.Normal(m.tensor([0.0, NAN]), 1.0),
    "neither": lambda m, d: d.Bernoulli(),
    "both": lambda m, d: d.Bernoulli(0.5, 0.5),
    "neither, categorical": lambda m, d: d.Categorical(),
    "scalar probs": lambda m, d: d.Categorical(m.tensor(0.5)),
    "scalar logits": lambda m, d: d.Categorical(logits=m.tensor(0.5)),
    "probability": lambda m, d: d.Bernoulli(m.tensor([0.5, 1.5])),
    "negative probs": lambda m, d: d.Categorical(m.tensor([-0.5, 1.5])),
    "empty interval": lambda m, d: d.Uniform(1.0, 0.0),
    "zero, geometric": lambda m, d: d.Geometric(m.tensor([0.0, 0.5, 0.0])),
    "half a trial": lambda m, d: d.Binomial(m.tensor(2.5), m.tensor(0.5)),
    "many counts": lambda m, d: d.Multinomial(m.tensor([2, 3]), m.ones(3)),
    "probability of 1": lambda m, d: d.NegativeBinomial(3, m.tensor(1.0)),
    "zero rate": lambda m, d: d.Gamma(1.0, 0.0),
    "scalar, dirichlet": lambda m, d: d.Dirichlet(m.tensor(0.5)),
    "zero, dirichlet": lambda m, d: d.Dirichlet(m.tensor([0.5, 0.0])),
    "zero, beta": lambda m, d: d.Beta(0.5, 0.0),
    "not symmetric": lambda m, d: d.MultivariateNormal(
        m.zeros(2), m.tensor([[1.0, 0.5], [0.0, 1.0]])
    ),
    "indefinite": lambda m, d: d.MultivariateNormal(
        m.zeros(2), m.tensor([[1.0, 2.0], [2.0, 1.0]])
    ),
    "not triangular": lambda m, d: d.MultivariateNormal(m.zeros(2), scale_tril=m.ones(2, 2)),
    "no matrix": lambda m, d: d.MultivariateNormal(m.zeros(2)),
    "two matrices": lambda m, d: d.MultivariateNormal(m.zeros(2), m.eye(2), m.eye(2)),
    "a vector": lambda m, d: d.MultivariateNormal(m.zeros(2), m.ones(2)),
    "scalar loc": lambda m, d: d.MultivariateNormal(m.tensor(0.0), m.eye(2)),
    "thin factor": lambda m, d: d.LowRankMultivariateNormal(m.zeros(2), m.ones(3, 1), m.ones(2)),
    "short diagonal": lambda m, d: d.LowRankMultivariateNormal(m.zeros(2), m.ones(2, 1), m.ones(3)),
    "one dimension": lambda m, d: d.LKJCholesky(1),
    "few degrees": lambda m, d: d.Wishart(0.5, m.eye(2)),
    "a list": lambda m, d: d.Normal([0.0], 1.0),
    "shapes": lambda m, d: d.Normal(m.zeros(2), m.ones(3)),
    "outside": lambda m, d: d.Uniform(0.0, 1.0).log_prob(m.tensor(2.0)),
    "negative draw": lambda m, d: d.Exponential(1.0).log_prob(m.tensor([1.0, -2.0])),
    "half a count": lambda m, d: d.Poisson(1.0).log_prob(m.tensor(0.5)),
    "a third outcome": lambda m, d: d.Categorical(m.ones(2)).log_prob(m.tensor(2)),
    "two ones": lambda m, d: d.OneHotCategorical(m.ones(2)).log_prob(m.ones(2)),
    "too many": lambda m, d: d.Multinomial(3, m.ones(2)).log_prob(m.tensor([2.0, 2.0])),
    "no simplex": lambda m, d: d.Dirichlet(m.ones(2)).log_prob(m.tensor([0.5, 0.6])),
    "event": lambda m, d: d.Dirichlet(m.ones(2)).log_prob(m.ones(3) / 3),
    "batch": lambda m, d: d.Normal(m.zeros(2), 1.0).log_prob(m.zeros(3)),
    "a number": lambda m, d: d.Normal(0.0, 1.0).log_prob(0.5),
    "NaN draw": lambda m, d: d.Normal(0.0, 1.0).log_prob(m.tensor(NAN)),
    "below": lambda m, d: d.Pareto(1.0, 1.0).log_prob(m.tensor(0.5)),
    "too independent": lambda m, d: d.Independent(d.Normal(m.zeros(2), 1.0), 2),
    "no transform": lambda m, d: d.TransformedDistribution(d.Normal(0.0, 1.0), 3),
    "a list of others": lambda m, d: d.TransformedDistribution(d.Normal(0.0, 1.0), [3]),
    "too few dimensions": lambda m, d: d.TransformedDistribution(
        d.Normal(0.0, 1.0), d.StickBreakingTransform()
    ),
    "mixture of no categorical": lambda m, d: d.MixtureSameFamily(
        d.Normal(0.0, 1.0), d.Normal(m.zeros(2), 1.0)
    ),
    "mixture of no distribution": lambda m, d: d.MixtureSameFamily(d.Categorical(m.ones(2)), 1.0),
    "mixture of three": lambda m, d: d.MixtureSameFamily(
        d.Categorical(m.ones(2)), d.Normal(m.zeros(3), 1.0)
    ),
    "mixtures of batches": lambda m, d: d.MixtureSameFamily(
        d.Categorical(m.ones(4, 2)), d.Normal(m.zeros(3, 2), 1.0)
    ),
    "mode": lambda m, d: d.LogisticNormal(m.zeros(2), 1.0).mode,
    "mean": lambda m, d: d.RelaxedBernoulli(m.tensor(1.0), 0.5).mean,
    "cdf": lambda m, d: d.Beta(1.0, 1.0).cdf(m.tensor(0.5)),
    "entropy": lambda m, d: d.Poisson(1.0).entropy(),
    "rsample": lambda m, d: d.Bernoulli(0.5).rsample(),
    "support of all": lambda m, d: d.Binomial(
        m.tensor([1, 2]), 0.5 * m.ones(2)
    ).enumerate_support(),
    "support of rows": lambda m, d: d.Independent(
        d.Bernoulli(0.5 * m.ones(2)), 1).enumerate_support(),
    "default": lambda m, d: d.Distribution.set_default_validate_args("yes"),
    "sample_n": lambda m, d: tuple(d.Normal(0.0, 1.0).sample_n(3).shape),
    "cache": lambda m, d: d.ExpTransform(cache_size=2),
    "shape of elements": lambda m, d: d.ReshapeTransform((2, 3), (4,)),
    "registry": lambda m, d: d.biject_to(d.constraints.lower_cholesky),
    "registered": lambda m, d: d.transform_to.register(3, lambda c: c),
    "independent constraint": lambda m, d: d.constraints.independent(d.constraints.real, -1),
    "dependent": lambda m, d: d.constraints.dependent.check(m.zeros(2)),
    "of a class": lambda m, d: d.Uniform.support.event_dim,
    "not static": lambda m, d: d.Independent.support.event_dim,
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_words(name):
    def program(m, say):
        try:
            say(REFUSED[name](m, m.distributions))
        except Exception as error:
            say(type(error).__name__, str(error).replace("funcgrad.", ""))

    same(program)


def test_subclasses_with_their_own_arguments():
    def program(m, say):
        d = m.distributions

        class Mine(d.Normal):
            def __init__(self, scale):
                super().__init__(0.0, scale)

        class Whole(d.Distribution):
            arg_constraints = {}

        class Bare(d.Distribution):
            def log_prob(self, value):
                self._validate_sample(value)
                return value

        for ask in (
            lambda: Mine(2.0).expand((2,)),
            lambda: Mine(2.0).log_prob(m.tensor(0.0)),
            lambda: Whole().expand((2,)),
            lambda: Whole().support,
            lambda: type(Bare().log_prob(m.zeros(()))).__name__,
            lambda: repr(d.Normal(0.0, 1.0)) + repr(d.Normal(m.zeros(2), 1.0)),
        ):
            try:
                say(ask())
            except Exception as error:
                say(type(error).__name__, error)

    def program_without_places(m, say):
        program(m, lambda *things: say(*(str(t).replace("funcgrad.", "") for t in things)))

    same(program_without_places)


def test_checks_that_are_switched_off():
    def program(m, say):
        d = m.distributions
        say(d.Normal(0.0, -1.0, validate_args=False))
        say(d.Uniform(0.0, 1.0, validate_args=False).log_prob(m.tensor(2.0)))
        d.Distribution.set_default_validate_args(False)
        try:
            say(d.Normal(0.0, -1.0).log_prob(m.tensor(0.0)))
        finally:
            d.Distribution.set_default_validate_args(True)
        say(d.Normal(0.0, 1.0, validate_args=False).expand((2,))._validate_args)

    same(program)
