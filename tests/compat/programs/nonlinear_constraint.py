"""A minimum under a curved constraint, whose Jacobian and weighted Hessians SciPy asks for."""

import autograd.numpy as np
from autograd import hessian, hessian_vector_product, jacobian, make_vjp
from scipy.optimize import Bounds, NonlinearConstraint, minimize


def distance(x):
    return x[0] ** 2 + x[1] ** 2


def between_branches(x):
    return np.array([x[0] ** 2 - (x[1] - 1) ** 2])


def weighted_hessian(x, weights):
    return hessian(lambda y: np.dot(weights, between_branches(y)))(x)


def run():
    constraint = NonlinearConstraint(
        between_branches, 2, np.inf, jac=jacobian(between_branches), hess=weighted_hessian
    )
    found = minimize(
        distance,
        np.array([1.0, 2.0]),
        method="trust-constr",
        jac=jacobian(distance),
        hessp=hessian_vector_product(distance),
        constraints=[constraint],
        bounds=Bounds([-np.inf, -np.inf], [np.inf, np.inf]),
        options={"maxiter": 40},
    )
    pull, value = make_vjp(between_branches)(found.x)
    multiplier = np.sum(pull(np.ones(1)) * jacobian(distance)(found.x))
    return np.round(found.x, 5), np.round(value, 5), np.round(multiplier, 4)
