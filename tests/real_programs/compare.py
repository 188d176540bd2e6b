"""A program written once, run with PyTorch and with `funcgrad.torch`: the same numbers and words.

A program is a function of the library. It returns what it found: numbers, tensors, texts, and
lists, tuples and dictionaries of these. Both libraries begin with the same seed, so they draw the
same weights, batches and masks; nothing else is shared, and rounding is all that may differ.
"""

import warnings
from contextlib import contextmanager

import numpy as np
import pytest

import funcgrad.torch as ours

try:
    import torch as theirs
except ImportError:
    theirs = None

GROWTH = 2.0**16  # by how much a hundred steps of training may enlarge an error of rounding
EPS = {"float32": 2.0**-23, "float64": 2.0**-52}


@contextmanager
def _settings(torch, dtype):
    """A seed and a default dtype, and everything as it was afterwards."""
    before = torch.get_default_dtype()
    threads = torch.get_num_threads()
    torch.set_default_dtype(getattr(torch, dtype))
    torch.set_num_threads(1)
    torch.manual_seed(0)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
        torch.set_num_threads(threads)


def outcome(program, torch, dtype, *args):
    """What a program finds with a library, as plain numbers and texts."""
    with warnings.catch_warnings(), _settings(torch, dtype):
        warnings.simplefilter("ignore")
        return plain(program(torch, *args))


def plain(x):
    """Tensors as arrays, in trees of any form."""
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return [plain(v) for v in x]
    return x.detach().numpy().copy() if hasattr(x, "detach") else x


def agree(program, *args, dtype="float64", growth=GROWTH):
    """Both libraries find the same, up to rounding that has grown by a factor."""
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    expected = outcome(program, theirs, dtype, *args)
    got = outcome(program, ours, dtype, *args)
    _equal(got, expected, growth * EPS[dtype], "the result")
    return got


def _equal(got, expected, error, where):
    assert type(got) is type(expected), (where, got, expected)
    if isinstance(expected, dict):
        assert list(got) == list(expected), where
        for k in expected:
            _equal(got[k], expected[k], error, f"{where}[{k!r}]")
    elif isinstance(expected, list):
        assert len(got) == len(expected), where
        for k, (x, y) in enumerate(zip(got, expected, strict=True)):
            _equal(x, y, error, f"{where}[{k}]")
    elif isinstance(expected, float | np.ndarray) and np.asarray(expected).dtype.kind in "fc":
        assert np.asarray(got).dtype == np.asarray(expected).dtype, where
        largest = np.max(np.abs(expected), initial=0)
        np.testing.assert_allclose(
            got, expected, rtol=error, atol=error * max(1.0, largest), err_msg=where
        )
    elif isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(got, expected, err_msg=where)
    else:
        assert got == expected, (where, got, expected)


def learned(losses, factor):
    """A loss curve that falls: a program that learns nothing would compare nothing."""
    assert np.mean(losses[-5:]) < factor * np.mean(losses[:5]), losses
