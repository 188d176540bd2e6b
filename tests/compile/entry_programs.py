"""Kernels and programs that the tests of entry points call."""

import numpy as np

from funcgrad.compile import cache
from funcgrad.compile.llvm.entry import (
    At,
    Buffer,
    Fixed,
    Given,
    Leaf,
    Made,
    Number,
    Program,
    Step,
    Stride,
    View,
)
from funcgrad.compile.memory import bits

F8, F4, I8, I4, B, C16, C8 = map(np.dtype, ("f8", "f4", "i8", "i4", "?", "c16", "c8"))
KERNELS = """
; (from, to, count, factor): to[k] = factor * from[k]
define void @scale(ptr %arguments, i64 %first, i64 %last) {
entry:
  %x = load ptr, ptr %arguments
  %y.at = getelementptr i64, ptr %arguments, i64 1
  %y = load ptr, ptr %y.at
  %n.at = getelementptr i64, ptr %arguments, i64 2
  %n = load i64, ptr %n.at
  %f.at = getelementptr i64, ptr %arguments, i64 3
  %f = load double, ptr %f.at
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %body ]
  %end = icmp eq i64 %i, %n
  br i1 %end, label %done, label %body
body:
  %from = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %from
  %w = fmul double %v, %f
  %to = getelementptr double, ptr %y, i64 %i
  store double %w, ptr %to
  %i.next = add i64 %i, 1
  br label %loop
done:
  ret void
}
; (from, to, count, stride): to[k] = from[k * stride]
define void @gather(ptr %arguments, i64 %first, i64 %last) {
entry:
  %x = load ptr, ptr %arguments
  %y.at = getelementptr i64, ptr %arguments, i64 1
  %y = load ptr, ptr %y.at
  %n.at = getelementptr i64, ptr %arguments, i64 2
  %n = load i64, ptr %n.at
  %s.at = getelementptr i64, ptr %arguments, i64 3
  %s = load i64, ptr %s.at
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %k = mul i64 %i, %s
  %from = getelementptr double, ptr %x, i64 %k
  %v = load double, ptr %from
  %to = getelementptr double, ptr %y, i64 %i
  store double %v, ptr %to
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
; (to, word): *to = word
define void @put(ptr %arguments, i64 %first, i64 %last) {
  %to = load ptr, ptr %arguments
  %word.at = getelementptr i64, ptr %arguments, i64 1
  %word = load i64, ptr %word.at
  store i64 %word, ptr %to
  ret void
}
; (from, to, turns): for each chunk wait so many turns, then to[chunk] = from[chunk]
define void @slow(ptr %arguments, i64 %first, i64 %last) {
entry:
  %x = load ptr, ptr %arguments
  %y.at = getelementptr i64, ptr %arguments, i64 1
  %y = load ptr, ptr %y.at
  %turns.at = getelementptr i64, ptr %arguments, i64 2
  %turns = load i64, ptr %turns.at
  br label %chunk
chunk:
  %c = phi i64 [ %first, %entry ], [ %c.next, %copy ]
  br label %idle
idle:
  %i = phi i64 [ 0, %chunk ], [ %i.next, %idle ]
  %seen = load volatile i64, ptr %turns.at
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %turns
  br i1 %more, label %idle, label %copy
copy:
  %from = getelementptr double, ptr %x, i64 %c
  %v = load double, ptr %from
  %to = getelementptr double, ptr %y, i64 %c
  store double %v, ptr %to
  %c.next = add i64 %c, 1
  %again = icmp slt i64 %c.next, %last
  br i1 %again, label %chunk, label %out
out:
  ret void
}
"""


class Kernels:
    def __init__(self):
        self.library = cache.library(KERNELS)
        for name in ("scale", "gather", "put", "slow"):
            setattr(self, name, self.library.address(name))


def doubled(kernels, shape=(3,), leaf=None, **more):
    """x -> 2 * x"""
    size = int(np.prod(shape))
    words = (At("leaf"), At("buffer"), size, bits(np.float64(2.0)))
    return Program(
        [leaf or Leaf(shape, F8)],
        [Buffer(shape, F8)],
        [Step(kernels.scale, words)],
        [Made(0)],
        result=0,
        keep=kernels,
        **more,
    )


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        [same(x, y) for x, y in zip(a, b)]
    elif isinstance(a, dict):
        assert list(a) == list(b)
        [same(a[k], b[k]) for k in a]
    else:
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)
        assert np.shape(a) == np.shape(b)


def gathered(kernels, count):
    words = (At("leaf"), At("buffer"), count, Stride(0, 0))
    return Program(
        [Leaf((count,), F8, order="any")],
        [Buffer((count,), F8)],
        [Step(kernels.gather, words)],
        [Made(0)],
        result=0,
        keep=kernels,
    )


def number(dtype, weak=False):
    return Program(
        [Leaf((), dtype, weak)],
        [],
        [],
        [Number(dtype, At("leaf"), weak)],
        result=0,
    )


def nested(kernels):
    """({"w": x, "b": y}, [z, (None, t)]) -> {"b": 2 * y, "w": [2 * x], "more": (z, None, {})}"""
    two = bits(np.float64(2.0))
    return Program(
        [Leaf((3,), F8), Leaf((2,), F8), Leaf((), F8), Leaf((1,), F8)],
        [Buffer((3,), F8), Buffer((2,), F8)],
        [
            Step(kernels.scale, (At("leaf", 0), At("buffer", 0), 3, two)),
            Step(kernels.scale, (At("leaf", 1), At("buffer", 1), 2, two)),
        ],
        [Made(0), Made(1), Number(F8, At("leaf", 2))],
        arguments=({"w": 0, "b": 1}, [2, (None, 3)]),
        result={"b": 1, "w": [0], "more": (2, None, {})},
        keep=kernels,
    )


def everything(kernels):
    """A program with each kind of argument and result."""
    two = bits(np.float64(2.0))
    constant = object()
    program = Program(
        [Leaf((3,), F8), Leaf((), F8), Leaf((), I8, weak=True), Leaf((), B), Leaf((2,), F8)],
        [Buffer((3,), F8), Buffer((2, 2), F8, "C", np.ones((2, 2)))],
        [Step(kernels.scale, (At("leaf", 0), At("buffer", 0), 3, two))],
        [
            Made(0),
            Made(1),
            View(0, (2,), F8, (8,), 8),
            Given(0),
            Fixed(constant),
            Number(F8, At("leaf", 1)),
            Number(I8, At("leaf", 2), weak=True),
            Number(B, At("leaf", 3)),
        ],
        workspace=20_000,
        arguments=({"x": 0, "more": [1, (2, None)]}, 3, 4),
        result={"a": (0, 1), "b": [2, 3, 4], "c": {"d": 5, "e": (6, 7, None)}},
        release=True,
        keep=kernels,
    )
    x, y, z, flag, v = np.arange(3.0), np.float64(7), 12345, np.True_, np.ones(2)
    arguments = ({"x": x, "more": [y, (z, None)]}, flag, v)
    counted = [x, y, z, flag, v, constant, None, F8, I8, B, NotImplemented, *arguments, "x", "a"]
    return program, arguments, counted


def slow(kernels, chunks, turns, **more):
    words = (At("leaf"), At("buffer"), turns)
    return Program(
        [Leaf((chunks,), F8)],
        [Buffer((chunks,), F8)],
        [Step(kernels.slow, words, chunks, parallel=chunks)],
        [Made(0)],
        keep=kernels,
        **{"result": 0, **more},
    )
