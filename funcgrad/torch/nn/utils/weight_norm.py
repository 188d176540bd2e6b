"""A weight as a length times a direction, by a hook before each call: PyTorch's older way.

The product itself is also what `parametrizations.weight_norm` computes.
"""

from __future__ import annotations

import warnings
from typing import Any

from funcgrad.core.types import Array
from funcgrad.errors import outside
from funcgrad.ops import arithmetic as a
from funcgrad.ops import sums
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.nn.parameter import Parameter, is_lazy
from funcgrad.torch.operations.common import boxed, computed, shape_of, widened
from funcgrad.torch.operations.promotion import content
from funcgrad.torch.operations.record import node

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


def _length(v: Array, dim: int) -> Array:
    """The norm over all dimensions but one, or over all for -1."""
    axes = tuple(k for k in range(len(shape_of(v))) if k != dim)
    return a.sqrt(sums.sum(a.multiply(v, v), axes, dim != -1))


def _scaled(v: Array, g: Array, dim: int) -> Array:
    return a.multiply(v, a.divide(g, _length(v, dim)))


LENGTH = Composite("norm_except_dim", widened(_length))
SCALED = Composite("weight_norm", widened(_scaled))
ALONG_AN_END = node("WeightNormInterface", "v g")
PRODUCT = node("Mul", "self other")


def length_of(v: Tensor, dim: int) -> Tensor:
    """The norm of `v` over all dimensions but `dim`, which stay with extent 1; -1: over all."""
    x = content(v, "norm_except_dim")
    check_dim(len(shape_of(x)), dim)
    return boxed(computed(LENGTH, x, dim=dim), node("NormExceptDim", "self"))


def check_dim(rank: int, dim: int) -> None:
    """Raise for a dimension that there is not; -1 stands for none."""
    if not -1 <= dim < max(rank, 1):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got "
            f"{dim})"
        )


def scaled_direction(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """``g · v / ‖v‖``, with a norm for each place of the dimension `dim`."""
    x, length = content(v, "weight_norm"), content(g, "weight_norm", "g", 2)
    rank = len(shape_of(x))
    found: Any = computed(SCALED, x, length, dim=dim)
    return boxed(found, ALONG_AN_END if dim in (0, rank - 1) else PRODUCT)


def refuse_lazy(weight: Any, hook: str, what: str) -> None:
    """Raise for a weight that has no shape as yet."""
    if is_lazy(weight):
        raise ValueError(
            f"The module passed to `{hook}` can't have uninitialized parameters. Make sure to run "
            f"the dummy forward before applying {what} normalization"
        )


class WeightNorm:
    """The hook: it computes the weight `name` from ``name_g`` and ``name_v``."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """The weight."""
        g, v = (getattr(module, f"{self.name}_{which}") for which in "gv")
        return scaled_direction(v, g, self.dim)

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        for which in "gv":
            delattr(module, f"{self.name}_{which}")
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Let a weight be a length ``weight_g`` times a direction ``weight_v``.

    PyTorch has given it up for `parametrizations.weight_norm`.

    Raises
    ------
    RuntimeError
        The weight has such a hook.
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of "
        "`torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=outside(),
    )
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, WeightNorm) and hook.name == name:
            raise RuntimeError(
                f"Cannot register two weight_norm hooks on the same parameter {name}"
            )
    made, weight = WeightNorm(name, dim), getattr(module, name)
    refuse_lazy(weight, "WeightNorm", "weight")
    length = length_of(weight, made.dim)
    del module._parameters[name]
    module.register_parameter(f"{name}_g", Parameter(length.data))
    module.register_parameter(f"{name}_v", Parameter(weight.data))
    setattr(module, name, made.compute_weight(module))
    module.register_forward_pre_hook(made)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Make a weight a parameter again.

    Raises
    ------
    ValueError
        It has no such hook.
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
