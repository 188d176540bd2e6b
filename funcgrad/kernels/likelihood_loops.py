"""Loops over the classes of examples, for Numba.

Values are (N, C, inner), classes (N, inner). Each function does the examples `first` to `last`, so
that threads can share them, and sets `wrong[0]` where a class is none of the C. In NumPy a gather
and its weights are arrays of their own, which takes twice the time; what is printed from a rule has
no gathers.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from funcgrad.kernels.access import at


@njit(nogil=True, error_model="numpy")
def nll_elements(
    first: int, last: int, x: Any, target: Any, weight: Any, ignore: int, out: Any, taken: Any,
    wrong: Any,
) -> None:  # fmt: skip
    """The loss of each class given, and its weight, unless there is none."""
    for i in range(first, last):
        for k in range(target.shape[1]):
            c = target[i, k]
            if c == ignore:
                out[i, k] = 0.0
                if weight is not None:
                    taken[i, k] = 0.0
            elif c < 0 or c >= x.shape[1]:
                wrong[0] = 1
            else:
                value = -x[i, c, k]
                if weight is not None:
                    value *= weight[c]
                    taken[i, k] = weight[c]
                out[i, k] = value


@njit(nogil=True, error_model="numpy")
def nll_scatter(
    first: int, last: int, g: Any, target: Any, ignore: int, out: Any, wrong: Any
) -> None:
    """The negative cotangent at each class given, 0 elsewhere."""
    for i in range(first, last):
        for c in range(out.shape[1]):
            for k in range(out.shape[2]):
                out[i, c, k] = 0.0
        for k in range(target.shape[1]):
            c = target[i, k]
            if c != ignore:
                if c < 0 or c >= out.shape[1]:
                    wrong[0] = 1
                else:
                    out[i, c, k] = -at(g, i, k)
