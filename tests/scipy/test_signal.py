"""`scipy.signal` on traced values: SciPy's bits, derivatives, transforms, and errors.

`test_rules` has both modes, second order and batching of each record.
"""

import numpy as np
import pytest
import scipy.signal as sp

import funcgrad as fg
import funcgrad.scipy.signal as ours
from funcgrad.testing import check_grads

RNG = np.random.default_rng(7)
X, Y = RNG.normal(size=20), RNG.normal(size=5)
IMAGE, MASK = RNG.normal(size=(5, 4)), RNG.normal(size=(2, 3))
LINES = RNG.normal(size=(2, 24))
B, A = sp.butter(3, 0.3)
SOS = sp.butter(3, 0.3, output="sos")
MODES = ["full", "same", "valid"]

CALLS = [
    *(("convolve", (X, Y, m), {"method": h}) for m in MODES for h in ("auto", "direct", "fft")),
    *(("convolve", (Y, X, m), {}) for m in MODES),
    *(("convolve", (IMAGE, MASK, m), {"method": h}) for m in MODES for h in ("direct", "fft")),
    *(("correlate", (X, Y, m), {"method": h}) for m in MODES for h in ("auto", "direct", "fft")),
    *(("correlate", (MASK + 1j, IMAGE, m), {"method": "direct"}) for m in MODES[:2]),
    *(("correlate", (IMAGE, MASK * 1j, m), {"method": "direct"}) for m in MODES),
    *((n, (LINES, Y[None], m), {"axes": 1}) for n in ("fftconvolve", "oaconvolve") for m in MODES),
    ("oaconvolve", (RNG.normal(size=200), Y), {}),
    ("fftconvolve", (LINES[:1], LINES, "same"), {"axes": -1}),
    *(("convolve2d", (IMAGE, MASK, m, b), {}) for m in MODES for b in ("fill", "wrap", "symm")),
    *(("correlate2d", (IMAGE, MASK, m, b), {}) for m in MODES for b in ("fill", "wrap", "symm")),
    ("convolve2d", (IMAGE, MASK, "full", "fill", 2.0), {}),
    ("lfilter", (B, A, LINES), {}),
    ("lfilter", (2 * B, 2 * A, LINES.T), {"axis": 0}),
    ("lfilter", (Y, [2.0], X), {}),
    ("lfilter", ([0.5], A, LINES), {}),
    ("lfilter_zi", (2 * B, 2 * A), {}),
    ("sosfilt", (SOS, LINES), {}),
    ("sosfilt_zi", (SOS,), {}),
    *(("filtfilt", (B, A, LINES), {"padtype": p}) for p in ("odd", "even", "constant", None)),
    ("filtfilt", (B, A, LINES.T), {"axis": 0, "padlen": 5}),
    ("sosfiltfilt", (SOS, LINES), {}),
    ("hilbert", (X,), {}),
    ("hilbert", (LINES,), {"N": 7, "axis": 0}),
    ("detrend", (LINES,), {}),
    ("detrend", (LINES.T,), {"axis": 0, "type": "constant"}),
    ("detrend", (X,), {"bp": [4, 9]}),
    ("resample", (X, 7), {}),
    ("resample", (LINES, 30), {"axis": 1}),
    ("upfirdn", (Y, LINES), {}),
    ("upfirdn", (Y, LINES.T, 3, 2), {"axis": 0}),
    ("resample_poly", (LINES, 3, 2), {"axis": 1}),
    ("resample_poly", (X, 2, 4), {"window": "hann"}),
    ("resample_poly", (X, 2, 2), {}),
    ("savgol_filter", (LINES, 5, 2), {"deriv": 1, "delta": 0.5}),
    ("savgol_filter", (LINES.T, 5, 2), {"axis": 0, "mode": "wrap"}),
    ("freqz", (B, A), {"worN": [0.1, 0.2], "fs": 1.0}),
    ("periodogram", (LINES,), {"fs": 3.0}),
    ("periodogram", (X,), {"nfft": 30, "window": "hann", "scaling": "spectrum"}),
    ("periodogram", (X,), {"nfft": 10, "detrend": "linear"}),
    ("welch", (LINES,), {"nperseg": 8, "fs": 2.0}),
    ("welch", (LINES.T,), {"nperseg": 7, "axis": 0, "average": "median", "detrend": False}),
    ("welch", (X + 1j * X[::-1],), {"nperseg": 8, "nfft": 11, "noverlap": 5}),
    ("csd", (LINES, LINES[0]), {"nperseg": 8}),
    ("csd", (LINES[0], X), {"nperseg": 8}),
    ("coherence", (LINES, LINES[:1] ** 2), {"nperseg": 8}),
    ("spectrogram", (LINES,), {"nperseg": 8, "fs": 2.0}),
    *(("spectrogram", (X,), {"nperseg": 8, "mode": m}) for m in ("complex", "magnitude", "phase")),
    ("stft", (LINES,), {"nperseg": 8, "fs": 2.0}),
    ("stft", (LINES.T,), {"nperseg": 7, "axis": 0, "boundary": "even", "scaling": "psd"}),
    ("stft", (X,), {"nperseg": 8, "boundary": None, "padded": False, "detrend": "linear"}),
    ("istft", (sp.stft(LINES, nperseg=8)[2],), {"nperseg": 8, "fs": 2.0}),
]


