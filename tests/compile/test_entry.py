"""Entry points, native and in Python: the same arguments taken, the same results, no leaks."""

import ctypes
import gc
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import numpy as np
import pytest

from funcgrad.compile import cache
from funcgrad.compile.llvm.entry import (
    At,
    Buffer,
    Entry,
    Fixed,
    Given,
    Leaf,
    Made,
    Number,
    Program,
    Step,
    Stride,
    View,
    abi,
    bits,
    native,
    python,
)
from funcgrad.config import config
from funcgrad.errors import CompilerError

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


@pytest.fixture(scope="module")
def kernels():
    return Kernels()


@pytest.fixture(params=["native", "python"])
def entry(request, monkeypatch):
    """Makes an entry of programs."""
    if request.param == "python":
        monkeypatch.setattr(native, "native", lambda: None)
    elif native.native() is None:
        pytest.skip("no native entry points here")

    def make(*programs):
        made = Entry()
        for program in programs:
            made.add(program)
        assert isinstance(made._chain, native.Chain if request.param == "native" else python.Chain)
        return made

    return make


@pytest.fixture(autouse=True)
def restore(monkeypatch):
    monkeypatch.setattr(config, "threads", config.threads)


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


def test_native_entry_points_work_here():
    if sys.implementation.name == "cpython" and sys.platform in ("linux", "darwin"):
        assert abi.find() is not None and abi.symbols() is not None
        assert native.native() is not None


# --- Arguments -----------------------------------------------------------------------------------


def test_an_array(entry, kernels):
    f = entry(doubled(kernels))
    x = np.array([1.0, -0.0, np.nan])
    y = f(x)
    same(y, 2 * x)
    assert np.signbit(y[1]) and y.base is None and y.flags.owndata and y.flags.writeable


SUBCLASS = np.arange(3.0).view(type("Sub", (np.ndarray,), {}))


@pytest.mark.parametrize(
    "x",
    [
        np.arange(3.0).astype(F4), np.arange(3), np.arange(3.0).astype(">f8"), np.arange(4.0),
        np.arange(3.0)[None], np.arange(6.0)[::2], np.float64(1), 1.0, 1, None, [1.0, 2.0, 3.0],
        (), SUBCLASS, np.ma.masked_array(np.arange(3.0)), np.arange(3.0).astype(object), "abc",
        np.frombuffer(b"\0" * 25, "u1")[1:].view(F8), np.arange(3.0).astype("m8[s]"),
        np.zeros(3, "V8"), object(), np.ndarray,
    ],
    ids=lambda x: f"{type(x).__name__}-{getattr(x, 'dtype', '')}-{np.shape(x)}",
)  # fmt: skip
def test_what_is_not_meant_is_left_to_others(entry, kernels, x):
    f = entry(doubled(kernels))
    before = sys.getrefcount(x)
    assert f(x) is NotImplemented
    assert x is None or sys.getrefcount(x) == before  # there is more than one user of None


def test_the_number_and_names_of_arguments(entry, kernels):
    f = entry(doubled(kernels))
    x = np.arange(3.0)
    assert f() is NotImplemented and f(x, x) is NotImplemented
    if isinstance(f._chain, native.Chain):
        assert f.call(x, y=x) is NotImplemented and f.call(x=x) is NotImplemented
        assert f.call() is NotImplemented


def test_an_equal_dtype_that_is_another_object(entry, kernels):
    x = pickle.loads(pickle.dumps(np.arange(3.0)))
    x = np.ndarray(3, pickle.loads(pickle.dumps(np.dtype("f8", copy=True))), x)
    assert x.dtype is not F8
    same(entry(doubled(kernels))(x), 2 * np.arange(3.0))


def test_read_only_arrays(entry, kernels):
    x = np.arange(3.0)
    x.flags.writeable = False
    same(entry(doubled(kernels))(x), 2 * x)
    assert entry(doubled(kernels, leaf=Leaf((3,), F8, writeable=True)))(x) is NotImplemented


