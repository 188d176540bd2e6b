"""funcgrad differentiates ordinary NumPy code.

`grad`, `vjp`, `jvp`, `vmap`, `hessian`, `jit` and their kin transform pure functions of NumPy
arrays; `funcgrad.numpy` is NumPy's namespace for them, and plain `np.*` calls work as well.
`funcgrad.torch` is PyTorch's stateful autograd; it is imported when it is first asked for.
"""

from typing import Any

from funcgrad import errors, numpy, tree
from funcgrad.config import config
from funcgrad.core.tracer import value
from funcgrad.errors import CaptureWarning
from funcgrad.transforms.api import (
    ShapeDtypeStruct,
    checkpoint,
    cond,
    custom_jvp,
    custom_vjp,
    eval_shape,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jit,
    jvp,
    linearize,
    make_graph,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)

__version__ = "0.1.0"
__all__ = [
    "CaptureWarning",
    "ShapeDtypeStruct",
    "checkpoint",
    "cond",
    "config",
    "custom_jvp",
    "custom_vjp",
    "errors",
    "eval_shape",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linearize",
    "make_graph",
    "numpy",
    "stop_gradient",
    "tree",
    "value",
    "value_and_grad",
    "vjp",
    "vmap",
]


def __getattr__(name: str) -> Any:
    """`funcgrad.torch` and `funcgrad.Tensor`, on first use."""
    if name in ("Tensor", "torch"):
        import importlib

        torch = importlib.import_module("funcgrad.torch")
        return torch if name == "torch" else torch.Tensor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
