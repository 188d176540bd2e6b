"""Losses that ask of the classes given to be above all others by a margin, and of many labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core.tracer import concrete, value
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index, shape, sums
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.narrow import is_half
from funcgrad.torch.nn.functional.common import reduced, reduced_tensor, reduction_of
from funcgrad.torch.nn.functional.smooth import logsigmoid
from funcgrad.torch.operations.common import (
    boxed,
    computed,
    shape_of,
)
from funcgrad.torch.operations.promotion import content, dtype_of, kind_of
from funcgrad.torch.operations.record import node
from funcgrad.torch.operations.recorded import elementwise_refusal, refuse_kinds
from funcgrad.torch.operations.requirements import requirements
from funcgrad.torch.staged import bounded

__all__ = ["multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss"]

EMPTY = "Expected non-empty vector or matrix with optional 0-dim batch size, but got: {}"


def _rows(x: Array) -> tuple[Array, int, int]:
    """Examples as a matrix, how many they are, and of how many classes."""
    extents = shape_of(x)
    n, classes = extents if len(extents) == 2 else (1, extents[-1] if extents else 1)
    return shape.reshape(x, (n, classes)), n, classes


def _above(z: Array) -> Array:
    """What is above 0; there is no derivative at 0."""
    return a.where(a.greater(z, 0), z, dtype_of(z).type(0))


def _multi_margin(
    x: Array, target: Array, *weight: Array, p: int, margin: float, reduction: str
) -> Array:
    rows, n, classes = _rows(x)
    flat = shape.reshape(target, (n,))
    given = shape.reshape(index.gather(rows, np.arange(n), flat), (n, 1))
    z = _above(a.add(a.subtract(margin, given), rows))
    z = a.multiply(z, z) if p == 2 else z
    if weight:
        z = a.multiply(z, shape.reshape(index.gather(weight[0], flat), (n, 1)))
    here = a.equal(shape.reshape(flat, (n, 1)), np.arange(classes))
    loss = a.divide(sums.sum(a.where(here, dtype_of(x).type(0), z), (1,)), classes)
    return reduced(shape.reshape(loss, shape_of(target)), reduction)


MULTI_MARGIN = Composite("multi_margin_loss", _multi_margin, fixed=1)
MULTI_MARGIN_NODE = node("MultiMarginLoss", "self target weight", shows=(0,))


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the other classes of ``max(0, margin - x[target] + x[i]) ** p``.

    Parameters
    ----------
    input : Tensor
        Scores: (C) or (N, C).
    target : Tensor
        Classes: () or (N), of int64.
    p : {1, 2}, optional
    weight : Tensor, optional
        Of each class: (C). It is not differentiated.

    Raises
    ------
    ValueError, RuntimeError
        Another `p`, shapes or dtypes that do not fit, a class that is negative or not below C.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> scores = torch.tensor([[0.1, 0.2, 0.4, 0.8]])
    >>> torch.nn.functional.multi_margin_loss(scores, torch.tensor([3]))
    tensor(0.3250)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    x, y = content(input, "multi_margin_loss"), content(target, "multi_margin_loss", "target", 2)
    n, classes = _checked(x)
    if len(shape_of(y)) > 1 or (shape_of(y) or (1,)) != (n,):
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{n}], but got {list(shape_of(y))}. Input "
            f"has shape {list(shape_of(x))}."
        )
    _check_long(y)
    _refuse("multi_margin_loss_cpu_kernel", x)
    _check_range(y, 0, classes, "target out of range")
    more: tuple[Any, ...] = ()
    if weight is not None:
        more = (content(weight, "multi_margin_loss", "weight", 5),)
        if shape_of(more[0]) != (classes,):
            raise RuntimeError(
                f"inconsistent weight size, expected {classes} but got {list(shape_of(more[0]))}"
            )
        _check_same(x, more[0])
    how = {"p": int(p), "margin": float(margin), "reduction": reduction}
    return boxed(computed(MULTI_MARGIN, x, y, *more, **how), MULTI_MARGIN_NODE)


def _checked(x: Array) -> tuple[int, int]:
    """Examples and classes of scores."""
    extents = shape_of(x)
    if len(extents) > 2 or 0 in extents[-1:]:
        raise RuntimeError(EMPTY.format(list(extents)))
    return extents if len(extents) == 2 else (1, extents[-1] if extents else 1)


def _refuse(kernel: str, x: Array) -> None:
    """Raise for the dtypes that PyTorch has no kernel for: half precision, too."""
    refuse_kinds(kernel, "biuc", x)
    if is_half(dtype_of(x)):
        raise elementwise_refusal(kernel, x)


def _check_long(y: Array) -> None:
    if kind_of(y) is not dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {dtypes.scalar_name(kind_of(y))}")


_check_same = requirements("x, y", """
    scalar_name(x) == scalar_name(y): expected scalar type {scalar_name(x)} but found
        {scalar_name(y)}
