"""Trees taken apart into leaves and a structure, and put together again.

Imports `errors` and the registry of containers only.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from funcgrad.errors import TreeError, located
from funcgrad.tree.keys import GetAttrKey, KeyPath, keystr
from funcgrad.tree.registry import UNKNOWN, Handler, handler_of, handlers

__all__ = [
    "TreeDef",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "paths",
    "structure",
    "unflatten",
]

IsLeaf = Callable[..., bool]


class TreeDef(NamedTuple):
    """The structure of a tree without its leaves; hashable and comparable.

    `kind` is None for a leaf, else the class of the container; `meta` is what it needs besides
    its children (keys, field names, auxiliary data), whose structures are its `parts`.

    Examples
    --------
    >>> from funcgrad import tree
    >>> definition = tree.structure({"a": 1.0, "b": (2.0, None)})
    >>> definition, definition.num_leaves
    ({'a': *, 'b': (*, None)}, 2)
    """

    kind: Any
    meta: Any
    parts: tuple[TreeDef, ...]

    @property
    def size(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is None else sum(c.size for c in self.parts)

    @property
    def num_leaves(self) -> int:
        """The number of leaves, under JAX's name."""
        return self.size

    @property
    def num_nodes(self) -> int:
        """The number of containers and leaves."""
        return 1 + sum(c.num_nodes for c in self.parts)

    def children(self) -> list[TreeDef]:
        """The structures of what the container holds."""
        return list(self.parts)

    def node_data(self) -> tuple[type, Any] | None:
        """The class of the container and what it needs besides its children; None of a leaf."""
        if self.kind is None:
            return None
        keys = list(self.meta) if self.kind is dict else self.meta
        return self.kind, keys

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with these leaves."""
        return unflatten(self, leaves)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of `tree` that stand where this structure has leaves.

        Raises
        ------
        TreeError
            `tree` does not begin as this structure does.

        Examples
        --------
        >>> from funcgrad import tree
        >>> tree.structure((0, 0)).flatten_up_to(([1.0, 2.0], 3.0))
        [[1.0, 2.0], 3.0]
        """
        return flatten_up_to(self, tree, "the structure", "the tree")

    def compose(self, inner: TreeDef) -> TreeDef:
        """This structure with `inner` in the place of every leaf."""
        if self.kind is None:
            return inner
        return self._replace(parts=tuple(c.compose(inner) for c in self.parts))

    def __repr__(self) -> str:
        return self.shown()

    def __str__(self) -> str:
        return self.shown()

    def shown(self) -> str:
        """The tree as Python writes it, with a star for every leaf."""
        if self.kind is None:
            return "*"
        inner = [c.shown() for c in self.parts]
        if self.kind is type(None):
            return "None"
        if self.kind is list:
            return f"[{', '.join(inner)}]"
        if self.kind is tuple:
            return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
        if self.kind in (dict, OrderedDict, defaultdict):
            keys = self.meta[1] if self.kind is defaultdict else self.meta
            pairs = ", ".join(f"{k!r}: {v}" for k, v in zip(keys, inner, strict=True))
            return "{" + pairs + "}" if self.kind is dict else f"{self.kind.__name__}({{{pairs}}})"
        keys = _keys(self)
        if keys and all(isinstance(k, GetAttrKey) for k in keys):
            inner = [f"{k.name}={c}" for k, c in zip(keys, inner, strict=True)]
        return f"{self.kind.__name__}({', '.join([*inner, *_fixed(self)])})"


LEAF = TreeDef(None, None, ())


def _keys(definition: TreeDef) -> list[Any]:
    handler: Handler = handlers[definition.kind]
    return list(handler.names(definition.meta, len(definition.parts)))


def _fixed(definition: TreeDef) -> list[str]:
    """What is static in a dataclass, or beside the children of a registered class."""
    match definition.meta:
        case (tuple(data), tuple(names), tuple(values)) if len(data) == len(definition.parts):
            return [f"{n}={v!r}" for n, v in zip(names, values, strict=False)]
    return []


# ------------------------------------------------------------------------------------- apart


def _walk(x: Any, out: list[Any]) -> TreeDef:
    cls = type(x)
    if cls is tuple or cls is list:  # the hot case: arguments and results
        return TreeDef(cls, None, tuple([_walk(c, out) for c in x]))
    handler = handlers.get(cls, UNKNOWN)
    if handler is UNKNOWN:
        handler = handler_of(x)
    if handler is None:
        out.append(x)
        return LEAF
    children, meta = handler.flatten(x)
    return TreeDef(cls, meta, tuple([_walk(c, out) for c in children]))


def _walk_up_to(x: Any, out: list[Any], is_leaf: IsLeaf) -> TreeDef:
    """The same, where `is_leaf` may say that a container is a leaf."""
    handler = None if is_leaf(x) else handler_of(x)
    if handler is None:
        out.append(x)
        return LEAF
    children, meta = handler.flatten(x)
    return TreeDef(type(x), meta, tuple([_walk_up_to(c, out, is_leaf) for c in children]))


def _walk_paths(x: Any, path: KeyPath, out: list[Any], is_leaf: IsLeaf | None) -> TreeDef:
    """The same with the paths of the leaves; `is_leaf` is given the path as well."""
    handler = None if is_leaf is not None and is_leaf(path, x) else handler_of(x)
    if handler is None:
        out.append((path, x))
        return LEAF
    if handler.keyed is not None:
        pairs, meta = handler.keyed(x)
        named = [(key, child) for key, child in pairs]
    else:
        children, meta = handler.flatten(x)
        children = list(children)
        named = list(zip(handler.names(meta, len(children)), children, strict=True))
    inner = tuple([_walk_paths(c, (*path, key), out, is_leaf) for key, c in named])
    return TreeDef(type(x), meta, inner)


