"""Large arrays over which a jitted function closes: no graph outlives what it was computed from."""

import numpy as np
import pytest

import funcgrad as fg

SIZE = 20_000  # more than 64 KiB


def branch(big):
    return lambda x: x * 2.0 if big[7] > 0 else -x


def number(big):
    return lambda x: x * float(big[7])


def item(big):
    return lambda x: x + big[7].item()


def choice(big):
    table = [1.5, 2.5, 3.5]
    return lambda x: x * table[int(big[7])]


def function_of_a_table(big):
    functions = (np.sin, np.cos, np.exp)
    return lambda x: functions[int(big[7])](x)


def count(big):
    def f(x):
        for _ in range(int(big[7])):
            x = x * 2.0
        return x

    return f


def numpy_scalar(big):
    return lambda x: x * big[7]


def positions(big):
    return lambda x: x * np.flatnonzero(big > 0).size


def derived_array(big):
    return lambda x: np.sum(x * np.cumsum(big)[:9])


def operand(big):
    return lambda x: np.sum(big * x)


PROGRAMS = [branch, number, item, choice, function_of_a_table, count, numpy_scalar, positions]
PROGRAMS += [derived_array, operand]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("transform", [fg.jit, lambda f: fg.jit(fg.grad(f)), lambda f: fg.grad(f)])
def test_a_change_of_the_content_is_seen(program, transform):
    big = np.zeros(SIZE)
    staged, plain = transform(program(big)), program(big)
    reference = plain if transform is fg.jit else fg.grad(plain)
    for value in (1.0, 1.0, 2.0, 0.0, 1.0):
        big[7] = value
        np.testing.assert_allclose(staged(0.3), reference(0.3), rtol=1e-14)


def test_an_unchanged_large_array_is_traced_once():
    big = np.ones(SIZE)
    f = fg.jit(lambda x: np.sum(big * x))
    for _ in range(4):
        f(2.0)
    assert len(f.cache) == 1
