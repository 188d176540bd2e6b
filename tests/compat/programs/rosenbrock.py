"""The function of Rosenbrock, minimised by SciPy with gradients and Hessian-vector products."""

import autograd.numpy as np
from autograd import grad, hessian, hessian_vector_product, value_and_grad
from scipy.optimize import minimize


def rosenbrock(x):
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


def run():
    start = np.array([-1.0, 0.5])
    bfgs = minimize(value_and_grad(rosenbrock), start, jac=True, method="BFGS")
    newton = minimize(
        rosenbrock,
        start,
        jac=grad(rosenbrock),
        hessp=hessian_vector_product(rosenbrock),
        method="Newton-CG",
    )
    exact = minimize(
        rosenbrock, start, jac=grad(rosenbrock), hess=hessian(rosenbrock), method="trust-exact"
    )
    return [np.round(found.x, 6) for found in (bfgs, newton, exact)], bfgs.nfev
