"""Reductions that skip NaN, of numbers that cannot be any: they are the plain reductions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg

X = np.array([[3, -1, 2], [0, 5, 4]])


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.bool_])
@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.nanmean(x, axis=1),
        lambda x: np.nanmean(x, axis=0, where=X > 0, keepdims=True),
        lambda x: np.nanmean(x, dtype=np.float32),
        lambda x: np.nanvar(x, axis=1),
        lambda x: np.nanvar(x, axis=0, mean=0.5, ddof=1),
        lambda x: np.nanstd(x, axis=1, correction=1),
        lambda x: np.nanstd(x, mean=np.nanmean(x)),
        lambda x: np.nanmax(x, axis=1),
        lambda x: np.nansum(x, axis=0),
    ],
)
def test_they_are_numpys(call: Any, dtype: Any) -> None:
    x = X.astype(dtype)
    wanted = np.asarray(call(x))
    for found in (fg.jit(call)(x), fg.vmap(call)(np.stack([x, x]))[1]):
        assert np.asarray(found).dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
