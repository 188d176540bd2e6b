"""Under jit a Python bool counts as Python's: ``b + b`` is 2, where NumPy's bool stays a bool."""

import warnings

import numpy as np
import pytest

import funcgrad as fg

PROGRAMS = {
    "sum": lambda b: b + b,
    "difference": lambda b: b - b,
    "product": lambda b: b * b,
    "with an integer": lambda b: 3 + b,
    "with a float": lambda b: b * 2.5,
    "negative": lambda b: -b,
    "positive": lambda b: +b,
    "absolute": lambda b: abs(b),
    "power": lambda b: b**2,
    "floor": lambda b: b // b,
    "remainder": lambda b: b % b,
    "shift": lambda b: b << b,
    "quotient": lambda b: b / b,
    "and": lambda b: b & b,
    "or with an integer": lambda b: b | 2,
    "exclusive or": lambda b: b ^ b,
    "comparison": lambda b: b >= b,
    "sum of a list": lambda b: sum([b, b, b]),
    "ufunc": lambda b: np.add(b, b),
    "beside an array of small integers": lambda b: b + np.ones(2, np.int8),
    "beside an array of floats": lambda b: b * np.ones(2, np.float32),
    "beside a bool of NumPy": lambda b: np.True_ + b,
    "chosen": lambda b: np.where(b, 1.0, 2.0),
}


def like(found, expected):
    """Equal, and of the same kind: jit may give a scalar of NumPy for a number of Python."""
    kind = np.asarray(expected).dtype
    return np.asarray(found).dtype == kind and np.array_equal(found, expected)


DIVIDES = "floor", "remainder", "quotient"  # by False Python raises


@pytest.mark.parametrize(
    "name, b", [(n, b) for n in PROGRAMS for b in (True, False) if b or n not in DIVIDES]
)
def test_arithmetic_of_bools(name, b):
    program, x = PROGRAMS[name], 3.0 if b else 0.0
    expected = program(b)
    assert like(fg.jit(program)(b), expected)
    assert like(fg.jit(lambda x: program(x > 1.0))(x), expected)


@pytest.mark.parametrize("b", [True, False])
def test_inversion_of_bools(b):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python advises against it
        expected = ~b
    assert like(fg.jit(lambda b: ~b)(b), expected)


def test_bools_of_numpy_stay_numpys():
    assert like(fg.jit(lambda b: b + b)(np.True_), np.True_ + np.True_)
    assert like(fg.jit(lambda x: (x > 1.0) + (x > 2.0))(np.float64(3.0)), np.True_)
    with pytest.raises(TypeError, match="subtract"):
        fg.jit(lambda b: b - b)(np.True_)


def test_counted_conditions_weigh_a_gradient():
    def f(x):
        return x * x * ((x > 1.0) + (x > 2.0))

    for x in (0.5, 1.5, 3.0):
        expected = f(x), 2.0 * x * ((x > 1.0) + (x > 2.0))
        assert fg.value_and_grad(f)(x) == expected
        assert fg.jit(fg.value_and_grad(f))(x) == expected
        assert fg.value_and_grad(fg.jit(f))(x) == expected
        assert fg.jit(fg.jacfwd(f))(x) == expected[1]


def test_a_loop_carries_a_bool():
    def f(x):
        return fg.scan(lambda seen, v: (seen | (v > x), seen + seen), False, np.arange(4.0))

    seen, counts = fg.jit(f)(1.5)
    assert seen
    assert np.asarray(counts).tolist()[:3] == [0, 0, 0]


LOOPS = {
    "scan": lambda a, x: fg.scan(lambda c, v: (c ^ True, (c + c) * v), a, x * np.arange(4.0)),
    "fori_loop": lambda a, x: fg.fori_loop(
        0, 3, lambda i, c: (c[0] ^ True, c[1] + (c[0] + c[0]) * x), (a, 0.0)
    ),
    "while_loop": lambda a, x: fg.while_loop(
        lambda c: c[0] + c[0] + c[2] < 5,
        lambda c: (c[0] ^ True, c[1] + (c[0] + c[0]) * x, c[2] + 1),
        (a, 0.0, 0),
    ),
    "after a loop": lambda a, x: (lambda c: (c + c) * x)(
        fg.fori_loop(0, 2, lambda i, c: c ^ True, a)
    ),
    "several": lambda a, x: fg.fori_loop(
        0, 2, lambda i, c: (c[1], c[0], c[2] + (c[0] - c[1]) * x), (a, False, 0.0)
    ),
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("b", [True, False])
def test_loops_count_the_bools_that_they_carry(name, b):
    f, xs = LOOPS[name], np.array([0.5, 2.0])
    total = lambda x: sum(np.sum(1.0 * y) for y in fg.tree.flatten(f(b, x))[0])
    expected = total(2.0), fg.grad(total)(2.0)
    for run in (fg.jit(fg.value_and_grad(total)), fg.value_and_grad(fg.jit(total))):
        assert tuple(map(float, run(2.0))) == tuple(map(float, expected))
    assert fg.jit(lambda a: f(a, 2.0)[0] if name != "after a loop" else f(a, 2.0))(b) == (
        f(b, 2.0)[0] if name != "after a loop" else f(b, 2.0)
    )
    for run in (fg.vmap(total), fg.jit(fg.vmap(total))):
        np.testing.assert_array_equal(run(xs), [total(x) for x in xs])
