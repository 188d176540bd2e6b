"""``torch.utils``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from funcgrad.torch.utils import checkpoint, hooks

if TYPE_CHECKING:
    from funcgrad.torch.utils import data as data

__all__ = ["checkpoint", "data", "hooks"]


if not TYPE_CHECKING:  # to a checker it would promise every name

    def __getattr__(name: str) -> Any:
        """Import ``data`` when it is first used: it stands on the operations, and on processes."""
        if name == "data":
            return importlib.import_module("funcgrad.torch.utils.data")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
