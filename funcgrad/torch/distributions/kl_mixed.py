"""Divergences between distributions of different classes; see `kl`.

Many are the mean of -log q under `p`, less the entropy of `p`.
"""

from __future__ import annotations

import math
from typing import Any

import funcgrad.torch as torch
from funcgrad.torch.distributions.bernoulli import Bernoulli
from funcgrad.torch.distributions.beta import Beta
from funcgrad.torch.distributions.binomial import Binomial
from funcgrad.torch.distributions.continuous_bernoulli import ContinuousBernoulli
from funcgrad.torch.distributions.exponential import Exponential
from funcgrad.torch.distributions.gamma import Gamma
from funcgrad.torch.distributions.gumbel import Gumbel
from funcgrad.torch.distributions.kl import register_kl
from funcgrad.torch.distributions.laplace import Laplace
from funcgrad.torch.distributions.normal import Normal
from funcgrad.torch.distributions.pareto import Pareto
from funcgrad.torch.distributions.poisson import Poisson
from funcgrad.torch.distributions.uniform import Uniform
from funcgrad.torch.distributions.utils import EULER

# `p` draws what `q` cannot: the divergence is infinite. The parameter gives shape and dtype.
HALF_LINE = (Beta, ContinuousBernoulli, Pareto, Uniform)
LINE = (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
INFINITE: tuple[tuple[type, str, tuple[type, ...]], ...] = (
    (Beta, "concentration1", (Pareto,)),
    (ContinuousBernoulli, "probs", (Pareto,)),
    (Exponential, "rate", HALF_LINE),
    (Gamma, "concentration", HALF_LINE),
    (Gumbel, "loc", LINE),
    (Laplace, "loc", LINE),
    (Normal, "loc", LINE),
    (Pareto, "scale", (Beta, ContinuousBernoulli, Uniform)),
    (Poisson, "rate", (Bernoulli, Binomial)),
)


def _register_infinite(kind: type, name: str, others: tuple[type, ...]) -> None:
    def infinite(p: Any, q: Any) -> Any:
        return torch.full_like(getattr(p, name), math.inf)

    for other in others:
        register_kl(kind, other)(infinite)


for row in INFINITE:
    _register_infinite(*row)


def _x_log_x(x: Any) -> Any:
    return torch.xlogy(x, x)


def _mean_log(p: Any) -> Any:
    """The mean of log x under a uniform distribution."""
    width = p.high - p.low
    return (_x_log_x(p.high) - _x_log_x(p.low) - width) / width


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Any:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
@register_kl(Uniform, ContinuousBernoulli)
def _to_continuous_bernoulli(p: Any, q: Any) -> Any:
    found = (
        -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()
    )  # fmt: skip
    if isinstance(p, Beta):
        return found
    return torch.where((p.high > 1.0) | (p.low < 0.0), math.inf, found)


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
def _to_exponential(p: Any, q: Any) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _beta_gamma(p: Any, q: Any) -> Any:
    a, total = p.concentration1, p.concentration1 + p.concentration0
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    logs = (q.concentration - 1) * (a.digamma() - total.digamma())
    return -p.entropy() + normalizer - logs + q.rate * a / total


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
def _to_normal(p: Any, q: Any) -> Any:
    variance = q.scale.pow(2)
    distance = p.variance + (p.mean - q.loc).pow(2)
    return -p.entropy() + 0.5 * (variance * 2 * math.pi).log() + 0.5 * distance / variance


@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def _unit_interval_uniform(p: Any, q: Any) -> Any:
    found = -p.entropy() + (q.high - q.low).log()
    return torch.where((q.low > 0.0) | (q.high < 1.0), math.inf, found)


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    first = -q.concentration * torch.log(ratio) + ratio + q.concentration.lgamma()
    return first + q.concentration * EULER - (1 + EULER)


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Any, q: Any) -> Any:
    product, ratio = p.rate * q.scale, q.loc / q.scale
    first = product.log() - 1 - ratio
    return first + torch.exp(ratio) * product / (product + 1) + product.reciprocal()


@register_kl(Exponential, Normal)
def _exponential_normal(p: Any, q: Any) -> Any:
    variance, square = q.scale.pow(2), p.rate.pow(2)
    distance = square.reciprocal() - q.loc / p.rate + q.loc.pow(2) * 0.5
    return 0.5 * torch.log(square * variance * 2 * math.pi) - 1 + distance / variance


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Any, q: Any) -> Any:
    a, product, ratio = p.concentration, p.rate * q.scale, q.loc / q.scale
    first = (a - 1) * a.digamma() - a.lgamma() - a + product.log() + a / product
    return first + torch.exp(ratio) * (1 + product.reciprocal()).pow(-a) - ratio


