"""SciPy's initial value problems on traced values: its bits, and the derivatives of solutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import AbstractValueError, UnsupportedCallError

si = pytest.importorskip("scipy.integrate")

TIMES = np.array([0.0, 0.4, 1.1])
TIGHT = {"rtol": 1e-10, "atol": 1e-10}
P = np.array([1.3, 0.7])


def prey(p: Any) -> Any:
    return lambda t, y: np.stack(
        [y[0] * (p[0] - y[1]), y[1] * (p[1] * y[0] - 1) + np.sin(p[0] * t)]
    )


def back(t: Any, y: Any, a: Any, b: Any) -> Any:
    return [b * y[1], -a * y[0]]


CALLS = """
si.solve_ivp(prey(p), (0.0, 1.2), [1.0, 0.5], t_eval=TIMES, **TIGHT).y
si.solve_ivp(prey(p), (0.0, 1.2), [1.0, 0.5], t_eval=TIMES, rtol=1e-9, atol=[1e-10, 1e-9]).y
si.solve_ivp(prey(p), (0.0, 1.2), p, "DOP853", TIMES, **TIGHT).y
si.solve_ivp(prey(p), (0.0, 1.2), p, "LSODA", TIMES, **TIGHT).y
si.solve_ivp(prey(p), (0.0, 1.2), [1.0, 0.5], "Radau", TIMES, rtol=1e-8, atol=1e-8).y
si.solve_ivp(back, (0.1 * p[0], 1.2), p, t_eval=0.2 + TIMES * p[1], args=(p[0], 2.0), **TIGHT).y
si.odeint(lambda y, t: prey(p)(t, y), [1.0, 0.5], TIMES, **TIGHT)
si.odeint(prey(p), p, TIMES * p[0], tfirst=True, **TIGHT)
si.odeint(lambda y, t, a: -a * y, p[1], TIMES, args=(p[0],), **TIGHT)
""".strip().splitlines()


def total(call: str, p: Any) -> Any:
    y = eval(call, {**globals(), "p": p})
    return np.sum(y * np.cos(np.arange(float(np.size(y)))).reshape(np.shape(y)))


@pytest.mark.parametrize("call", CALLS)
def test_values_are_scipys_and_derivatives_agree_with_differences(call: str) -> None:
    seen: list[Any] = []

    def keep(p: Any) -> Any:
        y = eval(call, {**globals(), "p": p})
        seen.append(fg.value(y))
        return np.sum(y * np.cos(np.arange(float(np.size(y)))).reshape(np.shape(y)))

    gradient = fg.grad(keep)(P)
    np.testing.assert_array_equal(seen[0], eval(call, {**globals(), "p": P}))
    loose, step = (1e-4 if "Radau" in call else 2e-6), 1e-3
    ends = [(total(call, P + step * e), total(call, P - step * e)) for e in np.eye(2)]
    expected = [(a - b) / (2 * step) for a, b in ends]
    np.testing.assert_allclose(gradient, expected, rtol=loose, atol=loose)
    forward = [fg.jvp(lambda p: total(call, p), (P,), (e,))[1] for e in np.eye(2)]
    np.testing.assert_allclose(forward, gradient, rtol=1e-9)


@pytest.mark.parametrize("call", [CALLS[k] for k in (0, 1, 5, 6, 7)])
def test_under_jit_and_vmap_and_twice(call: str) -> None:
    gradient = fg.grad(lambda p: total(call, p))
    wanted = gradient(P)
    np.testing.assert_allclose(fg.jit(gradient)(P), wanted, rtol=1e-7)
    np.testing.assert_allclose(fg.vmap(gradient)(np.stack([1.01 * P, P]))[1], wanted, rtol=1e-9)
    turn, step = np.array([0.6, -0.8]), 1e-3
    expected = (gradient(P + step * turn) - gradient(P - step * turn)) / (2 * step)
    found = fg.jvp(gradient, (P,), (turn,))[1]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_without_times_the_last_one_moves_and_the_steps_do_not() -> None:
    def last(p: Any) -> Any:
        r = si.solve_ivp(prey(p), (0.0, p[0]), [1.0, 0.5], **TIGHT)
        return r.y[:, -1] * 1.0 + 0.0 * r.t[-1]

    found = fg.jacobian(last)(P)
    ends = [(last(P + 1e-4 * e), last(P - 1e-4 * e)) for e in np.eye(2)]
    expected = np.stack([(a - b) / 2e-4 for a, b in ends], axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    r = fg.vjp(lambda p: si.solve_ivp(prey(p), (0.0, 1.2), [1.0, 0.5]).y, P)[0]
    np.testing.assert_array_equal(r, si.solve_ivp(prey(P), (0.0, 1.2), [1.0, 0.5]).y)
    with pytest.raises(AbstractValueError, match="give t_eval="):
        fg.jit(last)(P)


REFUSED = {
    "events": lambda p: si.solve_ivp(prey(p), (0, 1), P, events=lambda t, y: y[0] - 1).y,
    "dense_output": lambda p: si.solve_ivp(prey(p), (0, 1), P, dense_output=True).y,
    "full_output": lambda p: si.odeint(prey(p), P, TIMES, tfirst=True, full_output=True)[0],
    "tanhsinh": lambda p: si.tanhsinh(lambda x: x * p[0], 0, 1).integral,
    "nsum": lambda p: si.nsum(lambda x: p[0] / x**2, 1, np.inf).sum,
    "cubature": lambda p: si.cubature(lambda x: x[:, 0] * p[0], [0, 0], [1, 1]).estimate,
    "qmc_quad": lambda p: si.qmc_quad(lambda x: x[0] * p[0], [0, 0], [1, 1]).integral,
    "solve_bvp": lambda p: (
        si.solve_bvp(
            lambda t, y: np.stack([y[1], p[0] * y[0]]), lambda a, b: a - b, TIMES, np.ones((2, 3))
        ).y
    ),
    "OdeSolver": lambda p: si.RK45(prey(p), 0.0, P, 1.0).f,
    "OdeSolver calls": lambda p: si.BDF(prey(p), 0.0, P, 1.0).y,
    "OdeSolver gets traced": lambda p: si.RK45(prey(P), 0.0, p, 1.0).y,
    "ode.set_initial_value": lambda p: si.ode(prey(P)).set_initial_value(p).integrate(1.0),
    "ode": lambda p: si.ode(lambda t, y: -p[0] * y).set_initial_value([1.0]).integrate(1.0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_derivative_is_a_named_error(name: str) -> None:
    with pytest.raises(UnsupportedCallError, match=name):
        fg.grad(lambda p: np.sum(REFUSED[name](p)))(P)
