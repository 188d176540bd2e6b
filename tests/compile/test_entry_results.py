"""What entry points return, the memory they use, and what they keep alive."""

import gc
import os
import sys
import weakref

import numpy as np
import pytest
from entry_programs import C16, F4, F8, I4, I8, Kernels, doubled, everything, same

from funcgrad.compile import cache
from funcgrad.compile.llvm.entry import (
    At,
    Buffer,
    Entry,
    Fixed,
    Given,
    Held,
    Leaf,
    Made,
    Number,
    Program,
    Step,
    View,
    native,
)
from funcgrad.compile.memory import address_of, bits

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


def test_kernels_behind_one_that_sets_the_flag_do_not_run(entry, kernels):
    held = np.zeros(1, np.int64)
    written = Held(address_of()(held), held)
    steps = [Step(kernels.put, (At("flag"), 1)), Step(kernels.put, (written, 7))]
    arguments = dict(leaves=[Leaf((3,), F8)], buffers=[Buffer((3,), F8)], outputs=[Made(0)])
    for number in (2, 1):
        f = entry(Program(**arguments, steps=steps[-number:], keep=(kernels, held)))
        f(np.ones(3))
        assert held[0] == (7 if number == 1 else 0)


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
