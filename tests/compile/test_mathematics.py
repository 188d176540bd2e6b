"""The vector mathematics against mpmath, NumPy and SciPy, in every width and on both code paths."""

import functools
import math
import re

import mpmath
import numpy as np
import pytest
from amount import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import coefficients
from benchmarks.references import EXACT, exact, operands, reference, ulps
from benchmarks.vector_loops import ELEMENTS, compile_loops
from funcgrad.compile.llvm import target
from funcgrad.compile.llvm.mathematics import ARITY, FUNCTIONS, define
from funcgrad.compile.llvm.mathematics import coefficients as committed

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


# The doubles and the single nearest to a multiple of pi/2 (Muller, Elementary Functions, 2006).
NEAREST = {
    "double": [math.ldexp(6381956970095103, 797), math.ldexp(5319372648326541, 63), 2.0**1000],
    "float": [math.ldexp(16367173, 72), 2.0**120, 1.5e5],
}


@every_code
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_arguments_next_to_a_multiple_of_half_pi(name, element, width, path):
    x = np.array(NEAREST[element], ELEMENTS[element])
    x = np.concatenate([x, -x, x[::-1]])
    got = loops(element, width, path)[name](x)
    with mpmath.workprec(1400):
        for g, v in zip(got.tolist(), x.tolist()):
            value = EXACT[name](mpmath.mpf(v))
            error = abs(mpmath.mpf(g) - value) / float(np.spacing(abs(x.dtype.type(float(value)))))
            assert error <= BOUND, f"{name}({v!r}) = {g!r}: {float(error)} ulp"


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_numbers_by_themselves_have_the_bits_of_vectors(name, element):
    """Where no multiple of pi/2 is to be subtracted, a single number takes a shorter way."""
    dtype = ELEMENTS[element]
    edge = np.nextafter(dtype(0.785), dtype(1))
    x = np.concatenate([operands(name, element, COUNT)[0], [0.0, -0.0, 0.785, edge, np.nan]])
    turns = np.concatenate([np.arange(1, 41), 2.0 ** np.arange(6, 44) + 1]) * (np.pi / 2)
    turns = turns.astype(dtype)
    beside = [np.nextafter(turns, dtype(end)) for end in (0, np.inf)]
    x = np.concatenate([x, turns, *beside, NEAREST[element], [np.finfo(dtype).max, np.inf]])
    x = np.concatenate([x, -x, np.linspace(-2, 2, 4001)]).astype(dtype)
    alone, together = (loops(element, width, "host")[name](x) for width in ("scalar", "native"))
    integer = f"i{x.itemsize}"
    np.testing.assert_array_equal(alone.view(integer), together.view(integer))


@pytest.mark.parametrize(("element", "most"), [("double", 19), ("float", 13)])
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_vectors_do_not_pay_for_the_shorter_chain_of_single_numbers(name, element, most):
    """Nobody waits for the chain of a vector: what it takes is the number of its operations."""
    (text,) = (t for n, t in define(name, element, 8, HOST).definitions.items() if f".{name}." in n)
    found = re.findall(r"= (?:fmul|fadd|fsub|xor)\b|llvm\.fma\b|llvm\.fmuladd\b", text)
    assert 0 < len(found) <= most, found


def exact_cases(dtype):
    """Operands with a result that is a number of few digits."""
    info = np.finfo(dtype)
    whole = np.arange(-20, 21, dtype=dtype)
    powers = np.arange(info.minexp, info.maxexp)
    tens = np.arange(0, 23 if dtype is np.float64 else 11)
    base, exponent = (v.ravel() for v in np.meshgrid(whole, np.arange(4, dtype=dtype)))
    yield "exp2", (powers,), np.ldexp(dtype(1), powers)
    yield "log2", (np.ldexp(dtype(1), powers),), powers
    yield "log10", (dtype(10) ** tens,), tens
    yield "cbrt", (whole**3,), whole
    yield "power", (base, exponent), base**exponent
    yield "hypot", ([3, 5, 8, 20], [4, 12, 15, 21]), [5, 13, 17, 29]
    for name in ("exp", "cos", "cosh"):
        yield name, ([0.0],), [1]
    for name in ("log", "arccosh", "lgamma"):
        yield name, ([1.0],), [0]


@every_code
def test_exact_results_are_exact(element, width, path):
    dtype = ELEMENTS[element]
    for name, points, expected in exact_cases(dtype):
        got = loops(element, width, path)[name](*(np.array(x, dtype) for x in points))
        np.testing.assert_array_equal(got, np.array(expected, dtype), err_msg=name)


