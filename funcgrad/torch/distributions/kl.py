"""Kullback-Leibler divergences KL(p ‖ q), by the classes of both distributions."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import funcgrad.torch as torch
from funcgrad.errors import outside
from funcgrad.torch.distributions.bernoulli import Bernoulli
from funcgrad.torch.distributions.beta import Beta
from funcgrad.torch.distributions.binomial import Binomial
from funcgrad.torch.distributions.categorical import Categorical
from funcgrad.torch.distributions.cauchy import Cauchy
from funcgrad.torch.distributions.continuous_bernoulli import ContinuousBernoulli
from funcgrad.torch.distributions.dirichlet import Dirichlet
from funcgrad.torch.distributions.distribution import Distribution
from funcgrad.torch.distributions.exp_family import ExponentialFamily
from funcgrad.torch.distributions.exponential import Exponential
from funcgrad.torch.distributions.gamma import Gamma
from funcgrad.torch.distributions.geometric import Geometric
from funcgrad.torch.distributions.gumbel import Gumbel
from funcgrad.torch.distributions.half_normal import HalfNormal
from funcgrad.torch.distributions.independent import Independent
from funcgrad.torch.distributions.laplace import Laplace
from funcgrad.torch.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from funcgrad.torch.distributions.multivariate_normal import (
    MultivariateNormal,
    batch_mahalanobis,
    log_diagonal,
)
from funcgrad.torch.distributions.normal import Normal
from funcgrad.torch.distributions.one_hot_categorical import OneHotCategorical
from funcgrad.torch.distributions.pareto import Pareto
from funcgrad.torch.distributions.poisson import Poisson
from funcgrad.torch.distributions.transformed_distribution import TransformedDistribution
from funcgrad.torch.distributions.uniform import Uniform
from funcgrad.torch.distributions.utils import EULER, sum_rightmost
from funcgrad.torch.nn.functional import softplus

__all__ = ["kl_divergence", "register_kl"]

Rule = Callable[[Any, Any], Any]
RULES: dict[tuple[type, type], Rule] = {}
CHOSEN: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Rule], Rule]:
    """A decorator: the function is the divergence of two distributions of these classes.

    Of several functions that suit two classes the one for the nearest base classes is taken; a
    RuntimeWarning says when that of `p` and that of `q` ask for different ones.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> d = torch.distributions
    >>> class Mine(d.Normal):
    ...     pass
    >>> @d.register_kl(Mine, Mine)
    ... def divergence(p, q):
    ...     return torch.zeros(())
    >>> d.kl_divergence(Mine(0.0, 1.0), Mine(1.0, 1.0))
    tensor(0.)
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type) or not issubclass(kind, Distribution):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def decorator(function: Rule) -> Rule:
        RULES[type_p, type_q] = function
        CHOSEN.clear()
        return function

    return decorator


def _before(one: tuple[type, ...], other: tuple[type, ...]) -> int:
    """The order of pairs of classes: subclasses first, the first class counts first."""
    if one == other:
        return 0
    for x, y in zip(one, other, strict=True):
        if not issubclass(x, y):
            return 1
        if x is not y:
            break
    return -1


def _rule(type_p: type, type_q: type) -> Any:
    found = [m for m in RULES if issubclass(type_p, m[0]) and issubclass(type_q, m[1])]
    if not found:
        return None
    key = functools.cmp_to_key(_before)
    left = min(found, key=key)
    right = min((m[::-1] for m in found), key=key)[::-1]
    if RULES[left] is not RULES[right]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
            f"register_kl({left[0].__name__}, {right[1].__name__})",
            RuntimeWarning,
            stacklevel=outside(),
        )
    return RULES[left]


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """KL(p ‖ q) = E[log p(x) - log q(x)] for x of `p`, one for each element of the batch.

    Differentiable in the parameters of both. For which classes there is one, see the source or
    `register_kl`, which adds one.

    Raises
    ------
    NotImplementedError
        There is none for these classes.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> d = torch.distributions
    >>> d.kl_divergence(d.Normal(0.0, 1.0), d.Normal(torch.tensor([0.0, 2.0]), 1.0))
    tensor([0., 2.])
    """
    pair = type(p), type(q)
    if pair not in CHOSEN:
        CHOSEN[pair] = _rule(*pair)
    rule = CHOSEN[pair]
    if rule is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type "
            f"{q.__class__.__name__}"
        )
    return rule(p, q)


# -------------------------------------------------------------------------- of the same class


@register_kl(Bernoulli, Bernoulli)
def _bernoulli_bernoulli(p: Any, q: Any) -> Any:
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = torch.where(p.probs == 0, 0.0, torch.where(q.probs == 0, math.inf, one))
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zero = torch.where(p.probs == 1, 0.0, torch.where(q.probs == 1, math.inf, zero))
    return one + zero


@register_kl(Beta, Beta)
def _beta_beta(p: Any, q: Any) -> Any:
    p1, p0, q1, q0 = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    all_p, all_q = p1 + p0, q1 + q0
    normalizers = (q1.lgamma() + q0.lgamma() + all_p.lgamma()) - (
        p1.lgamma() + p0.lgamma() + all_q.lgamma()
    )
    means = (p1 - q1) * torch.digamma(p1) + (p0 - q0) * torch.digamma(p0)
    return normalizers + means + (all_q - all_p) * torch.digamma(all_p)


