"""Affine maps, embeddings and one-hot vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core.tracer import concrete, value
from funcgrad.core.types import Array
from funcgrad.errors import AbstractValueError, located
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index
from funcgrad.ops import shape as shapes
from funcgrad.torch import dtypes, hot_linear
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.composite import Composite
from funcgrad.torch.modes import no_grad
from funcgrad.torch.nn.functional.common import constant
from funcgrad.torch.operations.added_products import addmm
from funcgrad.torch.operations.common import boxed, computed, shape_of
from funcgrad.torch.operations.promotion import content, dtype_of, kind_of
from funcgrad.torch.operations.record import node
from funcgrad.torch.root import RootTracer
from funcgrad.torch.staged import bounded

__all__ = ["bilinear", "embedding", "linear", "one_hot"]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``.

    Parameters
    ----------
    input : Tensor
        (…, in)
    weight : Tensor
        (out, in)
    bias : Tensor, optional
        (out)

    Returns
    -------
    Tensor
        (…, out)

    Raises
    ------
    RuntimeError
        Shapes or dtypes that do not fit.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> w = torch.tensor([[1.0, 2.0]], requires_grad=True)
    >>> torch.nn.functional.linear(torch.ones(3, 2), w, torch.zeros(1)).shape
    torch.Size([3, 1])
    """
    if isinstance(input, Tensor) and isinstance(weight, Tensor) and isinstance(bias, Tensor):
        made = hot_linear.linear(input, weight, bias)
        if made is not None:
            return made
    x, w = content(input, "linear"), content(weight, "linear", "weight", 2)
    if bias is None:
        out: Tensor = input.matmul(weight.t())
        return out
    content(bias, "linear", "bias", 3)
    shape = shape_of(x)
    if dtype_of(x) != dtype_of(w):
        raise RuntimeError(
            "mat1 and mat2 must have the same dtype, but got "
            f"{dtypes.scalar_name(input.dtype)} and {dtypes.scalar_name(weight.dtype)}"
        )
    if len(shape_of(w)) != 2:
        raise RuntimeError(f"mat2 must be a matrix, got {weight.ndim}-D tensor")
    if len(shape) == 2:
        out = addmm(bias, input, weight.t())
        return out
    t = input._t
    if len(shape) > 1 and type(t) is RootTracer and not input.is_contiguous():
        out = input.matmul(weight.t()) + bias
        return out
    rows = math.prod(shape[:-1])
    flat = addmm(bias, input.reshape(rows, shape[-1] if shape else 1), weight.t())
    out = flat.view(*shape[:-1], shape_of(flat)[-1])
    return out


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x1ᵀ W_k x2 + b_k`` for each output k; the weight is (out, in1, in2)."""
    content(input1, "bilinear")
    content(input2, "bilinear", "input2", 2)
    lead, (outputs, n, m) = tuple(input1.shape[:-1]), tuple(weight.shape)
    if tuple(input2.shape[:-1]) != lead:
        raise RuntimeError(
            "bilinear(): input batch dimensions do not match: got "
            f"{list(input1.shape)} and {list(input2.shape)}"
        )
    if (input1.shape[-1], input2.shape[-1]) != (n, m):
        raise RuntimeError(
            f"bilinear(): the weight has size {list(weight.shape)}, the inputs have "
            f"{input1.shape[-1]} and {input2.shape[-1]} features"
        )
    x, y = input1.reshape(-1, n), input2.reshape(-1, m)
    pairs = (x.unsqueeze(2) * y.unsqueeze(1)).reshape(-1, n * m)
    out: Tensor = pairs.matmul(weight.reshape(outputs, n * m).t()).reshape(*lead, outputs)
    return out if bias is None else out + bias


# -------------------------------------------------------------------------------- embedding


def rows_of(w: Array, at: Array, pad: int, by_frequency: bool) -> Array:
    rows = index.gather(w, at)
    shape = (*shape_of(at), 1)
    if by_frequency:
        given = np.asarray(value(at))
        counts = np.bincount(given.reshape(-1), minlength=shape_of(w)[0])[given]
        scaled = a.divide(rows, a.cast(counts.reshape(shape), dtype_of(w)))
        rows = a.add(constant(a.subtract(rows, scaled)), scaled)
    if pad >= 0:
        rows = a.where(shapes.reshape(a.equal(at, pad), shape), constant(rows), rows)
    return rows


EMBEDDING = Composite("embedding", rows_of, fixed=1)
EMBEDDING_NODE = node("Embedding", "_ indices")


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` at the indices `input`.

    Parameters
    ----------
    input : Tensor
        Indices, int64 or int32.
    weight : Tensor
        (rows, features)
    padding_idx : int, optional
        The row that gets no gradient.
    max_norm, norm_type : float, optional
        Rows that are used and longer than this are shortened first, in place.
    scale_grad_by_freq : bool, optional
        Whether the gradient of a row is divided by how often it is used.
    sparse : bool, optional
        Accepted; gradients are dense.
    """
    at, w = content(input, "embedding", "indices", 2), content(weight, "embedding", "weight", 1)
    if dtype_of(at) not in (np.dtype(np.int64), np.dtype(np.int32)):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {dtypes.type_name(kind_of(at))} instead (while checking arguments "
            "for embedding)"
        )
    rows = shape_of(w)[0]
    pad = -1
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        pad = padding_idx % rows
    if len(shape_of(w)) != 2:
        raise RuntimeError("'weight' must be 2-D")
    bounded(at, 0, rows - 1)
    if max_norm is not None and not concrete(at):
        raise AbstractValueError(located("embedding with max_norm needs the numbers in its input"))
    if concrete(at):
        given = np.asarray(value(at))
        if ((given < 0) | (given >= rows)).any():
            raise IndexError("index out of range in self")
        if max_norm is not None:
            shorten(weight, np.unique(given), max_norm, norm_type)
            w = weight.content()
    found = computed(EMBEDDING, w, at, pad=pad, by_frequency=scale_grad_by_freq)
    return boxed(found, EMBEDDING_NODE)


def shorten(weight: Tensor, used: Any, max_norm: float, norm_type: float) -> None:
    with no_grad():
        array = np.asarray(weight.detach().numpy())
        norms = np.linalg.norm(array[used], norm_type, axis=1)
        long = norms > max_norm
        if long.any():
            factors = (max_norm / (norms[long] + 1e-7)).astype(array.dtype)
            array[used[long]] *= factors[:, None]
            weight._t.version.count += 1


def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Integers as vectors with a single 1, of int64.

    Parameters
    ----------
    input : Tensor
        Classes, int64, not negative.
    num_classes : int, optional
        The length of the vectors; by default one more than the largest class.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    x = content(input, "one_hot")
    if dtype_of(x) != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    known = np.asarray(value(x)) if concrete(x) else None
    if num_classes < 0:
        if known is None or not known.size:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        num_classes = int(known.max()) + 1
    bounded(x, 0, num_classes - 1)
    if known is not None and known.size:
        if known.min() < 0:
            raise RuntimeError("Class values must be non-negative.")
        if known.max() >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
    wide = shapes.reshape(x, (*shape_of(x), 1))
    return box(a.cast(a.equal(wide, np.arange(num_classes)), np.int64))
