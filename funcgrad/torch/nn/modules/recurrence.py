"""What recurrent layers compute: one layer in one direction, over all steps, as one operation.

What does not depend on the state (the product of the weights with all steps of the input) is
computed before the loop. Rows of a packed sequence come step by step, with fewer and fewer
sequences: a state holds those that still run, and what has ended is kept for the end.

Within `autocast` the products take its dtype. The states do where PyTorch has the layer as one
operation or a step ends in a sum of products; elsewhere they keep their dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core.primitive import Params
from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index as indexing
from funcgrad.ops.activation import relu
from funcgrad.ops.logistic import expit
from funcgrad.ops.product import matmul
from funcgrad.ops.shape import concatenate, stack, transpose
from funcgrad.ops.transcendental import tanh
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.amp.policies import cast_all
from funcgrad.torch.composite import Composite, Inside, inside, spread_over
from funcgrad.torch.modes import modes
from funcgrad.torch.nn.modules import lstm
from funcgrad.torch.operations.common import boxed_all, computed, shape_of
from funcgrad.torch.operations.record import node

__all__ = ["GATES", "recurrence"]

State = tuple[Array, ...]
Weights = Sequence[Array]
GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _parts(x: Array, count: int) -> list[Array]:
    """The gates, which lie side by side in the last dimension."""
    size = shape_of(x)[-1] // count
    return [indexing.getitem(x, (Ellipsis, slice(k * size, (k + 1) * size))) for k in range(count)]


def _turned(w: Array) -> Array:
    return transpose(w, (1, 0))


def _lstm(x: Array, state: State, weights: Weights) -> State:
    h, c = state
    from_input, forget, cell, out = _parts(a.add(x, matmul(h, weights[0])), 4)
    c = a.add(a.multiply(expit(forget), c), a.multiply(expit(from_input), tanh(cell)))
    h = a.multiply(expit(out), tanh(c))
    return (h if len(weights) == 1 else matmul(h, weights[1])), c


def _gru(x: Array, state: State, weights: Weights) -> State:
    (h,) = state
    hidden = matmul(h, weights[0])
    if len(weights) > 1:
        hidden = a.add(hidden, weights[1])
    (xr, xz, xn), (hr, hz, hn) = _parts(x, 3), _parts(hidden, 3)
    new = tanh(a.add(xn, a.multiply(expit(a.add(xr, hr)), hn)))
    return (a.add(a.multiply(a.subtract(h, new), expit(a.add(xz, hz))), new),)


def _plain(activation: Callable[[Array], Array]) -> Callable[..., State]:
    def step(x: Array, state: State, weights: Weights) -> State:
        return (activation(a.add(x, matmul(state[0], weights[0]))),)

    return step


STEPS: dict[str, Callable[[Array, State, Weights], State]] = {
    "LSTM": _lstm, "GRU": _gru, "RNN_TANH": _plain(tanh), "RNN_RELU": _plain(relu),
}  # fmt: skip


def _prepared(mode: str, x: Array, weights: Weights, biased: bool) -> tuple[Array, Weights]:
    """The input's part of all steps, and the weights that each step needs."""
    w_ih, w_hh, *rest = weights
    x = matmul(x, _turned(w_ih))
    own = [_turned(w_hh)]
    if biased:
        b_ih, b_hh, *rest = rest
        x = a.add(x, b_ih)
        if mode == "GRU":  # a gate multiplies the state's part with its bias
            own.append(b_hh)
        else:
            x = a.add(x, b_hh)
    return x, [*own, *map(_turned, rest)]


def _run(
    *arrays: Array, mode: str, biased: bool, states: int, sizes: tuple[int, ...] | None,
    backwards: bool,
) -> tuple[Array, ...]:  # fmt: skip
    """The states after each step, and the last ones, of arrays: input, first states, weights."""
    if _is_native(arrays, mode, states, sizes):
        return lstm.forward(*arrays, reverse=backwards)[0]
    state, step = arrays[1 : 1 + states], STEPS[mode]
    x, weights = _prepared(mode, arrays[0], arrays[1 + states :], biased)
    if sizes is not None:
        return _run_packed(x, state, weights, step, sizes, backwards)
    count = shape_of(x)[0]
    found: list[Any] = [None] * count
    for t in reversed(range(count)) if backwards else range(count):
        state = step(indexing.getitem(x, t), state, weights)
        found[t] = state[0]
    return stack(found), *state


def _rows(x: Array, start: int, stop: int | None) -> Array:
    return indexing.getitem(x, slice(start, stop))


def _run_packed(
    x: Array, first: State, weights: Weights, step: Any, sizes: tuple[int, ...], backwards: bool
) -> tuple[Array, ...]:
    starts = [sum(sizes[:t]) for t in range(len(sizes))]
    found: list[Any] = [None] * len(sizes)
    ended: list[State] = []
    state = tuple(_rows(s, 0, sizes[-1 if backwards else 0]) for s in first)
    running = sizes[-1 if backwards else 0]
    for t in reversed(range(len(sizes))) if backwards else range(len(sizes)):
        now = sizes[t]
        if now < running:
            ended.append(tuple(_rows(s, now, None) for s in state))
            state = tuple(_rows(s, 0, now) for s in state)
        elif now > running:
            more = [_rows(s, running, now) for s in first]
            state = tuple(concatenate([s, m], 0) for s, m in zip(state, more, strict=True))
        running = now
        state = step(_rows(x, starts[t], starts[t] + now), state, weights)
        found[t] = state[0]
    last = [concatenate([s, *(e[k] for e in reversed(ended))], 0) for k, s in enumerate(state)]
    return concatenate(found, 0), *last


def _is_native(arrays: Sequence[Any], mode: str, states: int, sizes: Any) -> bool:
    """Whether `lstm` runs it: an LSTM without a projection, of raw arrays, that is not packed."""
    return (
        mode == "LSTM"
        and sizes is None
        and len(arrays) - states - 1 in (2, 4)
        and lstm.suits(arrays)
    )


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
        other = inside(_run, self.operands, self.params, wanted)[1]
        return other.pull(cts, wanted, count, quick)


def _recorded(xs: Sequence[Any], params: Params) -> tuple[Any, Inside] | None:
    """The result of the native code with what it left; None where it does not run this."""
    if not _is_native(xs, params["mode"], params["states"], params["sizes"]):
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