def test_orders(entry, kernels):
    x = np.arange(6.0).reshape(2, 3)
    c = entry(doubled(kernels, (2, 3)))
    f = entry(doubled(kernels, (2, 3), Leaf((2, 3), F8, order="F")))
    same(c(x), 2 * x)
    fortran = np.asfortranarray(x)
    assert c(fortran) is NotImplemented and f(x) is NotImplemented
    same(f(fortran).ravel(), 2 * x.T.ravel())  # this kernel only walks through the memory


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


def test_any_strides(entry, kernels):
    x = np.arange(40.0)
    f = entry(gathered(kernels, 4))
    for view in (x[:4], x[::10], x[3::-1], np.broadcast_to(x[7], 4), x.reshape(4, 10)[:, 2]):
        same(f(view), np.array(view))
    fields = np.zeros(4, [("a", "f8"), ("b", "i4")])["a"]
    assert fields.strides == (12,) and f(fields) is NotImplemented


def number(dtype, weak=False):
    return Program(
        [Leaf((), dtype, weak)],
        [],
        [],
        [Number(dtype, At("leaf"), weak)],
        result=0,
    )


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "u1", "?", "c16", "c8"])
def test_scalars(entry, dtype):
    dtype = np.dtype(dtype)
    f = entry(number(dtype))
    for value in (0, 1, 1.5 - 2j if dtype.kind == "c" else 3):
        x = dtype.type(value)
        same(f(x), x)
        same(f(np.array(x)), x)
    for other in (1.0, 1, 1j, np.array([x]), np.float16 if dtype != "f2" else np.float64, "x"):
        assert f(other) is NotImplemented


def test_python_bools_are_scalars(entry):
    f = entry(number(B))
    assert f(True) is np.True_ and f(False) is np.False_
    assert f(np.True_) is np.True_ and f(np.array(False)) is np.False_
    assert f(1) is NotImplemented and f(None) is NotImplemented


@pytest.mark.parametrize(
    "dtype, good, bad",
    [
        (F8, [1.5, -0.0, float("inf"), float("nan")], [1, np.float64(1), True, 1j, np.array(1.0)]),
        (I8, [0, -5, 2**63 - 1, -(2**63)], [True, 2**63, -(2**63) - 1, 10**40, 1.0, np.int64(3)]),
        (C16, [1 - 2j, complex("nan-infj")], [1.0, np.complex128(1), 1]),
    ],
)
def test_python_numbers(entry, dtype, good, bad):
    f = entry(number(dtype, weak=True))
    for x in good:
        result = f(x)
        assert type(result) is type(x) and repr(result) == repr(x)
    for x in bad:
        assert f(x) is NotImplemented


def test_subclasses_of_numbers_are_left_to_others(entry):
    class Float(float):
        pass

    assert entry(number(F8, weak=True))(Float(1)) is NotImplemented
    assert entry(number(F8))(Float(1)) is NotImplemented


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


def test_trees(entry, kernels):
    f = entry(nested(kernels))
    w, b, z, t = np.arange(3.0), np.arange(2.0), np.float64(5), np.ones(1)
    want = {"b": 2 * b, "w": [2 * w], "more": (z, None, {})}
    same(f({"w": w, "b": b}, [z, (None, t)]), want)
    same(f({"b": b, "w": w}, [z, (None, t)]), want)
    good = {"w": w, "b": b}, [z, (None, t)]
    bad = [
        ({"w": w}, good[1]),
        ({**good[0], "c": b}, good[1]),
        ({"w": w, "c": b}, good[1]),
        ({"w": b, "b": w}, good[1]),
        (list(good[0].items()), good[1]),
        (good[0], (z, (None, t))),
        (good[0], [z, [None, t]]),
        (good[0], [z, (None,)]),
        (good[0], [z, (z, t)]),
        (good[0], [z]),
        (type("Dict", (dict,), {})(good[0]), good[1]),
        (None, good[1]),
        (w, b),
    ]
    for arguments in bad:
        assert f(*arguments) is NotImplemented
    assert f(*good) is not NotImplemented


