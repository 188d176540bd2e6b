"""Recurrent layers: RNN, LSTM and GRU, of one or more layers, in one or two directions."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

import funcgrad.torch as torch
from funcgrad.errors import outside
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.modes import modes
from funcgrad.torch.nn import functional as F
from funcgrad.torch.nn import init
from funcgrad.torch.nn.modules.module import Module
from funcgrad.torch.nn.modules.recurrence import GATES, recurrence
from funcgrad.torch.nn.parameter import Parameter
from funcgrad.torch.nn.utils.rnn import PackedSequence
from funcgrad.torch.operations.creation import empty

__all__ = ["GRU", "LSTM", "RNN", "RNNBase"]

SHOWN = (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False),
         ("dropout", 0), ("bidirectional", False))  # fmt: skip


def _check(sizes: dict[str, Any], flags: dict[str, Any], dropout: Any, proj_size: int) -> None:
    """Raise PyTorch's errors for what makes no layer."""
    number = isinstance(dropout, numbers.Real) and not isinstance(dropout, bool)
    if not number or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an "
            "element being zeroed"
        )
    if dropout > 0 and sizes["num_layers"] == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and num_layers=1",
            stacklevel=outside(),
        )
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
    for name, size in sizes.items():
        if name != "num_layers" and not isinstance(size, int):
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= sizes["hidden_size"]:
        raise ValueError("proj_size has to be smaller than hidden_size")


