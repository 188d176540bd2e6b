"""Which classes are containers of trees, and how they are taken apart and put together.

Python's own are dicts, lists, tuples, named tuples, None, `OrderedDict`, `defaultdict` and
dataclasses; users register theirs. Imports `errors` and the keys of paths only.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from funcgrad.errors import TreeError, located
from funcgrad.tree.keys import KEYS, DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey

__all__ = [
    "DictKeys",
    "Partial",
    "handler_of",
    "is_container",
    "register_dataclass",
    "register_node",
    "register_static",
    "static",
]

Class = TypeVar("Class", bound=type)
Flatten = Callable[[Any], tuple[Iterable[Any], Any]]


class Handler(NamedTuple):
    """How the instances of a class are taken apart, put together, and their children named."""

    flatten: Flatten
    unflatten: Callable[[Any, Sequence[Any]], Any]
    names: Callable[[Any, int], Sequence[Any]]  # the keys of the children, given the rest
    keyed: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None


handlers: dict[type, Any] = dict.fromkeys(KEYS)  # None for the classes of leaves
UNKNOWN: Any = object()


def handler_of(x: Any) -> Handler | None:
    """How `x` is taken apart; None for a leaf."""
    cls = type(x)
    found: Handler | None = handlers.get(cls, UNKNOWN)
    if found is not UNKNOWN:
        return found
    if isinstance(x, tuple) and hasattr(cls, "_fields"):
        found = _named_tuple(cls)
    elif dataclasses.is_dataclass(cls):
        data, fixed = _declared(cls)
        found = _of_fields(cls, data, fixed, ())
    else:
        found = None
    handlers[cls] = found
    return found


def _named_tuple(cls: Any) -> Handler:
    """A class of `collections.namedtuple`, or a tuple with more attributes, as SciPy's results."""
    if hasattr(cls, "_make"):
        return Handler(lambda x: (x, x._fields), lambda _, c: cls._make(c), _attributes)

    def take(x: Any) -> tuple[list[Any], Any]:
        held = vars(x)
        data = tuple(n for n, v in held.items() if hasattr(v, "__array_ufunc__") or handler_of(v))
        fixed = tuple(n for n in held if n not in data)
        names = (*x._fields, *data)
        return [*x, *(held[n] for n in data)], (names, fixed, tuple(held[n] for n in fixed))

    def rebuild(meta: Any, children: Sequence[Any]) -> Any:
        names, fixed, values = meta
        count = len(cls._fields)
        made = tuple.__new__(cls, children[:count])
        vars(made).update(zip(names[count:], children[count:], strict=True))
        vars(made).update(zip(fixed, values, strict=True))
        return made

    return Handler(take, rebuild, lambda meta, count: _attributes(meta[0], count))


def is_container(x: Any) -> bool:
    """Whether `x` has children: it is of a registered class, a named tuple or a dataclass.

    Examples
    --------
    >>> from funcgrad import tree
    >>> tree.is_container({}), tree.is_container(1.0)
    (True, False)
    """
    return handler_of(x) is not None


# ------------------------------------------------------------------------- Python's containers


def _positions(_: Any, count: int) -> list[SequenceKey]:
    return [SequenceKey(i) for i in range(count)]


def _numbers(_: Any, count: int) -> list[FlattenedIndexKey]:
    return [FlattenedIndexKey(i) for i in range(count)]


def _items(keys: Sequence[Any], _: int) -> list[DictKey]:
    return [DictKey(k) for k in keys]


def _attributes(names: Sequence[str], _: int) -> list[GetAttrKey]:
    return [GetAttrKey(n) for n in names]


