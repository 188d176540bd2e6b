"""The special functions of ``torch`` and ``torch.special``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.forms import elementwise
from funcgrad.core.primitive import Sample
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import bessel, error, gamma, normal, pointwise
from funcgrad.ops import transcendental as t
from funcgrad.ops.samples import draw
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import (
    boxed,
    computed,
    inplace,
    install,
    into,
    named,
)
from funcgrad.torch.operations.promotion import (
    NUMBERS,
    content,
    dtype_of,
    floating,
    promoted,
    wrong_type,
)
from funcgrad.torch.operations.recorded import refuse_kinds, unary

__all__ = [
    "digamma", "erf", "erfc", "erfinv", "i0", "lgamma", "logit", "mvlgamma", "polygamma", "sinc",
    "xlogy",
]  # fmt: skip

SELF = ("", "self")


def _function(
    name: str, core: Any, node: str, saved: tuple[str, ...] = SELF, method: bool = True
) -> Any:
    """A function of one real tensor; what `torch.special` alone has is no method."""
    if method:
        return unary(name, core, named(node, *saved), refused="c", kernel=f"{name}_vml_cpu")

    def function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        x = content(input, f"special_{name}")
        refuse_kinds(f"{name}_cpu", "c", x)
        result = boxed(computed(core, floating(name, x)), named(node, *saved))
        return result if out is None else into(out, result, f"special_{name}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of each element."
    return function


erf = _function("erf", error.erf, "ErfBackward0")
erfc = _function("erfc", normal.erfc, "ErfcBackward0")
erfinv = _function("erfinv", normal.erfinv, "ErfinvBackward0")
lgamma = _function("lgamma", gamma.lgamma, "LgammaBackward0")
digamma = _function("digamma", gamma.digamma, "DigammaBackward0")
i0 = _function("i0", bessel.i0, "I0Backward0")
sinc = unary("sinc", pointwise.sinc, named("SincBackward0", *SELF))
BOTH = ("result", "self")
erfcx = _function("erfcx", normal.erfcx, "SpecialErfcxBackward0", BOTH, False)
ndtri = _function("ndtri", normal.ndtri, "SpecialNdtriBackward0", ("result",), False)
log_ndtr = _function("log_ndtr", normal.log_ndtr, "SpecialLogNdtrBackward0", BOTH, False)
i0e = _function("i0e", bessel.i0e, "SpecialI0EBackward0", BOTH, False)
i1 = _function("i1", bessel.i1, "SpecialI1Backward0", BOTH, False)
i1e = _function("i1e", bessel.i1e, "SpecialI1EBackward0", BOTH, False)


def _entropy(x: Array) -> Array:
    inner = a.where(a.greater(x, 0), x, 1.0)
    inside = a.negative(a.multiply(x, t.log(inner)))
    return a.where(a.greater_equal(x, 0), inside, a.where(a.isnan(x), x, -np.inf))


ENTR = Composite("entr", _entropy)
entr = _function("entr", ENTR, "SpecialEntrBackward0", SELF, False)


def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The distribution function of the standard normal distribution."""
    x = floating("special_ndtr", input)
    refuse_kinds("erf_vml_cpu", "c", x)
    result = boxed(computed(NDTR, x), named("MulBackward1"))
    return result if out is None else into(out, result, "special_ndtr")


NDTR = Composite("ndtr", normal.ndtr)

# --------------------------------------------------------------------------------- products


