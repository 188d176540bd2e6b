"""Lynx and hare: fit the Lotka-Volterra equations to the furs of the Hudson's Bay Company.

    python docs/examples/lynx.py

The equations are solved by the classical Runge-Kutta method, in plain Python loops. `jit` compiles
them, and forward mode gives the Jacobian that SciPy's `least_squares` needs. The result is compared
with finite differences of SciPy's own solver, and with a Bayesian analysis of the same data. A
figure is saved as `lynx.png`.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

import funcgrad as fg

matplotlib.use("Agg")  # draws to a file, also where there is no screen
import matplotlib.pyplot as plt

# Thousands of furs a year, 1900 to 1920 (C. G. Hewitt, The Conservation of the Wild Life of Canada,
# 1921, and later reports; public domain).
YEARS = np.arange(1900, 1921)
HARES = [
    30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1, 40.3, 57.0, 76.6, 52.3, 19.5,
    11.2, 7.6, 14.6, 16.2, 24.7,
]  # fmt: skip
LYNXES = [
    4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4, 8.0, 12.3, 19.5, 45.7, 51.1, 29.7,
    15.8, 9.7, 10.1, 8.6,
]  # fmt: skip
FURS = np.stack([HARES, LYNXES], axis=1)

NAMES = ["birth of hares", "hunting", "death of lynxes", "growth by hunting", "hares 1900",
         "lynxes 1900"]  # fmt: skip

# Means and standard deviations of the posterior: B. Carpenter, Predator-Prey Population Dynamics:
# the Lotka-Volterra model in Stan, 2018. Its errors are those assumed here; it has weak priors.
PUBLISHED = np.array([0.55, 0.028, 0.80, 0.024, 33.96, 5.95])
PUBLISHED_DEVIATION = np.array([0.065, 0.004, 0.091, 0.004, 2.9, 0.53])


STEPS = 10  # of the solver in a year


def slope(state, parameters):
    """How fast both populations grow."""
    hares, lynxes = state
    birth, hunting, death, growth = parameters[:4]
    return np.stack([(birth - hunting * lynxes) * hares, (growth * hares - death) * lynxes])


def path(parameters):
    """Hares and lynxes from 1900 to 1920, in tenths of a year: Runge and Kutta's method."""
    h = 1.0 / STEPS
    state = parameters[4:]
    found = [state]
    for _ in range(STEPS * (len(YEARS) - 1)):
        k1 = slope(state, parameters)
        k2 = slope(state + h / 2 * k1, parameters)
        k3 = slope(state + h / 2 * k2, parameters)
        k4 = slope(state + h * k3, parameters)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        found.append(state)
    return np.stack(found)


def log_path(logarithms):
    """All parameters are positive: their logarithms are fitted, and those of populations drawn."""
    return np.log(path(np.exp(logarithms)))


START = np.log([1.0, 0.05, 1.0, 0.05, 30.0, 4.0])


def fit():
    """The least squares of the relative errors of each year, and the covariance of the result."""
    fast, jacobian = fg.jit(log_path), fg.jit(fg.jacfwd(log_path))  # times × 2 × parameters
    found = least_squares(
        lambda p: np.ravel(fast(p)[::STEPS] - np.log(FURS)),
        START,
        lambda p: jacobian(p)[::STEPS].reshape(-1, len(p)),
        xtol=1e-12, ftol=1e-12, gtol=1e-12,
    )  # fmt: skip
    variance = 2 * found.cost / (FURS.size - len(START))
    return found, variance * np.linalg.inv(found.jac.T @ found.jac), jacobian(found.x)


def reference(start):
    """SciPy alone: an adaptive solver, and finite differences of it."""

    def by_solver(logarithms):
        p = np.exp(logarithms)
        solved = solve_ivp(
            lambda t, y: slope(y, p), (0, 20), p[4:], "DOP853", np.arange(21), rtol=1e-8, atol=1e-8
        )
        return np.ravel(np.log(solved.y.T) - np.log(FURS))

    return least_squares(by_solver, start, jac="3-point", xtol=1e-10, ftol=1e-10)


def draw(path, logarithms, covariance, jacobian):
    """Both populations with what is known of them, and the orbit."""
    fitted = log_path(logarithms)
    deviation = np.sqrt(np.einsum("tip,pq,tiq->ti", jacobian, covariance, jacobian))
    times = np.linspace(YEARS[0], YEARS[-1], len(fitted))
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 4), layout="constrained", width_ratios=[5, 3]
    )
    for i, (name, color) in enumerate([("hares", "tab:brown"), ("lynxes", "tab:blue")]):
        left.plot(YEARS, FURS[:, i], "o", color=color, markersize=4)
        left.plot(times, np.exp(fitted[:, i]), color=color, label=name)
        band = np.exp(fitted[:, i, None] + 1.96 * deviation[:, i, None] * np.array([-1, 1]))
        left.fill_between(times, *band.T, color=color, alpha=0.2, linewidth=0)
    left.set(ylabel="furs (thousands a year)", ylim=(0, None), xticks=YEARS[::5])
    left.set_title("Fit, and 95 % of it")
    left.legend(loc="upper right")
    right.plot(*FURS.T, "o-", color="0.7", markersize=3, linewidth=0.6, label="furs")
    right.plot(*np.exp(fitted).T, color="tab:green", label="fit")
    right.set(xlabel="hares", ylabel="lynxes", title="Orbit")
    right.legend(loc="upper right")
    figure.savefig(path, dpi=80)
    plt.close(figure)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", type=Path, default=Path("lynx.png"), help="where to draw")
    options = parser.parse_args(arguments)
    found, covariance, jacobian = fit()
    estimates = np.exp(found.x)
    errors = estimates * np.sqrt(np.diag(covariance))
    other = reference(found.x + 0.1)

    print(f"half the sum of squares {found.cost:.6f}, SciPy {other.cost:.6f}")
    deviation = np.sqrt(2 * found.cost / (FURS.size - len(START)))
    print(f"standard deviation of the errors {deviation:.3f}, published 0.25 and 0.25")
    print("                    estimate    error     SciPy   published")
    columns = [estimates, errors, np.exp(other.x), PUBLISHED, PUBLISHED_DEVIATION]
    for name, (ours, error, scipy, mean, spread) in zip(NAMES, np.transpose(columns)):
        print(f"{name:18}{ours:10.4f} ±{error:7.4f}{scipy:10.4f}{mean:9.4g} ± {spread:.2g}")
    draw(options.figure, found.x, covariance, jacobian)
    return columns, (found.cost, other.cost)


if __name__ == "__main__":
    main()
