"""The native entry point, and the callables that are made of it.

Whether it works in this process is found out at first use: the layouts of objects are looked for in
known ones, and a small program has to do what it says. It imports the cache, abi and the pool.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.compile import cache
from funcgrad.compile.guards import Array, Cell, Dict, Function, Guard, Item, List, Look, Type
from funcgrad.compile.imports import importing
from funcgrad.compile.llvm.entry import abi
from funcgrad.compile.llvm.entry.encode import encode
from funcgrad.compile.llvm.entry.encode_guards import encode_guards
from funcgrad.compile.llvm.entry.program import At, Buffer, Leaf, Made, Number, Program, Step
from funcgrad.compile.llvm.pool import NativePool, pool
from funcgrad.compile.llvm.target import lock
from funcgrad.errors import CompilerError

__all__ = ["Chain", "Native", "native"]

_FASTCALL_WITH_KEYWORDS = 0x82


def native() -> Native | None:
    """Native entry points, or None where they do not work."""
    with lock:
        return _native()


@functools.cache
def _native() -> Native | None:
    where, symbols, threads = abi.find(), abi.symbols(), pool()
    if where is None or symbols is None or not isinstance(threads, NativePool):
        return None
    try:
        found = Native(where, {**symbols, "funcgrad_run": threads.address})
    except CompilerError:
        return None
    return found if _works(found) else None


class _Method(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def _method(name: bytes, function: int) -> _Method:
    return _Method(name, function, _FASTCALL_WITH_KEYWORDS, None)


class Native:
    """The code of the entry points. There is one in a process, which is never released."""

    def __init__(self, where: abi.ABI, symbols: dict[str, int]) -> None:
        def write() -> str:
            with importing:  # what is on disk is not written
                from funcgrad.compile.llvm.entry.text import text

            return text(where)

        about = ("entry", *where)
        self._library = cache.written(write, *about, optimize=True, symbols=symbols)
        self.copy = self._library.address("funcgrad_copy")
        self._entry = _method(b"compiled", self._library.address("funcgrad_entry"))
        self._watcher = _method(b"unchanged", self._library.address("funcgrad_unchanged"))
        prototype = ctypes.PYFUNCTYPE(
            ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
        )
        self._new = prototype(("PyCFunction_NewEx", ctypes.pythonapi))

    def function(self, chain: Words) -> Callable[..., Any]:
        """A builtin function for the plans of `chain`, which it keeps alive."""
        made: Callable[..., Any] = self._new(ctypes.addressof(self._entry), chain, None)
        return made

    def guard_check(self, guards: Sequence[Guard]) -> Callable[[], bool]:
        """A builtin function that says whether all guards hold."""
        words = _words(guards)
        made: Callable[[], bool] = self._new(ctypes.addressof(self._watcher), words, None)
        return made

    def chain(self, guards: Sequence[Guard]) -> Chain:
        return Chain(self, guards)


class Words(np.ndarray[Any, Any]):
    """Words in memory, with what they point to."""

    plans: list[Any]
    guards: Any


def _words(guards: Sequence[Guard]) -> Words:
    """The first plan, of which there is none yet; the number of guards and where they are."""
    words = np.zeros(3, np.int64).view(Words)
    words.plans = []
    table, kept = encode_guards(guards)
    words[1:] = len(guards), table.ctypes.data
    words.guards = (guards, table, kept)
    return words


class Chain:
    """Programs that are tried one after the other, the newest first; none unless all of
    `guards` hold.
    """

    def __init__(self, code: Native, guards: Sequence[Guard] = ()) -> None:
        self._code = code
        self._words = _words(guards)
        self.call = code.function(self._words)

    def add(self, program: Program) -> None:
        plan = encode(program, self._code.copy, following=int(self._words[0]))
        self._words.plans.append((plan, program))
        self._words[0] = plan.ctypes.data


def _works(code: Native) -> bool:
    """Whether programs do in this process what they say."""
    double, shape = np.dtype(np.float64), (2, 3)
    program = Program(
        leaves=[Leaf(shape, double), Leaf((), double), Leaf((), double, weak=True)],
        buffers=[Buffer(shape, double)],
        steps=[Step(code.copy, (At("buffer"), At("leaf"), 48))],
        outputs=[Made(0), Number(double, At("leaf", 1)), Number(double, At("leaf", 2), weak=True)],
    )
    chain = Chain(code)
    chain.add(program)
    x = np.arange(6.0).reshape(shape)
    result = chain.call(x, np.float64(7.0), 8.0)
    missed = [(), (x,), (x.T, 7.0, 8.0), (x, 7.0, 8.0), (x, np.array(7.0), 8), (x, x, x)]
    return (
        type(result) is tuple
        and type(result[0]) is np.ndarray
        and result[0].shape == shape
        and np.array_equal(result[0], x)
        and [(type(y), y) for y in result[1:]] == [(np.float64, 7.0), (float, 8.0)]
        and chain.call(x, np.array(7.0), 8.0) is not NotImplemented
        and all(chain.call(*args) is NotImplemented for args in missed)
        and _notices(code)
    )


def _notices(code: Native) -> bool:
    """Whether a guard of each kind holds at first, and no longer after a change."""
    items, x = [None], np.arange(3.0)
    names: dict[str, Any] = {"a": None}
    both = dict(names)

    f: Any = lambda a=1: (a, items)

    def rebind() -> None:
        nonlocal items
        items = []

    thing, other = (type("Thing", (), {}) for _ in range(2))
    instance = thing()
    cases: list[tuple[Guard, Callable[[], Any]]] = [
        (Item(names, "a", None), lambda: names.update(a=1)),
        (Dict(both, ("a",), (None,)), lambda: both.update(a=1)),
        (Dict(both, ("a",), None), both.clear),
        (List(items, (None,)), items.clear),
        (Cell(f.__closure__[0], items), rebind),
        (Function(f, f.__code__, f.__defaults__, None), lambda: setattr(f, "__defaults__", None)),
        (Type(instance, thing), lambda: setattr(instance, "__class__", other)),
        (Array.of(x), lambda: x.fill(1.0)),
        (Look(len, names, 1), names.clear),
    ]
    for guard, change in cases:
        holds = code.guard_check([guard])
        if holds() is not True:
            return False
        change()
        if holds() is not False:
            return False
    return True
