"""Reductions of nothing: masks, NaN and shapes that leave lines without an element.

The value is NumPy's, NaN where it has none; it does not depend on the elements that are left out,
so their derivative is 0, in every mode.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

draw = np.random.default_rng(14)
FULL = draw.uniform(0.5, 2, (3, 4))
MASKS = [np.zeros((3, 4), bool), *(draw.random((4, 3, 4)) < [[[0.0], [0.3], [0.6]]])]
AXES = (None, 0, 1, (0, 1), ())
WHERE = [("sum", {}), ("prod", {}), ("mean", {}), ("var", {}), ("std", {}), ("var", {"ddof": 1})]
WHERE += [("nansum", {}), ("nanprod", {}), ("nanmean", {}), ("nanvar", {}), ("nanstd", {"ddof": 1})]
WHERE += [(n, {"initial": 1.0}) for n in ("max", "min", "sum", "prod", "nanmax", "nanmin")]
NANS = [("nanquantile", (0.3,)), ("nanpercentile", ([30, 60],))]
for _name in ("sum", "prod", "mean", "var", "std", "median", "max", "min", "cumsum"):
    NANS.append((f"nan{_name}", ()))
EMPTY = ["mean", "var", "std", "median", "nanmedian", "nanmean", "nanstd", "sum", "prod", "average"]


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def check(f: Any, x: Any, absent: Any, jit: bool) -> None:
    """Both modes, eager and compiled, agree, with 0 for what is absent."""
    expected = f(x)
    rows = fg.jacrev(f)(x)
    assert not rows[..., absent].any()
    compiled = (fg.jit(fg.jacrev(f)), fg.jit(fg.jacfwd(f))) if jit else ()
    for found in (mode(x) for mode in (fg.jacfwd(f), *compiled)):
        np.testing.assert_allclose(found, rows, rtol=1e-12, atol=1e-15)
    value = fg.vjp(f, x)[0]
    np.testing.assert_array_equal(value, expected)
    assert np.shape(value) == np.shape(expected) and value.dtype == expected.dtype
    second = fg.jacfwd(fg.grad(lambda x: np.nansum(f(x) * 0.5)))(x)
    assert not second[absent].any() and not np.isnan(second[~absent]).any()


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name, options", WHERE)
def test_where_leaves_lines_without_elements(name: str, options: Any, keepdims: bool) -> None:
    for axis, (k, mask) in itertools.product(AXES, enumerate(MASKS)):
        given = {**options, "axis": axis, "where": mask, "keepdims": keepdims}
        f = lambda x, g=given: getattr(np, name)(x, **g)  # type: ignore[misc]
        check(f, FULL, ~mask, jit=k == 2 and not keepdims)


@pytest.mark.parametrize("name, more", NANS)
def test_lines_of_nan_alone(name: str, more: Any) -> None:
    for axis, (k, mask) in itertools.product((None, 0, 1), enumerate(MASKS)):
        f = lambda x, a=axis: getattr(np, name)(x, *more, axis=a)  # type: ignore[misc]
        check(f, np.where(mask, FULL, np.nan), ~mask, jit=k == 2)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", EMPTY)
def test_arrays_without_elements(name: str, keepdims: bool) -> None:
    for shape, axis in itertools.product([(3, 0), (0, 3), (0, 0)], (None, 0, 1)):
        x = np.zeros(shape)
        call = lambda x, a=axis: getattr(np, name)(x, axis=a, keepdims=keepdims)
        try:
            expected = call(x)
        except ZeroDivisionError:  # NumPy's average
            continue
        value, pull = fg.vjp(call, x)
        np.testing.assert_array_equal(value, expected)
        assert np.shape(value) == np.shape(expected)
        assert pull(np.ones_like(expected))[0].shape == shape
        assert not fg.jvp(call, (x,), (x,))[1].any()
        # a part of an array that is there
        whole = np.ones((3, 3))
        part = lambda x, s=shape: call(x[: s[0], : s[1]])  # type: ignore[misc]
        assert not fg.jacrev(part)(whole).any() and not fg.jacfwd(part)(whole).any()


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64", "complex128"])
def test_means_of_nothing_in_other_dtypes(dtype: str) -> None:
    x = FULL.astype(dtype)
    for mask in MASKS:
        mean = lambda x, m=mask: np.mean(x, axis=1, where=m)
        t = np.ones_like(x)
        _, moved = fg.jvp(mean, (x,), (t,))
        assert moved.dtype == dtype
        np.testing.assert_allclose(moved, mask.any(axis=1), rtol=1e-2)
