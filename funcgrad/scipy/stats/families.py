"""The continuous distributions of `scipy.stats`: one row for each, in standard form.

A row has the logarithms and integrals of which the derivatives of all methods are made, as
functions of the standardised ``y = (x - loc) / scale`` and the shape parameters. Values of methods
are SciPy's (`distributions`). What is not stated is derived: pdf = exp(logpdf), logcdf = log(cdf),
quantiles by implicit differentiation. Logarithms of tails are stated where the tails underflow.
"""

from __future__ import annotations

import math

from funcgrad.ops.arithmetic import (
    absolute,
    greater,
    greater_equal,
    isfinite,
    less,
    less_equal,
    logical_and,
    maximum,
    minimum,
    power,
    sqrt,
    square,
    where,
)
from funcgrad.ops.transcendental import arctan2, cos, exp, expm1, log, log1p
from funcgrad.scipy.special.bessel import i0e
from funcgrad.scipy.special.elementary import cosm1, expit, log_expit, xlog1py, xlogy
from funcgrad.scipy.special.error import erf, log_ndtr, ndtr, owens_t
from funcgrad.scipy.special.gamma_functions import betaln, gammaln, psi
from funcgrad.scipy.special.incomplete import betainc, betaincc, chdtr, chdtrc, gammainc, gammaincc
from funcgrad.scipy.special.sampling import fdtr, fdtrc, stdtr
from funcgrad.scipy.stats.family import (
    ANY,
    HALF,
    INF,
    LOG_ROOT_2PI,
    POSITIVE,
    UNIT,
    Family,
)
from funcgrad.scipy.stats.standard_forms import (
    _GUMBEL_L,
    _WEIBULL,
    _f_logpdf,
    _genextreme,
    _gennorm_logpdf,
    _gennorm_sf,
    _invgauss_logcdf,
    _invgauss_logsf,
    _laplace_logsf,
    _laplace_sf,
    _log1p_over,
    _log_mass,
    _mirrored,
    _normal,
    _power_tail,
    _powered,
    _symmetric,
    _t_logpdf,
    _triang_cdf,
    _triang_logpdf,
    _triang_sf,
    _vonmises_cdf,
    _weibull,
)

__all__ = ["FAMILIES"]

EULER = 0.5772156649015329

