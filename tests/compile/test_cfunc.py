"""C function pointers of staged functions, called by ctypes, SciPy and Numba."""

import ctypes

import numba
import numpy as np
import pytest
import scipy.integrate
import scipy.ndimage
from scipy import LowLevelCallable

import funcgrad as fg

pytestmark = pytest.mark.costly

IMAGE = np.random.default_rng(0).normal(size=(9, 11))


def wave(x, a=2.0):
    return np.sin(a * x) * np.exp(-x)


def test_numbers():
    made = fg.jit(fg.grad(wave)).cfunc("double(double, double)")
    want = fg.grad(wave)(0.3, 1.5)
    assert made.ctypes(0.3, 1.5) == pytest.approx(want, rel=1e-14)
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)
    assert kind(made.address)(0.3, 1.5) == pytest.approx(want, rel=1e-14)
    assert fg.jit(wave).cfunc("double(double)").ctypes(0.3) == pytest.approx(wave(0.3))
    small = fg.jit(lambda x: x * x).cfunc("float(float)")
    assert small.ctypes(1.5) == 2.25
    assert fg.jit(lambda n: n + 1).cfunc("int64_t(int64_t)").ctypes(41) == 42


@pytest.mark.parametrize("signature", ["double(int, double*)", "double(int n, double *x, void *u)"])
def test_quad(signature):
    slope = fg.grad(wave)
    made = fg.jit(slope).cfunc(signature)
    got = scipy.integrate.quad(LowLevelCallable(made.ctypes), 0.0, 1.0, args=(3.0,))[0]
    assert got == pytest.approx(wave(1.0, 3.0) - wave(0.0, 3.0), rel=1e-12)


def test_quad_of_one_number():
    made = fg.jit(fg.grad(np.sin)).cfunc("double(double)")
    got = scipy.integrate.quad(LowLevelCallable(made.ctypes), 0.0, 1.0)[0]
    assert got == pytest.approx(np.sin(1.0), rel=1e-12)


def test_nquad_and_user_data():
    def f(x, y, p):
        return p[0] * np.exp(-x * y) + p[1]

    parameters = np.array([2.0, 0.5])
    made = fg.jit(f).cfunc("double(int, double*, void*)", data=2)
    pointer = ctypes.cast(parameters.ctypes.data, ctypes.c_void_p)
    callable_ = LowLevelCallable(made.ctypes, pointer)
    box = [(0, 1), (0, 2)]
    got = scipy.integrate.nquad(callable_, box)[0]
    want = scipy.integrate.nquad(lambda x, y: f(x, y, parameters), box)[0]
    assert got == pytest.approx(want, rel=1e-12)


def test_one_array_instead_of_numbers():
    made = fg.jit(lambda x: np.sum(x**2)).cfunc("double(int, double*)", vector=True)
    got = scipy.integrate.nquad(LowLevelCallable(made.ctypes), [(0, 1)] * 2)[0]
    assert got == pytest.approx(2 / 3, rel=1e-12)


def test_generic_filter():
    def f(window):
        return np.sum(np.tanh(window)) * window[0]

    made = fg.jit(f).cfunc("int(double*, npy_intp, double*, void*)")
    got = scipy.ndimage.generic_filter(IMAGE, LowLevelCallable(made.ctypes), size=3)
    np.testing.assert_allclose(got, scipy.ndimage.generic_filter(IMAGE, f, size=3), rtol=1e-11)


def test_generic_filter_of_lines():
    made = fg.jit(lambda line: line[1:-1] - line[:-2]).cfunc(
        "int(double*, npy_intp, double*, npy_intp, void*)"
    )

    def f(line, out):
        out[...] = line[1:-1] - line[:-2]

    got = scipy.ndimage.generic_filter1d(IMAGE, LowLevelCallable(made.ctypes), 3)
    np.testing.assert_allclose(got, scipy.ndimage.generic_filter1d(IMAGE, f, 3), rtol=1e-12)


