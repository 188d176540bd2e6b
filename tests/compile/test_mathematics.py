"""The vector mathematics against mpmath, NumPy and SciPy, in every width and on both code paths."""

import functools

import numpy as np
import pytest

from benchmarks.references import EXACT, exact, operands, reference, ulps
from benchmarks.vector_loops import ELEMENTS, compile_loops
from funcgrad.compile.llvm import target
from funcgrad.compile.llvm.mathematics import ARITY, FUNCTIONS

HOST = target.host()
PATHS = {"host": HOST, "generic": target.without_avx512(HOST)}
WIDTHS = {"scalar": 0, "native": 1, "twice": 2}
BOUND = 2.0  # in units of the last place
COUNT = 60  # operands in each range

every_code = pytest.mark.parametrize(
    ("element", "width", "path"),
    [(e, w, p) for e in ELEMENTS for w in WIDTHS for p in PATHS if (w, p) != ("scalar", "generic")],
)


@functools.cache
def loops(element, width, path):
    machine = PATHS[path]
    bits = 64 if element == "double" else 32
    lanes = max(1, WIDTHS[width] * machine.vector_bits // bits)
    return compile_loops(list(FUNCTIONS), element, lanes, machine)


@every_code
@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_is_within_the_bound(name, element, width, path):
    points = operands(name, element, COUNT)
    got = loops(element, width, path)[name](*points)
    error = ulps(got, exact(name, element, COUNT))
    worst = int(np.argmax(error))
    at = ", ".join(repr(float(x[worst])) for x in points)
    assert error[worst] <= BOUND, f"{name}({at}) = {got[worst]!r}: {error[worst]} ulp"


# Negative arguments of lgamma and digamma: the terms of the reflection cancel at the zeros between
# the integers, and the error is measured by 1 where the result is less.
@pytest.mark.parametrize("name", ["lgamma", "digamma"])
@pytest.mark.parametrize("path", PATHS)
def test_reflected_gamma_functions(name, path):
    x = -np.random.default_rng(3).uniform(0.0, 12.0, 500)
    got = loops("double", "native", path)[name](x)
    expected = np.array([float(EXACT[name](v)) for v in x.tolist()])
    error = np.abs(got - expected) / np.spacing(np.maximum(np.abs(expected), 1.0))
    worst = int(np.argmax(error))
    assert error[worst] <= 8, f"{name}({x[worst]!r}): {error[worst]}"


def special(dtype):
    info = np.finfo(dtype)
    positive = [0.0, info.smallest_subnormal, info.tiny, info.eps, 0.5, 1.0, 2.0, 3.0, 1e3, 1e10,
                float(info.max) / 4, info.max, np.inf]  # fmt: skip
    return np.array([s * v for v in positive for s in (1, -1)] + [np.nan], dtype)


def assert_agree(name, got, operands_, tolerance):
    """NaN, infinities and the signs of zeros as the reference has them, the rest to `tolerance`."""
    with np.errstate(all="ignore"):
        expected = reference(name)(*(x.astype(np.float64) for x in operands_)).astype(got.dtype)
    where = [f"{name}{row}" for row in zip(*(x.tolist() for x in operands_))]
    at = lambda mask: [w for w, m in zip(where, mask) if m][:5]
    nan = np.isnan(expected)
    assert not (wrong := np.isnan(got) != nan).any(), at(wrong)
    wrong = ~nan & (np.isinf(got) != np.isinf(expected))
    if wrong.any():  # next to the largest number a last place decides
        big = float(np.finfo(got.dtype).max)
        wrong &= np.minimum(np.abs(got), np.abs(expected)) < big * (1 - 1e-6)
    assert not wrong.any(), at(wrong)
    with np.errstate(all="ignore"):
        spacing = np.spacing(np.abs(expected))
        far = np.abs(got.astype(np.float64) - expected) > tolerance * spacing.astype(np.float64)
    wrong = np.isfinite(expected) & np.isfinite(got) & far
    assert not wrong.any(), at(wrong)
    wrong = ~nan & (np.signbit(got) != np.signbit(expected)) & ((got == 0) | (expected == 0))
    assert not wrong.any(), at(wrong)


@every_code
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_are_those_of_numpy_and_scipy(name, element, width, path):
    x = special(ELEMENTS[element])
    if name == "lgamma":  # SciPy's is infinite at denormals; log(1/x) is right
        x = x[(x == 0) | (np.abs(x) >= np.finfo(x.dtype).tiny)]
    points = [x] if ARITY[name] == 1 else [v.ravel() for v in np.meshgrid(x, x)]
    got = loops(element, width, path)[name](*points)
    assert_agree(name, got, points, 4)
