"""The flow of the Nile, 1871 to 1970: a Kalman filter fitted by its gradient, and smoothed by it.

    python docs/examples/nile.py

The local level model, after Durbin and Koopman, *Time Series Analysis by State Space Methods*:
what is observed is a level and noise, and the level walks at random. The filter is a plain Python
loop. The derivative of its likelihood by the two variances finds the estimates; the derivatives by
the observations are the smoother. Everything is compared with statsmodels, which also ships the
series. A figure is saved as `nile.png`.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import minimize
from statsmodels.datasets import nile
from statsmodels.tsa.statespace.structural import UnobservedComponents

import funcgrad as fg

matplotlib.use("Agg")  # draws to a file, also where there is no screen
import matplotlib.pyplot as plt


def load():
    """Years and annual flows in 10⁸ m³."""
    data = nile.load_pandas().data
    return data["year"].to_numpy(int), data["volume"].to_numpy()


def log_likelihood(variances, flow):
    """Of the variances of noise and of the level's steps, where nothing is known of the start."""
    noise, step = variances
    level, variance = flow[0], noise + step  # the first year tells where the level is
    total = 0.0
    for y in flow[1:]:
        error, spread = y - level, variance + noise
        total = total + np.log(spread) + error**2 / spread
        gain = variance / spread
        level = level + gain * error
        variance = (1 - gain) * variance + step
    return -0.5 * (len(flow) * np.log(2 * np.pi) + total)


def fit(flow):
    """The most likely variances and their standard errors."""

    def loss(logarithms):
        return -log_likelihood(np.exp(logarithms), flow)

    start = np.log([flow.var() / 2, flow.var() / 2])
    found = minimize(fg.jit(fg.value_and_grad(loss)), start, jac=True, options={"gtol": 1e-8})
    variances = np.exp(found.x)
    information = -fg.jit(fg.hessian(log_likelihood))(variances, flow)
    return variances, np.sqrt(np.diag(np.linalg.inv(information)))


def smooth(variances, flow):
    """The level in each year and its standard deviation, given the whole series.

    The noise of year t, given everything, has the mean -noise · ∂ log L / ∂y[t] and the variance
    noise + noise² · ∂² log L / ∂y[t]²; the level is what remains of the observation.
    """
    noise = variances[0]
    slope = fg.jit(fg.grad(log_likelihood, argnums=1))(variances, flow)
    curvature = np.diag(fg.jit(fg.hessian(log_likelihood, argnums=1))(variances, flow))
    return flow + noise * slope, np.sqrt(noise + noise**2 * curvature)


def reference(flow, variances):
    """What statsmodels gives: its own fit, and the model with given variances."""
    model = UnobservedComponents(flow, "local level", use_exact_diffuse=True)
    own = model.fit(disp=False, method="bfgs", gtol=1e-9)
    return own, model.smooth(variances)


def draw(path, years, flow, level, deviation):
    figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    axes.plot(years, flow, "o-", color="0.6", markersize=3, linewidth=0.7, label="annual flow")
    axes.plot(years, level, color="tab:blue", label="smoothed level")
    band = 1.645 * deviation
    axes.fill_between(
        years, level - band, level + band, color="tab:blue", alpha=0.2, label="90 % of it"
    )
    axes.axvline(1898, color="tab:red", linewidth=0.8, linestyle="--")
    axes.annotate(
        "1898: work on the\ndam at Aswan begins", (1898, 1190), (1899, 1190), color="tab:red"
    )
    axes.set(ylabel="flow (10⁸ m³)", title="The Nile at Aswan, local level model", ylim=(400, 1450))
    axes.legend(loc="upper right", ncols=3)
    figure.savefig(path, dpi=80)
    plt.close(figure)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", type=Path, default=Path("nile.png"), help="where to draw")
    options = parser.parse_args(arguments)
    years, flow = load()
    variances, errors = fit(flow)
    level, deviation = smooth(variances, flow)
    value = log_likelihood(variances, flow)
    own, given = reference(flow, variances)

    print(f"log-likelihood {value:.6f}, statsmodels {given.llf:.6f}")
    for name, estimate, error, other in zip(["noise", "step"], variances, errors, own.params):
        print(f"variance of the {name:5} {estimate:8.1f} ± {error:6.1f}, statsmodels {other:8.1f}")
    distance = np.max(np.abs(level - given.smoothed_state[0]))
    print(
        f"the smoothed levels of both differ by less than {10 ** np.ceil(np.log10(distance)):.0e}"
    )
    draw(options.figure, years, flow, level, deviation)
    return value, variances, errors, level, deviation, own, given


if __name__ == "__main__":
    main()
