"""What the functions of `functional` share: tuples in and out, `strict`, zeros for None."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.autograd.backward_and_grad import grad
from funcgrad.torch.modes import no_grad

__all__ = [
    "as_tensors",
    "check_scalar_input",
    "check_strict",
    "filled",
    "gradients",
    "packed",
    "prepared",
    "returned",
    "scalar_output",
    "vector",
    "zeros_like",
]

Tensors = tuple[Tensor, ...]


def as_tensors(x: Any, what: str, function: str) -> tuple[bool, Tensors]:
    """Whether `x` is a tuple, and a tuple of tensors."""
    is_tuple = isinstance(x, tuple)
    xs = x if is_tuple else (x,)
    for i, item in enumerate(xs):
        if not isinstance(item, Tensor):
            which = f"value at index {i}" if is_tuple else f"given {what}"
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but "
                f"the {which} has type {type(item)}."
            )
    return is_tuple, xs


def packed(xs: Sequence[Any], is_tuple: bool) -> Any:
    """A tuple, or its only item."""
    return tuple(xs) if is_tuple else xs[0]


def prepared(inputs: Tensors, create_graph: bool, need_graph: bool) -> Tensors:
    """New tensors, so that those which the function closes over are told from its arguments."""
    return tuple(
        x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_(need_graph)
        for x in inputs
    )


def returned(xs: Any, create_graph: bool) -> Any:
    """Results without a history that nobody has asked for."""
    if isinstance(xs, Tensor):
        return xs if create_graph else xs.detach()
    return tuple(returned(x, create_graph) for x in xs)


def zeros_like(x: Tensor, requires_grad: bool = False) -> Tensor:
    """Zeros of the shape and dtype of `x`."""
    with no_grad():
        made = box(np.zeros(x.shape, x.dtype.numpy))
    return made.requires_grad_(requires_grad)


def gradients(
    outputs: Sequence[Tensor | None],
    inputs: Sequence[Tensor],
    grad_outputs: Sequence[Tensor] | None = None,
    create_graph: bool = False,
    retain_graph: bool | None = None,
    is_grads_batched: bool = False,
) -> Sequence[Tensor | None]:
    """`grad` of those outputs that require grad; None for inputs that nothing depends on."""
    given = (None,) * len(outputs) if grad_outputs is None else grad_outputs
    moving = [
        (o, g) for o, g in zip(outputs, given, strict=True) if o is not None and o.requires_grad
    ]
    if not moving:
        return (None,) * len(inputs)
    return grad(
        [o for o, _ in moving],
        inputs,
        [g for _, g in moving],
        allow_unused=True,
        create_graph=create_graph,
        retain_graph=retain_graph,
        is_grads_batched=is_grads_batched,
    )


# ------------------------------------------------------------------------------- the vector


def vector(v: Any, other: Tensors, is_tuple: bool, create_graph: bool, function: str) -> Tensors:
    """The vector `v`, which has to match `other`."""
    _, vs = as_tensors(v, "v", function)
    vs = prepared(vs, create_graph, False)
    if len(other) != len(vs):
        if is_tuple:
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(other)} but got {len(vs)}."
            )
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (mine, theirs) in enumerate(zip(vs, other, strict=True)):
        if mine.shape != theirs.shape:
            entry = f"Entry {i} in " if is_tuple else ""
            raise RuntimeError(
                f"{entry}v has invalid size: should be {theirs.shape} but got {mine.shape}."
            )
    return vs


def check_scalar_input(inputs: Tensors) -> None:
    """Raise where `v` cannot be left out."""
    if len(inputs) != 1 or inputs[0].numel() != 1:
        raise RuntimeError(
            "The vector v can only be None if the input to the user-provided function is a single "
            "Tensor with a single element."
        )


def scalar_output(func: Callable[..., Any], inputs: Tensors, strict: bool, function: str) -> Tensor:
    """The output of a scalar function."""
    out = func(*inputs)
    is_tuple, outs = as_tensors(out, "outputs of the user-provided function", function)
    check_strict(outs, "outputs", strict)
    if is_tuple:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {function} should contain a single "
            "element"
        )
    return outs[0]


# ----------------------------------------------------------------------------------- strict

DEPENDS_ON_NOTHING = {
    "hessian": "The hessian of the user-provided function with respect to input {i} is independent "
    "of the input. This is not allowed in strict mode. You should ensure that your function is "
    "thrice differentiable and that the hessian depends on the inputs.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided "
    "function with respect to input {i} is independent of the input. This is not allowed in strict "
    "mode. You should ensure that your function is twice differentiable and that the jacobian "
    "depends on the inputs (this would be violated by a linear function for example).",
    "grad_inputs": "The gradient with respect to input {i} is independent of the inputs of the "
    "user-provided function. This is not allowed in strict mode.",
    "outputs": "Output {i} of the user-provided function does not require gradients. The outputs "
    "must be computed in a differentiable manner from the input when running in strict mode.",
}
MISSING = {
    "back": "The output of the user-provided function is independent of input {i}. This is not "
    "allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {i} in the "
    "grad_outputs when using the double backward trick to compute forward mode gradients. This is "
    "not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {i}. This "
    "is not allowed in strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {i} in "
    "the grad_jacobian. This is not allowed in strict mode as it prevents from using the double "
    "backward trick to replace forward mode AD.",
}
CONSTANT = {
    "double_back": "The jacobian of the user-provided function is independent of input {i}. This "
    "is not allowed in strict mode when create_graph=True.",
    "double_back_trick": "The hessian of the user-provided function is independent of input {i}. "
    "This is not allowed in strict mode when create_graph=True.",
}


def check_strict(xs: Sequence[Tensor | None], what: str, strict: bool) -> None:
    """In strict mode, raise for what does not depend on the inputs."""
    if not strict:
        return
    for i, x in enumerate(xs):
        if x is None:
            raise RuntimeError(MISSING["back"].format(i=i))
        if not x.requires_grad:
            raise RuntimeError(DEPENDS_ON_NOTHING[what].format(i=i))


def filled(
    grads: Sequence[Tensor | None],
    like: Sequence[Tensor],
    strict: bool,
    create_graph: bool,
    stage: str,
) -> list[Tensor]:
    """Zeros in the place of None; in strict mode that is an error."""
    out = []
    for i, (g, x) in enumerate(zip(grads, like, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(MISSING[stage].format(i=i))
            g = zeros_like(x)
        elif strict and create_graph and not g.requires_grad:
            if "double" not in stage:
                raise RuntimeError(CONSTANT["double_back"].format(i=i))
            raise RuntimeError(CONSTANT["double_back_trick"].format(i=i))
        out.append(g)
    return out