class RNNBase(Module):
    """What the recurrent layers share: their weights, and running through layers and directions.

    Parameters
    ----------
    mode : {"LSTM", "GRU", "RNN_TANH", "RNN_RELU"}
    input_size, hidden_size : int
    num_layers : int, optional
    bias : bool, optional
    batch_first : bool, optional
        Whether inputs and outputs are (batch, steps, features) instead of (steps, batch, …).
    dropout : float, optional
        The share of elements set to zero between the layers, in training.
    bidirectional : bool, optional
    proj_size : int, optional
        The size to which an LSTM projects its states; 0 for none.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        sizes = {"input_size": input_size, "hidden_size": hidden_size, "num_layers": num_layers}
        _check(sizes, {"bias": bias, "batch_first": batch_first}, dropout, proj_size)
        if mode not in GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional = float(dropout), bidirectional
        self.proj_size = proj_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for direction in range(self._directions):
                self._make_weights(layer, "_reverse" * direction, device, dtype)
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _out_size(self) -> int:
        return self.proj_size or self.hidden_size

    def _make_weights(self, layer: int, suffix: str, device: Any, dtype: Any) -> None:
        gates = GATES[self.mode] * self.hidden_size
        inner = self._out_size * self._directions if layer else self.input_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (gates, inner), "weight_hh": (gates, self._out_size),
        }  # fmt: skip
        if self.bias:
            shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        named = {f"{name}_l{layer}{suffix}": shape for name, shape in shapes.items()}
        for name, shape in named.items():
            setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
        self._all_weights.append(list(named))

    @property
    def all_weights(self) -> list[list[Any]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing: it is for GPUs."""

    def reset_parameters(self) -> None:
        """All weights uniform within one over the root of the hidden size."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        values = [f"{name}={getattr(self, name)}" for name, usual in SHOWN
                  if getattr(self, name) != usual]  # fmt: skip
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *values])

    # ------------------------------------------------------------------------------ running

    @property
    def _kind(self) -> str:
        return type(self).__name__

    def _first_state(self, batch: int, input: Tensor) -> tuple[Tensor, ...]:
        lines = self.num_layers * self._directions
        sizes = (self._out_size, self.hidden_size)[: self._states]
        return tuple(
            torch.zeros(lines, batch, size, dtype=input.dtype, device=input.device)
            for size in sizes
        )

    @property
    def _states(self) -> int:
        return 2 if self.mode == "LSTM" else 1

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise for an input of another dtype, rank or size."""
        own = self.all_weights[0][0].dtype
        if input.dtype != own and modes.autocast is None:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({own}). Convert "
                f"input: input.to({own}), or convert model: model.to({input.dtype})"
            )
        rank = 3 if batch_sizes is None else 2
        if input.dim() != rank:
            raise RuntimeError(f"input must have {rank} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.size(-1)}"
            )

    def _check_state(self, state: tuple[Tensor, ...], batch: int) -> None:
        lines = self.num_layers * self._directions
        sizes = (self._out_size, self.hidden_size)
        for k, x in enumerate(state):
            wanted = (lines, batch, sizes[k])
            if tuple(x.shape) != wanted:
                place = "" if self._states == 1 else f"[{k}]"
                raise RuntimeError(f"Expected hidden{place} size {wanted}, got {list(x.shape)}")

    def _run(
        self, input: Tensor, state: tuple[Tensor, ...], sizes: tuple[int, ...] | None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """All layers: of an input by steps, or of the rows of a packed one."""
        last: list[tuple[Tensor, ...]] = []
        count = self._directions
        for layer in range(self.num_layers):
            found = []
            for direction in range(count):
                k = layer * count + direction
                steps, end = recurrence(
                    self.mode, input, [s[k] for s in state], self.all_weights[k], self.bias, sizes,
                    bool(direction),
                )  # fmt: skip
                found.append(steps)
                last.append(end)
            input = found[0] if count == 1 else torch.cat(found, -1)
            if self.dropout and self.training and layer < self.num_layers - 1:
                input = F.dropout(input, self.dropout)
        return input, tuple(torch.stack(list(x)) for x in zip(*last, strict=True))

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The last layer's states after each step, and the last states of all layers.

        Parameters
        ----------
        input : Tensor or PackedSequence
            (steps, batch, features), (batch, steps, features) or (steps, features).
        hx : Tensor, or of an LSTM a pair of Tensors, optional
            The first states, (layers × directions, batch, size); zeros without it.
        """
        given = None if hx is None else (tuple(hx) if self._states == 2 else (hx,))
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, given)
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{self._kind}: Expected input to be 2D or 3D, got {input.dim()}D instead"
            )
        batched = input.dim() == 3
        if given is not None:
            self._check_ranks(given, batched)
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
            given = None if given is None else tuple(x.unsqueeze(1) for x in given)
        batch = input.size(0 if self.batch_first else 1)
        state = self._first_state(batch, input) if given is None else given
        self.check_input(input, None)
        self._check_state(state, batch)
        steps, last = self._run(input.transpose(0, 1) if self.batch_first else input, state, None)
        if not batched:
            return steps.squeeze(1), self._handed([x.squeeze(1) for x in last])
        return (steps.transpose(0, 1) if self.batch_first else steps), self._handed(last)

    def _check_ranks(self, state: tuple[Tensor, ...], batched: bool) -> None:
        rank = 3 if batched else 2
        if all(x.dim() == rank for x in state):
            return
        kind = f"{'' if batched else 'un'}batched {rank}-D input"
        if self._states == 2:
            found = ", ".join(f"{x.dim()}-D" for x in state)
            text = f"For {kind}, hx and cx should also be {rank}-D but got ({found}) tensors"
        else:
            found = f"{state[0].dim()}-D"
            text = f"For {kind}, hx should also be {rank}-D but got {found} tensor"
        raise RuntimeError(text)

    def _handed(self, state: Any) -> Any:
        return tuple(state) if self._states == 2 else state[0]

    def _forward_packed(self, packed: PackedSequence, given: Any) -> Any:
        rows, sizes, order, back = packed
        count = int(sizes[0])
        state = self._first_state(count, rows) if given is None else given
        if given is not None and order is not None:
            state = tuple(x.index_select(1, order) for x in given)
        self.check_input(rows, sizes)
        self._check_state(state, count)
        steps, last = self._run(rows, state, tuple(sizes.tolist()))
        if back is not None:
            last = tuple(x.index_select(1, back) for x in last)
        return PackedSequence(steps, sizes, order, back), self._handed(last)


class RNN(RNNBase):
    """States that follow from the input and the state before by an affine map and tanh or ReLU.

    Parameters
    ----------
    input_size, hidden_size, num_layers : int
    nonlinearity : {"tanh", "relu"}, optional
    bias, batch_first, dropout, bidirectional : optional
        As of `RNNBase`.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        self.nonlinearity = nonlinearity
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(mode, input_size, hidden_size, num_layers, *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber 1997); for arguments see `RNNBase`.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> lstm = torch.nn.LSTM(10, 20, num_layers=2)
    >>> y, (h, c) = lstm(torch.randn(5, 3, 10))
    >>> y.shape, h.shape, c.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units (Cho et al. 2014); for arguments see `RNNBase`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)
