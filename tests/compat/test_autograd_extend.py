"""Rules of users in autograd's form: `primitive`, `defvjp`, `defjvp` and their kin."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.compat.autograd.numpy as np_
from funcgrad.compat.autograd import elementwise_grad, grad, jacobian, make_jvp, make_vjp
from funcgrad.compat.autograd.extend import (
    def_linear,
    defjvp,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
)
from funcgrad.compat.autograd.test_util import check_grads, combo_check
from funcgrad.errors import CustomRuleError, NotDifferentiableError, UnsupportedCallError

X = np.array([0.3, -1.2, 2.0])


def raw(*xs):
    """What a primitive's function is called with: plain values only."""
    assert not any(isinstance(x, fg.core.tracer.Operand) for x in xs)


def scaled(rules):
    """``a * sin(x)`` as an operation that nothing sees through."""

    @primitive
    def f(x, a, power=1):
        raw(x, a)
        return np.asarray(a) * np.sin(x) ** power

    rules(f)
    return f


def by_vjp(f):
    defvjp(
        f,
        lambda ans, x, a, power=1: lambda g: g * a * power * np_.sin(x) ** (power - 1) * np_.cos(x),
        lambda ans, x, a, power=1: lambda g: np_.sum(g * np_.sin(x) ** power),
    )


def by_jvp(f):
    defjvp(
        f,
        lambda g, ans, x, a, power=1: g * a * power * np_.sin(x) ** (power - 1) * np_.cos(x),
        lambda g, ans, x, a, power=1: g * np_.sin(x) ** power,
    )


def by_both(f):
    by_vjp(f)
    by_jvp(f)


def by_argnum(f):
    def pull(argnum, ans, args, kwargs):
        x, a = args
        power = kwargs.get("power", 1)
        if argnum == 0:
            return lambda g: g * a * power * np_.sin(x) ** (power - 1) * np_.cos(x)
        return lambda g: np_.sum(g * np_.sin(x) ** power)

    defvjp_argnum(f, pull)


def by_argnums(f):
    def pull(argnums, ans, args, kwargs):
        x, a = args
        power = kwargs.get("power", 1)

        def vjp(g):
            slope = power * np_.sin(x) ** (power - 1) * np_.cos(x)
            found = {0: g * a * slope, 1: np_.sum(g * np_.sin(x) ** power)}
            return tuple(found[k] for k in argnums)

        return vjp

    defvjp_argnums(f, pull)


RULES = [by_vjp, by_jvp, by_both, by_argnum, by_argnums]


@pytest.mark.parametrize("rules", RULES)
def test_every_form_of_a_rule_serves_both_modes_at_both_orders(rules):
    f = scaled(rules)
    combo_check(f, (0, 1))([X, X[:2]], [2.0, -0.5], power=[1, 3])
    check_grads(f)(X, 2.0)
    check_grads(lambda x: f(x, x[0]) * x)(X)


@pytest.mark.parametrize("rules", RULES)
def test_rules_of_primitives_under_jacobian_and_vmap(rules):
    f = scaled(rules)
    np.testing.assert_allclose(jacobian(f)(X, 2.0), np.diag(2.0 * np.cos(X)))
    xs = np.stack([X, 2 * X])
    np.testing.assert_allclose(fg.vmap(lambda x: f(x, 2.0))(xs), 2.0 * np.sin(xs))
    gradients = fg.vmap(lambda x: elementwise_grad(f)(x, 2.0))(xs)
    np.testing.assert_allclose(gradients, 2.0 * np.cos(xs))
    moved = fg.vmap(lambda x: make_jvp(f)(x, 2.0)(np.ones(3))[1])(xs)
    np.testing.assert_allclose(moved, 2.0 * np.cos(xs))


def test_a_rule_that_needs_numbers_gives_its_jacobian_row_by_row():
    @primitive
    def f(x):
        return x**2

    defvjp(f, lambda ans, x: lambda g: np.array([float(c) for c in g]) * 2 * x)
    np.testing.assert_allclose(jacobian(f)(X), np.diag(2 * X))


