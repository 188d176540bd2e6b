"""Every function of the namespace: value, gradient, and the same through plain ``np.*``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy_cases import Case, rng
from option_cases import CASES

import funcgrad.numpy as fnp
from funcgrad import grad, jvp, tree, vjp
from funcgrad.config import config
from funcgrad.transforms.jit import jit
from funcgrad.transforms.vmap import vmap

MODULES = {"np": np, "fnp": fnp}


def outputs(out: Any) -> list[Any]:
    return tree.flatten(out)[0]


def same_bits(found: Any, wanted: Any) -> None:
    a, b = np.asarray(found), np.asarray(wanted)
    assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
    assert a.tobytes() == b.tobytes() or np.array_equal(a, b, equal_nan=True), (a, b)
    if a.dtype.kind in "fc":
        assert np.array_equal(np.signbit(a.real), np.signbit(b.real)) or np.isnan(a).any()


def plain(case: Case, *args: Any) -> list[Any]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return outputs(case.call(np, *args))


def unknown(case: Case, y: Any) -> Any:
    """The result where the values are not known."""
    y = np.asarray(y)
    return y.astype(np.result_type(y, np.complex64)) if "complex" in case.flags else y


def ways() -> list[Any]:
    found = []
    for c in CASES:
        for name in MODULES:
            if f"{'np' if name == 'fnp' else 'fnp'}-only" not in c.flags:
                found.append(pytest.param(c, MODULES[name], id=f"{c.name}-{name}"))
    return found


@pytest.mark.parametrize("case, module", ways())
def test_value_is_numpys_bit_for_bit(case: Case, module: Any) -> None:
    wanted = plain(case, *case.args)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = outputs(vjp(lambda *a: case.call(module, *a), *case.args)[0])
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        same_bits(a, b)
        assert type(a) is type(b)


@pytest.mark.parametrize("case", [c for c in CASES if "fnp-only" not in c.flags], ids=str)
def test_plain_operands_give_numpys_own_result(case: Case) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = outputs(case.call(fnp, *case.args))
    for a, b in zip(found, plain(case, *case.args), strict=True):
        assert type(a) is type(b)
        same_bits(a, b)


def directions(case: Case) -> list[Any]:
    made = []
    for i, x in enumerate(case.args):
        x = np.asarray(x)
        t = rng(11, i).normal(size=x.shape)
        if x.dtype.kind == "c":
            t = t + 1j * rng(12, i).normal(size=x.shape)
        if "symmetric" in case.flags:
            t = t + t.T
        made.append(t.astype(x.dtype)[()])
    return made


def inner(a: Any, b: Any) -> float:
    return float(np.sum(np.asarray(a, complex) * np.asarray(b, complex)).real)


@pytest.mark.parametrize("case", [c for c in CASES if not c.flags & {"flat", "fnp-only"}], ids=str)
def test_gradient_against_differences(case: Case) -> None:
    ts = directions(case)
    wide = [np.asarray(x, np.result_type(np.asarray(x).dtype, float))[()] for x in case.args]
    single = any(np.asarray(x).dtype == np.float32 for x in case.args)
    h = 1e-6
    out, pull = vjp(lambda *a: case.call(np, *a), *case.args)
    _, moved = jvp(lambda *a: case.call(np, *a), tuple(case.args), tuple(ts))
    ups = plain(case, *(x + h * t for x, t in zip(wide, ts, strict=True)))
    downs = plain(case, *(x - h * t for x, t in zip(wide, ts, strict=True)))
    leaves, definition = tree.flatten(out)
    cotangents, forward, numeric = [], 0.0, 0.0
    for k, (y, dy, up, down) in enumerate(zip(leaves, outputs(moved), ups, downs, strict=True)):
        y = np.asarray(y)
        g = rng(13, k).normal(size=y.shape)
        if y.dtype.kind not in "fc":
            cotangents.append(_zero(y))
            continue
        if y.dtype.kind == "c":
            g = g + 1j * rng(14, k).normal(size=y.shape)
        cotangents.append(g.astype(y.dtype)[()])
        forward += inner(cotangents[-1], dy)
        if "kink" not in case.flags:
            numeric += inner(cotangents[-1], (np.asarray(up) - np.asarray(down)) / (2 * h))
    if not any(np.asarray(y).dtype.kind in "fc" for y in leaves):
        return
    gradients = pull(tree.unflatten(definition, cotangents))
    reverse = sum(inner(g, t) for g, t in zip(gradients, ts, strict=True))
    for g, x in zip(gradients, case.args, strict=True):
        assert np.asarray(g).dtype == np.asarray(x).dtype and np.shape(g) == np.shape(x)
    scale = max(1.0, abs(reverse), sum(float(np.abs(g).max(initial=0)) for g in gradients))
    assert abs(reverse - forward) <= (1e-4 if single else 1e-10) * scale
    if "kink" not in case.flags:
        assert abs(reverse - numeric) <= (1e-3 if single else 2e-6) * scale


def _zero(y: Any) -> Any:
    from funcgrad.transforms.arguments import float0

    return np.zeros(y.shape, float0)


@pytest.mark.parametrize(
    "case", [c for c in CASES if not c.flags & {"concrete", "fnp-only"}], ids=str
)
def test_vmap_is_the_loop(case: Case) -> None:
    rows = [np.stack([np.asarray(x), np.asarray(x) * 0.9, np.asarray(x) * 1.1]) for x in case.args]
    rows = [r.astype(np.asarray(x).dtype) for r, x in zip(rows, case.args, strict=True)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = outputs(vmap(lambda *a: case.call(np, *a))(*rows))
        each = [plain(case, *(r[i] for r in rows)) for i in range(3)]
    for k, out in enumerate(found):
        wanted = np.stack([unknown(case, e[k]) for e in each])
        single = wanted.dtype in (np.float32, np.complex64)
        assert np.shape(out) == wanted.shape
        np.testing.assert_allclose(
            out, wanted, rtol=1e-5 if single else 1e-11, atol=1e-6 if single else 1e-12
        )


@pytest.mark.parametrize(
    "case", [c for c in CASES if not c.flags & {"concrete", "fnp-only"}], ids=str
)
def test_jit_gives_the_same_bits(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "backend", "interpreter")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = outputs(jit(lambda *a: case.call(np, *a))(*case.args))
    for a, b in zip(found, plain(case, *case.args), strict=True):
        same_bits(a, unknown(case, b))


@pytest.mark.parametrize(
    "case", [c for c in CASES if not c.flags & {"concrete", "fnp-only"}], ids=str
)
def test_native_code_gives_the_same_values(case: Case) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = outputs(jit(lambda *a: case.call(np, *a))(*case.args))
    for a, b in zip(found, plain(case, *case.args), strict=True):
        a, b = np.asarray(a), unknown(case, b)
        assert a.dtype == b.dtype and a.shape == b.shape
        if b.dtype.kind not in "fc":
            np.testing.assert_array_equal(a, b)
            continue
        eps = np.finfo(b.dtype).eps  # 8 ulp, and rounding errors of sums of terms that cancel
        largest = np.max(np.abs(b[np.isfinite(b)]), initial=0.0)
        np.testing.assert_allclose(a, b, rtol=8 * eps, atol=8 * eps * largest)


def weighted(case: Case, *args: Any) -> Any:
    """The float outputs of a case as one number that depends on them smoothly."""
    total: Any = 0.0
    for k, y in enumerate(outputs(case.call(np, *args))):
        kind = np.result_type(y)
        if kind.kind in "fc":
            y = np.real(y) + np.imag(y) if kind.kind == "c" else y
            total = total + np.sum(np.cos(y) * rng(15, k).normal(size=np.shape(y)))
    return total


SMOOTH = [
    c
    for c in CASES
    if not c.flags & {"flat", "kink", "concrete", "fnp-only"}
    and all(np.asarray(x).dtype == np.float64 for x in c.args)
]


@pytest.mark.parametrize("case", SMOOTH, ids=str)
def test_second_derivative_against_differences(case: Case) -> None:
    t = directions(case)[0]
    x, *rest = case.args

    def slope(v: Any) -> Any:
        return grad(lambda a: weighted(case, a, *rest))(v)

    with np.errstate(all="ignore"):
        _, second = jvp(slope, (x,), (t,))
        h = 1e-5
        numeric = (np.asarray(slope(x + h * t)) - slope(x - h * t)) / (2 * h)
    scale = max(1.0, float(np.max(np.abs(numeric), initial=0)))
    np.testing.assert_allclose(second, numeric, atol=1e-6 * scale, rtol=1e-5)
