"""Programs that PyTorch and the facade have to answer with the same lines.

A program is a function ``program(torch, say)``. Compared is what it says, its warnings and the
error it ends with, but for what no other library can say: addresses, and where in PyTorch's own
source a warning was triggered.
"""

import re
import warnings

import pytest

from .both import ours, theirs, transcript

NOISE = ("torch.jit.script", "get_attr Node", "create_graph=True will create a reference cycle")
NUMBER = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")


def programs(namespace):
    """The programs among the names of a file."""
    return [
        f
        for f in namespace.values()
        if hasattr(f, "__code__") and f.__code__.co_varnames[:2] == ("torch", "say")
    ]


def attempt(say, f, shown=str):
    """Say what `f` returns, or its error; `shown` makes the text of the error."""
    try:
        say(f())
    except Exception as error:
        say(f"{type(error).__name__}: {shown(error)}")


def refused(say, name, call):
    """Say what a call of a name returns, or its error."""
    try:
        say(name, call())
    except Exception as error:
        say(name, type(error).__name__, error)


def clean(line):
    """A line without what only PyTorch can say."""
    line = re.sub(r" \(Triggered internally at [^)]*\)", "", line)
    line = re.sub(r'  File "[^"]*site-packages/torch/[^\n]*\n(    [^\n]*\n)?', "", line)
    line = re.sub(r"\n *[~^]+(?=\n)", "", line)
    return re.sub(r"0x[0-9a-f]+", "0x", line)


def lines_of(program, torch):
    """What a program says to one of the libraries."""
    return [clean(x) for x in transcript(program, torch) if not any(n in x for n in NOISE)]


def agree(program, digits=None):
    """Both libraries say the same; with `digits`, numbers to so many significant digits."""
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    with warnings.catch_warnings():  # the first use imports deprecated things
        warnings.simplefilter("ignore")
        with theirs.autograd.forward_ad.dual_level():
            theirs.autograd.forward_ad.make_dual(theirs.ones(1), theirs.ones(1))
    expected, got = lines_of(program, theirs), lines_of(program, ours)
    text = "\n".join(["", "expected:", *expected, "got:", *got])
    if digits is None:
        assert got == expected, text
        return
    assert [_words(x) for x in got] == [_words(x) for x in expected], text
    for mine, other in zip(got, expected, strict=True):
        for a, b in zip(NUMBER.findall(mine), NUMBER.findall(other), strict=True):
            assert float(a) == pytest.approx(float(b), rel=10.0**-digits, abs=10.0**-digits), text


def _words(line):
    return re.sub(r"\s+", " ", NUMBER.sub("#", line))
