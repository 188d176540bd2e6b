"""Incomplete gamma and beta functions, and the distribution functions that are made of them.

The derivative by the argument is a density; those by parameters are integrals (`parameters.py`),
from the third order on differences of these. An inverse is differentiated as such: with
F(a, x) = p, dx = (dp - ∂F/∂a da) / ∂F/∂x. Counts (`k` of Poisson and binomial probabilities, and
`n`) are rounded by SciPy: no derivative goes through them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.special as sp

from funcgrad.core.forms import Op
from funcgrad.core.forms.elementwise import Pointwise
from funcgrad.ops.arithmetic import (
    divide,
    floor,
    greater,
    negative,
    square,
    trunc,
    where,
)
from funcgrad.ops.transcendental import exp, log, log1p
from funcgrad.scipy.special import parameters
from funcgrad.scipy.special.define import special
from funcgrad.scipy.special.differences import above, by_differences, mild
from funcgrad.scipy.special.elementary import xlog1py, xlogy
from funcgrad.scipy.special.gamma_functions import betaln, gammaln, polygamma, psi, psi_gap

SHAPE = (0.4, 3.0)
UNIT = (0.1, 0.9)
COUNTS = [0, 1, 2, 4]

# ------------------------------------------------------------------------------------ gamma


def gamma_density(a: Any, x: Any) -> Any:
    """x^(a-1) exp(-x) / Γ(a)."""
    return exp(xlogy(a - 1.0, x) - x - gammaln(a))


def _next(function: Callable[..., Any], k: int) -> Any:
    """The next derivative by operand `k`, which is a shape."""
    return by_differences(function, k, lambda *xs: above(0.25 * xs[k], mild(*xs)))


_gamma_aa: Op = special(
    Pointwise(parameters.gamma_second, 2),
    _next(lambda *xs: _gamma_aa(*xs), 0),
    lambda _, a, x: gamma_density(a, x) * (square(log(x) - psi(a)) - polygamma(1, a)),
    ranges=[SHAPE, SHAPE],
)
gamma_a: Op = special(
    Pointwise(parameters.gamma_first, 2),
    lambda _, a, x: _gamma_aa(a, x),
    lambda _, a, x: gamma_density(a, x) * (log(x) - psi(a)),
    ranges=[SHAPE, SHAPE],
)
gammainc: Op = special(
    sp.gammainc,
    lambda _, a, x: gamma_a(a, x),
    lambda _, a, x: gamma_density(a, x),
    ranges=[SHAPE, SHAPE],
)
gammaincc: Op = special(
    sp.gammaincc,
    lambda _, a, x: negative(gamma_a(a, x)),
    lambda _, a, x: negative(gamma_density(a, x)),
    ranges=[SHAPE, SHAPE],
)


def gamma_shift(a: Any, x: Any) -> Any:
    """How x moves with a while P(a, x) stays."""
    return negative(divide(gamma_a(a, x), gamma_density(a, x)))


gammaincinv: Op = special(
    sp.gammaincinv,
    lambda x, a, _: gamma_shift(a, x),
    lambda x, a, _: divide(1.0, gamma_density(a, x)),
    ranges=[SHAPE, UNIT],
)
gammainccinv: Op = special(
    sp.gammainccinv,
    lambda x, a, _: gamma_shift(a, x),
    lambda x, a, _: divide(-1.0, gamma_density(a, x)),
    ranges=[SHAPE, UNIT],
)
# The gamma distribution P(b, a x): its rate a, its shape b.
gdtr: Op = special(
    sp.gdtr,
    lambda _, a, b, x: x * gamma_density(b, a * x),
    lambda _, a, b, x: gamma_a(b, a * x),
    lambda _, a, b, x: a * gamma_density(b, a * x),
    ranges=[SHAPE, SHAPE, SHAPE],
)
gdtrc: Op = special(
    sp.gdtrc,
    lambda _, a, b, x: negative(x * gamma_density(b, a * x)),
    lambda _, a, b, x: negative(gamma_a(b, a * x)),
    lambda _, a, b, x: negative(a * gamma_density(b, a * x)),
    ranges=[SHAPE, SHAPE, SHAPE],
)
gdtrix: Op = special(
    sp.gdtrix,
    lambda x, a, _, __: negative(divide(x, a)),
    lambda x, a, b, _: divide(gamma_shift(b, a * x), a),
    lambda x, a, b, _: divide(1.0, a * gamma_density(b, a * x)),
    ranges=[SHAPE, SHAPE, UNIT],
)
gdtria: Op = special(
    sp.gdtria,
    lambda a, _, b, x: divide(1.0, x * gamma_density(b, a * x)),
    lambda a, _, b, x: divide(gamma_shift(b, a * x), x),
    lambda a, _, __, x: negative(divide(a, x)),
    ranges=[UNIT, SHAPE, SHAPE],
)
gdtrib: Op = special(
    sp.gdtrib,
    lambda b, a, _, x: negative(divide(x * gamma_density(b, a * x), gamma_a(b, a * x))),
    lambda b, a, _, x: divide(1.0, gamma_a(b, a * x)),
    lambda b, a, _, x: negative(divide(a * gamma_density(b, a * x), gamma_a(b, a * x))),
    ranges=[SHAPE, UNIT, SHAPE],
)
# chi-square with v degrees of freedom: P(v/2, x/2)
chdtr: Op = special(
    sp.chdtr,
    lambda _, v, x: 0.5 * gamma_a(0.5 * v, 0.5 * x),
    lambda _, v, x: 0.5 * gamma_density(0.5 * v, 0.5 * x),
    ranges=[SHAPE, SHAPE],
)
chdtrc: Op = special(
    sp.chdtrc,
    lambda _, v, x: -0.5 * gamma_a(0.5 * v, 0.5 * x),
    lambda _, v, x: -0.5 * gamma_density(0.5 * v, 0.5 * x),
    ranges=[SHAPE, SHAPE],
)
chdtri: Op = special(
    sp.chdtri,
    lambda x, v, _: gamma_shift(0.5 * v, 0.5 * x),
    lambda x, v, _: divide(-2.0, gamma_density(0.5 * v, 0.5 * x)),
    ranges=[SHAPE, UNIT],
)
chdtriv: Op = special(
    sp.chdtriv,
    lambda v, _, x: divide(2.0, gamma_a(0.5 * v, 0.5 * x)),
    lambda v, _, x: divide(1.0, gamma_shift(0.5 * v, 0.5 * x)),
    ranges=[UNIT, SHAPE],
)
# Poisson: Q(k + 1, m)
pdtr: Op = special(
    sp.pdtr, 0, lambda _, k, m: negative(gamma_density(floor(k) + 1.0, m)), ranges=[COUNTS, SHAPE]
)
pdtrc: Op = special(
    sp.pdtrc, 0, lambda _, k, m: gamma_density(floor(k) + 1.0, m), ranges=[COUNTS, SHAPE]
)
pdtri: Op = special(
    sp.pdtri,
    0,
    lambda m, k, _: divide(-1.0, gamma_density(floor(k) + 1.0, m)),
    ranges=[COUNTS, UNIT],
)

# ------------------------------------------------------------------------------------- beta


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """x^(a-1) (1-x)^(b-1) / B(a, b)."""
    return exp(xlogy(a - 1.0, x) + xlog1py(b - 1.0, negative(x)) - betaln(a, b))


def _scores(a: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """The derivatives of the logarithm of the density by a and b."""
    return log(x) - psi_gap(a, b), log1p(negative(x)) - psi_gap(b, a)


def _second(name: str, i: int, j: int) -> Any:
    def slope(_: Any, a: Any, b: Any, x: Any) -> Any:
        scores = _scores(a, b, x)
        bend = polygamma(1, a + b)
        if i == j:
            bend = bend - polygamma(1, (a, b)[i])
        return beta_density(a, b, x) * (scores[i] * scores[j] + bend)

    function = Pointwise(getattr(parameters, name), 3)
    third = [_next(lambda *xs: op(*xs), k) for k in (0, 1)]
    op: Op = special(function, *third, slope, ranges=[SHAPE, SHAPE, UNIT])
    return op


_beta_aa: Op = _second("beta_first_first", 0, 0)
_beta_ab: Op = _second("beta_first_last", 0, 1)
_beta_bb: Op = _second("beta_last_last", 1, 1)
beta_a: Op = special(
    Pointwise(parameters.beta_first, 3),
    lambda _, a, b, x: _beta_aa(a, b, x),
    lambda _, a, b, x: _beta_ab(a, b, x),
    lambda _, a, b, x: beta_density(a, b, x) * _scores(a, b, x)[0],
    ranges=[SHAPE, SHAPE, UNIT],
)
beta_b: Op = special(
    Pointwise(parameters.beta_last, 3),
    lambda _, a, b, x: _beta_ab(a, b, x),
    lambda _, a, b, x: _beta_bb(a, b, x),
    lambda _, a, b, x: beta_density(a, b, x) * _scores(a, b, x)[1],
    ranges=[SHAPE, SHAPE, UNIT],
)
betainc: Op = special(
    sp.betainc,
    lambda _, a, b, x: beta_a(a, b, x),
    lambda _, a, b, x: beta_b(a, b, x),
    lambda _, a, b, x: beta_density(a, b, x),
    ranges=[SHAPE, SHAPE, UNIT],
)
betaincc: Op = special(
    sp.betaincc,
    lambda _, a, b, x: negative(beta_a(a, b, x)),
    lambda _, a, b, x: negative(beta_b(a, b, x)),
    lambda _, a, b, x: negative(beta_density(a, b, x)),
    ranges=[SHAPE, SHAPE, UNIT],
)


def beta_shift(slope: Any, a: Any, b: Any, x: Any) -> Any:
    """How x moves with a parameter while I(a, b, x) stays."""
    return negative(divide(slope(a, b, x), beta_density(a, b, x)))


betaincinv: Op = special(
    sp.betaincinv,
    lambda x, a, b, _: beta_shift(beta_a, a, b, x),
    lambda x, a, b, _: beta_shift(beta_b, a, b, x),
    lambda x, a, b, _: divide(1.0, beta_density(a, b, x)),
    ranges=[SHAPE, SHAPE, UNIT],
)
betainccinv: Op = special(
    sp.betainccinv,
    lambda x, a, b, _: beta_shift(beta_a, a, b, x),
    lambda x, a, b, _: beta_shift(beta_b, a, b, x),
    lambda x, a, b, _: divide(-1.0, beta_density(a, b, x)),
    ranges=[SHAPE, SHAPE, UNIT],
)
btdtria: Op = special(
    sp.btdtria,
    lambda a, _, b, x: divide(1.0, beta_a(a, b, x)),
    lambda a, _, b, x: negative(divide(beta_b(a, b, x), beta_a(a, b, x))),
    lambda a, _, b, x: negative(divide(beta_density(a, b, x), beta_a(a, b, x))),
    ranges=[UNIT, SHAPE, UNIT],
)
btdtrib: Op = special(
    sp.btdtrib,
    lambda b, a, _, x: negative(divide(beta_a(a, b, x), beta_b(a, b, x))),
    lambda b, a, _, x: divide(1.0, beta_b(a, b, x)),
    lambda b, a, _, x: negative(divide(beta_density(a, b, x), beta_b(a, b, x))),
    ranges=[SHAPE, UNIT, UNIT],
)


def _binomial_density(k: Any, n: Any, p: Any) -> Any:
    """The density by p; 0 of no successes and of no failures, whose probabilities are 0 and 1."""
    first, last = floor(k) + 1.0, trunc(n) - floor(k)
    there = greater(first, 0.0) & greater(last, 0.0)
    return where(there, beta_density(where(there, first, 1.0), where(there, last, 1.0), p), 0.0)


def _negative_binomial_density(k: Any, n: Any, p: Any) -> Any:
    return beta_density(trunc(n), trunc(k) + 1.0, p)


# Binomial I(1-p; n-k, k+1), negative binomial I(p; n, k+1)
bdtr: Op = special(
    sp.bdtr,
    0,
    0,
    lambda _, k, n, p: negative(_binomial_density(k, n, p)),
    ranges=[[0, 1, 2], [5, 6], UNIT],
)
bdtrc: Op = special(
    sp.bdtrc, 0, 0, lambda _, k, n, p: _binomial_density(k, n, p), ranges=[[0, 1, 2], [5, 6], UNIT]
)
bdtri: Op = special(
    sp.bdtri,
    0,
    0,
    lambda p, k, n, _: divide(-1.0, _binomial_density(k, n, p)),
    ranges=[[0, 1, 2], [5, 6], UNIT],
)
nbdtr: Op = special(
    sp.nbdtr,
    0,
    0,
    lambda _, k, n, p: _negative_binomial_density(k, n, p),
    ranges=[COUNTS, [2, 3], UNIT],
)
nbdtrc: Op = special(
    sp.nbdtrc,
    0,
    0,
    lambda _, k, n, p: negative(_negative_binomial_density(k, n, p)),
    ranges=[COUNTS, [2, 3], UNIT],
)
nbdtri: Op = special(
    sp.nbdtri,
    0,
    0,
    lambda p, k, n, _: divide(1.0, _negative_binomial_density(k, n, p)),
    ranges=[COUNTS, [2, 3], UNIT],
)
