"""Student's t, Fisher's F, and the non-central chi-square distribution.

Their integrals are incomplete beta functions of a fraction, of which the end is taken that does not
cancel, and a Poisson mixture of incomplete gamma functions.
"""

from __future__ import annotations

from typing import Any

import scipy.special as sp

from funcgrad.core.forms import Op
from funcgrad.ops.arithmetic import (
    absolute,
    divide,
    greater,
    less,
    maximum,
    minimum,
    negative,
    sign,
    sqrt,
    square,
    where,
)
from funcgrad.ops.transcendental import exp, log, log1p
from funcgrad.scipy.special.bessel import ive
from funcgrad.scipy.special.define import special
from funcgrad.scipy.special.differences import SHARE, above, by_differences, mild
from funcgrad.scipy.special.elementary import xlogy
from funcgrad.scipy.special.gamma_functions import betaln
from funcgrad.scipy.special.hypergeometric import hyp0f1
from funcgrad.scipy.special.incomplete import beta_a, beta_b, gamma_density

SHAPE = (0.4, 3.0)
UNIT = (0.1, 0.9)

# --------------------------------------------------------------------------------- Student's t


def t_density(v: Any, t: Any) -> Any:
    power = -0.5 * (v + 1.0) * log1p(divide(square(t), v))
    return exp(power - betaln(0.5 * v, 0.5) - 0.5 * log(v))


def t_df(v: Any, t: Any) -> Any:
    """The derivative by v: for t > 0 the function is 1 - I(v/2, 1/2, z)/2 where z = v / (v + t²).

    In the middle it is 1/2 + I(1/2, v/2, 1 - z)/2, of which less cancels. Of many degrees of
    freedom all but v⁻² of these cancels; there SciPy's values themselves, which lie on a power
    series in 1/v, are compared.
    """
    many = greater(v, 300.0)
    far = negative(_t_far(None, where(many, v, 300.0), negative(absolute(t))))
    v = where(many, 1.0, v)
    whole = v + square(t)
    moved = divide(t_density(v, t) * absolute(t), v)  # the density at z times dz/dv
    tail = -0.5 * beta_a(0.5 * v, 0.5, divide(v, whole)) - moved
    middle = 0.5 * beta_b(0.5, 0.5 * v, divide(square(t), whole)) - moved
    near = 0.5 * where(less(square(t), v), middle, tail)
    return sign(t) * where(many, far, near)


_t_far = by_differences(lambda *xs: stdtr(*xs), 0, lambda v, _: divide(v, 32.0))


stdtr: Op = special(
    sp.stdtr,
    lambda _, v, t: t_df(v, t),
    lambda _, v, t: t_density(v, t),
    ranges=[SHAPE, (0.2, 2.0)],
)
stdtrit: Op = special(
    sp.stdtrit,
    lambda t, v, _: negative(divide(t_df(v, t), t_density(v, t))),
    lambda t, v, _: divide(1.0, t_density(v, t)),
    ranges=[SHAPE, UNIT],
)
stdtridf: Op = special(
    sp.stdtridf,
    lambda v, _, t: divide(1.0, t_df(v, t)),
    lambda v, _, t: negative(divide(t_density(v, t), t_df(v, t))),
    ranges=[(0.75, 0.8), (0.9, 1.1)],
    smooth=False,  # SciPy searches for it to eight digits
)

# ---------------------------------------------------------------------------------------- F


def f_density(n: Any, d: Any, x: Any) -> Any:
    """The density of z = n x / (d + n x) in I(n/2, d/2, z); 1 - z is formed without cancelling."""
    whole = d + n * x
    low = xlogy(0.5 * n - 1.0, divide(n * x, whole))
    high = xlogy(0.5 * d - 1.0, divide(d, whole))
    return divide(exp(low + high - betaln(0.5 * n, 0.5 * d)), square(whole))