def _sorted_keys(d: dict[Any, Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(d))
    except TypeError as error:
        raise TreeError(
            located(f"the keys of a dict in a tree have to be comparable: {list(d)!r}")
        ) from error


class DictKeys(tuple[Any, ...]):
    """The keys of a dict, sorted, and the order in which the user gave them."""

    order: tuple[Any, ...]


_NO_KEYS = DictKeys()
_NO_KEYS.order = ()


def _rebuild_dict(keys: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
    found = dict(zip(keys, values, strict=True))
    order = getattr(keys, "order", keys)
    return found if order == keys else {k: found[k] for k in order}


def _take_dict(d: dict[Any, Any]) -> tuple[Sequence[Any], tuple[Any, ...]]:
    if not d:
        return (), _NO_KEYS
    keys = DictKeys(_sorted_keys(d))
    keys.order = tuple(d)
    return [d[k] for k in keys], keys


def _take_defaultdict(d: Any) -> tuple[Sequence[Any], tuple[Any, ...]]:
    children, keys = _take_dict(d)
    return children, (d.default_factory, keys)


handlers[list] = Handler(lambda x: (x, None), lambda _, c: list(c), _positions)
handlers[tuple] = Handler(lambda x: (x, None), lambda _, c: tuple(c), _positions)
handlers[type(None)] = Handler(lambda x: ((), None), lambda _, c: None, _positions)
handlers[dict] = Handler(_take_dict, _rebuild_dict, _items)
handlers[OrderedDict] = Handler(
    lambda d: (list(d.values()), tuple(d)),
    lambda keys, c: OrderedDict(zip(keys, c, strict=True)),
    _items,
)
handlers[defaultdict] = Handler(
    _take_defaultdict,
    lambda meta, c: defaultdict(meta[0], _rebuild_dict(meta[1], c)),
    lambda meta, count: _items(meta[1], count),
)

# --------------------------------------------------------------------------------- dataclasses


def _declared(cls: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the fields of a dataclass that are data, and of those that are static."""
    fields = dataclasses.fields(cls)
    fixed = tuple(f.name for f in fields if f.metadata.get("static", False))
    return tuple(f.name for f in fields if f.name not in fixed), fixed


def _of_fields(
    cls: type, data: tuple[str, ...], fixed: tuple[str, ...], dropped: Sequence[str]
) -> Handler:
    """The rest beside the children: the names of these, those of what is static, and that."""

    def take(x: Any) -> tuple[list[Any], Any]:
        values = tuple([getattr(x, n) for n in fixed]) if fixed else ()
        return [getattr(x, n) for n in data], (data, fixed, values)

    def rebuild(meta: Any, children: Sequence[Any]) -> Any:
        # not through __init__: a field may have init=False, and __post_init__ must not run on
        # traced values
        made: Any = object.__new__(cls)
        for name, value in zip((*meta[0], *meta[1]), (*children, *meta[2]), strict=True):
            object.__setattr__(made, name, value)
        for name in dropped:
            _set_default(made, name)
        return made

    return Handler(take, rebuild, lambda meta, count: _attributes(meta[0], count))


def _set_default(made: Any, name: str) -> None:
    for field in dataclasses.fields(made):
        if field.name == name and field.default is not dataclasses.MISSING:
            object.__setattr__(made, name, field.default)
        elif field.name == name and field.default_factory is not dataclasses.MISSING:
            object.__setattr__(made, name, field.default_factory())


def _take_over(cls: type, handler: Handler) -> None:
    if handlers.get(cls) is not None:
        raise ValueError(located(f"{cls.__name__} is registered as a container of trees already"))
    handlers[cls] = handler


def register_node(
    nodetype: type,
    flatten_func: Flatten,
    unflatten_func: Callable[[Any, Sequence[Any]], Any],
    flatten_with_keys_func: Callable[[Any], Any] | None = None,
) -> None:
    """Make the instances of a class nodes of trees.

    Parameters
    ----------
    nodetype : type
    flatten_func : callable
        ``flatten_func(instance)`` returns ``(children, auxiliary data)``; the latter is compared
        with ``==``, and has to be hashable where `jit` meets it.
    unflatten_func : callable
        ``unflatten_func(auxiliary data, children)`` makes an instance again. The children may be
        anything: traced values, None, numbers.
    flatten_with_keys_func : callable, optional
        Returns ``(pairs of key and child, auxiliary data)``, for paths; else they are numbered.

    Raises
    ------
    ValueError
        The class is registered already.

    Examples
    --------
    >>> from funcgrad import tree
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> tree.register_node(Pair, lambda p: ((p.a, p.b), None), lambda _, c: Pair(*c))
    >>> tree.leaves(Pair(1.0, [2.0, 3.0]))
    [1.0, 2.0, 3.0]
    """
    made = Handler(flatten_func, unflatten_func, _numbers, flatten_with_keys_func)
    _take_over(nodetype, made)


def register_dataclass(
    nodetype: Any = None,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Any:
    """Say which fields of a class are data, and which are static parts of the structure.

    A dataclass needs this only where its fields are not declared one by one: all that are not
    ``static()`` are data without it. Static fields are handed on as they are, carry no gradient,
    and `jit` traces anew for other ones.

    Parameters
    ----------
    nodetype : type
        A dataclass, or with both lists a class whose instances are made of these attributes.
    data_fields, meta_fields : sequence of str, optional
        The names of the fields that are children, and of those that are static: hashable and
        comparable. By default as they were declared.
    drop_fields : sequence of str, optional
        Fields that are neither; they have their defaults when an instance is made again.

    Returns
    -------
    type
        `nodetype`: it may be used as a decorator.

    Raises
    ------
    TypeError
        Only one of the lists is given, or none and it is no dataclass.
    ValueError
        The lists do not name each field once.

    Examples
    --------
    >>> import dataclasses
    >>> import funcgrad as fg
    >>> @fg.tree.register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weight: float
    ...     name: str = fg.tree.static(default="first")
    >>> fg.grad(lambda layer: layer.weight**2)(Layer(3.0))
    Layer(weight=np.float64(6.0), name='first')
    """
    if nodetype is None:
        return functools.partial(
            register_dataclass,
            data_fields=data_fields,
            meta_fields=meta_fields,
            drop_fields=drop_fields,
        )
    is_dataclass = dataclasses.is_dataclass(nodetype)
    if (data_fields is None) != (meta_fields is None):
        raise TypeError(located("register_dataclass: give both data_fields and meta_fields"))
    if data_fields is None or meta_fields is None:
        if not is_dataclass:
            raise TypeError(
                located(
                    f"register_dataclass: {nodetype!r} is no dataclass; give data_fields and "
                    "meta_fields"
                )
            )
        data, fixed = _declared(nodetype)
        data = tuple(n for n in data if n not in drop_fields)
    else:
        data, fixed = tuple(data_fields), tuple(meta_fields)
        if is_dataclass:
            _check_fields(nodetype, data, fixed, drop_fields)
    twice = sorted({*data} & {*fixed})
    if twice:
        raise ValueError(located(f"register_dataclass: {twice} are data and static"))
    _take_over(nodetype, _of_fields(nodetype, data, fixed, tuple(drop_fields)))
    return nodetype


def _check_fields(
    cls: type, data: Sequence[str], fixed: Sequence[str], dropped: Sequence[str]
) -> None:
    wanted = {f.name for f in dataclasses.fields(cls) if f.init} - {*dropped}
    known = {f.name for f in dataclasses.fields(cls)}
    missing, unknown = sorted(wanted - {*data, *fixed}), sorted({*data, *fixed} - known)
    if missing or unknown:
        raise ValueError(
            located(
                f"register_dataclass of {cls.__name__}: data_fields and meta_fields leave out "
                f"{missing} and name {unknown}, which are no fields; name each field once, or in "
                "drop_fields"
            )
        )


def static(**kwargs: Any) -> Any:
    """A field of a dataclass that is a part of the structure, not data.

    Parameters
    ----------
    **kwargs
        As of `dataclasses.field`.

    Examples
    --------
    >>> import dataclasses
    >>> from funcgrad import tree
    >>> @dataclasses.dataclass
    ... class Named:
    ...     value: float
    ...     name: str = tree.static(default="x")
    >>> tree.leaves(Named(1.0))
    [1.0]
    """
    metadata = {**(kwargs.pop("metadata", None) or {}), "static": True}
    return dataclasses.field(metadata=metadata, **kwargs)


def register_static(cls: Class) -> Class:
    """Make the instances of a class parts of the structure: nodes without children.

    They have to be hashable and comparable; `jit` traces anew for other ones. It may be used as a
    decorator.

    Examples
    --------
    >>> import funcgrad as fg
    >>> @fg.tree.register_static
    ... class Name(str):
    ...     pass
    >>> fg.grad(lambda x: x["w"] ** 2)({"w": 3.0, "name": Name("first")})
    {'w': np.float64(6.0), 'name': 'first'}
    """
    _take_over(cls, Handler(lambda x: ((), x), lambda x, _: x, _numbers))
    return cls


class _Whole:
    """A partial application that another one does not merge with its own arguments."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __eq__(self, other: Any) -> bool:
        return type(other) is _Whole and bool(self.function == other.function)

    def __hash__(self) -> int:
        return hash((_Whole, self.function))

    def __repr__(self) -> str:
        return repr(self.function)


class Partial(functools.partial[Any]):
    """A partial application that is a tree: its arguments are leaves, its function is static.

    Parameters
    ----------
    func : callable
        The arguments of a `functools.partial` are static, those of a `Partial` join the new ones.
    *args, **kwargs
        Trees.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> scaled = fg.tree.Partial(np.multiply, 3.0)
    >>> fg.tree.leaves(scaled)
    [3.0]
    >>> fg.grad(lambda f, x: f(x))(scaled, 2.0).args
    (np.float64(2.0),)
    """

    def __new__(cls, func: Any, /, *args: Any, **kwargs: Any) -> Partial:
        if isinstance(func, functools.partial) and not isinstance(func, Partial):
            func = _Whole(func)
        return super().__new__(cls, func, *args, **kwargs)


def _rebuild_partial(func: Callable[..., Any], children: Sequence[Any]) -> Partial:
    args, kwargs = children
    return Partial(func, *args, **kwargs)


handlers[Partial] = Handler(
    lambda p: ((p.args, p.keywords), p.func),
    _rebuild_partial,
    lambda _, count: [GetAttrKey("args"), GetAttrKey("keywords")],
)
