"""Custom rules under every transform, and what is said of wrong ones."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import CustomRuleError, NotDifferentiableError, TreeError

X = np.array([0.3, -0.6, 0.9])


@fg.custom_vjp
def tripled(x):
    """The sine, whose gradient we call three times the cosine."""
    return np.sin(x)


tripled.defvjp(lambda x: (np.sin(x), x), lambda x, g: (3.0 * np.cos(x) * g,))


@fg.custom_jvp
def doubled(x):
    return np.sin(x)


doubled.defjvp(lambda xs, ts: (np.sin(xs[0]), 2.0 * np.cos(xs[0]) * ts[0]))


@pytest.mark.parametrize(("f", "k"), [(tripled, 3.0), (doubled, 2.0)])
def test_every_mode_uses_the_rule(f, k):
    want = k * np.cos(X)
    total = lambda x: np.sum(f(x))
    np.testing.assert_array_equal(f(X), np.sin(X))
    np.testing.assert_allclose(fg.grad(total)(X), want)
    np.testing.assert_allclose(fg.jvp(f, (X,), (np.ones(3),))[1], want)
    np.testing.assert_allclose(fg.jit(fg.grad(total))(X), want)
    np.testing.assert_allclose(fg.grad(fg.jit(total))(X), want)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(X), want)
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(fg.vmap(f)(x)))(X), want)
    np.testing.assert_allclose(fg.jvp(fg.vmap(f), (X,), (np.ones(3),))[1], want)
    np.testing.assert_allclose(fg.jit(fg.vmap(fg.grad(f)))(X), want)
    # the rule itself is differentiated for the second order
    np.testing.assert_allclose(fg.vmap(fg.grad(fg.grad(f)))(X), -k * np.sin(X))
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(fg.checkpoint(f)(x)))(X), want)


def test_unmapped_operands_get_the_sum():
    @fg.custom_vjp
    def f(x, w):
        return x * w

    f.defvjp(lambda x, w: (x * w, (x, w)), lambda r, g: (g * r[1], g * r[0]))
    g = fg.grad(lambda w: np.sum(fg.vmap(f, in_axes=(0, None))(X, w)))
    np.testing.assert_allclose(g(2.0), np.sum(X))


def test_trees_static_arguments_and_several_outputs():
    @fg.custom_vjp
    def f(n, p):
        return {"a": p["x"] * n, "b": p["y"]}

    f = fg.custom_vjp(f.fun, nondiff_argnums=(0,))
    f.defvjp(
        lambda n, p: ({"a": p["x"] * n, "b": p["y"]}, None),
        lambda n, _, g: ({"x": 10.0 * n * g["a"], "y": None or g["b"]},),
    )
    g = fg.grad(lambda p: f(2, p)["a"] + 3.0 * f(2, p)["b"])({"x": 1.0, "y": 1.0})
    assert g == {"x": 20.0, "y": 3.0}


def test_wrong_rules_are_named():
    @fg.custom_vjp
    def f(x):
        return x

    with pytest.raises(CustomRuleError, match="no rule yet"):
        f(1.0)
    f.defvjp(lambda x: (x, None), lambda _, g: (g, g))
    with pytest.raises(CustomRuleError, match="tuple of 1, one for each argument; got 2"):
        fg.grad(f)(1.0)
    f.defvjp(lambda x: (x, None), lambda _, g: (np.ones(2),))
    with pytest.raises(CustomRuleError, match=r"returned shape \(2,\); it has to be \(\)"):
        fg.grad(f)(1.0)
    f.defvjp(lambda x: (x, None), lambda _, g: ([g],))
    with pytest.raises(CustomRuleError, match="returned the tree"):
        fg.grad(f)(1.0)
    f.defvjp(lambda x: x, lambda _, g: (g,))
    with pytest.raises(CustomRuleError, match=r"has to return \(output, residuals\)"):
        fg.grad(f)(1.0)


def test_closing_over_a_traced_value_is_named():
    def loss(w):
        f = fg.custom_vjp(lambda x: x * w)
        f.defvjp(lambda x: (x * w, None), lambda _, g: (g,))
        return f(w * 1.0)

    for transform in (fg.grad, lambda f: fg.jit(fg.grad(f))):
        with pytest.raises(CustomRuleError, match="closes over a traced value"):
            transform(loss)(2.0)


def scaled_by_jvp(w):
    f = fg.custom_jvp(lambda x: x * w)
    f.defjvp(lambda xs, ts: (f(*xs), ts[0] * w))
    return f


def scaled_by_vjp(w):
    f = fg.custom_vjp(lambda x: x * w)
    f.defvjp(lambda x: (x * w, None), lambda _, g: (g * w,))
    return f


def scaled_by_gradient(w):
    return fg.custom_gradient(lambda x: (x * w, lambda g: g * w))


SCALED = [scaled_by_jvp, scaled_by_vjp, scaled_by_gradient]
ROWS = np.stack([X, X + 1.0])


@pytest.mark.parametrize("scaled", SCALED)
def test_closing_over_an_example_of_vmap(scaled):
    """A result held the tracer of the transform that had ended."""
    f = lambda x: scaled(np.sin(x))(2.0 * x)
    np.testing.assert_array_equal(fg.vmap(f)(ROWS), np.sin(ROWS) * (2.0 * ROWS))
    deep = np.stack([ROWS, -ROWS])
    np.testing.assert_array_equal(fg.vmap(fg.vmap(f))(deep), np.sin(deep) * (2.0 * deep))
    loss = lambda x: np.sum(f(x))
    for made in (
        fg.vmap(fg.grad(loss)),
        fg.grad(lambda x: np.sum(fg.vmap(f)(x))),
        lambda x: fg.jvp(fg.vmap(f), (x,), (x,)),
        fg.jit(fg.vmap(f)),
    ):
        with pytest.raises(CustomRuleError, match="closes over a traced value"):
            made(ROWS)


def test_a_rule_of_batching_that_closes_over_a_traced_value():
    def scaled(x):
        w = np.sin(x)
        f = fg.custom_vmap(lambda v: v * w)
        f.def_vmap(lambda size, batched, v: (v * w, batched[0]))
        return f(2.0 * x)

    with pytest.raises(CustomRuleError, match="closes over an example of the vmap"):
        fg.vmap(scaled)(ROWS)
    np.testing.assert_allclose(fg.jit(scaled)(X), np.sin(X) * 2.0 * X, rtol=1e-15)
    wanted = 2.0 * (np.cos(X) * X + np.sin(X))
    for made in (fg.grad, lambda f: fg.jit(fg.grad(f)), lambda f: fg.grad(fg.jit(f))):
        np.testing.assert_allclose(made(lambda x: np.sum(scaled(x)))(X), wanted, rtol=1e-14)


def test_a_root_searched_from_an_example():
    def root(x, start):
        def newton(f, y):
            for _ in range(50):
                y = y - f(y) / (3 * y * y)
            return y

        return fg.lax.custom_root(lambda y: y**3 - x, start, newton, lambda g, y: y / g(1.0))

    xs = np.array([0.3, 0.9])
    for f in (lambda x: root(x, x), lambda x: root(x, 1.0 + 0.0 * x)):
        found = fg.vmap(f)(xs)
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, np.cbrt(xs), rtol=1e-14)
        np.testing.assert_allclose(fg.jit(fg.vmap(f))(xs), np.cbrt(xs), rtol=1e-14)
        for made in (fg.vmap(fg.grad(f)), fg.jit(fg.vmap(fg.grad(f)))):
            np.testing.assert_allclose(made(xs), xs ** (-2 / 3) / 3, rtol=1e-13)


def test_a_rule_that_is_not_linear_has_no_forward_mode():
    f = fg.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, g: (g * g,))
    assert fg.grad(f)(1.0) == 1.0
    with pytest.raises(NotDifferentiableError, match="not linear"):
        fg.jvp(f, (1.0,), (1.0,))


@pytest.mark.parametrize("bwd", [lambda _, g: (np.where(X > 0, g, 1.0),), lambda _, g: (X,)])
def test_a_rule_that_is_affine_has_no_forward_mode(bwd):
    f = fg.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), bwd)
    for forward in (lambda x: fg.jvp(f, (x,), (x,)), lambda x: fg.linearize(f, x)):
        for transform in (lambda g: g, fg.jit):
            with pytest.raises(NotDifferentiableError, match="its value at zero is not zero"):
                transform(forward)(X)


@pytest.mark.parametrize("wrap", [fg.jit, fg.checkpoint])
def test_a_rule_may_call_a_linear_function_that_is_staged(wrap):
    f = fg.custom_vjp(np.sin)
    pull = wrap(lambda x, g: np.cos(x) * g)
    f.defvjp(lambda x: (np.sin(x), x), lambda x, g: (pull(x, g),))
    np.testing.assert_allclose(fg.jvp(f, (X,), (X,))[1], np.cos(X) * X)
    np.testing.assert_allclose(fg.hessian(lambda x: np.sum(f(x)))(X), np.diag(-np.sin(X)))


def test_wrong_forward_rules_are_named():
    f = fg.custom_jvp(lambda x: x)
    with pytest.raises(CustomRuleError, match=r"no rule yet; call defjvp\(jvp\) first"):
        f(1.0)
    f.defjvp(lambda xs, ts: xs[0])
    with pytest.raises(CustomRuleError, match=r"jvp rule of .* has to return a tuple of 2"):
        fg.jvp(f, (1.0,), (1.0,))
    f.defjvp(lambda xs, ts: (xs[0], np.ones(2)))
    with pytest.raises(CustomRuleError, match=r"returned shape \(2,\); it has to be \(\)"):
        fg.jvp(f, (1.0,), (1.0,))
    f.defjvp(lambda xs, ts: (xs[0], (ts[0],)))
    with pytest.raises(CustomRuleError, match="returned a tangent of tree"):
        fg.grad(f)(1.0)
    f.defjvp(lambda xs, ts: (xs[0], "text"))
    with pytest.raises(TreeError, match="is 'str', which is neither an array nor a number"):
        fg.jvp(f, (1.0,), (1.0,))


# ------------------------------------------------------- arguments that can be given by name only


def scaled():
    @fg.custom_vjp
    def f(x, *, k=2.0):
        return x * k

    f.defvjp(lambda x, *, k=2.0: (x * k, k), lambda k, g: (10.0 * k * g,))
    return f


def scaled_forward():
    @fg.custom_jvp
    def f(x, *, k=2.0):
        return x * k

    @f.defjvp
    def _(primals, tangents, *, k=2.0):
        return f(*primals, k=k), 10.0 * k * tangents[0]

    return f


@pytest.mark.parametrize("make", [scaled, scaled_forward])
def test_arguments_given_by_name_reach_the_function_and_its_rule(make):
    f = make()
    np.testing.assert_array_equal(f(X), 2.0 * X)
    np.testing.assert_array_equal(f(X, k=3.0), 3.0 * X)
    np.testing.assert_array_equal(f(x=X, k=3.0), 3.0 * X)
    for k in (2.0, 3.0, np.array([1.0, 2.0, 3.0])):
        total = lambda x, k=k: np.sum(f(x, k=k))
        want = 10.0 * k * np.ones(3)
        np.testing.assert_array_equal(fg.grad(total)(X), want)
        np.testing.assert_array_equal(fg.jit(fg.grad(total))(X), want)
        np.testing.assert_array_equal(fg.grad(fg.jit(total))(X), want)
        np.testing.assert_array_equal(fg.jvp(total, (X,), (np.ones(3),))[1], np.sum(want))
        np.testing.assert_array_equal(fg.vmap(fg.grad(total))(X[None]), want[None])


@pytest.mark.parametrize("make", [scaled, scaled_forward])
def test_a_traced_argument_given_by_name_is_refused(make):
    f = make()
    with pytest.raises(CustomRuleError, match="'k', which has no position, is traced"):
        fg.grad(lambda k: f(2.0, k=k))(3.0)
    with pytest.raises(CustomRuleError, match="give the argument a position"):
        fg.jit(lambda x, k: f(x, k=k))(2.0, 3.0)


@pytest.mark.parametrize("size", [3, 20_000])
def test_a_residual_that_is_a_captured_array_and_changes(size):
    w = np.full(size, 2.0)

    @fg.custom_vjp
    def f(x):
        return np.sum(x)

    f.defvjp(lambda x: (np.sum(x), {"w": w, "n": 1}), lambda r, g: (g * r["w"],))
    x = np.ones(size)
    jitted = fg.jit(fg.grad(f))
    _, pull = fg.vjp(f, x)
    for _ in range(2):
        np.testing.assert_array_equal(jitted(x), w)
    w[:] = 3.0
    if size == 3:  # it was copied
        np.testing.assert_array_equal(pull(1.0)[0], np.full(size, 2.0))
    else:
        with pytest.raises(fg.errors.MutatedCaptureError):
            pull(1.0)
    for wrap in (fg.grad, lambda f: fg.grad(fg.jit(f))):
        np.testing.assert_array_equal(wrap(f)(x), w)
    np.testing.assert_array_equal(jitted(x), w)


def test_forward_mode_may_be_stated_beside_reverse_mode():
    @fg.custom_vjp
    def f(x, k):
        return np.sin(x) * k

    f.defvjp(
        lambda x, k: (f(x, k), (x, k)),
        lambda r, g: (g * np.array([float(c) for c in r[0]]), None),  # nothing to transpose
        lambda xs, ts: (f(*xs), 10.0 * ts[0]),
    )
    x, t = np.array([1.0, 2.0]), np.array([0.5, 0.25])
    np.testing.assert_array_equal(fg.jvp(f, (x, 3.0), (t, 0.0))[1], 10.0 * t)
    np.testing.assert_array_equal(fg.vjp(lambda x: f(x, 3.0), x)[1](t)[0], t * x)
    pushed = fg.vmap(lambda t: fg.jvp(f, (x, 3.0), (t, 0.0))[1])(np.stack([t, 2 * t]))
    np.testing.assert_array_equal(pushed, 10.0 * np.stack([t, 2 * t]))
    rows = fg.vmap(lambda x, t: fg.jvp(f, (x, 3.0), (t, 0.0))[1])(
        np.stack([x, x]), np.stack([t, t])
    )
    np.testing.assert_array_equal(rows, 10.0 * np.stack([t, t]))


def test_a_cotangent_of_none_stands_for_a_whole_branch():
    f = fg.custom_vjp(lambda t: t["a"] * t["b"][0] + t["b"][1])

    def rule(found):
        f.defvjp(lambda t: (f(t), t), lambda t, g: (found(t, g),))
        return fg.grad(lambda t: f(t))({"a": 2.0, "b": (3.0, 4.0)})

    assert rule(lambda t, g: {"a": 5.0 * g, "b": None}) == {"a": 5.0, "b": (0.0, 0.0)}
    assert rule(lambda t, g: {"a": None, "b": (g, None)}) == {"a": 0.0, "b": (1.0, 0.0)}
    for wrong in ({"a": None}, {"a": (None,), "b": None}, {"a": 1.0, "b": 2.0}):
        with pytest.raises(CustomRuleError, match="returned the tree"):
            rule(lambda t, g, wrong=wrong: wrong)
