"""Whether the Numba at hand is one whose code can be called as we call it.

How Numba passes arguments to the machine code of a function is private to it. We rely on it where
kernels are built (`kernels.build`), where a compiled function becomes a part of our kernels
(`scalars`), and where our code goes into Numba's own (`link`). The versions in
`pyproject.toml` are those for which the tests hold; of another one this asks Numba itself, and each
of the three does without where the answer is not the known one. Numba is imported when asked.
"""

from __future__ import annotations

import functools
from typing import Any

__all__ = ["is_known"]

# The status, the places of result and exception, then for an array its two owners, size, size of an
# element, data, extents and strides, an address for None, and numbers as they are.
_FORM = "i32 ptr ptr ptr ptr i64 i64 ptr i64 i64 i64 i64 i64 i8 ptr float double"


@functools.cache
def is_known() -> bool:
    """Whether Numba's calling convention and code generator are those that we know."""
    try:
        return _form() == _FORM
    except (AttributeError, ImportError, TypeError):
        return False


def _form() -> str:
    import numba.core.registry
    from llvmlite import ir
    from numba import types

    t: Any = types  # made when it is imported
    context: Any = numba.core.registry.cpu_target.target_context
    for needed in ("create_library", "magic_tuple"):
        getattr(context.codegen(), needed)
    arguments = (t.Array(t.float64, 2, "C"), t.int64, t.boolean, t.none, t.float32, t.float64)
    made = context.call_conv.get_function_type(t.float64, arguments)
    parts = (made.return_type, *made.args)
    return " ".join("ptr" if isinstance(p, ir.PointerType) else str(p) for p in parts)
