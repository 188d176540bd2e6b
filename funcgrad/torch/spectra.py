"""``torch.stft`` and ``torch.istft``: spectra of overlapping pieces of a signal, and back."""

from __future__ import annotations

from typing import Any

from funcgrad.torch import dtypes, fft
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn.functional.distance import pad
from funcgrad.torch.operations.common import warn_once
from funcgrad.torch.operations.comparison import known
from funcgrad.torch.operations.complexes import view_as_real
from funcgrad.torch.operations.creation import ones, zeros
from funcgrad.torch.operations.ranges import arange
from funcgrad.torch.operations.record import operation

__all__ = ["istft", "stft"]

LEAKS = (
    "A window was not provided. A rectangular window will be applied,which is known to cause "
    "spectral leakage. Other windows such as torch.hann_window or torch.hamming_window are "
    "recommended to reduce spectral leakage.To suppress this warning and use a rectangular window, "
    "explicitly set `window=torch.ones(n_fft, device=<device>)`."
)
LOSSES = (
    "A window was not provided. A rectangular window will be applied.Please provide the same "
    "window used by stft to make the inversion lossless.To suppress this warning and use a "
    "rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
)
PAIRS = (
    "stft with return_complex=False is deprecated. In a future pytorch release, stft will return "
    "complex tensors for all inputs, and return_complex=False will raise an error.\nNote: you can "
    "still call torch.view_as_real on the complex output to recover the old return format."
)
SHORT = (
    "The length of signal is shorter than the length parameter. Result is being padded with zeros "
    "in the tail. Please check your center and hop_length settings."
)
ONESIDED = "Cannot have onesided output if window or input is complex"


def _said(x: Any) -> str:
    return "None" if x is None else str(int(x))


def _window(window: Tensor | None) -> str:
    return "None" if window is None else f"{window.type()}{{{list(window.shape)}}}"


def _widened(window: Tensor | None, win_length: int, n_fft: int, like: Tensor) -> Tensor:
    """The window with zeros on both sides, as long as the transform."""
    if window is None:
        dtype = like.real.dtype if like.is_complex() else like.dtype
        window = ones(win_length, dtype=dtype)
    left = (n_fft - win_length) // 2
    found: Tensor = pad(window, (left, n_fft - win_length - left))
    return found


# ------------------------------------------------------------------------------------- to spectra


@operation(
    "stft",
    "input, int n_fft, int hop_length=None, int win_length=None, Tensor window=None, "
    "bool center=True, str pad_mode='reflect', bool normalized=False, bool onesided=None, "
    "bool return_complex=None, bool align_to_window=None",
    variants="method",
)
def stft(
    input: Tensor, n_fft: int, hop_length: int | None, win_length: int | None,
    window: Tensor | None, center: bool, pad_mode: str, normalized: bool, onesided: bool | None,
    return_complex: bool | None, align_to_window: bool | None,
) -> Tensor:  # fmt: skip
    """The Fourier transforms of overlapping pieces of a signal, weighted by a window.

    Parameters
    ----------
    input : Tensor of shape (L,) or (B, L)
    n_fft : int
        The length of a piece.
    hop_length : int, optional
        How far one begins after the other: a quarter of `n_fft` by default.
    win_length : int, optional
        The length of the window, in the middle of a piece: `n_fft` by default.
    window : Tensor of shape (win_length,), optional
        Ones by default.
    center : bool, optional
        Put piece t around ``t * hop_length``; the signal is padded as `pad_mode` says.
    normalized : bool, optional
        Divide by the root of `n_fft`.
    onesided : bool, optional
        Leave out the frequencies that follow from others, which is so for real signals by default.
    return_complex : bool, optional
        False appends a dimension of real and imaginary parts.
    align_to_window : bool, optional
        Without `center`: begin with the window, not with the piece.

    Returns
    -------
    Tensor of shape (…, frequencies, pieces)

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x = torch.cos(torch.arange(8) * torch.pi / 2)
    >>> torch.stft(x, 4, 4, window=torch.ones(4), center=False, return_complex=True).abs().round()
    tensor([[0., 0.],
            [2., 2.],
            [0., 0.]])
    """
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    x = input
    if center:
        width = n_fft // 2
        whole = x.reshape((1,) * (3 - x.dim()) + tuple(x.shape))
        whole = pad(whole, (width, width), pad_mode)
        x = whole.reshape(whole.shape[3 - x.dim() :]) if x.dim() < 3 else whole
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    complex_ = x.is_complex() or (window is not None and window.is_complex())
    if window is None:
        warn_once(LEAKS)
    if return_complex is None and not complex_:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further "
            "require that return_complex=True in a future PyTorch release."
        )
    wanted = complex_ if return_complex is None else return_complex
    if not wanted:
        warn_once(PAIRS)
    told = (
        f"stft({x.type()}{list(x.shape)}, n_fft={n_fft}, hop_length={hop}, win_length={length}, "
        f"window={_window(window)}, normalized={int(normalized)}, onesided={_said(onesided)}, "
        f"return_complex={_said(return_complex)}, align_to_window={_said(align_to_window)}) "
    )
    _check(told, x, n_fft, hop, length, window)
    onesided = not complex_ if onesided is None else onesided
    if onesided and complex_:
        raise RuntimeError(ONESIDED)
    weights = _widened(window, length, n_fft, x)
    if align_to_window:
        left = (n_fft - length) // 2
        x = pad(x, (left, n_fft - length - left))
    frames = x.unfold(-1, n_fft, hop) * weights
    transform = fft.rfft if onesided else fft.fft
    found: Tensor = transform(frames, norm="ortho" if normalized else None).transpose(-2, -1)
    return found if wanted else view_as_real(found)


