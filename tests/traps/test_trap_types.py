"""Shapes, dtypes and kinds of numbers.

The numbers are those of the table of traps.
"""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp


@pytest.mark.parametrize(
    "x",
    [
        np.ones((1, 3)),
        np.array(2.0),
        np.ones((0, 3)),
        np.ones((2, 6))[::-1, ::-2],
        np.asfortranarray(np.ones((2, 3))),
        np.ones((2, 3), ">f8"),
        np.ones((2, 1, 3), np.float32),
    ],
    ids=["one", "0-d", "empty", "strides", "fortran", "big-endian", "float32"],
)
def test_trap_20_layouts(x):
    cubes = np.ones((4, 1, 1, 1), np.float32)
    g = fg.grad(lambda x: fnp.sum(x * np.ones(3, np.float32) + cubes))(x)
    assert np.shape(g) == np.shape(x)
    assert g.dtype == x.dtype
    if x.size:
        np.testing.assert_allclose(g, 4.0 * 3 / (x.shape[-1] if x.ndim else 1))


@pytest.mark.parametrize("x", [3, True, np.arange(3), {"a": 1}])
def test_trap_21_integers(x):
    with pytest.raises(TypeError, match=r"has no derivative; pass a floating point value"):
        fg.grad(lambda x: 1.0)(x)


def test_trap_22_promotion():
    x = np.ones(3, np.float32)
    for f in (
        lambda s: fnp.sum((s * 2.0) * x),
        lambda s: fnp.sum((s + 1) ** 2 / 3.0 * x),
        lambda s: fnp.sum(fnp.sin(s) * x),
        lambda s: fnp.sum(np.float64(2.0) * s * x),
        lambda s: fnp.sum(abs(-s) * x.astype(np.float16)),
    ):
        value, gradient = fg.value_and_grad(f)(2.0)
        assert type(value) is type(f(2.0))
        assert value == f(2.0)
        assert gradient.dtype == np.float64
    for dtype in (np.float16, np.float32, np.float64):
        gradient = fg.grad(lambda x: fnp.sum(x * np.arange(3) * np.float64(1.5)))(np.ones(3, dtype))
        assert gradient.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4", ">f8"])
def test_trap_22_the_cotangent_has_the_dtype_of_its_input(dtype):
    x = np.ones(3, dtype)
    for f in (lambda x: np.sum(x * 2.0), lambda x: np.sum(np.sin(x) * np.float64(2.0))):
        value, gradient = fg.value_and_grad(f)(x)
        assert value == f(x)
        assert value.dtype == f(x).dtype
        assert gradient.dtype == x.dtype


def test_trap_24_complex_numbers_have_one_convention():
    """The gradient of a real function is the conjugate of its direction of ascent, as in JAX."""
    z = 1.5 - 0.7j
    for way in (fg.grad, lambda f: fg.jit(fg.grad(f))):
        assert way(lambda z: np.abs(z) ** 2)(z) == pytest.approx(2 * np.conj(z))
        assert way(lambda z: np.real(z * z))(z) == pytest.approx(2 * z)
        assert way(lambda z: np.imag(np.exp(z)))(z) == pytest.approx(-1j * np.exp(z))
    moved = fg.jvp(np.exp, (z,), (2j,))[1]
    assert moved == pytest.approx(2j * np.exp(z))
    torch = pytest.importorskip("funcgrad.torch")
    t = torch.tensor(z, requires_grad=True)
    (t.abs() ** 2).backward()
    assert complex(t.grad) == pytest.approx(2 * z)


@pytest.mark.parametrize("n", [3, 4, 5, 8])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_trap_25_fourier_transforms(n, norm):
    """Against the matrices that they are, also where they pad, cut off and double."""
    x = np.array([0.3, -1.0, 2.0, 0.7])
    transforms = [
        lambda x: np.fft.fft(x, n, norm=norm),
        lambda x: np.fft.ifft(x, n, norm=norm),
        lambda x: np.fft.rfft(x, n, norm=norm),
        lambda x: np.fft.irfft(x, n, norm=norm),
        lambda x: np.fft.hfft(x, n, norm=norm),
        lambda x: np.fft.fft(np.stack([x, x * x]), n, axis=0, norm=norm),
    ]
    for f in transforms:
        g = lambda x, f=f: np.concatenate([f(x).real.ravel(), f(x).imag.ravel()])
        columns = [(g(x + h) - g(x - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
        for way in (fg.jacrev, fg.jacfwd, lambda f: fg.jit(fg.jacrev(f))):
            np.testing.assert_allclose(way(g)(x), np.stack(columns, -1), atol=1e-8)
