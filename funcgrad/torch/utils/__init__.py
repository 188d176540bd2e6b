"""``torch.utils``."""

from funcgrad.torch.utils import checkpoint, hooks

__all__ = ["checkpoint", "hooks"]
