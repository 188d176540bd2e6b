"""Draws: PyTorch's numbers for PyTorch's seeds, and derivatives of draws."""

import numpy as np
import pytest

from .distribution_cases import CASES, made, numbers, ours, theirs

pytestmark = pytest.mark.peers
# PyTorch takes its draws for singular ones, with a warning, and draws again
WISHART = "wishart"
RSAMPLED = [
    n for n in CASES
    if n not in {"bernoulli", "bernoulli of logits", "geometric", "geometric of logits",
                 "binomial", "binomial of logits", "negative binomial", "categorical",
                 "categorical of logits", "one hot", "multinomial", "poisson", "von mises", "lkj",
                 WISHART}
]  # fmt: skip


@pytest.fixture(autouse=True)
def _needs_pytorch():
    pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (7,), (3, 5)])
@pytest.mark.parametrize("name", [n for n in CASES if n != WISHART])
def test_draws_with_the_same_seed(name, shape, dtype):
    found = []
    for m in (ours, theirs):
        m.manual_seed(11)
        drawn = made(m, name, dtype)[0].sample(shape)
        assert not drawn.requires_grad
        found.append((drawn, m.rand(2)))
    (got, after), (expected, after_too) = found
    assert tuple(got.shape) == tuple(expected.shape)
    bound = 2e-5 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(numbers(got), numbers(expected), bound, bound)
    assert after.tolist() == after_too.tolist()  # what comes next


@pytest.mark.parametrize("name", RSAMPLED)
def test_derivatives_of_draws(name):
    """PyTorch's derivatives of gamma and Dirichlet draws are approximations of three digits."""
    found = []
    for m in (ours, theirs):
        m.manual_seed(5)
        d, p, _ = made(m, name, grad=True)
        y = d.rsample((4,))
        weights = m.linspace(0.5, 1.5, y.numel(), dtype=m.float64).reshape(y.shape)
        found.append(m.autograd.grad((y * weights).sum(), list(p.values())))
    for got, expected in zip(*found, strict=True):
        np.testing.assert_allclose(numbers(got), numbers(expected), 2e-3, 1e-9)


def quantile_moves(a, x, step=1e-5):
    """How the quantile moves with the shape, by differences."""
    import scipy.special as sp

    u = sp.gammainc(a, x)
    return (sp.gammaincinv(a + step, u) - sp.gammaincinv(a - step, u)) / (2 * step)


@pytest.mark.parametrize("a", [0.3, 1.0, 4.5, 30.0])
def test_gamma_draws_move_with_their_quantile(a):
    ours.manual_seed(2)
    shape = ours.tensor(a, dtype=ours.float64, requires_grad=True)
    x = ours.distributions.Gamma(shape, 1.0).rsample((50,))
    for value in x[:10]:
        (g,) = ours.autograd.grad(value, shape, retain_graph=True)
        assert g.item() == pytest.approx(quantile_moves(a, value.item()), rel=1e-5)


def test_second_derivatives_of_gamma_draws():
    """d²/da² of E[x²] = a² + a is 2: by both orders of the implicit derivative."""
    ours.manual_seed(0)
    a = ours.tensor(3.0, dtype=ours.float64, requires_grad=True)
    x = ours.distributions.Gamma(a, 1.0).rsample((4000,))
    (first,) = ours.autograd.grad((x**2).mean(), a, create_graph=True)
    (second,) = ours.autograd.grad(first, a)
    assert first.item() == pytest.approx(7.0, rel=0.05)
    assert second.item() == pytest.approx(2.0, rel=0.2)


def test_second_derivatives_of_beta_draws():
    """E[x] = a / (a + b): its first two derivatives by a."""
    ours.manual_seed(0)
    a, b = ours.tensor(2.0, dtype=ours.float64, requires_grad=True), 3.0
    x = ours.distributions.Beta(a, b).rsample((4000,))
    (first,) = ours.autograd.grad(x.mean(), a, create_graph=True)
    (second,) = ours.autograd.grad(first, a)
    assert first.item() == pytest.approx(b / 25, rel=0.05)
    assert second.item() == pytest.approx(-2 * b / 125, rel=0.2)


@pytest.mark.parametrize("name", ["gamma", "beta", "student", "von mises", "weibull", "gumbel"])
def test_draws_have_the_distribution(name):
    """Kolmogorov and Smirnov: uniform numbers come out of the distribution function."""
    stats = pytest.importorskip("scipy.stats")
    ours.manual_seed(1)
    x = numbers({
        "gamma": lambda d: d.Gamma(0.7, 2.0), "beta": lambda d: d.Beta(0.5, 2.5),
        "student": lambda d: d.StudentT(3.0), "von mises": lambda d: d.VonMises(0.5, 2.0),
        "weibull": lambda d: d.Weibull(1.5, 0.8), "gumbel": lambda d: d.Gumbel(0.5, 2.0),
    }[name](ours.distributions).sample((2000,)))  # fmt: skip
    law = {
        "gamma": stats.gamma(0.7, scale=0.5), "beta": stats.beta(0.5, 2.5),
        "student": stats.t(3.0), "von mises": stats.vonmises(2.0, loc=0.5),
        "weibull": stats.weibull_min(0.8, scale=1.5), "gumbel": stats.gumbel_r(0.5, 2.0),
    }[name]  # fmt: skip
    if name == "von mises":
        x = x[np.abs(x) < np.pi]
    assert stats.kstest(x.astype(float), law.cdf).pvalue > 1e-3
