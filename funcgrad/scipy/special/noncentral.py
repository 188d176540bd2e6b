"""Non-central t and F distributions, and the counts at which discrete distributions have a value.

An inverse is differentiated as such, as in `incomplete`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special as sp

from funcgrad.core.forms import Op
from funcgrad.core.tracer import bind, type_of
from funcgrad.ops.arithmetic import (
    absolute,
    divide,
    equal,
    less,
    maximum,
    negative,
    sqrt,
    square,
    where,
)
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.ops.shape import reshape
from funcgrad.ops.sums import sum as total
from funcgrad.ops.transcendental import exp, log, log1p
from funcgrad.scipy.special.define import special
from funcgrad.scipy.special.differences import above, along, by_differences, mild
from funcgrad.scipy.special.elementary import xlogy
from funcgrad.scipy.special.error import ndtr
from funcgrad.scipy.special.gamma_functions import betaln, gammaln, slope_of
from funcgrad.scipy.special.hypergeometric import hyp1f1
from funcgrad.scipy.special.incomplete import (
    beta_a,
    beta_b,
    beta_density,
    gamma_a,
    gamma_density,
)
from funcgrad.scipy.special.sampling import (
    chndtr,
    chndtr_density,
    chndtr_df,
    f_slopes,
    steep,
)

UNIT = (0.2, 0.8)
MANY, MORE = (3.0, 5.0), (4.0, 6.0)  # degrees of freedom


# ------------------------------------------------------------------------ non-central t

_COUNT = 800


def _nct(v: Any, mu: Any, t: Any) -> Any:
    """E Φ(t s - mu), where v s² has the chi-square distribution of v degrees of freedom.

    By the trapezoidal rule in log s, between ends at which the integrand and all its derivatives
    vanish, so that the error is that of rounding. Of few degrees of freedom the mass is where t s
    is nothing, and Φ(-mu) is taken out. NaN of a large `mu` and few degrees of freedom.
    """
    few = less(v, 0.5)
    low, high = _ends(v, t, few)
    step = along(divide(high - low, _COUNT))
    u = along(low) + step * np.arange(_COUNT)
    few, v, mu, t = along(few), along(v), along(mu), along(t)
    peak = math.log(2) + 0.5 * v * log(0.5 * v) - gammaln(0.5 * v)
    density = exp(peak + v * u - 0.5 * v * exp(2.0 * u))
    there = where(few, ndtr(negative(mu)), 0.0)
    fine = less(step * maximum(absolute(mu), 1.0), 0.6)  # else it steps over the rise of Φ
    found = total((ndtr(t * exp(u) - mu) - there) * density * where(fine, step, math.nan), -1)
    return found + reshape(there, type_of(there).shape[:-1])


def _ends(v: Any, t: Any, few: Any) -> tuple[Any, Any]:
    """Below and above them there is no mass of log s."""
    spread = divide(8.0, sqrt(v + 1.0))
    behind = where(few, 40.0 + log1p(absolute(t)), divide(40.0, v))
    low = negative(behind) - spread
    high = 0.5 * log1p(divide(100.0, v) + divide(20.0, sqrt(v)))
    return bind(STOP_GRADIENT, (low,)), bind(STOP_GRADIENT, (high,))


_BY_DF, _BY_SHIFT, _BY_T = (slope_of(_nct, k) for k in range(3))


def nct_density(v: Any, mu: Any, t: Any) -> Any:
    return _BY_T(None, v, mu, t)


nctdtr: Op = special(
    sp.nctdtr, _BY_DF, _BY_SHIFT, _BY_T, ranges=[(2.0, 5.0), (-0.5, 1.5), (-1.0, 2.0)]
)
nctdtrit: Op = special(
    sp.nctdtrit,
    lambda t, v, mu, _: negative(divide(_BY_DF(None, v, mu, t), _BY_T(None, v, mu, t))),
    lambda t, v, mu, _: negative(divide(_BY_SHIFT(None, v, mu, t), _BY_T(None, v, mu, t))),
    lambda t, v, mu, _: divide(1.0, _BY_T(None, v, mu, t)),
    ranges=[(2.0, 5.0), (-0.5, 1.5), UNIT],
    smooth=False,  # SciPy searches for it
)
nctdtridf: Op = special(
    sp.nctdtridf,
    lambda v, _, mu, t: divide(1.0, _BY_DF(None, v, mu, t)),
    lambda v, _, mu, t: negative(divide(_BY_SHIFT(None, v, mu, t), _BY_DF(None, v, mu, t))),
    lambda v, _, mu, t: negative(divide(_BY_T(None, v, mu, t), _BY_DF(None, v, mu, t))),
    ranges=[(0.6, 0.62), (0.5, 0.6), (1.0, 1.1)],
    smooth=False,
)
nctdtrinc: Op = special(
    sp.nctdtrinc,
    lambda mu, v, _, t: negative(divide(_BY_DF(None, v, mu, t), _BY_SHIFT(None, v, mu, t))),
    lambda mu, v, _, t: divide(1.0, _BY_SHIFT(None, v, mu, t)),
    lambda mu, v, _, t: negative(divide(_BY_T(None, v, mu, t), _BY_SHIFT(None, v, mu, t))),
    ranges=[(2.0, 5.0), (0.3, 0.6), (1.0, 2.0)],
    smooth=False,
)

# ------------------------------------------------------------------------ non-central F


def ncf_log_density(n: Any, d: Any, nc: Any, x: Any) -> Any:
    """log(exp(-nc/2) z^(n/2-1) (1-z)^(d/2-1) / B(n/2, d/2) · ₁F₁((n+d)/2; n/2; nc z/2) dz/dx)."""
    whole = d + n * x
    z, rest = divide(n * x, whole), divide(d, whole)
    low, high = xlogy(0.5 * n - 1.0, z), xlogy(0.5 * d - 1.0, rest)
    mixture = hyp1f1(0.5 * (n + d), 0.5 * n, 0.5 * nc * z)
    return log(mixture * n * d / square(whole)) + low + high - betaln(0.5 * n, 0.5 * d) - 0.5 * nc


def _ncf_shift(y: Any, n: Any, d: Any, nc: Any, x: Any) -> Any:
    """The derivative by `nc`: the distribution is a Poisson mixture of central ones."""
    return 0.5 * (ncfdtr(n + 2.0, d, nc, x * divide(n, n + 2.0)) - y)


def _by_freedom(k: int) -> Callable[..., Any]:
    """The distribution is about z^(n/2) where that is small, and 1 less (1 - z)^(d/2)."""

    def step(n: Any, d: Any, nc: Any, x: Any) -> Any:
        share = divide(n * x, d + n * x) if k == 0 else divide(d, d + n * x)
        found = divide(1.0, divide(1.0, mild(n, d, nc, x)) + steep(share))
        return above((n, d)[k], found)

    return by_differences(lambda *xs: ncfdtr(*xs), k, step)


_NCF = (
    _by_freedom(0),
    _by_freedom(1),
    _ncf_shift,
    lambda _, n, d, nc, x: exp(ncf_log_density(n, d, nc, x)),
)
ncfdtr: Op = special(
    sp.ncfdtr, *_NCF, ranges=[(3.0, 5.0), (4.0, 6.0), (0.5, 1.5), (0.5, 2.0)], smooth=False
)


def _solved(ufunc: Any, slopes: Sequence[Any], solved: int, given: int, ranges: Any) -> Op:
    """The inverse of a distribution function F in its operand `solved`.

    F itself is operand `given` of the inverse; the others stand in their order. `slopes` are the
    rules of F, as of a ufunc.
    """

    def operands(found: Any, xs: Sequence[Any]) -> tuple[Any, list[Any]]:
        rest = [x for i, x in enumerate(xs) if i != given]
        return xs[given], [*rest[:solved], found, *rest[solved:]]

    def partial(k: int) -> Callable[..., Any]:
        def by(found: Any, *xs: Any) -> Any:
            value, all_ = operands(found, xs)
            whole = slopes[solved](value, *all_)
            if k == given:
                return divide(1.0, whole)
            place = k - (k > given)
            place += place >= solved
            return negative(divide(slopes[place](value, *all_), whole))

        return by

    return special(ufunc, *map(partial, range(len(slopes))), ranges=ranges, smooth=False)


ncfdtri: Op = _solved(sp.ncfdtri, _NCF, 3, 3, [MANY, MORE, (0.5, 1.5), UNIT])
ncfdtrinc: Op = _solved(sp.ncfdtrinc, _NCF, 2, 2, [MANY, MORE, (0.2, 0.3), (1.5, 2.0)])
ncfdtridfn: Op = _solved(
    sp.ncfdtridfn, _NCF, 0, 0, [(0.6, 0.62), (4.0, 6.0), (1.0, 1.5), (2.0, 2.1)]
)
ncfdtridfd: Op = _solved(
    sp.ncfdtridfd, _NCF, 1, 1, [(3.0, 5.0), (0.7, 0.72), (1.0, 1.5), (3.0, 3.1)]
)
fdtridfd: Op = special(
    sp.fdtridfd,
    lambda d, n, _, x: negative(divide(f_slopes(n, d, x)[0], f_slopes(n, d, x)[1])),
    lambda d, n, _, x: divide(1.0, f_slopes(n, d, x)[1]),
    lambda d, n, _, x: negative(divide(f_slopes(n, d, x)[2], f_slopes(n, d, x)[1])),
    ranges=[(2.0, 3.0), (0.85, 0.9), (3.0, 3.5)],
    smooth=False,
)

# ------------------------------------------------------------------ non-central chi-square


_CHI = (
    lambda _, x, k, nc: chndtr_density(x, k, nc),
    chndtr_df,
    lambda p, x, k, nc: 0.5 * (chndtr(x, k + 2.0, nc) - p),
)
chndtrix: Op = _solved(sp.chndtrix, _CHI, 0, 0, [UNIT, (3.0, 5.0), (0.5, 2.0)])
chndtridf: Op = _solved(sp.chndtridf, _CHI, 1, 1, [(4.0, 5.0), (0.3, 0.5), (0.5, 2.0)])
chndtrinc: Op = _solved(sp.chndtrinc, _CHI, 2, 2, [(4.0, 5.0), (2.0, 3.0), (0.3, 0.5)])

# ---------------------------------------------------------- counts, as continuous variables


def _clipped(slope: Callable[..., Any]) -> Callable[..., Any]:
    """0 where SciPy's count is 0 because no smaller one is: it does not move."""
    return lambda k, *xs: where(equal(k, 0.0), 0.0, slope(where(equal(k, 0.0), 1.0, k), *xs))


