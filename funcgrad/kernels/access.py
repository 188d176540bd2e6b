"""How a kernel reads an element of an operand, and writes one of a cotangent.

The rank says what an argument is: 2 has an element for each of the loop's, 1 one for each column, 3
one for each row, 4 a single one, and a number is itself. A cotangent of rank 1 is that of an
operand that was repeated for every row: it adds up. A cotangent that is True takes the place of the
one that arrived, which nobody reads afterwards: memory that is in the cache already is written, and
one array less is touched. It imports Numba.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import overload

__all__ = ["at", "put"]


def at(x: Any, i: int, j: int) -> Any:
    """The element of `x` in row `i` and column `j`."""
    raise NotImplementedError


def put(c: Any, g: Any, i: int, j: int, value: Any) -> None:
    """Store an element of a cotangent, or add it to those of the other rows; `g` has arrived."""
    raise NotImplementedError


_READ = {
    1: lambda x, i, j: x[j],
    2: lambda x, i, j: x[i, j],
    3: lambda x, i, j: x[i, 0, 0],
    4: lambda x, i, j: x[0, 0, 0, 0],
}


@overload(at, strict=False)
def _at(x: Any, i: int, j: int) -> Any:
    if isinstance(x, types.Array):
        return _READ[x.ndim]
    return lambda x, i, j: x


@overload(put, strict=False)
def _put(c: Any, g: Any, i: int, j: int, value: Any) -> Any:
    if isinstance(c, types.Boolean):

        def replace(c: Any, g: Any, i: int, j: int, value: Any) -> None:
            g[i, j] = value

        return replace
    if c.ndim == 2:

        def store(c: Any, g: Any, i: int, j: int, value: Any) -> None:
            c[i, j] = value

        return store

    def add(c: Any, g: Any, i: int, j: int, value: Any) -> None:
        c[j] += value

    return add