FAMILIES: dict[str, Family] = {
    # -------------------------------------------------------------------- on the whole line
    "norm": Family(
        _normal,
        **_symmetric(lambda y: ndtr(-y), lambda y: log_ndtr(-y)),
        mean=lambda: 0.0,
        var=lambda: 1.0,
        entropy=lambda: LOG_ROOT_2PI + 0.5,
    ),
    "laplace": Family(
        lambda y: -absolute(y) - math.log(2),
        **_symmetric(_laplace_sf, _laplace_logsf),
        mean=lambda: 0.0,
        var=lambda: 2.0,
        entropy=lambda: math.log(2) + 1.0,
    ),
    "logistic": Family(
        lambda y: -absolute(y) - 2.0 * log1p(exp(-absolute(y))),
        **_symmetric(lambda y: expit(-y), lambda y: log_expit(-y)),
        mean=lambda: 0.0,
        var=lambda: math.pi**2 / 3,
        entropy=lambda: 2.0,
    ),
    "cauchy": Family(
        lambda y: -math.log(math.pi) - log1p(square(y)),
        **_symmetric(lambda y: arctan2(1.0, y) / math.pi),
        entropy=lambda: math.log(4 * math.pi),
    ),
    "t": Family(_t_logpdf, **_symmetric(lambda y, df: stdtr(df, -y)), shapes=(3.5,)),
    "gennorm": Family(
        _gennorm_logpdf,
        **_symmetric(lambda y, b: _gennorm_sf(y, b)),
        mean=lambda b: 0.0 * b,
        var=lambda b: exp(gammaln(3.0 / b) - gammaln(1.0 / b)),
        entropy=lambda b: 1.0 / b - log(0.5 * b) + gammaln(1.0 / b),
        shapes=(1.5,),
    ),
    "gumbel_r": Family(
        lambda y: -y - exp(-y),
        **_mirrored(_GUMBEL_L),
        mean=lambda: EULER,
        var=lambda: math.pi**2 / 6,
        entropy=lambda: EULER + 1.0,
    ),
    "gumbel_l": Family(
        lambda y: y - exp(y),
        **_GUMBEL_L,
        mean=lambda: -EULER,
        var=lambda: math.pi**2 / 6,
        entropy=lambda: EULER + 1.0,
    ),
    "skewnorm": Family(
        lambda y, a: math.log(2) + _normal(y) + log_ndtr(a * y),
        cdf=lambda y, a: ndtr(y) - 2.0 * owens_t(y, a),
        sf=lambda y, a: ndtr(-y) + 2.0 * owens_t(y, a),
        mean=lambda a: math.sqrt(2 / math.pi) * a / sqrt(1.0 + square(a)),
        var=lambda a: 1.0 - 2 / math.pi * square(a) / (1.0 + square(a)),
        shapes=(1.5,),
        **ANY,
    ),
    "vonmises": Family(
        lambda y, k: k * cosm1(y) - math.log(2 * math.pi) - log(i0e(k)),
        **_symmetric(lambda y, k: _vonmises_cdf(-y, k)),
        allowed=lambda k: greater_equal(k, 0),
        shapes=(1.5,),
    ),
    "wrapcauchy": Family(
        lambda y, c: log1p(-square(c)) - math.log(2 * math.pi) - log1p(c * (c - 2.0 * cos(y))),
        support=(0.0, 2 * math.pi),
        allowed=lambda c: logical_and(greater(c, 0), less(c, 1)),
        shapes=(0.4,),
    ),
    # ------------------------------------------------------------------------- on a half line
    "expon": Family(
        lambda y: -y,
        **_power_tail(lambda y: -y),
        **HALF,
        mean=lambda: 1.0,
        var=lambda: 1.0,
        entropy=lambda: 1.0,
    ),
    "gamma": Family(
        lambda y, a: xlogy(a - 1.0, y) - y - gammaln(a),
        cdf=lambda y, a: gammainc(a, y),
        sf=lambda y, a: gammaincc(a, y),
        **HALF,
        mean=lambda a: a,
        var=lambda a: a,
        entropy=lambda a: psi(a) * (1.0 - a) + a + gammaln(a),
        shapes=(2.5,),
    ),
    "chi2": Family(
        lambda y, k: xlogy(0.5 * k - 1.0, y) - 0.5 * y - gammaln(0.5 * k) - 0.5 * math.log(2) * k,
        cdf=lambda y, k: chdtr(k, y),
        sf=lambda y, k: chdtrc(k, y),
        **HALF,
        mean=lambda k: k,
        var=lambda k: 2.0 * k,
        entropy=lambda k: 0.5 * k + math.log(2) + gammaln(0.5 * k) + (1.0 - 0.5 * k) * psi(0.5 * k),
        shapes=(3.5,),
    ),
    "chi": Family(
        lambda y, k: (
            math.log(2)
            - 0.5 * math.log(2) * k
            - gammaln(0.5 * k)
            + xlogy(k - 1.0, y)
            - 0.5 * square(y)
        ),
        cdf=lambda y, k: gammainc(0.5 * k, 0.5 * square(y)),
        sf=lambda y, k: gammaincc(0.5 * k, 0.5 * square(y)),
        **HALF,
        shapes=(3.5,),
    ),
    "f": Family(
        _f_logpdf,
        cdf=lambda y, n, d: fdtr(n, d, y),
        sf=lambda y, n, d: fdtrc(n, d, y),
        **HALF,
        shapes=(3.5, 6.5),
    ),
    "lognorm": Family(
        lambda y, s: -0.5 * square(log(y) / s) - log(s * y) - LOG_ROOT_2PI,
        cdf=lambda y, s: ndtr(log(y) / s),
        sf=lambda y, s: ndtr(-log(y) / s),
        logcdf=lambda y, s: log_ndtr(log(y) / s),
        logsf=lambda y, s: log_ndtr(-log(y) / s),
        **POSITIVE,
        mean=lambda s: exp(0.5 * square(s)),
        var=lambda s: expm1(square(s)) * exp(square(s)),
        entropy=lambda s: 0.5 + LOG_ROOT_2PI + log(s),
        shapes=(0.7,),
    ),
    "weibull_min": Family(
        _weibull,
        **_WEIBULL,
        **HALF,
        mean=lambda c: exp(gammaln(1.0 + 1.0 / c)),
        var=lambda c: exp(gammaln(1.0 + 2.0 / c)) - exp(2.0 * gammaln(1.0 + 1.0 / c)),
        entropy=lambda c: -EULER / c - log(c) + EULER + 1.0,
        shapes=(1.7,),
    ),
    "weibull_max": Family(
        lambda y, c: _weibull(-y, c),
        **_mirrored(_WEIBULL),
        support=(-INF, 0.0),
        inside=-1.0,
        mean=lambda c: -exp(gammaln(1.0 + 1.0 / c)),
        var=lambda c: exp(gammaln(1.0 + 2.0 / c)) - exp(2.0 * gammaln(1.0 + 1.0 / c)),
        shapes=(1.7,),
    ),
    "pareto": Family(
        lambda y, b: log(b) - (b + 1.0) * log(y),
        **_power_tail(lambda y, b: -b * log(y)),
        support=(1.0, INF),
        inside=2.0,
        entropy=lambda b: 1.0 + 1.0 / b - log(b),
        shapes=(2.5,),
    ),
    "lomax": Family(
        lambda y, c: log(c) - (c + 1.0) * log1p(y),
        **_power_tail(lambda y, c: -c * log1p(y)),
        **HALF,
        shapes=(2.5,),
    ),
    "rayleigh": Family(
        lambda y: log(y) - 0.5 * square(y),
        **_power_tail(lambda y: -0.5 * square(y)),
        **POSITIVE,
        mean=lambda: math.sqrt(math.pi / 2),
        var=lambda: (4 - math.pi) / 2,
        entropy=lambda: EULER / 2 + 1.0 - 0.5 * math.log(2),
    ),
    "maxwell": Family(
        lambda y: 0.5 * math.log(2 / math.pi) + 2.0 * log(y) - 0.5 * square(y),
        cdf=lambda y: gammainc(1.5, 0.5 * square(y)),
        sf=lambda y: gammaincc(1.5, 0.5 * square(y)),
        **POSITIVE,
        mean=lambda: 2 * math.sqrt(2 / math.pi),
        var=lambda: 3 - 8 / math.pi,
        entropy=lambda: EULER + LOG_ROOT_2PI - 0.5,
    ),
    "halfnorm": Family(
        lambda y: 0.5 * math.log(2 / math.pi) - 0.5 * square(y),
        cdf=lambda y: erf(y * math.sqrt(0.5)),
        sf=lambda y: 2.0 * ndtr(-y),
        logsf=lambda y: math.log(2) + log_ndtr(-y),
        **HALF,
        mean=lambda: math.sqrt(2 / math.pi),
        var=lambda: 1 - 2 / math.pi,
        entropy=lambda: 0.5 * math.log(math.pi / 2) + 0.5,
    ),
    "halfcauchy": Family(
        lambda y: math.log(2 / math.pi) - log1p(square(y)),
        cdf=lambda y: 2 / math.pi * arctan2(y, 1.0),
        sf=lambda y: 2 / math.pi * arctan2(1.0, y),
        **HALF,
        entropy=lambda: math.log(2 * math.pi),
    ),
    "invgamma": Family(
        lambda y, a: -(a + 1.0) * log(y) - gammaln(a) - 1.0 / y,
        cdf=lambda y, a: gammaincc(a, 1.0 / y),
        sf=lambda y, a: gammainc(a, 1.0 / y),
        **POSITIVE,
        entropy=lambda a: a - (a + 1.0) * psi(a) + gammaln(a),
        shapes=(2.5,),
    ),
    "invgauss": Family(
        lambda y, mu: -LOG_ROOT_2PI - 1.5 * log(y) - square(y / mu - 1.0) / (2.0 * y),
        cdf=lambda y, mu: exp(_invgauss_logcdf(y, mu)),
        sf=lambda y, mu: exp(_invgauss_logsf(y, mu)),
        logcdf=_invgauss_logcdf,
        logsf=_invgauss_logsf,
        **POSITIVE,
        mean=lambda mu: mu,
        var=lambda mu: power(mu, 3.0),
        shapes=(0.8,),
    ),
    "fisk": Family(
        lambda y, c: log(c) - log(y) + log_expit(c * log(y)) + log_expit(-c * log(y)),
        cdf=lambda y, c: expit(c * log(y)),
        sf=lambda y, c: expit(-c * log(y)),
        logcdf=lambda y, c: log_expit(c * log(y)),
        logsf=lambda y, c: log_expit(-c * log(y)),
        **POSITIVE,
        entropy=lambda c: 2.0 - log(c),
        shapes=(2.5,),
    ),
    # ----------------------------------------------------------------------- on an interval
    "uniform": Family(
        lambda y: 0.0 * y,
        cdf=lambda y: y,
        sf=lambda y: 1.0 - y,
        **UNIT,
        mean=lambda: 0.5,
        var=lambda: 1 / 12,
        entropy=lambda: 0.0,
    ),
    "beta": Family(
        lambda y, a, b: xlog1py(b - 1.0, -y) + xlogy(a - 1.0, y) - betaln(a, b),
        cdf=lambda y, a, b: betainc(a, b, y),
        sf=lambda y, a, b: betaincc(a, b, y),
        **UNIT,
        mean=lambda a, b: a / (a + b),
        var=lambda a, b: a * b / (square(a + b) * (a + b + 1.0)),
        entropy=lambda a, b: (
            betaln(a, b) - (a - 1.0) * psi(a) - (b - 1.0) * psi(b) + (a + b - 2.0) * psi(a + b)
        ),
        shapes=(2.5, 1.5),
    ),
    "powerlaw": Family(
        lambda y, a: log(a) + xlogy(a - 1.0, y),
        cdf=lambda y, a: _powered(y, a),
        sf=lambda y, a: -expm1(xlogy(a, y)),
        logcdf=lambda y, a: a * log(y),
        **UNIT,
        mean=lambda a: a / (a + 1.0),
        var=lambda a: a / (a + 2.0) / square(a + 1.0),
        entropy=lambda a: 1.0 - 1.0 / a - log(a),
        shapes=(1.7,),
    ),
    "triang": Family(
        _triang_logpdf,
        cdf=_triang_cdf,
        sf=_triang_sf,
        **UNIT,
        closed=False,
        allowed=lambda c: logical_and(greater_equal(c, 0), less_equal(c, 1)),
        mean=lambda c: (c + 1.0) / 3.0,
        var=lambda c: (1.0 - c + square(c)) / 18.0,
        entropy=lambda c: 0.5 - math.log(2) + 0.0 * c,
        shapes=(0.4,),
    ),
    "truncnorm": Family(
        lambda y, a, b: _normal(y) - _log_mass(a, b),
        cdf=lambda y, a, b: exp(_log_mass(a, y) - _log_mass(a, b)),
        sf=lambda y, a, b: exp(_log_mass(y, b) - _log_mass(a, b)),
        logcdf=lambda y, a, b: _log_mass(a, y) - _log_mass(a, b),
        logsf=lambda y, a, b: _log_mass(y, b) - _log_mass(a, b),
        support=(lambda a, b: a, lambda a, b: b),
        inside=lambda a, b: 0.5 * (maximum(a, -40.0) + minimum(b, 40.0)),
        allowed=lambda a, b: less(a, b),
        shapes=(-0.5, 1.5),
    ),
    "loguniform": Family(
        lambda y, a, b: -log(y) - log(log(b) - log(a)),
        cdf=lambda y, a, b: (log(y) - log(a)) / (log(b) - log(a)),
        sf=lambda y, a, b: (log(b) - log(y)) / (log(b) - log(a)),
        support=(lambda a, b: a, lambda a, b: b),
        inside=lambda a, b: sqrt(a * b),
        allowed=lambda a, b: logical_and(greater(a, 0), less(a, b)),
        mean=lambda a, b: (b - a) / (log(b) - log(a)),
        entropy=lambda a, b: 0.5 * (log(a) + log(b)) + log(log(b) - log(a)),
        shapes=(0.7, 2.5),
    ),
    # ------------------------------------------------- of which a shape decides where it lies
    "genextreme": Family(
        lambda y, c: -exp(_genextreme(y, c)) + _genextreme(y, c) - log1p(-c * y),
        cdf=lambda y, c: exp(-exp(_genextreme(y, c))),
        sf=lambda y, c: -expm1(-exp(_genextreme(y, c))),
        logcdf=lambda y, c: -exp(_genextreme(y, c)),
        support=(
            lambda c: where(less(c, 0), 1.0 / where(less(c, 0), c, 1.0), -INF),
            lambda c: where(greater(c, 0), 1.0 / where(greater(c, 0), c, 1.0), INF),
        ),
        inside=0.0,
        allowed=isfinite,
        entropy=lambda c: EULER * (1.0 - c) + 1.0,
        shapes=(0.3,),
    ),
    "genpareto": Family(
        lambda y, c: -(c + 1.0) * _log1p_over(c, y),
        **_power_tail(lambda y, c: -_log1p_over(c, y)),
        support=(0.0, lambda c: where(less(c, 0), -1.0 / where(less(c, 0), c, 1.0), INF)),
        inside=lambda c: 0.5 / (1.0 + absolute(c)),
        allowed=isfinite,
        entropy=lambda c: 1.0 + c,
        shapes=(0.3,),
    ),
}
FAMILIES["gibrat"] = Family(  # the log-normal one of the shape 1
    lambda y: FAMILIES["lognorm"].logpdf(y, 1.0),
    cdf=lambda y: ndtr(log(y)),
    sf=lambda y: ndtr(-log(y)),
    logcdf=lambda y: log_ndtr(log(y)),
    logsf=lambda y: log_ndtr(-log(y)),
    **POSITIVE,
)
FAMILIES["erlang"], FAMILIES["reciprocal"] = FAMILIES["gamma"], FAMILIES["loguniform"]
