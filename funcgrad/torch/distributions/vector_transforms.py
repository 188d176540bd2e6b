"""Changes of variables of vectors and of matrices."""

from __future__ import annotations

import math
from typing import Any

import funcgrad.torch as torch
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions.elementwise_transforms import _clipped_sigmoid
from funcgrad.torch.distributions.transform_base import TOO_FEW, Transform
from funcgrad.torch.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from funcgrad.torch.nn.functional import logsigmoid, pad, softplus

__all__ = [
    "CorrCholeskyTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "SoftmaxTransform",
    "StickBreakingTransform",
]


class CorrCholeskyTransform(Transform):
    """Vectors to the Cholesky factors of correlation matrices (Lewandowski et al. 2009)."""

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        x = torch.tanh(x)
        eps = torch.finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + torch.eye(r.shape[-1], dtype=r.dtype)
        return r * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        left = 1 - torch.cumsum(y * y, dim=-1)
        shifted = pad(left[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(shifted, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        sticks = 0.5 * left.log().sum(-1)
        return sticks - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(dim=-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError(TOO_FEW)
        n = shape[-1]
        d = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if d * (d - 1) // 2 != n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (d, d)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise ValueError(TOO_FEW)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        d = shape[-1]
        return shape[:-2] + (d * (d - 1) // 2,)


class SoftmaxTransform(Transform):
    """y = softmax(x), which has no inverse; going back gives the logarithms."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    _same = True

    def _call(self, x: Any) -> Any:
        probs = (x - x.max(-1, True)[0]).exp()
        return probs / probs.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError(TOO_FEW)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """Vectors to probabilities, of which there is one more: each takes its part of the rest."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True
    _same = True

    def _call(self, x: Any) -> Any:
        z = _clipped_sigmoid(x - _offset(x, x.shape[-1]).log())
        left = (1 - z).cumprod(-1)
        return pad(z, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        inner = y[..., :-1]
        rest = 1 - inner.cumsum(-1)
        rest = torch.clamp(rest, min=torch.finfo(y.dtype).tiny)
        return inner.log() - rest.log() + _offset(y, inner.shape[-1]).log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - _offset(x, x.shape[-1]).log()
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError(TOO_FEW)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError(TOO_FEW)
        return shape[:-1] + (shape[-1] - 1,)


def _offset(x: Tensor, count: int) -> Any:
    """How many pieces are left: n, n-1 … 1."""
    return torch.arange(count, 0, -1, dtype=x.dtype)


class LowerCholeskyTransform(Transform):
    """Matrices to lower triangular ones with a positive diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky
    _same = True

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Matrices to positive definite ones."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite
    _same = True

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))
