"""Entry points, native and in Python: the same arguments taken, the same results, no leaks."""

import ctypes
import pickle
import sys

import numpy as np
import pytest
from entry_programs import C16, F4, F8, I8, B, doubled, gathered, nested, number, same

from funcgrad.compile.llvm.entry import Entry, Fixed, Leaf, Program, abi, native, python
from funcgrad.errors import CompilerError


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


def test_any_strides(entry, kernels):
    x = np.arange(40.0)
    f = entry(gathered(kernels, 4))
    for view in (x[:4], x[::10], x[3::-1], np.broadcast_to(x[7], 4), x.reshape(4, 10)[:, 2]):
        same(f(view), np.array(view))
    fields = np.zeros(4, [("a", "f8"), ("b", "i4")])["a"]
    assert fields.strides == (12,) and f(fields) is NotImplemented


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


def test_trees(entry, kernels):
    f = entry(nested(kernels))
    w, b, z, t = np.arange(3.0), np.arange(2.0), np.float64(5), np.ones(1)
    want = {"b": 2 * b, "w": [2 * w], "more": (z, None, {})}
    same(f({"w": w, "b": b}, [z, (None, t)]), want)
    good = {"w": w, "b": b}, [z, (None, t)]
    bad = [
        ({"b": b, "w": w}, good[1]),  # another order
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
