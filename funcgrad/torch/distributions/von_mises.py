"""Von Mises distributions."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import funcgrad.torch as torch
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.distribution import Distribution
from funcgrad.torch.distributions.utils import broadcast_all

__all__ = ["VonMises"]


def _log_bessel(x: Any, order: int) -> Any:
    """log I_0(x) or log I_1(x), from the scaled functions, which do not overflow."""
    scaled = torch.special.i1e(x) if order else torch.special.i0e(x)
    return scaled.log() + x


class VonMises(Distribution):
    """The normal distribution of angles (in radians), around `loc`.

    Its density, and the variance 1 - I_1 / I_0, have exact Bessel functions; PyTorch's are
    approximations with seven digits.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "loc": constraints.real, "concentration": constraints.positive,
    }  # fmt: skip
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The direction of the mean."""
        return self.loc

    mode = mean

    @property
    def variance(self) -> Any:
        """The circular variance, of [0, 1]."""
        k = self.concentration
        return 1 - (_log_bessel(k, 1) - _log_bessel(k, 0)).exp()

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        k = self.concentration
        return k * torch.cos(value - self.loc) - math.log(2 * math.pi) - _log_bessel(k, 0)

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            loc, k = self.loc.to(torch.double), self.concentration.to(torch.double)
            shape = self._extended_shape(sample_shape)
            return _rejection(loc, k, _proposal(k), shape).to(self.loc.dtype)


def _proposal(k: Any) -> Any:
    """The parameter of the wrapped Cauchy distribution from which angles are proposed."""
    tau = 1 + (1 + 4 * k**2).sqrt()
    rho = (tau - (2 * tau).sqrt()) / (2 * k)
    return torch.where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))


def _rejection(loc: Any, k: Any, r: Any, shape: Any) -> Any:
    """Best and Fisher 1979: all angles are proposed anew until each has been accepted once."""
    x = torch.zeros(shape, dtype=torch.double)
    done = torch.zeros(shape, dtype=torch.bool)
    while not done.all():
        u1, u2, u3 = torch.rand((3, *shape), dtype=torch.double).unbind()
        z = torch.cos(math.pi * u1)
        f = (1 + r * z) / (r + z)
        c = k * (r - f)
        accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
        x = torch.where(accept, (u3 - 0.5).sign() * f.acos(), x)
        done = done | accept
    return (x + math.pi + loc) % (2 * math.pi) - math.pi
