"""The names of a namespace of ours: exactly NumPy's, with NumPy's own objects for the rest."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from funcgrad.core.boundary import lookup
from funcgrad.errors import nearest

__all__ = ["complete", "strip"]


def _public(module: ModuleType) -> list[str]:
    return [name for name in dir(module) if not name.startswith("_")]


def strip(space: dict[str, Any], theirs: ModuleType) -> None:
    """Take the names out of a namespace that NumPy does not have: modules, and what it imported."""
    for name in [n for n in space if not n.startswith("_") and not hasattr(theirs, n)]:
        del space[name]


def complete(ours: str, theirs: ModuleType, later: tuple[str, ...] = ()) -> None:
    """Give a namespace `ours` that stands for the module `theirs` ``__getattr__`` and ``__dir__``.

    They are put into it as it runs: a type checker would take them for a promise of every name.

    Parameters
    ----------
    later : tuple of str
        Submodules of ours that are imported on first use.
    """

    @lookup
    def __getattr__(name: str) -> Any:
        if name in later:
            return importlib.import_module(f"{ours}.{name}")
        if not name.startswith("_") and hasattr(theirs, name):
            return getattr(theirs, name)
        hint = nearest(name, _public(theirs))
        raise AttributeError(f"module {ours!r} has no attribute {name!r}{hint}")

    vars(sys.modules[ours]).update(__getattr__=__getattr__, __dir__=lambda: _public(theirs))
