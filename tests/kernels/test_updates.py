"""The steps of optimisers: what is printed for Numba gives the bits of what is for NumPy."""

import numpy as np
import pytest
from amount import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from funcgrad.kernels import updates, write_updates
from funcgrad.kernels import updates_in_numpy_generated as in_numpy
from funcgrad.kernels.choice import entries
from funcgrad.kernels.update_rules import RULES, arrays_of, numbers_of

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3.0]
BEFORE = [(None, None, None), (True, None, 0.1), (None, 0.99, None), (True, 0.99, 0.01)]


@pytest.fixture(autouse=True)
def any_size(monkeypatch, always):
    monkeypatch.setattr(updates, "FEWEST", 1)


def test_files_are_current():
    hint = "run python -m funcgrad.kernels.write_updates"
    assert write_updates.NUMBA.read_text() == write_updates.in_numba(), hint
    assert write_updates.NUMPY.read_text() == write_updates.in_numpy(), hint


def drawn(rule, shape, dtype, seed, order="C"):
    """Arrays for a rule, with special values in the parameter and its gradient."""
    rng = np.random.default_rng(seed)
    arrays = []
    for name in arrays_of(RULES[rule]):
        x = rng.normal(size=shape).astype(dtype)
        if name in ("x", "g"):
            x.reshape(-1)[: len(SPECIAL)] = rng.permutation(SPECIAL)[: x.size]
        if name in ("square", "most", "total"):
            x = np.abs(x)
        arrays.append(np.array(x, order=order))
    return arrays


def carried_out(rule, arrays, numbers, kernel):
    """Copies of the arrays, in their layout, after a step."""
    held = tuple(np.array(x, order="K") for x in arrays)
    with np.errstate(all="ignore"):
        if kernel:
            updates.carry_out([updates.Move(rule, held, numbers)], held[0].size)
        else:
            getattr(in_numpy, rule)(*held, *numbers)
    return held


def same_bits(rule, arrays, before, seed=0):
    rng = np.random.default_rng(seed)
    numbers = (*before, *rng.uniform(0.1, 1.5, len(numbers_of(RULES[rule]))).tolist())
    one, other = (carried_out(rule, arrays, numbers, k) for k in (True, False))
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        kept = ~np.isnan(a)
        integer = f"i{a.itemsize}"
        np.testing.assert_array_equal(a[kept].view(integer), b[kept].view(integer))


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rule", RULES)
def test_kernels_have_the_bits_of_numpy(rule, dtype, before):
    same_bits(rule, drawn(rule, (5, 27), dtype, 1), before)
    assert any(e.calls for e in entries.values() if e.name == f"{rule}_update")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("rule", ["sgd", "adam"])
def test_layouts(rule, order):
    arrays = drawn(rule, (6, 7), np.float32, 2, order)
    same_bits(rule, arrays, BEFORE[0])
    other = list(arrays)
    other[1] = np.array(arrays[1], order="F" if order == "C" else "C")
    same_bits(rule, other, BEFORE[0])
    other[1] = np.broadcast_to(np.float32(0.5), (6, 7))
    same_bits(rule, other, BEFORE[1])


def test_a_gradient_may_be_read_only_and_is_left_alone():
    x, g = drawn("sgd", (40,), np.float64, 3)
    g.flags.writeable = False
    before, start = g.copy(), x.copy()
    numbers = (True, None, 0.1, 0.5)
    with np.errstate(all="ignore"):
        updates.carry_out([updates.Move("sgd", (x, g), numbers)], 40)
        np.testing.assert_array_equal(x, start - (-g + start * 0.1) * 0.5)
    np.testing.assert_array_equal(g, before)


@given(
    st.integers(0, 40), st.sampled_from(list(RULES)), st.sampled_from(BEFORE), st.integers(0, 99)
)
@settings(max_examples=examples(60), deadline=None)
def test_any_size(size, rule, before, seed):
    same_bits(rule, drawn(rule, (size,), np.float32, seed), before, seed)


# ------------------------------------------------------------------------- many at once


def moved(rule, rows, numbers, kernel):
    """The rows after one step of all of them."""
    size = sum(r[0].size for r in rows)
    with np.errstate(all="ignore"):
        if kernel:
            updates.carry_out([updates.Move(rule, r, numbers) for r in rows], size)
        else:
            for r in rows:
                getattr(in_numpy, rule)(*r, *numbers)


def both_ways(rule, make):
    """`make` gives the rows twice; what they hold after two steps has to be the same bits."""
    numbers = (None, 0.5, 0.1, *np.linspace(0.2, 0.9, len(numbers_of(RULES[rule]))).tolist())
    one, other = make(), make()
    for _ in range(2):
        moved(rule, one, numbers, True)
        moved(rule, other, numbers, False)
    for a, b in zip(one, other, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("rule", ["sgd", "adam", "rprop"])
@pytest.mark.parametrize("shapes", [[(3,), (0,), (4, 5), (1,)], [(700, 501), (9,), (250, 1000)]])
def test_many_parameters_in_one_call(rule, shapes):
    both_ways(rule, lambda: [tuple(drawn(rule, s, np.float32, k)) for k, s in enumerate(shapes)])
    assert any(k[0] == "many" for e in entries.values() for k in e.codes if k)


@pytest.mark.parametrize("size", [40, 300_000])
def test_rows_that_share_memory_keep_their_order(size):
    def make():
        x, g, mean, square = drawn("adam", (size,), np.float64, 7)
        other = x[size // 2 :]  # a part of the first parameter is changed once more
        n = other.size
        return [(x, g, mean, square), (other, x[:n], mean[:n].copy(), square[:n].copy())]

    both_ways("adam", make)


def test_layouts_among_each_other():
    def make():
        rows = [drawn("momentum", (6, 8), np.float32, k) for k in range(5)]
        rows[1] = [np.asfortranarray(a) for a in rows[1]]
        rows[2][1] = np.asfortranarray(rows[2][1])
        rows[3] = [np.repeat(a, 2, 1)[:, ::2] for a in rows[3]]  # with gaps
        return [tuple(r) for r in rows]

    both_ways("momentum", make)


def test_what_cannot_be_written_is_refused():
    x, g = drawn("sgd", (9,), np.float64, 3)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        updates.carry_out([updates.Move("sgd", (x, g), (None, None, None, 0.5))], 9)
