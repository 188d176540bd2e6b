"""Activations as modules: `nn.functional`'s functions with their arguments kept."""

from __future__ import annotations

from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn import functional as F
from funcgrad.torch.nn.modules.module import Module
from funcgrad.torch.nn.parameter import Parameter
from funcgrad.torch.operations.creation import empty

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class Activation(Module):
    """A function of one tensor with keyword arguments, which are attributes and are shown."""

    function: Any

    def __init__(self, **arguments: Any) -> None:
        super().__init__()
        self._arguments = tuple(arguments)
        self.__dict__.update(arguments)

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        own = self.__dict__
        out: Tensor = self.function(input, **{name: own[name] for name in self._arguments})
        return out

    def extra_repr(self) -> str:
        """The arguments; `inplace` only where it holds."""
        shown = [(n, getattr(self, n)) for n in self._arguments]
        return ", ".join(f"{n}={v!r}" for n, v in shown if n != "inplace" or v)


class ReLU(Activation):
    """``max(x, 0)``."""

    function = staticmethod(F.relu)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class ReLU6(Activation):
    """`x` limited to [0, 6]."""

    function = staticmethod(F.relu6)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class LeakyReLU(Activation):
    """`x` above 0, ``negative_slope * x`` else."""

    function = staticmethod(F.leaky_relu)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(negative_slope=negative_slope, inplace=inplace)


class Threshold(Activation):
    """`x` above the threshold, `value` else."""

    function = staticmethod(F.threshold)

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(threshold=threshold, value=value, inplace=inplace)


class RReLU(Activation):
    """`x` above 0, a slope times `x` else: random while training, the mean of its bounds else."""

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__(lower=lower, upper=upper, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(Activation):
    """`x` limited to [min_val, max_val]."""

    function = staticmethod(F.hardtanh)

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__(min_val=min_val, max_val=max_val, inplace=inplace)


class Hardsigmoid(Activation):
    """``(x + 3) / 6``, limited to [0, 1]."""

    function = staticmethod(F.hardsigmoid)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class Hardswish(Activation):
    """``x * hardsigmoid(x)``."""

    function = staticmethod(F.hardswish)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class Hardshrink(Activation):
    """`x` outside [-lambd, lambd], 0 within."""

    function = staticmethod(F.hardshrink)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)

    def extra_repr(self) -> str:
        """The bound."""
        return f"{self.lambd}"


class Softshrink(Activation):
    """`x` moved towards 0 by `lambd`."""

    function = staticmethod(F.softshrink)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)

    def extra_repr(self) -> str:
        """The bound."""
        return f"{self.lambd}"


class ELU(Activation):
    """`x` above 0, ``alpha * (exp(x) - 1)`` else."""

    function = staticmethod(F.elu)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha, inplace=inplace)


class SELU(Activation):
    """The scaled `ELU` of self-normalising networks."""

    function = staticmethod(F.selu)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class CELU(Activation):
    """`x` above 0, ``alpha * (exp(x / alpha) - 1)`` else."""

    function = staticmethod(F.celu)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha, inplace=inplace)


class Sigmoid(Activation):
    """``1 / (1 + exp(-x))``."""

    function = staticmethod(F.sigmoid)


class LogSigmoid(Activation):
    """``log(sigmoid(x))``, without overflow."""

    function = staticmethod(F.logsigmoid)


class Tanh(Activation):
    """The hyperbolic tangent."""

    function = staticmethod(F.tanh)


class Tanhshrink(Activation):
    """``x - tanh(x)``."""

    function = staticmethod(F.tanhshrink)


class Softsign(Activation):
    """``x / (1 + |x|)``."""

    function = staticmethod(F.softsign)


class Softplus(Activation):
    """``log(1 + exp(beta x)) / beta``."""

    function = staticmethod(F.softplus)

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__(beta=beta, threshold=threshold)


class GELU(Activation):
    """`x` times the normal distribution function of `x`."""

    function = staticmethod(F.gelu)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__(approximate=approximate)


class SiLU(Activation):
    """``x * sigmoid(x)``."""

    function = staticmethod(F.silu)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class Mish(Activation):
    """``x * tanh(softplus(x))``."""

    function = staticmethod(F.mish)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class GLU(Activation):
    """The first half along a dimension times the sigmoid of the second."""

    function = staticmethod(F.glu)

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim=dim)


class Softmax(Activation):
    """``exp(x) / sum(exp(x))`` along a dimension."""

    function = staticmethod(F.softmax)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim=dim)


class Softmin(Activation):
    """`Softmax` of ``-x``."""

    function = staticmethod(F.softmin)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim=dim)


class LogSoftmax(Activation):
    """The logarithm of `Softmax`."""

    function = staticmethod(F.log_softmax)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim=dim)


class PReLU(Module):
    """`x` above 0, ``weight * x`` else, with a weight for each channel or one that is learned."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty(num_parameters, dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to its beginning."""
        self.weight.data.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """The number of weights."""
        return f"num_parameters={self.num_parameters}"
