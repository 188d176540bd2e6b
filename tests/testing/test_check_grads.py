"""`check_grads` and `derivative_along`: right rules pass, and each kind of wrong one is named."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import TreeError
from funcgrad.extend import PRIMITIVES, bind, explicit
from funcgrad.testing import check_grads, derivative_along

X = np.array([0.3, -0.6, 0.9])
Z = X + 1j * np.array([0.2, 0.5, -0.4])

# -------------------------------------------------------------------------------- accepted


def tree_function(p, k):
    return {"a": np.sin(p["x"]) * p["y"], "b": (p["x"] ** k, np.sum(p["y"]))}


ACCEPTED = {
    "array": (lambda x: np.sin(x) * x, (X,)),
    "scalar": (lambda x: x**3, (0.7,)),
    "two arguments": (lambda x, y: np.sum(np.exp(x * y)), (X, X[::-1])),
    "trees and an integer": (tree_function, ({"x": X, "y": 2.0}, 3)),
    "matrix": (lambda a: np.linalg.inv(a), (np.eye(3) * 3 + np.outer(X, X),)),
    "complex": (lambda z: np.exp(z) * z, (Z,)),
    "complex in, real out": (lambda z: np.abs(z) ** 2 + np.real(z), (Z,)),
    "real in, complex out": (lambda x: np.exp(1j * x), (X,)),
    "float32": (lambda x: np.tanh(x) * x, (X.astype(np.float32),)),
    "complex64": (lambda z: z * z, (Z.astype(np.complex64),)),
    "float16": (lambda x: x * x, (X.astype(np.float16),)),
    "mixed": (lambda x, y: x * y, (X.astype(np.float32), X)),
    "constant": (lambda x: np.ones(3), (X,)),
    "no elements": (lambda x: x * 2.0, (np.zeros((0, 2)),)),
    "an integer output too": (lambda x: (np.sin(x), np.argmax(x)), (X,)),
}


@pytest.mark.parametrize("modes", [("fwd",), ("rev",), ("fwd", "rev")], ids="-".join)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", ACCEPTED)
def test_right_derivatives_pass(name, order, modes):
    f, args = ACCEPTED[name]
    check_grads(f, args, order, modes)


def test_third_order():
    check_grads(lambda x: np.sin(x) * x**2, (X,), order=3)


@pytest.mark.parametrize("seed", range(20))
def test_conditioning_is_allowed_for(seed):
    # the values lose 8 of 16 digits before the difference is formed
    check_grads(lambda x: 1e8 + np.sin(x), (X,), seed=seed)
    check_grads(lambda x: np.sin(x), (1e6,), seed=seed)
    check_grads(lambda x: np.float32(1e4) + x * x, (X.astype(np.float32),), order=1, seed=seed)


def test_near_the_edge_of_the_domain():
    # the first steps are beyond it: their differences are NaN
    with np.errstate(invalid="ignore"):
        check_grads(np.log, (0.02,), order=1)


# -------------------------------------------------------------------------------- rejected


def with_vjp(fwd, bwd):
    """A function of any number of arguments with a rule of our own."""
    f = fg.custom_vjp(fwd)
    f.defvjp(lambda *xs: (fwd(*xs), xs), bwd)
    return f


def with_jvp(f, rule):
    g = fg.custom_jvp(f)
    g.defjvp(lambda xs, ts: (f(*xs), rule(xs, ts)))
    return g


right = with_vjp(np.sin, lambda xs, g: (np.cos(xs[0]) * g,))
WRONG = {
    "factor": with_vjp(np.sin, lambda xs, g: (2.0 * np.cos(xs[0]) * g,)),
    "small factor": with_vjp(np.sin, lambda xs, g: (1.00001 * np.cos(xs[0]) * g,)),
    "sign": with_vjp(np.sin, lambda xs, g: (-np.cos(xs[0]) * g,)),
    "missing term": with_vjp(lambda x: x * np.sin(x), lambda xs, g: (xs[0] * np.cos(xs[0]) * g,)),
    "zero": with_vjp(np.sin, lambda xs, g: (None,)),
    "one element": with_vjp(np.sin, lambda xs, g: (np.cos(xs[0]) * g * np.array([1.0, 1.0, 1.1]),)),
    "transposed": with_vjp(lambda x: np.sin(x[::-1]), lambda xs, g: (np.cos(xs[0]) * g,)),
    "jvp factor": with_jvp(np.sin, lambda xs, ts: 2.0 * np.cos(xs[0]) * ts[0]),
    "jvp sign": with_jvp(np.sin, lambda xs, ts: -np.cos(xs[0]) * ts[0]),
}


@pytest.mark.parametrize(("mode", "words"), [("fwd", "forward mode"), ("rev", "reverse mode")])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules_are_rejected(name, mode, words):
    message = rf"{words} \(order 1\) is wrong for argument 0\n"
    with pytest.raises(AssertionError, match=message):
        check_grads(WRONG[name], (X,), modes=(mode,))
    with pytest.raises(AssertionError, match=r"\(order 1\)"):
        check_grads(WRONG[name], (X,), order=1)


def test_a_right_rule_of_our_own_passes():
    check_grads(right, (X,))
    check_grads(with_jvp(np.sin, lambda xs, ts: np.cos(xs[0]) * ts[0]), (X,))


def test_the_argument_is_named():
    f = with_vjp(lambda x, y: x * y, lambda xs, g: (g * xs[1], 3.0 * g * xs[0]))
    with pytest.raises(AssertionError, match=r"reverse mode \(order 1\) is wrong for argument 1\n"):
        check_grads(f, (X, X + 1), modes=("rev",))
    g = lambda p, q: f(p["w"], p["b"][0]) + q
    with pytest.raises(AssertionError, match=r"wrong for argument 0\['b'\]\[0\]\n"):
        check_grads(g, ({"w": X, "b": [X + 1]}, 1.0))
    both = with_vjp(lambda x, y: x * y, lambda xs, g: (-g * xs[1], 3.0 * g * xs[0]))
    with pytest.raises(AssertionError, match=r"wrong for argument 0, 1\n"):
        check_grads(both, (X, X + 1))


def test_the_output_and_the_numbers_are_named():
    f = lambda x: {"good": np.cos(x), "bad": WRONG["factor"](x)}
    with pytest.raises(AssertionError) as caught:
        check_grads(f, (0.5,), modes=("fwd",))
    message = str(caught.value)
    assert "output['bad']: it differs" in message and "'good'" not in message
    assert "allowed" in message and "derivative:" in message and "of values:" in message


def test_a_wrong_second_order_alone():
    slope = with_vjp(np.cos, lambda xs, g: (np.sin(xs[0]) * g,))  # the sign is missing
    f = with_vjp(np.sin, lambda xs, g: (slope(xs[0]) * g,))
    check_grads(f, (X,), order=1)
    for modes, words in (
        (("rev",), "reverse mode over reverse mode"),
        (("fwd",), "forward mode over forward mode"),
    ):
        with pytest.raises(AssertionError, match=rf"{words} \(order 2\) is wrong for argument 0"):
            check_grads(f, (X,), order=2, modes=modes)
    with pytest.raises(AssertionError, match=r"order 2"):
        check_grads(f, (X,))


@pytest.fixture
def two_rules():
    made = []

    def make(vjp_factor, jvp_factor):
        name = "test_two_rules"
        prim = explicit(
            name,
            np.sin,
            type_rule=lambda x: x,
            vjp=(lambda g, _, x: g * np.cos(x) * vjp_factor,),
            jvp=lambda _, xs, ts: ts[0] * np.cos(xs[0]) * jvp_factor,
        )
        made.append(name)
        return lambda x: bind(prim, (x,))

    yield make
    for name in made:
        PRIMITIVES.pop(name, None)


def test_a_jvp_that_disagrees_with_the_vjp(two_rules):
    f = two_rules(1.0, 0.5)
    check_grads(f, (X,), order=1, modes=("rev",))
    for modes in (("fwd",), ("fwd", "rev")):
        with pytest.raises(AssertionError, match=r"forward mode \(order 1\)"):
            check_grads(f, (X,), order=1, modes=modes)
    PRIMITIVES.pop("test_two_rules")
    g = two_rules(0.5, 1.0)
    check_grads(g, (X,), order=1, modes=("fwd",))
    for modes in (("rev",), ("fwd", "rev")):
        with pytest.raises(AssertionError, match=r"reverse mode \(order 1\)"):
            check_grads(g, (X,), order=1, modes=modes)


def test_a_complex_rule_without_its_conjugate():
    # the vjp of z -> a z is g -> a g here
    f = with_vjp(lambda z: z * (1 + 2j), lambda _, g: ((1 - 2j) * g,))
    with pytest.raises(AssertionError, match="reverse mode"):
        check_grads(f, (Z,), modes=("rev",))


def test_a_value_that_is_cut():
    with pytest.raises(AssertionError, match="argument 0"):
        check_grads(lambda x: x * fg.stop_gradient(x), (X,))


def test_not_a_number_is_no_derivative():
    f = with_vjp(np.sin, lambda xs, g: (np.nan * g,))
    with pytest.raises(AssertionError, match="nan"):
        check_grads(f, (X,), order=1)


# ------------------------------------------------------------------------------- tolerance


def off_by(miss):
    return with_vjp(np.sin, lambda xs, g: ((1.0 + miss) * np.cos(xs[0]) * g,))


@pytest.mark.parametrize(
    ("dtype", "passes", "fails"), [(np.float64, 1e-10, 1e-7), (np.float32, 1e-5, 1e-2)]
)
def test_the_tolerance_follows_the_dtype(dtype, passes, fails):
    x = X.astype(dtype)
    for modes in (("fwd",), ("rev",)):
        check_grads(off_by(passes), (x,), order=1, modes=modes)
        with pytest.raises(AssertionError):
            check_grads(off_by(fails), (x,), order=1, modes=modes)


def test_the_coarsest_dtype_decides():
    x, y = X, X.astype(np.float32)
    f = lambda x, y: off_by(1e-6)(x) + y
    check_grads(f, (x, y), order=1)


def test_given_tolerances():
    check_grads(off_by(1e-3), (X,), order=1, rtol=1e-2)
    check_grads(off_by(1e-3), (X,), order=1, atol=1e-2)
    with pytest.raises(AssertionError):
        check_grads(off_by(1e-3), (X,), order=1, rtol=1e-4, atol=0.0)


def test_the_directions_follow_the_seed():
    seen = []

    def f(x):
        seen.append(np.array(fg.value(x)))
        return x * 2.0

    for seed in (0, 0, 1):
        check_grads(f, (X,), order=1, seed=seed)
    third = len(seen) // 3
    first, again, other = seen[:third], seen[third : 2 * third], seen[2 * third :]
    assert all(np.array_equal(a, b) for a, b in zip(first, again))
    assert any(not np.array_equal(a, b) for a, b in zip(first, other))


# ------------------------------------------------------------------------------ bad calls

BAD = [
    ("unknown mode", lambda: check_grads(np.sin, (X,), modes=("back",)), ValueError, "'back'"),
    ("a mode alone", lambda: check_grads(np.sin, (X,), modes="fwd"), ValueError, "a sequence of"),
    ("no mode", lambda: check_grads(np.sin, (X,), modes=()), ValueError, "a sequence of"),
    ("order 0", lambda: check_grads(np.sin, (X,), order=0), ValueError, "from 1 on, not 0"),
    ("order 1.5", lambda: check_grads(np.sin, (X,), order=1.5), ValueError, "an integer"),
    ("args no tuple", lambda: check_grads(np.sin, X), TypeError, "not 'ndarray'"),
    ("integers", lambda: check_grads(np.sin, (3,)), ValueError, "args hold no floating point"),
    ("no args", lambda: check_grads(lambda: 1.0, ()), ValueError, "args hold no floating point"),
    ("integer output", lambda: check_grads(np.argmax, (X,)), ValueError, "the output holds no"),
    ("no array", lambda: check_grads(lambda x: "text", (X,)), TypeError, "str"),
    ("direction", lambda: derivative_along(np.sin, (X,), ((X,),)), TreeError, "do not match"),
    ("step", lambda: derivative_along(np.sin, (X,), (X,), 0.0), ValueError, "positive, not 0.0"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "text"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_bad_calls_are_named(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


# ------------------------------------------------------------------------- derivative_along


def test_the_derivative_along_a_direction():
    t = np.array([0.5, -1.0, 2.0])
    (found,), (error,) = derivative_along(lambda x: np.exp(x), (X,), (t,))
    assert np.all(np.abs(found - np.exp(X) * t) <= error)
    assert np.all(error < 1e-10)


def test_the_derivative_of_trees():
    f = lambda p, n: {"a": p["x"] ** n, "b": [p["y"] * 2.0]}
    found, error = derivative_along(f, ({"x": 2.0, "y": X}, 3), ({"x": 1.0, "y": X}, 0.0))
    np.testing.assert_allclose(found[0], 12.0, rtol=1e-10)
    np.testing.assert_allclose(found[1], 2 * X, rtol=1e-10)
    assert [np.shape(e) for e in error] == [(), (3,)]


def test_a_complex_direction():
    (found,), (error,) = derivative_along(lambda z: z**2, (Z,), (1j * np.ones(3),))
    assert np.all(np.abs(found - 2j * Z) <= error)
    assert np.all(error < 1e-10)


def test_the_error_grows_with_what_rounding_takes():
    errors = [
        derivative_along(lambda x, c=c: c + np.sin(x), (0.5,), (1.0,))[1][0] for c in (0.0, 1e8)
    ]
    assert errors[0] < 1e-11 < 1e-8 < errors[1]


def test_arguments_are_left_alone():
    x, t = X.copy(), np.ones(3)
    derivative_along(np.sin, (x,), (t,))
    check_grads(np.sin, (x,))
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(t, 1.0)
