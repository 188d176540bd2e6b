"""Cholesky factors of random correlation matrices."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import funcgrad.torch as torch
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.beta import Beta
from funcgrad.torch.distributions.distribution import Distribution
from funcgrad.torch.distributions.utils import broadcast_all, standard_normal
from funcgrad.torch.size import Size

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices C with a density as det(C) ** (concentration - 1).

    Uniform for a concentration of 1; drawn by the onion method (Lewandowski et al. 2009).
    """

    arg_constraints: ClassVar[dict[str, Any]] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _kept = ("dim",)

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        marginal = self.concentration + 0.5 * (dim - 2)
        # the first row is fixed; its element of the beta distribution is drawn all the same
        offset = torch.arange(-1, dim - 1, dtype=self.concentration.dtype).clamp(min=0)
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        y = self._beta.sample(sample_shape).unsqueeze(-1)
        normal = standard_normal(self._extended_shape(sample_shape), y).tril(-1)
        length = normal.norm(dim=-1, keepdim=True)
        sphere = torch.where(length == 0, 0.0, normal / length)  # the first row is empty
        w = torch.sqrt(y) * sphere
        rest = torch.clamp(1 - torch.sum(w**2, dim=-1), min=torch.finfo(w.dtype).tiny)
        return w + torch.diag_embed(rest.sqrt())

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = torch.arange(2, self.dim + 1)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        found = torch.sum(order * diagonal.log(), dim=-1)
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        normalizer = torch.mvlgamma(alpha - 0.5, less) - torch.lgamma(alpha) * less
        return found - (0.5 * less * math.log(math.pi) + normalizer)