def _endless(x: Any) -> TreeError:
    return TreeError(
        located(f"a {type(x).__name__} holds itself, or is nested too deeply, so it is no tree")
    )


def flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], TreeDef]:
    """The leaves of a tree, and its structure.

    Parameters
    ----------
    tree : tree
        Dicts are taken in the order of their sorted keys, and come back in their own.
    is_leaf : callable, optional
        ``is_leaf(part)`` is True where a part is a leaf although it is a container, or None.

    Returns
    -------
    leaves : list
    structure : TreeDef

    Raises
    ------
    TreeError
        The keys of a dict cannot be sorted, or a container holds itself.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.flatten({"b": 2.0, "a": (1.0, None)})
    ([1.0, 2.0], {'a': (*, None), 'b': *})
    """
    out: list[Any] = []
    try:
        return out, _walk(tree, out) if is_leaf is None else _walk_up_to(tree, out, is_leaf)
    except RecursionError:
        raise _endless(tree) from None


def flatten_with_path(
    tree: Any, is_leaf: IsLeaf | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], TreeDef]:
    """The leaves with what leads to them, and the structure.

    Parameters
    ----------
    tree : tree
    is_leaf : callable, optional
        As of `flatten`; ``is_leaf(path, part)`` with `is_leaf_takes_path`.

    Returns
    -------
    leaves : list of (tuple of keys, leaf)
        `keystr` writes the tuples as Python does.
    structure : TreeDef

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.flatten_with_path({"w": [1.0]})
    ([((DictKey(key='w'), SequenceKey(idx=0)), 1.0)], {'w': [*]})
    """
    ask = is_leaf
    if is_leaf is not None and not is_leaf_takes_path:
        ask = lambda _, x: is_leaf(x)
    out: list[tuple[KeyPath, Any]] = []
    try:
        return out, _walk_paths(tree, (), out, ask)
    except RecursionError:
        raise _endless(tree) from None


def leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves of a tree, in order.

    Parameters
    ----------
    tree : tree
    is_leaf : callable, optional
        As of `flatten`.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.leaves([1.0, (2.0, None)])
    [1.0, 2.0]
    >>> tree.leaves([1.0, None], is_leaf=lambda x: x is None)
    [1.0, None]
    """
    return flatten(tree, is_leaf)[0]


def leaves_with_path(
    tree: Any, is_leaf: IsLeaf | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """The leaves with what leads to them: see `flatten_with_path`.

    Examples
    --------
    >>> from funcgrad import tree
    >>> [(tree.keystr(path), leaf) for path, leaf in tree.leaves_with_path({"w": [1.0, 2.0]})]
    [("['w'][0]", 1.0), ("['w'][1]", 2.0)]
    """
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def structure(tree: Any, is_leaf: IsLeaf | None = None) -> TreeDef:
    """The structure of a tree.

    Parameters
    ----------
    tree : tree
    is_leaf : callable, optional
        As of `flatten`.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.structure((1.0, [2.0]))
    (*, [*])
    """
    return flatten(tree, is_leaf)[1]


def paths(definition: TreeDef) -> list[str]:
    """The paths of the leaves of a tree of this structure, such as ``['w'][0].bias``.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.paths(tree.structure({"w": [1.0]}))
    ["['w'][0]"]
    """
    if definition.kind is None:
        return [""]
    pairs = zip(_keys(definition), definition.parts, strict=True)
    return [f"{key}{path}" for key, child in pairs for path in paths(child)]


# ---------------------------------------------------------------------------------- together


def unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Any:
    """The tree of this structure with these leaves.

    Raises
    ------
    TreeError
        There are more or fewer leaves than the structure has.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.unflatten(tree.structure({"a": 0, "b": 0}), [1.0, 2.0])
    {'a': 1.0, 'b': 2.0}
    """
    given = list(leaves)
    if treedef is LEAF and len(given) == 1:
        return given[0]
    if len(given) != treedef.size:
        raise TreeError(
            located(f"{len(given)} leaves were given for the tree {treedef} of {treedef.size}")
        )
    return _build(treedef, iter(given))


def _build(definition: TreeDef, values: Iterator[Any]) -> Any:
    if definition.kind is None:
        return next(values)
    children = [_build(c, values) for c in definition.parts]
    handler: Handler = handlers[definition.kind]
    return handler.unflatten(definition.meta, children)


# ------------------------------------------------------------------------------- side by side


def flatten_up_to(definition: TreeDef, x: Any, ours: str, theirs: str) -> list[Any]:
    """The parts of `x` where `definition` has leaves; an error names both by these words."""
    out: list[Any] = []
    _take(definition, x, (), out, (ours, theirs))
    return out


def _take(
    definition: TreeDef, x: Any, path: KeyPath, out: list[Any], names: tuple[str, str]
) -> None:
    if definition.kind is None:
        out.append(x)
        return
    handler = handler_of(x) if type(x) is definition.kind else None
    children: list[Any] = []
    if handler is not None:
        found, meta = handler.flatten(x)
        children = list(found)
    if (
        handler is None
        or len(children) != len(definition.parts)
        or not _same(meta, definition.meta)
    ):
        raise TreeError(
            located(
                f"the trees do not match: at {keystr(path) or 'the root'} {names[0]} has "
                f"{definition}, {names[1]} {structure(x)}"
            )
        )
    for key, part, child in zip(_keys(definition), definition.parts, children, strict=True):
        _take(part, child, (*path, key), out, names)


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except ValueError:  # an array
        raise TreeError(
            located(
                "the static part of a container cannot be compared: it holds an array; make that "
                "one of its children"
            )
        ) from None
