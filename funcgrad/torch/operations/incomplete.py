"""The incomplete gamma functions, and draws that move with the parameters of gamma distributions.

The rules are those of `funcgrad.scipy.special`, which is imported when one of these is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.forms import elementwise, explicit
from funcgrad.core.primitive import Sample
from funcgrad.core.tracer import bind
from funcgrad.core.types import Array, ArrayType
from funcgrad.ops import arithmetic as a
from funcgrad.ops.samples import draw
from funcgrad.ops.sums import sum as sum_
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations import rejection
from funcgrad.torch.operations.common import boxed, computed, widened
from funcgrad.torch.operations.promotion import content, dtype_of
from funcgrad.torch.operations.record import floats, node, op

__all__ = ["igamma", "igammac", "standard_dirichlet", "standard_gamma"]

TWO = "input, other, *, out"


def _incomplete(name: str) -> Any:
    def value(x: Array, y: Array) -> Array:
        from funcgrad.scipy.special import incomplete

        return getattr(incomplete, name)(x, y)

    return Composite(name, widened(value))


igamma = op(
    "igamma", TWO, core=_incomplete("gammainc"), promote=floats, node="Igamma",
    saves="self other", refuses={"c": "igamma"}, remembers=False,
    doc="The distribution function of the gamma distribution of shape `input` at `other`.",
)  # fmt: skip
igammac = op(
    "igammac", TWO, core=_incomplete("gammaincc"), promote=floats, node="Igammac",
    saves="self other", refuses={"c": "igammac"}, remembers=False,
    doc="1 less the distribution function of the gamma distribution of shape `input` at `other`.",
)  # fmt: skip


# ------------------------------------------------------------------------------------------ draws


def _wide(*xs: Any) -> list[Any]:
    return [a.cast(x, np.float64) for x in xs]


def _gamma_moves(x: Any, shape: Any) -> Any:
    from funcgrad.scipy.special.incomplete import gamma_shift

    dtype = np.result_type(dtype_of(x), dtype_of(shape))
    return a.cast(gamma_shift(*_wide(shape, x)), dtype)


def _kept(x: Any, *_: Any) -> Any:
    return np.array(x)


def _dirichlet_moves(x: Any, shape: Any) -> Any:
    """How far an element moves, as the quantile of its beta distribution, for what is left of 1."""
    from funcgrad.scipy.special.incomplete import beta_a, beta_shift

    rest = a.subtract(sum_(shape, (-1,), True), shape)
    moves = a.cast(beta_shift(beta_a, *_wide(shape, rest, x)), dtype_of(x))
    return a.divide(moves, a.subtract(1.0, x))


def _dirichlet_jvp(_: Any, xs: Any, ts: Any) -> Any:
    """What an element gains the others give in proportion."""
    moved = a.multiply(_dirichlet_moves(*xs), ts[1])
    return a.subtract(moved, a.multiply(xs[0], sum_(moved, (-1,), True)))


def _dirichlet_vjp(g: Any, x: Any, _: Any, shape: Any) -> Any:
    taken = sum_(a.multiply(x, g), (-1,), True)
    return a.multiply(_dirichlet_moves(x, shape), a.subtract(g, taken))


def _drawn_samples(total: float | None) -> Any:
    shape = np.abs(draw((2, 3), seed=1)) + 0.3
    x = np.abs(draw((2, 3))) / 8 + 0.1
    x = x if total is None else x / x.sum(-1, keepdims=True)
    return [Sample((x, shape), smooth=False)]


# What was drawn, as a function of the parameters: the value is given, the derivative that of the
# quantile (Figurnov et al. 2018; Jankowiak and Obermeyer 2018).
GAMMA = elementwise(
    _kept, 0, lambda x, _, shape: _gamma_moves(x, shape), name="torch.standard_gamma",
    sample=lambda: _drawn_samples(None),
)  # fmt: skip
DIRICHLET = explicit(
    "torch.standard_dirichlet", _kept, signature="(n),(n)->(n)",
    type_rule=lambda x, shape: ArrayType(x.shape, x.dtype), vjp=(None, _dirichlet_vjp),
    jvp=_dirichlet_jvp, both="the moves have other last digits in a graph that is kept",
    sample=lambda: _drawn_samples(1.0),
)  # fmt: skip
GAMMA_NODE, DIRICHLET_NODE = node("StandardGamma"), node("_DirichletBackward")


def standard_gamma(concentration: Tensor) -> Tensor:
    """Draws of gamma distributions of rate 1, differentiable in their shape."""
    shape = content(concentration, "standard_gamma")
    drawn = rejection.drawn(rejection.gamma, None, "standard_gamma()", shape)
    return boxed(computed(GAMMA, drawn, shape), GAMMA_NODE)


def standard_dirichlet(concentration: Tensor) -> Tensor:
    """Draws of Dirichlet distributions, differentiable in their parameters."""
    shape = content(concentration, "standard_dirichlet")
    drawn = rejection.drawn(rejection.dirichlet, None, "standard_dirichlet()", shape)
    return boxed(computed(lambda x, s: bind(DIRICHLET, (x, s)), drawn, shape), DIRICHLET_NODE)
