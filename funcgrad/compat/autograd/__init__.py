"""autograd's interface: programs written for it run by changing what they import.

``import autograd.numpy as np`` becomes ``import funcgrad.compat.autograd.numpy as np``, and
``from autograd import grad`` becomes ``from funcgrad.compat.autograd import grad``. Meanings are
autograd's where the two differ: arguments are chosen by ``argnum``, a function may return an array
of one element, and a rule for `primitive` is stated by `defvjp`. What is left is on the manual's
page about autograd.

Examples
--------
>>> import funcgrad.compat.autograd.numpy as np
>>> from funcgrad.compat.autograd import elementwise_grad, grad
>>> grad(lambda x, y: np.sum(np.tanh(x) * y), 1)(np.zeros(2), np.ones(2))
array([0., 0.])
>>> elementwise_grad(np.tanh)(np.zeros(2))
array([1., 1.])
"""

from funcgrad.compat.autograd.builtins import dict as dict  # Python's own, as in autograd
from funcgrad.compat.autograd.builtins import isinstance, type
from funcgrad.compat.autograd.builtins import list as list
from funcgrad.compat.autograd.builtins import tuple as tuple
from funcgrad.compat.autograd.differential_operators import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_jvp_reversemode,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from funcgrad.compat.autograd.extend import primitive
from funcgrad.core.boundary import suggest_names

__all__ = [
    "checkpoint",
    "deriv",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "isinstance",
    "jacobian",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "primitive",
    "tensor_jacobian_product",
    "type",
    "value_and_grad",
    "vector_jacobian_product",
]

suggest_names(__name__)
