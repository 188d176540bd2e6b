"""Primitives of a third party: each form, defined outside the package, in every transform.

They have samples, so `test_rules.py` tests them like those of the house where both files run.

Every operation here stands next to a twin, the same function in ordinary NumPy, whose
derivatives are taken by the primitives of the house.
"""

import numpy as np
import pytest
import scipy.special

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import NotDifferentiableError
from funcgrad.extend import (
    PRIMITIVES,
    ArrayType,
    HigherOrder,
    Sample,
    align,
    constant,
    elementwise,
    every_lane,
    explicit,
    linear,
    multilinear,
)
from funcgrad.testing import check_grads

X = np.array([0.3, -0.6, 0.9])

# ------------------------------------------------------------------------- elementwise

softsign = elementwise(
    lambda x: x / (1.0 + np.abs(x)),
    lambda _, x: 1.0 / (1.0 + np.abs(x)) ** 2,
    name="other.softsign",
    sample=lambda: [Sample((X,))],
)
wave = elementwise(
    lambda x, y: np.sin(x) * y,
    lambda _, x, y: np.cos(x) * y,
    lambda _, x, __: np.sin(x),
    name="other.wave",
    sample=lambda: [Sample((X, X[::-1])), Sample((X[:, None], X))],
)
inverse_erfc = elementwise(
    scipy.special.erfcinv,
    lambda y, _: -0.5 * np.sqrt(np.pi) * np.exp(y * y),
    name="other.erfcinv",
    sample=lambda: [Sample((np.array([0.3, 0.9, 1.4]),))],
)

# ------------------------------------------------------------- linear and multilinear

turn = linear(
    "other.turn",
    lambda x, k: np.roll(x, k, -1),
    lambda g, x, *, k: turn(g, k=-k),
    lambda x, *, k: ArrayType(x.shape, x.dtype),
    lambda size, xs, batched, params: turn(*xs, **params),  # the last axis stays the last
    sample=lambda: [Sample((X,), {"k": 1})],
)

mirrored = multilinear(
    "other.mirrored",
    lambda x, y: x * y[..., ::-1],
    (
        lambda g, x, y: g * y[..., ::-1],
        lambda g, x, y: (g * x)[..., ::-1],
    ),
    lambda x, y: ArrayType(x.shape, x.dtype),
    lambda size, xs, batched, params: mirrored(*every_lane(size, align(xs, batched), batched)),
    sample=lambda: [Sample((X, 2.0 * X))],
)

# ---------------------------------------------------------------------------- explicit

logsumexp = explicit(
    "other.logsumexp",
    lambda x: np.logaddexp.reduce(x, axis=-1),
    signature="(n)->()",
    vjp=[lambda g, y, x: np.expand_dims(g, -1) * np.exp(x - np.expand_dims(y, -1))],
    sample=lambda: [Sample((X,)), Sample((np.stack([X, -X]),))],
)
# its rule returns a view
turned_square = explicit(
    "other.turned_square",
    lambda x: (x * x)[::-1],
    type_rule=lambda x: x,
    vjp=[lambda g, _, x: (2.0 * x[::-1] * g)[::-1]],
    sample=lambda: [Sample((X,))],
)
# only a jvp, two outputs, no batching rule: all else is derived
circle = explicit(
    "other.circle",
    lambda x: (np.cos(x), np.sin(x)),
    type_rule=lambda x: (ArrayType(x.shape, x.dtype),) * 2,
    jvp=lambda y, xs, ts: (-y[1] * ts[0], y[0] * ts[0]),
    multiple=True,
    sample=lambda: [Sample((X,))],
)
half_steps = constant(
    "other.half_steps",
    lambda x: np.floor(2.0 * x),
    lambda x: ArrayType(x.shape, x.dtype),
    lambda size, xs, batched, params: half_steps(*xs),
    sample=lambda: [Sample((X,))],
)

# ------------------------------------------------------------------------ higher order


class Twice(HigherOrder):
    """A function applied to its own result: each transform follows it through both calls."""

    def tape(self, trace, args, params):
        return self.impl(*args, **params)

    forward = map = stage = tape


TWICE = Twice("test_twice", lambda x, f: (f(f(x)),))


def twice(f, x):
    return TWICE(x, f=f)[0]


# ------------------------------------------------------------------------------- tests

PAIRS = {
    "elementwise": (
        lambda x: softsign(x) * x,
        lambda x: x / (1.0 + np.abs(x)) * x,
    ),
    "elementwise of two": (
        lambda x: wave(x, x[:1]) + wave(2.0, x),
        lambda x: np.sin(x) * x[:1] + np.sin(2.0) * x,
    ),
    "linear": (
        lambda x: turn(x * x, k=1) * x,
        lambda x: np.roll(x * x, 1) * x,
    ),
    "multilinear": (
        lambda x: mirrored(np.sin(x), x) + mirrored(x, X),
        lambda x: np.sin(x) * x[::-1] + x * X[::-1],
    ),
    "explicit, by its vjp": (
        lambda x: logsumexp(np.stack([x, x * x, 2.0 * x])),
        lambda x: np.logaddexp(np.logaddexp(*np.stack([x, x * x, 2.0 * x]).T[:2]),
                               np.stack([x, x * x, 2.0 * x]).T[2]),
    ),
    "explicit, with a view": (
        lambda x: turned_square(np.sin(x)),
        lambda x: (np.sin(x) ** 2)[::-1],
    ),
    "explicit, by its jvp": (
        lambda x: circle(x)[0] * circle(x * x)[1],
        lambda x: np.cos(x) * np.sin(x * x),
    ),
    "higher order": (
        lambda x: twice(lambda y: np.sin(y) * y, x),
        lambda x: np.sin(np.sin(x) * x) * (np.sin(x) * x),
    ),
}  # fmt: skip


