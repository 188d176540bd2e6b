"""The public transforms in one place."""

from funcgrad.transforms.abstract import ShapeDtypeStruct, eval_shape, make_graph
from funcgrad.transforms.checkpoint import checkpoint
from funcgrad.transforms.cond import cond
from funcgrad.transforms.custom import custom_jvp, custom_vjp
from funcgrad.transforms.grad import grad, hvp, value_and_grad
from funcgrad.transforms.jacobian import hessian, jacfwd, jacobian, jacrev
from funcgrad.transforms.jit import jit
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.linearize import linearize
from funcgrad.transforms.stop import stop_gradient
from funcgrad.transforms.vjp import vjp
from funcgrad.transforms.vmap import vmap

__all__ = [
    "ShapeDtypeStruct",
    "checkpoint",
    "cond",
    "custom_jvp",
    "custom_vjp",
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
    "stop_gradient",
    "value_and_grad",
    "vjp",
    "vmap",
]
