"""What recurrent layers compute: one layer in one direction, over all steps, as one operation.

Within `autocast` the products take its dtype. The states do where PyTorch has the layer as one
operation or a step ends in a sum of products; elsewhere they keep their dtype.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core.primitive import Params
from funcgrad.core.types import Array
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.amp.policies import cast_all
from funcgrad.torch.composite import Composite, Inside, inside, spread_over
from funcgrad.torch.modes import modes
from funcgrad.torch.nn.modules import lstm, lstm_pair
from funcgrad.torch.nn.modules.plain_steps import run_plainly
from funcgrad.torch.operations.common import boxed_all, computed
from funcgrad.torch.operations.record import node

__all__ = ["GATES", "recurrence"]

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _run(*arrays: Array, **params: Any) -> tuple[Array, ...]:
    """The states after each step, and the last ones, of arrays: input, first states, weights."""
    if _is_native(arrays, params):
        return lstm.forward(*arrays, reverse=params["backwards"])[0]
    if _is_staged(arrays, params):
        return lstm_pair.run_staged(arrays, params)[0]
    return run_plainly(*arrays, **params)


def _is_one(arrays: Sequence[Any], params: Params) -> bool:
    """Whether it is an LSTM without a projection, that is not packed."""
    count = len(arrays) - params["states"] - 1
    return params["mode"] == "LSTM" and params["sizes"] is None and count in (2, 4)


def _is_native(arrays: Sequence[Any], params: Params) -> bool:
    """Whether `lstm` runs it, of raw arrays."""
    return _is_one(arrays, params) and lstm.suits(arrays)


def _is_staged(arrays: Sequence[Any], params: Params) -> bool:
    """Whether a step that `compile` traces gets it as one operation."""
    return _is_one(arrays, params) and lstm_pair.suits(arrays)


class NativeSteps(Inside):
    """What the native code of an LSTM has left for the way back."""

    __slots__ = ("operands", "params", "steps")

    def __init__(self, operands: Sequence[Any], params: Params, steps: lstm.Steps) -> None:
        self.operands, self.params, self.steps = operands, params, steps
        self.saved = None

    def pull(
        self, cts: Sequence[Any], wanted: Sequence[int], count: int, quick: bool = False
    ) -> list[Array | None]:
        if quick and all(c is None or type(c) is np.ndarray for c in cts):
            found = lstm.back(self.steps, self.operands, cts, wanted)
            return spread_over(wanted, found, count)
        other = inside(run_plainly, self.operands, self.params, wanted)[1]
        return other.pull(cts, wanted, count, quick)


def _recorded(xs: Sequence[Any], params: Params) -> tuple[Any, Inside] | None:
    """The result of the native code with what it left; None where it does not run this."""
    if _is_staged(xs, params):
        return lstm_pair.run_staged(xs, params)
    if not _is_native(xs, params):
        return None
    found, steps = lstm.forward(*xs, reverse=params["backwards"])
    return found, NativeSteps(xs, params, steps)


RUN = Composite("recurrent_layer", _run, multiple=True, recorded=_recorded)
NODE = node("Stack")


def recurrence(
    mode: str,
    input: Tensor,
    state: Sequence[Tensor],
    weights: Sequence[Tensor],
    biased: bool,
    sizes: tuple[int, ...] | None,
    backwards: bool,
    cell: bool = False,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """One layer in one direction, or a cell: the states after each step, and the last ones.

    Raises
    ------
    RuntimeError
        No steps, or an input, states and weights that are not of one dtype.
    """
    if sizes is None and not input.size(0):
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    if modes.autocast is not None:
        whole = mode.startswith("RNN") or (mode == "LSTM" and sizes is None and not cell)
        input, state, weights = _autocast(input, state, weights, whole)
    own = weights[0].dtype
    for x in (input, *state):
        if x.dtype != own:
            names = f"{dtypes.scalar_name(x.dtype)} and {dtypes.scalar_name(own)}"
            raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {names}")
    contents = [x.content() for x in (input, *state, *weights)]
    found = computed(
        RUN, *contents, mode=mode, biased=biased, states=len(state), sizes=sizes,
        backwards=backwards,
    )  # fmt: skip
    steps, *last = boxed_all(found, NODE)
    return steps, tuple(last)


def _autocast(
    input: Tensor, state: Sequence[Tensor], weights: Sequence[Tensor], whole: bool
) -> tuple[Tensor, Sequence[Tensor], Sequence[Tensor]]:
    """The operands in the dtype of `autocast`, or rounded to it and in that of the states."""
    cast = cast_all([input, list(state), list(weights)], modes.autocast)
    if not whole:
        kept = state[-1].dtype
        cast[1] = cast_all(list(state), kept)
        if kept is not dtypes.float64:
            cast = cast_all(cast, kept)
    return tuple(cast)
