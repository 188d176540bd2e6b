"""Normal vectors whose covariance is a thin matrix's square and a diagonal."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import funcgrad.torch as torch
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.distribution import Distribution
from funcgrad.torch.distributions.multivariate_normal import (
    batch_mahalanobis,
    batch_mv,
    log_diagonal,
)
from funcgrad.torch.distributions.utils import lazy_property, standard_normal
from funcgrad.torch.size import Size

__all__ = ["LowRankMultivariateNormal"]


def capacitance_tril(factor: Any, diagonal: Any) -> Any:
    """The Cholesky factor of 1 + Wᵀ D⁻¹ W."""
    identity = torch.eye(factor.size(-1), dtype=factor.dtype)
    scaled = factor.mT / diagonal.unsqueeze(-2)
    return torch.linalg.cholesky(torch.matmul(scaled, factor) + identity)


def lowrank_logdet(diagonal: Any, capacitance: Any) -> Any:
    """log det(W Wᵀ + D), by the determinant lemma."""
    return 2 * log_diagonal(capacitance) + diagonal.log().sum(-1)


def lowrank_mahalanobis(factor: Any, diagonal: Any, x: Any, capacitance: Any) -> Any:
    """xᵀ (W Wᵀ + D)⁻¹ x, by the Woodbury identity."""
    inner = batch_mv(factor.mT / diagonal.unsqueeze(-2), x)
    return (x.pow(2) / diagonal).sum(-1) - batch_mahalanobis(capacitance, inner)


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of covariance ``cov_factor @ cov_factor.T + diag(cov_diag)``.

    Parameters
    ----------
    loc : Tensor, shape (..., n)
    cov_factor : Tensor, shape (..., n, m)
        With few columns: nothing larger than (m, m) is decomposed.
    cov_diag : Tensor, shape (..., n)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _kept = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(
        self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m"
            )
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            loc_, self.cov_factor, cov_diag_ = torch.broadcast_tensors(
                loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1)
            )
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = loc_[..., 0], cov_diag_[..., 0]
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc

    mode = mean

    @lazy_property
    def variance(self) -> Any:
        squares = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return squares.expand(self._batch_shape + self._event_shape)

    def _square(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        identity = torch.eye(self._event_shape[0], dtype=root.dtype)
        inner = torch.linalg.cholesky(torch.matmul(scaled, scaled.mT) + identity)
        return self._square(root * inner)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        diagonal = torch.diag_embed(self._unbroadcasted_cov_diag)
        return self._square(torch.matmul(factor, factor.mT) + diagonal)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        diagonal = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
        a = torch.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._square(torch.diag_embed(diagonal.reciprocal()) - a.mT @ a)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        thin = standard_normal(Size((*shape[:-1], self.cov_factor.shape[-1])), self.loc)
        own = standard_normal(shape, self.loc)
        spread = batch_mv(self._unbroadcasted_cov_factor, thin)
        return self.loc + spread + self._unbroadcasted_cov_diag.sqrt() * own

    def _log_det(self) -> Any:
        return lowrank_logdet(self._unbroadcasted_cov_diag, self._capacitance_tril)

    def _distance(self, x: Any) -> Any:
        return lowrank_mahalanobis(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, x,
            self._capacitance_tril,
        )  # fmt: skip

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        distance = self._distance(value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + self._log_det() + distance)

    def entropy(self) -> Any:
        constant = self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        found = 0.5 * (constant + self._log_det())
        return found.expand(self._batch_shape) if self._batch_shape else found
