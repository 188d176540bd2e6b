"""Fit GARCH(1,1) to twenty years of daily returns of the S&P 500, with standard errors.

    python docs/examples/garch.py

The variance of a day depends on the day before: a `scan` over 5030 days, of which `jit` makes
native loops for value, gradient and Hessian. SciPy's `minimize` does the rest. Estimates and
standard errors are compared with those of the package `arch`, which also ships the prices. A figure
is saved as `garch.png`.
"""

import argparse
from pathlib import Path

import arch.data.sp500
import matplotlib
import numpy as np
from arch import arch_model
from scipy.optimize import minimize

import funcgrad as fg

matplotlib.use("Agg")  # draws to a file, also where there is no screen
import matplotlib.pyplot as plt

NAMES = ["mu", "omega", "alpha", "beta"]


def load():
    """Days and returns in percent."""
    prices = arch.data.sp500.load()["Adj Close"]
    returns = 100 * prices.pct_change().dropna()
    return returns.index.to_numpy(), returns.to_numpy()


def backcast(returns):
    """The variance before the first day: squared returns, those of the first days weigh most."""
    weights = 0.94 ** np.arange(75)
    return weights @ (returns[:75] - returns.mean()) ** 2 / weights.sum()


def variances(parameters, returns):
    """The variance of each day, given the days before it."""
    mu, omega, alpha, beta = parameters

    def tomorrow(variance, r):
        return omega + alpha * (r - mu) ** 2 + beta * variance, variance

    first = omega + (alpha + beta) * backcast(returns)
    return fg.scan(tomorrow, first, returns)[1]


def terms(parameters, returns):
    """The negative logarithm of the likelihood, a number for each day."""
    variance = variances(parameters, returns)
    return 0.5 * (np.log(2 * np.pi * variance) + (returns - parameters[0]) ** 2 / variance)


def loss(parameters, returns):
    return np.sum(terms(parameters, returns))


def fit(returns):
    """Estimates, and their covariance: from the Hessian, and the robust one."""
    start = np.array([returns.mean(), 0.05 * returns.var(), 0.1, 0.85])
    found = minimize(
        fg.jit(fg.value_and_grad(loss)), start, args=(returns,), jac=True, method="L-BFGS-B",
        bounds=[(None, None), (1e-9, None), (0, 1), (0, 1)],
        options={"ftol": 1e-15, "gtol": 1e-6},
    )  # fmt: skip
    inverse = np.linalg.inv(fg.jit(fg.hessian(loss))(found.x, returns))
    scores = fg.jit(fg.jacfwd(terms))(found.x, returns)  # a row for each day
    return found, inverse, inverse @ (scores.T @ scores) @ inverse


def reference(returns):
    """What the package `arch` finds: its results with both kinds of standard errors."""
    model = arch_model(returns, mean="Constant", vol="GARCH", p=1, q=1)
    options = {"disp": "off", "tol": 1e-12}
    return model.fit(cov_type="classic", **options), model.fit(cov_type="robust", **options)


def draw(path, days, returns, parameters):
    """Returns within two standard deviations, and the volatility of a year."""
    deviation = np.sqrt(variances(parameters, returns))
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(9, 5.5), sharex=True, layout="constrained", height_ratios=[3, 2]
    )
    above.plot(days, returns, ".", color="0.45", markersize=1.5, label="daily return")
    mu = parameters[0]
    for sign in (-2, 2):
        label = "mean ± 2 standard deviations" if sign > 0 else None
        above.plot(days, mu + sign * deviation, color="tab:red", linewidth=0.7, label=label)
    above.set(ylabel="return (%)", title="S&P 500, GARCH(1,1)")
    above.legend(loc="lower right", markerscale=6)
    below.plot(days, deviation * np.sqrt(252), color="tab:red", linewidth=0.7)
    below.set(ylabel="volatility (% a year)", ylim=(0, None))
    below.grid(alpha=0.3)
    figure.savefig(path, dpi=80)
    plt.close(figure)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", type=Path, default=Path("garch.png"), help="where to draw")
    options = parser.parse_args(arguments)
    days, returns = load()
    found, classic, robust = fit(returns)
    others = reference(returns)

    likelihoods = -found.fun, others[0].loglikelihood
    print("{} returns; log-likelihood {:.4f}, arch {:.4f}".format(len(returns), *likelihoods))
    print("        estimate     arch   std error     arch      robust     arch")
    columns = [
        found.x, others[0].params, np.sqrt(np.diag(classic)), others[0].std_err,
        np.sqrt(np.diag(robust)), others[1].std_err,
    ]  # fmt: skip
    for name, row in zip(NAMES, np.transpose(columns)):
        print(f"{name:6}" + "".join(f"{a:10.5f} {b:8.5f}  " for a, b in row.reshape(3, 2)).rstrip())
    draw(options.figure, days, returns, found.x)
    return columns, likelihoods


if __name__ == "__main__":
    main()
