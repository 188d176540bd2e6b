"""`grad`, `vjp`, `jvp` and their kin: arguments of every form, and what is said of wrong ones."""

import functools

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import errors

X, Y = np.array([1.0, 2.0]), np.array([3.0, 5.0])


def f(x, y, scale=1.0):
    return scale * np.sum(x * x * y)


WRT_X, WRT_Y = 2 * X * Y, X * X  # the gradients of f


# ------------------------------------------------------------------------------ argnums


@pytest.mark.parametrize(
    ("argnums", "want"),
    [
        (0, WRT_X),
        (1, WRT_Y),
        (-1, WRT_Y),
        (-2, WRT_X),
        (np.int64(1), WRT_Y),
        ((0,), (WRT_X,)),
        ((0, 1), (WRT_X, WRT_Y)),
        ((1, 0), (WRT_Y, WRT_X)),
        ((-1, 0), (WRT_Y, WRT_X)),
        ([0, 1], (WRT_X, WRT_Y)),
        ((), ()),
    ],
)
def test_argnums(argnums, want):
    value, gradient = fg.value_and_grad(f, argnums=argnums)(X, Y)
    assert type(gradient) is type(want)
    assert value == f(X, Y)
    for got, expected in zip(fg.tree.leaves(gradient), fg.tree.leaves(want), strict=True):
        np.testing.assert_array_equal(got, expected)
    for got, expected in zip(
        fg.tree.leaves(fg.grad(f, argnums)(X, Y)), fg.tree.leaves(want), strict=True
    ):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    ("argnums", "kind", "text"),
    [
        (2, ValueError, r"argnums=2 names argument 2, but f was called with 2 positional"),
        (-3, ValueError, r"names argument -3"),
        ((0, 5), ValueError, r"names argument 5"),
        ((1, -1), ValueError, r"argnums=\(1, -1\) names an argument twice"),
        ("x", TypeError, r"argnums must be integers, not 'x'"),
        (1.0, TypeError, r"argnums must be an integer or a sequence of integers, not 1\.0"),
        (None, TypeError, r"argnums must be an integer or a sequence of integers, not None"),
        (True, TypeError, r"argnums must be integers, not True"),
    ],
)
@pytest.mark.parametrize(
    "transform", [fg.grad, fg.value_and_grad, fg.jacrev, fg.jacfwd, fg.hessian]
)
def test_wrong_argnums_are_named(transform, argnums, kind, text):
    with pytest.raises(kind, match=text) as caught:
        transform(f, argnums=argnums)(X, Y)
    assert "test_api.py" in str(caught.value)


# ------------------------------------------------------------- keywords, auxiliary results


def test_keywords_reach_the_function_undifferentiated():
    np.testing.assert_array_equal(fg.grad(f)(X, Y, scale=2.0), 2.0 * WRT_X)
    np.testing.assert_array_equal(fg.grad(f)(X, y=Y), WRT_X)
    with pytest.raises(ValueError, match="pass it by position"):
        fg.grad(f, argnums=1)(X, y=Y)
    with pytest.raises(TypeError, match="unexpected keyword"):
        fg.grad(f)(X, Y, skale=2.0)


def test_an_auxiliary_result_is_handed_through():
    seen = {}

    def g(x):
        seen["raw"] = x
        return np.sum(x * x), {"twice": 2.0 * x, "text": "as it is", "count": 3}

    (value, aux), gradient = fg.value_and_grad(g, has_aux=True)(X)
    assert value == 5.0
    np.testing.assert_array_equal(gradient, 2 * X)
    assert type(aux["twice"]) is np.ndarray  # no traced value gets out
    np.testing.assert_array_equal(aux["twice"], 2 * X)
    assert (aux["text"], aux["count"]) == ("as it is", 3)
    gradient, aux = fg.grad(g, has_aux=True)(X)
    np.testing.assert_array_equal(aux["twice"], 2 * X)
    out, pull, aux = fg.vjp(g, X, has_aux=True)
    np.testing.assert_array_equal(pull(1.0)[0], 2 * X)
    assert (out, aux["text"]) == (5.0, "as it is")
    out, tangent, aux = fg.jvp(g, (X,), (Y,), has_aux=True)
    assert tangent == 2 * X @ Y
    assert type(aux["twice"]) is np.ndarray


