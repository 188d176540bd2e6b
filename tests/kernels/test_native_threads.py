"""Kernels of Numba called from the compiler's threads: every kind of argument arrives."""

import numba
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compile.llvm.pool import PythonPool
from funcgrad.errors import CompilerError
from funcgrad.kernels import native, pieces, threads
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


def entry(function):
    made = Entry("every_kind", "")
    made.function = function
    return made


def filled(made, count=101):
    out = np.zeros((count, 4))
    for _ in range(2):  # the first call compiles
        assert pieces.run(made, arguments(out), count, count)
    return out


def test_arguments_arrive_as_from_python(monkeypatch):
    by_code = entry(every_kind)
    found = filled(by_code)
    assert [type(c) for c in by_code.codes.values()] == [native.Code]
    monkeypatch.setattr(native, "pool", PythonPool)
    by_python = entry(every_kind)
    expected = filled(by_python)
    assert list(by_python.codes.values()) == [None]
    np.testing.assert_array_equal(found, expected)
    assert found[-1, 2] == 100 + 1000 * 5  # the last piece is a short one


def test_types_have_code_of_their_own():
    made = entry(every_kind)
    filled(made)
    given = arguments(np.zeros((40, 4)))
    given[7] = np.float32(2.5)
    assert pieces.run(made, given, 40, 40)
    assert len(made.codes) == 2
    assert given[-1].array[:, 0].all()


@numba.njit(nogil=True)
def without_memory(first, x):
    if first > 50:
        raise MemoryError


def test_no_memory_is_an_error():
    made = entry(without_memory)
    x = np.zeros(100)
    assert made.run(0, x)
    with pytest.raises(MemoryError, match="intermediate"):
        pieces.run(made, [FIRST, x], 100, 100)


def test_what_cannot_be_called_so_runs_in_python(monkeypatch):
    def refuse(text):
        raise CompilerError("no")

    monkeypatch.setattr(native.cache, "library", refuse)
    made = entry(every_kind)
    assert filled(made)[3, 2] == 3 + 1000 * 16
    assert list(made.codes.values()) == [None]
