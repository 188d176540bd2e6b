"""Elementwise functions and reductions on drawn shapes, dtypes and memory layouts.

Each property draws a function of one or two arrays and hands it to `check`; see `rule_checks` for
what is checked.
"""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rule_checks import check, wide
from strategies import backend, derandomized

import funcgrad.numpy as fnp
from funcgrad.testing.strategies import (
    COMPLEX,
    GAP,
    REAL,
    arrays,
    axes,
    broadcastable_shapes,
    shapes,
)

ANY, POSITIVE, UNIT, ABOVE = (-0.95, 1.05), (0.4, 2.0), (-0.8, 0.8), (1.3, 2.5)


UNARY = {
    **dict.fromkeys(["sin", "cos", "tan", "arctan", "sinh", "cosh", "tanh", "arcsinh"], ANY),
    **dict.fromkeys(["exp", "exp2", "expm1", "square", "negative", "positive", "conj"], ANY),
    **dict.fromkeys(["log", "log2", "log10", "log1p", "sqrt", "reciprocal"], POSITIVE),
    **dict.fromkeys(["arcsin", "arccos", "arctanh"], UNIT),
    **dict.fromkeys(["arccosh"], ABOVE),
    **dict.fromkeys(["real", "imag", "absolute", "sinc", "nan_to_num", "copy"], POSITIVE),
}
REAL_UNARY = {
    **dict.fromkeys(["cbrt", "fabs", "sign", "deg2rad", "rad2deg"], POSITIVE),
    **dict.fromkeys(["floor", "ceil", "rint", "trunc", "fix"], (0.55, 0.95)),
}
OPERATORS = {
    "-x": lambda x: -x,
    "+x": lambda x: +x,
    "abs(x)": lambda x: abs(x),
    "x ** 2": lambda x: x**2,
    "x ** -1": lambda x: x**-1.0,
    "x ** 3": lambda x: x**3,
    "x ** 0.5": lambda x: x**0.5,
    "2 ** x": lambda x: 2**x,
    "x.conj()": lambda x: x.conj(),
    "1 / x": lambda x: 1 / x,
    "x / 3 * 2": lambda x: (x / 3) * 2,
    "x.astype": lambda x: x.astype(np.float64) if x.dtype.kind == "f" else x,
}


@derandomized(400)
@given(st.data())
def test_unary(data):
    real = data.draw(st.booleans())
    table = {**UNARY, **REAL_UNARY} if real else UNARY
    name = data.draw(st.sampled_from([*table, *OPERATORS]))
    space = data.draw(st.sampled_from([np, fnp]))
    f = OPERATORS[name] if name in OPERATORS else getattr(space, name)
    low, high = table.get(name, POSITIVE)
    x = data.draw(arrays(shapes(), low, high, REAL if real else COMPLEX, avoid=GAP))
    check(f, x)


BINARY = {
    "add": (ANY, ANY),
    "subtract": (ANY, ANY),
    "multiply": (ANY, ANY),
    "divide": (ANY, POSITIVE),
    "power": (POSITIVE, ANY),
}
REAL_BINARY = {
    "float_power": (POSITIVE, ANY),
    "arctan2": (POSITIVE, ANY),
    "hypot": (POSITIVE, ANY),
    "logaddexp": (ANY, ANY),
    "logaddexp2": (ANY, ANY),
    "maximum": ((0.1, 0.5), (0.6, 0.9)),
    "minimum": ((0.1, 0.5), (0.6, 0.9)),
    "fmax": ((0.6, 0.9), (0.1, 0.5)),
    "fmin": ((0.6, 0.9), (0.1, 0.5)),
    "fmod": ((0.3, 0.9), ABOVE),
    "remainder": ((0.3, 0.9), ABOVE),
    "floor_divide": ((0.3, 0.9), ABOVE),
    "copysign": (POSITIVE, POSITIVE),
    "heaviside": (POSITIVE, POSITIVE),
}
SECOND = [2, 3, 2.0, 0.5, True, np.float32(1.5), np.float64(0.7), np.int8(2), np.array(1.5)]


@derandomized(400)
@given(st.data())
def test_binary_of_two_arrays(data):
    """Both operands are differentiated; their dtypes and layouts may differ."""
    real = data.draw(st.booleans())
    table = {**BINARY, **REAL_BINARY} if real else BINARY
    name = data.draw(st.sampled_from(list(table)))
    f = getattr(data.draw(st.sampled_from([np, fnp])), name)
    one, two = data.draw(broadcastable_shapes())
    kinds = REAL if real else COMPLEX + REAL[:2]
    x = data.draw(arrays(one, *table[name][0], kinds, avoid=GAP))
    y = data.draw(arrays(two, *table[name][1], kinds, avoid=GAP))
    check(f, x, y)


@derandomized(400)
@given(st.data())
def test_binary_with_an_untraced_operand(data):
    """The other operand is a Python number, a NumPy scalar or an array of integers."""
    real = data.draw(st.booleans())
    table = {**BINARY, **REAL_BINARY} if real else BINARY
    name = data.draw(st.sampled_from(list(table)))
    f = getattr(data.draw(st.sampled_from([np, fnp])), name)
    one, two = data.draw(broadcastable_shapes())
    x = data.draw(arrays(one, 0.3, 0.9, REAL if real else COMPLEX))
    if data.draw(st.booleans()):
        y = data.draw(st.sampled_from(SECOND))
    else:
        kind = data.draw(st.sampled_from(["i1", "u2", "i8", "f4", ">f8", "?"]))
        y = (2 + np.arange(np.prod(two, dtype=int)).reshape(two) % 3).astype(kind)
    assume(np.all(np.abs(np.asarray(y, float) - np.asarray(x).real.max(initial=0.3)) > GAP))
    order = data.draw(st.booleans())
    if name in ("fmod", "remainder", "floor_divide"):
        order = True
        assume(np.all(np.asarray(y) > 1))
    check((lambda x: f(x, y)) if order else (lambda x: f(y, x)), x)


