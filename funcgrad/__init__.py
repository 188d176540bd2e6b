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
from funcgrad.numpy.patch import patch_numpy
from funcgrad.numpy.support import Support, supports
from funcgrad.scipy import dispatch as _scipy
from funcgrad.transforms.api import (
    ShapeDtypeStruct,
    associative_scan,
    checkpoint,
    cond,
    custom_jvp,
    custom_vjp,
    eval_shape,
    fori_loop,
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
    map,
    scan,
    stop_gradient,
    switch,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)

_scipy.install()

__version__ = "0.1.0"
__all__ = [
    "CaptureWarning",
    "ShapeDtypeStruct",
    "Support",
    "associative_scan",
    "checkpoint",
    "cond",
    "config",
    "custom_jvp",
    "custom_vjp",
    "errors",
    "eval_shape",
    "fori_loop",
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
    "map",
    "numpy",
    "patch_numpy",
    "scan",
    "stop_gradient",
    "supports",
    "switch",
    "tree",
    "value",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]


def __getattr__(name: str) -> Any:
    """`funcgrad.torch` and `funcgrad.Tensor`, on first use."""
    if name in ("Tensor", "torch"):
        import importlib

        torch = importlib.import_module("funcgrad.torch")
        return torch if name == "torch" else torch.Tensor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
