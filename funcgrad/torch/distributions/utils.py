"""What the distributions share: broadcasting of parameters, probabilities and logits."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import funcgrad.torch as torch
from funcgrad.ops.arithmetic import cast
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.operations.distributions import draw_cauchy, draw_exponential
from funcgrad.torch.operations.sampling import Draw, drawn

__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits",
    "tril_matrix_to_vec", "vec_to_tril_matrix",
]  # fmt: skip

EULER = 0.5772156649015329
NUMBERS = (int, float, complex)
ONE_OF_TWO = "Either `probs` or `logits` must be specified, but not both."


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """The values as tensors of one shape; numbers take the dtype of the first tensor."""
    if not all(isinstance(v, (Tensor, *NUMBERS)) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects "
            "implementing __torch_function__."
        )
    kinds = [v.dtype for v in values if isinstance(v, Tensor)]
    kind = kinds[0] if kinds else torch.get_default_dtype()
    tensors = [v if isinstance(v, Tensor) else torch.tensor(v, dtype=kind) for v in values]
    return tuple(torch.broadcast_tensors(*tensors))


def standard_normal(shape: Any, like: Tensor) -> Tensor:
    """New normal numbers in the dtype of a parameter."""
    made: Tensor = torch.randn(shape, dtype=like.dtype)
    return made


def uniform_numbers(shape: Any, like: Tensor) -> Tensor:
    """New uniform numbers in the dtype of a parameter."""
    made: Tensor = torch.rand(shape, dtype=like.dtype)
    return made


def sum_rightmost(value: Any, dims: int) -> Any:
    """The sum over the last dimensions."""
    if dims == 0:
        return value
    return value.reshape((*value.shape[:-dims], -1)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Any:
    """Probabilities of (unnormalised) logarithms; of log-odds if there are two outcomes."""
    return torch.sigmoid(logits) if is_binary else torch.nn.functional.softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Any:
    """Probabilities that are neither 0 nor 1."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Any:
    """Logarithms of probabilities; log-odds if there are two outcomes."""
    inner = clamp_probs(probs)
    if is_binary:
        return torch.log(inner) - torch.log1p(-inner)
    return torch.log(inner)


class _Lazy:
    """A value that is computed when it is asked for first, and recorded even under `no_grad`."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def lazy_property(wrapped: Callable[[Any], Any]) -> Any:
    """A property whose value is kept in the instance."""
    return _Lazy(wrapped)


def is_lazy(owner: type, name: str) -> bool:
    """Whether an attribute is computed on demand."""
    return isinstance(getattr(owner, name, None), _Lazy)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Any:
    """The elements on and below a diagonal, row by row."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = _places(n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Any:
    """The lower triangular matrices with these elements; see `tril_matrix_to_vec`."""
    shift = 1 + 2 * diag
    size = (-shift + (shift**2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if abs(round(size) - size) > torch.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the "
            "lower triangular part of a square D x D matrix."
        )
    n = round(size)
    made = torch.zeros((*vec.shape[:-1], n * n), dtype=vec.dtype)
    rows, columns = _places(n, diag)
    where = (rows * n + columns).expand(vec.shape)
    return made.scatter(-1, where, vec).reshape((*vec.shape[:-1], n, n))


def _places(n: int, diag: int) -> Any:
    return torch.tril_indices(n, n, diag).unbind()


def log_of(x: Any) -> Any:
    """The logarithm of a tensor or of a number."""
    return x.log() if isinstance(x, Tensor) else math.log(x)


def exponential_numbers(shape: Any, like: Tensor) -> Tensor:
    """New numbers of the exponential distribution of rate 1."""
    return _numbers(draw_exponential(1.0), shape, like)


def cauchy_numbers(shape: Any, like: Tensor) -> Tensor:
    """New numbers of the standard Cauchy distribution."""
    return _numbers(draw_cauchy(0.0, 1.0), shape, like)


def _numbers(draw: Draw, shape: Any, like: Tensor) -> Tensor:
    kind = like.dtype.numpy
    return box(cast(drawn(draw, None, tuple(shape), kind), kind))
