"""Transforms beside PyTorch: both ways, Jacobians, shapes, caches, reprs, registries."""

import pytest

from .both import same
from .distribution_cases import ours, theirs

pytestmark = pytest.mark.peers
TRANSFORMS = {
    "exp": lambda m, t: (t.ExpTransform(), (3,)),
    "abs": lambda m, t: (t.AbsTransform(), (3,)),
    "affine": lambda m, t: (t.AffineTransform(1.5, -2.0), (3,)),
    "affine of tensors": lambda m, t: (
        t.AffineTransform(m.tensor([1.0, 2.0]), m.tensor([[3.0], [-4.0]])), (2, 2)),
    "affine of vectors": lambda m, t: (
        t.AffineTransform(0.0, m.tensor([3.0, -4.0]), event_dim=1), (3, 2)),
    "power": lambda m, t: (t.PowerTransform(m.tensor([0.5, 2.0])), (3, 2)),
    "sigmoid": lambda m, t: (t.SigmoidTransform(), (3,)),
    "softplus": lambda m, t: (t.SoftplusTransform(), (3,)),
    "tanh": lambda m, t: (t.TanhTransform(), (3,)),
    "softmax": lambda m, t: (t.SoftmaxTransform(), (2, 3)),
    "sticks": lambda m, t: (t.StickBreakingTransform(), (2, 3)),
    "lower cholesky": lambda m, t: (t.LowerCholeskyTransform(), (2, 3, 3)),
    "positive definite": lambda m, t: (t.PositiveDefiniteTransform(), (3, 3)),
    "correlations": lambda m, t: (t.CorrCholeskyTransform(), (2, 6)),
    "reshape": lambda m, t: (t.ReshapeTransform((2, 3), (6,)), (4, 2, 3)),
    "composed": lambda m, t: (
        t.ComposeTransform([t.AffineTransform(0.0, 2.0), t.TanhTransform(), t.ExpTransform()]),
        (3,)),
    "composed of events": lambda m, t: (
        t.ComposeTransform([t.ExpTransform(), t.AffineTransform(0.0, 2.0, event_dim=1)]), (2, 3)),
    "nothing": lambda m, t: (t.identity_transform, (3,)),
    "independent": lambda m, t: (t.IndependentTransform(t.ExpTransform(), 1), (2, 3)),
    "concatenated": lambda m, t: (
        t.CatTransform([t.ExpTransform(), t.AffineTransform(1.0, 3.0)], -1, [1, 2]), (2, 3)),
    "stacked": lambda m, t: (
        t.StackTransform([t.ExpTransform(), t.TanhTransform()], 1), (3, 2)),
    "of a distribution": lambda m, t: (
        t.CumulativeDistributionTransform(m.distributions.Normal(0.5, 2.0)), (3,)),
    "inverse": lambda m, t: (t.SigmoidTransform().inv, (3,)),
    "inverse of composed": lambda m, t: (
        t.ComposeTransform([t.ExpTransform(), t.AffineTransform(0.0, 2.0)]).inv, (3,)),
}  # fmt: skip


def told(x):
    return [f"{v:.4g}" for v in x.flatten().tolist()], tuple(x.shape)


def asked(say, ask):
    try:
        say(ask())
    except Exception as error:
        say(type(error).__name__, str(error).replace("funcgrad.", ""))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_both_ways(name):
    def program(m, say):
        t, shape = TRANSFORMS[name](m, m.distributions)
        m.manual_seed(4)
        x = m.rand(shape) * 0.8 + 0.1
        y = t(x)
        say(t, t.bijective, told(y), told(t.inv(y)))
        asked(say, lambda: t.sign)
        asked(say, lambda: told(t.log_abs_det_jacobian(x, y)))
        asked(say, lambda: told(t.inv.log_abs_det_jacobian(y, x)))
        asked(say, lambda: (tuple(t.forward_shape(x.shape)), tuple(t.inverse_shape(y.shape))))
        asked(say, lambda: (t.domain.event_dim, t.codomain.event_dim, repr(t.inv)))
        asked(say, lambda: (repr(t.domain), repr(t.codomain)))
        asked(say, lambda: (t == t, t == TRANSFORMS[name](m, m.distributions)[0], t.inv.inv is t))
        asked(say, lambda: (t == m.distributions.ExpTransform(), t != t))

    same(program)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_derivatives(name):
    def program(m, say):
        t, shape = TRANSFORMS[name](m, m.distributions)
        m.manual_seed(4)
        x = (m.rand(shape) * 0.8 + 0.1).requires_grad_()
        (g,) = m.autograd.grad((t(x) ** 3).sum(), x, create_graph=True)
        say(told(g))
        (h,) = m.autograd.grad((g**2).sum(), x)
        say(told(h))

    same(program)


def test_caches_return_the_same_tensor():
    def program(m, say):
        for name in TRANSFORMS:
            t, shape = TRANSFORMS[name](m, m.distributions)
            try:
                cached = t.with_cache()
            except NotImplementedError as error:
                say(name, str(error).replace("funcgrad.", ""))
                continue
            x = m.rand(shape) * 0.8 + 0.1
            y = cached(x)
            say(name, cached.inv(y) is x, cached(x) is y, cached.with_cache(1) is cached)

    same(program)


