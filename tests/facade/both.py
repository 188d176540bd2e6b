"""One program, run with PyTorch and with `funcgrad.torch`: what each says, line by line."""

import warnings

import numpy as np
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


def derivatives(torch, function, *arrays):
    """The results of a function of tensors, and its gradients of the first and second order."""
    xs = [torch.tensor(x, requires_grad=x.dtype.kind in "fc") for x in arrays]
    moving = [x for x in xs if x.requires_grad]
    outs = function(torch, *xs)
    outs = outs if isinstance(outs, tuple) else (outs,)
    loss = sum((o.abs() ** 2 * (1 + k)).sum() for k, o in enumerate(outs) if o.requires_grad)
    first = torch.autograd.grad(loss, moving, create_graph=True)
    again = sum((g.abs() ** 2).sum() for g in first)
    second = torch.autograd.grad(again, moving, allow_unused=True)
    found = [*outs, *first, *(g for g in second if g is not None)]
    return [x.detach().resolve_conj().numpy() for x in found]


def same_derivatives(function, *arrays, tolerance=1e-9):
    """Both libraries give the same values and gradients of both orders."""
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    expected, got = (derivatives(torch, function, *arrays) for torch in (theirs, ours))
    assert len(got) == len(expected)
    for e, g in zip(expected, got, strict=True):
        assert (g.dtype, g.shape) == (e.dtype, e.shape)
        np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance)
