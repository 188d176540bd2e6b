"""What tells one processor from another: the answers of CPUID, asked by a few bytes of code.

LLVM names the processor and its features from these answers, so a process that gets the same ones
as an earlier one may take what LLVM said then, and need not import llvmlite to load its code. An
emulator or a tool that hides features gives other answers. It imports elf.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib

from funcgrad.compile.llvm.elf import Refused, placed, supported

__all__ = ["identity"]

# void cpuid(u32 leaf, u32 subleaf, u32 *out) and u64 xgetbv(), in the calling convention of Linux.
_CPUID = bytes.fromhex("53 4989d0 89f8 89f1 0fa2 418900 41895804 41894808 4189500c 5b c3")
_XGETBV = bytes.fromhex("31c9 0f01d0 48c1e220 4809d0 c3")

# (leaf, subleaf) and the registers that LLVM's Host.cpp reads; others differ from core to core.
_EAX, _EBX, _ECX, _EDX = range(4)
_LEAVES = (
    (0x0, 0, (_EAX, _EBX, _ECX, _EDX)),
    (0x1, 0, (_EAX, _ECX, _EDX)),
    (0x7, 0, (_EBX, _ECX, _EDX)),
    (0x7, 1, (_EAX, _EBX, _ECX, _EDX)),
    (0xD, 1, (_EAX,)),
    (0x14, 0, (_EBX,)),
    (0x19, 0, (_EBX,)),
    (0x1E, 1, (_EAX,)),
    (0x24, 0, (_EBX,)),
    (0x29, 0, (_EBX,)),
    (0x80000000, 0, (_EAX,)),
    (0x80000001, 0, (_ECX, _EDX)),
    (0x80000008, 0, (_EBX,)),
    (0x80000021, 0, (_EAX,)),
)
_OSXSAVE = 1 << 27  # of ECX of leaf 1: whether XGETBV is there


@functools.cache
def identity() -> str | None:
    """A digest of what the processor says of itself; None where it cannot be asked."""
    if not supported():
        return None
    try:
        start = placed(_CPUID.ljust(64, b"\xcc") + _XGETBV)
    except Refused:
        return None
    ask = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(start)
    answer = (ctypes.c_uint32 * 4)()
    found: list[int] = []
    for leaf, subleaf, registers in _LEAVES:
        if leaf & 0x7FFFFFFF == 0:  # the first of a range says which is the last
            ask(leaf, 0, answer)
            last = answer[_EAX]
        if leaf <= last:  # behind it one may get the answers of another
            ask(leaf, subleaf, answer)
            found += [leaf, *(answer[k] for k in registers)]
        if leaf == 1 and answer[_ECX] & _OSXSAVE:
            found.append(ctypes.CFUNCTYPE(ctypes.c_uint64)(start + 64)())
    return hashlib.blake2b(repr(found).encode(), digest_size=24).hexdigest()
