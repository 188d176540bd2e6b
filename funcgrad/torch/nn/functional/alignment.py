"""The loss of a sequence whose places in time are not known: `ctc_loss` (Graves et al. 2006)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from funcgrad.core.tracer import concrete, value
from funcgrad.core.types import Array
from funcgrad.errors import AbstractValueError, located
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index as indexing
from funcgrad.ops.shape import concatenate, reshape
from funcgrad.ops.sums import sum as add_up
from funcgrad.ops.transcendental import exp, log
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.narrow import is_half
from funcgrad.torch.nn.functional.common import constant, reduction_of
from funcgrad.torch.operations.common import boxed, computed, shape_of
from funcgrad.torch.operations.data import from_numpy
from funcgrad.torch.operations.promotion import content, dtype_of
from funcgrad.torch.operations.record import node
from funcgrad.torch.operations.recorded import elementwise_refusal, refuse_kinds
from funcgrad.torch.operations.requirements import requires

__all__ = ["ctc_loss"]

NEVER = -1e30  # the logarithm of a way that there is not: finite, so that its derivative is one
WHERE = " (while checking arguments for ctc_loss_allocate_outputs)"


def _any_of(*xs: Array) -> Array:
    """The logarithm of the sum of the exponentials, whose derivatives overflow nowhere."""
    top = constant(functools.reduce(a.maximum, xs))
    return a.add(log(functools.reduce(a.add, [exp(a.subtract(x, top)) for x in xs])), top)


def _losses(
    x: Array, labels: Any, lengths: Any, sizes: Any, blank: int, zero_infinity: bool
) -> Array:
    """Minus the logarithms of the sums over all ways of `labels` through the steps of `x`.

    PyTorch's derivative is that of a softmax before, too: the exponential of `x` is part of it.
    """
    if len(shape_of(x)) == 2:
        x = reshape(x, (shape_of(x)[0], 1, shape_of(x)[1]))
    steps, batch, _ = shape_of(x)
    longest = labels.shape[1]
    ways = np.full((batch, 2 * longest + 1), blank)
    ways[:, 1::2] = labels
    jumps = np.zeros(ways.shape, bool)
    jumps[:, 2:] = (ways[:, 2:] != blank) & (ways[:, 2:] != ways[:, :-2])
    kind = dtype_of(x).type
    x_there = a.where(a.greater(x, NEVER), x, kind(NEVER))
    along = indexing.take_along_axis(x_there, ways[None], 2)
    begin = np.full(ways.shape, NEVER, kind)
    begin[:, :2] = 0
    so_far = a.add(begin, indexing.getitem(along, 0))
    before = np.full((batch, 2), NEVER, kind)
    for t in range(1, steps):
        wide = concatenate([before, so_far], 1)
        jumped = a.where(jumps, indexing.getitem(wide, (slice(None), slice(0, -2))), kind(NEVER))
        moved = indexing.getitem(wide, (slice(None), slice(1, -1)))
        new = a.add(_any_of(so_far, moved, jumped), indexing.getitem(along, t))
        so_far = a.where((t < lengths)[:, None], new, so_far)
    last, one = (2 * sizes)[:, None], np.maximum(2 * sizes - 1, 0)[:, None]
    ends = [reshape(indexing.take_along_axis(so_far, at, 1), (batch,)) for at in (last, one)]
    sums = a.where(sizes > 0, _any_of(*ends), ends[0])
    return _finished(x, sums, lengths, sizes, zero_infinity)


def _finished(x: Array, sums: Array, lengths: Any, sizes: Any, zero_infinity: bool) -> Array:
    kind = dtype_of(x).type
    inside = (np.arange(shape_of(x)[0])[:, None] < lengths)[:, :, None]
    whole = add_up(a.where(inside, exp(x), kind(0)), (0, 2))
    never = a.less(constant(sums), NEVER / 2)
    loss = a.add(a.negative(sums), a.subtract(whole, constant(whole)))
    loss = a.where(a.logical_or(never, lengths == 0), kind(0), loss)
    endless = a.where(lengths > 0, never, sizes > 0)
    if zero_infinity:
        return loss
    # where there is no way at all neither the loss nor its derivative is finite
    factor = a.where(endless, kind(np.inf), kind(0))
    return a.add(loss, a.where(lengths > 0, a.multiply(whole, factor), factor))


LOSSES = Composite("ctc_loss", _losses)
NODE = node("CtcLoss", "log_probs", shows=(0,))


def _numbers(given: Any, name: str) -> Any:
    """Whole numbers: of a tensor or a sequence."""
    if not isinstance(given, Tensor):
        items = given if isinstance(given, (tuple, list)) else [given]
        return np.asarray(items, np.int64).reshape(-1)
    x = given.content()
    if dtype_of(x).kind not in "iu" and name != "targets":
        raise RuntimeError(f"{name} must be integral")
    if not concrete(x):
        raise AbstractValueError(located(f"ctc_loss needs the numbers in its {name}"))
    found = np.asarray(value(x)).astype(np.int64)
    return found if name == "targets" else found.reshape(-1)


def _check_lengths(lengths: Any, sizes: Any, batch: int, steps: int) -> None:
    for name, found in (("input_lengths", lengths), ("target_lengths", sizes)):
        if len(found) != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
    for name, found in (("input_lengths", lengths), ("target_lengths", sizes)):
        for n in found[found < 0]:
            raise RuntimeError(
                f"Expected {name} to have value at least 0, but got value {n}{WHERE}"
            )
    for n in lengths[lengths > steps]:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {steps}, but got value {n}{WHERE}"
        )


def _labels_of(targets: Any, sizes: Any) -> Any:
    """The labels of each example, filled up at the end: (batch, longest)."""
    batch, longest = len(sizes), int(sizes.max(initial=0))
    made = np.zeros((batch, longest), np.int64)
    said = "for argument #2 'targets'" + WHERE
    if targets.ndim == 1:
        if len(targets) != sizes.sum():
            raise RuntimeError(
                f"Expected tensor to have size {sizes.sum()} at dimension 0, but got size "
                f"{len(targets)} {said}"
            )
        rows = np.split(targets, np.cumsum(sizes)[:-1]) if batch else []
    else:
        if targets.shape[0] != batch:
            raise RuntimeError(
                f"Expected tensor to have size {batch} at dimension 0, but got size "
                f"{targets.shape[0]} {said}"
            )
        if targets.shape[1] < longest:
            raise RuntimeError(
                f"Expected tensor to have size at least {longest} at dimension 1, but got size "
                f"{targets.shape[1]} {said}"
            )
        rows = list(targets)
    for k, row in enumerate(rows):
        made[k, : sizes[k]] = row[: sizes[k]]
    return made


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The loss of connectionist temporal classification: of labels at unknown places in time.

    Parameters
    ----------
    log_probs : Tensor
        (steps, n, classes) or (steps, classes): logarithms of probabilities.
    targets : Tensor
        (n, longest), or all labels one after the other.
    input_lengths, target_lengths : Tensor or sequence of int
        (n): how many steps and labels count.
    blank : int, optional
        The class between labels.
    reduction : {"none", "mean", "sum"}, optional
        A mean is over the losses divided by their numbers of labels.
    zero_infinity : bool, optional
        Whether the loss of more labels than there are steps for is 0 instead of infinite.

    Returns
    -------
    Tensor
        Differentiable in `log_probs`, any number of times. As in PyTorch the derivative is that of
        logits behind a `log_softmax`: the exponential of `log_probs` is added to it.

    Raises
    ------
    RuntimeError
        Lengths and labels that do not fit.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.zeros(2, 1, 2).log_softmax(2)
    >>> loss = torch.nn.functional.ctc_loss(x, torch.tensor([[1]]), (2,), (1,))
    >>> torch.exp(-loss)
    tensor(0.7500)
    """
    reduction = reduction_of(reduction)
    x = content(log_probs, "ctc_loss", "log_probs")
    refuse_kinds("ctc_loss_cpu", "biuc", x)
    if is_half(dtype_of(x)):
        raise elementwise_refusal("ctc_loss_cpu", x)
    found, sizes = _each(x, targets, input_lengths, target_lengths, blank, zero_infinity)
    if reduction == "mean":
        many = from_numpy(np.maximum(sizes, 1).astype(dtype_of(x)))
        out: Tensor = (found / many).mean()
        return out
    if reduction == "sum":
        return found.sum()
    return found[0] if len(shape_of(x)) == 2 else found


@requires("0 <= blank < shape(x)[-1]: blank must be in label range")
def _each(
    x: Array, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int, finite: bool
) -> tuple[Tensor, Any]:
    """The loss of each example, and its number of labels."""
    steps, *batch, classes = shape_of(x)
    lengths = _numbers(input_lengths, "input_lengths")
    sizes = _numbers(target_lengths, "target_lengths")
    _check_lengths(lengths, sizes, batch[0] if batch else 1, steps)
    labels = _labels_of(_numbers(targets, "targets"), sizes)
    if ((labels < 0) | (labels >= classes)).any():
        raise RuntimeError("ctc_loss: a target is no class of log_probs")
    made = computed(LOSSES, x, labels=labels, lengths=lengths, sizes=sizes, blank=blank,
                    zero_infinity=finite)  # fmt: skip
    return boxed(made, NODE), sizes
