"""Indexing: basic indices as views, gathers and scatters of integer arrays, and any index.

Repeated indices add up under `scatter_add` and `add_at`; under `index_set` the last write wins,
and the others get no gradient. An index out of bounds is an IndexError.
"""

from funcgrad.ops.index.anywhere import (
    check_storable,
    index_set,
    read,
    reads_view,
    static,
    warn_of_real_parts,
    whole_numbers,
)
from funcgrad.ops.index.basic import GETITEM, PLACE, decode, encode, getitem, place
from funcgrad.ops.index.gather import GATHER, SCATTER_ADD, gather, scatter_add, take_along_axis
from funcgrad.ops.index.masks import (
    BY_MASK,
    NONZERO,
    SizeChanged,
    anywhere,
    positions,
    repeated,
    selected,
)
from funcgrad.ops.index.scatter import ADD_AT, PUT, WINNERS, add_at, set_positions, winners

__all__ = [
    "ADD_AT",
    "BY_MASK",
    "GATHER",
    "GETITEM",
    "NONZERO",
    "PLACE",
    "PUT",
    "SCATTER_ADD",
    "WINNERS",
    "SizeChanged",
    "add_at",
    "check_storable",
    "decode",
    "encode",
    "gather",
    "getitem",
    "index_set",
    "place",
    "anywhere",
    "positions",
    "repeated",
    "selected",
    "read",
    "reads_view",
    "scatter_add",
    "set_positions",
    "static",
    "take_along_axis",
    "warn_of_real_parts",
    "whole_numbers",
    "winners",
]