def test_forward_mode_takes_the_rule_that_is_stated_for_it():
    f = scaled(by_vjp)
    defjvp(f, lambda g, ans, x, a: 10.0 * g, None)
    np.testing.assert_array_equal(make_jvp(f)(X, 2.0)(X)[1], 10.0 * X)
    np.testing.assert_allclose(make_vjp(f)(X, 2.0)[0](X), 2.0 * X * np.cos(X))


def test_linear_in_each_argument():
    product = primitive(np.dot)
    def_linear(product)
    check_grads(product, (0, 1), modes=["fwd"])(np.outer(X, X), X)


def test_same_and_none():
    @primitive
    def f(x, a):
        return x * np.floor(a)

    defjvp(f, "same", None)
    defvjp(f, lambda ans, x, a: lambda g: g * np_.floor(a), None)
    assert make_jvp(f, (0, 1))(2.0, 3.5)((1.0, 1.0)) == (6.0, 3.0)
    assert grad(f, (0, 1))(2.0, 3.5) == (3.0, 0.0)


def test_containers_are_arguments_of_primitives():
    @primitive
    def total(parts):
        raw(*parts)
        return parts[0] + np.sum(parts[1])

    defvjp(total, lambda ans, parts: lambda g: (g, np_.full(np.shape(parts[1]), g)))
    found = grad(lambda x: total((x[0], x)) * x[1])(X)
    np.testing.assert_allclose(found, [2 * X[1], X[1] + X[0] + X.sum(), X[1]])


def test_several_results():
    @primitive
    def split(x):
        return x[0], x[1:]

    defvjp(split, lambda ans, x: lambda g: np_.concatenate([np_.reshape(g[0], 1), g[1]]))
    found = grad(lambda x: split(x)[0] * np_.sum(split(x)[1]))(X)
    np.testing.assert_allclose(found, [X[1] + X[2], X[0], X[0]])


def test_constants_of_values():
    @notrace_primitive
    def steps(x):
        raw(x)
        return int(np.ceil(x))

    assert grad(lambda x: x * steps(x))(2.5) == 3.0


# ----------------------------------------------------------------------------------- refusals


def test_a_primitive_without_a_rule_says_so():
    f = primitive(lambda x: x)
    with pytest.raises(NotDifferentiableError, match="has no derivative: state it with defvjp"):
        grad(f)(1.0)
    assert f(1.0) == 1.0


def test_an_argument_without_a_rule_says_so():
    f = scaled(lambda f: defvjp(f, lambda ans, x, a: lambda g: g))
    assert grad(f)(1.0, 2.0) == 1.0
    with pytest.raises(NotDifferentiableError, match="VJP of f with respect to argument 1 is not"):
        grad(f, 1)(1.0, 2.0)
    f = scaled(lambda f: defjvp(f, lambda g, ans, x, a: g))
    with pytest.raises(NotDifferentiableError, match="JVP of f with respect to argument 1 is not"):
        make_jvp(f, 1)(1.0, 2.0)(1.0)


def test_traced_named_arguments_are_refused():
    f = scaled(by_vjp)
    with pytest.raises(CustomRuleError, match="'a' is traced; give it by position"):
        grad(lambda a: f(1.0, a=a))(2.0)


def test_rules_of_numpys_functions_are_not_replaced():
    with pytest.raises(CustomRuleError, match="is no primitive of the user's"):
        defvjp(np_.sin, lambda ans, x: lambda g: g)


def test_a_rule_that_is_no_rule():
    f = scaled(lambda f: defjvp(f, "different"))
    with pytest.raises(CustomRuleError, match="is 'different', which is no rule"):
        make_jvp(f)(1.0, 2.0)(1.0)


def test_primitives_are_not_recorded_by_jit():
    f = scaled(by_vjp)
    with pytest.raises(UnsupportedCallError, match="none while jit records a program"):
        fg.jit(lambda x: f(x, 2.0))(1.0)
