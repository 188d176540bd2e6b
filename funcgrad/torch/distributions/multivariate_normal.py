"""Normal distributions of vectors."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import funcgrad.torch as torch
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.distribution import Distribution
from funcgrad.torch.distributions.utils import lazy_property, standard_normal

__all__ = ["MultivariateNormal"]


def batch_mv(matrices: Any, vectors: Any) -> Any:
    """Products of matrices with vectors."""
    return torch.matmul(matrices, vectors.unsqueeze(-1)).squeeze(-1)


def batch_mahalanobis(factor: Any, x: Any) -> Any:
    """The squares of the lengths of factor⁻¹ x, the factor lower triangular.

    What is broadcast stays so: vectors that share a factor are solved for together.
    """
    shape = torch.broadcast_shapes(factor.shape[:-2], x.shape[:-1])
    shared = all(n == 1 for n in factor.shape[:-2])
    if shared:
        n = factor.shape[-1]
        rows = x.expand((*shape, n)).reshape(-1, n)
        z = torch.linalg.solve_triangular(factor.reshape(n, n), rows.mT, upper=False)
        return z.pow(2).sum(-2).reshape(shape)
    z = torch.linalg.solve_triangular(factor, x.unsqueeze(-1), upper=False)
    return z.squeeze(-1).pow(2).sum(-1)


def log_diagonal(factor: Any) -> Any:
    """The logarithms of determinants of triangular matrices."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def precision_to_scale_tril(precision: Any) -> Any:
    """The Cholesky factor of the inverse, without the inverse."""
    turned = torch.linalg.cholesky(torch.flip(precision, (-2, -1)))
    inverse = torch.transpose(torch.flip(turned, (-2, -1)), -2, -1)
    identity = torch.eye(precision.shape[-1], dtype=precision.dtype)
    return torch.linalg.solve_triangular(inverse, identity, upper=False)


class MultivariateNormal(Distribution):
    """Normal vectors of mean `loc`, shape (..., n), given one of three matrices (..., n, n).

    Parameters
    ----------
    loc : Tensor, shape (..., n)
    covariance_matrix, precision_matrix, scale_tril : Tensor, shape (..., n, n)
        The covariance, its inverse, or its Cholesky factor, with which no decomposition is needed.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> d = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    >>> d.log_prob(torch.zeros(2)), d.sample((3,)).shape
    (tensor(-1.8379), torch.Size([3, 2]))
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True
    _kept = ("_unbroadcasted_scale_tril",)

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None,
        scale_tril: Any = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {
            "scale_tril": scale_tril, "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
        }  # fmt: skip
        found = {k: m for k, m in given.items() if m is not None}
        if len(found) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        ((name, matrix),) = found.items()
        if matrix.dim() < 2:
            what = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(
                f"{what} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = FACTORS[name](matrix)

    def _square(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance."""
        return self._square(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return self._square(torch.matmul(factor, factor.mT))

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        factor = self._unbroadcasted_scale_tril
        identity = torch.eye(factor.shape[-1], dtype=factor.dtype)
        return self._square(torch.cholesky_solve(identity, factor))

    @property
    def mean(self) -> Any:
        return self.loc

    mode = mean

    @property
    def variance(self) -> Any:
        squares = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squares.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        eps = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + batch_mv(self._unbroadcasted_scale_tril, eps)

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        factor = self._unbroadcasted_scale_tril
        distance = batch_mahalanobis(factor, value - self.loc)
        whole = self._event_shape[0] * math.log(2 * math.pi) + distance
        return -0.5 * whole - log_diagonal(factor)

    def entropy(self) -> Any:
        half = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        found = half + log_diagonal(self._unbroadcasted_scale_tril)
        return found.expand(self._batch_shape) if self._batch_shape else found


FACTORS: dict[str, Any] = {
    "scale_tril": lambda m: m,
    "covariance_matrix": lambda m: torch.linalg.cholesky(m),
    "precision_matrix": precision_to_scale_tril,
}
