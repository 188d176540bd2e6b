"""``torch.nn.utils.rnn``: sequences of different lengths, padded to one or packed without padding.

Packed rows go step by step: all first steps, then all second ones of the sequences that have one,
the longest sequences first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

import funcgrad.torch as torch
from funcgrad.core.types import Array
from funcgrad.ops import index as indexing
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.composite import Composite
from funcgrad.torch.operations.common import boxed, computed
from funcgrad.torch.operations.record import node

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence",
    "pad_packed_sequence", "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """The rows of several sequences, as `pack_padded_sequence` makes them.

    Attributes
    ----------
    data : Tensor
        (rows, …)
    batch_sizes : Tensor
        How many sequences have each step.
    sorted_indices, unsorted_indices : Tensor or None
        Which sequence stands where, and back.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            data, batch_sizes = data
        made: PackedSequence = super().__new__(
            cls, data, batch_sizes, sorted_indices, unsorted_indices
        )
        return made

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"PackedSequence({fields})"

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with rows of another dtype; itself if that is theirs."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else type(self)(data, *self[1:])

    def double(self) -> PackedSequence:
        """The same in float64."""
        return self.to(dtype=torch.double)

    def float(self) -> PackedSequence:
        """The same in float32."""
        return self.to(dtype=torch.float)

    def cpu(self) -> PackedSequence:
        """Itself: there is only the CPU."""
        return self

    @property
    def is_cuda(self) -> bool:
        """False."""
        return False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that takes another back."""
    return None if permutation is None else torch.argsort(permutation)


def _read(x: Array, *places: Array) -> Array:
    return indexing.read(x, tuple(places))


ROWS = Composite("_pack_padded_sequence", _read, linear=False)
NODE = node("PackPaddedSequence")


def _packed_rows(lengths: Sequence[int]) -> tuple[Array, Array, Array]:
    """The step and the sequence of each packed row, and how many sequences have each step."""
    sizes = np.array([sum(n > t for n in lengths) for t in range(max(lengths))], np.int64)
    steps = np.repeat(np.arange(len(sizes)), sizes)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return steps, np.arange(len(steps)) - starts, sizes


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack sequences that are padded to one length.

    Parameters
    ----------
    input : Tensor
        (steps, batch, …), or (batch, steps, …) with `batch_first`.
    lengths : Tensor or list of int
    enforce_sorted : bool, optional
        Whether the sequences have to come with the longest first; else they are sorted.

    Raises
    ------
    RuntimeError
        Lengths that are not sorted, not positive, or not as many as there are sequences.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> from funcgrad.torch.nn.utils.rnn import pack_padded_sequence
    >>> x = torch.tensor([[1, 2, 0], [3, 0, 0], [4, 5, 6]])
    >>> pack_padded_sequence(x, [2, 1, 3], batch_first=True, enforce_sorted=False).data
    tensor([4, 1, 3, 5, 2, 6])
    """
    given = torch.as_tensor(lengths, dtype=torch.int64)
    order = None
    if not enforce_sorted:
        given, order = torch.sort(given, descending=True)
        input = input.index_select(0 if batch_first else 1, order)
    x = input.transpose(0, 1) if batch_first else input
    many = given.tolist()
    _check_lengths(x, many)
    steps, places, sizes = _packed_rows(many)
    rows = boxed(computed(ROWS, x.content(), steps, places), NODE)
    return PackedSequence(rows, torch.from_numpy(sizes), order)


def _check_lengths(x: Tensor, lengths: Sequence[int]) -> None:
    if x.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(lengths) != x.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} "
            f"(batch_size={x.size(1)})"
        )
    if any(a < b for a, b in itertools.pairwise(lengths)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    if lengths[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if lengths[0] > x.size(0):
        raise RuntimeError(
            f"Expected the longest sequence to have at most {x.size(0)} steps, which `input` has, "
            f"but got a length of {lengths[0]}"
        )


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Pad packed sequences to one length; gives them in their first order, and their lengths."""
    rows, sizes, _, back = sequence
    longest = sizes.size(0)
    if total_length is not None:
        if total_length < longest:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, "
                f"but got total_length={total_length} and max sequence length being {longest}"
            )
        longest = total_length
    count = int(sizes[0])
    many = [int((sizes > k).sum()) for k in range(count)]
    steps, places, _ = _packed_rows(many)
    shape = tuple(rows.shape[1:])
    padded = torch.full((longest * count, *shape), padding_value, dtype=rows.dtype)
    at = torch.from_numpy(steps * count + places)
    x = padded.index_copy(0, at, rows).reshape(longest, count, *shape)
    x = x.transpose(0, 1) if batch_first else x
    lengths = torch.tensor(many)
    if back is not None:
        return x.index_select(0 if batch_first else 1, back), lengths[back]
    return x, lengths


def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences of different lengths in one tensor, with a value where they have ended.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> from funcgrad.torch.nn.utils.rnn import pad_sequence
    >>> pad_sequence([torch.ones(3), torch.ones(1)], batch_first=True)
    tensor([[1., 1., 1.],
            [1., 0., 0.]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    parts = list(sequences)
    if not parts:
        raise RuntimeError("received an empty list of sequences")
    longest = max(x.size(0) for x in parts)
    whole, kind = [], parts[0].dtype
    for x in parts:
        size = (longest - x.size(0), *x.shape[1:])
        x, filler = x.to(kind), torch.full(size, padding_value, dtype=kind)
        whole.append(torch.cat([x, filler] if padding_side == "right" else [filler, x]))
    found: Tensor = torch.stack(whole, 0 if batch_first else 1)
    return found


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded tensor, each with its own length."""
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [one[: int(n)] for one, n in zip(x, lengths, strict=True)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences."""
    lengths = torch.as_tensor([x.size(0) for x in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
