"""Jacobians for `gradcheck`: by finite differences, and by backward and forward passes.

A Jacobian is a NumPy matrix with one row for each element of the input and one column for each
element of the output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.autograd import forward_ad
from funcgrad.torch.autograd.backward_and_grad import grad
from funcgrad.torch.tensor_arrays import as_array

__all__ = [
    "GradcheckError",
    "as_tuple",
    "backward_jacobian",
    "difference",
    "directional_difference",
    "floating",
    "forward_jacobians",
    "moving",
    "numerical_jacobian",
    "values",
]

Matrix = np.ndarray[Any, Any]
Function = Callable[..., Any]


class GradcheckError(RuntimeError):
    """A derivative is not what finite differences say, or has the wrong type or size."""


def as_tuple(x: Any) -> tuple[Any, ...]:
    """Outputs or inputs as a tuple."""
    return x if isinstance(x, tuple) else tuple(x) if isinstance(x, list) else (x,)


def moving(inputs: Sequence[Any]) -> list[int]:
    """The places of the inputs that require grad."""
    return [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]


def floating(x: Any) -> bool:
    """Whether `x` is a tensor that can have a derivative."""
    return isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())


def values(x: Tensor) -> Matrix:
    """The elements of a tensor, in one dimension."""
    return np.array(as_array(x.detach())).reshape(-1)


# -------------------------------------------------------------------------- finite differences


def difference(
    fn: Function, inputs: Sequence[Any], change: Callable[[float], None], eps: float, where: str
) -> list[Matrix]:
    """The central difference of each output; ``change(s)`` moves an input by `s` steps."""

    def run(steps: float) -> list[Tensor]:
        change(steps)
        return [o.clone() for o in as_tuple(fn(*inputs))]

    try:
        low, high = run(-1.0), run(1.0)
    finally:
        change(0.0)
    out = []
    for a, b in zip(low, high, strict=True):
        for what, one, two in (("shape", a.shape, b.shape), ("dtype", a.dtype, b.dtype)):
            if one != two:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are "
                    f"perturbed {where}by {eps}, but got: {what}s {one} and {two}."
                )
        out.append((values(b) - values(a)) / (2 * eps))
    return out


def _directions(x: Tensor) -> tuple[complex, ...]:
    return (1.0, 1j) if x.is_complex() else (1.0,)


def numerical_jacobian(
    fn: Function, inputs: Sequence[Any], place: int, outputs: Sequence[Tensor], eps: float
) -> list[Matrix]:
    """The Jacobians of all outputs with respect to one input, each element moved by itself.

    For a complex input it is the conjugate Wirtinger derivative.
    """
    x = inputs[place]
    array = as_array(x)
    kind = np.result_type(*(as_array(o).dtype for o in outputs), array.dtype) if outputs else None
    found = [np.zeros((x.numel(), o.numel()), kind) for o in outputs]
    for row, index in enumerate(np.ndindex(*array.shape)):
        kept = array[index]
        for direction in _directions(x):

            def change(steps: float, index: Any = index, d: Any = direction, v: Any = kept) -> None:
                array[index] = v + steps * eps * d

            moved = difference(fn, inputs, change, eps, f"on index {index} ")
            for matrix, column in zip(found, moved, strict=True):
                matrix[row] += column * direction
        array[index] = kept
    return found


def directional_difference(
    fn: Function, inputs: Sequence[Any], place: int, u: Sequence[Matrix], eps: float
) -> list[Matrix]:
    """The derivatives of all outputs along `u` (and, for a complex input, along 1j times u[1])."""
    x = inputs[place]
    array = as_array(x)
    kept = array.copy()
    total: list[Matrix] = []
    for direction, part in zip(_directions(x), u, strict=True):

        def change(steps: float, d: Any = direction, p: Any = part) -> None:
            array[...] = kept + steps * eps * d * p.reshape(array.shape)

        moved = difference(fn, inputs, change, eps, "")
        found = [m * direction for m in moved]
        total = found if not total else [a + b for a, b in zip(total, found, strict=True)]
    array[...] = kept
    return total


# ----------------------------------------------------------------------------- backward passes


def _pulled(output: Tensor, inputs: Sequence[Tensor], g: Matrix) -> Sequence[Tensor | None]:
    shaped = box(g.reshape(output.shape).astype(as_array(output).dtype))
    return grad(output, inputs, shaped, retain_graph=True, allow_unused=True)


def _rows(
    output: Tensor, inputs: Sequence[Tensor], cotangents: Matrix
) -> tuple[list[Matrix], bool, bool]:
    """Products of cotangents with the Jacobian; whether sizes and types are those of the inputs."""
    found = [np.zeros((x.numel(), len(cotangents)), as_array(x).dtype) for x in inputs]
    sizes = types = True
    for k, g in enumerate(cotangents):
        for matrix, c, x in zip(found, _pulled(output, inputs, g), inputs, strict=True):
            if c is None:
                continue
            if c.shape != x.shape:
                sizes = False
            else:
                types = types and c.dtype is x.dtype
                matrix[:, k] = values(c)
    return found, sizes, types


def backward_jacobian(
    output: Tensor,
    inputs: Sequence[Tensor],
    nondet_tol: float,
    check_grad_dtypes: bool,
    cotangents: Matrix | None = None,
) -> list[Matrix]:
    """The Jacobian of an output with respect to all inputs, computed twice.

    `cotangents` are the rows of a matrix from the left; by default the unit matrix.
    """
    given = np.eye(output.numel()) if cotangents is None else cotangents
    found, sizes, types = _rows(output, inputs, given)
    again, _, _ = _rows(output, inputs, given)
    if not types and check_grad_dtypes:
        raise GradcheckError("Gradient has dtype mismatch")
    if not sizes:
        raise GradcheckError("Analytical gradient has incorrect size")
    for one, two in zip(found, again, strict=True):
        if one.size and np.abs(one - two).max() > nondet_tol:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output "
                "multiple times gives different values, although analytical gradient matches "
                f"numerical gradient.The tolerance for nondeterminism was {nondet_tol}.\n\nNOTE: "
                "If your operation is non-deterministic, this failure might be expected; pass "
                "`nondet_tol=<tol>`."
            )
    return found


# ------------------------------------------------------------------------------ forward passes


def forward_jacobians(
    fn: Function,
    inputs: Sequence[Any],
    outputs: Sequence[Tensor],
    check_grad_dtypes: bool,
    directions: Sequence[Matrix] | None = None,
) -> list[list[Matrix]]:
    """By input and output, the Jacobian in forward mode, or its products with `directions`."""
    places = moving(inputs)
    wanted = [k for k, o in enumerate(outputs) if floating(o)]
    found: list[list[Matrix]] = []
    for number, place in enumerate(places):
        x = inputs[place]
        rows = np.eye(x.numel()) if directions is None else directions[number][None]
        matrices = [
            np.zeros((len(rows), outputs[k].numel()), as_array(outputs[k]).dtype) for k in wanted
        ]
        for i, u in enumerate(rows):
            for matrix, t in zip(
                matrices, _pushed(fn, inputs, place, u, check_grad_dtypes), strict=True
            ):
                if t is not None:
                    matrix[i] = t
        found.append(matrices)
    return found


def _pushed(
    fn: Function, inputs: Sequence[Any], place: int, u: Matrix, check_grad_dtypes: bool
) -> list[Any]:
    """The tangents of the floating point outputs."""
    given = list(inputs)
    with forward_ad.dual_level():
        for k in moving(inputs):
            x = inputs[k].detach()
            array = as_array(x)
            tangent = u.reshape(array.shape) if k == place else np.zeros(array.shape)
            given[k] = forward_ad.make_dual(x, box(tangent.astype(array.dtype)))
        out: list[Any] = []
        for o in as_tuple(fn(*given)):
            if not floating(o):
                continue
            t = forward_ad.unpack_dual(o).tangent
            if t is None:
                out.append(None)
                continue
            if check_grad_dtypes and t.is_complex() != o.is_complex():
                raise GradcheckError("Forward AD gradient has dtype mismatch.")
            out.append(values(t))
    return out
