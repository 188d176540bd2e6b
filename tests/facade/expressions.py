"""Expressions that PyTorch and the facade must answer alike: values, dtypes, warnings, errors."""

import re
import warnings

import numpy as np
import pytest

from .both import ours, theirs

# What PyTorch adds to an error that only its own C++ has: lists of overloads, its source's lines.
TAILS = (
    re.compile(r",? but expected one of:.*", re.S),
    re.compile(r"\s*\(Triggered internally at .*", re.S),
    re.compile(r"\nException raised from .*", re.S),
)


def shown(x):
    """A result as text: numbers, kind, and whether it is recorded."""
    if isinstance(x, (tuple, list)):
        return f"{type(x).__name__}({', '.join(map(shown, x))})"
    if isinstance(x, np.ndarray):
        return f"array({x.tolist()}, {x.dtype})"
    if hasattr(x, "requires_grad"):
        text = repr(x) if x.dtype.itemsize < 8 or x.dtype.is_complex else str(x.tolist())
        return f"{text} {x.dtype} {tuple(x.shape)} {x.stride()} {x.requires_grad} {x.is_leaf}"
    return repr(x)


def answer(torch, code):
    """What an expression gives, with the warnings on the way; or its error."""
    lines = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.manual_seed(7)
        try:
            lines.append(shown(eval(code, {"t": torch, "np": np})))
        except Exception as error:
            lines.append(f"{type(error).__name__}: {error}")
    lines += [f"{w.category.__name__}: {w.message}" for w in caught]
    for tail in TAILS:
        lines = [tail.sub("", line) for line in lines]
    return lines


def expressions(*families):
    """Run a test for each expression: a family is a text with one in each line."""
    codes = [line.strip() for family in families for line in family.strip().splitlines()]
    assert len(set(codes)) == len(codes), {c for c in codes if codes.count(c) > 1}
    return pytest.mark.parametrize("code", codes)


def same_answer(code):
    """Both libraries answer alike."""
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    expected, got = answer(theirs, code), answer(ours, code)
    assert got == expected, "\n".join(["", "expected:", *expected, "got:", *got])
