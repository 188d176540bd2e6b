"""Jacobians and Hessians as a whole: row by row, or with one pass over all rows or columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.tracer import operand
from funcgrad.ops.shape import stack
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.autograd import forward_ad
from funcgrad.torch.autograd.functional_checks import (
    as_tensors,
    check_strict,
    gradients,
    packed,
    prepared,
    returned,
    scalar_output,
    zeros_like,
)
from funcgrad.torch.modes import enable_grad
from funcgrad.transforms.vmap import vmap

__all__ = ["hessian", "jacobian"]

Function = Callable[..., Any]
STRATEGIES = ("forward-mode", "reverse-mode")


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func`.

    Parameters
    ----------
    func : callable
        Takes tensors, returns a tensor or a tuple of tensors.
    inputs : Tensor or tuple of Tensors
    create_graph : bool
        Whether the Jacobian can be differentiated.
    strict : bool
        Whether independence of an input is an error, instead of a zero.
    vectorize : bool
        Whether all rows are computed in one pass.
    strategy : {"reverse-mode", "forward-mode"}
        The latter needs `vectorize`, and neither `create_graph` nor `strict`.

    Returns
    -------
    Tensor or nested tuple of Tensors
        ``J[i][j]`` has the shape of output i and then that of input j; a level is left out where
        there is no tuple.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in STRATEGIES:
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                "torch.autograd.functional.jacobian: `create_graph=True` and "
                '`strategy="forward-mode"` are not supported together (yet). Please either set '
                '`create_graph=False` or `strategy="reverse-mode"`.'
            )
        return _by_columns(func, inputs, strict, vectorize)
    with enable_grad():
        is_tuple, xs = as_tensors(inputs, "inputs", "jacobian")
        xs = prepared(xs, create_graph, True)
        out_is_tuple, outputs = as_tensors(
            func(*xs), "outputs of the user-provided function", "jacobian"
        )
        check_strict(outputs, "outputs", strict)
        if vectorize:
            if strict:
                raise RuntimeError(
                    "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are "
                    "not supported together. Please either set `strict=False` or "
                    "`vectorize=False`."
                )
            rows = _all_rows(outputs, xs, create_graph)
        else:
            rows = [_rows(i, o, xs, create_graph, strict) for i, o in enumerate(outputs)]
        found = returned(rows, create_graph)
    return packed([packed(row, is_tuple) for row in found], out_is_tuple)


def _rows(
    i: int, output: Tensor, inputs: Sequence[Tensor], create_graph: bool, strict: bool
) -> list[Tensor]:
    """The Jacobian of output `i`, one backward pass for each element."""
    rows: list[list[Tensor]] = [[] for _ in inputs]
    for k in range(output.numel()):
        found = gradients((output.reshape(-1)[k],), inputs, None, create_graph, True)
        for j, (row, g, x) in enumerate(zip(rows, found, inputs, strict=True)):
            if g is None:
                if strict:
                    raise RuntimeError(
                        f"Output {i} of the user-provided function is independent of input {j}. "
                        "This is not allowed in strict mode."
                    )
                g = zeros_like(x)
            elif strict and create_graph and not g.requires_grad:
                raise RuntimeError(
                    "The jacobian of the user-provided function is independent of input "
                    f"{i}. This is not allowed in strict mode when create_graph=True."
                )
            row.append(g)
    return [
        box(stack([g.content() for g in row])).view((*output.shape, *x.shape)) if row
        else box(np.zeros((*output.shape, *x.shape), x.dtype.numpy))
        for row, x in zip(rows, inputs, strict=True)
    ]  # fmt: skip


def _basis(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The unit vectors of the space of all tensors together, as one batch of each tensor."""
    total = sum(x.numel() for x in tensors)
    out, start = [], 0
    for x in tensors:
        n = x.numel()
        out.append(box(np.eye(total, n, -start, x.dtype.numpy).reshape(total, *x.shape)))
        start += n
    return out


def _all_rows(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], create_graph: bool
) -> list[list[Tensor]]:
    """The Jacobians of all outputs, with one mapped backward pass."""
    found = gradients(outputs, inputs, _basis(outputs), create_graph, None, True)
    total = sum(o.numel() for o in outputs)
    whole = [
        box(np.zeros((total, *x.shape), x.dtype.numpy)) if g is None else g
        for g, x in zip(found, inputs, strict=True)
    ]
    return _split(whole, outputs, inputs)


def _split(
    whole: Sequence[Any], outputs: Sequence[Tensor], inputs: Sequence[Tensor]
) -> list[list[Tensor]]:
    """Rows of all outputs together, taken apart by output."""
    rows, start = [], 0
    for o in outputs:
        end = start + o.numel()
        rows.append(
            [g[start:end].reshape((*o.shape, *x.shape)) for g, x in zip(whole, inputs, strict=True)]
        )
        start = end
    return rows


def _by_columns(func: Function, inputs: Any, strict: bool, vectorize: bool) -> Any:
    """The Jacobian in forward mode, with one pass that maps over the directions."""
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are '
            "not supported together (yet). Please either set `strict=False` or "
            '`strategy="reverse-mode"`.'
        )
    is_tuple, xs = as_tensors(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly "
            "implemented for `vectorize=True`."
        )
    seen: list[Any] = []

    def push(*directions: Any) -> list[Any]:
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(x, box(t)) for x, t in zip(xs, directions, strict=True)]
            out_is_tuple, outputs = as_tensors(func(*duals), "outputs", "jacobian")
            pairs = [forward_ad.unpack_dual(o) for o in outputs]
        seen[:] = [out_is_tuple, [p.primal for p in pairs]]
        return [zeros_like(p).content() if t is None else t.content() for p, t in pairs]

    columns = vmap(push)(*(t.content() for t in _basis(xs)))
    out_is_tuple, outputs = seen
    rows = []
    for o, c in zip(outputs, columns, strict=True):
        whole: Any = box(operand(c))
        start, row = 0, []
        for x in xs:
            part = whole[start : start + x.numel()]
            last = part.permute(*range(1, part.ndim), 0)
            row.append(last.reshape((*o.shape, *x.shape)))
            start += x.numel()
        rows.append(row if is_tuple else row[0])
    if not out_is_tuple:
        return rows[0]
    return rows if is_tuple else tuple(rows)  # lists where PyTorch gives lists


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a scalar function: the Jacobian of its gradient; see `jacobian`.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.autograd.functional.hessian(lambda x: x[0] * x[1] ** 2, torch.tensor([1.0, 2.0]))
    tensor([[0., 4.],
            [4., 2.]])
    """
    is_tuple, xs = as_tensors(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in STRATEGIES:
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def scalar(*some: Tensor) -> Tensor:
        out: Tensor = scalar_output(func, some, strict, "hessian").reshape(())
        return out

    def slope(*some: Tensor) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            some = tuple(x.requires_grad_(True) for x in some)
        found = jacobian(scalar, some, create_graph=True)
        check_strict(found, "jacobian", strict)
        return found

    found = jacobian(slope, xs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if is_tuple else found[0][0]