def test_the_gradient_of_an_auxiliary_result_passes_to_the_outer_transform():
    inner = lambda x: fg.value_and_grad(lambda y: (y**2, y**3), has_aux=True)(x)[0][1]
    assert fg.grad(inner)(2.0) == 12.0


@pytest.mark.parametrize("out", [1.0, (1.0,), (1.0, 2.0, 3.0), np.ones(2), None])
def test_has_aux_wants_a_pair(out):
    for call in (
        lambda: fg.grad(lambda x: out, has_aux=True)(1.0),
        lambda: fg.vjp(lambda x: out, 1.0, has_aux=True),
        lambda: fg.jvp(lambda x: out, (1.0,), (1.0,), has_aux=True),
    ):
        with pytest.raises(TypeError, match=r"has to return a pair \(value, aux\)"):
            call()


# ------------------------------------------------------------------- values and gradients


@pytest.mark.parametrize("x", [3.0, np.float32(3.0), np.float64(3.0), np.array(3.0), 2.0 + 1.0j])
def test_the_value_is_that_of_the_function(x):
    g = lambda x: np.abs(x * x * 0.5)
    value, gradient = fg.value_and_grad(g)(x)
    assert value == g(x)
    assert type(value) is type(g(x))
    assert gradient.dtype == np.asarray(x).dtype
    assert gradient.shape == ()


def test_an_argument_without_influence_has_the_gradient_zero():
    gradient = fg.grad(lambda p: np.sum(p["a"]))({"a": X, "b": 1.0, "c": np.ones((2, 0))})
    assert gradient["b"] == 0.0
    assert gradient["c"].shape == (2, 0)
    np.testing.assert_array_equal(fg.grad(lambda x: 1.0)(X), np.zeros(2))


def test_gradients_are_arrays_of_their_own():
    """Nothing that is returned is shared: what the caller does to one leaves the others alone."""
    a, b = fg.grad(lambda x, y: np.sum(x + y), argnums=(0, 1))(X, Y)
    a += 1
    np.testing.assert_array_equal(b, np.ones(2))
    c, d = fg.grad(lambda p: np.sum(p[0] + p[1]))((X, X))
    c += 1
    np.testing.assert_array_equal(d, np.ones(2))
    ct = np.ones(2)
    (back,) = fg.vjp(lambda x: x, X)[1](ct)
    back += 1
    np.testing.assert_array_equal(ct, np.ones(2))
    t = np.ones(2)
    moved = fg.jvp(lambda x: x, (X,), (t,))[1]
    moved += 1
    np.testing.assert_array_equal(t, np.ones(2))


def test_names_and_docstrings_are_kept():
    def named(x):
        """What it does."""
        return x

    for transform in (fg.grad, fg.value_and_grad, fg.jacrev, fg.jacfwd, fg.vmap, fg.checkpoint):
        assert transform(named).__name__ == "named"
        assert transform(named).__doc__ == "What it does."
    assert fg.jit(named).__name__ == "named"


@pytest.mark.parametrize("transform", [fg.grad, fg.jit, fg.vmap, fg.jacrev])
def test_callables_of_every_kind(transform):
    class Model:
        def __init__(self, w):
            self.w = w

        def __call__(self, x):
            return self.w * x * x

        def method(self, x):
            return self.w * x * x

        @staticmethod
        def static(x):
            return 3.0 * x * x

    m, x = Model(3.0), np.float64(2.0)
    x = np.array([2.0]) if transform is fg.vmap else x
    want = transform(lambda x: 3.0 * x * x)(x)
    for g in (m, m.method, Model.static, functools.partial(lambda w, x: w * x * x, 3.0)):
        np.testing.assert_array_equal(transform(g)(x), want)
    np.testing.assert_allclose(transform(np.sin)(x), transform(lambda x: fnp.sin(x))(x))


# ------------------------------------------------------------------------------ vjp, jvp