def _check(told: str, x: Tensor, n_fft: int, hop: int, length: int, window: Tensor | None) -> None:
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(f"{told}: expected a tensor of floating point or complex values")
    if x.dim() not in (1, 2):
        raise RuntimeError(f"{told}: expected a 1D or 2D tensor")
    if not 0 < n_fft <= x.shape[-1]:
        raise RuntimeError(f"{told}: expected 0 < n_fft < {x.shape[-1]}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{told}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{told}: expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and tuple(window.shape) != (length,):
        raise RuntimeError(
            f"{told}: expected a 1D window tensor of size equal to win_length={length}, but got "
            f"window with size {list(window.shape)}"
        )


# ----------------------------------------------------------------------------------------- back


@operation(
    "istft",
    "input, int n_fft, int hop_length=None, int win_length=None, Tensor window=None, "
    "bool center=True, bool normalized=False, bool onesided=None, int length=None, "
    "bool return_complex=False",
    variants="method",
)
def istft(
    input: Tensor, n_fft: int, hop_length: int | None, win_length: int | None,
    window: Tensor | None, center: bool, normalized: bool, onesided: bool | None,
    length: int | None, return_complex: bool,
) -> Tensor:  # fmt: skip
    """The signal of which `stft` gives these spectra: the least squares solution.

    The pieces are weighted and added, and divided by the sum of the squares of the windows.

    Parameters
    ----------
    input : Tensor of shape (frequencies, pieces) or (B, frequencies, pieces)
    n_fft, hop_length, win_length, window, center, normalized, onesided
        As for `stft`.
    length : int, optional
        The length of the signal, which `stft` does not tell.
    return_complex : bool, optional
        Whether the signal is complex.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> x, w = torch.arange(8.0), torch.hann_window(4)
    >>> torch.istft(torch.stft(x, 4, window=w, return_complex=True), 4, window=w).round()
    tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    if window is None:
        warn_once(LOSSES)
    told = (
        f"istft(CPU{dtypes.scalar_name(input.dtype)}Type{list(input.shape)}, n_fft={n_fft}, "
        f"hop_length={hop}, win_length={size}, window={_window(window)}, center={int(center)}, "
        f"normalized={int(normalized)}, onesided={_said(onesided)}, length={_said_length(length)}, "
        f"return_complex={int(return_complex)}) "
    )
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    onesided = _onesided(told, input, n_fft, onesided)
    if not 0 < hop <= size:
        raise RuntimeError(f"{told}: expected 0 < hop_length <= win_length")
    if not 0 < size <= n_fft:
        raise RuntimeError(f"{told}: expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (size,):
        raise RuntimeError(
            f"{told}: Invalid window shape. window has to be 1D and length of `win_length`"
        )
    if return_complex and onesided:
        raise RuntimeError(ONESIDED)
    if not return_complex and window is not None and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    weights = _widened(window, size, n_fft, input)
    norm, spectra = "ortho" if normalized else None, input.transpose(-2, -1)
    if return_complex:
        frames = fft.ifft(spectra, norm=norm)
    else:
        frames = fft.irfft(spectra[..., : n_fft // 2 + 1], n_fft, norm=norm)
    y = _added(frames * weights, hop)
    squares = _added((weights**2).expand(frames.shape[-2:]), hop)
    first = n_fft // 2 if center else 0
    last = first + length if length is not None else y.shape[-1] - first
    y, squares = y[..., first:last], squares[first:last]
    _check_covered(told, squares)
    found: Tensor = y / squares
    if found.shape[-1] < last - first:
        warn_once(SHORT)
        found = pad(found, (0, last - first - found.shape[-1]))
    return found


def _said_length(length: int | None) -> str:
    return "None" if length is None else str(length)


def _onesided(told: str, spectra: Tensor, n_fft: int, onesided: bool | None) -> bool:
    """Whether the spectra are half ones; refuses what does not fit."""
    n = spectra.dim()
    if n < 2:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n - 1}, {n}], but got -3)"
        )
    given = spectra.shape[-2]
    if not spectra.numel():
        raise RuntimeError(f"{told}: input tensor cannot be empty.")
    if n > 3:
        raise RuntimeError(f"{told}: expected a tensor with 3 or 4 dimensions, but got {n + 1}")
    half = given != n_fft if onesided is None else onesided
    if given != (n_fft // 2 + 1 if half else n_fft):
        size, side = ("n_fft / 2 + 1", "True") if half else ("n_fft", "False")
        raise RuntimeError(
            f"{told}: expected the frequency dimension (3rd to the last) of the input tensor to "
            f"match {size} when onesided={side}, but got {given}"
        )
    return half


def _added(frames: Tensor, hop: int) -> Tensor:
    """The overlapping pieces, added where they lie."""
    *lead, count, size = frames.shape
    places = arange(count).unsqueeze(-1) * hop + arange(size)
    whole = zeros(*lead, size + hop * (count - 1), dtype=frames.dtype)
    found: Tensor = whole.index_add(-1, places.reshape(-1), frames.reshape(*lead, -1))
    return found


def _check_covered(told: str, squares: Tensor) -> None:
    if not squares.numel() or (known(squares.detach().abs()._t, "istft()") < 1e-11).any():
        raise RuntimeError(f"{told}window overlap add min: 1\n[ CPUBoolType{{}} ]")