@register_kl(Gamma, Normal)
def _gamma_normal(p: Any, q: Any) -> Any:
    a, variance, square = p.concentration, q.scale.pow(2), p.rate.pow(2)
    first = 0.5 * torch.log(square * variance * 2 * math.pi) - a - a.lgamma()
    distance = 0.5 * (a.pow(2) + a) / square - q.loc * a / p.rate + 0.5 * q.loc.pow(2)
    return first + (a - 1) * a.digamma() + distance / variance


@register_kl(Gumbel, Normal)
def _gumbel_normal(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    spread = (math.pi * ratio * 0.5).pow(2) / 3
    distance = ((p.loc + p.scale * EULER - q.loc) / q.scale).pow(2) * 0.5
    return -(ratio / math.sqrt(2 * math.pi)).log() + spread + distance - (EULER + 1)


@register_kl(Laplace, Normal)
def _laplace_normal(p: Any, q: Any) -> Any:
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    distance = 0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)
    return -0.5 * torch.log(2 * ratio / math.pi) + ratio + distance / variance - 1


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Any, q: Any) -> Any:
    mean, ratio, loc = p.loc / q.scale, (p.scale / q.scale).pow(2), q.loc / q.scale
    found = -ratio.log() * 0.5 + mean - loc + torch.exp(-mean + 0.5 * ratio + loc)
    return found - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Any:
    distance = p.loc - q.loc
    z = distance / p.scale
    near = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * z.pow(2))
    far = distance * torch.erf(math.sqrt(0.5) * z)
    first = -torch.log(p.scale / q.scale) + (near + far) / q.scale
    return first - 0.5 * (1 + math.log(0.5 * math.pi))


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Any, q: Any) -> Any:
    product = p.scale * q.rate
    mean = p.alpha * product / (p.alpha - 1)
    found = (p.alpha / product).log() - p.alpha.reciprocal() + mean - 1
    return torch.where(p.alpha <= 1, math.inf, found)


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Any, q: Any) -> Any:
    log = p.scale.log() + p.alpha.reciprocal()
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    mean = q.rate * p.alpha * p.scale / (p.alpha - 1)
    found = p.alpha.log() - log + normalizer + (1 - q.concentration) * log + mean - 1
    return torch.where(p.alpha <= 1, math.inf, found)


@register_kl(Pareto, Normal)
def _pareto_normal(p: Any, q: Any) -> Any:
    common = p.scale / (p.alpha - 1)
    first = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log() - p.alpha.reciprocal()
    distance = p.alpha * common.pow(2) / (p.alpha - 2) + (p.alpha * common - q.loc).pow(2)
    found = first + distance / (2 * q.scale.pow(2)) - 1
    return torch.where(p.alpha <= 2, math.inf, found)


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Any:
    a, b, width = q.concentration1, q.concentration0, p.high - p.low
    above = (_x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width) / width
    normalizer = a.lgamma() + b.lgamma() - (a + b).lgamma()
    found = (b - 1) * above + normalizer - torch.log(width) - (a - 1) * _mean_log(p)
    return torch.where((p.high > 1.0) | (p.low < 0.0), math.inf, found)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Any, q: Any) -> Any:
    found = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return torch.where(p.low < 0.0, math.inf, found)


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Any, q: Any) -> Any:
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    logs = (1 - q.concentration) * _mean_log(p)
    found = -(p.high - p.low).log() + normalizer + logs + q.rate * (p.high + p.low) / 2
    return torch.where(p.low < 0.0, math.inf, found)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Any, q: Any) -> Any:
    common = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return common.log() + 0.5 * (high + low) - common * (torch.exp(-high) - torch.exp(-low))


@register_kl(Uniform, Normal)
def _uniform_normal(p: Any, q: Any) -> Any:
    width = p.high - p.low
    distance = width.pow(2) / 12 + ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return (math.sqrt(math.pi * 2) * q.scale / width).log() + 0.5 * distance / q.scale.pow(2)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Any:
    first = (q.alpha * q.scale.pow(q.alpha) * (p.high - p.low)).log()
    found = _mean_log(p) * (q.alpha + 1) - first
    return torch.where(p.low < q.scale, math.inf, found)
