"""What nodes show of the numbers of their operation: ``_saved_dim``, ``_saved_self_sym_sizes``.

They are read from the node when somebody asks: from what the operation was `told`, from the
parameters of the operation of the core, or from the shapes of the operands. Dimensions count from
the front.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["READ_INDICES", "READ_MOMENTS", "read_parameter"]

ALSO = {  # what the operations of the core call them
    "keepdim": ("keepdims",),
    "ord": ("order",), "p": ("order",), "unitriangular": ("unit",), "correction": ("ddof",),
    "repeats": ("counts",),
}  # fmt: skip
DEFAULTS = {
    "alpha": 1, "left": True, "upper": False, "full_matrices": False, "sparse_grad": False,
}  # fmt: skip


def read_parameter(name: str, node: Any) -> Any:
    """The parameter `name` of the operation behind a node."""
    told = getattr(node, "told", None)
    if told is not None and name in told:
        return told[name]
    if name in FROM_NODE:
        return FROM_NODE[name](node)
    if name == "indices":
        return READ_INDICES[0](node)
    params = node.params
    params = params.get("params", params)
    for key in (name, *ALSO.get(name, ())):
        if key in params:
            found = params[key]
            return found.item() if isinstance(found, np.generic) else found
    if name in DEFAULTS:
        return DEFAULTS[name]
    raise AttributeError(f"'{type(node).__name__}' object has no attribute '_saved_{name}'")


def _single(node: Any, dims: Any) -> bool:
    return isinstance(dims, tuple) and type(node).__name__ == "ProdBackward1"


def _shape(node: Any, k: int) -> tuple[int, ...]:
    found: tuple[int, ...] = node.avals[k].shape
    return found


def _place(node: Any) -> tuple[int, Any]:
    """The dimension that an index, or the indices of several parts, is about, and what it says."""
    params = node.params
    items = params.get("index", params.get("items"))
    if items is None:
        items = params["parts"][0]
    for k, item in enumerate(items):
        if item != (None, None, None):
            return k, item
    return 0, (None, None, None)


def _slice(node: Any) -> tuple[int, int, int]:
    start, end, step = _place(node)[1]
    return start or 0, LAST if end is None else end, step or 1


LAST = (1 << 63) - 1  # the end of a slice that has none


def _sizes(node: Any) -> tuple[int, ...]:
    k, _ = _place(node)
    n = _shape(node, 0)[k]
    return tuple(len(range(*slice(*part[k]).indices(n))) for part in node.params["parts"])


def _exchanged(node: Any, which: int) -> int:
    axes = node.params.get("axes", ())
    moved = [k for k, axis in enumerate(axes) if k != axis]
    return moved[which] if moved else 0


def _new_dimension(node: Any) -> int:
    old, new = _shape(node, 0), node.params["shape"]
    return next((k for k, n in enumerate(old) if new[k] != n), len(old))


def _dimension(node: Any) -> Any:
    """``dim``, where no parameter of the core says it."""
    name = type(node).__name__
    if name.startswith("Unsqueeze"):
        return _new_dimension(node)
    if not {"index", "items", "parts"}.isdisjoint(node.params):
        return _place(node)[0]
    params = node.params.get("params", node.params)
    for key in ("dim", "axis", "axes"):
        if key in params:
            found = params[key]
            return found[0] if _single(node, found) else found
    raise AttributeError(f"'{name}' object has no attribute '_saved_dim'")


READ_INDICES: list[Callable[[Any], Any]] = []  # put in by `saved`
READ_MOMENTS: list[Callable[[Any, int], Any]] = []  # put in by `nn.functional`

FROM_NODE: dict[str, Any] = {
    "dim": _dimension,
    "self_sym_sizes": lambda node: _shape(node, 0),
    "self_sym_numel": lambda node: math.prod(_shape(node, 0)),
    "mat1_sym_sizes": lambda node: _shape(node, 1),
    "mat2_sym_sizes": lambda node: _shape(node, 1 if type(node).__name__[:2] == "Mm" else 2),
    "batch1_sym_argsize_0": lambda node: _shape(node, 1)[0],
    "batch1_sym_argsize_1": lambda node: _shape(node, 1)[1],
    "batch2_sym_argsize_2": lambda node: _shape(node, 2)[2],
    "source_dim": lambda node: len(_shape(node, 1)),
    "source_sym_sizes": lambda node: _shape(node, 1),
    "S_sym_argsize_minus_1": lambda node: min(_shape(node, 0)[-2:]),
    "index": lambda node: _place(node)[1] % _shape(node, 0)[_place(node)[0]],
    "start": lambda node: _slice(node)[0],
    "end": lambda node: _slice(node)[1],
    "step": lambda node: _slice(node)[2],
    "length": lambda node: _slice(node)[1] - _slice(node)[0],
    "split_sizes": _sizes,
    "split_size": lambda node: _sizes(node)[0],
    "dim0": lambda node: _exchanged(node, 0),
    "dim1": lambda node: node.params["dim1"] if "dim1" in node.params else _exchanged(node, 1),
    "rounding_mode": lambda node: node.prim.name.removeprefix("torch.div_"),
    "dims": lambda node: node.params.get("dims", node.params.get("axes", tuple(
        range(len(_shape(node, 0)))))),
    "result1": lambda node: READ_MOMENTS[0](node, 0),
    "result2": lambda node: READ_MOMENTS[0](node, 1),
    "normalized_shape": lambda node: tuple(_shape(node, 0)[k] for k in node.params["axes"]),
    "accumulate": lambda node: node.params.get("adding", "put_add" in node.prim.name),
}  # fmt: skip