def test_a_pullback_may_be_called_again():
    y, pull = fg.vjp(lambda x, y: (x * y, np.sum(x)), X, Y)
    np.testing.assert_array_equal(y[0], X * Y)
    for _ in range(2):
        gx, gy = pull((np.ones(2), 2.0))
        np.testing.assert_array_equal(gx, Y + 2.0)
        np.testing.assert_array_equal(gy, X)


def test_integers_have_tangents_without_content():
    y, pull = fg.vjp(lambda x, n: x * n, X, np.array([2, 3]))
    gx, gn = pull(np.ones(2))
    np.testing.assert_array_equal(gx, [2, 3])
    assert gn.dtype == np.dtype([("float0", np.void, 0)])
    assert gn.shape == (2,)


def test_a_tangent_of_an_integer_is_not_ignored():
    """It has none: what is given is `float0`, or zero, or an error."""
    twice = lambda n: n * 2.0
    for nothing in (np.zeros((), fg.float0), 0, 0.0):
        assert fg.jvp(twice, (3,), (nothing,)) == (6.0, 0.0)
    for something in (1.0, 1, np.ones(())):
        with pytest.raises(fg.errors.CotangentError, match="belongs to integers") as info:
            fg.jvp(twice, (3,), (something,))
        assert __file__ in str(info.value)
    with pytest.raises(fg.errors.CotangentError, match="belongs to integers"):
        fg.vjp(lambda x: (x, 3), 1.0)[1]((1.0, 1.0))
    with pytest.raises(fg.errors.CotangentError, match="belongs to integers"):
        fg.grad(lambda t: fg.jvp(twice, (3,), (t,))[1])(1.0)


def test_a_cotangent_may_be_a_python_number():
    assert fg.vjp(np.sin, 0.0)[1](2)[0] == 2.0
    assert fg.jvp(np.sin, (0.0,), (2,))[1] == 2.0
    single = fg.vjp(np.sin, np.float32(0.0))[1](2.0)[0]
    assert single.dtype == np.float32


PULL = fg.vjp(lambda x: {"a": x, "b": (np.sum(x), 1)}, X)[1]


@pytest.mark.parametrize(
    ("cotangent", "text"),
    [
        (X, r"the cotangent has the tree \*, but .* has \{'a': \*, 'b': \(\*, \*\)\}"),
        ({"a": X}, r"the cotangent has the tree \{'a': \*\}"),
        ({"a": X, "b": [1.0, 1]}, r"has the tree \{'a': \*, 'b': \[\*, \*\]\}"),
        ({"a": np.ones(3), "b": (1.0, 1)}, r"the cotangent\['a'\] has shape \(3,\); it has to be"),
        ({"a": 1.0, "b": (1.0, 1)}, r"the cotangent\['a'\] has shape \(\)"),
        ({"a": X, "b": (X, 1)}, r"the cotangent\['b'\]\[0\] has shape \(2,\)"),
        ({"a": X * 1j, "b": (1.0, 1)}, r"\['a'\] has dtype complex128; it has to be float64"),
        ({"a": X.astype(np.float32), "b": (1.0, 1)}, r"\['a'\] has dtype float32; it has to be"),
        ({"a": "text", "b": (1.0, 1)}, r"the cotangent\['a'\] is 'str'"),
    ],
)
def test_a_wrong_cotangent_is_named(cotangent, text):
    with pytest.raises(errors.CotangentError, match=text):
        PULL(cotangent)


@pytest.mark.parametrize(
    ("primals", "tangents", "text"),
    [
        ((X,), (np.ones(3),), r"the tangent\[0\] has shape \(3,\); it has to be \(2,\)"),
        ((X,), (X, X), r"the tangent has the tree \(\*, \*\)"),
        ((X,), (X.astype(np.float32),), r"the tangent\[0\] has dtype float32"),
        (({"a": X},), ({"b": X},), r"the tangent has the tree \(\{'b': \*\},\)"),
        ((X,), (None,), r"the tangent has the tree \(None,\)"),
    ],
)
def test_a_wrong_tangent_is_named(primals, tangents, text):
    g = lambda x: np.sum(x["a"] if isinstance(x, dict) else x)
    for call in (
        lambda: fg.jvp(g, primals, tangents),
        lambda: fg.linearize(g, *primals)[1](*tangents),
    ):
        with pytest.raises(errors.CotangentError, match=text):
            call()


