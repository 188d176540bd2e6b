"""Object code placed in memory without LLVM: ELF for x86-64, as it is emitted for our modules.

LLVM's linker takes some 2 ms to be set up, and llvmlite 50 to be imported; a process that finds its
code on disk needs neither. Sections that are loaded lie in one block, code and constants first, so
that near references always reach; what is outside is called through stubs and read through a table
of addresses. Memory is never writable and executable at once. What is not known here (another
system or processor, a kind of section, symbol or relocation, a symbol that is nowhere) is refused,
and left to LLVM. There are no tables for unwinding: no exception of C++ may pass through this code.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import struct
import sys
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["Image", "Refused", "placed", "supported"]

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QIIq")
_MAGIC = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian
_RELOCATABLE, _X86_64 = 1, 62

# Kinds of sections and their flags, and of symbols, from the System V ABI.
_PROGBITS, _SYMTAB, _RELA, _NOBITS, _UNWIND = 1, 2, 4, 8, 0x70000001
_WRITE, _ALLOCATE, _THREAD = 1, 2, 0x400
_UNDEFINED, _RESERVED = 0, 0xFF00
_LOCAL, _INDIRECT = 0, 10

# Relocations of the x86-64 psABI, §4.4.
_WORD, _NEAR, _CALL, _FAR = 1, 2, 4, 24  # R_X86_64_64, _PC32, _PLT32, _PC64
_TABLE = (9, 41, 42)  # R_X86_64_GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX

_STUB = 8  # bytes of `jmp *slot(%rip)`, padded
_PAGE = mmap.PAGESIZE


class Refused(Exception):
    """Object code that is left to LLVM; the message says why."""


class _Section(NamedTuple):
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int

    @property
    def loaded(self) -> bool:
        return bool(self.flags & _ALLOCATE) and self.kind != _UNWIND


class _Symbol(NamedTuple):
    name: str
    kind: int
    local: bool
    section: int
    value: int


class _Relocation(NamedTuple):
    section: int
    offset: int
    kind: int
    symbol: int
    addend: int


class Image:
    """Object code in memory, until it is closed. `symbols` go before those of the process."""

    def __init__(self, code: bytes, symbols: Mapping[str, int]) -> None:
        if not supported():
            raise Refused("another system or processor")
        try:
            self._load(code, symbols)
        except (struct.error, IndexError, ValueError) as error:
            raise Refused(f"damaged: {error}") from None

    def lookup(self, name: str) -> int:
        """The address of a symbol that others may see; KeyError if there is none."""
        return self._names[name]

    def close(self) -> None:
        """Give the memory back. Nobody may run the code any more."""
        _process().munmap(self._start, self._size)

    def _load(self, code: bytes, symbols: Mapping[str, int]) -> None:
        sections = _sections(code)
        listed = _symbols(code, sections)
        relocations = _relocations(code, sections)
        wanted = _wanted(listed, relocations)
        places, table, writable, self._size = _layout(sections, len(wanted))
        image = bytearray(self._size)
        for k, at in places.items():
            s = sections[k]
            if s.kind == _PROGBITS:
                image[at : at + s.size] = code[s.offset : s.offset + s.size]
        self._start = _reserve(self._size)
        try:
            addresses = {
                k: self._start + places[s.section] + s.value
                for k, s in enumerate(listed)
                if s.section in places
            }
            for k in wanted:
                if k not in addresses:
                    addresses[k] = _given(listed[k], symbols)
            slots = _fill(image, {k: addresses[k] for k in wanted}, table, self._start)
            for r in relocations:
                _relocate(image, r, places[r.section], self._start, addresses, slots)
            # A ctypes array would be of a new class for every size, which only the collector frees.
            ctypes.memmove(self._start, bytes(image), self._size)
            _make_executable(self._start, writable)
        except BaseException:
            self.close()
            raise
        self._names = {s.name: addresses[k] for k, s in enumerate(listed) if _is_seen(s, places)}


@functools.cache
def supported() -> bool:
    """Whether this process runs what is read here."""
    return sys.platform == "linux" and os.uname().machine == "x86_64" and sys.maxsize > 2**32


@functools.cache
def _process() -> ctypes.CDLL:
    """The symbols of this process, those of the C library among them."""
    found = ctypes.CDLL(None)
    pointer, word, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    found.mmap.restype = found.dlsym.restype = pointer
    found.mmap.argtypes = pointer, word, number, number, number, ctypes.c_long
    found.mprotect.argtypes = pointer, word, number
    found.munmap.argtypes = pointer, word
    found.dlsym.argtypes = pointer, ctypes.c_char_p
    return found


def _reserve(size: int) -> int:
    flags, access = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE
    start = _process().mmap(None, size, access, flags, -1, 0)
    if start is None or start == ctypes.c_void_p(-1).value:
        raise Refused("there is no memory")
    return int(start)


def _make_executable(start: int, size: int) -> None:
    if _process().mprotect(start, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise Refused("the system does not let memory become executable")


def placed(code: bytes) -> int:
    """The address of code without relocations, which stays for the life of the process."""
    start = _reserve(_up(len(code), _PAGE))
    ctypes.memmove(start, code, len(code))
    _make_executable(start, _up(len(code), _PAGE))
    return start


# ------------------------------------------------------------------------------------- reading


def _sections(code: bytes) -> list[_Section]:
    magic, kind, machine, _, _, _, first, _, _, _, _, size, count, _ = _HEADER.unpack_from(code)
    if not magic.startswith(_MAGIC) or (kind, machine) != (_RELOCATABLE, _X86_64):
        raise Refused("no relocatable object for x86-64")
    if size != _SECTION.size or count == 0:
        raise Refused("its list of sections has another form")
    found = []
    for at in range(first, first + count * size, size):
        _, kind, flags, _, offset, length, link, info, align, _ = _SECTION.unpack_from(code, at)
        s = _Section(kind, flags, offset, length, link, info, max(align, 1))
        if s.loaded and (kind not in (_PROGBITS, _NOBITS) or flags & _THREAD):
            raise Refused(f"a section of kind {kind:#x} with flags {flags:#x}")
        if s.loaded and s.alignment > _PAGE:
            raise Refused("a section that has to lie further apart than pages")
        if kind != _NOBITS and offset + length > len(code):
            raise Refused("it ends too early")
        found.append(s)
    return found


def _symbols(code: bytes, sections: list[_Section]) -> list[_Symbol]:
    (table,) = (s for s in sections if s.kind == _SYMTAB)
    names = sections[table.link].offset
    found = []
    for each in _SYMBOL.iter_unpack(code[table.offset : table.offset + table.size]):
        name, about, _, section, value, _ = each
        begin = names + name
        text = code[begin : code.index(b"\0", begin)].decode()
        found.append(_Symbol(text, about & 15, about >> 4 == _LOCAL, section, value))
    return found


def _relocations(code: bytes, sections: list[_Section]) -> list[_Relocation]:
    """Those of sections that are loaded."""
    found = []
    for s in sections:
        if s.kind == _RELA and sections[s.info].loaded:
            for each in _RELOCATION.iter_unpack(code[s.offset : s.offset + s.size]):
                found.append(_Relocation(s.info, *each))
    return found


def _is_seen(s: _Symbol, places: Mapping[int, int]) -> bool:
    return s.section in places and not s.local


# ----------------------------------------------------------------------------------- placement


def _wanted(listed: list[_Symbol], relocations: list[_Relocation]) -> list[int]:
    """The numbers of symbols whose addresses have to stand in the table."""
    found: dict[int, None] = {}
    for r in relocations:
        s = listed[r.symbol]
        if s.kind == _INDIRECT or s.section >= _RESERVED:
            raise Refused(f"the symbol {s.name!r} is of a kind of its own")
        if s.section == _UNDEFINED or r.kind in _TABLE:
            found[r.symbol] = None
    return list(found)


def _given(s: _Symbol, symbols: Mapping[str, int]) -> int:
    address = symbols.get(s.name)
    if address is None:
        address = _process().dlsym(None, s.name.encode())
    if address is None or s.section != _UNDEFINED:
        raise Refused(f"there is no symbol {s.name!r}")
    return int(address)


def _layout(sections: list[_Section], slots: int) -> tuple[dict[int, int], int, int, int]:
    """Where each section lies, where stubs and addresses do, where what is writable, and the end.

    There is a page at least of what is not writable.
    """
    places: dict[int, int] = {}
    end = table = writable = 0
    for write in (0, _WRITE):
        for k, s in enumerate(sections):
            if s.loaded and s.flags & _WRITE == write:
                places[k] = _up(end, s.alignment)
                end = places[k] + s.size
        if not write:
            table = _up(end, 8)
            end = writable = _up(max(table + slots * (_STUB + 8), 1), _PAGE)
    return places, table, writable, _up(end, _PAGE)


def _up(x: int, step: int) -> int:
    return -(-x // step) * step


def _fill(
    image: bytearray, addresses: Mapping[int, int], table: int, start: int
) -> dict[int, tuple[int, int]]:
    """A stub for each address, then the addresses; where both are for each symbol."""
    found = {}
    for n, (k, address) in enumerate(addresses.items()):
        stub, slot = table + n * _STUB, table + len(addresses) * _STUB + n * 8
        struct.pack_into("<2si", image, stub, b"\xff\x25", slot - (stub + 6))
        struct.pack_into("<Q", image, slot, address)
        found[k] = start + stub, start + slot
    return found


def _relocate(
    image: bytearray,
    r: _Relocation,
    section: int,
    start: int,
    addresses: Mapping[int, int],
    slots: Mapping[int, tuple[int, int]],
) -> None:
    place = section + r.offset
    if r.kind in _TABLE:
        value = slots[r.symbol][1]
    elif r.kind == _CALL and r.symbol in slots:
        value = slots[r.symbol][0]
    elif r.symbol in addresses:
        value = addresses[r.symbol]
    else:
        raise Refused("a reference to what is not loaded")
    value += r.addend
    away = value - (start + place)
    if r.kind == _WORD:
        struct.pack_into("<Q", image, place, value)
    elif r.kind == _FAR:
        struct.pack_into("<q", image, place, away)
    elif r.kind in (_NEAR, _CALL, *_TABLE):
        struct.pack_into("<i", image, place, away)  # where it does not reach: struct.error
    else:
        raise Refused(f"a relocation of kind {r.kind}")
