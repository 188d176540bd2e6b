"""Builds the common kernels before they are needed: `python -m funcgrad.kernels build`.

Each rule and value is asked for once in each of the forms that programs have most: large arrays,
alone, with a row, with a number; cotangents that are arrays of the pass, of the user, or one number
for all elements. What is not among these is built when it is first asked for.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from funcgrad.config import config
from funcgrad.core.types import type_of_raw
from funcgrad.kernels import elementwise, rows
from funcgrad.kernels.choice import FEWEST, FLOATS, entries
from funcgrad.kernels.update_rules import RULES, arrays_of, numbers_of
from funcgrad.kernels.updates import Move, carry_out
from funcgrad.ops.arithmetic import WHERE
from funcgrad.ops.cumulative import CUMPROD, CUMSUM
from funcgrad.ops.normalization import LAYER_NORM

__all__ = ["build"]

SHAPE = (2, FEWEST)
Work = tuple[str, Callable[[], Any]]


def build() -> int:
    """Build what is not there yet, and say so; the status of the process."""
    if not config.cache:
        print("config.cache is off: there is nowhere to keep code")
        return 1
    config.kernels = "always"
    with np.errstate(all="ignore"):
        for title, call in itertools.chain(_elementwise(), _reductions(), _values(), _updates()):
            print(f"{title:60}", end="\r", flush=True)
            call()
    failed = [str(e) for e in entries.values() if e.failed]
    print(f"{sum(len(e.codes) for e in entries.values())} kernels are there{'':40}")
    print("\n".join(failed), end="\n" if failed else "")
    return bool(failed)


def _node(prim: Any, xs: Sequence[Any], wanted: Sequence[bool], params: dict[str, Any]) -> Any:
    """A node that recorded the primitive for these operands."""
    y = prim.impl(*xs, **params)
    flags = prim.saved_flags(sum(1 << k for k, w in enumerate(wanted) if w), len(xs))
    return SimpleNamespace(
        prim=prim,
        params=params,
        parents=tuple(object() if w else None for w in wanted),
        avals=tuple(map(type_of_raw, xs)),
        saved=tuple(v if f else None for v, f in zip((y, *xs), flags, strict=True)),
        outputs=(),
    )


def _cotangents(x: Any) -> Iterator[tuple[Any, bool]]:
    """Those of a result like `x`, and whether each is an array of the pass."""
    yield np.ones(x.shape, x.dtype), True
    yield np.ones(x.shape, x.dtype), False
    yield np.broadcast_to(x.dtype.type(1), x.shape), False


def _elementwise() -> Iterator[Work]:
    for dtype, prim in itertools.product(FLOATS, elementwise.primitives()):
        x = np.full(SHAPE, 0.5, dtype)
        count = prim.ufunc.nin  # type: ignore[attr-defined]
        others = [x, x[0], 2.0, 3.0, 0.5] if count == 2 else [0.25]
        for other in others if count > 1 else [None]:
            xs: list[Any] = [x, *[other] * (count - 1)]
            both = {(True, type(other) is np.ndarray)}
            for which in both | {(True, False), (False, True)} & both | {(True, False)}:
                yield from _pulls(prim, xs, [*which, *[False] * count][:count])
    for dtype in FLOATS:
        x = np.full(SHAPE, 0.5, dtype)
        for given in ([x > 1, x, x], [x > 1, x, 0.0], [x > 1, 0.0, x]):
            wanted = [type(v) is np.ndarray and v.dtype == dtype for v in given]
            yield from _pulls(WHERE, given, wanted)


def _pulls(prim: Any, xs: Sequence[Any], wanted: Sequence[bool]) -> Iterator[Work]:
    node = _node(prim, xs, wanted, {})
    for g, owned in _cotangents(node.prim.impl(*xs)):
        yield f"{prim.name} {g.dtype}", partial(elementwise.pull, node, g, owned)


def _reductions() -> Iterator[Work]:
    for dtype, prim, axis in itertools.product(FLOATS, rows.KERNELS, (0, 1)):
        params = dict(prim.sample()[0].params)  # type: ignore[misc]
        params |= {"axis": axis} if "axis" in params else {"axes": (axis,)}
        node = _node(prim, [np.full(SHAPE, 0.5, dtype)], [True], params)
        g = prim.impl(np.full(SHAPE, 0.5, dtype), **params)
        yield f"{prim.name} {dtype}", partial(node.prim.backward_kernel.pull, node, g)


def _values() -> Iterator[Work]:
    for dtype in FLOATS:
        x, w = np.full(SHAPE, 0.5, dtype), np.ones(SHAPE[1], dtype)
        for there in (False, True):
            xs = [x, w, w] if there else [x, 1.0, 0.0]
            params = {"axes": (1,), "eps": 1e-5, "scaled": there, "moved": there}
            node = _node(LAYER_NORM, xs, [True, there, there], params)
            yield f"layer norm {dtype}", partial(node.prim.backward_kernel.pull, node, x)
        for prim in (CUMSUM, CUMPROD):
            node = _node(prim, [x], [True], {"axis": 1, "dtype": None})
            if prim.backward_kernel is not None:
                yield f"{prim.name} {dtype}", partial(node.prim.backward_kernel.pull, node, x)


def _updates() -> Iterator[Work]:
    for dtype, (name, rule) in itertools.product(FLOATS, RULES.items()):
        arrays = tuple(np.ones(FEWEST, dtype) for _ in arrays_of(rule))
        for decay in (None, 0.5):
            numbers = (None, None, decay, *[0.5] * len(numbers_of(rule)))
            move = Move(name, arrays, numbers)
            yield f"{name} {dtype}", partial(carry_out, [move], FEWEST)
