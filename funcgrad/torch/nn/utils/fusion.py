"""A layer and the batch norm after it as one layer, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn.parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights",
]  # fmt: skip


def _check(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def _put(layer: Any, pair: tuple[Parameter, Parameter]) -> Any:
    layer.weight, layer.bias = pair
    return layer


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution with the batch norm after it in its weight and bias; `conv` is kept.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> conv, bn = torch.nn.Conv2d(1, 2, 3).eval(), torch.nn.BatchNorm2d(2).eval()
    >>> x = torch.randn(1, 1, 4, 4)
    >>> fused = torch.nn.utils.fuse_conv_bn_eval(conv, bn)
    >>> torch.allclose(fused(x), bn(conv(x)), atol=1e-6)
    True
    """
    _check(conv, bn)
    given = (conv.weight, conv.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    return _put(copy.deepcopy(conv), fuse_conv_bn_weights(*given, transpose))


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of a convolution and the batch norm after it."""
    b = bn_rm.new_zeros(bn_rm.shape) if conv_b is None else conv_b
    kind = conv_w.dtype if conv_b is None else conv_b.dtype
    shift = 0 if bn_b is None else bn_b
    factor = (bn_rv + bn_eps).rsqrt()
    scale = factor if bn_w is None else bn_w * factor
    shape = [1, -1] if transpose else [-1, 1]
    w = conv_w * scale.reshape(shape + [1] * (conv_w.dim() - 2))
    moved = (b - bn_rm) * scale + shift
    return (
        Parameter(w.to(conv_w.dtype), conv_w.requires_grad),
        Parameter(moved.to(kind), b.requires_grad),
    )


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """An affine map with the batch norm after it in its weight and bias; `linear` is kept."""
    _check(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    given = (linear.weight, linear.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight,
             bn.bias)  # fmt: skip
    return _put(copy.deepcopy(linear), fuse_linear_bn_weights(*given))


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of an affine map and the batch norm after it."""
    b = bn_rm.new_zeros(bn_rm.shape) if linear_b is None else linear_b
    kind = linear_w.dtype if linear_b is None else linear_b.dtype
    scale = bn_w * (bn_rv + bn_eps).rsqrt()
    w = linear_w * scale.unsqueeze(-1).to(linear_w.dtype)
    moved = (b - bn_rm) * scale + bn_b
    return Parameter(w, linear_w.requires_grad), Parameter(moved.to(kind), b.requires_grad)