# Negative arguments of lgamma and digamma: the terms of the reflection cancel at the zeros between
# the integers, and the error is measured by 1 where the result is less.
@pytest.mark.parametrize("name", ["lgamma", "digamma"])
@pytest.mark.parametrize("path", PATHS)
def test_reflected_gamma_functions(name, path):
    x = -np.random.default_rng(3).uniform(0.0, 12.0, 500)
    got = loops("double", "native", path)[name](x)
    with mpmath.workprec(100):
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
    if name == "lgamma":  # SciPy's is infinite at denormals; log(1/x) is right, as C's inf at -inf
        x = x[((x == 0) | (np.abs(x) >= np.finfo(x.dtype).tiny)) & ~np.isneginf(x)]
        assert loops(element, width, path)[name](np.full(8, -np.inf, x.dtype))[0] == np.inf
    points = [x] if ARITY[name] == 1 else [v.ravel() for v in np.meshgrid(x, x)]
    got = loops(element, width, path)[name](*points)
    assert_agree(name, got, points, 4)


@settings(max_examples=examples(25), deadline=None)
@given(st.data())
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("element", ELEMENTS)
def test_any_operands(element, path, data):
    """Whatever the bits: special results as NumPy has them, the others against mpmath."""
    dtype = ELEMENTS[element]
    number = st.floats(width=32 if element == "float" else 64)
    x, y = (np.array(data.draw(st.lists(number, min_size=6, max_size=6)), dtype) for _ in "xy")
    for name, loop in loops(element, "native", path).items():
        points = (x, y)[: ARITY[name]]
        if name in ("lgamma", "digamma"):
            points = (np.abs(x),)
        got = loop(*points)
        with np.errstate(all="ignore"):
            expected = reference(name)(*(p.astype(np.float64) for p in points)).astype(dtype)
        for row in zip(got, expected, *points):
            check_one(name, dtype, *row)


def check_one(name, dtype, got, expected, *operands):
    where = f"{name}{tuple(map(float, operands))} = {got!r}, not {expected!r}"
    info = np.finfo(dtype)
    if np.isnan(expected):
        assert np.isnan(got), where
    elif info.tiny <= abs(expected) < info.max and np.isfinite(operands).all() and all(operands):
        with mpmath.workprec(160):
            value = EXACT[name](*(mpmath.mpf(float(x)) for x in operands))
            size = max(*map(abs, operands), abs(expected)) if name == "logaddexp" else expected
            error = abs(mpmath.mpf(float(got)) - value) / float(np.spacing(abs(size)))
        assert error <= BOUND, f"{where}: {float(error)} ulp"
    elif name == "lgamma" and 0 < operands[0] < info.tiny:
        assert got == pytest.approx(-np.log(float(operands[0])))  # where SciPy's is infinite
    else:  # at the ends of the range the last place decides between 0 and not, infinite and not
        end = abs(expected) < info.tiny and abs(got) <= abs(expected) + 2 * info.smallest_subnormal
        end |= np.isinf(expected) and np.isfinite(operands).all() and abs(got) >= info.max
        if expected == 0 and 0 < abs(got) < info.tiny and np.isfinite(operands).all():
            with mpmath.workprec(160):  # SciPy's sigmoid is 0 where its exp is infinite
                value = EXACT[name](*(mpmath.mpf(float(x)) for x in operands))
                end |= abs(mpmath.mpf(float(got)) - value) <= 2 * info.smallest_subnormal
        near = np.isfinite(expected) and abs(got - expected) <= 2 * np.spacing(abs(expected))
        assert got == expected or end or near, where
        assert np.signbit(got) == np.signbit(expected), where


@every_code
def test_no_function_of_the_c_library_is_called(element, width, path):
    machine = PATHS[path]
    bits = 64 if element == "double" else 32
    lanes = max(1, WIDTHS[width] * machine.vector_bits // bits)
    definitions, declarations = {}, {}
    for name in FUNCTIONS:
        body = define(name, element, lanes, machine)
        definitions |= body.definitions
        declarations |= body.declarations
    llvm = target.binding()
    header = f'target datalayout = "{machine.data_layout}"\ntarget triple = "{machine.triple}"\n'
    module = llvm.parse_assembly(header + "\n".join([*definitions.values(), *declarations]))
    module.verify()
    text = target.machine(machine).emit_assembly(module)
    called = set(re.findall(r"^\s+(?:callq?|jmp|bl)\s+\*?\"?_?([A-Za-z_][\w.]*)", text, re.M))
    assert {c for c in called if not c.startswith("funcgrad.")} == set()


def test_the_coefficients_are_those_of_the_script():
    with mpmath.workdps(50):
        tasks, constants = coefficients.tasks(), coefficients.constants()
        for name in ("EXP2", "SIN", "LOG_QUOTIENT", "CBRT"):
            again, _ = coefficients.fit(tasks[name]["float"], "float")
            assert tuple(again) == getattr(committed, name)["float"]
    for name, elements in constants.items():
        for element, values in elements.items():
            assert tuple(values) == getattr(committed, name)[element], name
    assert {*tasks, *constants, "TWO_OVER_PI_BITS"} == set(committed.__all__)
