"""`fwd_and_bwd`: a forward and a backward pass that are compiled once each."""

import numpy as np
import pytest

import funcgrad as fg

X, W = np.array([0.3, -0.2]), np.array([[1.0, 0.5], [0.2, -0.4]])


def layer(x, w):
    return {"out": np.tanh(x @ w), "square": np.sum(x**2)}


COTANGENT = {"out": np.array([1.0, -2.0]), "square": np.float64(0.5)}


@pytest.mark.parametrize("jitted", [True, False])
def test_they_are_vjp(jitted):
    fwd, bwd = fg.fwd_and_bwd(layer, (0, 1), jitted=jitted)
    out, residuals = fwd(X, W)
    expected, pull = fg.vjp(layer, X, W)
    for found, wanted in zip(fg.tree.leaves(out), fg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-15)
    found = bwd(residuals, COTANGENT)
    assert type(found) is tuple
    for mine, wanted in zip(found, pull(COTANGENT), strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-14)


def test_one_argument_and_aux():
    fwd, bwd = fg.fwd_and_bwd(lambda x, w: (x @ w, x + 1.0), 1, has_aux=True)
    out, residuals, aux = fwd(X, W)
    np.testing.assert_array_equal(aux, X + 1.0)
    np.testing.assert_array_equal(bwd(residuals, out), np.outer(X, out))


def test_each_is_traced_once():
    def f(x):
        f.count += 1
        return np.sin(x) * x

    f.count = 0
    fwd, bwd = fg.fwd_and_bwd(f, 0)
    for k in range(3):
        x = X + k
        y, residuals = fwd(x)
        np.testing.assert_allclose(y, np.sin(x) * x, rtol=1e-15)
        found = bwd(residuals, np.ones(2))
        np.testing.assert_allclose(found, np.cos(x) * x + np.sin(x), rtol=1e-14)
    assert f.count == 1


def test_residuals_are_a_tree_of_arrays():
    fwd, bwd = fg.fwd_and_bwd(lambda x: np.exp(x), 0)
    residuals = fwd(X)[1]
    assert [leaf.shape for leaf in fg.tree.leaves(residuals)] == [(2,)]
    doubled = fg.tree.map(lambda r: 2.0 * r, residuals)
    np.testing.assert_allclose(bwd(doubled, np.ones(2)), 2.0 * np.exp(X), rtol=1e-15)


def test_within_other_transforms():
    fwd, bwd = fg.fwd_and_bwd(lambda x: np.sin(x) ** 2, 0)

    def slope(x):
        out, residuals = fwd(x)
        return bwd(residuals, np.ones_like(x))

    np.testing.assert_allclose(slope(X), np.sin(2 * X), rtol=1e-14)
    np.testing.assert_allclose(fg.jit(slope)(X), np.sin(2 * X), rtol=1e-14)
    np.testing.assert_allclose(fg.vmap(slope)(X), np.sin(2 * X), rtol=1e-14)
    found = fg.jvp(slope, (X,), (np.ones(2),))[1]
    np.testing.assert_allclose(found, 2 * np.cos(2 * X), rtol=1e-14)


def test_a_wrong_cotangent_is_named():
    fwd, bwd = fg.fwd_and_bwd(np.sin, 0)
    with pytest.raises(ValueError, match="cotangent"):
        bwd(fwd(X)[1], np.ones(3))
