"""Errors planted in rules are found by the strategies, as the manual says to use them."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.errors import CustomRuleError
from funcgrad.testing import check_grads, strategies

ARRAYS = {"dtypes": [np.float64], "layouts": ["C"]}
quick = settings(  # it ends with the first that is found
    derandomize=True, database=None, deadline=None, max_examples=40, phases=[Phase.generate]
)


def ruled(f, backward):
    rule = fg.custom_vjp(f)
    rule.defvjp(lambda *xs: (f(*xs), xs), backward)
    return rule


def test_a_derivative_that_is_wrong_for_negative_numbers():
    leaky = ruled(lambda x: np.where(x > 0, x, 0.1 * x), lambda xs, g: (g * np.ones_like(xs[0]),))

    @quick
    @given(strategies.arrays(avoid=0.05, **ARRAYS))
    def check(x):
        check_grads(leaky, (x,), order=1)

    with pytest.raises(
        AssertionError, match=r"is wrong for argument 0\n.*\n.*derivative: "
    ) as info:
        check()
    assert any("Failing" in note or "Falsifying" in note for note in info.value.__notes__)


def test_a_rule_that_forgets_broadcasting():
    times = ruled(lambda x, y: x * y, lambda xs, g: (g * xs[1], g * xs[0]))

    @quick
    @given(strategies.broadcastable_shapes(count=2), st.data())
    def check(shapes, data):
        check_grads(
            times, tuple(data.draw(strategies.arrays(shape=s, **ARRAYS)) for s in shapes), 1
        )

    with pytest.raises(CustomRuleError, match=r"backward rule of .* returned shape"):
        check()


def test_a_second_derivative_that_is_cut():
    cube = fg.custom_vjp(lambda x: x**3)
    cube.defvjp(lambda x: (x**3, fg.stop_gradient(x)), lambda x, g: (3.0 * x**2 * g,))

    @quick
    @given(strategies.arrays(avoid=0.05, **ARRAYS))
    def check(x):
        check_grads(cube, (x,), order=2)

    with pytest.raises(AssertionError, match=r"\(order 2\) is wrong"):
        check()
    check_grads(cube, (np.array([0.5, -2.0]),), order=1)
