"""Files hold NumPy's arrays and numbers, devices and defaultdicts; conjugates are conjugated."""

import io
import pickle
from collections import defaultdict

import numpy as np
import pytest

import funcgrad.torch as ours

VALUES = {
    "matrix": np.arange(6.0).reshape(2, 3),
    "by columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "transposed": np.arange(6.0).reshape(2, 3).T,
    "stepped": np.arange(10)[::3],
    "without dimensions": np.array(3.0),
    "empty": np.zeros((0, 3), np.float32),
    "complex": np.array([1 + 2j]),
    "truth": np.array([True, False]),
    "text": np.array(["ab", "c"]),
    "bytes": np.arange(300, dtype=np.uint8),
    "float64": np.float64(2.5),
    "int32": np.int32(4),
    "bool": np.bool_(True),
    "float16": np.float16(1.5),
    "lists": defaultdict(list, {1: [2]}),
    "nothing": defaultdict(None, {1: 2}),
    "floats": defaultdict(float),
}


def written(m, x):
    buffer = io.BytesIO()
    m.save({"x": x, "again": x, "device": m.device("cpu")}, buffer)
    return io.BytesIO(buffer.getvalue())


def check(found, x):
    assert type(found["x"]) is type(x)
    assert str(found["device"]) == "cpu"
    if isinstance(x, np.ndarray):
        assert found["x"].dtype == x.dtype
        np.testing.assert_array_equal(found["x"], x)
        assert found["x"] is found["again"]
        assert found["x"].flags.writeable
    else:
        assert found["x"] == x
    if isinstance(x, defaultdict):
        assert found["x"].default_factory is x.default_factory


@pytest.mark.parametrize("name", VALUES)
def test_what_was_saved_is_loaded(name):
    check(ours.load(written(ours, VALUES[name])), VALUES[name])


@pytest.mark.peers
@pytest.mark.parametrize("name", VALUES)
def test_pytorch_reads_and_writes_them(name):
    theirs = pytest.importorskip("torch")
    check(theirs.load(written(ours, VALUES[name]), weights_only=False), VALUES[name])
    check(ours.load(written(theirs, VALUES[name])), VALUES[name])


@pytest.mark.peers
@pytest.mark.parametrize(
    "change",
    [
        lambda z, t: z.conj(),
        lambda z, t: z.conj().imag,
        lambda z, t: z.conj()[1:],
        lambda z, t: t._neg_view(z),
        lambda z, t: z.conj().t(),
    ],
)
def test_conjugates_and_negatives_of_pytorch(change):
    theirs = pytest.importorskip("torch")
    z = change(theirs.tensor([[1 + 2j, 3 - 1j], [4, 5j]]), theirs)
    buffer = io.BytesIO()
    theirs.save(z, buffer)
    found = ours.load(io.BytesIO(buffer.getvalue()))
    np.testing.assert_array_equal(found.numpy(), z.resolve_conj().resolve_neg().numpy())


@pytest.mark.parametrize(
    "x",
    [
        np.array([object()], object),
        np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        np.array("2020-01-01", "M8[D]"),
        defaultdict(lambda: 3),
    ],
    ids=["objects", "records", "times", "function"],
)
def test_what_is_no_plain_data(x):
    with pytest.raises(TypeError, match=r"cannot save .* at \['x'\]"):
        written(ours, x)


class Evil:
    """An array whose pickle tells wrong things."""

    def __init__(self, state, kind="f8"):
        self.state, self.kind = state, kind

    def __reduce__(self):
        rebuild = np.arange(1.0).__reduce__()[0]
        return rebuild, (np.ndarray, (0,), b"b"), self.state


@pytest.mark.peers
@pytest.mark.parametrize(
    "state",
    [
        (1, (10**12,), np.dtype("f8"), False, b"\0" * 8),
        (1, (-1,), np.dtype("f8"), False, b""),
        (1, (1,), np.dtype("f8"), False, b"\0" * 4),
        (1, (1,), np.dtype(object), False, [3]),
    ],
)
def test_a_damaged_array_is_refused(state):
    theirs = pytest.importorskip("torch")
    buffer = io.BytesIO()
    theirs.save(Evil(state), buffer)
    with pytest.raises(pickle.UnpicklingError):
        ours.load(io.BytesIO(buffer.getvalue()))
