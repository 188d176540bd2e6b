"""Interpolation of scattered points on traced values: SciPy's bits, and derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import UnsupportedCallError

ip = pytest.importorskip("scipy.interpolate")

from funcgrad.scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator  # noqa: E402

rng = np.random.default_rng(5)
GIVEN = {
    "p": rng.uniform(size=(12, 2)),
    "v": rng.normal(size=12),
    "w": rng.normal(size=(12, 3)),
    "q": rng.uniform(-0.1, 1.1, size=(6, 2)),  # some lie outside
    "u": rng.uniform(size=8),
    "s": rng.uniform(0.2, 0.8, size=8),
    "r": rng.uniform(size=(14, 3)),
}
CALLS = """
ip.griddata(p, v, q, fill_value=0.5)
ip.griddata(p, w, q, fill_value=0.5, rescale=True)
ip.griddata((p[:, 0], p[:, 1]), v, (q[:, 0], q[:, 1]), fill_value=0.5)
ip.griddata(r, r[:, 0] ** 2, r[:4] * 0.9 + 0.04, fill_value=0.5)
ip.griddata(p, v, q, method="nearest")
ip.griddata(p, w, q.reshape(2, 3, 2), method="nearest", rescale=True)
ip.griddata(u, s, s[:5], fill_value=0.1)
ip.griddata(u, s, s[:5], method="cubic", fill_value=0.1)
ip.griddata(u, s, s[:5] + 0.3, method="nearest")
ip.NearestNDInterpolator(p, v)(q)
ip.NearestNDInterpolator(p, w, rescale=True)(q[:, 0], q[:, 1])
""".strip().splitlines()


def names(call: str) -> list[str]:
    return [n for n in compile(call, call, "eval").co_names if n in GIVEN]


def total(call: str, given: Any) -> Any:
    y = eval(call, {"ip": ip, **given})
    return np.sum(y * np.cos(np.arange(float(np.size(y)))).reshape(np.shape(y)))


def directions(given: Any) -> Any:
    return {n: np.cos(3.0 + np.arange(float(x.size))).reshape(x.shape) for n, x in given.items()}


@pytest.mark.parametrize("call", CALLS)
def test_values_are_scipys_and_derivatives_agree_with_differences(call: str) -> None:
    given = {n: GIVEN[n] for n in names(call)}
    turn, seen = directions(given), []
    fg.vjp(lambda g: (seen.append(fg.value(eval(call, {"ip": ip, **g}))), g)[1], given)
    np.testing.assert_array_equal(seen[0], eval(call, {"ip": ip, **given}))
    gradient = fg.grad(lambda g: total(call, g))
    found = sum(np.sum(g * turn[n]) for n, g in gradient(given).items())
    at = lambda s: {n: x + s * turn[n] for n, x in given.items()}
    expected = (total(call, at(1e-6)) - total(call, at(-1e-6))) / 2e-6
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)
    forward = fg.jvp(lambda g: total(call, g), (given,), (turn,))[1]
    assert forward == pytest.approx(found, rel=1e-9, abs=1e-12)
    staged = fg.jit(gradient)(given)
    mapped = fg.vmap(gradient)({n: np.stack([x, x]) for n, x in given.items()})
    for n, g in gradient(given).items():
        np.testing.assert_allclose(staged[n], g, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(mapped[n][1], g, rtol=1e-9, atol=1e-12)
    second = fg.jvp(gradient, (given,), (turn,))[1]
    above, below = gradient(at(1e-6)), gradient(at(-1e-6))
    for n, t in second.items():
        wanted = (above[n] - below[n]) / 2e-6
        np.testing.assert_allclose(t, wanted, rtol=1e-4, atol=1e-4 * (1 + np.abs(wanted).max()))


def test_ours_are_scipys_classes() -> None:
    p, v, q = GIVEN["p"], GIVEN["v"], GIVEN["q"]
    for name, ours in (("LinearND", LinearNDInterpolator), ("NearestND", NearestNDInterpolator)):
        theirs = getattr(ip, f"{name}Interpolator")
        np.testing.assert_array_equal(ours(p, v)(q), theirs(p, v)(q))
        np.testing.assert_array_equal(ours(p, v)(q[:, 0], q[:, 1]), theirs(p, v)(q))
        with pytest.raises(ValueError, match="different number of values and points"):
            ours(p, v[1:])
    triangles = ip.LinearNDInterpolator(p, v).tri
    np.testing.assert_array_equal(
        LinearNDInterpolator(triangles, v)(q), ip.LinearNDInterpolator(triangles, v)(q)
    )
    held = ip.NearestNDInterpolator(p, v, rescale=True)  # made of numbers, asked at traced places
    assert not fg.grad(lambda q: np.sum(held(q)))(q).any()


def test_what_is_compiled_says_what_to_take() -> None:
    p, v, q = GIVEN["p"], GIVEN["v"], GIVEN["q"]
    with pytest.warns(fg.errors.ObjectArrayWarning), pytest.raises(UnsupportedCallError) as caught:
        fg.grad(lambda v: np.sum(ip.LinearNDInterpolator(p, v)(q)))(v)
    told = "scipy.interpolate.LinearNDInterpolator.__init__ cannot compute"
    assert str(caught.value).startswith(told)
    assert "take funcgrad.scipy.interpolate.LinearNDInterpolator" in str(caught.value)
    with pytest.raises(UnsupportedCallError, match=r"'cubic' of two .* RBFInterpolator"):
        fg.grad(lambda v: np.sum(ip.griddata(p, v, q, method="cubic")))(v)
