"""Compiled steps with distributions whose arguments are checked: the values, and the errors."""

import warnings

import pytest

import funcgrad.torch as torch

D = torch.distributions
P = torch.tensor([0.5, 1.5, 2.0])
PROGRAMS = {
    "normal": (lambda p, x: D.Normal(p, p).log_prob(x), torch.tensor([0.1, 0.2, 0.3])),
    "drawn": (lambda p, x: D.Normal(p, p).rsample() * x, P),
    "categories": (lambda p, x: D.Categorical(p).log_prob(x), torch.tensor([0, 2])),
    "bernoulli": (lambda p, x: D.Bernoulli(logits=p).log_prob(x), torch.tensor([0.0, 1.0, 1.0])),
    "uniform": (lambda p, x: D.Uniform(p - 1, p + 1).log_prob(x), torch.tensor([0.2, 0.6, 1.5])),
    "divergence": (lambda p, x: D.kl_divergence(D.Normal(p, p), D.Normal(x, p)), P * 2),
    "matrix": (
        lambda p, x: D.MultivariateNormal(p, torch.eye(3) * p).log_prob(x),
        torch.tensor([0.0, 1.0, 3.0]),
    ),
    "mixture": (
        lambda p, x: D.MixtureSameFamily(D.Categorical(p), D.Normal(p, p)).log_prob(x),
        torch.tensor([0.2, 0.6, 0.5]),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_compiled_and_gives_what_it_gives_eagerly(name):
    function, x = PROGRAMS[name]
    step = torch.compile(lambda p, x: function(p, x).sum())
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a call that runs eagerly would say so
        for call in (step, step, lambda p, x: function(p, x).sum()):
            torch.manual_seed(0)
            p = P.clone().requires_grad_()
            y = call(p, x)
            y.backward()
            found.append((y.detach(), p.grad))
    for y, g in found[:2]:
        torch.testing.assert_close(y, found[2][0])
        torch.testing.assert_close(g, found[2][1])


@pytest.mark.filterwarnings("ignore:torch.compile")
def test_what_a_later_call_is_given_is_checked():
    step = torch.compile(lambda p, x: D.Normal(0.0, p).log_prob(x).sum())
    one = torch.ones(2)
    first = step(torch.tensor(1.0), one)
    with pytest.raises(ValueError, match="Expected parameter scale"):
        step(torch.tensor(-1.0), one)
    with pytest.raises(ValueError, match="within the support"):
        step(torch.tensor(1.0), torch.tensor([1.0, float("nan")]))
    assert step(torch.tensor(1.0), one).item() == first.item()


def test_matrices_that_are_not_definite_are_refused():
    with pytest.raises(ValueError, match="PositiveDefinite"):
        D.MultivariateNormal(torch.zeros(2), -torch.eye(2))
    constraint = D.constraints.positive_definite
    both = torch.stack([torch.eye(2), -torch.eye(2)])
    assert constraint.check(both).tolist() == [True, False]
