"""Jacobians and Hessians of functions of tensors, by mapping one pass over a basis."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.core.boundary import hide_frames
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.func.arguments import Argnums, chosen, replaced, tensor_leaves
from funcgrad.torch.func.batching import vmap
from funcgrad.torch.func.derivatives import jvp, vjp

__all__ = ["hessian", "jacfwd", "jacrev"]

Function = Callable[..., Any]


def _refuse_complex(name: str, x: Any, what: str) -> None:
    for k, leaf in enumerate(tensor_leaves(x)):
        if isinstance(leaf, Tensor) and leaf.dtype.is_complex:
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened "
                f"input idx: {k}"
            )


def _basis(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The unit vectors of the space of all tensors together, as one batch of each tensor."""
    total, start, out = sum(x.numel() for x in tensors), 0, []
    for x in tensors:
        eye = np.eye(total, x.numel(), -start, x.dtype.numpy)
        out.append(box(eye.reshape(total, *x.shape)))
        start += x.numel()
    return out


def jacrev(
    func: Function,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Function:
    """The Jacobian of `func` in reverse mode.

    Parameters
    ----------
    func : callable
        Returns a tree of real tensors, with `has_aux` ``(output, aux)``.
    argnums : int or tuple of int
        The arguments to differentiate.
    chunk_size : int, optional
        How many rows are computed at once; less needs less memory.

    Returns
    -------
    callable
        Its result has the tree of the output, and in each leaf the tree of the argument, with
        tensors of shape ``output.shape + argument.shape``.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.func.jacrev(lambda x: x**2)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            _refuse_complex("jacrev", args, "inputs")
            picked = chosen(args, argnums)

            def partial(*moving: Any) -> Any:
                return func(*replaced(args, argnums, moving), **kwargs)

            out, pull, *aux = vjp(partial, *picked, has_aux=has_aux)
            _refuse_complex("jacrev", out, "outputs")
            outputs, definition = tensor_leaves(out), tree.structure(out)

            def one(*rows: Tensor) -> Any:
                return pull(tree.unflatten(definition, rows))

            whole = vmap(one, chunk_size=chunk_size)(*_basis(outputs))
            found, start = [], 0
            for o in outputs:
                part = slice(start, start + o.numel())
                row = tree.map(lambda c, part=part, o=o: _cut(c, part, tuple(o.shape)), whole)
                found.append(row[0] if isinstance(argnums, int) else row)
                start += o.numel()
            jacobian = _nested(definition, found)
            return (jacobian, *aux) if has_aux else jacobian
        except Exception as error:
            hide_frames(error)
            raise

    return wrapped


def _cut(c: Any, part: slice, lead: tuple[int, ...]) -> Any:
    x: Any = box(c)
    x = x[part]
    return x.reshape((*lead, *x.shape[1:])).content()


def _nested(definition: tree.TreeDef, items: Sequence[Any]) -> Any:
    """Trees in the place of the tensors of a tree."""
    return tree.unflatten(definition, items)


def jacfwd(
    func: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Function:
    """The Jacobian of `func` in forward mode; see `jacrev`.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.func.jacfwd(lambda x: x**2)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            _refuse_complex("jacfwd", args, "inputs")
            picked = chosen(args, argnums)
            inputs, structure = tensor_leaves(picked), tree.structure(picked)

            def partial(*moving: Any) -> Any:
                return func(*replaced(args, argnums, moving), **kwargs)

            def push(*columns: Tensor) -> Any:
                tangents = tree.unflatten(structure, columns)
                _, *moved = jvp(partial, picked, tangents, has_aux=has_aux)
                return tuple(moved)

            dims: Any = (0, None) if has_aux else (0,)
            columns, *aux = vmap(push, out_dims=dims, randomness=randomness)(*_basis(inputs))
            _refuse_complex("jacfwd", columns, "outputs")
            leaves, definition = tensor_leaves(columns), tree.structure(columns)
            rows = [tree.unflatten(structure, _split(c, inputs)) for c in leaves]
            found = [row[0] if isinstance(argnums, int) else row for row in rows]
            jacobian = _nested(definition, found)
            return (jacobian, *aux) if has_aux else jacobian
        except Exception as error:
            hide_frames(error)
            raise

    return wrapped


def _split(columns: Tensor, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Columns along the first dimension made the last dimensions, taken apart by input."""
    last = columns.permute(*range(1, columns.ndim), 0)
    out, start = [], 0
    for x in inputs:
        part = last[..., start : start + x.numel()]
        out.append(part.reshape((*last.shape[:-1], *x.shape)))
        start += x.numel()
    return out


def hessian(func: Function, argnums: Argnums = 0) -> Function:
    """The Hessian of `func`, forward over reverse; see `jacrev`.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.func.hessian(lambda x: x[0] * x[1] ** 2)(torch.tensor([1.0, 2.0]))
    tensor([[0., 4.],
            [4., 2.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
