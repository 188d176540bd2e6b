"""`stft`, `istft` and the windows of signals, beside PyTorch."""

import warnings

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same, same_derivatives, theirs

SIGNALS = np.random.default_rng(0).normal(size=(2, 20))
WAYS = {
    "plain": {},
    "hop": {"hop_length": 3},
    "short window": {"win_length": 5, "window": 5},
    "not centred": {"center": False},
    "aligned": {"center": False, "align_to_window": True, "win_length": 5, "window": 5},
    "constant": {"pad_mode": "constant", "normalized": True},
    "both sides": {"onesided": False},
    "pairs": {"return_complex": False},
}
BACK = {
    "plain": {}, "hop": {"hop_length": 3}, "length": {"length": 18}, "longer": {"length": 25},
    "normalized": {"normalized": True}, "complex": {"return_complex": True, "onesided": False},
}  # fmt: skip


def options(torch, way):
    given = {"return_complex": True, "window": 8, **way}
    window = torch.hann_window(given.pop("window"), periodic=False, dtype=torch.float64) + 0.1
    return {**given, "window": window}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("signal", [SIGNALS, SIGNALS[0]], ids=["several", "one"])
def test_spectra(way, signal):
    same_derivatives(lambda t, x: t.stft(x, 8, **options(t, WAYS[way])), signal)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_spectra_of_complex_signals_and_by_the_method():
    x = SIGNALS + 1j * SIGNALS[::-1]
    same_derivatives(lambda t, x: x.stft(8, window=t.ones(8, dtype=t.float64)), x)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("way", BACK)
def test_signals_of_spectra(way):
    given = dict(BACK[way])
    forth = {k: v for k, v in given.items() if k not in ("length", "return_complex")}

    def function(torch, x):
        window = torch.hann_window(8, dtype=torch.float64) + 0.1
        spectra = torch.stft(x, 8, window=window, return_complex=True, **forth)
        return torch.istft(spectra**2, 8, window=window, **given)

    same_derivatives(function, SIGNALS)
    x = ours.tensor(SIGNALS)
    window = ours.hann_window(8, dtype=ours.float64)
    back = ours.istft(ours.stft(x, 8, window=window, return_complex=True), 8, window=window)
    np.testing.assert_allclose(back.numpy(), SIGNALS, atol=1e-12)


def test_windows_that_weigh_spectra_have_gradients():
    def function(torch, w):
        x = torch.tensor(SIGNALS)
        return torch.istft(torch.stft(x, 8, window=w, return_complex=True) ** 2, 8, window=w)

    same_derivatives(function, np.random.default_rng(1).uniform(0.5, 1, 8))


def test_transforms_and_compiled_programs():
    x, window = ours.tensor(SIGNALS), ours.ones(8, dtype=ours.float64)
    function = lambda x: ours.stft(x, 8, window=window, return_complex=True).abs()
    for found in (ours.vmap(function)(x), ours.compile(function)(x)):
        np.testing.assert_allclose(found.numpy(), function(x).numpy(), rtol=1e-12, atol=1e-12)


def said(torch, say):
    x, w = torch.arange(40.0).reshape(2, 20), torch.ones(8)
    s = torch.stft(x, 8, window=w, return_complex=True)
    for call in (
        lambda: torch.stft(x, 8), lambda: torch.stft(x, 30, window=w, return_complex=True),
        lambda: torch.stft(x, 30, center=False, return_complex=True),
        lambda: torch.stft(x, 8, hop_length=0, return_complex=True),
        lambda: torch.stft(x, 8, win_length=9, return_complex=True),
        lambda: torch.stft(x, 8, win_length=7, window=w, return_complex=True),
        lambda: torch.stft(x[None], 8, return_complex=True),
        lambda: torch.stft(x.int(), 8, return_complex=True),
        lambda: torch.stft(x + 1j, 8, onesided=True, return_complex=True),
        lambda: torch.stft(x, 8, window=w, return_complex=True, align_to_window=True),
        lambda: torch.stft(x, 8, window=w, return_complex=False).shape,
        lambda: torch.istft(s, 8, window=w, center=False).shape,
        lambda: torch.istft(s, 8, window=torch.zeros(8)), lambda: torch.istft(s, 8).shape,
        lambda: torch.istft(s, 10, window=w), lambda: torch.istft(s.real, 8, window=w),
        lambda: torch.istft(s[0, 0], 8, window=w), lambda: torch.istft(s[None], 8, window=w),
        lambda: torch.istft(s, 8, hop_length=0, window=w), lambda: torch.istft(s),
        lambda: torch.istft(s, 8, hop_length=9, window=w),
        lambda: torch.istft(s, 8, win_length=9, window=w),
        lambda: torch.istft(s, 8, win_length=7, window=w),
        lambda: torch.istft(s, 8, window=w, return_complex=True),
        lambda: torch.istft(s, 14, window=w, onesided=False),
        lambda: torch.istft(s[..., :0], 8, window=w), lambda: torch.istft(s, "a"),
        lambda: torch.istft(s, 8, window=w, length=40).shape,
    ):  # fmt: skip
        try:
            say(call())
        except (RuntimeError, TypeError, IndexError) as error:
            say(type(error).__name__, error)


def test_refusals():
    def quiet(torch, say):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            said(torch, say)

    same(quiet)


NAMES = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sym", [True, False])
def test_windows(name, sym):
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    for m in (0, 1, 2, 5, 8):
        for dtype in ("float32", "float64"):
            e, g = (
                getattr(t.signal.windows, name)(m, sym=sym, dtype=getattr(t, dtype)).numpy()
                for t in (theirs, ours)
            )
            assert e.dtype == g.dtype
            np.testing.assert_allclose(g, e, rtol=1e-6 if dtype == "float32" else 1e-13, atol=1e-6)


def windows(torch, say):
    w = torch.signal.windows
    for call in (
        lambda: w.exponential(4, tau=0.5, center=1.0, sym=False), lambda: w.gaussian(4, std=2.0),
        lambda: w.kaiser(4, beta=3.0), lambda: w.general_cosine(4, a=[0.5, 0.3, 0.2]),
        lambda: w.general_hamming(5, alpha=0.7), lambda: w.hann(-1), lambda: w.gaussian(3, std=0),
        lambda: w.exponential(3, tau=0), lambda: w.exponential(3, center=1), lambda: w.hann(3, 1),
        lambda: w.kaiser(3, beta=-1), lambda: w.hann(3, dtype=torch.int64),
        lambda: w.general_cosine(3, a=[]), lambda: w.cosine(3, requires_grad=True).requires_grad,
    ):  # fmt: skip
        try:
            say(call())
        except (ValueError, TypeError) as error:
            say(type(error).__name__, str(error).partition(" takes")[0])


def test_windows_with_options_and_refusals():
    same(windows)
