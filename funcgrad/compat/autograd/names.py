"""Names that a module of autograd's takes from elsewhere: ours where there are, else the library's.

Modules are imported on first use.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from funcgrad.core.boundary import lookup
from funcgrad.errors import nearest

__all__ = ["names_of"]


def names_of(*modules: str, within: str = "") -> Callable[[str], Any]:
    """The `__getattr__` of a module that has the names of others.

    Parameters
    ----------
    *modules : str
        Where a name is looked for, in this order; those that cannot be imported are passed over.
    within : str, optional
        The object in these modules whose attributes are meant.
    """

    @lookup
    def find(name: str) -> Any:
        if not name.startswith("__"):
            for module in modules:
                holder = _held(module, within)
                if hasattr(holder, name):
                    return getattr(holder, name)
        path = f"{modules[0]}.{within}" if within else modules[0]
        hint = nearest(name, {each for module in modules for each in dir(_held(module, within))})
        raise AttributeError(f"module {path!r} has no attribute {name!r}{hint}")

    return find


def _held(module: str, within: str) -> Any:
    holder = _imported(module)
    return getattr(holder, within, None) if within else holder


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and name.startswith(error.name):
            return None
        raise