def test_keys_that_cannot_be_compared_leave_no_exception(entry, kernels):
    class Key:
        def __hash__(self):
            return hash("w")

        def __eq__(self, other):
            raise RuntimeError("compared")

    f = entry(nested(kernels))
    tail = [np.float64(5), (None, np.ones(1))]
    try:
        assert f({Key(): np.arange(3.0), "b": np.arange(2.0)}, tail) is NotImplemented
    except RuntimeError:
        assert isinstance(f._chain, python.Chain)


def test_several_programs(entry, kernels):
    f = entry(*(doubled(kernels, (n,)) for n in range(1, 15)))
    for n in range(1, 15):
        same(f(np.arange(float(n))), 2 * np.arange(float(n)))
    assert f(np.arange(15.0)) is NotImplemented
    old = f.call
    for n in range(15, 40):
        f.add(doubled(kernels, (n,)))
        same(f(np.arange(float(n))), 2 * np.arange(float(n)))
    assert f(np.arange(1.0)) is NotImplemented  # the oldest went
    same(old(np.arange(1.0)), 2 * np.arange(1.0))


def test_the_newest_program_comes_first(entry):
    programs = [Program([Leaf((), F8)], [], [], [Fixed(k)], result=0) for k in range(3)]
    assert entry(*programs)(np.float64(1)) == 2


# --- Results -------------------------------------------------------------------------------------


def test_each_kind_of_result(entry, kernels):
    content = np.arange(4, dtype=F4).reshape(2, 2)
    constant = object()
    steps = [
        Step(kernels.put, (At("workspace", 0, 8), bits(np.float64(0.1)))),
        Step(kernels.put, (At("workspace", 0, 16), bits(np.float64(-0.25)))),
        Step(kernels.put, (At("workspace", 0, 24), -7)),
        Step(kernels.put, (At("workspace", 0, 32), bits(np.float32(0.1)))),
    ]
    outputs = [
        Made(0),
        Given(0),
        Fixed(constant),
        Number(F8, At("workspace", 0, 8)),
        Number(F8, At("workspace", 0, 8), weak=True),
        Number(C16, At("workspace", 0, 8)),
        Number(C16, At("workspace", 0, 8), weak=True),
        Number(I8, At("workspace", 0, 24)),
        Number(I8, At("workspace", 0, 24), weak=True),
        Number(F4, At("workspace", 0, 32)),
        Number(I4, At("workspace", 0, 24)),
    ]
    f = entry(
        Program([Leaf((3,), F8)], [Buffer((2, 2), F4, "C", content)], steps, outputs, workspace=40)
    )
    x = np.arange(3.0)
    result = f(x)
    want = (content, x, constant, np.float64(0.1), 0.1, np.complex128(0.1 - 0.25j), 0.1 - 0.25j,
            np.int64(-7), -7, np.float32(0.1), np.int32(-7))  # fmt: skip
    assert result[1] is x and result[2] is constant
    same(result[0], want[0])
    same(result[3:], want[3:])
    result[0][:] = 9
    same(f(x)[0], content)


def test_one_array_twice_and_no_result(entry, kernels):
    f = entry(
        Program([], [Buffer((2,), F8, "C", np.ones(2))], [], [Made(0)], result=(0, [0])),
    )
    a, (b,) = f()
    assert a is b
    assert entry(Program([], [], [], []))() == ()
    nothing = Program([Leaf((), F8)], [], [], [], result=[None])
    assert entry(nothing)(np.float64(1)) == [None]


def test_views_of_what_was_made(entry):
    x = np.arange(12.0)
    outputs = [
        View(0, (3, 2), F8, (8, 24), 0),
        View(0, (2,), F8, (-8,), 40),
        View(0, (), F8, (), 16),
        View(0, (2, 3), I8, (24, 8), 0),
    ]
    f = entry(Program([], [Buffer((2, 3), F8, "C", x[:6].reshape(2, 3))], [], outputs))
    t, r, s, i = f()
    base = x[:6].reshape(2, 3)
    same(t, base.T)
    same(r, base.ravel()[5:3:-1])
    assert type(s) is np.ndarray and s == 2.0
    same(i, base.view(I8))
    assert t.base is r.base is s.base and t.flags.writeable and t.flags.f_contiguous
    t[0, 0] = 99
    assert i[0, 0] == bits(np.float64(99))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1), (2, 3, 4), (1,) * 20])
