"""Random bits of many elements come from a kernel, with the bits of NumPy."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.kernels import counters
from funcgrad.kernels.choice import entries
from funcgrad.random import keys

RULE = keys.threefry.primitive.impl.args[0]
SEED = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def always(monkeypatch):
    monkeypatch.setattr(fg.config, "kernels", "always")


def words(*shape):
    return SEED.integers(0, 2**32, shape, np.uint32)


SHAPES = {
    "one draw": ((), (), (), (40,)),
    "one key": ((), (), (40,), (40,)),
    "of two axes": ((), (), (), (3, 7)),
    "many keys": ((9, 1), (9, 1), (5,), (5,)),
    "all their own": ((6,), (6,), (6,), (6,)),
    "two axes": ((2, 1, 1), (2, 1, 1), (3, 4), (3, 4)),
    "none": ((0,), (0,), (3, 1), (3, 1)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_bits_are_those_of_numpy(name):
    given = [words(*shape) for shape in SHAPES[name]]
    found, expected = keys.threefry(*given), RULE(*given)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("layout", ["reversed", "strided", "read-only", "transposed"])
def test_layouts(layout):
    x = words(6, 8)
    x = {"reversed": x[::-1], "strided": x[:, ::2], "transposed": x.T, "read-only": x}[layout]
    x.flags.writeable = layout != "read-only"
    given = [np.uint32(5), np.uint32(9), x, x]
    np.testing.assert_array_equal(keys.threefry(*given), RULE(*given))


def test_the_kernel_was_taken():
    before = sum(e.calls for (name, _), e in entries.items() if name.startswith("threefry"))
    key = fg.random.key(0)
    fg.random.uniform(key, (counters.FEWEST,))
    fg.vmap(lambda k: fg.random.uniform(k, (3,)))(fg.random.split(key, 4))
    after = sum(e.calls for (name, _), e in entries.items() if name.startswith("threefry"))
    assert after > before + 1


@pytest.mark.parametrize("threads", [1, 2])
def test_large_draws_in_threads(threads, monkeypatch):
    monkeypatch.setattr(fg.config, "threads", threads)
    low = np.arange(1 << 19, dtype=np.uint32)
    for high in (np.uint32(0), np.zeros_like(low)):
        given = [np.uint32(7), np.uint32(8), high, low]
        np.testing.assert_array_equal(keys.threefry(*given), RULE(*given))
