"""Clipping gradients, parameters as one vector, and parameters that are functions of others."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from funcgrad.core.bfloat16 import rounded
from funcgrad.core.tracer import Tracer
from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.absent import absent
from funcgrad.torch.modes import no_grad
from funcgrad.torch.narrow import is_half
from funcgrad.torch.nn.utils import parametrizations, parametrize
from funcgrad.torch.nn.utils.fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)
from funcgrad.torch.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from funcgrad.torch.nn.utils.weight_norm import remove_weight_norm, weight_norm
from funcgrad.torch.operations.joining import cat
from funcgrad.torch.tensor_arrays import as_array

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "remove_spectral_norm",
    "remove_weight_norm",
    "skip_init",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]

Tensors = Tensor | Iterable[Tensor]


def _listed(parameters: Tensors) -> list[Tensor]:
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def _norm(x: Any, order: float) -> Any:
    """The norm in the precision of `x`; half precision, whose squares overflow, is widened."""
    kind = x.real.dtype
    wide = x.astype(np.float32) if is_half(kind) else x
    found: Any = np.linalg.norm(wide, order)  # of a compiled step it has no numbers
    return found.astype(kind) if kind.isnative else rounded(found)


def get_total_norm(
    tensors: Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors as if they were one vector."""
    given, order = _listed(tensors), float(norm_type)
    if not given:
        return box(np.zeros((), np.float32))
    with np.errstate(all="ignore"):
        norms = [_norm(as_array(g).reshape(-1), order) for g in given]
        narrow = not any(n.dtype.isnative for n in norms)  # which NumPy's stack loses
        total = _norm(rounded(norms) if narrow else np.stack(norms), order)
    if error_if_nonfinite and not np.isfinite(total):
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it "
            "cannot be clipped. To disable this error and scale the gradients by the non-finite "
            "norm anyway, set `error_if_nonfinite=False`"
        )
    return box(total if isinstance(total, Tracer) else np.asarray(total))


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients so that `total_norm` becomes at most `max_norm`, in place."""
    with np.errstate(all="ignore"):
        factor = np.minimum(max_norm / (as_array(total_norm) + 1e-6), 1.0)
        for p in _listed(parameters):
            if p.grad is not None:
                array = as_array(p.grad)
                array *= factor.astype(array.dtype)
                p.grad._t.version.count += 1


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients so that their common norm is at most `max_norm`, in place.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensors
    max_norm : float
    norm_type : float, optional
        The order of the norm; ``inf`` is the largest element.
    error_if_nonfinite : bool, optional
        Whether NaN and infinity raise.

    Returns
    -------
    Tensor
        The norm before.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> p = torch.zeros(2, requires_grad=True)
    >>> p.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm_([p], 1.0)
    tensor(5.)
    >>> p.grad
    tensor([0.6000, 0.8000])
    """
    given = _listed(parameters)
    total = get_total_norm(
        [p.grad for p in given if p.grad is not None], norm_type, error_if_nonfinite
    )
    clip_grads_with_norm_(given, max_norm, total)
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """`clip_grad_norm_`, by the name that it had before."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=outside(),
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Limit each element of the gradients to [-clip_value, clip_value], in place."""
    for p in _listed(parameters):
        if p.grad is not None:
            array = as_array(p.grad)
            np.clip(array, -float(clip_value), float(clip_value), out=array)
            p.grad._t.version.count += 1


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters one after the other, as a vector.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.utils.parameters_to_vector([torch.ones(2), torch.zeros(1)])
    tensor([1., 1., 0.])
    """
    out: Tensor = cat([p.view(-1) for p in parameters])
    return out


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the parts of a vector the contents of the parameters; they share its memory."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {_name(vec)}")
    start = 0
    with no_grad():
        for p in parameters:
            size = p.numel()
            p.data = vec[start : start + size].view_as(p).data
            start += size


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose initial values do not matter: the numbers drawn later on are as without it."""
    from funcgrad.torch.nn.modules.module import Module
    from funcgrad.torch.random import fork_rng

    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    with fork_rng():
        return module_cls(*args, **kwargs)


def _name(x: Any) -> str:
    return type(x).__name__


absent(__name__)