@derandomized(200)
@given(st.data())
def test_where_and_clip(data):
    one, two = data.draw(broadcastable_shapes())
    x, y = (data.draw(arrays(shape, dtypes=REAL)) for shape in (one, two))
    mask = np.random.default_rng(data.draw(st.integers(0, 99))).random(one) < 0.5
    space = data.draw(st.sampled_from([np, fnp]))
    check(lambda x, y: space.where(mask, x, y), x, y)
    low, high = data.draw(st.sampled_from([(-2, 2), (None, 1.2), (1.1, None), (1.1, 1.2)]))
    check(lambda x: space.clip(x, low, high), x)


# ----------------------------------------------------------------------------- reductions

REDUCTIONS = ["sum", "mean", "prod", "var", "std", "max", "min", "ptp", "median"]


@derandomized(500)
@given(st.data())
def test_reductions(data):
    name = data.draw(st.sampled_from(REDUCTIONS))
    kinds = REAL + COMPLEX if name in ("sum", "mean", "prod", "var", "std") else REAL
    x = data.draw(arrays(shapes(), 0.4, 1.6, kinds))
    keywords = {"axis": data.draw(axes(x.ndim)), "keepdims": data.draw(st.booleans())}
    if name == "median":
        assume(keywords["axis"] != ())
    if name in ("sum", "mean", "prod", "var", "std", "max", "min") and data.draw(st.booleans()):
        rng = np.random.default_rng(data.draw(st.integers(0, 99)))
        extents = x.shape[data.draw(st.integers(0, x.ndim)) :]
        keywords["where"] = rng.random(extents) < 0.7
    if name in ("max", "min", "sum", "prod") and ("where" in keywords or data.draw(st.booleans())):
        keywords["initial"] = {"max": -5.0, "min": 5, "sum": 2, "prod": 1.5}[name]
    if name in ("var", "std") and data.draw(st.booleans()):
        keywords["ddof"] = 1
    space = data.draw(st.sampled_from([np, fnp]))
    f = lambda x: getattr(space, name)(x, **keywords)
    try:
        with np.errstate(all="ignore"):
            f(x)
    except ValueError:  # of no elements
        assume(False)
    check(f, x, smooth=spread_out(name, x, keywords))


def spread_out(name, x, keywords):
    """Whether `std` has a derivative: of one element, or of equal ones, it has none."""
    if name != "std":
        return True
    given = {k: v for k, v in keywords.items() if k in ("axis", "where")}
    with np.errstate(all="ignore"):
        return bool(np.all(np.std(x, **given) > GAP))


@derandomized(200)
@given(st.data())
def test_norms(data):
    space = data.draw(st.sampled_from([np, fnp]))
    kinds = REAL[:2] + COMPLEX
    if data.draw(st.booleans()):
        x = data.draw(arrays(shapes(1, 3, 1), 0.4, 1.6, kinds))
        order = data.draw(st.sampled_from([None, 2, 1, 3, 2.5, np.inf, -np.inf]))
        axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    else:
        x = data.draw(arrays(shapes(2, 3, 1), 0.4, 1.6, kinds))
        order = data.draw(st.sampled_from([None, "fro", 1, np.inf, -1, -np.inf]))
        axis = data.draw(st.sampled_from([(0, 1), (-1, -2), (1, 0)]))
    keep = data.draw(st.booleans())
    f = lambda x: space.linalg.norm(x, order, axis, keepdims=keep)
    check(f, x, smooth=not tied(x, order, axis))


def tied(x, order, axis):
    """Whether two rows or columns have nearly the extreme sum, where a matrix norm has a kink."""
    if np.ndim(axis) == 0 or order not in (1, -1, np.inf, -np.inf):
        return False
    along = axis[0] if abs(order) == 1 else axis[1]
    sums = np.sum(np.abs(wide(x)), axis=along, keepdims=True)
    extreme = np.max if order > 0 else np.min
    near = np.abs(sums - extreme(sums, axis=axis, keepdims=True)) < GAP
    return bool(np.any(np.sum(near, axis=axis) > 1))


@derandomized(200)
@given(st.data())
def test_running_results_and_sorting(data):
    x = data.draw(arrays(shapes(1), 0.4, 1.6, REAL + COMPLEX))
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    names = ["cumsum", "cumprod", "sort", "diff", "flip"]
    name = data.draw(st.sampled_from(names))
    space = data.draw(st.sampled_from([np, fnp]))
    if name == "diff":
        axis = -1 if axis is None else axis
        check(lambda x: space.diff(x, 1, axis), x)
    else:
        check(lambda x: getattr(space, name)(x, axis), x)


PROPERTIES = [
    test_unary,
    test_binary_of_two_arrays,
    test_binary_with_an_untraced_operand,
    test_where_and_clip,
    test_reductions,
    test_norms,
    test_running_results_and_sorting,
]


@pytest.mark.parametrize("test", PROPERTIES, ids=lambda test: test.__name__[5:])
@derandomized(8)
@given(data=st.data())
def test_native_code(test, data):
    with backend("llvm"):
        test.hypothesis.inner_test(data)
