"""The vector mathematics against mpmath, NumPy and SciPy, in every width and on both code paths."""

import functools

import mpmath
import numpy as np
import pytest
import scipy.special

from benchmarks.vector_loops import ELEMENTS, compile_loops
from funcgrad.compile.llvm import target
from funcgrad.compile.llvm.mathematics import ARITY, FUNCTIONS

HOST = target.host()
PATHS = {"host": HOST, "generic": target.without_avx512(HOST)}
WIDTHS = {"scalar": 0, "native": 1, "twice": 2}
BOUNDS = {"tanh": 2.5, "sigmoid": 2.5}  # in units of the last place; 2 for the others

NUMPY_NAMES = {}
REFERENCES = {
    "sigmoid": scipy.special.expit,
    "erf": scipy.special.erf,
}
EXACT = {
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
}
RANGES = {
    "exp": [(-745, 710), (-1, 1)],
    "expm1": [(-40, 710), (-1, 1), (-1e-8, 1e-8)],
    "tanh": [(-20, 20), (-1, 1), (-1e-8, 1e-8)],
    "sigmoid": [(-745, 40), (-1, 1)],
    "log": [(0, 1e300), (0, 3), (0.98, 1.02)],
    "log1p": [(-1, 1e300), (-1, 3), (-1e-5, 1e-5)],
    "sin": [(-1e5, 1e5), (-4, 4), (-1e-5, 1e-5)],
    "cos": [(-1e5, 1e5), (-4, 4), (-1e-5, 1e-5)],
    "erf": [(-6, 6), (-1.1, 1.1), (-1e-8, 1e-8)],
    "sqrt": [(0, 1e300), (0, 3)],
}
PER_RANGE = 300


def reference(name):
    return REFERENCES.get(name) or getattr(np, NUMPY_NAMES.get(name, name))


@functools.cache
def loops(element, width, path):
    machine = PATHS[path]
    bits = machine.vector_bits
    lanes = max(1, WIDTHS[width] * bits // (64 if element == "double" else 32))
    return compile_loops(list(FUNCTIONS), element, lanes, machine)


@functools.cache
def points(name, element):
    """Operands in the ranges, and the exact results rounded to what NumPy can hold best."""
    dtype = ELEMENTS[element]
    generator = np.random.default_rng(17)
    top = float(np.finfo(dtype).max)
    x = np.concatenate(
        [generator.uniform(a, min(b, top), PER_RANGE).astype(dtype) for a, b in RANGES[name]]
    )
    exact = EXACT.get(name) or getattr(mpmath, name)
    with mpmath.workprec(120):
        values = [exact(mpmath.mpf(float(v))) for v in x]
        heads = np.array([float(v) for v in values])
        tails = np.array([float(v - mpmath.mpf(h)) if np.isfinite(h) else 0.0
                          for v, h in zip(values, heads)])  # fmt: skip
    return x, heads, tails


def ulps(got, heads, tails):
    """The distance of `got` from heads + tails in units of the last place of its dtype."""
    with np.errstate(all="ignore"):
        rounded = heads.astype(got.dtype)
        distance = np.abs((got.astype(np.float64) - heads) - tails)
        error = distance / np.spacing(np.abs(rounded)).astype(np.float64)
    return np.where((got == rounded) & ~np.isfinite(rounded), 0.0, error)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_is_within_the_bound(name, element, width, path):
    x, heads, tails = points(name, element)
    got = loops(element, width, path)[name](x)
    error = ulps(got, heads, tails)
    worst = np.argmax(error)
    assert error[worst] <= BOUNDS.get(name, 2.0), (
        f"{name}({float(x[worst])!r}) = {got[worst]!r}: {error[worst]} ulp"
    )


def special(dtype):
    info = np.finfo(dtype)
    positive = [0.0, info.smallest_subnormal, info.tiny, info.eps, 0.5, 1.0, 2.0, 3.0, np.inf]
    return np.array([s * v for v in [*positive, float(info.max) / 4] for s in (1, -1)] + [np.nan],
                    dtype)  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("name", [f for f in FUNCTIONS if ARITY[f] == 1])
def test_special_values_are_those_of_numpy_and_scipy(name, element, width, path):
    x = special(ELEMENTS[element])
    if name in ("sin", "cos"):
        x = x[(np.abs(x) < 1e5) | ~np.isfinite(x)]
    with np.errstate(all="ignore"):
        expected = reference(name)(x.astype(np.float64)).astype(x.dtype)
    got = loops(element, width, path)[name](x)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    keep = ~np.isnan(expected)
    got, expected, x = got[keep], expected[keep], x[keep]
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected), err_msg=str(x))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(expected), err_msg=str(x))
    finite = np.isfinite(expected)
    np.testing.assert_array_max_ulp(got[finite], expected[finite], 3)
