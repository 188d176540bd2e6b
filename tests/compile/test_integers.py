"""Integers that are known while code is printed, and loops whose length is."""

import itertools
import operator
import re

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compile.execute import executable
from funcgrad.compile.llvm.body import Body
from funcgrad.compile.llvm.emit import Emitter
from funcgrad.compile.llvm.integers import compared, computed, literal
from funcgrad.compile.llvm.target import host
from funcgrad.config import config

NUMBERS = [-64, -1, 0, 1, 2, 7, 16, 2**40]
ARITHMETIC = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
}
LENGTHS = [1, 3, 8, 9, 16, 17, 32, 33, 65]


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_of_numbers_is_pythons(name):
    for a, b in itertools.product(NUMBERS, repeat=2):
        want = ARITHMETIC[name](a, b)
        found = computed(name, str(a), str(b))
        assert found == str(want) if abs(want) < 2**62 else found is None


def test_divisions_are_those_of_unsigned_numbers():
    assert computed("udiv", "17", "5") == "3" and computed("urem", "17", "5") == "2"
    assert computed("lshr", "17", "2") == "4"
    for a, b in [("-1", "5"), ("17", "0"), ("17", "-5")]:
        assert computed("udiv", a, b) is None and computed("urem", a, b) is None
    assert compared("ult", "3", "4") is True and compared("ult", "-1", "4") is None


def test_operands_that_are_not_known():
    """Only what holds whatever they are."""
    for operation, neutral in [("add", "0"), ("mul", "1"), ("sub", "0"), ("udiv", "1")]:
        assert computed(operation, "%x", neutral) == "%x"
    assert computed("add", "0", "%x") == computed("mul", "1", "%x") == "%x"
    assert computed("mul", "0", "%x") == computed("mul", "%x", "0") == "0"
    assert computed("sub", "0", "%x") is computed("udiv", "1", "%x") is None
    assert computed("add", "%x", "%x") is None and compared("eq", "%x", "%x") is None
    assert literal("%x") is literal("splat (i64 1)") is None and literal("-12") == -12


def test_an_instruction_is_written_once_where_it_was_run_before():
    e = Emitter("double", body=Body())
    x = e.value("%x", "i64")
    first = e.binary("mul", x, e.constant(3, "i64"))
    assert e.binary("mul", x, e.constant(3, "i64")) is first and len(e.lines) == 1

    rare = []

    def slow():
        rare.append(e.binary("add", x, e.constant(5, "i64")))
        assert e.binary("mul", x, e.constant(3, "i64")) is first
        return [first]

    e.rarely(e.compare("eq", x, e.constant(1, "i64")), [first], slow)
    assert e.binary("add", x, e.constant(5, "i64")) is not rare[0]  # it may not have been run
    assert e.binary("mul", x, e.constant(3, "i64")) is first


def body(n):
    """Reductions, a function, rows, and elements of a vector whose length is known."""
    table = np.linspace(0.5, 1.5, 12 * n).reshape(12, n)

    def f(x):
        def step(c, k):
            c = np.tanh(c * fg.numpy.take(table, k % 12, axis=0)) + c[::-1] * 0.25
            largest = np.max(c)
            return c / largest, np.sum(c) * np.sum(c * c) + np.min(c) - largest + c[n // 2]

        c, ys = fg.scan(step, x, np.arange(17))
        return np.sum(c * c) + np.sum(ys)

    return f


@pytest.mark.parametrize("avx512", [True, False])
@pytest.mark.parametrize("n", LENGTHS)
def test_loops_of_known_length_around_that_of_a_register(n, avx512, monkeypatch):
    monkeypatch.setattr(config, "avx512", avx512)
    x = np.linspace(0.3, 1.1, n)
    value, gradient = fg.jit(fg.value_and_grad(body(n)))(x)
    want, wanted = fg.value_and_grad(body(n))(x)
    np.testing.assert_allclose(value, want, rtol=1e-12)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n", [16, 32])
def test_full_registers_take_no_mask_and_a_single_one_no_loop(n):
    """And an address that many statements have is computed once."""
    graph = fg.make_graph(fg.grad(body(n)))(np.ones(n))
    made = executable(graph)
    loops = [k for k in made.kernels if any(getattr(s, "kind", "") == "steps" for s in k.body)]
    text = made.backend.text(loops)
    if host().avx512:
        assert "lshr" not in text and not re.search(r"masked\.(load|store)", text)
    heads = re.findall(r"icmp ult i64 %x\.i\d+, (\d+)", text)
    assert set(heads) == ({"17"} if n == 16 else {"17", "32"})
    instructions = re.findall(r"= (mul i64 .*)", text)
    assert len(instructions) <= 2 * len(set(instructions))  # the kernels may share some
    assert not re.search(r"= (mul|add) i64 \d+, \d+\n", text)
