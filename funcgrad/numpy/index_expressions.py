"""``r_`` and ``c_``: NumPy's programs, run with our functions (`borrowed`)."""

from __future__ import annotations

from typing import Any

from funcgrad.numpy.borrowed import borrow

__all__ = ["c_", "r_"]

_SOURCE = "numpy.lib._index_tricks_impl"
_names: dict[str, Any] = {"__name__": _SOURCE, "__package__": "numpy.lib"}
borrow(_names, _SOURCE)

r_, c_ = _names["r_"], _names["c_"]
