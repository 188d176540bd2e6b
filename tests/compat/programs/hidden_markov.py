"""A hidden Markov model: the gradient of its evidence is what the EM algorithm needs to expect."""

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad, value_and_grad
from autograd.scipy.special import logsumexp


def normalized(a, axis=-1):
    return a - logsumexp(a, axis=axis, keepdims=True)


def log_evidence(natural, seen):
    start, moves, emits = natural
    alpha = start + emits[:, seen[0]]
    for y in seen[1:]:
        alpha = logsumexp(alpha + moves.T, axis=1) + emits[:, y]
    return logsumexp(alpha)


def em(seen, natural, steps):
    found = []
    for _ in range(steps):
        evidence, expected = value_and_grad(log_evidence)(natural, seen)
        natural = tuple(np.log(e / np.sum(e, axis=-1, keepdims=True)) for e in expected)
        found.append(evidence)
    return found, natural


def run():
    draw = npr.RandomState(0)
    natural = [normalized(draw.randn(*shape)) for shape in ((3,), (3, 3), (3, 4))]
    seen = draw.randint(4, size=30)
    evidences, last = em(seen, tuple(natural), 4)
    by_moves = grad(lambda m: log_evidence((last[0], normalized(m), last[2]), seen))
    return evidences, last, by_moves(draw.randn(3, 3))
