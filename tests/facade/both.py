"""One program, run with PyTorch and with `funcgrad.torch`: what each says, line by line."""

import warnings

import pytest

import funcgrad.torch as ours

try:
    import torch as theirs
except ImportError:
    theirs = None


def transcript(program, torch):
    """What a program ``program(torch, say)`` says, its warnings and the error it ends with."""
    lines = []

    def say(*things):
        lines.append(" ".join(map(str, things)))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            program(torch, say)
        except Exception as error:
            lines.append(f"{type(error).__name__}: {error}")
    lines += [f"{w.category.__name__}: {w.message}" for w in caught]
    return lines


def same(program):
    """Both libraries say the same."""
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    expected = transcript(program, theirs)
    got = transcript(program, ours)
    assert got == expected, "\n".join(["", "expected:", *expected, "got:", *got])
