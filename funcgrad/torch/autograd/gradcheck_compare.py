"""The comparisons of `gradcheck`: whole Jacobians, or products with random vectors.

A function with complex outputs is checked for their real and for their imaginary parts; in forward
mode one of complex inputs is checked as a function of these parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.autograd.gradcheck_modes import check_undefined_forward
from funcgrad.torch.autograd.jacobians import (
    GradcheckError,
    as_tuple,
    backward_jacobian,
    directional_difference,
    floating,
    forward_jacobians,
    moving,
    numerical_jacobian,
)
from funcgrad.torch.tensor_arrays import as_array

__all__ = ["Options", "check_backward", "check_forward", "differentiable"]

Function = Callable[..., Any]
Matrix = np.ndarray[Any, Any]


class Options(NamedTuple):
    """How closely, and what, is compared."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_grad_dtypes: bool
    fast: bool


def differentiable(out: Any) -> list[Tensor]:
    """The outputs that require grad."""
    return [o for o in as_tuple(out) if o.requires_grad]


# ------------------------------------------------------------------- complex inputs and outputs


def _part_of_outputs(func: Function, part: str) -> Function:
    """`func` with the real or imaginary parts of its complex outputs."""

    def run(*inputs: Any) -> tuple[Any, ...]:
        return tuple(getattr(o, part) if o.is_complex() else o for o in as_tuple(func(*inputs)))

    return run


def check_backward(func: Function, inputs: Sequence[Any], options: Options) -> None:
    outputs = as_tuple(func(*inputs))
    if not any(o.is_complex() for o in outputs):
        _compare_backward(func, inputs, options, "", ())
        return
    complex_places = [k for k, o in enumerate(differentiable(outputs)) if o.is_complex()]
    for part, name in (("imag", "imaginary"), ("real", "real")):
        _compare_backward(_part_of_outputs(func, part), inputs, options, name, complex_places)


def _part_of_inputs(func: Function, inputs: Sequence[Any], part: str) -> tuple[Function, list[Any]]:
    """`func` of the real or imaginary parts of its complex inputs, the others held."""
    places = [k for k, x in enumerate(inputs) if isinstance(x, Tensor) and x.is_complex()]

    def run(*given: Any) -> tuple[Any, ...]:
        full = list(given)
        for k in places:
            x = inputs[k].detach()
            full[k] = full[k] + x.imag * 1j if part == "real" else x.real + full[k] * 1j
        return as_tuple(func(*full))

    chosen = list(inputs)
    for k in places:
        made = box(np.ascontiguousarray(getattr(as_array(inputs[k]), part)))
        chosen[k] = made.requires_grad_(inputs[k].requires_grad)
    return run, chosen


def check_forward(
    func: Function, inputs: Sequence[Any], options: Options, check_undefined: bool
) -> None:
    complex_places = [k for k, x in enumerate(inputs) if isinstance(x, Tensor) and x.is_complex()]
    cases: list[tuple[Function, Sequence[Any], str]] = [(func, inputs, "")]
    if complex_places:
        cases = [
            (*_part_of_inputs(func, inputs, part), name)
            for part, name in (("imag", "imaginary"), ("real", "real"))
        ]
    for fn, given, name in cases:
        _compare_forward(fn, given, options, name, complex_places)
    for fn, given, _ in cases if check_undefined else ():
        check_undefined_forward(fn, given)


# ----------------------------------------------------------------------------------- comparing


def _close(analytical: Matrix, numerical: Matrix, options: Options, scale: float = 1.0) -> bool:
    return bool(np.allclose(analytical, numerical, options.rtol, options.atol * scale))


def _mismatch(
    analytical: Any, numerical: Any, k: int, j: int, part: str, is_complex: bool, forward: bool
) -> str:
    kind = "inputs" if forward else "outputs"
    prefix = f"While considering the {part} part of complex {kind} only, " if is_complex else ""
    mode = "computed with forward mode " if forward else ""
    return (
        f"{prefix}Jacobian {mode}mismatch for output {k} with respect to input {j},\n"
        f"numerical:{box(np.asarray(numerical))!r}\nanalytical:{box(np.asarray(analytical))!r}\n"
    )


def _numerical(
    fn: Function, inputs: Sequence[Any], outputs: Sequence[Tensor], options: Options
) -> list[list[Matrix]]:
    """By input and output."""
    return [numerical_jacobian(fn, inputs, k, outputs, options.eps) for k in moving(inputs)]


def _refuse_constant(found: Sequence[Sequence[Matrix]]) -> None:
    if any((m != 0).any() for row in found for m in row):
        raise GradcheckError("Numerical gradient for function expected to be zero")


