"""The functions of `funcgrad.tree` under the names of ``jax.tree_util``.

It imports `tree` and the boundary of its errors only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from funcgrad import tree
from funcgrad.core.boundary import publish
from funcgrad.errors import TreeError, located
from funcgrad.tree import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyPath,
    Partial,
    SequenceKey,
    keystr,
    register_dataclass,
    register_static,
)
from funcgrad.tree import TreeDef as PyTreeDef
from funcgrad.tree import all as tree_all
from funcgrad.tree import broadcast as tree_broadcast
from funcgrad.tree import flatten as tree_flatten
from funcgrad.tree import flatten_with_path as tree_flatten_with_path
from funcgrad.tree import leaves as tree_leaves
from funcgrad.tree import leaves_with_path as tree_leaves_with_path
from funcgrad.tree import map as tree_map
from funcgrad.tree import map_with_path as tree_map_with_path
from funcgrad.tree import reduce as tree_reduce
from funcgrad.tree import reduce_associative as tree_reduce_associative
from funcgrad.tree import register_node as register_pytree_node
from funcgrad.tree import structure as tree_structure
from funcgrad.tree import transpose as tree_transpose
from funcgrad.tree import unflatten as tree_unflatten
from funcgrad.tree.registry import handler_of

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

Class = TypeVar("Class", bound=type)
KeyEntry = DictKey | FlattenedIndexKey | GetAttrKey | SequenceKey


def register_pytree_node_class(cls: Class) -> Class:
    """Register a class by its methods `tree_flatten` and (of the class) `tree_unflatten`.

    Examples
    --------
    >>> from funcgrad import tree_util
    >>> @tree_util.register_pytree_node_class
    ... class Pair:
    ...     def __init__(self, *parts):
    ...         self.parts = parts
    ...
    ...     def tree_flatten(self):
    ...         return self.parts, None
    ...
    ...     @classmethod
    ...     def tree_unflatten(cls, _, children):
    ...         return cls(*children)
    >>> tree_util.tree_leaves(Pair(1.0, 2.0))
    [1.0, 2.0]
    """
    maker: Any = cls
    register_pytree_node(cls, lambda x: x.tree_flatten(), maker.tree_unflatten)
    return cls


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Sequence[Any]], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Register a class whose children have keys; see `funcgrad.tree.register_node`.

    Examples
    --------
    >>> from funcgrad import tree_util as t
    >>> class Box:
    ...     def __init__(self, x):
    ...         self.x = x
    >>> t.register_pytree_with_keys(
    ...     Box, lambda b: (((t.GetAttrKey("x"), b.x),), None), lambda _, c: Box(*c)
    ... )
    >>> t.keystr(t.tree_leaves_with_path(Box(1.0))[0][0])
    '.x'
    """

    def without_keys(x: Any) -> tuple[list[Any], Any]:
        pairs, rest = flatten_with_keys(x)
        return [child for _, child in pairs], rest

    register_pytree_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_with_keys_class(cls: Class) -> Class:
    """Register a class by `tree_flatten_with_keys` and (of the class) `tree_unflatten`.

    Examples
    --------
    >>> from funcgrad import tree_util as t
    >>> @t.register_pytree_with_keys_class
    ... class Named:
    ...     def __init__(self, x):
    ...         self.x = x
    ...
    ...     def tree_flatten_with_keys(self):
    ...         return ((t.GetAttrKey("x"), self.x),), None
    ...
    ...     @classmethod
    ...     def tree_unflatten(cls, _, children):
    ...         return cls(*children)
    >>> t.keystr(t.tree_leaves_with_path([Named(1.0)])[0][0])
    '[0].x'
    """
    maker: Any = cls
    register_pytree_with_keys(
        cls,
        lambda x: x.tree_flatten_with_keys(),
        maker.tree_unflatten,
        (lambda x: x.tree_flatten()) if hasattr(cls, "tree_flatten") else None,
    )
    return cls


def all_leaves(iterable: Iterable[Any], is_leaf: Callable[..., bool] | None = None) -> bool:
    """Whether each item is a leaf.

    Examples
    --------
    >>> from funcgrad import tree_util
    >>> tree_util.all_leaves([1.0, 2.0]), tree_util.all_leaves([1.0, None])
    (True, False)
    """
    return all(tree_structure(x, is_leaf).kind is None for x in iterable)


def is_tree_node(typ: type) -> bool:
    """Whether the instances of a class are containers of trees because it is registered.

    Examples
    --------
    >>> from funcgrad import tree_util
    >>> tree_util.is_tree_node(dict), tree_util.is_tree_node(float)
    (True, False)
    """
    return tree.registry.handlers.get(typ) is not None


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Any]:
    """The children of a container, and what it is besides.

    Raises
    ------
    TreeError
        It is a leaf.

    Examples
    --------
    >>> from funcgrad import tree_util
    >>> tree_util.flatten_one_level([1.0, [2.0]])[0]
    [1.0, [2.0]]
    """
    found = handler_of(tree)
    if found is None:
        raise TreeError(located(f"flatten_one_level: a {type(tree).__name__} is a leaf"))
    return found.flatten(tree)


def flatten_one_level_with_keys(tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """`flatten_one_level` with the key of each child.

    Examples
    --------
    >>> from funcgrad import tree_util
    >>> tree_util.flatten_one_level_with_keys({"w": 1.0})[0]
    [(DictKey(key='w'), 1.0)]
    """
    found = handler_of(tree)
    if found is not None and found.keyed is not None:
        pairs, rest = found.keyed(tree)
        return list(pairs), rest
    children, rest = flatten_one_level(tree)
    children = list(children)
    names = [] if found is None else found.names(rest, len(children))
    return list(zip(names, children, strict=True)), rest


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children.

    Examples
    --------
    >>> from funcgrad import tree_util
    >>> tree_util.treedef_children(tree_util.tree_structure([1.0, (2.0,)]))
    [*, (*,)]
    """
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether it is the structure of a leaf, or of a container without children.

    Examples
    --------
    >>> from funcgrad import tree_util
    >>> tree_util.treedef_is_leaf(tree_util.tree_structure(1.0))
    True
    """
    return treedef.num_nodes == 1


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees of these structures.

    Examples
    --------
    >>> from funcgrad import tree_util
    >>> tree_util.treedef_tuple([tree_util.tree_structure(1.0)] * 2)
    (*, *)
    """
    return PyTreeDef(tuple, None, tuple(treedefs))


class PyTreeRegistry:
    """The classes that are containers of trees: methods in the place of functions, as JAX has them.

    Examples
    --------
    >>> from funcgrad import tree_util
    >>> tree_util.default_registry.flatten_one_level([1.0, [2.0]])
    ([1.0, [2.0]], None)
    """

    flatten = staticmethod(tree_flatten)
    flatten_one_level = staticmethod(flatten_one_level)
    flatten_one_level_with_keys = staticmethod(flatten_one_level_with_keys)
    register_node = staticmethod(register_pytree_node)
    register_dataclass = staticmethod(register_dataclass)


default_registry = PyTreeRegistry()


publish(__name__)
