"""`scipy.fft` on traced values: SciPy's bits, derivatives, transforms, and errors.

`test_rules` has both modes, second order and batching of each record.
"""

import numpy as np
import pytest
import scipy.fft as sp

import funcgrad as fg
import funcgrad.scipy.fft as ours
from funcgrad.testing import check_grads

RNG = np.random.default_rng(3)
X = RNG.normal(size=(4, 5))
Z = X + 1j * RNG.normal(size=(4, 5))
FOURIER = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
WAVES = ["dct", "idct", "dst", "idst"]


def operand(name):
    return X if name[0] == "r" or name[:2] == "ih" or name.strip("in") in ("dct", "dst") else Z


def same(found, wanted):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


CALLS = [
    *((n, k) for n in FOURIER for k in ({}, {"n": 7, "axis": 0, "norm": "ortho"}, {"n": 3})),
    *((f"{n}2", {"norm": "forward"}) for n in FOURIER),
    *((f"{n}n", k) for n in FOURIER for k in ({"s": (3, 6)}, {"axes": (0,), "norm": "ortho"})),
    *((n, {"type": t, "norm": o}) for n in WAVES for t in (1, 2, 3, 4) for o in ("ortho", None)),
    *((n, {"n": 4, "axis": 0, "norm": "ortho", "orthogonalize": False}) for n in WAVES),
    *((f"{n}n", {"type": 3, "s": (3, 6), "norm": "forward"}) for n in WAVES),
]


@pytest.mark.parametrize(("name", "keywords"), CALLS)
def test_values_are_scipys_in_every_transform(name, keywords):
    x = operand(name)
    wanted = getattr(sp, name)(x, **keywords)

    def f(x):
        return getattr(ours, name)(x, **keywords)

    same(f(x), wanted)
    same(fg.vjp(f, x)[0], wanted)
    same(fg.jvp(f, (x,), (x,))[1], wanted)  # linear
    same(fg.jit(f)(x), wanted)
    same(fg.vmap(f)(np.stack([x, 2 * x])), [wanted, 2 * wanted])


@pytest.mark.parametrize(("name", "keywords"), CALLS[::4])
def test_derivatives(name, keywords):
    check_grads(lambda x: getattr(ours, name)(x, **keywords), (operand(name),), order=2)


def test_a_complex_cosine_transform_is_that_of_its_parts():
    for norm in ("backward", "ortho"):
        same(fg.vjp(lambda z, norm=norm: ours.dct(z, norm=norm), Z)[0], sp.dct(Z, norm=norm))
        check_grads(lambda z, norm=norm: ours.dstn(z, norm=norm), (Z,), order=1)


def test_small_numbers_and_integers():
    for dtype in (np.float32, np.complex64):
        x = operand("fft").astype(dtype) if dtype is np.complex64 else X.astype(dtype)
        same(fg.vjp(ours.fft, x)[0], sp.fft(x))
        assert fg.vjp(ours.fft, x)[1](np.ones_like(sp.fft(x)))[0].dtype == dtype
    same(fg.vjp(lambda s: ours.dct(X.astype(int)) * s, 1.0)[0], sp.dct(X.astype(int)))


@pytest.mark.parametrize(
    ("name", "keywords"),
    [
        ("fft", {"n": 0}),
        ("fftn", {"s": (2,), "axes": (0, 1)}),
        ("fftn", {"axes": (0, 5)}),
        ("fftn", {"axes": (0, 0)}),
        ("fft", {"norm": "unitary"}),
        ("rfftn", {"axes": ()}),
        ("dct", {"type": 5}),
        ("hfft", {"axis": 3}),
    ],
)
def test_errors_are_scipys(name, keywords):
    with pytest.raises(Exception) as theirs:
        getattr(sp, name)(X, **keywords)
    with pytest.raises(type(theirs.value)):
        fg.vjp(lambda x: getattr(ours, name)(x, **keywords), X)


def test_a_complex_operand_of_a_real_transform_is_an_error():
    with pytest.raises(TypeError, match="x must be a real sequence"):
        fg.vjp(ours.rfft, Z)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_zeros_of_ihfft_have_scipys_sign(kind):
    x = np.arange(1.0, 5.0).astype(kind)
    for run in (sp.ihfft, sp.ihfftn):
        found, wanted = fg.vjp(run, x)[0], run(x)
        assert found.dtype == wanted.dtype
        assert found.tobytes() == wanted.tobytes()