def same(found, wanted):
    for f, w in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        assert np.asarray(f).dtype == np.asarray(w).dtype
        assert np.shape(f) == np.shape(w)
        np.testing.assert_array_equal(f, w)


def split(args):
    """The arrays among the arguments, and how to put others in their place."""
    at = [i for i, a in enumerate(args) if isinstance(a, np.ndarray)]

    def put(xs):
        return [xs[at.index(i)] if i in at else a for i, a in enumerate(args)]

    return [args[i] for i in at], put


@pytest.mark.parametrize(("name", "args", "keywords"), CALLS)
def test_values_are_scipys(name, args, keywords):
    wanted, mine = getattr(sp, name)(*args, **keywords), getattr(ours, name)
    xs, put = split(args)
    f = lambda *xs: mine(*put(xs), **keywords)
    same(f(*xs), wanted)
    same(fg.vjp(f, *xs)[0], wanted)
    if name in ("sosfiltfilt", "lfilter_zi", "sosfilt_zi", "filtfilt"):
        return  # they look at their coefficients
    for found, want in zip(fg.tree.leaves(fg.jit(f)(*xs)), fg.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    ("name", "args", "keywords"),
    [c for c in CALLS if c[0] in ("filtfilt", "hilbert", "coherence", "correlate", "convolve")][::3]
    + [c for c in CALLS if c[0] in ("fftconvolve", "lfilter", "stft", "freqz", "sosfilt")][::2],
)
def test_derivatives(name, args, keywords):
    xs, put = split(args)
    if name == "sosfilt":
        args, xs, put = args, [args[1]], lambda xs: [args[0], *xs]
    check_grads(lambda *xs: getattr(ours, name)(*put(xs), **keywords), tuple(xs), order=1)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("gaussian", (1.3,)),
        ("general_gaussian", (1.5, 2.0)),
        ("kaiser", (4.0,)),
        ("exponential", (None, 3.0)),
        ("general_cosine", (np.array([0.4, 0.5, 0.1]),)),
        ("general_hamming", (0.6,)),
    ],
)
def test_windows(name, args):
    at = len(args) - 1
    for module in (ours.windows, sp.windows):
        f = lambda x, n, sym, m=module: getattr(m, name)(n, *args[:at], x, sym=sym)
        for n, sym in ((7, True), (6, False), (1, True), (0, True)):
            same(fg.vjp(lambda x: f(x, n, sym), args[at])[0], f(args[at], n, sym))
    check_grads(lambda x: f(x, 8, True), (args[at],), order=2)
    sharper = fg.grad(lambda x: np.sum(ours.welch(X, window=f(x, 10, True), nperseg=10)[1]))
    assert np.all(np.isfinite(sharper(args[at])))


def test_a_filter_with_a_state():
    zi = RNG.normal(size=(2, 3))
    same(
        fg.vjp(lambda *xs: ours.lfilter(*xs[:3], zi=xs[3]), B, A, LINES, zi)[0],
        sp.lfilter(B, A, LINES, zi=zi),
    )
    same(
        fg.vjp(lambda z: ours.lfilter(B, A, LINES.T, 0, z), zi[:1].T)[0],
        sp.lfilter(B, A, LINES.T, 0, zi[:1].T),
    )
    start = RNG.normal(size=(2, 2, 2))
    same(
        fg.vjp(lambda x, z: ours.sosfilt(SOS, x, zi=z), LINES, start)[0],
        sp.sosfilt(SOS, LINES, zi=start),
    )
    check_grads(lambda x, z: ours.lfilter(B, A, x, zi=z), (LINES, zi), order=1)


