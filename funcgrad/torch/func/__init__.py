"""``torch.func``: funcgrad's transforms for functions of tensors, under PyTorch's names."""

from funcgrad.torch.absent import absent
from funcgrad.torch.func.batching import vmap
from funcgrad.torch.func.derivatives import grad, grad_and_value, jvp, linearize, vjp
from funcgrad.torch.func.jacobians import hessian, jacfwd, jacrev
from funcgrad.torch.func.modules import (
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]

absent(__name__)
