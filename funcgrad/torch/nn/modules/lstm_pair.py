"""An LSTM in the graph of a compiled step: an operation for all steps, and one for its way back.

Both call the native code that eager calls run (`lstm`), so a program has neither copies of the
steps nor a loop, and makes no kernel of its own for them. The derivative of the way back is that
of the plain steps'. It imports `lstm`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.config import config
from funcgrad.core.forms import explicit
from funcgrad.core.primitive import Params
from funcgrad.core.tracer import Tracer, bind, type_of
from funcgrad.core.types import Array, ArrayType, zeros
from funcgrad.torch.composite import Inside, inside, spread_over
from funcgrad.torch.flat import FLOATS
from funcgrad.torch.nn.modules import lstm
from funcgrad.torch.nn.modules.plain_steps import run_plainly
from funcgrad.torch.staged import staged

__all__ = ["run_staged", "suits"]

RESULTS = 3  # all states, the last state, the last cell; what follows is for the way back


def suits(xs: Sequence[Any]) -> bool:
    """Whether these are values of a step that is traced, for the native code."""
    if not config.kernels or not all(map(staged, xs)):
        return False
    types = [x.type for x in xs]
    dtype = types[0].dtype
    return dtype in FLOATS and all(t.dtype == dtype and not t.weak and t.size for t in types)


def _plain(count: int, reverse: bool) -> Params:
    """The parameters of the plain steps of so many operands."""
    biased = count > lstm.FIRST_BIAS
    return {"mode": "LSTM", "biased": biased, "states": 2, "sizes": None, "backwards": reverse}


# --------------------------------------------------------------------------------------- forward


def _forward(*xs: Any, reverse: bool) -> tuple[Any, ...]:
    found, steps = lstm.forward(*map(np.asarray, xs), reverse=reverse)
    return (*found, steps.gates, steps.cells, steps.states)


def _types(x: ArrayType, h: ArrayType, *rest: ArrayType, reverse: bool) -> tuple[ArrayType, ...]:
    count, (rows, size) = x.shape[0], h.shape
    more = (count + 1, rows, size)
    shapes = [(count, rows, size), h.shape, h.shape, (count, rows, 4 * size), more, more]
    return tuple(ArrayType(shape, x.dtype) for shape in shapes)


def _pull(g: Any, y: Any, *xs: Any, needs: Sequence[bool], reverse: bool) -> list[Array | None]:
    wanted = tuple(k for k, need in enumerate(needs) if need)
    return _back(g, y[RESULTS:], xs, wanted, reverse)


LSTM = explicit("torch.lstm", _forward, type_rule=_types, vjp=_pull, multiple=True, unread=True)


# -------------------------------------------------------------------------------------- backward


def _back(
    g: Sequence[Any], kept: Sequence[Any], xs: Sequence[Any], wanted: tuple[int, ...], reverse: bool
) -> list[Array | None]:
    """The cotangents of the operands `wanted`, None for the others."""
    given = tuple(c is not None for c in g[:RESULTS])
    cts = [c for c in g[:RESULTS] if c is not None]
    told = {"count": len(xs), "given": given, "wanted": wanted, "reverse": reverse}
    return spread_over(wanted, bind(LSTM_BACKWARD, (*xs, *kept, *cts), told), len(xs))


def _parted(
    operands: Sequence[Any], count: int, given: tuple[bool, ...]
) -> tuple[Sequence[Any], Sequence[Any], list[Any]]:
    """The operands of the LSTM, what it kept, and the cotangents of its results."""
    xs, kept, cts = operands[:count], operands[count : count + 3], iter(operands[count + 3 :])
    return xs, kept, [next(cts) if there else None for there in given]


def _backward(
    *operands: Any, count: int, given: tuple[bool, ...], wanted: tuple[int, ...], reverse: bool
) -> tuple[Any, ...]:
    xs, kept, cts = _parted([*map(np.ascontiguousarray, operands)], count, given)
    gates, cells, states = kept
    return tuple(lstm.back(lstm.Steps(gates, cells, states, reverse), xs, cts, wanted))


def _types_back(
    *types: ArrayType, count: int, given: tuple[bool, ...], wanted: tuple[int, ...], reverse: bool
) -> tuple[ArrayType, ...]:
    return tuple(ArrayType(types[k].shape, types[k].dtype) for k in wanted)


def _pull_back(
    g: Any, y: Any, *operands: Any, needs: Sequence[bool], count: int, given: tuple[bool, ...],
    wanted: tuple[int, ...], reverse: bool,
) -> Sequence[Array | None]:  # fmt: skip
    """What the plain steps would give: what was kept is a function of the operands."""
    places = [*range(count), *range(count + 3, len(operands))]
    moving = [n for n, k in enumerate(places) if needs[k]]

    def plain(*some: Array) -> tuple[Array, ...]:
        xs, cts = some[:count], iter(some[count:])
        steps = inside(run_plainly, xs, _plain(count, reverse), wanted)[1]
        found = steps.pull([next(cts) if there else None for there in given], wanted, count)
        return tuple(zeros(type_of(xs[k])) if found[k] is None else found[k] for k in wanted)

    chosen = [operands[k] for k in places]
    found = inside(plain, chosen, {}, moving)[1].pull(g, moving, len(chosen))
    return spread_over(places, found, len(operands))


LSTM_BACKWARD = explicit(
    "torch.lstm_backward", _backward, type_rule=_types_back, vjp=_pull_back, multiple=True,
    unread=True,
)  # fmt: skip


# ---------------------------------------------------------------------------------------- staged


class StagedSteps(Inside):
    """What the operation of a step that is traced has left for the way back."""

    __slots__ = ("kept", "operands", "params")

    def __init__(self, operands: Sequence[Any], params: Params, kept: Sequence[Any]) -> None:
        self.operands, self.params, self.kept = operands, params, kept
        self.saved = None

    def pull(
        self, cts: Sequence[Any], wanted: Sequence[int], count: int, quick: bool = False
    ) -> list[Array | None]:
        if not any(isinstance(c, Tracer) and not staged(c) for c in cts):  # constants are arrays
            backwards = self.params["backwards"]
            return _back(cts, self.kept, self.operands, tuple(wanted), backwards)
        other = inside(run_plainly, self.operands, self.params, wanted)[1]
        return other.pull(cts, wanted, count, quick)


def run_staged(xs: Sequence[Any], params: Params) -> tuple[tuple[Any, ...], StagedSteps]:
    """The results of a step that is traced, with what goes back."""
    found = bind(LSTM, tuple(xs), {"reverse": params["backwards"]})
    return found[:RESULTS], StagedSteps(xs, params, found[RESULTS:])
