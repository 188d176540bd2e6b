"""Random programs that print every value: the same lines in every transform, the same values.

The programs are those of `test_random_programs`, with writes, views and transforms inside.
"""

import contextlib
import io
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from strategies import backend, derandomized, programs
from test_random_programs import SEEDS, Traced, copying, leaves, point, same, weighed

import funcgrad as fg
import funcgrad.numpy as fnp


def note(v):
    fg.debug.print("{}", v)
    return v


def lines(f, *args):
    """What a call returns, and the lines that it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), np.errstate(all="ignore"):
        found = f(*args)
    return found, out.getvalue().splitlines()


def printing(program):
    """The program without prints, and with a print of every value that it computes."""
    return (program.function(fnp, Traced, float), program.function(fnp, Traced, float, note))


@derandomized(60)
@given(programs(), SEEDS)
def test_prints_change_no_value_and_come_in_every_transform(program, seed):
    x, t, _ = point(program, seed)
    plain, shown = (copying(f) for f in printing(program))
    with warnings.catch_warnings(), backend("interpreter"):
        warnings.simplefilter("ignore")
        with np.errstate(all="ignore"):
            value = plain(x)
        assume(all(np.all(np.isfinite(leaf)) for leaf in leaves(value)))
        found, eager = lines(shown, x)
        same(found, value)
        staged = fg.jit(shown)
        for _ in range(2):
            assert lines(staged, x)[1] == eager
        assert lines(fg.value_and_grad(weighed(shown)), x)[1] == eager
        assert lines(fg.jit(fg.value_and_grad(weighed(shown))), x)[1] == eager
        assert lines(fg.jvp, weighed(shown), (x,), (t,))[1] == eager
        mapped = lines(fg.vmap(shown), x[None])[1]
        assert lines(fg.jit(fg.vmap(shown)), x[None])[1] == mapped


@derandomized(24)
@given(programs(), SEEDS)
def test_prints_change_no_compiled_value(program, seed):
    x, _, _ = point(program, seed)
    plain, shown = (copying(f) for f in printing(program))
    with warnings.catch_warnings(), backend("llvm"):
        warnings.simplefilter("ignore")
        value = fg.jit(plain)(x)
        assume(all(np.all(np.isfinite(leaf)) for leaf in leaves(value)))
        found, printed = lines(fg.jit(shown), x)
        for a, b in zip(leaves(found), leaves(value), strict=True):
            np.testing.assert_array_equal(a, b)
        assert len(printed) == len(lines(shown, x)[1])


@pytest.mark.parametrize("steps", [3, 60])
def test_found_loops_that_print_every_value(steps):
    def f(x):
        y, total = x, 0.0
        for k in range(steps):
            y = note(np.sin(note(y * x)) + k)
            total = note(total + y)
        return total

    eager = lines(f, 0.3)[1]
    with backend("interpreter"):
        for g in (fg.jit(f), fg.grad(f), fg.jit(fg.grad(f))):
            assert lines(g, 0.3)[1] == eager