@pytest.mark.parametrize("order", ["C", "F"])
def test_shapes_and_orders_of_new_arrays(entry, shape, order):
    content = np.arange(float(np.prod(shape))).reshape(shape)
    content = np.asarray(content, order=order)
    (x,) = entry(Program([], [Buffer(shape, F8, order, content)], [], [Made(0)]))()
    same(x, content)
    assert (x.flags.c_contiguous, x.flags.f_contiguous) == (
        content.flags.c_contiguous,
        content.flags.f_contiguous,
    )


@pytest.mark.parametrize("size", [0, 8, 8192, 8200, 100_000, 5_000_000])
def test_workspaces(entry, kernels, size):
    """Aligned, as large as asked for, and one for each of several calls at once."""
    if not size:
        program = doubled(kernels)
    else:
        last = size - 8
        words = (At("workspace", 0, last), bits(np.float64(size)))
        address = (At("buffer"), At("workspace"))
        steps = [Step(kernels.put, words), Step(kernels.put, address)]
        outputs = [Number(F8, At("workspace", 0, last)), Made(0)]
        program = Program([], [Buffer((1,), I8)], steps, outputs, workspace=size, keep=kernels)
    f = entry(program)
    for _ in range(3):
        if size:
            value, where = f()
            assert value == size and where[0] % 64 == 0
        else:
            same(f(np.ones(3)), 2 * np.ones(3))


def test_a_flag_that_is_set_discards_the_result(entry, kernels):
    words = (At("flag"), 1)
    f = entry(
        Program(
            [Leaf((3,), F8)],
            [Buffer((3,), F8)],
            [Step(kernels.put, words)],
            [Made(0)],
            keep=kernels,
        )
    )
    assert all(f(np.ones(3)) is NotImplemented for _ in range(3))


def test_more_kernels_than_the_stack_has_room_for(kernels):
    words = (At("leaf"), At("buffer"), 3, bits(np.float64(2.0)))
    steps = [Step(kernels.scale, words)] * 3000
    program = Program([Leaf((3,), F8)], [Buffer((3,), F8)], steps, [Made(0)], keep=kernels)
    f = Entry()
    f.add(doubled(kernels, (2,)))
    f.add(program)
    same(f(np.ones(3)), (2 * np.ones(3),))
    same(f(np.ones(2)), 2 * np.ones(2))


@pytest.mark.parametrize(
    "arguments",
    [
        dict(leaves=[Leaf((), np.dtype(object))]),
        dict(leaves=[Leaf((2,), np.dtype(">f8"))]),
        dict(leaves=[Leaf((), np.dtype(np.longdouble))]),
        dict(leaves=[Leaf((), np.dtype("f4"), weak=True)]),
        dict(outputs=[Number(np.dtype("M8[s]"), At("workspace"))]),
        dict(result=1),
        dict(arguments=[0, 1]),
        dict(result=np.array(0)),
        dict(result=type("T", (tuple,), {})((0,))),
    ],
)
def test_programs_that_cannot_be(arguments):
    given = dict(leaves=[Leaf((), F8)], buffers=[], steps=[], outputs=[Fixed(1)])
    with pytest.raises(ValueError):
        Program(**{**given, **arguments})


# --- Memory --------------------------------------------------------------------------------------


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


