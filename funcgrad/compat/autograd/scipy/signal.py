"""autograd's `convolve` over chosen axes, with others contracted; the rest is ``scipy.signal``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.compat.autograd.names import names_of

__all__ = ["convolve"]

__getattr__ = names_of("funcgrad.scipy.signal", "scipy.signal")

Axes = Sequence[Sequence[int]]


def convolve(
    A: Any, B: Any, axes: Axes | None = None, dot_axes: Axes = ((), ()), mode: str = "full"
) -> Any:
    """Convolve `A` with `B` over `axes`, and contract `dot_axes`.

    Parameters
    ----------
    A, B : array
    axes : pair of sequences of int, optional
        The axes of `A` and of `B` to convolve, pair by pair; all of them if left out.
    dot_axes : pair of sequences of int, optional
        Axes to multiply and add up, as in `tensordot`.
    mode : {"full", "same", "valid"}, optional
        "same" has the size of `A`.

    Returns
    -------
    array
        Its axes are the others of `A`, the others of `B`, and the convolved ones.

    Raises
    ------
    ValueError
        In mode "valid" neither operand is the larger one along all axes.

    Examples
    --------
    >>> import numpy as np
    >>> from funcgrad.compat.autograd.scipy.signal import convolve
    >>> images, filters = np.ones((2, 1, 5, 5)), np.ones((1, 3, 2, 2))
    >>> convolve(images, filters, [(2, 3), (2, 3)], [(1,), (0,)], "valid").shape
    (2, 3, 4, 4)
    """
    A, B = fnp.asarray(A), fnp.asarray(B)
    first, second = axes if axes is not None else (range(A.ndim), range(B.ndim))
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"convolve: mode is 'full', 'same' or 'valid', not {mode!r}")
    sizes = [(A.shape[i], B.shape[j]) for i, j in zip(first, second, strict=True)]
    swapped = mode == "valid" and any(a < b for a, b in sizes)
    if swapped and any(a > b for a, b in sizes):
        raise ValueError("convolve: mode 'valid' needs one operand to be larger along all axes")
    if swapped:
        found = _windows_times(B, A, second, first, (dot_axes[1], dot_axes[0]))
        return _others_exchanged(found, B.ndim, len(first), len(dot_axes[0]))
    return _windows_times(_padded(A, sizes, first, mode), B, first, second, dot_axes)


def _padded(A: Any, sizes: Sequence[tuple[int, int]], axes: Sequence[int], mode: str) -> Any:
    """`A` with zeros around it, so that the valid places are those of `mode`."""
    widths = [(0, 0)] * A.ndim
    for axis, (_, size) in zip(axes, sizes, strict=True):
        whole = size - 1
        widths[axis] = {
            "full": (whole, whole),
            "same": (size // 2, (size - 1) // 2),
            "valid": (0, 0),
        }[mode]
    return fnp.pad(A, widths) if any(map(any, widths)) else A


def _windows_times(A: Any, B: Any, first: Any, second: Any, dot_axes: Axes) -> Any:
    """What `B` meets at each place of `A`, multiplied with it and added up, in one product."""
    places = []
    for i, j in zip(first, second, strict=True):
        size = B.shape[j]
        A = fnp.take(A, _places(A.shape[i], size), axis=i)
        A = fnp.moveaxis(A, (i, i + 1), (i, -1))  # places stay, what is within a window comes last
        places.append(i)
    inner = [A.ndim - len(places) + k for k in range(len(places))]
    found = fnp.tensordot(A, B, ([*inner, *dot_axes[0]], [*second, *dot_axes[1]]))
    kept = [i for i in range(A.ndim) if i not in (*inner, *dot_axes[0])]
    return fnp.moveaxis(found, [kept.index(i) for i in places], range(-len(places), 0))


def _places(size: int, window: int) -> Any:
    """For each place the elements that a reversed window meets there."""
    return np.arange(size - window + 1)[:, None] + np.arange(window)[::-1]


def _others_exchanged(found: Any, of_b: int, convolved: int, contracted: int) -> Any:
    """The axes of two operands that were given in the other order, put in order."""
    theirs = list(range(of_b - convolved - contracted))
    ours = list(range(len(theirs), found.ndim - convolved))
    return fnp.transpose(found, [*ours, *theirs, *range(found.ndim - convolved, found.ndim)])
