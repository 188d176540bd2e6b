"""Covariances and correlations."""

from __future__ import annotations

import warnings
from typing import Any

from funcgrad.errors import outside
from funcgrad.torch import dtypes
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.operations.arithmetic import mul_scalar
from funcgrad.torch.operations.complexes import complex
from funcgrad.torch.operations.creation import full
from funcgrad.torch.operations.products import mm
from funcgrad.torch.operations.promotion import dtype_of
from funcgrad.torch.operations.record import operation
from funcgrad.torch.operations.requirements import requires

__all__ = ["corrcoef", "cov"]

DEGREES = (
    "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
    "observations."
)


def _check_weights(name: str, weights: Tensor | None, kinds: str, wanted: str, count: int) -> None:
    if weights is None:
        return
    if weights.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
            f"{weights.ndim} dimensions"
        )
    if dtype_of(weights._t).kind not in kinds:
        raise RuntimeError(
            f"cov(): expected {name} to have {wanted} dtype but got {name} with "
            f"{dtypes.scalar_name(weights.dtype)} dtype"
        )
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input "
            f"but got {weights.numel()} != {count}"
        )
    if count and weights.detach().min().item() < 0:
        raise RuntimeError(f"cov(): {name} cannot be negative")


COV = "input, *, int correction=1, Tensor fweights=None, Tensor aweights=None"


@operation("cov", COV, variants="method")
@requires("""
    rank(input) <= 2: cov(): expected input to have two or fewer dimensions but got an input with
        {rank(input)} dimensions
""")
def cov(input: Tensor, correction: int, fweights: Tensor | None, aweights: Tensor | None) -> Tensor:
    """The covariances of variables (rows) over observations (columns).

    `fweights` say how often an observation was made, `aweights` how much it counts.
    """
    if input.dtype is dtypes.bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input if input.ndim == 2 else input.view(1, -1)
    count = x.shape[1]
    _check_weights("fweights", fweights, "iu", "integral", count)
    _check_weights("aweights", aweights, "f", "floating point", count)
    w: Any = fweights if aweights is None else aweights
    if fweights is not None and aweights is not None:
        w = fweights * aweights
    total = full((), count) if w is None else w.sum()
    if w is not None and not total.item():
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    average = (x if w is None else x * w).sum(1) / total
    norm = total - correction
    if aweights is not None and correction:
        norm = total - mul_scalar((w * aweights).sum(), correction) / total
    if norm.item() <= 0:
        warnings.warn(DEGREES, UserWarning, stacklevel=outside())
        norm = norm.detach().clone().zero_()
    centered = x - average.unsqueeze(1)
    other = (centered if w is None else centered * w).t().conj()
    found: Tensor = (mm(centered, other) / norm).squeeze()
    return found


@operation("corrcoef", "input", variants="method")
@requires("""
    rank(input) <= 2: corrcoef(): expected input to have two or fewer dimensions but got an input
        with {rank(input)} dimensions
""")
def corrcoef(input: Tensor) -> Tensor:
    """The correlations of variables (rows) over observations (columns)."""
    c: Tensor = cov(input)
    if not c.ndim:
        return c / c
    diagonal = c.diagonal()
    deviation = (diagonal.real if c.is_complex() else diagonal).sqrt()
    c = c / deviation.view(-1, 1)
    c = c / deviation.view(1, -1)
    if c.is_complex():
        return complex(c.real.clip(-1, 1), c.imag.clip(-1, 1))
    found: Tensor = c.clip(-1, 1)
    return found
