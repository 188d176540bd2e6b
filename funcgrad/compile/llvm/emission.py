"""Object code of a module, made without llvmlite's lock: other threads may use LLVM meanwhile.

llvmlite lets one thread at a time into LLVM, whatever it does there. LLVM itself asks only that a
context with its modules, and a machine, be used by one thread. Its library is opened a second time
here, for the few functions that this takes.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from typing import Any

__all__ = ["emitter"]


@functools.cache
def emitter() -> Callable[[Any, Any], bytes] | None:
    """A function of a machine and a module that gives object code; None where there is none."""
    import llvmlite.binding
    import llvmlite.utils

    folder = os.path.dirname(llvmlite.binding.__file__)
    try:
        library = ctypes.CDLL(os.path.join(folder, llvmlite.utils.get_library_name()))
        emit = library.LLVMPY_TargetMachineEmitToMemory
        start, size = library.LLVMPY_GetBufferStart, library.LLVMPY_GetBufferSize
        release = library.LLVMPY_DisposeMemoryBuffer
        forget = library.LLVMPY_DisposeString
    except (OSError, AttributeError):  # another llvmlite than we know
        return None
    pointer = ctypes.c_void_p
    emit.argtypes = pointer, pointer, ctypes.c_int, ctypes.POINTER(pointer)
    emit.restype = start.restype = pointer
    size.restype = ctypes.c_size_t
    start.argtypes = size.argtypes = release.argtypes = forget.argtypes = (pointer,)
    release.restype = forget.restype = None

    def object_code(machine: Any, module: Any) -> bytes:
        message = pointer()
        buffer = emit(machine, module, 1, ctypes.byref(message))
        if not buffer:
            why = ctypes.string_at(message.value).decode() if message.value else "no reason given"
            if message.value:
                forget(message)
            raise RuntimeError(why)
        try:
            return ctypes.string_at(start(buffer), size(buffer))
        finally:
            release(buffer)

    return object_code
