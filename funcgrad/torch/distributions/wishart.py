"""Wishart distributions."""

from __future__ import annotations

import math
import warnings
from typing import Any

import funcgrad.torch as torch
from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.chi2 import Chi2
from funcgrad.torch.distributions.exp_family import ExponentialFamily
from funcgrad.torch.distributions.multivariate_normal import FACTORS, log_diagonal
from funcgrad.torch.distributions.utils import lazy_property, standard_normal, vec_to_tril_matrix
from funcgrad.torch.size import Size

__all__ = ["Wishart"]

LOG_2 = math.log(2)


def _mvdigamma(x: Any, p: int) -> Any:
    if not x.gt((p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    steps = torch.arange(p, dtype=x.dtype).div(2)
    return torch.digamma(x.unsqueeze(-1) - steps).sum(-1)


class Wishart(ExponentialFamily):
    """Positive definite matrices: sums of `df` squares of normal vectors.

    Parameters
    ----------
    df : Tensor or float
        Degrees of freedom, more than n - 1.
    covariance_matrix, precision_matrix, scale_tril : Tensor, shape (..., n, n)
        One of the three: the covariance of the vectors, its inverse, or its Cholesky factor.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None,
        scale_tril: Any = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        given = {
            "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }  # fmt: skip
        found = {k: m for k, m in given.items() if m is not None}
        if len(found) != 1:
            raise AssertionError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        ((name, matrix),) = found.items()
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if not isinstance(df, Tensor):
            df = torch.tensor(df, dtype=matrix.dtype)
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], df.shape)
        self.df = df.expand(batch_shape)
        event_shape = matrix.shape[-2:]
        n = event_shape[-1]
        if self.df.le(n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        if self.df.lt(n).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 "
                "< df < ndim.",
                stacklevel=outside(),
            )
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._unbroadcasted_scale_tril = FACTORS[name](matrix)

    _kept = ("_unbroadcasted_scale_tril",)

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    @lazy_property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance."""
        return self._unbroadcasted_scale_tril.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance of the vectors."""
        factor = self._unbroadcasted_scale_tril
        return (factor @ factor.mT).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self) -> Any:
        """Its inverse."""
        factor = self._unbroadcasted_scale_tril
        identity = torch.eye(self._event_shape[-1], dtype=factor.dtype)
        found = torch.cholesky_solve(identity, factor)
        return found.expand(self._batch_shape + self._event_shape)

    def _column(self, x: Any) -> Any:
        return x.reshape(self._batch_shape + (1, 1))

    @property
    def mean(self) -> Any:
        return self._column(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Any:
        factor = self.df - self.event_shape[-1] - 1
        factor = torch.where(factor <= 0, math.nan, factor)
        return self._column(factor) * self.covariance_matrix

    @property
    def variance(self) -> Any:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._column(self.df) * (v.pow(2) + outer)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws by Bartlett's decomposition."""
        n, sample_shape = self._event_shape[-1], Size(sample_shape)
        factor = self._unbroadcasted_scale_tril
        steps = torch.arange(n, dtype=factor.dtype)
        roots = Chi2(self.df.unsqueeze(-1) - steps).rsample(sample_shape).sqrt()
        noise = roots.clamp(min=torch.finfo(roots.dtype).eps).diag_embed()
        below = n * (n - 1) // 2
        if below:
            drawn = standard_normal(sample_shape + self._batch_shape + (below,), factor)
            noise = noise + vec_to_tril_matrix(drawn, diag=-1)
        made = factor @ noise
        return made @ made.mT

    def _log_det_factor(self) -> Any:
        return log_diagonal(self._unbroadcasted_scale_tril)

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        nu, p, factor = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        normalizer = nu * (p * LOG_2 / 2 + self._log_det_factor()) + torch.mvlgamma(nu / 2, p=p)
        shape = torch.broadcast_shapes(value.shape, factor.shape)
        solved = torch.cholesky_solve(value.expand(shape), factor.expand(shape))
        trace = solved.diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        log_det = torch.linalg.slogdet(value).logabsdet
        return -normalizer + (nu - p - 1) / 2 * log_det - trace / 2

    def entropy(self) -> Any:
        nu, p = self.df, self._event_shape[-1]
        first = (p + 1) * (p * LOG_2 / 2 + self._log_det_factor()) + torch.mvlgamma(nu / 2, p=p)
        return first - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p) + nu * p / 2

    @property
    def _natural_params(self) -> tuple[Any, Any]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        p = self._event_shape[-1]
        log_det = torch.linalg.slogdet(-2 * x).logabsdet
        half = y + (p + 1) / 2
        return half * (-log_det + LOG_2 * p) + torch.mvlgamma(half, p=p)
