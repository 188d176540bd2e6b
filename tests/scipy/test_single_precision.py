"""Programs of single precision through SciPy: its dtypes and types, eager and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg

ip = pytest.importorskip("scipy.interpolate")
sg = pytest.importorskip("scipy.signal")
sl = pytest.importorskip("scipy.linalg")
sp = pytest.importorskip("scipy.special")
di = pytest.importorskip("scipy.spatial.distance")

f = np.float32
draw = np.random.default_rng(14).uniform
X = draw(0.2, 2, 7).astype(f)
A = (draw(-1, 1, (4, 4)) + 4 * np.eye(4)).astype(f)
B = draw(0.2, 2, (4, 4)).astype(f)
LINE, GRID, AT = np.arange(7, dtype=f), np.arange(4, dtype=f), f([[0.3, 1.2]])
SOS = sg.butter(2, 0.3, output="sos").astype(f)

OF_VECTORS: dict[str, Any] = {
    "lfilter": lambda x: sg.lfilter(f([1, 2]), f([2.0, 0.3]), x),
    "lfilter, coefficients": lambda x: sg.lfilter(x[:2], x[2:5], f([1, 2, 3, 4])),
    "lfilter, one": lambda x: sg.lfilter(f([1, 2]), f([2.0]), x),
    "lfilter, state": lambda x: sg.lfilter(f([1, 2]), f([2.0, 0.3]), x, zi=f([0.1]))[0],
    "filtfilt": lambda x: sg.filtfilt(f([1, 2]), f([2.0, 0.3]), x, padlen=2),
    "sosfilt": lambda x: sg.sosfilt(SOS, x),
    "freqz": lambda x: sg.freqz(x, f([1.0]), 5)[1],
    "freqz at": lambda x: sg.freqz(x, x[:3], [0.1, 0.7])[1],
    "freqz, frequencies": lambda x: x[0] * sg.freqz(x, f([1.0]), 5)[0],
    "stft": lambda x: sg.stft(x, nperseg=4)[2],
    "istft": lambda x: sg.istft(sg.stft(x, nperseg=4)[2], nperseg=4)[1],
    "welch": lambda x: sg.welch(x, nperseg=4)[1],
    "savgol_filter": lambda x: sg.savgol_filter(x, 5, 2),
    "resample_poly": lambda x: sg.resample_poly(x, 3, 2),
    "solve_toeplitz": lambda x: sl.solve_toeplitz(x + 5 * (LINE == 0), x),
    "matmul_toeplitz": lambda x: sl.matmul_toeplitz(x, x),
    "interp1d": lambda x: ip.interp1d(LINE, x)(f([0.3, 2])),
    "interp1d, beyond": lambda x: ip.interp1d(LINE, x, fill_value="extrapolate")(f([0.3, 8])),
    "interp1d, cubic": lambda x: ip.interp1d(LINE, x, "cubic")(f([0.3, 2])),
    "logsumexp": lambda x: sp.logsumexp(x, return_sign=True)[0],
    "logsumexp, weights": lambda x: sp.logsumexp(x, b=x, axis=0),
    "multigammaln": lambda x: sp.multigammaln(x + 3, 2),
    "factorial": lambda x: sp.factorial(x),
    **{
        name: lambda x, name=name: getattr(di, name)(x, x[::-1] * f(1.3))
        for name in ("braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine",
                     "euclidean", "jensenshannon", "sqeuclidean")
    },
}  # fmt: skip
OF_MATRICES: dict[str, Any] = {
    "expm_frechet": lambda a: sl.expm_frechet(a / f(4), B)[1],
    "orthogonal_procrustes": lambda a: sl.orthogonal_procrustes(a, B)[0],
    "orthogonal_procrustes, scale": lambda a: sl.orthogonal_procrustes(a, B)[1],
    "qr_multiply": lambda a: sl.qr_multiply(a, np.ones((4, 4)))[0],
    "signm": lambda a: sl.signm(a),
    "grid": lambda a: ip.RegularGridInterpolator((GRID, GRID), a)(AT),
    "grid, pchip": lambda a: ip.RegularGridInterpolator((GRID, GRID), a, method="pchip")(AT),
    "cdist": lambda a: di.cdist(a, B),
}
CALLS = {
    **{n: (c, X) for n, c in OF_VECTORS.items()},
    **{n: (c, A) for n, c in OF_MATRICES.items()},
}


@pytest.mark.parametrize("name", CALLS)
def test_dtypes_and_types_are_scipys_and_gradients_single(name: str) -> None:
    call, x = CALLS[name]
    wanted = call(x)
    found, pull = fg.vjp(call, x)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    if not isinstance(wanted, float) or isinstance(wanted, np.generic):
        assert type(found) is type(wanted)
    # the weights are summed in another order
    np.testing.assert_allclose(found, wanted, rtol=0 if "weights" not in name else 1e-6)
    (gradient,) = pull(np.ones_like(wanted))
    assert gradient.dtype == f and gradient.shape == x.shape
    compiled = fg.jit(call)(x)
    assert np.asarray(compiled).dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(compiled, wanted, rtol=2e-4, atol=2e-5)
    turn = np.cos(np.arange(x.size)).reshape(x.shape)
    double = x.astype(float)
    expected = np.sum(call(double + 1e-6 * turn) - call(double - 1e-6 * turn)) / 2e-6
    assert abs(np.sum(gradient * turn) - np.real(expected)) <= 2e-3 * max(1.0, abs(expected))


def test_responses_at_a_number_of_frequencies_have_scipys_bits() -> None:
    for a in ([1.0], [2.0], X[:3].astype(float)):
        for asked in ({}, {"worN": 7, "whole": True}, {"worN": 6, "include_nyquist": True}):
            call = lambda b: sg.freqz(b, a, fs=3.0, **asked)[1]
            np.testing.assert_array_equal(fg.vjp(call, X.astype(float))[0], call(X.astype(float)))
