"""Fourier transforms, complex intermediate values and linear algebra."""

import autograd.numpy as np
import autograd.numpy.linalg as npla
import autograd.numpy.random as npr
from autograd import grad, holomorphic_grad, jacobian


def run():
    rs = npr.RandomState(4)
    signal = rs.randn(8)
    A = rs.randn(4, 4)
    S = np.dot(A, A.T) + 4 * np.eye(4)

    power = lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2 * np.arange(8))
    filtered = lambda x: np.real(np.fft.ifft(np.fft.fft(x) * np.exp(-np.arange(8) / 3.0)))
    wave = lambda k: np.real(np.sum(np.exp(1j * k * np.arange(5)) / (1.0 + 1j * k)))
    algebra = lambda S: (
        npla.slogdet(S)[1]
        + np.trace(npla.inv(S))
        + np.sum(npla.cholesky(S))
        + npla.norm(npla.solve(S, A))
        + np.sum(npla.eigh(S)[0] ** 2)
        + np.sum(npla.svd(A + S, compute_uv=False))
    )
    symmetric = lambda g: (g + g.T) / 2
    return (
        grad(power)(signal),
        jacobian(filtered)(signal),
        grad(wave)(0.7),
        holomorphic_grad(lambda z: z * np.exp(z))(0.3 + 0.2j),
        grad(lambda z: np.real(z * np.conj(z) * z))(0.3 + 0.2j),
        symmetric(grad(algebra)(S)),
    )
