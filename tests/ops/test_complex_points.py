"""Elementwise functions of complex numbers at points that samples do not draw.

Both sides of branch cuts, signed zeros in either part, zero, purely imaginary numbers, infinities
and NaN: the value is NumPy's, both modes agree, and the derivative is the limit from the side that
the zeros tell.
"""

import numpy as np
import pytest
from amount import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.core.forms import UFUNCS

ORDINARY = [0.0, -0.0, 0.3, -0.3, 1.0, -1.0, 2.5, -2.5]
ANY = [*ORDINARY, np.inf, -np.inf, np.nan, 1e-320, 1e300]


def taking(signature):
    known = (u for u in UFUNCS if isinstance(u, np.ufunc))
    return sorted(
        u.__name__ for u in known if any(t == signature for t in u.types) and u is not np.rint
    )  # rint rounds the parts


HOLOMORPHIC = [n for n in taking("D->D") if n != "sign"]
BINARY = [n for n in taking("DD->D") if n not in ("maximum", "minimum", "fmax", "fmin")]
UNARY = [*HOLOMORPHIC, "sign", "absolute", "conjugate", "real", "imag", "angle"]


def numbers(parts):
    return st.builds(complex, st.sampled_from(parts), st.sampled_from(parts))


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype and a.shape == b.shape
    np.testing.assert_array_equal(a.view(float) if a.ndim else [a.real, a.imag],
                                  b.view(float) if b.ndim else [b.real, b.imag])  # fmt: skip


def into(z, step):
    """A number beside `z`, on the side of both cuts that the signs of its zeros tell."""
    return z + step * (np.copysign(1.0, z.real) + 1.3j * np.copysign(1.0, z.imag))


def close(a, b, rtol=1e-4):
    return abs(a - b) <= rtol * max(abs(a), abs(b), 1e-3)


@pytest.mark.parametrize("name", UNARY)
@given(data=st.data())
@settings(max_examples=examples(32), deadline=None)
def test_values_are_numpys_and_the_modes_agree(name, data):
    f = getattr(np, name)
    z, t = data.draw(numbers(ANY)), data.draw(numbers([0.5, -1.0, 2.0]))
    with np.errstate(all="ignore"):
        y, moved = fg.jvp(f, (z,), (t,))
        again, pull = fg.vjp(f, z)
        wanted = f(np.complex128(z))
        g = 1.0 if np.isrealobj(wanted) else data.draw(numbers([0.5, -1.0, 2.0]))
        (back,) = pull(np.asarray(wanted).dtype.type(g))
        same(y, wanted)
        same(again, wanted)
        assume(np.isfinite(back) and np.isfinite(moved))
        one, other = np.real(back * t), np.real(g * moved)
        assert abs(one - other) <= 1e-12 * (abs(back) * abs(t) + abs(moved))


@pytest.mark.parametrize("name", HOLOMORPHIC)
@given(z=numbers(ORDINARY))
@settings(max_examples=examples(40), deadline=None)
def test_derivatives_are_limits_from_the_side_that_the_zeros_tell(name, z):
    f = getattr(np, name)
    with np.errstate(all="ignore"):
        here = fg.grad(f, holomorphic=True)(z)
        assume(np.isfinite(here) and np.isfinite(f(z)))
        beside = fg.grad(f, holomorphic=True)(into(z, 1e-7))
        assume(close(beside, fg.grad(f, holomorphic=True)(into(z, 2e-7))))  # no pole, no zero
        assert close(here, beside)
        second = fg.grad(fg.grad(f, holomorphic=True), holomorphic=True)
        assume(np.isfinite(second(z)) and close(second(into(z, 1e-7)), second(into(z, 2e-7))))
        assert close(second(z), second(into(z, 1e-7)), 1e-3)


@pytest.mark.parametrize("name", HOLOMORPHIC)
@given(z=numbers([0.3, -0.7, 1.4, -2.1]))
@settings(max_examples=examples(16), deadline=None)
def test_derivatives_are_those_of_the_values(name, z):
    f = getattr(np, name)
    df = fg.grad(f, holomorphic=True)(z)
    for unit in (1.0, 1.0j):
        step = 1e-5 * unit
        assert close(df, (f(z + step) - f(z - step)) / (2 * step), 1e-6)


@pytest.mark.parametrize("name", BINARY)
@given(data=st.data())
@settings(max_examples=examples(32), deadline=None)
def test_functions_of_two_numbers(name, data):
    f = getattr(np, name)
    z, w = data.draw(numbers(ANY)), data.draw(numbers(ANY))
    t, s, g = (data.draw(numbers([0.5, -1.0, 2.0])) for _ in range(3))
    with np.errstate(all="ignore"):
        wanted = f(np.complex128(z), np.complex128(w))
        y, moved = fg.jvp(f, (z, w), (t, s))
        same(y, wanted)
        back = fg.vjp(f, z, w)[1](np.complex128(g))
        assume(np.all(np.isfinite([*back, moved])))
        one, other = np.real(back[0] * t + back[1] * s), np.real(g * moved)
        assert abs(one - other) <= 1e-10 * (abs(back[0] * t) + abs(back[1] * s) + abs(g * moved))


@pytest.mark.parametrize("name", BINARY)
@given(z=numbers([0.3, -0.7, 1.4, -2.1]), w=numbers([0.3, -0.7, 1.4, -1.1]))
@settings(max_examples=examples(16), deadline=None)
def test_derivatives_of_functions_of_two_numbers_are_those_of_the_values(name, z, w):
    f = getattr(np, name)
    found = fg.grad(f, (0, 1), holomorphic=True)(z, w)
    for unit in (1.0, 1.0j):
        step = 1e-5 * unit
        assert close(found[0], (f(z + step, w) - f(z - step, w)) / (2 * step), 1e-6)
        assert close(found[1], (f(z, w + step) - f(z, w - step)) / (2 * step), 1e-6)


@pytest.mark.parametrize("f, z, wanted", [
    (np.arcsin, complex(2.0, 0.0), 1j / np.sqrt(3)),
    (np.arcsin, complex(2.0, -0.0), -1j / np.sqrt(3)),
    (np.arcsin, complex(-2.0, -0.0), 1j / np.sqrt(3)),
    (np.arccos, complex(2.0, 0.0), -1j / np.sqrt(3)),
    (np.arccosh, complex(-2.0, 0.0), -1 / np.sqrt(3)),
    (np.arccosh, complex(-2.0, -0.0), -1 / np.sqrt(3)),
    (np.arccosh, complex(0.5, -0.0), 1j / np.sqrt(0.75)),
    (np.arcsinh, complex(-0.0, 2.0), 1j / np.sqrt(3)),
    (np.arcsinh, complex(0.0, 2.0), -1j / np.sqrt(3)),
    (np.sqrt, complex(-4.0, -0.0), 0.25j),
    (np.sqrt, complex(-4.0, 0.0), -0.25j),
], ids=str)  # fmt: skip
def test_both_sides_of_branch_cuts(f, z, wanted):
    np.testing.assert_allclose(fg.grad(f, holomorphic=True)(z), wanted, rtol=1e-14)
    moved = fg.jvp(f, (np.array([z]),), (np.ones(1, complex),))[1]
    np.testing.assert_allclose(moved[0], wanted, rtol=1e-14)
