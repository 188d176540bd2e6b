"""Pytrees: nested containers of arrays, taken apart into leaves and put together again.

Dicts (by sorted keys), lists, tuples, named tuples, None, `OrderedDict`, `defaultdict`, dataclasses
and registered classes are nodes; everything else is a leaf. The names are those of ``jax.tree``,
and of ``jax.tree_util`` for keys of paths and registration; `funcgrad.tree_util` has the long
names. It imports `errors` only.
"""

from funcgrad.tree.functions import (
    all,
    broadcast,
    flatten_prefix,
    map,
    map_with_path,
    reduce,
    reduce_associative,
    transpose,
)
from funcgrad.tree.keys import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyPath,
    SequenceKey,
    keystr,
)
from funcgrad.tree.registry import (
    Partial,
    is_container,
    register_dataclass,
    register_node,
    register_static,
    static,
)
from funcgrad.tree.structure import (
    LEAF,
    TreeDef,
    flatten,
    flatten_with_path,
    leaves,
    leaves_with_path,
    paths,
    structure,
    unflatten,
)

__all__ = [
    "LEAF",
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyPath",
    "Partial",
    "SequenceKey",
    "TreeDef",
    "all",
    "broadcast",
    "flatten",
    "flatten_prefix",
    "flatten_with_path",
    "is_container",
    "keystr",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "paths",
    "reduce",
    "reduce_associative",
    "register_dataclass",
    "register_node",
    "register_static",
    "static",
    "structure",
    "transpose",
    "unflatten",
]