def test_references_are_counted_right(entry, kernels):
    program, arguments, counted = everything(kernels)
    f = entry(program)
    wrong = ({**arguments[0], "x": np.arange(4.0)}, *arguments[1:])
    flagged = Program(
        program.leaves,
        program.buffers,
        [Step(kernels.put, (At("flag"), 1))],
        program.outputs,
        arguments=program.arguments,
        keep=kernels,
    )
    g = entry(flagged)

    def counts():
        gc.collect()
        return [sys.getrefcount(x) for x in counted]

    f(*arguments), f(*wrong), g(*arguments)
    before = counts()
    results = [f(*arguments) for _ in range(100)]
    assert results[0]["c"]["e"] == (12345, np.True_, None)
    assert sys.getrefcount(arguments[0]["x"]) >= before[0] + 100
    del results
    for _ in range(1000):
        f(*arguments)
        assert f(*wrong) is NotImplemented
        assert g(*arguments) is NotImplemented
    after = counts()
    if isinstance(f._chain, native.Chain):  # NumPy 2.4's own `ndarray(…)` loses dtypes
        assert max(abs(a - b) for a, b in zip(after, before)) < 20  # others use None as well
    mine = [k for k, x in enumerate(counted) if type(x) in (np.ndarray, np.float64, object)]
    assert all(after[k] == before[k] for k in mine)


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_memory_does_not_grow(entry, kernels):
    program, arguments, _ = everything(kernels)
    f = entry(program)
    count = 20_000 if isinstance(f._chain, native.Chain) else 1000

    def loop():
        for _ in range(count):
            f(*arguments)
            f(1)

    loop()
    before = _resident()
    loop()
    assert _resident() - before < 8 * count  # less than a word for each call


def test_results_live_on_their_own(entry, kernels):
    f = entry(doubled(kernels))
    x = np.arange(3.0)
    y = f(x)
    r = (
        weakref.ref(f.call.__self__)
        if isinstance(f._chain, native.Chain)
        else weakref.ref(f._chain)
    )
    del f, x
    gc.collect()
    assert r() is None
    same(y, 2 * np.arange(3.0))


def test_the_callable_keeps_what_it_needs():
    kernels = Kernels()
    call = Entry()
    call.add(doubled(kernels))
    call = call.call
    alive = weakref.ref(kernels)
    del kernels
    cache._libraries.clear()
    gc.collect()
    assert alive() is not None
    for k in range(3):
        same(call(np.full(3, float(k))), np.full(3, 2.0 * k))
    del call
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    "program",
    [
        Program([], [Buffer((2,), F8), Buffer((2**55,), F8)], [], [Made(0), Made(1)]),
        Program([], [Buffer((2,), F8)], [], [Made(0)], workspace=2**58),
    ],
    ids=["array", "workspace"],
)
def test_memory_errors_get_through(entry, program):
    f = entry(program)
    for _ in range(3):
        with pytest.raises(MemoryError):
            f()


# --- Threads and signals -------------------------------------------------------------------------


def slow(kernels, chunks, turns, **more):
    words = (At("leaf"), At("buffer"), turns)
    return Program(
        [Leaf((chunks,), F8)],
        [Buffer((chunks,), F8)],
        [Step(kernels.slow, words, chunks, True)],
        [Made(0)],
        keep=kernels,
        **{"result": 0, **more},
    )


@pytest.mark.parametrize("threads", [1, 3])
def test_parallel_kernels(entry, kernels, threads):
    config.threads = threads
    x = np.random.default_rng(0).standard_normal(5000)
    f = entry(slow(kernels, 5000, 10))
    for _ in range(5):
        same(f(x), x)


def test_several_threads_at_once(entry, kernels):
    config.threads = 2
    f = entry(slow(kernels, 300, 100, workspace=30_000), nested(kernels))
    failures = []

    def work(k):
        x = np.full(300, float(k))
        tail = [np.float64(k), (None, np.ones(1))]
        for j in range(150):
            if (f(x) != x).any():
                failures.append(k)
            result = f({"w": x[:3], "b": x[:2] + j}, tail)
            if (result["b"] != 2 * (x[:2] + j)).any() or result["more"][0] != k:
                failures.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures


def test_arguments_in_containers_live_while_a_kernel_reads_them(entry, kernels):
    """Another thread empties the container meanwhile."""
    config.threads = 1
    chunks = 200
    f = entry(slow(kernels, chunks, 300_000, arguments=({"x": 0},)))
    seen = 0
    while seen < 2:
        holder = {"x": np.full(chunks, 3.0)}
        junk = []

        def empty(holder=holder, junk=junk):
            time.sleep(0.005)
            holder.clear()
            junk.extend(np.full(chunks, -1.0) for _ in range(2000))

        thread = threading.Thread(target=empty)
        thread.start()
        result = f(holder)
        thread.join()
        if result is not NotImplemented:  # else the other one was there first
            assert (result == 3.0).all()
            seen += 1