pdtrik: Op = special(
    sp.pdtrik,
    # the distribution is 1 - P(k + 1, m)
    _clipped(lambda k, _, m: divide(-1.0, gamma_a(k + 1.0, m))),
    _clipped(lambda k, _, m: negative(divide(gamma_density(k + 1.0, m), gamma_a(k + 1.0, m)))),
    ranges=[UNIT, (2.0, 4.0)],
    smooth=False,
)


def _either(a: Any, b: Any, p: Any) -> tuple[Any, Any, Any]:
    """The derivatives of I(1-p; a, b) by a, b and p; of a small p those of 1 - I(p; b, a)."""
    small = less(p, 0.5)
    low, high = where(small, p, 0.5), where(small, 0.5, 1.0 - p)
    by_a = where(small, negative(beta_b(b, a, low)), beta_a(a, b, high))
    by_b = where(small, negative(beta_a(b, a, low)), beta_b(a, b, high))
    return by_a, by_b, negative(beta_density(b, a, p))


def _binomial(k: Any, n: Any, p: Any) -> tuple[Any, Any, Any]:
    """The derivatives of I(1-p; n-k, k+1) by k, n and p."""
    by_first, by_last, by_p = _either(n - k, k + 1.0, p)
    return by_last - by_first, by_first, by_p


