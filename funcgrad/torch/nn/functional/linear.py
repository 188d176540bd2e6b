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
from funcgrad.torch import linear_recorder
from funcgrad.torch._tensor import Tensor, box
from funcgrad.torch.composite import Composite
from funcgrad.torch.modes import no_grad
from funcgrad.torch.nn.functional.common import constant
from funcgrad.torch.operations.added_products import addmm
from funcgrad.torch.operations.common import boxed, computed, shape_of
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import node, operation
from funcgrad.torch.operations.requirements import requirements, requires
from funcgrad.torch.root import RootTracer
from funcgrad.torch.staged import bounded

__all__ = ["bilinear", "embedding", "linear", "one_hot"]


def _quick(*tensors: Any) -> Tensor | None:
    if len(tensors) == 3 and all(isinstance(x, Tensor) for x in tensors):
        return linear_recorder.linear(*tensors)
    return None


_check_factors = requirements(
    "x, w",
    """
    scalar_name(x) == scalar_name(w): mat1 and mat2 must have the same dtype, but got
        {scalar_name(x)} and {scalar_name(w)}
    rank(w) == 2: mat2 must be a matrix, got {rank(w)}-D tensor
    """,
)


@operation("linear", "input, weight, Tensor bias=None, *, out", variants="", quick=_quick)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
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
    if bias is None:
        out: Tensor = input.matmul(weight.t())
        return out
    _check_factors(input, weight)
    shape = shape_of(input)
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


@operation("bilinear", "input1, input2, weight, Tensor bias=None", variants="")
@requires("""
    rank(input1) == rank(input2): bilinear(): input dimensions do not match: got {rank(input1)} and
        {rank(input2)}
    shape(input1)[:-1] == shape(input2)[:-1]: bilinear(): input batch dimensions do not match: got
        {sizes(input1)} and {sizes(input2)}
    rank(weight) == 3 and (shape(input1)[-1], shape(input2)[-1]) == shape(weight)[1:]: bilinear():
        the weight has size {sizes(weight)}, the inputs have {shape(input1)[-1]} and
        {shape(input2)[-1]} features
""")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``x1ᵀ W_k x2 + b_k`` for each output k; the weight is (out, in1, in2)."""
    lead, (outputs, n, m) = tuple(input1.shape[:-1]), tuple(weight.shape)
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


@requires("""
    scalar_name(tensor(input, "embedding", "indices", 2)) in ("Long", "Int"): Expected tensor for
        argument #1 'indices' to have one of the following scalar types: Long, Int; but got
        {type_name(input)} instead (while checking arguments for embedding)
    rank(tensor(weight, "embedding", "weight", 1)) > 0: 'weight' must be 2-D
    padding_idx is None or -len(weight) <= padding_idx < len(weight): AssertionError: Padding_idx
        must be within num_embeddings
    rank(weight) == 2: 'weight' must be 2-D
""")
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
    at, w = input.content(), weight.content()
    rows = shape_of(w)[0]
    pad = -1 if padding_idx is None else padding_idx % rows
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


@operation("one_hot", "input, int num_classes=-1", variants="", lies="contiguous")
@requires("""
    scalar_name(input) == "Long": one_hot is only applicable to index tensor of type LongTensor.
""")
def one_hot(input: Tensor, num_classes: int) -> Tensor:
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
    x = input.content()
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
