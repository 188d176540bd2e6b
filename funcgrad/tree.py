"""Pytrees: nested containers of arrays, taken apart into leaves and put together again.

Dicts (by sorted keys), lists, tuples, named tuples, None, dataclasses and registered classes are
nodes; everything else is a leaf. It imports `errors` only.
"""

from __future__ import annotations

import builtins
import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from funcgrad.errors import TreeError, located

__all__ = [
    "TreeDef",
    "flatten",
    "flatten_prefix",
    "flatten_with_paths",
    "leaves",
    "map",
    "paths",
    "register",
    "structure",
    "unflatten",
]


class TreeDef(NamedTuple):
    """The structure of a tree without its leaves; hashable and comparable.

    `kind` is None for a leaf, else the class of the container; `meta` is what it needs besides
    its children (keys, field names, auxiliary data).
    """

    kind: Any
    meta: Any
    children: tuple[TreeDef, ...]

    @property
    def size(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is None else sum(c.size for c in self.children)

    def __repr__(self) -> str:
        return self.shown()

    def __str__(self) -> str:
        return self.shown()

    def shown(self) -> str:
        """The tree as Python writes it, with a star for every leaf."""
        if self.kind is None:
            return "*"
        inner = [c.shown() for c in self.children]
        if self.kind is type(None):
            return "None"
        if self.kind is list:
            return f"[{', '.join(inner)}]"
        if self.kind is tuple:
            return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
        if self.kind in (dict, OrderedDict):
            pairs = ", ".join(f"{k!r}: {v}" for k, v in zip(self.meta, inner, strict=True))
            return "{" + pairs + "}"
        return f"{self.kind.__name__}({', '.join(inner)})"


LEAF = TreeDef(None, None, ())


class _Handler(NamedTuple):
    flatten: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten: Callable[[Any, Sequence[Any]], Any]
    names: Callable[[Any, int], Sequence[str]]


_registry: dict[type, Any] = {}  # None for the classes of leaves
_UNKNOWN: Any = object()


def _positions(_: Any, count: int) -> list[str]:
    return [f"[{i}]" for i in range(count)]


def register(
    cls: type,
    flatten: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten: Callable[[Any, Sequence[Any]], Any],
) -> None:
    """Make the instances of `cls` nodes of trees.

    Parameters
    ----------
    cls : type
    flatten : callable
        ``flatten(instance)`` returns ``(children, auxiliary data)``; the latter is hashable.
    unflatten : callable
        ``unflatten(auxiliary data, children)`` makes an instance again.

    Examples
    --------
    >>> from funcgrad import tree
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> tree.register(Pair, lambda p: ((p.a, p.b), None), lambda _, c: Pair(*c))
    >>> tree.leaves(Pair(1.0, [2.0, 3.0]))
    [1.0, 2.0, 3.0]
    """
    _registry[cls] = _Handler(flatten, unflatten, _positions)


def _sorted_keys(d: dict[Any, Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(d))
    except TypeError as error:
        raise TreeError(
            located(f"the keys of a dict in a tree have to be comparable: {list(d)!r}")
        ) from error


def _item_names(keys: Sequence[Any], _: int) -> list[str]:
    return [f"[{k!r}]" for k in keys]


class _Keys(tuple[Any, ...]):
    """The keys of a dict, sorted, and the order in which the user gave them."""

    order: tuple[Any, ...]


_NO_KEYS = _Keys()
_NO_KEYS.order = ()


def _rebuild_dict(keys: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
    found = dict(zip(keys, values, strict=True))
    order = getattr(keys, "order", keys)
    return found if order == keys else {k: found[k] for k in order}


def _take_dict(d: dict[Any, Any]) -> tuple[Sequence[Any], tuple[Any, ...]]:
    if not d:
        return (), _NO_KEYS
    keys = _Keys(_sorted_keys(d))
    keys.order = tuple(d)
    return [d[k] for k in keys], keys


_registry[list] = _Handler(lambda x: (x, None), lambda _, c: list(c), _positions)
_registry[tuple] = _Handler(lambda x: (x, None), lambda _, c: tuple(c), _positions)
_registry[type(None)] = _Handler(lambda x: ((), None), lambda _, c: None, _positions)
_registry[dict] = _Handler(_take_dict, _rebuild_dict, _item_names)
_registry[OrderedDict] = _Handler(
    lambda d: (list(d.values()), tuple(d)),
    lambda keys, c: OrderedDict(zip(keys, c, strict=True)),
    _item_names,
)


def _field_names(names: Sequence[str], _: int) -> list[str]:
    return [f".{n}" for n in names]


def _handler(x: Any) -> _Handler | None:
    cls = type(x)
    found: _Handler | None = _registry.get(cls, _UNKNOWN)
    if found is not _UNKNOWN:
        return found
    if isinstance(x, tuple) and hasattr(cls, "_fields"):
        found = _Handler(lambda x: (x, x._fields), lambda _, c: cls._make(c), _field_names)
    elif dataclasses.is_dataclass(cls):
        names = tuple(f.name for f in dataclasses.fields(cls))
        found = _Handler(
            lambda x: ([getattr(x, n) for n in names], names),
            lambda _, c: _rebuild_dataclass(cls, names, c),
            _field_names,
        )
    else:
        found = None
    _registry[cls] = found
    return found


def is_container(x: Any) -> bool:
    """Whether `x` has children: it is of a registered class, a named tuple or a dataclass."""
    return _handler(x) is not None


def _rebuild_dataclass(cls: type, names: Sequence[str], values: Sequence[Any]) -> Any:
    # not through __init__: a field may have init=False, and __post_init__ must not run on tracers
    made: Any = object.__new__(cls)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


def _walk(x: Any, out: list[Any]) -> TreeDef:
    cls = type(x)
    if cls is tuple or cls is list:  # the hot case: arguments and results
        return TreeDef(cls, None, tuple([_walk(c, out) for c in x]))
    handler = _registry.get(cls, _UNKNOWN)
    if handler is _UNKNOWN:
        handler = _handler(x)
    if handler is None:
        out.append(x)
        return LEAF
    children, meta = handler.flatten(x)
    return TreeDef(cls, meta, tuple([_walk(c, out) for c in children]))


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
    children = definition.children
    names = _registry[definition.kind].names(definition.meta, len(children))
    return [n + p for n, c in zip(names, children, strict=True) for p in paths(c)]


def flatten_with_paths(x: Any) -> tuple[list[tuple[str, Any]], TreeDef]:
    """The leaves with their paths, such as ``['w'][0].bias``, and the structure.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.flatten_with_paths({"w": [1.0]})
    ([("['w'][0]", 1.0)], {'w': [*]})
    """
    found, definition = flatten(x)
    return list(zip(paths(definition), found, strict=True)), definition


def flatten(x: Any) -> tuple[list[Any], TreeDef]:
    """The leaves of a tree, and its structure.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.flatten({"b": 2.0, "a": (1.0, None)})
    ([1.0, 2.0], {'a': (*, None), 'b': *})
    """
    out: list[Any] = []
    try:
        return out, _walk(x, out)
    except RecursionError:
        raise TreeError(
            located(f"a {type(x).__name__} holds itself, or is nested too deeply, so it is no tree")
        ) from None


def leaves(x: Any) -> list[Any]:
    """The leaves of a tree, in order.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.leaves([1.0, (2.0, None)])
    [1.0, 2.0]
    """
    return flatten(x)[0]


def structure(x: Any) -> TreeDef:
    """The structure of a tree.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.structure((1.0, [2.0]))
    (*, [*])
    """
    return flatten(x)[1]


def unflatten(definition: TreeDef, values: Iterable[Any]) -> Any:
    """The tree of this structure with these leaves.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.unflatten(tree.structure({"a": 0, "b": 0}), [1.0, 2.0])
    {'a': 1.0, 'b': 2.0}
    """
    given = list(values)
    if definition is LEAF and len(given) == 1:
        return given[0]
    if len(given) != definition.size:
        raise TreeError(
            located(
                f"{len(given)} leaves were given for the tree {definition} of {definition.size}"
            )
        )
    return _build(definition, iter(given))


def _build(definition: TreeDef, values: Any) -> Any:
    if definition.kind is None:
        return next(values)
    children = [_build(c, values) for c in definition.children]
    handler: _Handler = _registry[definition.kind]
    return handler.unflatten(definition.meta, children)


def map(function: Callable[..., Any], x: Any, *rest: Any) -> Any:
    """Apply `function` to the leaves of one tree, or of several that match it.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.map(lambda a, b: a + b, {"w": 1.0}, {"w": 2.0})
    {'w': 3.0}
    """
    first, definition = flatten(x)
    columns = [first]
    for other in rest:
        values, got = flatten(other)
        if got != definition:
            raise TreeError(located(f"the trees do not match: {definition} and {got}"))
        columns.append(values)
    return unflatten(definition, builtins.map(function, *columns))


def flatten_prefix(prefix: Any, x: Any, none_is_leaf: bool = False) -> list[Any]:
    """One leaf of `prefix` for each leaf of `x`: a leaf of the prefix stands for a whole branch.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.flatten_prefix({"a": 0, "b": 1}, {"a": [1.0, 2.0], "b": 3.0})
    [0, 0, 1]
    """
    out: list[Any] = []
    _spread(prefix, x, "", none_is_leaf, out)
    return out


def _spread(prefix: Any, x: Any, path: str, none_is_leaf: bool, out: list[Any]) -> None:
    handler = None if prefix is None and none_is_leaf else _handler(prefix)
    if handler is None:
        out.extend([prefix] * structure(x).size)
        return
    own, meta = handler.flatten(prefix)
    own = list(own)
    other = _handler(x)
    children, got = ([], None) if other is None else other.flatten(x)
    children = list(children)
    if type(prefix) is not type(x) or meta != got or len(own) != len(children):
        raise TreeError(
            located(
                f"at {path or 'the root'} the prefix has {structure(prefix)}, the tree "
                f"{structure(x)}; they do not match"
            )
        )
    for p, c, name in zip(own, children, handler.names(meta, len(own)), strict=True):
        _spread(p, c, path + name, none_is_leaf, out)
