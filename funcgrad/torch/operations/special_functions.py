"""The special functions of ``torch`` and ``torch.special``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.forms import elementwise
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import bessel, error, gamma, normal, pointwise
from funcgrad.ops import transcendental as t
from funcgrad.ops.constant import STOP_GRADIENT
from funcgrad.ops.samples import draw, unary
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import boxed, computed
from funcgrad.torch.operations.promotion import dtype_of, floating, promoted
from funcgrad.torch.operations.record import Function, floats, in_place, node, op, operation, refuse
from funcgrad.torch.operations.requirements import requires
from funcgrad.torch.operations.restated import stated

__all__ = [
    "digamma", "erf", "erf_", "erfc", "erfc_", "erfinv", "i0", "i0_", "lgamma", "logit", "logit_",
    "mvlgamma", "polygamma", "sinc", "sinc_", "xlogy", "xlogy_",
]  # fmt: skip

ONE = "input, *, out"
OR_NUMBERS = "input, other, *, out | Number self, other, *, out | input, Number other, *, out"


def _real(name: str, core: Any, kind: str) -> Function[Tensor]:
    """A function of one real tensor."""
    return op(name, ONE, core=core, promote=floats, node=kind, saves="self",
              refuses={"c": f"{name}_vml_cpu"})  # fmt: skip


def _special(name: str, core: Any, kind: str, saves: str) -> Function[Tensor]:
    """What `torch.special` alone has, and no tensor has as a method."""
    return op(f"special_{name}", ONE, core=core, promote=floats, node=kind, saves=saves,
              refuses={"c": f"{name}_cpu"}, variants="")  # fmt: skip


erf = _real("erf", error.erf, "Erf")
erfc = _real("erfc", normal.erfc, "Erfc")
erfinv = _real("erfinv", normal.erfinv, "Erfinv")
lgamma = _real("lgamma", gamma.lgamma, "Lgamma")
digamma = _real("digamma", gamma.digamma, "Digamma")
i0 = _real("i0", bessel.i0, "I0")
sinc = op("sinc", ONE, core=pointwise.sinc, promote=floats, node="Sinc", saves="self")
erf_, erfc_, i0_, sinc_ = in_place(erf, erfc, i0, sinc)
erfcx = _special("erfcx", normal.erfcx, "SpecialErfcx", "result self")
ndtri = _special("ndtri", normal.ndtri, "SpecialNdtri", "result")
log_ndtr = _special("log_ndtr", normal.log_ndtr, "SpecialLogNdtr", "result self")
i0e = _special("i0e", bessel.i0e, "SpecialI0E", "result self")
i1 = _special("i1", bessel.i1, "SpecialI1", "result self")
i1e = _special("i1e", bessel.i1e, "SpecialI1E", "result self")


def _entropy(x: Array) -> Array:
    inner = a.where(a.greater(x, 0), x, 1.0)
    inside = a.negative(a.multiply(inner, t.log(inner)))
    beyond = a.where(a.equal(x, 0), 0.0, a.where(a.isnan(x), x, -np.inf))
    return a.where(a.greater(x, 0), inside, beyond)


_ENTROPY = stated(
    "entr_of_number", _entropy, lambda _, x: a.subtract(-1.0, t.log(x)), sample=unary(0.1, 0.9)
)
ENTR = Composite("entr", _ENTROPY)
entr = _special("entr", ENTR, "SpecialEntr", "self")
NDTR = Composite("ndtr", normal.ndtr)
ndtr = op(
    "special_ndtr", ONE, core=NDTR, promote=floats, node=node("MulBackward1"), variants="",
    refuses={"c": "erf_vml_cpu"},
    doc="The distribution function of the standard normal distribution.",
)  # fmt: skip

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


def _logarithmic(name: str, log: Any, least: float, kind: str, variants: str) -> Function[Tensor]:
    core = _times_log(name, log, least)
    kernel = f"{name.removeprefix('special_')}_cpu"
    tensors, of_number, with_number = (
        node(f"{kind}Backward{k}", "self other", shows)
        for k, shows in enumerate((None, (1,), (0,)))
    )

    def function(input: Any, other: Any) -> Tensor:
        x, y = promoted(name, input, other, floats=True)
        refuse({"c": kernel}, x)
        made = tensors if isinstance(input, Tensor) else of_number
        made = made if isinstance(other, Tensor) else with_number
        return boxed(computed(core, x, y), made)

    function.__doc__ = f"`{name}` of each pair of elements: 0 where the first one is 0."
    return operation(name, OR_NUMBERS, variants=variants, lies="operands")(function)


xlogy = _logarithmic("xlogy", t.log, 0.0, "Xlogy", "method inplace")
xlog1py = _logarithmic("special_xlog1py", t.log1p, -1.0, "SpecialXlog1Py", "")


# ----------------------------------------------------------------------------- with parameters


def _logit(x: Array, eps: float | None) -> Array:
    if eps is not None:
        low, high = (dtype_of(x).type(v) for v in (eps, 1 - eps))
        between = a.logical_and(a.greater_equal(x, low), a.less_equal(x, high))
        still = bind(STOP_GRADIENT, (x,))  # of a NaN, which is not between
        edge = a.where(a.less(x, low), low, a.where(a.greater(x, high), high, still))
        x = a.where(between, x, edge)
    return _log_odds(x)


def _log_odds_slope(_: Array, x: Array) -> Array:
    inside = a.logical_and(a.greater_equal(x, 0), a.less_equal(x, 1))
    slope = a.divide(1.0, a.multiply(x, a.subtract(1.0, x)))
    return a.where(inside, slope, np.nan)


_log_odds = stated(
    "logit_of_number", lambda x: t.log(a.divide(x, a.subtract(1.0, x))), _log_odds_slope,
    sample=unary(0.1, 0.9),
)  # fmt: skip
LOGIT = Composite("logit", _logit)


LOGIT_NODE = node("Logit", "self", tells="eps")


@operation("logit", "input, float eps=None, *, out")
def logit(input: Tensor, eps: float | None) -> Tensor:
    """``log(x / (1 - x))``; with `eps` the elements are limited to [eps, 1 - eps] before."""
    x = floating("logit", input)
    refuse({"c": "logit_cpu"}, x)
    return boxed(computed(LOGIT, x, eps=eps), LOGIT_NODE)


POLYGAMMA = node("Polygamma", "n self", shows=(1,))


@operation("polygamma", "int n, input, *, out")
@requires("n >= 0: polygamma(n, x) does not support negative n.")
def polygamma(n: int, input: Tensor) -> Tensor:
    """The derivative of order `n` of `digamma`."""
    x = floating("polygamma", input)
    refuse({"c": "polygamma"}, x)
    return boxed(computed(gamma.polygamma, n, x), POLYGAMMA)


def _mvlgamma(x: Array, p: int) -> Array:
    total = p * (p - 1) / 4 * math.log(math.pi)
    out = gamma.lgamma(x)
    for k in range(1, p):
        out = a.add(out, gamma.lgamma(a.subtract(x, k / 2)))
    return a.add(out, total)


MVLGAMMA = Composite("mvlgamma", _mvlgamma)


MVLGAMMA_NODE = node("Mvlgamma", "self", tells="p")


@operation("mvlgamma", "input, int p, *, out")
@requires("p >= 1: p has to be greater than or equal to 1")
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`."""
    return boxed(computed(MVLGAMMA, floating("mvlgamma", input), p=p), MVLGAMMA_NODE)


zeta = op(
    "special_zeta", OR_NUMBERS, core=gamma.zeta, promote=floats, node="SpecialZeta",
    saves="self other", variants="", refuses={"h": "zeta_cpu"},
    doc="The zeta function of Hurwitz ``Σ (other + k) ** -input``; no derivative by `input`.",
)  # fmt: skip
logit_, xlogy_ = in_place(logit, xlogy)
