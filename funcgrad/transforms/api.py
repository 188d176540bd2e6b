"""The public transforms in one place."""

from funcgrad.transforms.abstract import ShapeDtypeStruct, eval_shape, make_graph
from funcgrad.transforms.associative_scan import associative_scan
from funcgrad.transforms.checkpoint import checkpoint
from funcgrad.transforms.cond import cond
from funcgrad.transforms.custom import custom_jvp, custom_vjp
from funcgrad.transforms.grad import grad, hvp, value_and_grad
from funcgrad.transforms.jacobian import hessian, jacfwd, jacobian, jacrev
from funcgrad.transforms.jit import jit
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.linearize import linearize
from funcgrad.transforms.map import map
from funcgrad.transforms.scan import scan
from funcgrad.transforms.stop import stop_gradient
from funcgrad.transforms.switch import switch
from funcgrad.transforms.vjp import vjp
from funcgrad.transforms.vmap import vmap
from funcgrad.transforms.while_loop import fori_loop, while_loop

__all__ = [
    "ShapeDtypeStruct",
    "associative_scan",
    "checkpoint",
    "cond",
    "custom_jvp",
    "custom_vjp",
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
    "scan",
    "stop_gradient",
    "switch",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]
