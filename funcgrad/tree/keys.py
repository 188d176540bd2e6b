"""Key paths: what leads from the root of a tree to a leaf, step by step, under JAX's names.

Imports nothing of funcgrad.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyPath", "SequenceKey", "keystr"]

KeyPath = tuple[Any, ...]


@dataclass(frozen=True)
class SequenceKey:
    """An item of a list or a tuple.

    Examples
    --------
    >>> from funcgrad import tree
    >>> str(tree.SequenceKey(2))
    '[2]'
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclass(frozen=True)
class DictKey:
    """A value of a dict.

    Examples
    --------
    >>> from funcgrad import tree
    >>> str(tree.DictKey("w"))
    "['w']"
    """

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True)
class GetAttrKey:
    """A field of a named tuple, a dataclass or a registered class.

    Examples
    --------
    >>> from funcgrad import tree
    >>> str(tree.GetAttrKey("bias"))
    '.bias'
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True)
class FlattenedIndexKey:
    """A child of a registered class that names no keys.

    Examples
    --------
    >>> from funcgrad import tree
    >>> str(tree.FlattenedIndexKey(0))
    '[<flat index 0>]'
    """

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


KEYS = (SequenceKey, DictKey, GetAttrKey, FlattenedIndexKey)


def _bare(key: Any) -> str:
    """What stands in a key: the number, the key, the name."""
    if not isinstance(key, KEYS):
        return str(key)
    (content,) = vars(key).values()
    return str(content)


def keystr(keys: Sequence[Any], *, simple: bool = False, separator: str = "") -> str:
    """A key path as Python writes it behind a name, or with `simple` its parts alone.

    Parameters
    ----------
    keys : tuple
        As `flatten_with_path` gives it.
    simple : bool, optional
        Only what stands in the keys, which may be ambiguous.
    separator : str, optional
        What stands between them.

    Examples
    --------
    >>> from funcgrad import tree
    >>> [(path, _)] = tree.leaves_with_path({"w": [1.0]})
    >>> tree.keystr(path), tree.keystr(path, simple=True, separator="/")
    ("['w'][0]", 'w/0')
    """
    return separator.join(map(_bare if simple else str, keys))