@pytest.mark.parametrize(("primals", "tangents"), [(X, (X,)), ((X,), X), (X, X)])
def test_jvp_takes_tuples(primals, tangents):
    with pytest.raises(TypeError, match="takes primals and tangents as tuples"):
        fg.jvp(np.sin, primals, tangents)


# ----------------------------------------------------------------- inputs and outputs


@pytest.mark.parametrize(
    ("x", "kind", "text"),
    [
        (3, errors.InputTypeError, r"argument 0 of .* has dtype int64.*3\.0 instead of 3"),
        (True, errors.InputTypeError, "has dtype bool"),
        (np.arange(3), errors.InputTypeError, "leave it out of argnums"),
        ({"w": [1.0, 2]}, errors.InputTypeError, r"argument 0 of .*\['w'\]\[1\] has dtype int64"),
        ({"w": "text"}, errors.TreeError, r"\['w'\] is 'str', which is neither an array nor"),
        ([1.0, object()], errors.TreeError, r"\[1\] is 'object'.*funcgrad\.tree\.register"),
        (np.array([1.0, None]), errors.TreeError, "dtype object"),
        (np.array(["a"]), errors.InputTypeError, "has dtype <U1"),
        ({1: 1.0, "a": 2.0}, errors.TreeError, "keys of a dict in a tree have to be comparable"),
    ],
)
def test_a_wrong_argument_is_named(x, kind, text):
    total = lambda x: sum(np.sum(leaf) for leaf in fg.tree.leaves(x))
    with pytest.raises(kind, match=text):
        fg.grad(total)(x)


@pytest.mark.parametrize(
    ("out", "text"),
    [
        (lambda x: x, r"float64\[2\], not a real scalar; sum it, or use jacobian or vjp"),
        (lambda x: x[:1], r"float64\[1\], not a real scalar"),
        (lambda x: np.sum(x) * 1j, r"complex128\[\], not a real scalar"),
        (lambda x: 3, "int64"),
        (lambda x: np.sum(x) > 0, "bool"),
        (lambda x: None, "returned 'NoneType'"),
        (lambda x: "text", "returned 'str'"),
        (lambda x: [x[0], x[1]], "returned 'list'"),
        (lambda x: {"a": np.sum(x)}, "returned 'dict'.*has_aux"),
        (lambda x: (np.sum(x), x), "returned 'tuple'.*has_aux"),
    ],
)
def test_grad_wants_a_real_scalar(out, text):
    with pytest.raises(errors.NonScalarOutputError, match=text):
        fg.grad(out)(X)


def test_an_output_that_is_no_array_is_named_by_its_path():
    for call in (
        lambda g: fg.vjp(g, X),
        lambda g: fg.jvp(g, (X,), (X,)),
        lambda g: fg.vmap(g)(X),
        lambda g: fg.jit(g)(X),
        lambda g: fg.checkpoint(g)(X),
        lambda g: fg.eval_shape(g, X),
    ):
        with pytest.raises(errors.TreeError, match=r"output of .*\['b'\]\[1\] is 'str'"):
            call(lambda x: {"a": x, "b": (x, "text")})


def test_stop_gradient_of_trees_to_every_order():
    g = lambda p: np.sum(p["a"] * fg.stop_gradient(p)["a"]) * p["b"]
    p = {"a": X, "b": 2.0}
    np.testing.assert_array_equal(fg.grad(g)(p)["a"], 2.0 * X)
    np.testing.assert_array_equal(fg.hessian(lambda x: np.sum(x * fg.stop_gradient(x)))(X), 0.0)
    np.testing.assert_array_equal(fg.jvp(fg.stop_gradient, (X,), (X,))[1], 0.0)
    np.testing.assert_array_equal(fg.vmap(fg.stop_gradient)(X), X)
    np.testing.assert_array_equal(fg.jit(fg.grad(lambda x: np.sum(x * fg.stop_gradient(x))))(X), X)
    with pytest.raises(errors.TreeError, match="the argument of stop_gradient is 'str'"):
        fg.stop_gradient("text")