""")  # fmt: skip


def _check_range(y: Array, least: int, classes: int, message: str) -> None:
    bounded(y, least, classes - 1)
    if concrete(y):
        given = np.asarray(value(y))
        if given.size and (given.min() < least or given.max() >= classes):
            raise RuntimeError(message)


# --------------------------------------------------------------------------------- many labels


def _multilabel_margin(x: Array, target: Array, labels: int, reduction: str) -> Array:
    """The labels of an example are those before the first -1, at most `labels`."""
    rows, n, classes = _rows(x)
    zero, given = dtype_of(x).type(0), shape.reshape(target, (n, classes))
    each = [index.getitem(given, (slice(None), slice(k, k + 1))) for k in range(labels)]
    valid = [a.greater_equal(t, 0) for t in each]
    for k in range(1, labels):
        valid[k] = a.logical_and(valid[k], valid[k - 1])
    other: Any = np.ones((n, classes), bool)  # is no label
    for t, there in zip(each, valid, strict=True):
        other = a.logical_and(other, a.not_equal(a.where(there, t, -1), np.arange(classes)))
    loss: Any = np.zeros((n,), dtype_of(x))
    for t, there in zip(each, valid, strict=True):
        at = shape.reshape(a.where(there, t, 0), (n,))
        score = shape.reshape(index.gather(rows, np.arange(n), at), (n, 1))
        z = _above(a.add(a.subtract(1.0, score), rows))
        loss = a.add(loss, sums.sum(a.where(a.logical_and(there, other), z, zero), (1,)))
    loss = a.divide(loss, classes)
    return reduced(shape.reshape(loss, shape_of(x)[:-1]), reduction)


MULTILABEL = Composite("multilabel_margin_loss", _multilabel_margin, fixed=1)
MULTILABEL_NODE = node("MultilabelMarginLoss", "self target", shows=(0, 1))


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The sum over labels and other classes of ``max(0, 1 - x[label] + x[other])``, by C.

    Parameters
    ----------
    input : Tensor
        Scores: (C) or (N, C).
    target : Tensor
        Of the same shape and of int64: the labels of each example, and then -1.

    Raises
    ------
    RuntimeError
        Shapes or dtypes that do not fit, a label that is below -1 or not below C.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> scores = torch.tensor([[0.1, 0.2, 0.4, 0.8]])
    >>> labels = torch.tensor([[3, 0, -1, 1]])
    >>> torch.nn.functional.multilabel_margin_loss(scores, labels)
    tensor(0.8500)
    """
    name = "multilabel_margin_loss"
    reduction = reduction_of(reduction, size_average, reduce)
    x, y = content(input, name), content(target, name, "target", 2)
    _, classes = _checked(x)
    if shape_of(x) != shape_of(y):
        raise RuntimeError(
            f"inconsistent target size: {list(shape_of(y))} for input of size: {list(shape_of(x))}"
        )
    _check_long(y)
    _check_range(y, -1, classes, "argument #2 'target' is out of range")
    _refuse("multilabel_margin_loss_forward_out_frame", x)
    labels = classes
    if concrete(y):
        given = np.asarray(value(y)).reshape(-1, classes)
        labels = int(np.logical_and.accumulate(given >= 0, 1).sum(1).max(initial=0))
    how = {"labels": labels, "reduction": reduction}
    return boxed(computed(MULTILABEL, x, y, **how), MULTILABEL_NODE)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of the cross entropy of ``sigmoid(input)`` for each of them.

    Parameters
    ----------
    input, target : Tensor
        Logits and truth values, 0 or 1: (C) or (N, C).
    weight : Tensor, optional
        Of each class, broadcast.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    loss: Any = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduced_tensor(loss.sum(-1) / input.size(-1), reduction)
