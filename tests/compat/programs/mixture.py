"""A Gaussian mixture by conjugate gradients with Hessian-vector products."""

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.multivariate_normal as mvn
from autograd import grad, hessian_vector_product
from autograd.misc.flatten import flatten_func
from autograd.scipy.special import logsumexp
from scipy.optimize import minimize


def init_gmm_params(num_components, D, scale, rs):
    return {
        "log proportions": rs.randn(num_components) * scale,
        "means": rs.randn(num_components, D) * scale,
        "lower triangles": np.zeros((num_components, D, D)) + np.eye(D),
    }


def log_normalize(x):
    return x - logsumexp(x)


def unpack_gmm_params(params):
    normalized = log_normalize(params["log proportions"])
    return zip(normalized, params["means"], params["lower triangles"])


def gmm_log_likelihood(params, data):
    cluster_lls = []
    for log_proportion, mean, cov_sqrt in unpack_gmm_params(params):
        cov = np.dot(cov_sqrt.T, cov_sqrt)
        cluster_lls.append(log_proportion + mvn.logpdf(data, mean, cov))
    return np.sum(logsumexp(np.vstack(cluster_lls), axis=0))


def run():
    rs = npr.RandomState(0)
    data = np.concatenate([rs.randn(10, 2) + c for c in ([-2, 0], [2, 1], [0, -3])])
    params = init_gmm_params(3, 2, 0.5, rs)
    objective, unflatten, flattened = flatten_func(
        lambda params: -gmm_log_likelihood(params, data), params
    )
    scalar = lambda x: objective(x)[0]
    found = minimize(
        scalar, flattened, jac=grad(scalar), hessp=hessian_vector_product(scalar),
        method="Newton-CG", options={"maxiter": 3},
    )  # fmt: skip
    return grad(scalar)(flattened), found.fun, unflatten(found.x)
