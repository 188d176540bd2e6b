"""Kernels of Numba called from the compiler's threads: every kind of argument arrives."""

import numba
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compile.llvm.pool import PythonPool
from funcgrad.kernels import load, native, pieces, threads
from funcgrad.kernels.choice import Entry
from funcgrad.kernels.pieces import FIRST, LAST, LENGTH, Cut


@numba.njit(nogil=True)
def every_kind(first, last, length, x, wide, single, nothing, factor, small, count, flag, out):
    """Whatever a kernel may ask of its arguments."""
    for i in range(length):
        j = first + i
        out[i, 0] = x[i, 1] * factor + wide[0, i, 0] * small + single[0, 0, 0, 0]
        out[i, 1] = x.size + wide.size + wide.itemsize + wide.shape[1] + count
        out[i, 2] = j + 1000 * (last - first) if flag and nothing is None else -1
        out[i, 3] = x.ctypes.data + 0 if length == 0 else wide.strides[1]


def arguments(out):
    rng = np.random.default_rng(0)
    x, wide = rng.normal(size=(len(out), 2)), rng.normal(size=(1, len(out), 3))
    single = np.array(5.0).reshape(1, 1, 1, 1)
    single.flags.writeable = False
    return [FIRST, LAST, LENGTH, Cut(x, 0), Cut(wide.astype(np.float32), 1), single, None,
            2.5, np.float32(0.5), 7, np.bool_(True), Cut(out, 0)]  # fmt: skip


@pytest.fixture(autouse=True)
def several(monkeypatch):
    monkeypatch.setattr(threads, "PARALLEL", 1)
    monkeypatch.setattr(threads, "PIECE", 16)
    monkeypatch.setattr(fg.config, "threads", 3)


def entry(function, monkeypatch):
    """An entry of a function that is no kernel of ours."""
    monkeypatch.setattr(load, "dispatcher", lambda name: function)
    monkeypatch.setattr(fg.config, "kernels", "always")
    return Entry(f"{function.__name__} of {__file__}", "")


def filled(made, count=101):
    out = np.zeros((count, 4))
    assert pieces.run(made, arguments(out), count, count)
    return out


def test_arguments_arrive_as_from_python(monkeypatch):
    found = filled(entry(every_kind, monkeypatch))
    monkeypatch.setattr(native, "pool", PythonPool)
    np.testing.assert_array_equal(found, filled(entry(every_kind, monkeypatch)))
    assert found[-1, 2] == 100 + 1000 * 5  # the last piece is a short one
    expected = np.zeros((101, 4))
    ends = {FIRST: 0, LAST: 101, LENGTH: 101}
    every_kind(*(x.array if type(x) is Cut else ends[x] if type(x) is str else x
                 for x in arguments(expected)))  # fmt: skip
    np.testing.assert_array_equal(found[:, 0], expected[:, 0])


def test_types_have_code_of_their_own(monkeypatch):
    made = entry(every_kind, monkeypatch)
    filled(made)
    given = arguments(np.zeros((40, 4)))
    given[7] = np.float32(2.5)
    assert pieces.run(made, given, 40, 40)
    assert len(made.codes) == 2
    assert given[-1].array[:, 0].all()


@numba.njit(nogil=True)
def with_memory(first, x, out):
    """A kernel that makes an array, or says that there is no memory."""
    if first > 50:
        raise MemoryError
    part = np.empty(x.size, x.dtype)
    for k in range(x.size):
        part[k] = x[k] + first
    for k in range(x.size):
        out[k] = part[x.size - 1 - k]


def test_a_kernel_makes_arrays_without_numba(monkeypatch):
    made = entry(with_memory, monkeypatch)
    x, out = np.arange(100_000.0), np.zeros(100_000)
    assert pieces.run(made, [0, x, out])
    np.testing.assert_array_equal(out, x[::-1])


def test_no_memory_is_an_error(monkeypatch):
    made = entry(with_memory, monkeypatch)
    x = np.zeros(100)
    assert pieces.run(made, [FIRST, x, x.copy()])
    with pytest.raises(MemoryError, match="intermediate"):
        pieces.run(made, [FIRST, x, x.copy()], 100, 100)


@numba.njit(nogil=True)
def with_the_interpreter(x):
    """What needs Numba's own runtime."""
    with numba.objmode():
        print(x)


def test_what_needs_more_of_numba_than_memory_is_refused(monkeypatch):
    made = entry(with_the_interpreter, monkeypatch)
    with pytest.warns(RuntimeWarning, match="cannot be used"):
        assert not pieces.run(made, [np.zeros(3)])
    assert made.failed