def test_pieces_of_a_signal_are_the_whole():
    def in_pieces(x):
        zi = ours.lfilter_zi(B, A) * x[0]
        first, zi = ours.lfilter(B, A, x[:9], zi=zi)
        second, _ = ours.lfilter(B, A, x[9:], zi=zi)
        return np.sum(first**2) + np.sum(second**2)

    def whole(x):
        return np.sum(ours.lfilter(B, A, x, zi=ours.lfilter_zi(B, A) * x[0])[0] ** 2)

    np.testing.assert_allclose(fg.grad(in_pieces)(X), fg.grad(whole)(X), rtol=1e-12)


def test_a_recurrence_agrees_with_torch_and_the_loop_of_python():
    def loop(a, x):
        y = []
        for n in range(len(x)):
            y.append(x[n] - sum(a[j] * y[n - 1 - j] for j in range(min(2, n))))
        return sum(v**2 for v in y)

    a = np.array([-0.5, 0.2])
    one = lambda a, x: np.sum(ours.lfilter([1.0], fg.numpy.concatenate([np.ones(1), a]), x) ** 2)
    for i in (0, 1):
        np.testing.assert_allclose(fg.grad(one, i)(a, X), fg.grad(loop, i)(a, X), rtol=1e-12)
        np.testing.assert_allclose(
            fg.hessian(one, i)(a, X[:6]), fg.hessian(loop, i)(a, X[:6]), atol=1e-10
        )


def test_under_vmap():
    stacked = RNG.normal(size=(3, 2, 24))
    for f in (
        lambda x: ours.lfilter(B, A, x),
        lambda x: ours.fftconvolve(x, Y[None], axes=1),
        lambda x: ours.welch(x, nperseg=8)[1],
        lambda x: ours.hilbert(x),
        lambda x: ours.savgol_filter(x, 5, 2),
    ):
        np.testing.assert_array_equal(fg.vmap(f)(stacked), [f(x) for x in stacked])


@pytest.mark.parametrize(
    ("name", "args", "keywords"),
    [
        ("convolve", (X, IMAGE), {}),
        ("convolve", (X, Y, "most"), {}),
        ("convolve", (IMAGE, np.ones((1, 9)), "valid"), {}),
        ("convolve", (X, Y), {"method": "quick"}),
        ("fftconvolve", (LINES, np.ones((3, 2))), {"axes": 1}),
        ("fftconvolve", (LINES, LINES), {"axes": 4}),
        ("fftconvolve", (LINES, LINES), {"axes": []}),
        ("lfilter", (IMAGE, A, X), {}),
        ("lfilter", (B, A, X), {"zi": np.ones(7)}),
        ("lfilter", (B, A, X), {"axis": 3}),
        ("sosfilt", (np.ones((2, 5)), X), {}),
        ("sosfilt", (SOS, X), {"zi": np.ones((1, 1))}),
        ("filtfilt", (B, A, Y), {}),
        ("filtfilt", (B, A, X), {"padtype": "none"}),
        ("hilbert", (X * 1j,), {}),
        ("detrend", (X,), {"type": "square"}),
        ("detrend", (X,), {"bp": 90}),
        ("welch", (X,), {"nperseg": 8, "noverlap": 8}),
        ("welch", (X,), {"nperseg": 8, "nfft": 4}),
        ("welch", (X,), {"scaling": "power"}),
        ("stft", (X,), {"nperseg": 8, "boundary": "none"}),
        ("savgol_filter", (X, 3, 3), {}),
    ],
)
def test_errors_are_scipys(name, args, keywords):
    with pytest.raises(Exception) as theirs:
        getattr(sp, name)(*args, **keywords)
    xs, put = split(args)
    with pytest.raises(type(theirs.value)):
        fg.vjp(lambda *xs: getattr(ours, name)(*put(xs), **keywords), *xs)


def test_what_is_not_supported_says_so():
    for f in (
        lambda x: ours.filtfilt(B, A, x, method="gust"),
        lambda x: ours.resample(x, 4, window="hann"),
        lambda x: ours.welch(x, detrend=lambda d: d)[1],
    ):
        with pytest.raises(fg.errors.UnsupportedCallError, match="not supported on traced"):
            fg.vjp(f, X)
    with pytest.raises(AttributeError, match="has no attribute 'medfilt'"):
        ours.medfilt


def test_spectra_of_single_precision_with_one_segment():
    x = np.array([0.5, 0.7, 1.2, 0.9, 1.1], np.float32)
    call = lambda x: sp.periodogram(x, window="hann")[1]
    value, tangent = fg.jvp(call, (x,), (x,))
    np.testing.assert_array_equal(value, call(x))
    assert value.dtype == tangent.dtype == np.float32
    np.testing.assert_allclose(tangent, 2 * value, rtol=1e-5, atol=1e-7)  # it is quadratic
