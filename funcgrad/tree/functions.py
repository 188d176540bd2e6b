"""Functions applied to the leaves of trees, under JAX's names.

Imports `errors` and the structure of trees only.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.errors import TreeError, located
from funcgrad.tree.structure import (
    IsLeaf,
    TreeDef,
    flatten,
    flatten_up_to,
    flatten_with_path,
    leaves,
    structure,
    unflatten,
)

__all__ = [
    "all",
    "broadcast",
    "flatten_prefix",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "transpose",
]

Function = Callable[..., Any]
_NOTHING: Any = object()


def map(f: Function, tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Apply `f` to the leaves of one tree, or of several that match it.

    Parameters
    ----------
    f : callable
        Takes a leaf of `tree`, and what stands in its place in each of `rest`.
    tree : tree
    *rest : tree
        Trees that begin as `tree` does: where it has a leaf, they may have anything.
    is_leaf : callable, optional
        ``is_leaf(part)`` is True where a part of `tree` is a leaf although it is a container.

    Returns
    -------
    tree
        Of the structure of `tree`.

    Raises
    ------
    TreeError
        The trees do not match; it names the path and both structures there.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.map(lambda a, b: a + b, {"w": 1.0}, {"w": 2.0})
    {'w': 3.0}
    """
    first, definition = flatten(tree, is_leaf)
    return unflatten(definition, builtins.map(f, first, *_beside(definition, rest)))


def _beside(definition: TreeDef, rest: Sequence[Any]) -> list[list[Any]]:
    return [flatten_up_to(definition, other, "the first", "another one") for other in rest]


def map_with_path(
    f: Function,
    tree: Any,
    *rest: Any,
    is_leaf: IsLeaf | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """`map` with a function that is given the path of each leaf first, as a tuple of keys.

    Raises
    ------
    TreeError
        As of `map`.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.map_with_path(lambda path, x: tree.keystr(path), {"w": [1.0, 2.0]})
    {'w': ["['w'][0]", "['w'][1]"]}
    """
    pairs, definition = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    columns = _beside(definition, rest)
    return unflatten(
        definition, [f(*pair, *others) for pair, *others in zip(pairs, *columns, strict=True)]
    )


def all(tree: Any, *, is_leaf: IsLeaf | None = None) -> bool:
    """Whether all leaves are true.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.all({"a": True, "b": [True, False]})
    False
    """
    return builtins.all(leaves(tree, is_leaf))


def reduce(
    function: Function, tree: Any, initializer: Any = _NOTHING, is_leaf: IsLeaf | None = None
) -> Any:
    """The leaves taken together one after the other, from the left.

    Parameters
    ----------
    function : callable
        ``function(what was found so far, leaf)``.
    tree : tree
    initializer : optional
        What stands before the first leaf.
    is_leaf : callable, optional
        As of `flatten`.

    Raises
    ------
    TypeError
        There is neither a leaf nor an initializer.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.reduce(lambda total, x: total + x, {"a": 1.0, "b": [2.0, 3.0]})
    6.0
    """
    found = leaves(tree, is_leaf)
    return functools.reduce(function, found, *([] if initializer is _NOTHING else [initializer]))


def reduce_associative(
    operation: Function, tree: Any, *, identity: Any = _NOTHING, is_leaf: IsLeaf | None = None
) -> Any:
    """The leaves taken together in halves: a graph of the depth of a logarithm.

    Parameters
    ----------
    operation : callable
        An associative function of two.
    tree : tree
    identity : optional
        The result where there is no leaf.
    is_leaf : callable, optional
        As of `flatten`.

    Raises
    ------
    TypeError
        There is neither a leaf nor an identity.

    Examples
    --------
    >>> import operator
    >>> from funcgrad import tree
    >>> tree.reduce_associative(operator.add, [1.0, 2.0, (3.0, 4.0)])
    10.0
    """

    def halves(part: list[Any]) -> Any:
        if len(part) == 1:
            return part[0]
        middle = len(part) // 2
        return operation(halves(part[:middle]), halves(part[middle:]))

    found = leaves(tree, is_leaf)
    if found:
        return halves(found)
    if identity is _NOTHING:
        raise TypeError(located("reduce_associative: a tree without leaves needs an identity"))
    return identity


def transpose(
    outer_treedef: TreeDef, inner_treedef: TreeDef | None, pytree_to_transpose: Any
) -> Any:
    """A tree of trees turned inside out: a list of dicts becomes a dict of lists.

    Parameters
    ----------
    outer_treedef : TreeDef
        The structure of the outer tree.
    inner_treedef : TreeDef or None
        That of the trees in the places of its leaves; None: that of the first.
    pytree_to_transpose : tree

    Raises
    ------
    TreeError
        The tree has not these structures.

    Examples
    --------
    >>> from funcgrad import tree
    >>> rows = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    >>> tree.transpose(tree.structure([0, 0]), None, rows)
    {'a': [1, 3], 'b': [2, 4]}
    """
    whole = "the tree to transpose"
    branches = flatten_up_to(outer_treedef, pytree_to_transpose, "the outer structure", whole)
    if inner_treedef is None:
        if not branches:
            raise TreeError(
                located("transpose: an outer tree without leaves tells no inner structure")
            )
        inner_treedef = structure(branches[0])
    rows = [flatten_up_to(inner_treedef, b, "the inner structure", whole) for b in branches]
    columns = zip(*rows, strict=True) if rows else [()] * inner_treedef.size
    return unflatten(inner_treedef, [unflatten(outer_treedef, column) for column in columns])


def flatten_prefix(prefix: Any, x: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """One leaf of `prefix` for each leaf of `x`: a leaf of the prefix stands for a whole branch.

    Raises
    ------
    TreeError
        `x` does not begin as `prefix` does; it names the path and both structures there.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.flatten_prefix({"a": 0, "b": 1}, {"a": [1.0, 2.0], "b": 3.0})
    [0, 0, 1]
    """
    own, definition = flatten(prefix, is_leaf)
    branches = flatten_up_to(definition, x, "the prefix", "the tree")
    return [p for p, b in zip(own, branches, strict=True) for _ in range(structure(b).size)]


def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """`prefix_tree` with the structure of `full_tree`: a leaf is repeated for a whole branch.

    Raises
    ------
    TreeError
        `full_tree` does not begin as `prefix_tree` does.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.broadcast((0.1, 0.2), ({"w": 1.0, "b": 2.0}, 3.0))
    ({'w': 0.1, 'b': 0.1}, 0.2)
    """
    return unflatten(structure(full_tree), flatten_prefix(prefix_tree, full_tree, is_leaf))
