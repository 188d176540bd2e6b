"""Functions of numbers that somebody else compiled: their LLVM IR is linked into our kernels.

A `Foreign` is a module of IR with one function ``{i32, T} symbol(T0, T1, …)``: a status, 0 if all
is well, and the value. In loop nests its symbol is the name of an operation. The printer calls it
for every lane, and because such modules are optimised, the calls are inlined and lanes of plain
arithmetic become vectors again. The symbol holds the digest of the module, so that a kernel's text
says all that it is made of. It imports nothing of the package.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FOREIGN", "Foreign", "may_fail"]


class Foreign(NamedTuple):
    """A function of numbers.

    Attributes
    ----------
    symbol : str
        Its name, as of an operation and in the module.
    module : str
        LLVM IR that defines it; whatever else it defines is internal.
    operands, result : tuple of str, str
        Dtypes.
    fails : bool
        Whether the status can be another than 0.
    symbols : tuple of (str, int)
        Addresses of what the module needs of the process, for ever valid.
    """

    symbol: str
    module: str
    operands: tuple[str, ...]
    result: str
    fails: bool
    symbols: tuple[tuple[str, int], ...]


FOREIGN: dict[str, Foreign] = {}  # by symbol; an entry never changes


def may_fail(op: str) -> bool:
    """Whether an operation of a loop nest sets the flag of its kernel."""
    return op in FOREIGN and FOREIGN[op].fails