@register_kl(Binomial, Binomial)
def _binomial_binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    one = p.probs * (p.logits - q.logits)
    found = p.total_count * (one + (-p.probs).log1p() - (-q.probs).log1p())
    return torch.where(p.total_count > q.total_count, math.inf, found)


@register_kl(Categorical, Categorical)
def _categorical_categorical(p: Any, q: Any) -> Any:
    terms = p.probs * (p.logits - q.logits)
    terms = torch.where(p.probs == 0, 0.0, torch.where(q.probs == 0, math.inf, terms))
    return terms.sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli_continuous_bernoulli(p: Any, q: Any) -> Any:
    own = p._cont_bern_log_norm() + torch.log1p(-p.probs)
    other = -q._cont_bern_log_norm() - torch.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + own + other


@register_kl(Dirichlet, Dirichlet)
def _dirichlet_dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    whole = a.sum(-1)
    normalizers = whole.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return normalizers + ((a - b) * (a.digamma() - whole.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential_exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _family_family(p: Any, q: Any) -> Any:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot"
            "                             be computed using Bregman divergences"
        )
    return p._divergence(q)


@register_kl(Gamma, Gamma)
def _gamma_gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    normalizers = b * (p.rate / q.rate).log() + torch.lgamma(b) - torch.lgamma(a)
    return normalizers + (a - b) * torch.digamma(a) + (q.rate - p.rate) * (a / p.rate)


@register_kl(Gumbel, Gumbel)
def _gumbel_gumbel(p: Any, q: Any) -> Any:
    scale, loc, own = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    first = -scale.log() - loc + own
    return first + scale * EULER + torch.exp(loc + (1 + scale).lgamma() - own) - (1 + EULER)


@register_kl(Geometric, Geometric)
def _geometric_geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal_half_normal(p: Any, q: Any) -> Any:
    return _normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace_laplace(p: Any, q: Any) -> Any:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * torch.exp(-distance / p.scale) - 1


@register_kl(Normal, Normal)
def _normal_normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_one_hot(p: Any, q: Any) -> Any:
    return _categorical_categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _pareto_pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return torch.where(p.scale < q.scale, math.inf, found)


@register_kl(Poisson, Poisson)
def _poisson_poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed_transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _uniform_uniform(p: Any, q: Any) -> Any:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return torch.where((q.low > p.low) | (q.high < p.high), math.inf, found)


@register_kl(Independent, Independent)
def _independent_independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Cauchy, Cauchy)
def _cauchy_cauchy(p: Any, q: Any) -> Any:
    sums = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return sums - (4 * p.scale * q.scale).log()


# ----------------------------------------------------------------------------- normal vectors


def _check_events(p: Any, q: Any, what: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two {what} with                          different event "
            "shapes cannot be computed"
        )


def _squares(matrices: Any) -> Any:
    """The sums of the squares of the elements of matrices."""
    return matrices.pow(2).sum((-2, -1))


def _solved(factor: Any, matrix: Any) -> Any:
    batch = torch.broadcast_shapes(factor.shape[:-2], matrix.shape[:-2])
    wide = (factor.expand((*batch, -1, -1)), matrix.expand((*batch, -1, -1)))
    return torch.linalg.solve_triangular(*wide, upper=False)


@register_kl(MultivariateNormal, MultivariateNormal)
def _normals(p: Any, q: Any) -> Any:
    _check_events(p, q, "Multivariate Normals")
    own, other = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    spread = _squares(_solved(other, own)) + batch_mahalanobis(other, q.loc - p.loc)
    return log_diagonal(other) - log_diagonal(own) + 0.5 * (spread - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_ranks(p: Any, q: Any) -> Any:
    _check_events(p, q, "Low Rank Multivariate Normals")
    own, other = p._unbroadcasted_cov_diag, q._unbroadcasted_cov_diag
    factor = p._unbroadcasted_cov_factor
    a = _inner(q)
    trace = (own / other).sum(-1) + _squares(factor * other.rsqrt().unsqueeze(-1))
    less = _squares(a * own.sqrt().unsqueeze(-2)) + _squares(a.matmul(factor))
    spread = trace - less + q._distance(q.loc - p.loc)
    return 0.5 * (q._log_det() - p._log_det() + spread - p.event_shape[0])


def _inner(q: Any) -> Any:
    """What the thin factor takes from the inverse of the diagonal."""
    scaled = q._unbroadcasted_cov_factor.mT / q._unbroadcasted_cov_diag.unsqueeze(-2)
    return torch.linalg.solve_triangular(q._capacitance_tril, scaled, upper=False)


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _normal_low_rank(p: Any, q: Any) -> Any:
    _check_events(p, q, "(Low Rank) Multivariate Normals")
    factor = p._unbroadcasted_scale_tril
    scaled = factor * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)
    trace = _squares(scaled) - _squares(_inner(q).matmul(factor))
    spread = trace + q._distance(q.loc - p.loc)
    return 0.5 * (q._log_det() - 2 * log_diagonal(factor) + spread - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_normal(p: Any, q: Any) -> Any:
    _check_events(p, q, "(Low Rank) Multivariate Normals")
    other = q._unbroadcasted_scale_tril
    diagonal = torch.diag_embed(p._unbroadcasted_cov_diag.sqrt())
    trace = _squares(_solved(other, p._unbroadcasted_cov_factor))
    trace = trace + _squares(_solved(other, diagonal))
    spread = trace + batch_mahalanobis(other, q.loc - p.loc)
    return 0.5 * (2 * log_diagonal(other) - p._log_det() + spread - p.event_shape[0])
