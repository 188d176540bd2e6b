"""``torch.autograd.functional``: products with Jacobians and Hessians, and these as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.torch.autograd.functional_checks import (
    as_tensors,
    check_scalar_input,
    check_strict,
    filled,
    gradients,
    packed,
    prepared,
    returned,
    scalar_output,
    vector,
    zeros_like,
)
from funcgrad.torch.autograd.functional_jacobian import hessian, jacobian
from funcgrad.torch.modes import enable_grad, modes, set_grad_enabled

__all__ = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]

Function = Callable[..., Any]
OUTPUTS = "outputs of the user-provided function"


def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of `func`, and the product of `v` with its Jacobian.

    Parameters
    ----------
    func : callable
        Takes tensors, returns a tensor or a tuple of tensors.
    inputs : Tensor or tuple of Tensors
    v : Tensor or tuple of Tensors, optional
        Like the outputs; may be left out for a single element.
    create_graph : bool
        Whether output and product can be differentiated.
    strict : bool
        Whether independence of an input is an error, instead of a zero.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.autograd.functional.vjp(lambda x: x * x, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        is_tuple, xs = as_tensors(inputs, "inputs", "vjp")
        xs = prepared(xs, create_graph, True)
        out_is_tuple, outputs = as_tensors(func(*xs), OUTPUTS, "vjp")
        check_strict(outputs, "outputs", strict)
        vs = None
        if v is not None:
            vs = vector(v, outputs, out_is_tuple, create_graph, "vjp")
        elif len(outputs) != 1 or outputs[0].numel() != 1:
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single "
                "Tensor with a single element."
            )
    with set_grad_enabled(create_graph or modes.grad):
        found = gradients(outputs, xs, vs, create_graph)
        product = filled(found, xs, strict, create_graph, "back")
    return (
        packed(returned(outputs, create_graph), out_is_tuple),
        packed(returned(product, create_graph), is_tuple),
    )


def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of `func`, and the product of its Jacobian with `v`; see `vjp`.

    It transposes the backward pass by another one; `func.jvp` and `forward_ad` are cheaper.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.autograd.functional.jvp(lambda x: x * x, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        is_tuple, xs = as_tensors(inputs, "inputs", "jvp")
        xs = prepared(xs, create_graph, True)
        vs = None
        if v is not None:
            vs = vector(v, xs, is_tuple, create_graph, "jvp")
        else:
            check_scalar_input(xs)
        out_is_tuple, outputs = as_tensors(func(*xs), OUTPUTS, "jvp")
        check_strict(outputs, "outputs", strict)
        # the backward pass is linear in these, so their values do not matter
        cotangents = tuple(zeros_like(o, requires_grad=True) for o in outputs)
        pulled = gradients(outputs, xs, cotangents, create_graph=True)
        check_strict(pulled, "grad_inputs", strict)
    with set_grad_enabled(create_graph or modes.grad):
        found = gradients(pulled, cotangents, vs, create_graph)
        product = filled(found, outputs, strict, create_graph, "back_trick")
    return (
        packed(returned(outputs, create_graph), out_is_tuple),
        packed(returned(product, create_graph), out_is_tuple),
    )


def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of a scalar `func`, and the product of `v` with its Hessian; see `vjp`.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0])
    >>> torch.autograd.functional.vhp(lambda x: (x**3).sum(), x, v)
    (tensor(9.), tensor([6., 0.]))
    """
    with enable_grad():
        is_tuple, xs = as_tensors(inputs, "inputs", "vhp")
        xs = prepared(xs, create_graph, True)
        vs = None
        if v is not None:
            vs = vector(v, xs, is_tuple, create_graph, "vhp")
        else:
            check_scalar_input(xs)
        output = scalar_output(func, xs, strict, "vhp")
        slope = gradients((output,), xs, create_graph=True)
        check_strict(slope, "jacobian", strict)
    with set_grad_enabled(create_graph or modes.grad):
        found = gradients(slope, xs, vs, create_graph)
        product = filled(found, xs, strict, create_graph, "double_back")
    return returned(output, create_graph), packed(returned(product, create_graph), is_tuple)


def hvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of a scalar `func`, and the product of its Hessian with `v`; see `vjp`.

    `vhp` gives the same for a smooth function and is cheaper.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0])
    >>> torch.autograd.functional.hvp(lambda x: (x**3).sum(), x, v)
    (tensor(9.), tensor([6., 0.]))
    """
    with enable_grad():
        is_tuple, xs = as_tensors(inputs, "inputs", "hvp")
        xs = prepared(xs, create_graph, True)
        vs = None
        if v is not None:
            vs = vector(v, xs, is_tuple, create_graph, "hvp")
        else:
            check_scalar_input(xs)
        output = scalar_output(func, xs, strict, "hvp")
        slope = gradients((output,), xs, create_graph=True)
        check_strict(slope, "jacobian", strict)
        cotangents = tuple(zeros_like(x, requires_grad=True) for x in xs)
        pulled = gradients(slope, xs, cotangents, create_graph=True)
        check_strict(slope, "hessian", strict)
    with set_grad_enabled(create_graph or modes.grad):
        found = gradients(pulled, cotangents, vs, create_graph)
        product = filled(found, xs, strict, create_graph, "double_back_trick")
    return returned(output, create_graph), packed(returned(product, create_graph), is_tuple)
