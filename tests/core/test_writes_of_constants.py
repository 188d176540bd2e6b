"""Writing what has no derivative into traced arrays, as ``x //= y`` does."""

import numpy as np
import pytest

import funcgrad as fg

X = np.array([1.3, 2.7, -0.4])


def floor_divide(v):
    v //= 0.4


def floor(v):
    np.floor(v, out=v)


def of_a_view(v):
    part = v[1:]
    part //= 0.4


def round_in_place(v):
    v.round(0, v)


def sign_reversed(v):
    np.sign(v, out=v[::-1])


def seen_by_another_name(v):
    w = v
    v //= 2
    w += 1.0


PROGRAMS = [floor_divide, floor, of_a_view, round_in_place, sign_reversed, seen_by_another_name]
TRANSFORMS = {
    "vjp": lambda f: fg.vjp(f, X)[0],
    "jvp": lambda f: fg.jvp(f, (X,), (X,))[0],
    "jit": lambda f: fg.jit(f)(X),
    "vmap": lambda f: fg.vmap(f)(X[None])[0],
    "nested": lambda f: fg.vjp(lambda x: fg.vjp(f, x)[0], X)[0],
    "jit of vmap of vjp": lambda f: fg.jit(fg.vmap(lambda x: fg.vjp(f, x)[0]))(X[None])[0],
}


def written(program):
    def f(x):
        v = x * 1.0
        program(v)
        return v * v

    return f


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_values(program, transform):
    np.testing.assert_array_equal(TRANSFORMS[transform](written(program)), written(program)(X))


@pytest.mark.parametrize("jacobian", [fg.jacrev, fg.jacfwd, lambda f: fg.jit(fg.jacrev(f))])
@pytest.mark.parametrize("program", PROGRAMS)
def test_no_derivative_passes(program, jacobian):
    want = np.zeros((3, 3))
    if program is of_a_view:
        want[0, 0] = 2 * X[0]
    np.testing.assert_array_equal(jacobian(written(program))(X), want)
