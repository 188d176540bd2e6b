"""Counts that vary more than Poisson's: the negative binomial's parameters by Newton's method."""

import autograd.numpy as np
import autograd.numpy.random as npr
import scipy.optimize
from autograd import grad
from autograd.scipy.special import gammaln


def log_likelihood(failures, p, counts):
    choices = gammaln(failures + counts) - gammaln(failures) - gammaln(counts + 1)
    return np.sum(choices + counts * np.log(p) + failures * np.log(1 - p))


def best_p(failures, counts):
    """The best probability for a number of failures is known in closed form."""
    return np.sum(counts) / np.sum(failures + counts)


def fit(counts, guess):
    def slope(failures):
        return grad(log_likelihood)(failures, best_p(failures, counts), counts)

    failures = scipy.optimize.newton(
        slope, guess, fprime=grad(slope), fprime2=grad(grad(slope)), tol=1e-12
    )
    return failures, best_p(failures, counts)


def run():
    draw = npr.RandomState(0)
    counts = draw.poisson(draw.gamma(5.0, 1.0, size=200))
    failures, p = fit(counts, 2.0)
    at_rest = grad(lambda both: log_likelihood(both[0], both[1], counts))((failures, p))
    return failures, p, [np.round(g, 6) + 0.0 for g in at_rest]