def f_slopes(n: Any, d: Any, x: Any) -> tuple[Any, Any, Any]:
    """The derivatives of I(n/2, d/2, z) by n, d and x; near z = 1 by that of 1 - z."""
    z, rest = divide(n * x, d + n * x), divide(d, d + n * x)
    high = greater(z, 0.5)
    low, top = where(high, 0.5, z), where(high, rest, 0.5)
    by_n = where(high, negative(beta_b(0.5 * d, 0.5 * n, top)), beta_a(0.5 * n, 0.5 * d, low))
    by_d = where(high, negative(beta_a(0.5 * d, 0.5 * n, top)), beta_b(0.5 * n, 0.5 * d, low))
    density = f_density(n, d, x)
    return 0.5 * by_n + density * x * d, 0.5 * by_d - density * n * x, density * n * d


def _f_inverse(n: Any, d: Any, x: Any, which: int) -> Any:
    slopes = f_slopes(n, d, x)
    return negative(divide(slopes[which], slopes[2]))


fdtr: Op = special(
    sp.fdtr,
    lambda _, n, d, x: f_slopes(n, d, x)[0],
    lambda _, n, d, x: f_slopes(n, d, x)[1],
    lambda _, n, d, x: f_slopes(n, d, x)[2],
    ranges=[SHAPE, SHAPE, SHAPE],
)
fdtrc: Op = special(
    sp.fdtrc,
    lambda _, n, d, x: negative(f_slopes(n, d, x)[0]),
    lambda _, n, d, x: negative(f_slopes(n, d, x)[1]),
    lambda _, n, d, x: negative(f_slopes(n, d, x)[2]),
    ranges=[SHAPE, SHAPE, SHAPE],
)
fdtri: Op = special(
    sp.fdtri,
    lambda x, n, d, _: _f_inverse(n, d, x, 0),
    lambda x, n, d, _: _f_inverse(n, d, x, 1),
    lambda x, n, d, _: divide(1.0, f_slopes(n, d, x)[2]),
    ranges=[SHAPE, SHAPE, UNIT],
)

# ------------------------------------------------------------------- non-central chi-square


def chndtr_density(x: Any, k: Any, nc: Any) -> Any:
    """By a Bessel function that is scaled, so that nothing overflows; near nc = 0 by its series.

    Of many degrees of freedom the scaled function vanishes, and the series does not overflow.
    """
    far = greater(nc * x, maximum(1.0, k * minimum(0.25 * k, 200.0)))
    central = gamma_density(0.5 * k, 0.5 * x)
    near = 0.5 * central * exp(-0.5 * nc) * hyp0f1(0.5 * k, 0.25 * where(far, 0.0, nc * x))
    root, spread = sqrt(where(far, x, 1.0)), sqrt(where(far, nc, 1.0))
    power = xlogy(0.5 * k - 1.0, divide(root, spread))
    scaled = ive(0.5 * k - 1.0, root * spread)
    return where(far, 0.5 * exp(-0.5 * square(root - spread) + power) * scaled, near)


def steep(*shares: Any) -> Any:
    """The part of a step's reciprocal for powers of what is small, or vanishes, by exponents."""
    return sum(divide(absolute(log(maximum(x, 1e-300))), 2 * SHARE) for x in shares)


def _chi_step(x: Any, k: Any, nc: Any) -> Any:
    """In the tail to the left the distribution is about (x / k)^(k/2)."""
    left = minimum(divide(x, k + nc), 1.0)
    return above(k, divide(1.0, divide(1.0, mild(x, k, nc)) + steep(left)))


chndtr_df = by_differences(lambda *xs: chndtr(*xs), 1, _chi_step)
chndtr: Op = special(
    sp.chndtr,
    lambda _, x, k, nc: chndtr_density(x, k, nc),
    chndtr_df,
    # the distribution is a Poisson mixture of central ones
    lambda y, x, k, nc: 0.5 * (chndtr(x, k + 2.0, nc) - y),
    ranges=[SHAPE, (3.0, 5.0), (0.5, 2.0)],
)
