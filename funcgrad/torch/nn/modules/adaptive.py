"""The softmax of many classes, of which the rare ones are predicted in two steps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn import functional as F
from funcgrad.torch.nn.modules.container import ModuleList, Sequential
from funcgrad.torch.nn.modules.linear import Linear
from funcgrad.torch.nn.modules.module import Module
from funcgrad.torch.operations.joining import cat

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    """What the layer gives: the logarithm of each target's probability, and the loss."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """A softmax over classes sorted by frequency (Grave et al. 2017), with its loss.

    The head has the classes below the first of the `cutoffs`, and one for each cluster of the
    others; a cluster has a smaller layer of its own, computed for the examples that are in it.

    Parameters
    ----------
    in_features, n_classes : int
    cutoffs : sequence of int
        Where the clusters begin; increasing, from 1 to ``n_classes - 1``.
    div_value : float, optional
        The clusters' layers have ``in_features / div_value ** k`` features within.
    head_bias : bool, optional

    Raises
    ------
    ValueError
        Cutoffs that are none, not sorted, not whole or out of range.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 9], div_value=2.0)
    >>> output, loss = layer(torch.ones(3, 8), torch.tensor([0, 7, 19]))
    >>> output.shape, loss.shape
    (torch.Size([3]), torch.Size([]))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        given = list(cutoffs)
        _check(given, n_classes)
        made = {"device": device, "dtype": dtype}
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*given, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = given[0], len(given)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **made)
        self.tail = ModuleList()
        for k, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            inner = int(in_features // div_value ** (k + 1))
            within = Linear(in_features, inner, bias=False, **made)
            self.tail.append(Sequential(within, Linear(inner, high - low, bias=False, **made)))

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.head.reset_parameters()
        for inner, outer in self.tail:
            inner.reset_parameters()
            outer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The logarithm of the probability of each target, and the mean of their negatives.

        `input_` is (N, in_features) and `target_` (N), or without N.
        """
        _check_shapes(input_, target_)
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        column, output, rows = target, input.new_zeros(target.size(0)), 0
        for k, (low, high) in enumerate(itertools.pairwise([0, *self.cutoffs])):
            inside = (target >= low) & (target < high)
            at = inside.nonzero().squeeze(1)
            rows += at.numel()
            if k == 0 or not at.numel():
                continue
            found = F.log_softmax(self.tail[k - 1](input.index_select(0, at)), dim=1)
            picked = found.gather(1, (target.index_select(0, at) - low).unsqueeze(1))
            output = output.index_copy(0, at, picked.squeeze(1))
            column = column.masked_fill(inside, self.shortlist_size + k - 1)
        if rows != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        chosen = F.log_softmax(self.head(input), dim=1).gather(1, column.unsqueeze(1))
        output = output + chosen.squeeze()
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _all_of(self, input: Tensor, head: Tensor) -> Tensor:
        """The logarithms of the probabilities of all classes, given what the head says."""
        first = F.log_softmax(head, dim=1)
        parts = [first[:, : self.shortlist_size]]
        for k, layer in enumerate(self.tail):
            cluster = first[:, self.shortlist_size + k].unsqueeze(1)
            parts.append(F.log_softmax(layer(input), dim=1) + cluster)
        out: Tensor = cat(parts, 1)
        return out

    def log_prob(self, input: Tensor) -> Tensor:
        """The logarithms of the probabilities of all classes: (N, n_classes)."""
        return self._all_of(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each example; clusters are computed where they may win."""
        head: Tensor = self.head(input)
        found: Tensor = head.argmax(dim=1)
        beyond = found >= self.shortlist_size
        if beyond.any():
            found[beyond] = self._all_of(input[beyond], head[beyond]).argmax(dim=1)
        return found


def _check(cutoffs: list[int], n_classes: int) -> None:
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    whole = all(int(c) == c for c in cutoffs)
    inside = min(cutoffs) > 0 and max(cutoffs) < n_classes
    if not whole or not inside or cutoffs != sorted(set(cutoffs)):
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
            "order, where each value is between 1 and n_classes-1"
        )


def _check_shapes(input: Tensor, target: Tensor) -> None:
    rank = target.dim()
    if rank > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if rank and input.size(0) != target.size(0):
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input.dim() != rank + 1:
        raise RuntimeError(
            f"{rank}D target tensor expects {rank + 1}D input tensors, but found inputs with size "
            f"{input.size()}"
        )
