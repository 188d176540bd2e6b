"""``torch.utils.hooks``: handles that remove hooks."""

from __future__ import annotations

from typing import Any

from funcgrad.torch.hooks import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook"]


def unserializable_hook(f: Any) -> Any:
    """Mark a hook that is left behind when its tensor is pickled, so that this gives no warning."""
    f.__torch_unserializable__ = True
    return f
