"""funcgrad differentiates ordinary NumPy code.

`grad`, `vjp`, `jvp`, `vmap`, `hessian`, `jit` and their kin transform pure functions of NumPy
arrays; `funcgrad.numpy` is NumPy's namespace for them, and plain `np.*` calls work as well.
`funcgrad.torch` is PyTorch's stateful autograd; it is imported when it is first asked for.
"""

import importlib
from typing import TYPE_CHECKING, Any

try:
    from funcgrad.config import config
except ValueError as _error:  # of an environment variable: the line is that of the import
    _error.__traceback__ = None
    raise
import funcgrad.scipy.dispatch as _scipy  # not `from`, which asks the package for a name first
from funcgrad import errors, numpy, tree
from funcgrad.core import boundary as _boundary
from funcgrad.core import warned as _warned
from funcgrad.core.tracer import value
from funcgrad.errors import CaptureWarning
from funcgrad.numpy.at import at, ds
from funcgrad.numpy.patch import patch_numpy
from funcgrad.numpy.support import Support, supports
from funcgrad.transforms.api import (
    ShapeDtypeStruct,
    associative_scan,
    block_until_ready,
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    closure_convert,
    cond,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    custom_vmap,
    device_get,
    device_put,
    disable_jit,
    effects_barrier,
    eval_shape,
    fori_loop,
    fvp,
    fwd_and_bwd,
    gnvp,
    grad,
    hessian,
    hvp,
    io_callback,
    jacfwd,
    jacobian,
    jacrev,
    jet,
    jit,
    jvp,
    linear_transpose,
    linearize,
    make_graph,
    map,
    named_call,
    named_scope,
    pure_callback,
    scan,
    stop_gradient,
    switch,
    typeof,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)
from funcgrad.transforms.api import checkpoint as remat
from funcgrad.transforms.arguments import float0

_scipy.install()
_warned.install()

__version__ = "0.1.0"
__all__ = [
    "CaptureWarning",
    "ShapeDtypeStruct",
    "Support",
    "associative_scan",
    "at",
    "block_until_ready",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "closure_convert",
    "cond",
    "config",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "custom_vmap",
    "device_get",
    "device_put",
    "disable_jit",
    "ds",
    "effects_barrier",
    "errors",
    "eval_shape",
    "float0",
    "fori_loop",
    "fvp",
    "fwd_and_bwd",
    "gnvp",
    "grad",
    "hessian",
    "hvp",
    "io_callback",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jet",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "make_graph",
    "map",
    "named_call",
    "named_scope",
    "numpy",
    "patch_numpy",
    "pure_callback",
    "remat",
    "scan",
    "stop_gradient",
    "supports",
    "switch",
    "tree",
    "typeof",
    "value",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]


# Modules that are imported when they are first asked for.
_LATER = (
    "compat",
    "debug",
    "extend",
    "flatten_util",
    "image",
    "lax",
    "nn",
    "optim",
    "random",
    "scipy",
    "testing",
    "torch",
    "tree_util",
)

if TYPE_CHECKING:  # so that a checker knows these names, and no others
    from funcgrad import compat as compat
    from funcgrad import debug as debug
    from funcgrad import extend as extend
    from funcgrad import flatten_util as flatten_util
    from funcgrad import image as image
    from funcgrad import lax as lax
    from funcgrad import nn as nn
    from funcgrad import optim as optim
    from funcgrad import random as random
    from funcgrad import scipy as scipy
    from funcgrad import testing as testing
    from funcgrad import torch as torch
    from funcgrad import tree_util as tree_util
    from funcgrad.torch import Tensor as Tensor
else:

    @_boundary.lookup
    def __getattr__(name: str) -> Any:
        """The modules that are imported on first use, and `funcgrad.Tensor`."""
        if name in _LATER:
            return importlib.import_module(f"funcgrad.{name}")
        if name == "Tensor":
            return importlib.import_module("funcgrad.torch").Tensor
        hint = errors.nearest(name, __dir__())
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    """What is public, whatever has been imported."""
    return sorted({*__all__, *_LATER, "Tensor", "__version__"})


_boundary.publish("funcgrad.tree")
_boundary.bound_names(__name__)
