"""Calls of NumPy as people write them: values, both modes, `jit` and `vmap`, by both namespaces."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from call_patterns import LATER, PATTERNS, Pattern

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import tree
from funcgrad.transforms.arguments import float0

STEP = 1e-6


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def leaves(out: Any) -> list[Any]:
    return [np.asarray(x) for x in tree.flatten(out)[0]]


def plain(p: Pattern, *operands: Any) -> list[Any]:
    return leaves(p.call(np, *operands))


def directions(p: Pattern) -> tuple[Any, ...]:
    draw = np.random.default_rng(3).normal
    made = []
    for name, x in zip(p.names, p.operands, strict=True):
        t = draw(size=np.shape(x)) + (1j * draw(size=np.shape(x)) if np.iscomplexobj(x) else 0.0)
        made.append(t + t.T if name == "S" else t if np.ndim(x) else float(t))
    return tuple(made)


def differences(p: Pattern) -> list[Any]:
    moved = zip(p.operands, directions(p), strict=True)
    pairs = [(x + STEP * t, x - STEP * t) for x, t in moved]
    ups, downs = (plain(p, *side) for side in zip(*pairs, strict=True))
    return [(a - 1.0 * b) / (2 * STEP) for a, b in zip(ups, downs, strict=True)]


def agree(found: list[Any], wanted: list[Any], as_complex: bool = False) -> None:
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape and (a.dtype == b.dtype or as_complex)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def ways() -> list[Any]:
    made = [pytest.param(p, fnp, id=f"{p}-namespace") for p in PATTERNS]
    return made + [pytest.param(p, np, id=f"{p}-plain") for p in PATTERNS]


@pytest.mark.parametrize("p, module", ways())
def test_reverse_mode(p: Pattern, module: Any) -> None:
    out, pull = fg.vjp(lambda *xs: p.call(module, *xs), *p.operands)
    agree(leaves(out), plain(p, *p.operands))
    draw, expected, cotangents = np.random.default_rng(5).normal, 0.0, []
    for y, t in zip(leaves(out), differences(p), strict=True):
        if y.dtype.kind not in "fc":
            cotangents.append(np.zeros(y.shape, float0))
            continue
        g = draw(size=y.shape) + (1j * draw(size=y.shape) if y.dtype.kind == "c" else 0.0)
        cotangents.append(g.astype(y.dtype)[()])
        expected += np.nansum(np.real(g * t))
    found = pull(tree.unflatten(tree.flatten(out)[1], cotangents))
    if "constant" in p.flags:
        assert all(np.all(np.asarray(g) == 0) for g in found)
    total = sum(np.nansum(np.real(g * t)) for g, t in zip(found, directions(p), strict=True))
    assert abs(total - expected) <= 1e-5 * max(1.0, abs(expected))


@pytest.mark.parametrize("p", PATTERNS, ids=str)
def test_forward_mode(p: Pattern) -> None:
    out, moved = fg.jvp(lambda *xs: p.call(fnp, *xs), p.operands, directions(p))
    agree(leaves(out), plain(p, *p.operands))
    for y, a, b in zip(leaves(out), leaves(moved), differences(p), strict=True):
        if y.dtype.kind in "fc":
            np.testing.assert_allclose(np.nan_to_num(a), np.nan_to_num(b), rtol=1e-5, atol=1e-5)


def test_all_patterns_are_tried_in_every_way() -> None:
    """Their number is what the page on coverage promises."""
    assert len({str(p) for p in PATTERNS}) == len(PATTERNS) >= 432 - len(LATER)


@pytest.mark.parametrize("p", PATTERNS, ids=str)
def test_jit(p: Pattern) -> None:
    found = fg.jit(lambda *xs: p.call(fnp, *xs))(*p.operands)
    agree(leaves(found), plain(p, *p.operands), "complex" in p.flags)


@pytest.mark.parametrize("p", PATTERNS, ids=str)
def test_gradient_under_jit(p: Pattern) -> None:
    def size(*xs: Any) -> Any:
        total: Any = 0.0
        for y in tree.flatten(p.call(fnp, *xs))[0]:
            if np.result_type(y).kind in "fc":
                total = total + np.sum(np.real(y) ** 2) + np.sum(np.imag(y) ** 2)
        return total

    if not any(y.dtype.kind in "fc" for y in plain(p, *p.operands)):
        return
    gradient = fg.grad(size, tuple(range(len(p.names))))
    for a, b in zip(fg.jit(gradient)(*p.operands), gradient(*p.operands), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("p", PATTERNS, ids=str)
def test_vmap(p: Pattern) -> None:
    rows = [np.stack([np.asarray(x), 0.9 * np.asarray(x)]) for x in p.operands]
    found = leaves(fg.vmap(lambda *xs: p.call(fnp, *xs))(*rows))
    for k in range(2):
        agree([y[k] for y in found], plain(p, *(r[k] for r in rows)), "complex" in p.flags)
