"""Initial values of parameters, written in place without being recorded.

Random ones are drawn as PyTorch draws them, so that the same seed gives the same values.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.absent import absent
from funcgrad.torch.modes import no_grad
from funcgrad.torch.operations.creation import empty_like
from funcgrad.torch.operations.sampling import randperm
from funcgrad.torch.tensor_arrays import as_array

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]


def _written(tensor: Tensor, values: Any) -> Tensor:
    """`tensor` with new values, counted as one operation in place."""
    tensor._t.version.before_write()
    as_array(tensor)[...] = values
    tensor._t.version.count += 1
    return tensor


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform numbers in [a, b)."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Numbers of a normal distribution."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Numbers of a normal distribution, drawn again where they fall outside [a, b]."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect.",
            stacklevel=outside(),
        )
    below = [(1 + math.erf((x - mean) / (std * math.sqrt(2)))) / 2 for x in (a, b)]
    draw = _by_rejection if below[1] - below[0] > 0.3 else _by_proposals
    with no_grad():
        draw(tensor, mean, std, a, b, generator)
    return tensor


def _by_rejection(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any
) -> None:
    """Normal numbers, drawn again where they do not fit."""
    kind = tensor.dtype.numpy.type
    values = as_array(tensor.normal_(mean, std, generator=generator))
    while (bad := (values < kind(a)) | (values > kind(b))).any():
        again = as_array(empty_like(tensor).normal_(mean, std, generator=generator))
        values[bad] = again[bad]


def _by_proposals(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any
) -> None:
    """Uniform numbers, accepted in proportion to their density: where normal ones seldom fit."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    kind = tensor.dtype.numpy.type
    values = as_array(tensor)
    pending = np.ones(values.shape, bool)
    while pending.any():
        drawn = as_array(empty_like(tensor).uniform_(a, b, generator=generator))
        values[pending] = drawn[pending]
        height = ((drawn - kind(mean)) / kind(std)) ** 2 * kind(-0.5) - kind(peak)
        with np.errstate(divide="ignore"):
            level = np.log(as_array(empty_like(tensor).uniform_(generator=generator)))
        pending &= level > height
    tensor._t.version.count += 1


def constant_(tensor: Tensor, val: float) -> Tensor:
    """The same number everywhere."""
    return _written(tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    """1 everywhere."""
    return _written(tensor, 1)


def zeros_(tensor: Tensor) -> Tensor:
    """0 everywhere."""
    return _written(tensor, 0)


def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _written(tensor, np.eye(*tensor.shape))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Weights of a convolution that hands its channels on."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    shape = tuple(tensor.shape)
    if shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    values = np.zeros(shape)
    size = shape[0] // groups
    middle = tuple(n // 2 for n in shape[2:])
    for group in range(groups):
        for k in range(min(size, shape[1])):
            values[(group * size + k, k, *middle)] = 1
    return _written(tensor, values)


# ------------------------------------------------------------------- scaled by the fan


GAINS = {
    "linear": 1, "conv1d": 1, "conv2d": 1, "conv3d": 1, "conv_transpose1d": 1,
    "conv_transpose2d": 1, "conv_transpose3d": 1, "sigmoid": 1, "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0), "selu": 0.75,
}  # fmt: skip


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance through an activation.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    if nonlinearity not in GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    shape = tuple(tensor.shape)
    if len(shape) < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform numbers, scaled by both fans (Glorot and Bengio 2010)."""
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -math.sqrt(3.0) * std, math.sqrt(3.0) * std, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Normal numbers, scaled by both fans (Glorot and Bengio 2010)."""
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return normal_(tensor, 0.0, std, generator)


def _nothing(tensor: Tensor) -> bool:
    if 0 not in tensor.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=outside())
    return True


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Uniform numbers, scaled by one fan and the activation (He et al. 2015)."""
    if _nothing(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return uniform_(tensor, -math.sqrt(3.0) * std, math.sqrt(3.0) * std, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Normal numbers, scaled by one fan and the activation (He et al. 2015)."""
    if _nothing(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """A matrix with orthonormal rows or columns (Saxe et al. 2013)."""
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if not tensor.numel():
        return tensor
    rows = tensor.shape[0]
    drawn = as_array(tensor.new_empty((rows, tensor.numel() // rows)).normal_(generator=generator))
    wide = rows < drawn.shape[1]
    q, r = np.linalg.qr(drawn.T if wide else drawn)
    q *= np.sign(np.diag(r))  # makes the distribution uniform
    return _written(tensor, (q.T if wide else q).reshape(tuple(tensor.shape)) * gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Normal numbers, with a part of each column set to 0."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    normal_(tensor, 0, std, generator)
    rows, columns = tensor.shape
    array = as_array(tensor)
    for k in range(columns):
        array[as_array(randperm(rows))[: math.ceil(sparsity * rows)], k] = 0
    return tensor


def _old(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The name without an underscore that PyTorch had first."""
    name = function.__name__

    def deprecated(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(
            f"`nn.init.{name[:-1]}` is now deprecated in favor of `nn.init.{name}`.",
            FutureWarning,
            stacklevel=outside(),
        )
        return function(*args, **kwargs)

    deprecated.__name__ = deprecated.__qualname__ = name[:-1]
    deprecated.__doc__ = f"The old name of `{name}`."
    return deprecated


uniform, normal, constant = _old(uniform_), _old(normal_), _old(constant_)
eye, dirac, orthogonal, sparse = _old(eye_), _old(dirac_), _old(orthogonal_), _old(sparse_)
xavier_uniform, xavier_normal = _old(xavier_uniform_), _old(xavier_normal_)
kaiming_uniform, kaiming_normal = _old(kaiming_uniform_), _old(kaiming_normal_)

absent(__name__)
