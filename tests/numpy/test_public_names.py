"""The namespaces carry exactly NumPy's public names."""

from __future__ import annotations

import importlib
import pickle
import types

import numpy as np
import numpy.polynomial
import pytest

import funcgrad.numpy as fnp

PAIRS = [
    (np, fnp),
    (np.linalg, fnp.linalg),
    (np.fft, fnp.fft),
    (np.polynomial, fnp.polynomial),
]


def public(module: types.ModuleType) -> set[str]:
    return {name for name in dir(module) if not name.startswith("_")}


@pytest.mark.parametrize("theirs, ours", PAIRS, ids=lambda m: m.__name__)
def test_the_names_are_numpys(theirs: types.ModuleType, ours: types.ModuleType) -> None:
    assert public(ours) == public(theirs)
    for name in public(theirs) - {"core", "newaxis"}:  # deprecated, and None
        assert getattr(ours, name) is not None


def test_no_module_of_ours_is_among_them() -> None:
    held = {n for n, thing in vars(fnp).items() if isinstance(thing, types.ModuleType)}
    assert held <= {"fft", "linalg", "polynomial"}
    with pytest.raises(AttributeError, match="has no attribute 'reductions'"):
        fnp.reductions
    assert importlib.import_module("funcgrad.numpy.reductions").sum is fnp.sum


def test_names_without_a_derivative_are_numpys_own() -> None:
    assert fnp.float128 is np.float128 if hasattr(np, "float128") else True
    assert fnp.busday_count is np.busday_count and fnp.mgrid is np.mgrid
    assert fnp.True_ is np.True_ and fnp.typecodes is np.typecodes


def test_from_numpy_import_star_gives_ours() -> None:
    space: dict[str, object] = {}
    exec("from funcgrad.numpy import *", space)
    assert space["polyfit"] is fnp.polyfit and space["linalg"] is fnp.linalg


def test_polynomials_of_ours_are_pickled_and_shown_as_numpys() -> None:
    ours, theirs = (m.polynomial.Chebyshev([1.0, 2.0]) for m in (fnp, np))
    assert repr(ours) == repr(theirs) and str(ours) == str(theirs)
    assert pickle.loads(pickle.dumps(ours)) == ours
