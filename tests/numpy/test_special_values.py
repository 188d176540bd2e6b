"""Elementwise functions on the grid of the values for which the array API standard has tables.

The tables of special cases of the standard are what NumPy gives (its own suite says so); here every
function has NumPy's bits on the whole grid, eager, within each transform, in all dtypes, and for
every pair of two operands. Under `jit`, where values are those of the vector mathematics, what a
table states exactly (zeros with their signs, infinities, NaN) is the same, and the rest within a
few ulp. Signs of NaN are not compared: neither the standard nor C promises one.
"""

import math

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

POSITIVE = [
    *(0.0, 5e-324, 1e-310, 2.2250738585072014e-308, 1e-300, 1e-8, 0.5, np.nextafter(1, 0), 1.0),
    *(np.nextafter(1, 2), 1.5, 2.0, 2.5, 3.0, math.pi / 4, math.pi / 2, 3 * math.pi / 4, math.pi),
    *(7.5, 88.8, 709.0, 710.0, 745.2, 2.0**31, 2.0**53, 2.0**53 + 2, 2.0**63, 1.4e154, 1e300),
    *(1.7976931348623157e308, math.inf, math.nan),
]
REAL = np.array([s * x for s in (1.0, -1.0) for x in POSITIVE])
PARTS = [0.0, 5e-324, 0.5, 1.0, 2.0, math.pi / 2, 1e154, 1e300, math.inf, math.nan]
COMPLEX = np.array(
    [complex(s * a, t * b) for a in PARTS for b in PARTS for s in (1, -1) for t in (1, -1)]
)
FEW = np.array([complex(s * a, t * b) for a in (0.0, 1.0, 2.5, 1e300, math.inf, math.nan)
                for b in (0.0, 1.0, 2.5, math.inf) for s in (1, -1) for t in (1, -1)])  # fmt: skip
WHOLE = np.array([-7, -2, -1, 0, 1, 2, 3, 64, 127])

UFUNCS = {n for n in dir(np) if isinstance(getattr(np, n), np.ufunc) and hasattr(fnp, n)}
NAMES = sorted(n for n in UFUNCS if getattr(np, n).signature is None and getattr(np, n).nout == 1)
OTHERS = [
    "angle",
    "real",
    "imag",
    "sinc",
    "nan_to_num",
    "round",
    "fix",
    "i0",
    "isposinf",
    "isneginf",
]
CANCELLING = {"logaddexp", "logaddexp2"}  # where both logarithms cancel, to ulp of these
EITHER = {"fmax", "fmin"}  # of 0 and -0 NumPy gives one or the other, by where in an array they lie


def _bits(x):
    return np.ascontiguousarray(x).view(x.real.dtype).reshape(-1)


def same(found, wanted, ulp=0):
    """Equal bits; with `ulp`, of what is neither 0 nor infinite within so many."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind not in "fc":
        np.testing.assert_array_equal(found, wanted)
        return
    a, b = _bits(found), _bits(wanted)
    whole = f"i{a.dtype.itemsize}"
    equal = (a.view(whole) == b.view(whole)) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        close = np.abs(a - b) <= ulp * np.spacing(np.abs(b))
    if ulp:
        equal |= close & (a != 0) & (b != 0) & np.isfinite(a) & np.isfinite(b)
    assert equal.all(), (np.nonzero(~equal)[0], a[~equal], b[~equal])


def operands(count, dtype, order):
    """All values, and for two operands all pairs; of odd length, and with strides."""
    kind = np.dtype(dtype).kind
    with np.errstate(all="ignore"):
        if count == 1:
            x = {"f": REAL, "c": COMPLEX, "i": WHOLE}[kind].astype(dtype)
            return [(x,), (x[:31].copy(),), (x[::2],)]
        x = {"f": REAL, "c": FEW, "i": WHOLE}[kind].astype(dtype)
    pairs = np.repeat(x, len(x)), np.tile(x, len(x))
    return [pairs if order else pairs[::-1]]


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "complex128", "complex64", "int64", "int8"]
)
@pytest.mark.parametrize("name", [*NAMES, *OTHERS])
@pytest.mark.filterwarnings("ignore")
def test_special_values_are_numpys_in_every_mode(name, dtype):
    function, ours = getattr(np, name), getattr(fnp, name)
    ulp = 0 if name in CANCELLING else 4
    for args in operands(getattr(function, "nin", 1), dtype, name < "m"):
        with np.errstate(all="ignore"):
            try:
                wanted = function(*args)
            except (TypeError, ValueError):  # a dtype, or a power, that NumPy refuses
                return
            same(ours(*args), wanted)
            same(fg.vmap(ours)(*args), wanted)
            if np.dtype(dtype).kind in "fc":
                seen = []

                def within(*xs, seen=seen):
                    seen.append(fg.value(ours(*xs)))
                    return fnp.sum(xs[0])

                fg.vjp(within, *args)
                same(seen[0], wanted)
                if wanted.dtype.kind in "fc":
                    tangents = tuple(np.ones_like(x) for x in args)
                    same(fg.jvp(function, args, tangents)[0], wanted)
            if ulp:
                told = ~np.all([x == 0 for x in args], 0) if name in EITHER else ...
                same(fg.jit(ours)(*args)[told], wanted[told], ulp)


@pytest.mark.parametrize("name", [*NAMES, *OTHERS])
@pytest.mark.filterwarnings("ignore")
def test_special_values_of_scalars_are_numpys(name):
    function = getattr(np, name)
    count = getattr(function, "nin", 1)
    few = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.5, math.inf, -math.inf, math.nan])
    points = [(x,) for x in REAL] if count == 1 else [(x, y) for x in few for y in few]
    compiled = fg.jit(function)
    with np.errstate(all="ignore"):
        try:
            wanted = [function(*p) for p in points]
        except TypeError:
            return
        for point, value in zip(points, wanted, strict=True):
            seen = []

            def within(*xs, seen=seen):
                seen.append(fg.value(function(*xs)))
                return xs[0]

            fg.vjp(within, *point)
            same(seen[0], value)
            if name not in CANCELLING | EITHER or any(point):
                same(compiled(*point), value, 4)
