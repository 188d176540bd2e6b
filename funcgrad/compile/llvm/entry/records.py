"""The records that plans are made of: their 8-byte words, for the text and the encoder alike."""

from __future__ import annotations

__all__ = [
    "ALIGNED",
    "BUILD",
    "C_ORDER",
    "F_ORDER",
    "LEAF",
    "RECORDS",
    "UNPACK",
    "GUARD",
    "WRITEABLE",
]

RECORDS = {
    # Sizes of the tables and where they are; `at_` are offsets in the frame, which is on the stack,
    # but for the words of the kernels, which lie behind the workspace.
    "plan": (
        "next", "arguments", "positional", "names", "name", "frame",
        "unpacks", "unpack", "leaves", "leaf", "aparts", "apart", "buffers", "buffer",
        "words", "template", "patches", "patch", "strides", "stride", "steps", "step",
        "builds", "build", "heap_slot", "heap_bytes", "release", "first_buffer",
        "at_bases", "at_slots", "at_flag", "at_words", "at_stack", "at_scratch",
    ),
    # A keyword of the call.
    "name": ("object",),
    # An object that must be a container of `count` items, which become objects from `target` on.
    "unpack": ("kind", "object", "type", "count", "target", "keys"),
    # An object that must be an array or a number of this type; its data is a base.
    "leaf": ("kind", "object", "type", "dtype", "type_number", "ndim", "shape", "flags", "mask"),
    # Two pieces of memory that must not overlap: bases, each with an address to add, and sizes.
    "apart": ("base", "bytes", "other", "address", "other_bytes"),
    # An array to be made; its data is a base.
    "buffer": ("dtype", "ndim", "shape", "flags"),
    # words[word] = bases[base] + offset
    "patch": ("word", "base", "offset"),
    # words[word] = stride of an axis >> shift
    "stride": ("word", "object", "axis", "shift"),
    # kernel(words + at, 0, chunks)
    "step": ("kernel", "at", "chunks", "parallel"),
    # Push something, or replace the last ones by a container of them.
    "build": ("kind", "a", "b", "c"),
    "view": ("dtype", "ndim", "shape", "strides", "offset", "base", "object"),
    # A place that has to hold what it held.
    "guard": ("kind", "object", "a", "b", "c", "d"),
}  # fmt: skip
UNPACK = {"tuple": 0, "list": 1, "dict": 2, "same": 3}
LEAF = {"array": 0, "scalar": 1, "number": 2, "integer": 3, "boolean": 4}
BUILD = {
    "object": 0, "held": 1, "scalar": 2, "float": 3, "integer": 4, "complex": 5, "view": 6,
    "tuple": 7, "list": 8, "dict": 9,
}  # fmt: skip
GUARD = {
    "item": 0, "cell": 1, "function": 2, "type": 3, "list": 4, "dict": 5, "array": 6, "look": 7,
    "attribute": 8,
}  # fmt: skip

C_ORDER, F_ORDER, ALIGNED, WRITEABLE = 1, 2, 0x100, 0x400  # flags of NumPy's arrays
