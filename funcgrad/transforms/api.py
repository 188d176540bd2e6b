"""The public transforms in one place."""

from funcgrad.transforms.abstract import ShapeDtypeStruct, eval_shape, make_graph, typeof
from funcgrad.transforms.associative_scan import associative_scan
from funcgrad.transforms.callback import io_callback, pure_callback
from funcgrad.transforms.checkpoint import checkpoint
from funcgrad.transforms.closures import closure_convert, custom_gradient
from funcgrad.transforms.cond import cond
from funcgrad.transforms.custom import custom_jvp, custom_vjp
from funcgrad.transforms.custom_vmap import custom_vmap
from funcgrad.transforms.devices import (
    block_until_ready,
    device_get,
    device_put,
    effects_barrier,
    platform_dependent,
)
from funcgrad.transforms.direct import disable_jit
from funcgrad.transforms.fwd_and_bwd import fwd_and_bwd
from funcgrad.transforms.grad import grad, hvp, value_and_grad
from funcgrad.transforms.implicit import custom_linear_solve, custom_root
from funcgrad.transforms.jacobian import hessian, jacfwd, jacobian, jacrev
from funcgrad.transforms.jet import jet
from funcgrad.transforms.jit import jit
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.linear_transpose import linear_transpose
from funcgrad.transforms.linearize import linearize
from funcgrad.transforms.map import map
from funcgrad.transforms.policies import checkpoint_name, checkpoint_policies
from funcgrad.transforms.products import fvp, gnvp
from funcgrad.transforms.scan import scan
from funcgrad.transforms.scopes import named_call, named_scope
from funcgrad.transforms.stop_gradient import stop_gradient
from funcgrad.transforms.switch import switch
from funcgrad.transforms.vjp import vjp
from funcgrad.transforms.vmap import vmap
from funcgrad.transforms.while_loop import fori_loop, while_loop

__all__ = [
    "ShapeDtypeStruct",
    "associative_scan",
    "block_until_ready",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "closure_convert",
    "cond",
    "custom_gradient",
    "custom_jvp",
    "custom_linear_solve",
    "custom_root",
    "custom_vjp",
    "custom_vmap",
    "device_get",
    "device_put",
    "disable_jit",
    "effects_barrier",
    "eval_shape",
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
    "platform_dependent",
    "pure_callback",
    "scan",
    "stop_gradient",
    "switch",
    "typeof",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]
