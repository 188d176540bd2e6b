"""``torch.backends``: which libraries are there, and switches of those that are not.

Switches may be set, as programs do that are to run on a GPU too, and have no effect.
"""

from __future__ import annotations

from typing import Any

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]


class Backend:
    """A library: whether it is there, and its switches."""

    _name: str
    _available: bool

    def __init__(self, name: str, available: bool = False, **switches: Any) -> None:
        self.__dict__.update(switches, _name=name, _available=available)

    def is_available(self) -> bool:
        """Whether it can be used."""
        return self._available

    is_built = is_available

    def version(self) -> None:
        """Of a library that is not there: None."""
        return

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise AttributeError(f"torch.backends.{self._name} has no switch {name!r}")
        self.__dict__[name] = value

    def __repr__(self) -> str:
        return f"<torch.backends.{self._name}: {'' if self._available else 'not '}available>"


cpu = Backend("cpu", available=True)
cuda = Backend(
    "cuda",
    matmul=Backend(
        "cuda.matmul",
        allow_tf32=False,
        allow_fp16_reduced_precision_reduction=True,
        allow_bf16_reduced_precision_reduction=True,
    ),
)
cudnn = Backend(
    "cudnn", enabled=True, benchmark=False, deterministic=False, allow_tf32=True, benchmark_limit=10
)
mkl = Backend("mkl")
mkldnn = Backend("mkldnn", enabled=True)
mps = Backend("mps")
openmp = Backend("openmp")
opt_einsum = Backend("opt_einsum", enabled=False, strategy=None)