def _times_log(name: str, log: Any, least: float) -> Any:
    """x log(y), which is 0 where x is 0, whatever y but NaN; `least` is where the logarithm ends.

    The derivative is PyTorch's: in y it divides where x is 0, too.
    """
    numbers = {t.log: np.log, t.log1p: np.log1p}[log]

    def product(x: Any, y: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.where((x == 0) & ~np.isnan(y), np.zeros_like(x), x * numbers(y))[()]

    def partial(_: Any, x: Any, y: Any) -> Any:
        none = a.logical_and(a.equal(x, 0), a.less_equal(y, least))
        return a.where(none, 0.0, log(y))

    def other(_: Any, x: Any, y: Any) -> Any:
        return a.divide(x, a.subtract(y, least) if least else y)

    return elementwise(
        product,
        partial,
        other,
        name=f"torch.{name}",
        sample=lambda: [Sample((draw((2, 3)), np.abs(draw((2, 3), seed=1))))],
    )


def _logarithmic(name: str, log: Any, least: float, node: str) -> Any:
    operation = _times_log(name, log, least)

    def function(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        for x, argument, position in ((input, "input", 1), (other, "other", 2)):
            if not isinstance(x, (Tensor, *NUMBERS)):
                wrong_type(name, argument, position, "Tensor", x)
        if not isinstance(input, Tensor) and not isinstance(other, Tensor):
            wrong_type(name, "input", 1, "Tensor", input)
        x, y = promoted(name, input, other, floats=True)
        refuse_kinds(f"{name}_cpu", "c", x)
        if not isinstance(input, Tensor):
            made = named(f"{node}1", "", "self", "other", shown=(1,))
        elif not isinstance(other, Tensor):
            made = named(f"{node}2", "", "self", "other", shown=(0,))
        else:
            made = named(f"{node}0", "", "self", "other")
        result = boxed(computed(operation, x, y), made)
        return result if out is None else into(out, result, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of each pair of elements: 0 where the first one is 0."
    return function


xlogy = _logarithmic("xlogy", t.log, 0.0, "XlogyBackward")
install(xlogy=xlogy, xlogy_=inplace(xlogy, "xlogy_"))
xlog1py = _logarithmic("xlog1py", t.log1p, -1.0, "SpecialXlog1PyBackward")


# ----------------------------------------------------------------------------- with parameters


def _logit(x: Array, eps: float | None) -> Array:
    if eps is not None:
        low, high = (dtype_of(x).type(v) for v in (eps, 1 - eps))
        x = a.where(a.less(x, low), low, a.where(a.greater(x, high), high, x))
    return t.log(a.divide(x, a.subtract(1.0, x)))


LOGIT = Composite("logit", _logit)


def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """``log(x / (1 - x))``; with `eps` the elements are limited to [eps, 1 - eps] before."""
    x = floating("logit", input)
    refuse_kinds("logit_cpu", "c", x)
    result = boxed(computed(LOGIT, x, eps=eps), named("LogitBackward0", *SELF))
    return result if out is None else into(out, result, "logit")


def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of order `n` of `digamma`."""
    if not isinstance(n, int):
        wrong_type("polygamma", "n", 1, "int", n)
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    x = floating("polygamma", input)
    refuse_kinds("polygamma", "c", x)
    node = named("PolygammaBackward0", "", "n", "self", shown=(1,))
    result = boxed(computed(gamma.polygamma, n, x), node)
    return result if out is None else into(out, result, "polygamma")


def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """The derivative of order `n` of `digamma`."""
    return polygamma(n, self)


def _mvlgamma(x: Array, p: int) -> Array:
    total = p * (p - 1) / 4 * math.log(math.pi)
    out = gamma.lgamma(x)
    for k in range(1, p):
        out = a.add(out, gamma.lgamma(a.subtract(x, k / 2)))
    return a.add(out, total)


MVLGAMMA = Composite("mvlgamma", _mvlgamma)


def mvlgamma(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    x = floating("mvlgamma", input)
    result = boxed(computed(MVLGAMMA, x, p=p), named("MvlgammaBackward0", *SELF))
    return result if out is None else into(out, result, "mvlgamma")


install(logit=logit, logit_=inplace(logit, "logit_"))
install(polygamma=_polygamma_method, polygamma_=inplace(_polygamma_method, "polygamma_"))
install(mvlgamma=mvlgamma, mvlgamma_=inplace(mvlgamma, "mvlgamma_"))


def zeta(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """The zeta function of Hurwitz ``Σ (other + k) ** -input``; no derivative by `input`."""
    x, y = promoted("special_zeta", input, other, floats=True)
    node = named("SpecialZetaBackward0", "", "self", "other")
    result = boxed(computed(gamma.zeta, x, y), node)
    return result if out is None else into(out, result, "special_zeta")
