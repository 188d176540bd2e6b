"""Hooks and the handles that remove them."""

from __future__ import annotations

import itertools
from typing import Any, Self

__all__ = ["RemovableHandle", "add_hook"]

serial = itertools.count()


class RemovableHandle:
    """Removes a hook, also as a context.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.ones(1, requires_grad=True)
    >>> handle = x.register_hook(lambda g: 2 * g)
    >>> handle.remove()
    >>> (3 * x).backward()
    >>> x.grad
    tensor([3.])
    """

    def __init__(self, tables: tuple[dict[int, Any], ...], key: int) -> None:
        self.tables, self.id = tables, key

    def remove(self) -> None:
        """Take the hook away; a second time does nothing."""
        for table in self.tables:
            table.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def add_hook(table: dict[int, Any], hook: Any) -> RemovableHandle:
    """Put `hook` at the end of `table`."""
    key = next(serial)
    table[key] = hook
    return RemovableHandle((table,), key)
