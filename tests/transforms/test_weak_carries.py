"""A Python number as a carry takes the dtype of the arrays beside it: in Python, compiled, in JAX.

It is none of float64 for being handed on, and an index of `fori_loop` is a number, too.
"""

from __future__ import annotations

import numpy as np
import pytest
from jax_pair import function, leaves, ours, theirs

import funcgrad as fg
import funcgrad.numpy as fnp

single = np.float32
ROWS = np.array([0.5, 1.5, -1.0], single)
NUMBER = single(1.75)
PAIR = np.array([1.5, 3.0], single)

# programs of an argument in single precision: the text, and the argument
PROGRAMS = {
    "sum of rows": ("lambda x: lax.scan(lambda c, r: (c + r, c), 0.0, x)", ROWS),
    "sum from an integer": ("lambda x: lax.scan(lambda c, r: (c + r, c), 0, x)[1]", ROWS),
    "number that stays one": ("lambda x: lax.scan(lambda c, r: (c * 0.5, c * r), 1.0, x)", ROWS),
    "integer that stays one": ("lambda x: lax.scan(lambda c, r: (c + 1, c * r), 0, x)", ROWS),
    "integer that becomes a float": ("lambda x: lax.scan(lambda c, r: (c + 0.5, c), 0, x)", ROWS),
    "number and what it is multiplied to": (
        "lambda x: lax.scan(lambda c, r: ((c[0] * 1.5, c[1] * c[0] * r), None), (1.0, x[0]), x)",
        ROWS,
    ),
    "number beside an array later": (
        "lambda x: lax.scan(lambda c, r: (c * 0.5, None), 1.0, x)[0] * x",
        ROWS,
    ),
    "reversed": ("lambda x: lax.scan(lambda c, r: (c * r, c), 1.0, x, reverse=True)", ROWS),
    "compared": ("lambda x: lax.scan(lambda c, r: (c + 0.1, c < r), 0.0, x)[1]", ROWS),
    "chosen": ("lambda x: lax.scan(lambda c, r: (c, jnp.where(r > 0, c, r)), 0.1, x)[1]", ROWS),
    "stacked numbers": ("lambda x: lax.scan(lambda c, r: (c + r, (1.0, 2, True)), x[0], x)", ROWS),
    "product in fori_loop": ("lambda x: lax.fori_loop(0, 3, lambda i, c: c * x, 1.0)", NUMBER),
    "index": ("lambda x: lax.fori_loop(0, 3, lambda i, c: c + i * x, x)", NUMBER),
    "index in integers": (
        "lambda x: lax.fori_loop(0, 3, lambda i, c: (c[0] + (i + 1) % 2 * x, c[1] + i), (x, 0))[0]",
        NUMBER,
    ),
    "sum in while_loop": (
        "lambda x: lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] * 2, c[1] + c[0]), (x, 0.0))",
        NUMBER,
    ),
    "counter in while_loop": (
        "lambda x: lax.while_loop(lambda c: c[1] < 4,"
        " lambda c: (c[0] * c[1], c[1] + 1), (x, 1))[0]",
        NUMBER,
    ),
    "clock in while_loop": (
        "lambda x: lax.while_loop(lambda c: c[1] < 4,"
        " lambda c: (c[0] * c[1], c[1] + 0.5), (x, 1.0))[0]",
        NUMBER,
    ),
    "clocks of examples": (
        "jax.vmap(lambda a: lax.while_loop(lambda c: c[1] < a,"
        " lambda c: (c[0] * c[1], c[1] + 1.0), (a, 0.0))[0])",
        PAIR,
    ),
    "branch on a number": (
        "lambda x: lax.fori_loop(0, 4, lambda i, c: (lax.cond(c[1] > 2, lambda v, k: v * k,"
        " lambda v, k: v + k, c[0], c[1]), c[1] + i), (x, 1))[0]",
        NUMBER,
    ),
    "loop within a loop": (
        "lambda x: lax.scan(lambda c, r:"
        " (lax.fori_loop(0, 2, lambda i, d: d * 0.5 + i, c), r * c), 1.0, x)",
        ROWS,
    ),
    "rows of map": ("lambda x: lax.map(lambda r: (r * 2.0, 1.0, 2, r + 1, True), x)", ROWS),
    "neighbours": ("lambda x: lax.associative_scan(lambda a, b: a + b * 0.5, x)", ROWS),
    "slope": (
        "jax.grad(lambda x: lax.scan(lambda c, _: (c * 0.5 + x * c, c), 1.0, None, length=3)[0])",
        NUMBER,
    ),
}  # fmt: skip


def dtypes(found):
    return [np.asarray(leaf).dtype.name for leaf in fg.tree.leaves(found)]


@pytest.mark.peers
@pytest.mark.parametrize("name", PROGRAMS)
def test_dtypes_are_those_of_jax_in_python_and_compiled(name):
    pytest.importorskip("jax")
    text, x = PROGRAMS[name]
    program, other = function(text, ours()), theirs()
    wanted = leaves(other["jax"], function(text, other)(other["jnp"].asarray(x)))
    for run in (program, fg.jit(program)):
        found = run(x)
        assert dtypes(found) == [leaf.dtype.name for leaf in wanted]
        for a, b in zip(fg.tree.leaves(found), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_with_numbers_is_native(name):
    text, x = PROGRAMS[name]
    if "grad" not in text:
        assert "in Python" not in fg.jit(function(text, ours())).explain(x)


def test_a_number_that_takes_the_place_of_an_array_has_its_dtype():
    def steps(x):
        return fg.scan(lambda c, r: (1.0, c * r), x[0], x)

    for run in (steps, fg.jit(steps)):
        assert dtypes(run(ROWS)) == ["float32", "float32"]


@pytest.mark.parametrize("transform", [lambda f: f, fg.grad, fg.value_and_grad])
def test_numbers_over_which_a_body_closes(transform):
    """A Python float that is an argument of the program, in the steps and the condition."""

    def f(rate, x=NUMBER):
        c = fg.scan(lambda c, r: (c * rate + r, None), single(0.5), ROWS)[0]
        return fg.while_loop(lambda c: c < rate * 4, lambda c: c + abs(rate) * x, c)

    found, wanted = fg.jit(transform(f))(0.5), transform(f)(0.5)
    assert dtypes(found) == dtypes(wanted)
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_the_mapped_table_is_read_at_the_index():
    table = np.arange(6.0).astype(single)

    def f(x):
        return fg.fori_loop(0, 5, lambda i, c: c + fnp.take(table, (i + 1) % 6) * i, x)

    assert fg.jit(f)(NUMBER) == f(NUMBER)
    assert dtypes(fg.jit(f)(NUMBER)) == ["float32"]


def test_one_number_after_the_other_becomes_an_array():
    def f(x):
        start = (0.0,) * 6
        return fg.scan(lambda c, r: ((*c[1:], c[5] + r), c[0]), start, x)

    wanted = f(np.tile(ROWS, 3))
    found = fg.jit(f)(np.tile(ROWS, 3))
    assert dtypes(found) == dtypes(wanted) == ["float32"] * 7
    np.testing.assert_array_equal(found[1], wanted[1])
