"""Python that we print, compiled, on disk for the next process.

To print a program (of an operation: its graph, that of its derivative, their lines) and to compile
it takes up to a millisecond, as long as a hundred calls of it; to read what an earlier process has
made takes forty microseconds. A program is kept under all that it was printed from, with the
digest of our files; the objects that it names (operations' functions, dtypes, small arrays) are
kept as what finds them again. What has one that cannot be found so is not kept.
"""

from __future__ import annotations

import functools
import importlib
import marshal
from collections.abc import Mapping
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compile import store
from funcgrad.config import config
from funcgrad.core.primitive import PRIMITIVES, Primitive
from funcgrad.core.types import ArrayType
from funcgrad.torch.nodes import GradNode, lacking, node_class
from funcgrad.torch.sources import sources_of_facade

__all__ = ["Kept", "compiled", "keep", "kept", "key_of"]

Origin = tuple[Primitive, str]  # the attribute of an operation that an object is
LARGEST = 1 << 12  # bytes of an array
PLAIN = (bool, int, float, complex, str, type(None), type(Ellipsis))
MODULES = ("numpy", "_operator", "operator", "math")  # besides ours, whose functions are named


class Kept(NamedTuple):
    """A program, and the objects that it names."""

    code: CodeType
    scope: dict[str, Any]


class _Foreign(Exception):
    """Something that cannot be found again."""


@functools.lru_cache(1 << 9)
def compiled(text: str, name: str) -> CodeType:
    """The code of a program. Operands of many shapes have the same."""
    return compile(text, f"<funcgrad.torch {name}>", "exec")


def key_of(*about: Any) -> str | None:
    """The name of the program that was printed from `about`, objects whose `repr` says all; None
    where it cannot be kept.
    """
    if not config.cache:
        return None
    found = sources_of_facade()
    return None if found is None else store.name_of(f"{found} {about!r}")


def kept(key: str | None) -> Kept | None:
    """What an earlier process has kept."""
    data = None if key is None else store.read(key)
    if data is None:
        return None
    code, scope = marshal.loads(data)
    try:
        return Kept(code, {name: _found(x) for name, x in scope.items()})
    except (KeyError, AttributeError, ImportError):  # of a room that is not imported yet
        return None


def keep(
    key: str | None,
    code: CodeType,
    scope: Mapping[str, Any],
    origins: Mapping[str, Origin],
) -> None:
    """Keep a program with the objects of `scope`, some of which are attributes of operations."""
    if key is None:
        return
    try:
        told = {name: _told(x, origins.get(name)) for name, x in scope.items()}
    except _Foreign:
        return
    store.write(key, marshal.dumps((code, told), 4))


# ----------------------------------------------------------------------------------- objects


def _told(x: Any, origin: Origin | None = None) -> Any:
    """What `_found` makes the object of again: a tuple that begins with its kind, a list of a
    tuple, or a number or text itself."""
    kind = type(x)
    if kind in PLAIN:
        return x
    if isinstance(x, Primitive):
        if not x.is_ours or PRIMITIVES.get(x.name) is not x:
            raise _Foreign
        return "operation", x.name
    if origin is not None and origin[0].is_ours and PRIMITIVES.get(origin[0].name) is origin[0]:
        return "of", origin[0].name, origin[1]
    if kind is tuple:
        return [_told(item) for item in x]
    if kind is slice:
        return "slice", [_told(item) for item in (x.start, x.stop, x.step)]
    if kind is ArrayType:
        return "type", [_told(item) for item in x]
    if kind is functools.partial:
        return "partial", [_told(part) for part in (x.func, x.args, x.keywords)]
    if kind is dict:
        return "dict", [[_told(k), _told(v)] for k, v in x.items()]
    if isinstance(x, type) and issubclass(x, GradNode):
        return _told_of_node(x)
    if isinstance(x, np.dtype) and x.isnative and x.kind in "biufc" and np.dtype(x.str) == x:
        return "dtype", x.str
    if (isinstance(x, np.generic) or kind is np.ndarray) and x.dtype.kind in "biufc":
        if x.nbytes > LARGEST:
            raise _Foreign
        return ("array" if kind is np.ndarray else "number"), x.dtype.str, x.shape, x.tobytes()
    module = "numpy" if isinstance(x, np.ufunc) else getattr(x, "__module__", None)
    name = getattr(x, "__qualname__", None) or getattr(x, "__name__", None)
    if type(module) is str and type(name) is str:
        ours = module.startswith("funcgrad.") or module in MODULES
        if ours and _named(module, name) is x:
            return "named", module, name
    raise _Foreign


def _told_of_node(node: type[GradNode]) -> Any:
    made = vars(node)
    if "lacks" in made:
        base, operands = node.lacks
        return "lacking", _told(base), *operands
    if "stated" not in made or node_class(*node.stated) is not node:
        raise _Foreign
    return "node", _told(node.stated)


def _found(told: Any) -> Any:
    kind = type(told)
    if kind is list:
        return tuple(map(_found, told))
    if kind is not tuple:
        return told
    word, *rest = told
    if word == "of":
        return getattr(PRIMITIVES[rest[0]], rest[1])
    if word == "named":
        return _named(*rest)
    if word == "operation":
        return PRIMITIVES[rest[0]]
    if word == "type":
        return ArrayType(*map(_found, rest[0]))
    if word == "partial":
        function, args, keywords = map(_found, rest[0])
        return functools.partial(function, *args, **keywords)
    if word == "dict":
        return {_found(k): _found(v) for k, v in rest[0]}
    if word == "node":
        return node_class(*_found(rest[0]))
    if word == "lacking":
        return lacking(_found(rest[0]), *rest[1:])
    if word == "slice":
        return slice(*map(_found, rest[0]))
    if word == "dtype":
        return np.dtype(rest[0])
    dtype, shape, data = rest
    array = np.frombuffer(data, dtype).reshape(shape).copy()
    return array if word == "array" else array[()]


def _named(module: str, name: str) -> Any:
    """An object of a module, None where there is none."""
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
