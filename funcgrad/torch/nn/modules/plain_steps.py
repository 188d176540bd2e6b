"""The steps of recurrent layers, in operations of the core: what every transform sees.

What does not depend on the state (the product of the weights with all steps of the input) is
computed before the loop. Rows of a packed sequence come step by step, with fewer and fewer
sequences: a state holds those that still run, and what has ended is kept for the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.core.types import Array
from funcgrad.ops import arithmetic as a
from funcgrad.ops import index as indexing
from funcgrad.ops.activation import relu
from funcgrad.ops.logistic import expit
from funcgrad.ops.product import matmul
from funcgrad.ops.shape import concatenate, stack, transpose
from funcgrad.ops.transcendental import tanh
from funcgrad.torch.operations.common import shape_of

__all__ = ["run_plainly"]

State = tuple[Array, ...]
Weights = Sequence[Array]


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


def run_plainly(
    *arrays: Array, mode: str, biased: bool, states: int, sizes: tuple[int, ...] | None,
    backwards: bool,
) -> tuple[Array, ...]:  # fmt: skip
    """The states after each step, and the last ones, of arrays: input, first states, weights."""
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