def _compare_backward(
    fn: Function, inputs: Sequence[Any], options: Options, part: str, complex_places: Sequence[int]
) -> None:
    outputs = as_tuple(fn(*inputs))
    wanted = [k for k, o in enumerate(outputs) if o.requires_grad]
    leaves = [inputs[k] for k in moving(inputs)]
    if not wanted:
        _refuse_constant(_numerical(fn, inputs, outputs, options))
        return
    if options.fast:
        _compare_backward_fast(fn, inputs, options, part, complex_places)
        return
    numerical = _numerical(fn, inputs, outputs, options)
    for i, k in enumerate(wanted):
        analytical = backward_jacobian(
            outputs[k], leaves, options.nondet_tol, options.check_grad_dtypes
        )
        for j, (a, row) in enumerate(zip(analytical, numerical, strict=True)):
            if not _close(a, row[k], options):
                raise GradcheckError(_mismatch(a, row[k], i, j, part, i in complex_places, False))


def _compare_forward(
    fn: Function, inputs: Sequence[Any], options: Options, part: str, complex_places: Sequence[int]
) -> None:
    outputs = as_tuple(fn(*inputs))
    places = moving(inputs)
    kept = [k for k, o in enumerate(outputs) if floating(o)]
    wanted = [k for k in kept if outputs[k].requires_grad]
    if not wanted:
        _refuse_constant(_numerical(fn, inputs, outputs, options))
        return
    directions = _directions([inputs[k] for k in places]) if options.fast else None
    us = None if directions is None else [u[0] for u in directions]
    analytical = forward_jacobians(fn, inputs, outputs, options.check_grad_dtypes, us)
    if directions is None:
        numerical = _numerical(fn, inputs, outputs, options)
    else:
        numerical = [
            [m[None] for m in directional_difference(fn, inputs, k, u, options.eps)]
            for k, u in zip(places, directions, strict=True)
        ]
    for i, k in enumerate(wanted):
        for j, place in enumerate(places):
            a, n = analytical[j][kept.index(k)], numerical[j][k]
            scale = 1.0 if us is None else float(us[j].sum())
            if not _close(a, n, options, scale):
                text = _mismatch(a, n, i, j, part, place in complex_places, True)
                raise GradcheckError(text)


# ------------------------------------------------------------------------------------ fast mode


def _unit(rng: np.random.Generator, size: int) -> Matrix:
    u = rng.random(size)
    return u / np.linalg.norm(u) if size else u


def _directions(inputs: Sequence[Tensor]) -> list[tuple[Matrix, ...]]:
    """A random direction for each input, of complex ones one for each part."""
    rng = np.random.default_rng()
    return [tuple(_unit(rng, x.numel()) for _ in range(2 if x.is_complex() else 1)) for x in inputs]


def _compare_backward_fast(
    fn: Function, inputs: Sequence[Any], options: Options, part: str, complex_places: Sequence[int]
) -> None:
    """Compare v·J·u, from a backward pass with v and from a difference along u."""
    outputs = as_tuple(fn(*inputs))
    places = moving(inputs)
    leaves = [inputs[k] for k in places]
    wanted = [k for k, o in enumerate(outputs) if o.requires_grad]
    rng = np.random.default_rng()
    us = _directions(leaves)
    vs = {k: _unit(rng, outputs[k].numel()) for k in wanted}
    differences = [
        directional_difference(fn, inputs, place, u, options.eps)
        for place, u in zip(places, us, strict=True)
    ]
    for i, k in enumerate(wanted):
        pulled = backward_jacobian(
            outputs[k], leaves, options.nondet_tol, options.check_grad_dtypes, vs[k][None]
        )
        for j, (c, u, d) in enumerate(zip(pulled, us, differences, strict=True)):
            row = c[:, 0]
            a = row.real @ u[0] + 1j * (row.imag @ u[1]) if len(u) == 2 else row @ u[0]
            n = vs[k] @ d[k]
            scale = float(sum(p.sum() for p in u) * vs[k].sum())
            if not _close(np.asarray(a), np.asarray(n), options, scale):
                text = _mismatch(a, n, i, j, part, i in complex_places, False)
                raise GradcheckError(text + _slow_text(fn, inputs, outputs, k, j, options))


def _slow_text(
    fn: Function, inputs: Sequence[Any], outputs: Sequence[Tensor], k: int, j: int, options: Options
) -> str:
    """The whole Jacobians, for the message."""
    leaves = [inputs[i] for i in moving(inputs)]
    numerical = numerical_jacobian(fn, inputs, moving(inputs)[j], outputs, options.eps)[k]
    analytical = backward_jacobian(outputs[k], leaves, float("inf"), False)[j]
    largest = np.abs(numerical - analytical).max()
    text = (
        "\nThe above quantities relating the numerical and analytical jacobians are computed \nin "
        "fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
        f"Numerical:\n {box(numerical)!r}\nAnalytical:\n{box(analytical)!r}\n\n"
        f"The max per-element difference (slow mode) is: {largest}.\n"
    )
    if _close(analytical, numerical, options):
        text += (
            "Fast gradcheck failed but element-wise differences are small. This means that the "
            "test might've passed in slow_mode!"
        )
    return text
