"""Layers that take the size of their input from the first call: `LazyLinear` and its kin."""

from __future__ import annotations

from typing import Any, ClassVar

from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.modes import no_grad
from funcgrad.torch.nn.modules.channels import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from funcgrad.torch.nn.modules.convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from funcgrad.torch.nn.modules.linear import Linear
from funcgrad.torch.nn.modules.module import Module
from funcgrad.torch.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from funcgrad.torch.operations.creation import tensor

__all__ = [
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
    "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear",
]  # fmt: skip


class LazyModuleMixin(Module):
    """What makes a module lazy: its first call gives the parameters their shapes.

    A subclass defines `initialize_parameters`, which is called with what the module is called with
    and materialises what is uninitialized; then the module becomes one of `cls_to_become`.
    """

    cls_to_become: ClassVar[type[Module] | None] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self.register_load_state_dict_pre_hook(_shaped_by_state)
        self._initialize_hook = self.register_forward_pre_hook(_shaped_by_input, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """To be overridden: materialise the parameters for such an input."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape as yet."""
        return any(map(is_lazy, [*self._parameters.values(), *self._buffers.values()]))


def _shaped_by_state(module: Any, state: Any, prefix: str, *rest: Any) -> None:
    """Give parameters the shapes that they have in a state which is loaded."""
    for name, x in [*module._parameters.items(), *module._buffers.items()]:
        given = state.get(prefix + name)
        if is_lazy(x) and isinstance(given, Tensor) and not is_lazy(given):
            with no_grad():
                x.materialize(given.shape)


def _shaped_by_input(module: Any, args: Any, kwargs: Any) -> None:
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
    for name in ("_initialize_hook", "_load_hook"):
        getattr(module, name).remove()
        delattr(module, name)
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become


class LazyLinear(LazyModuleMixin, Linear):
    """`Linear` whose `in_features` are those of the first input.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> layer = torch.nn.LazyLinear(2)
    >>> layer.weight
    <UninitializedParameter>
    >>> layer(torch.ones(4, 3)).shape, layer
    (torch.Size([4, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the weight and the bias anew, once they have shapes."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Give the weight and the bias their shapes."""
        n = int(input.shape[-1])
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = n
                self.weight.materialize((self.out_features, n))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            if n != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {n} is not equal to in_features from "
                    f"self.weight: {self.weight.shape[-1]}"
                )
            self.in_features = n


# -------------------------------------------------------------------------------- convolutions


class LazyConvolution(LazyModuleMixin):
    """What the lazy convolutions of all ranks share."""

    rank: ClassVar[int]
    transposed: ClassVar[bool]

    def _make(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any,
              padding: Any, dilation: Any, groups: int, bias: bool, padding_mode: str,
              output_padding: Any, device: Any, dtype: Any) -> None:  # fmt: skip
        super()._make(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode,  # type: ignore[misc]
                      output_padding, device, dtype)  # fmt: skip
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the weight and the bias anew, once they have shapes."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Give the weight and the bias their shapes."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = channels = self._channels_of(input)
        if channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        first, second = self.out_channels, channels
        if self.transposed:
            first, second = second, first
        self.weight.materialize((first, second // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _channels_of(self, input: Tensor) -> int:
        if input.dim() not in (self.rank + 1, self.rank + 2):
            raise RuntimeError(
                f"Expected {self.rank + 1}D (unbatched) or {self.rank + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return int(input.shape[-self.rank - 1])


def _lazy_convolution(base: Any) -> Any:
    """A lazy layer: `base` without its first argument."""

    def init(self: Any, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        super(made, self).__init__(0, out_channels, kernel_size, *args, **kwargs)

    members = {
        "__init__": init, "cls_to_become": base, "__module__": __name__,
        "__doc__": f"`{base.__name__}` whose `in_channels` are those of the first input.",
    }  # fmt: skip
    made: Any = type(f"Lazy{base.__name__}", (LazyConvolution, base), members)
    return made


LazyConv1d, LazyConv2d, LazyConv3d = map(_lazy_convolution, (Conv1d, Conv2d, Conv3d))
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = map(
    _lazy_convolution, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
)

# --------------------------------------------------------------------------------------- norms


class LazyNorm(LazyModuleMixin):
    """What the lazy norms of all ranks share."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        made = {"device": device, "dtype": dtype}
        if self.affine:
            self.weight = UninitializedParameter(**made)
            if bias:
                self.bias = UninitializedParameter(**made)
        if self.track_running_stats:
            self.running_mean: Any = UninitializedBuffer(**made)
            self.running_var: Any = UninitializedBuffer(**made)
            self.num_batches_tracked = tensor(0, dtype=dtypes.int64)

    def reset_parameters(self) -> None:
        """The weight to 1, the bias to 0, and the statistics as at first, once there are shapes."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor) -> None:
        """Give the parameters and statistics their shapes."""
        if not self.has_uninitialized_params():
            return
        self.num_features = int(input.shape[1])
        for x in (self.weight, self.bias, self.running_mean, self.running_var):
            if x is not None:
                x.materialize((self.num_features,))
        self.reset_parameters()


def _lazy_norm(base: Any) -> Any:
    members = {
        "cls_to_become": base, "__module__": __name__,
        "__doc__": f"`{base.__name__}` whose `num_features` are those of the first input.",
    }  # fmt: skip
    made: Any = type(f"Lazy{base.__name__}", (LazyNorm, base), members)
    return made


LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = map(
    _lazy_norm, (BatchNorm1d, BatchNorm2d, BatchNorm3d)
)
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = map(
    _lazy_norm, (InstanceNorm1d, InstanceNorm2d, InstanceNorm3d)
)