CONSTRAINTS = {
    "real": lambda m, c: c.real,
    "vector": lambda m, c: c.real_vector,
    "positive": lambda m, c: c.positive,
    "nonnegative": lambda m, c: c.nonnegative,
    "above": lambda m, c: c.greater_than(m.tensor([1.0, 2.0, 3.0])),
    "at least": lambda m, c: c.greater_than_eq(2),
    "below": lambda m, c: c.less_than(-1.0),
    "between": lambda m, c: c.interval(-1.0, 3.0),
    "half open": lambda m, c: c.half_open_interval(0.0, 1.0),
    "unit": lambda m, c: c.unit_interval,
    "simplex": lambda m, c: c.simplex,
    "lower cholesky": lambda m, c: c.lower_cholesky,
    "correlations": lambda m, c: c.corr_cholesky,
    "definite": lambda m, c: c.positive_definite,
    "semidefinite": lambda m, c: c.positive_semidefinite,
    "boolean": lambda m, c: c.boolean,
    "one hot": lambda m, c: c.one_hot,
    "integers": lambda m, c: c.integer_interval(-1, 2),
    "whole": lambda m, c: c.nonnegative_integer,
    "counted": lambda m, c: c.positive_integer,
    "multinomial": lambda m, c: c.multinomial(3),
    "triangular": lambda m, c: c.lower_triangular,
    "square": lambda m, c: c.square,
    "symmetric": lambda m, c: c.symmetric,
    "independent": lambda m, c: c.independent(c.positive, 2),
    "concatenated": lambda m, c: c.cat([c.positive, c.real], -1, [1, 2]),
    "stacked": lambda m, c: c.stack([c.positive, c.real, c.unit_interval], -1),
    "mixture": lambda m, c: c.MixtureSameFamilyConstraint(c.positive),
}
VALUES = {
    "mixed": [[-1.0, 0.0, 1.0], [2.0, 0.5, 3.0], [1.0, 1.0, 1.5]],
    "identity": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    "lower": [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.5, 0.5, 0.5]],
    "indefinite": [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints_and_what_leads_onto_them(name):
    def program(m, say):
        d = m.distributions
        constraint = CONSTRAINTS[name](m, d.constraints)
        say(constraint, constraint.event_dim, constraint.is_discrete)
        for x in VALUES.values():
            x = m.tensor(x)
            asked(say, lambda x=x: constraint.check(x))
            for registry in (d.biject_to, d.transform_to):
                asked(say, lambda x=x, r=registry: (str(r(constraint)), told(r(constraint)(x))))

    same(program)


def test_distributions_of_transformed_draws():
    def program(m, say):
        d = m.distributions
        base = d.Uniform(m.zeros(2), m.ones(2))
        logistic = [d.SigmoidTransform().inv, d.AffineTransform(m.tensor([1.0, 2.0]), 2.0)]
        sticks = d.StickBreakingTransform()
        turned = d.AffineTransform(0.0, m.tensor([-1.0, 2.0]))
        for made in (
            d.TransformedDistribution(base, logistic),
            d.TransformedDistribution(d.Normal(m.zeros(3, 2), 1.0), sticks),
            d.TransformedDistribution(d.Normal(m.zeros(2), 1.0), [turned]),
            d.TransformedDistribution(
                d.Normal(m.zeros(1), 1.0), d.AffineTransform(m.zeros(4), 2.0)
            ),
            d.TransformedDistribution(d.Normal(m.zeros(4), 1.0), d.ReshapeTransform((4,), (2, 2))),
            d.TransformedDistribution(d.Normal(0.0, 1.0), []),
        ):
            m.manual_seed(3)
            say(made, made.batch_shape, made.event_shape, made.support, made.has_rsample)
            x = made.sample((2,))
            say(told(x))
            for ask in (made.log_prob, made.cdf, made.icdf):
                asked(say, lambda ask=ask, x=x: told(ask(x.abs() if ask == made.icdf else x)))
            wide = made.expand((3, *made.batch_shape))
            say(wide.batch_shape, told(wide.log_prob(made.sample())))

    same(program)


def test_triangles_as_vectors():
    def program(m, say):
        from importlib import import_module

        utils = import_module(f"{m.__name__}.distributions.utils")
        for diag in (-2, -1, 0, 1):
            x = m.arange(16.0).reshape(4, 4)
            vec = utils.tril_matrix_to_vec(x, diag)
            say(told(vec))
            if diag <= 0:
                say(told(utils.vec_to_tril_matrix(vec, diag)))
        asked(say, lambda: utils.tril_matrix_to_vec(m.zeros(2, 2), 2))
        asked(say, lambda: utils.broadcast_all("a", 1.0))

    same(program)


def test_libraries_are_different():
    assert theirs is None or ours.distributions.Normal is not theirs.distributions.Normal
