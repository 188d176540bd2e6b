"""The Bessel and Airy functions and the orthogonal polynomials of `torch.special`.

PyTorch has no derivative of them: their results never require grad. The values are those of
`funcgrad.scipy.special`, which is imported when one of these is used and which has derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.tracer import bind
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import bessel
from funcgrad.ops import transcendental as t
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.promotion import dtype_of, kind_of
from funcgrad.torch.operations.record import Function, floats, op
from funcgrad.torch.operations.recorded import elementwise_refusal

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t",
    "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
    "legendre_polynomial_p", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
    "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "spherical_bessel_j0",
]  # fmt: skip

PREFIX = "special_"
DEGREE = "x, n, *, out | Number x, n, *, out | x, Number n, *, out"
HIGHEST = {np.dtype(np.float32): 128, np.dtype(np.float64): 512}  # degrees of Hermite polynomials


def _real(name: str, *operands: Any) -> Sequence[Array]:
    """The operands in one real dtype of at least single precision, without derivatives."""
    xs = floats(name, *(x.detach() if isinstance(x, Tensor) else x for x in operands))
    if kind_of(xs[0]) not in (dtypes.float32, dtypes.float64):
        raise elementwise_refusal(f"{name.removeprefix(PREFIX)}_cpu", xs[0])
    return xs


def _constant(value: Callable[..., Array]) -> Callable[..., Array]:
    def function(*xs: Array) -> Array:
        return value(*(bind(STOP_GRADIENT, (x,)) for x in xs))

    return function


# ------------------------------------------------------------------------------ Bessel and Airy


def _function(
    name: str, what: str, value: Callable[[Array], Array], operand: str = "input"
) -> Function[Tensor]:
    return op(f"{PREFIX}{name}", f"{operand}, *, out", core=_constant(value), promote=_real,
              variants="", remembers=False, doc=f"{what}; no derivative.")  # fmt: skip


def _of_scipy(name: str) -> Callable[[Array], Array]:
    def value(x: Array) -> Array:
        from funcgrad.scipy.special import bessel

        found: Array = getattr(bessel, name)(x)
        return found

    return value


def _bessel(name: str, what: str, theirs: str, operand: str = "input") -> Function[Tensor]:
    return _function(name, f"The {what}", _of_scipy(theirs), operand)


def _spherical(x: Array) -> Array:
    """sin(x) / x, also where x is 0 or infinite."""
    none, endless = a.equal(x, 0), a.isinf(x)
    inner = a.where(a.logical_or(none, endless), dtype_of(x).type(1), x)
    inside = a.where(endless, dtype_of(x).type(0), a.divide(t.sin(inner), inner))
    return a.where(none, dtype_of(x).type(1), inside)


def _airy(x: Array) -> Array:
    """Ai; PyTorch has no limit at infinity."""
    from funcgrad.scipy.special import bessel

    return a.where(a.isinf(x), dtype_of(x).type(np.nan), bessel._airy[0](x))


bessel_j0 = _bessel("bessel_j0", "Bessel function of the first kind of order 0", "j0")
bessel_j1 = _bessel("bessel_j1", "Bessel function of the first kind of order 1", "j1")
bessel_y0 = _bessel("bessel_y0", "Bessel function of the second kind of order 0", "y0")
bessel_y1 = _bessel("bessel_y1", "Bessel function of the second kind of order 1", "y1")
modified_bessel_i0 = _function(
    "modified_bessel_i0", "The modified Bessel function of the first kind of order 0", bessel.i0
)
modified_bessel_i1 = _function(
    "modified_bessel_i1", "The modified Bessel function of the first kind of order 1", bessel.i1
)
modified_bessel_k0 = _bessel(
    "modified_bessel_k0", "modified Bessel function of the second kind of order 0", "k0"
)
modified_bessel_k1 = _bessel(
    "modified_bessel_k1", "modified Bessel function of the second kind of order 1", "k1"
)
scaled_modified_bessel_k0 = _bessel(
    "scaled_modified_bessel_k0", "`modified_bessel_k0` times ``exp(x)``", "k0e", "x"
)
scaled_modified_bessel_k1 = _bessel(
    "scaled_modified_bessel_k1", "`modified_bessel_k1` times ``exp(x)``", "k1e", "x"
)
spherical_bessel_j0 = _function(
    "spherical_bessel_j0", "The spherical Bessel function ``sin(x) / x``", _spherical, "x"
)
airy_ai = _function("airy_ai", "The Airy function Ai", _airy, "x")

# --------------------------------------------------------------------------------- polynomials

Rule = Callable[[Any, Array, Array], Array]


def _polynomial(name: str, family: str, rule: Rule, limited: bool = False) -> Function[Tensor]:
    """The polynomials `rule(SciPy's, n, x)`: 0 for degrees below 0, of which only the whole part
    counts, 1 for degree 0 even of NaN; with `limited`, PyTorch's NaN for degrees that are too high
    for the dtype."""

    def value(x: Array, n: Array) -> Array:
        from funcgrad.scipy.special import polynomials

        dtype, degree = dtype_of(x), a.cast(n, np.int64)
        below, highest = a.less(degree, 0), HIGHEST[dtype]
        zero, one = dtype.type(0), dtype.type(1)
        inside = a.where(below, 0, degree)
        if limited:
            inside = a.where(a.greater(inside, highest), 0, inside)
        found = a.cast(rule(polynomials, inside, a.cast(x, np.float64)), dtype)
        if limited:
            found = a.where(a.greater(degree, highest), dtype.type(np.nan), found)
        return a.where(a.less_equal(degree, 0), a.where(below, zero, one), found)

    return op(f"{PREFIX}{name}", DEGREE, core=_constant(value), promote=_real, variants="",
              remembers=False,
              doc=f"The {family} of degree `n`; no derivative.")  # fmt: skip


def _first(p: Any, n: Array, x: Array) -> Array:
    found: Array = p.eval_chebyt(n, x)
    return found


def _second(p: Any, n: Array, x: Array) -> Array:
    found: Array = p.eval_chebyu(n, x)
    return found


def _third(p: Any, n: Array, x: Array) -> Array:
    return a.subtract(p.eval_chebyu(n, x), p.eval_chebyu(a.subtract(n, 1), x))


def _fourth(p: Any, n: Array, x: Array) -> Array:
    return a.add(p.eval_chebyu(n, x), p.eval_chebyu(a.subtract(n, 1), x))


def _shifted(rule: Rule) -> Rule:
    return lambda p, n, x: rule(p, n, a.subtract(a.multiply(2.0, x), 1.0))


def _chebyshev(letter: str, kind: str, rule: Rule) -> tuple[Function[Tensor], Function[Tensor]]:
    name, family = f"chebyshev_polynomial_{letter}", f"Chebyshev polynomial of the {kind} kind"
    return (
        _polynomial(name, family, rule),
        _polynomial(f"shifted_{name}", f"{family} at ``2 x - 1``", _shifted(rule)),
    )


chebyshev_polynomial_t, shifted_chebyshev_polynomial_t = _chebyshev("t", "first", _first)
chebyshev_polynomial_u, shifted_chebyshev_polynomial_u = _chebyshev("u", "second", _second)
chebyshev_polynomial_v, shifted_chebyshev_polynomial_v = _chebyshev("v", "third", _third)
chebyshev_polynomial_w, shifted_chebyshev_polynomial_w = _chebyshev("w", "fourth", _fourth)
hermite_polynomial_h = _polynomial(
    "hermite_polynomial_h", "Hermite polynomial of physics",
    lambda p, n, x: p.eval_hermite(n, x), limited=True,
)  # fmt: skip
hermite_polynomial_he = _polynomial(
    "hermite_polynomial_he", "Hermite polynomial of probability",
    lambda p, n, x: p.eval_hermitenorm(n, x), limited=True,
)  # fmt: skip
laguerre_polynomial_l = _polynomial(
    "laguerre_polynomial_l", "Laguerre polynomial", lambda p, n, x: p.eval_laguerre(n, x)
)
legendre_polynomial_p = _polynomial(
    "legendre_polynomial_p", "Legendre polynomial", lambda p, n, x: p.eval_legendre(n, x)
)