def _negative_binomial(k: Any, n: Any, p: Any) -> tuple[Any, Any, Any]:
    """The derivatives of I(p; n, k+1) by k, n and p."""
    last = k + 1.0
    by_n, by_last, by_q = _either(n, last, 1.0 - p)
    return by_last, by_n, negative(by_q)


def _count_inverse(ufunc: Any, slopes: Callable[..., Any], solved: int, ranges: Any) -> Op:
    """The inverse of F(k, n, p) in k or n: of its operands y = F takes the place of that one.

    A binomial count that SciPy clips to 0 does not move, and one that it clips to n goes with n.
    """

    def partial(k: int) -> Callable[..., Any]:
        def by(found: Any, *xs: Any) -> Any:
            at_end = equal(found, 0.0)
            whole = equal(found, xs[1]) if solved == 0 and slopes is _binomial else False
            held = where(at_end | whole, 0.5 * xs[1] if solved == 0 else 1.0, found)
            moved = slopes(*xs[:solved], held, *xs[solved + 1 :])
            slope = divide(1.0 if k == solved else negative(moved[k]), moved[solved])
            return where(whole, float(k == 1), where(at_end, 0.0, slope))

        return by

    return special(ufunc, *(partial(k) for k in range(3)), ranges=ranges, smooth=False)


bdtrik: Op = _count_inverse(sp.bdtrik, _binomial, 0, [UNIT, (5.0, 7.0), (0.3, 0.5)])
nbdtrik: Op = _count_inverse(sp.nbdtrik, _negative_binomial, 0, [UNIT, (3.0, 5.0), (0.3, 0.5)])
bdtrin: Op = _count_inverse(sp.bdtrin, _binomial, 1, [(1.0, 2.0), (0.3, 0.6), (0.3, 0.5)])
nbdtrin: Op = _count_inverse(
    sp.nbdtrin, _negative_binomial, 1, [(2.0, 3.0), (0.3, 0.6), (0.3, 0.5)]
)