PROGRAM = """
    import os, sys, time, threading
    sys.path[:0] = [{here!r}]
    from test_entry import Entry, Kernels, config, native, slow
    import numpy as np
    {prepare}
    config.threads = {threads}
    kernels = Kernels()
    f = Entry()
    chunks = 200_000
    f.add(slow(kernels, chunks, 500_000))
    f.add(slow(kernels, 10, 1))
    x = np.zeros(chunks)
    print("ready", flush=True)
"""


def start(body, threads, make):
    prepare = "" if make == "native" else "native.native = lambda: None"
    head = PROGRAM.format(here=os.path.dirname(__file__), threads=threads, prepare=prepare)
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
@pytest.mark.parametrize("make", ["native", "python"])
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c(make, threads):
    body = """
        before = sys.getrefcount(x)
        try:
            f(x)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        assert sys.getrefcount(x) == before
        assert (f(np.ones(10)) == 1).all()
    """
    process = start(body, threads, make)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=120)
    assert (out, error) == ("interrupted\n", "")


@pytest.mark.parametrize("threads", [1, 2])
def test_the_interpreter_exits_while_a_call_runs(threads):
    body = """
        threading.Thread(target=f, args=(x,), daemon=True).start()
        def churn():
            while True: f(np.ones(10))
        threading.Thread(target=churn, daemon=True).start()
        time.sleep(0.1)
    """
    process = start(body, threads, "native")
    out, error = process.communicate(timeout=120)
    assert (process.returncode, error) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_fork(entry, kernels):
    config.threads = 2
    f = entry(slow(kernels, 500, 100, workspace=50_000))
    x = np.arange(500.0)
    same(f(x), x)
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if all((f(x) == x).all() for _ in range(5)) else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


# --- Where native entry points do not work -------------------------------------------------------


@pytest.mark.parametrize("broken", ["find", "symbols"])
def test_unknown_layouts_lead_to_python(monkeypatch, kernels, broken):
    monkeypatch.setattr(abi, broken, lambda: None)
    native._native.cache_clear()
    try:
        f = Entry()
        f.add(doubled(kernels))
        assert isinstance(f._chain, python.Chain)
        same(f(np.ones(3)), 2 * np.ones(3))
    finally:
        native._native.cache_clear()


def test_layouts_are_checked(monkeypatch):
    assert abi.find() is not None
    real = abi._read
    for forged in (24, 32, 56, 64, 26, 28):  # ndim, shape, dtype, flags, byte order, type number
        monkeypatch.setattr(
            abi, "_read", lambda x, at, size, forged=forged: real(x, at, size) + (at == forged)
        )
        if forged != 32:  # a forged pointer must not be followed
            assert abi.find() is None


def test_a_wrong_answer_of_the_native_code_leads_to_python(monkeypatch):
    code = native.native()
    if code is None:
        pytest.skip("no native entry points here")
    assert native._works(code)

    class Wrong(native.Chain):
        def __init__(self, code):
            super().__init__(code)
            right = self.call
            self.call = lambda *args: (1,) if right(*args) is not NotImplemented else NotImplemented

    monkeypatch.setattr(native, "Chain", Wrong)
    assert not native._works(code)


def test_other_errors_of_the_compiler_lead_to_python(monkeypatch):
    def fail(*_, **__):
        raise CompilerError("no linker")

    monkeypatch.setattr(native, "Native", fail)
    native._native.cache_clear()
    try:
        assert native.native() is None
    finally:
        native._native.cache_clear()


def test_the_address_of_a_scalar_is_in_the_object():
    where = abi.find()
    if where is not None:
        x = 0.1
        assert ctypes.c_double.from_address(id(x) + where.number).value == x
