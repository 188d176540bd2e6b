"""Machine code of Numba's functions, kept in our store.

Numba's own cache reads files without a seal and unpickles what it finds: one bit that flipped gives
a wrong number or a crash. So functions get a cache here that puts the same content under the seal
of the store. The class has the methods that a dispatcher calls, which are private to Numba; the
tests of `.njit` in a second process will show if they have changed. Numba is imported inside
functions.
"""

from __future__ import annotations

import functools
import pickle
from pathlib import Path
from typing import Any

from funcgrad.compile import store
from funcgrad.compile.sources import digest_of, versions

__all__ = ["kept"]


class Sealed:
    """What a dispatcher asks for the code of one function, and gives it to."""

    cache_path = None

    def __init__(self, function: Any) -> None:
        self.name = f"{function.__module__}.{function.__qualname__}"

    def _key(self, signature: Any, codegen: Any) -> str:
        parts = (self.name, str(signature), codegen.magic_tuple(), *_made_of())
        return store.name_of(repr(parts))

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The code for a signature; None where there is none."""
        from numba.core import compiler

        result: Any = compiler.CompileResult
        target_context.refresh()
        found = store.read(self._key(signature, target_context.codegen()))
        if found is None:
            return None
        return result._rebuild(target_context, *pickle.loads(found))

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the code for a signature, if it holds no address of this process."""
        from numba.core import serialize

        dumps: Any = serialize.dumps
        if not result.library.has_dynamic_globals and not result.lifted:
            store.write(self._key(signature, result.codegen), dumps(result._reduce()))

    def enable(self) -> None:
        """There is no other state."""

    def disable(self) -> None:
        """There is no other state."""

    def flush(self) -> None:
        """Nothing waits to be written."""


@functools.cache
def _made_of() -> tuple[Any, ...]:
    files = map(str, Path(__file__).parent.glob("*.py"))
    return digest_of(files), versions("numba", "llvmlite")


@functools.cache
def kept(function: Any) -> Any:
    """A function of Numba's whose machine code is on disk from the second process on.

    The code is found by the function's module and name, so functions made from text need both:
    the module's in their ``__name__``, from which Numba restores them, and a name of their own.
    """
    found = Sealed(function)
    if function.__module__ is None or _names.setdefault(found.name, function) is not function:
        raise ValueError(f"{found.name} does not tell whose code this is: give it another name")
    function._cache = found
    return function


_names: dict[str, Any] = {}
