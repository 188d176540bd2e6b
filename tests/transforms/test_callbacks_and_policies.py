"""Callbacks, policies of checkpoint, named axes, and rules that are compiled."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import lax
from funcgrad.ops import records


def doubled(x, **options):
    shape = fg.ShapeDtypeStruct(x.shape, x.dtype)
    return fg.pure_callback(lambda v: 2.0 * v, shape, x, **options)


def test_a_callback_in_jit_is_called_with_the_numbers():
    f = fg.jit(lambda x: doubled(np.sin(x)) + 1.0)
    for x in (np.ones(2), np.zeros(2)):
        np.testing.assert_array_equal(f(x), 2.0 * np.sin(x) + 1.0)


@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
def test_a_callback_is_mapped_as_it_says(method):
    shapes = []

    def product(x, y):
        shapes.append((x.shape, y.shape))
        return x * y

    f = lambda x, y: fg.pure_callback(
        product, fg.ShapeDtypeStruct((3,), float), x, y, vmap_method=method
    )
    x, y = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(fg.vmap(f, (0, None))(x, y), x * y)
    expected = {
        "sequential": [((3,), (3,))] * 2,
        "expand_dims": [((2, 3), (1, 3))],
        "broadcast_all": [((2, 3), (2, 3))],
    }
    assert shapes == expected[method]


def test_what_a_callback_cannot_do_is_named():
    with pytest.raises(fg.errors.NotDifferentiableError, match="has no derivative: nobody sees"):
        fg.grad(lambda x: doubled(x).sum())(np.ones(2))
    with pytest.raises(fg.errors.NotDifferentiableError, match="has no derivative: nobody sees"):
        fg.jvp(doubled, (np.ones(2),), (np.ones(2),))
    with pytest.raises(fg.errors.NotDifferentiableError, match="give vmap_method='sequential'"):
        fg.vmap(doubled)(np.ones((2, 2)))
    with pytest.raises(ValueError, match="vmap_method is one of"):
        doubled(np.ones(2), vmap_method="fast")
    shape = fg.ShapeDtypeStruct((3,), float)
    with pytest.raises(fg.errors.CallbackError, match=r"returned dtype float64 and shape \(2,\)"):
        fg.pure_callback(lambda x: x, shape, np.ones(2))
    with pytest.raises(fg.errors.CallbackError, match="returned the tree"):
        fg.pure_callback(lambda x: (x, x), shape, np.ones(3))


def test_a_callback_cannot_write_into_what_it_is_given():
    def write(x):
        x[0] = 1.0
        return x

    with pytest.raises(ValueError, match="read-only"):
        fg.pure_callback(write, fg.ShapeDtypeStruct((2,), float), np.zeros(2))


def products(policy):
    """How many products the graph of a gradient has, in a layer that is checkpointed."""
    layer = fg.checkpoint(lambda x, w: np.tanh(np.sin(x @ w) @ w), policy=policy)
    x = np.ones((2, 2))
    graph = fg.make_graph(fg.value_and_grad(lambda w: layer(x, w).sum()))(x)
    return sum(e.prim is records.MATMUL for e in graph.equations)


def test_policies_say_what_is_computed_again():
    policies = fg.checkpoint_policies
    assert products(policies.dots_saveable) < products(policies.nothing_saveable)
    assert products(policies.everything_saveable) == products(policies.dots_saveable)


def test_a_named_value_is_kept():
    def sines(policy):
        f = fg.checkpoint(lambda x: np.exp(fg.checkpoint_name(np.sin(x), "hidden")), policy=policy)
        return str(fg.make_graph(fg.value_and_grad(f))(1.0)).count("= sin")

    policies = fg.checkpoint_policies
    assert sines(policies.save_only_these_names("hidden")) == 1
    assert sines(policies.save_only_these_names("other")) == 2
    assert sines(policies.save_anything_except_these_names("hidden")) == 1
    assert fg.checkpoint_name(3.0, "x") == 3.0


def test_checkpoint_as_a_decorator_with_options():
    @fg.checkpoint(policy=fg.checkpoint_policies.dots_saveable, static_argnames="n")
    def f(x, n):
        return x**n if n > 1 else x

    assert fg.grad(f)(2.0, n=3) == 12.0
    assert fg.remat is fg.checkpoint


def test_a_custom_rule_is_compiled_and_not_called_back():
    @fg.custom_vjp
    def square(x):
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, g: (2.0 * g * x,))
    f = fg.jit(lambda x: square(x) + 1.0)
    np.testing.assert_array_equal(f(np.full(3, 2.0)), np.full(3, 5.0))
    staged, program = f.show(np.ones(3)).split("\n\n", 1)
    assert "custom_vjp" in staged
    assert "custom_vjp" not in program
    np.testing.assert_array_equal(fg.grad(lambda x: f(x).sum())(np.ones(3)), np.full(3, 2.0))


def test_a_keyword_only_argument_reaches_the_rule_or_is_an_error():
    @fg.custom_vjp
    def f(x, *, scale=1.0):
        return x * scale

    f.defvjp(lambda x, *, scale=1.0: (x * scale, scale), lambda scale, g: (10.0 * g * scale,))
    assert fg.grad(lambda x: f(x, scale=3.0))(2.0) == 30.0
    with pytest.raises(fg.errors.CustomRuleError, match="which has no position, is traced"):
        fg.grad(lambda x: f(1.0, scale=x))(2.0)
    with pytest.raises(ValueError, match="nondiff_argnames name 'm', which it lacks"):
        fg.custom_vjp(lambda x: x, nondiff_argnames="m")


@pytest.mark.parametrize("name", ["psum", "pmean", "pmax", "pmin", "all_gather", "axis_index"])
def test_an_axis_that_has_no_name(name):
    f = getattr(lax, name)
    call = (lambda x: f("j")) if name == "axis_index" else (lambda x: f(x, "j"))
    with pytest.raises(fg.errors.AxisNameError) as caught:
        fg.vmap(call, axis_name="i")(np.ones(2))
    assert "no axis is named 'j' here" in str(caught.value)
    assert "known are ['i']" in str(caught.value)


def test_a_named_axis_in_a_custom_rule():
    @fg.custom_jvp
    def share(x):
        return x / lax.psum(x, "i")

    share.defjvp(lambda p, t: (share(*p), t[0]))
    x = np.array([1.0, 3.0])
    np.testing.assert_array_equal(fg.vmap(share, axis_name="i")(x), [0.25, 0.75])


def test_extrema_over_a_named_axis_have_derivatives():
    f = lambda x: fg.vmap(lambda v: v * lax.pmax(v * v, "i"), axis_name="i")(x).sum()
    x = np.array([1.0, 3.0, 2.0])
    np.testing.assert_allclose(fg.grad(f)(x), [9.0, 9.0 + 6.0 * 6.0, 9.0])


def test_shapes_that_do_not_fit_a_named_axis():
    with pytest.raises(ValueError, match="has not the size 2 of the axis"):
        fg.vmap(lambda v: lax.psum_scatter(v, "i"), axis_name="i")(np.ones((2, 3)))
    with pytest.raises(ValueError, match="names an example twice"):
        fg.vmap(lambda v: lax.ppermute(v, "i", [(0, 1), (1, 1)]), axis_name="i")(np.ones(2))
