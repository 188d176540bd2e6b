"""Arrays in the other byte order: gradients in their dtype, cotangents in either."""

import numpy as np
import pytest

import funcgrad as fg

FUNCTIONS = [
    lambda x: x + x,
    lambda x: x @ x,
    lambda x: np.concatenate([x, x]),
    lambda x: np.linalg.inv(x),
    lambda x: np.roll(x, 1),
    lambda x: np.sum(x),
    lambda x: np.pad(x, 1),
]


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("order", "<>")
def test_a_gradient_has_the_byte_order_of_its_input(f, order):
    x = np.array([[1.0, 0.5], [0.25, 2.0]])
    given = x.astype(x.dtype.newbyteorder(order))
    want = fg.vjp(f, x)[1](np.ones_like(f(x)))[0]
    y, pull = fg.vjp(f, given)
    assert y.dtype == f(given).dtype
    for dtype in ("<f8", ">f8"):
        g = pull(np.ones_like(f(x)).astype(dtype)[()])[0]
        assert g.dtype == given.dtype
        np.testing.assert_array_equal(g, want)


def test_a_tangent_may_have_the_other_byte_order():
    x = np.array([1.0, 2.0])
    y, moved = fg.jvp(np.sin, (x,), (np.ones(2, ">f8"),))
    np.testing.assert_array_equal(moved, np.cos(x))
    assert moved.dtype == y.dtype