def total(f):
    return lambda x: np.sum(f(x) ** 2)


TRANSFORMS = {
    "value": lambda f: f,
    "grad": lambda f: fg.grad(total(f)),
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (X * X,))[1],
    "vjp": lambda f: lambda x: fg.vjp(f, x)[1](X)[0],
    "linearize": lambda f: lambda x: fg.linearize(f, x)[1](X),
    "jacrev": fg.jacrev,
    "jacfwd": fg.jacfwd,
    "hessian": lambda f: fg.hessian(total(f)),
    "third order": lambda f: fg.grad(lambda x: np.sum(fg.hessian(total(f))(x) * X)),
    "vmap": lambda f: lambda x: fg.vmap(f)(np.stack([x, 2.0 * x])),
    "vmap of grad": lambda f: lambda x: fg.vmap(fg.grad(total(f)))(np.stack([x, 2.0 * x])),
    "grad of vmap": lambda f: fg.grad(
        lambda x: np.sum(fg.vmap(f, in_axes=1)(fnp.stack([x, 2.0 * x], 1)) ** 2)
    ),
    "jvp of vmap": lambda f: (
        lambda x: fg.jvp(lambda x: fg.vmap(f)(fnp.stack([x, x * x])), (x,), (X,))[1]
    ),
    "jit": lambda f: fg.jit(f),
    "jit of grad": lambda f: fg.jit(fg.grad(total(f))),
    "grad of jit": lambda f: fg.grad(fg.jit(total(f))),
    "jit of vmap of grad": lambda f: fg.jit(
        lambda x: fg.vmap(fg.grad(total(f)))(fnp.stack([x, 2.0 * x]))
    ),
    "checkpoint": lambda f: fg.grad(fg.checkpoint(total(f))),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_every_form_in_every_transform(pair, transform):
    ours, twin = (transform(f)(X) for f in pair)
    np.testing.assert_allclose(ours, twin, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("f", [pair[0] for pair in PAIRS.values()], ids=PAIRS)
def test_the_rules_agree_with_differences(f):
    check_grads(f, (X,), order=2)


def test_a_ufunc_of_another_package_works_as_it_is():
    x = np.array([0.3, 0.9, 1.4])
    derivative = -np.sqrt(np.pi) / 2 * np.exp(scipy.special.erfcinv(x) ** 2)
    np.testing.assert_array_equal(inverse_erfc(x), scipy.special.erfcinv(x))
    for f in (inverse_erfc, scipy.special.erfcinv):
        np.testing.assert_allclose(fg.grad(lambda x: np.sum(f(x)))(x), derivative)


def test_a_cell_of_a_notebook_that_is_run_twice():
    """The rule that was stated last counts, also where NumPy calls the plain ufunc."""
    ufunc = scipy.special._ufuncs._lgam1p
    for factor in (2.0, 3.0):
        stated = elementwise(ufunc, lambda _, x, factor=factor: x * factor)
        for f in (stated, ufunc):
            assert fg.grad(f)(2.0) == 2.0 * factor
            assert fg.jit(fg.grad(f))(2.0) == 2.0 * factor
        by_name = linear(
            "other.again",
            lambda x: x * 1.0,
            lambda g, x, k=factor: g * k,
            lambda x: x,
            lambda size, xs, batched, params: xs[0],
        )
        assert fg.grad(lambda x, f=by_name: f(x))(1.0) == factor
    elementwise(np.sin, lambda _, x: 5.0 * x)  # ours stays
    assert fg.grad(np.sin)(0.0) == 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_are_those_of_the_function(dtype):
    x = X.astype(dtype)
    for y in (softsign(x), fg.jit(softsign)(x), fg.grad(lambda x: softsign(x).sum())(x)):
        assert y.dtype == dtype
    assert fg.jit(wave)(x, 2.0).dtype == wave(x, 2.0).dtype == dtype
    assert fg.jit(wave)(x, X).dtype == wave(x, X).dtype == np.float64


def test_a_locally_constant_operation_records_nothing():
    np.testing.assert_array_equal(
        fg.grad(lambda x: np.sum(half_steps(x) * x))(X), np.floor(2.0 * X)
    )
    np.testing.assert_array_equal(fg.vmap(half_steps)(X), np.floor(2.0 * X))


def test_what_is_not_stated_is_named():
    with pytest.raises(ValueError, match="state a vjp or a jvp"):
        explicit("other.nothing", np.sin, type_rule=lambda x: x)
    with pytest.raises(ValueError, match="state a type rule or a signature"):
        explicit("other.no_type", np.sin, vjp=[lambda g, y, x: g])


def test_an_action_that_a_higher_order_operation_lacks_is_named():
    opaque = HigherOrder("test_opaque", lambda x: (x + 1.0,))
    apply = lambda x: opaque(x)[0]
    assert apply(1.0) == 2.0
    for transform in (
        fg.grad(apply),
        lambda x: fg.jvp(apply, (x,), (x,)),
        lambda x: fg.vmap(apply)(X * x),
    ):
        with pytest.raises(NotDifferentiableError, match="test_opaque has no"):
            transform(1.0)


def test_the_records_are_listed():
    assert {"other.softsign", "other.turn", "other.circle", "test_twice"} <= set(PRIMITIVES)
    assert repr(turn) == "other.turn"
    assert "other.turn" in str(fg.make_graph(PAIRS["linear"][0])(X))