def test_geometric_transform():
    def f(at):
        return at[0] * 0.5 + 0.1 * at[1], at[1] - 0.25

    made = fg.jit(f).cfunc("int(npy_intp*, double*, int, int, void*)")
    got = scipy.ndimage.geometric_transform(IMAGE, LowLevelCallable(made.ctypes))
    np.testing.assert_allclose(got, scipy.ndimage.geometric_transform(IMAGE, f), rtol=1e-12)


@pytest.mark.parametrize("last", ["", ", double*", ", void*"])
def test_differential_equations(last):
    """The signature of numbalsoda and of many C solvers."""

    def lorenz(t, y, p=None):
        s, r, b = (10.0, 28.0, 8 / 3) if p is None else (p[0], p[1], p[2])
        return np.stack([s * (y[1] - y[0]), y[0] * (r - y[2]) - y[1], y[0] * y[1] - b * y[2]])

    given = fg.jit(lorenz if last else lambda t, y: lorenz(t, y))
    made = given.cfunc(f"void(double, double*, double*{last})", size=3, data=3 if last else None)
    y, out, p = np.array([1.0, 2.0, 3.0]), np.zeros(3), np.array([9.0, 20.0, 2.0])
    double = ctypes.POINTER(ctypes.c_double)
    arguments = [y.ctypes.data_as(double), out.ctypes.data_as(double)]
    if last:
        arguments.append(p.ctypes.data_as(double if last == ", double*" else ctypes.c_void_p))
    made.ctypes(0.0, *arguments)
    np.testing.assert_allclose(out, lorenz(0.0, y, p if last else None), rtol=1e-14)


def test_other_signatures_are_written_by_hand():
    gradient = fg.jit(fg.grad(lambda x: np.sum(x**3))).njit
    kind = numba.types.void(numba.types.CPointer(numba.types.float64), numba.types.intc)

    @numba.cfunc(kind)
    def in_place(x, n):
        view = numba.carray(x, (n,))
        view[:] = gradient(view)

    x = np.array([1.0, 2.0])
    in_place.ctypes(x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), 2)
    np.testing.assert_array_equal(x, [3.0, 12.0])


def test_what_goes_wrong_inside():
    """It cannot raise through C: NaN comes out, and SciPy sees the status 0."""

    def f(window):
        return window[np.array([0, 4])][1]

    made = fg.jit(lambda x: x[np.array([1, 2])][1]).cfunc("double(int, double*)", vector=True)
    x = np.array([1.0, 2.0, 3.0])
    pointer = x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    assert made.ctypes(3, pointer) == 3.0
    assert np.isnan(made.ctypes(2, pointer))
    assert made.ctypes(3, pointer) == 3.0
    made = fg.jit(f).cfunc("int(double*, npy_intp, double*, void*)")
    with pytest.raises(RuntimeError):
        scipy.ndimage.generic_filter(IMAGE, LowLevelCallable(made.ctypes), size=2)


@pytest.mark.parametrize(
    "signature, text",
    [
        ("double", "is no signature"),
        ("complex(double)", "is no signature"),
        ("double(quad)", "the parameter 'quad' of"),
        ("double(double**)", "the parameter"),
        ("double(double*, int)", "none of the signatures that are known"),
        ("void(double, double*, double*)", "size="),
    ],
)
def test_signatures_that_are_not_known(signature, text):
    with pytest.raises(ValueError, match=text):
        fg.jit(wave).cfunc(signature)


def test_a_signature_that_does_not_fit_is_named():
    with pytest.raises(ValueError, match=r"takes 2 arguments, the signature has 1"):
        fg.jit(lambda x, y: x * y).cfunc("double(double)")
    by_default = fg.jit(lambda x, y=3.0: x * y).cfunc("double(double)")
    assert by_default.ctypes(2.0) == 6.0
