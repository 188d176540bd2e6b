"""Ties, order statistics, indices: which element a derivative belongs to.

The numbers are those of the table of traps.
"""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp


def test_trap_03_ties_are_split_equally():
    x = np.array([1.0, 3.0, 3.0])
    np.testing.assert_allclose(fg.grad(fnp.max)(x), [0, 0.5, 0.5])
    np.testing.assert_allclose(fg.grad(lambda x: fnp.min(-x))(x), [0, -0.5, -0.5])
    along = fg.grad(lambda m: fnp.sum(fnp.max(m, axis=0)))(np.array([[1.0, 2.0], [1.0, 0.0]]))
    np.testing.assert_allclose(along, [[0.5, 1], [0.5, 0]])
    assert fg.grad(fnp.maximum, argnums=(0, 1))(2.0, 2.0) == (0.5, 0.5)


def test_trap_18_repeated_indices():
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(fg.grad(lambda x: x[np.array([0, 0, 2])].sum())(x), [2, 0, 1])

    def last_write_wins(v):
        b = fnp.zeros(3)
        b[np.array([1, 1, 0])] = v
        return fnp.sum(b * np.array([1.0, 10.0, 100.0]))

    np.testing.assert_array_equal(fg.grad(last_write_wins)(x), [0, 10, 1])

    def add_at(v):
        b = fnp.zeros(3)
        np.add.at(b, np.array([1, 1, 0]), v)
        return fnp.sum(b * np.array([1.0, 10.0, 100.0]))

    np.testing.assert_array_equal(fg.grad(add_at)(x), [10, 10, 1])


def test_trap_19_out_of_bounds():
    x = np.ones(3)
    for f in (lambda x: x[3], lambda x: x[np.array([0, 3])].sum(), lambda x: x[-4]):
        with pytest.raises(IndexError):
            fg.grad(f)(x)
    with pytest.raises(IndexError):
        fg.jit(lambda x: x[3])(x)


@pytest.mark.parametrize("transform", [fg.grad, fg.jit, lambda f: fg.jit(fg.grad(f)), fg.vmap])
def test_trap_34_masks_of_the_wrong_length(transform):
    short, x = np.array([True, False]), np.arange(5.0)

    def written(a, mask):
        b = a * 1.0
        b[mask] = 3.0
        return np.sum(b)

    for f in (
        lambda a: np.sum(a[short]),
        lambda a: np.sum(np.stack([a, a])[:, short]),
        lambda a: np.sum(a[a[:2] > 0]),
        lambda a: written(a, short),
        lambda a: written(a, a[:2] > 0),
    ):
        with pytest.raises(IndexError, match=r"boolean index did not match indexed array along"):
            transform(f)(np.stack([x, x]) if transform is fg.vmap else x)


def test_trap_03_the_facade_follows_pytorch():
    torch = pytest.importorskip("funcgrad.torch")

    def gradient(f, x):
        t = torch.tensor(x, requires_grad=True)
        f(t).backward()
        return t.grad.tolist()

    tie = [1.0, 3.0, 3.0]
    assert gradient(lambda t: t.max(0).values, tie) in ([0.0, 1.0, 0.0], [0.0, 0.0, 1.0])
    assert gradient(lambda t: t.amax(), tie) == gradient(lambda t: t.max(), tie) == [0.0, 0.5, 0.5]
    assert gradient(lambda t: t.clamp(0.0, 1.0).sum(), [0.0, 1.0, 2.0]) == [1.0, 1.0, 0.0]
    assert gradient(lambda t: t.relu().sum(), [0.0, 1.0]) == [0.0, 1.0]


@pytest.mark.parametrize("way", [fg.jacrev, fg.jacfwd, lambda f: fg.jit(fg.jacrev(f))])
def test_trap_10_order_statistics(way):
    x = np.array([3.0, 1.0, 2.0, 5.0])
    order = np.eye(4)[[1, 2, 0, 3]]
    np.testing.assert_array_equal(way(np.sort)(x), order)
    np.testing.assert_allclose(way(np.median)(x), [0.5, 0.0, 0.5, 0.0])
    for q in (0.0, 0.1, 0.5, 0.9, 1.0):
        position = 3 * q
        weights = np.maximum(0.0, 1.0 - np.abs(np.arange(4) - position))
        np.testing.assert_allclose(way(lambda x, q=q: np.quantile(x, q))(x), weights @ order)
        np.testing.assert_allclose(
            way(lambda x, q=q: np.percentile(x, 100 * q))(x), weights @ order
        )
    tie = way(np.median)(np.array([2.0, 2.0, 1.0, 3.0]))
    np.testing.assert_allclose(np.sort(tie), [0.0, 0.0, 0.5, 0.5])


@pytest.mark.parametrize("way", [fg.value_and_grad, lambda f: fg.jit(fg.value_and_grad(f))])
def test_trap_11_nan_propagates(way):
    x = np.array([1.0, np.nan, 3.0])
    for f in (np.max, np.min, lambda x: np.sort(x)[-1], lambda x: np.maximum(x, 2.0)[1], np.median):
        with np.errstate(invalid="ignore"):
            value, gradient = way(f)(x)
        assert np.isnan(value)
        assert gradient[1] != 0.0  # 1, or NaN


def test_trap_17_norms():
    tie = np.array([2.0, -2.0, 1.0])
    np.testing.assert_allclose(fg.grad(lambda x: np.linalg.norm(x, np.inf))(tie), [0.5, -0.5, 0])
    np.testing.assert_allclose(fg.grad(lambda x: np.linalg.norm(x, -np.inf))(tie), [0, 0, 1])
    a = np.array([[2.0, -1.0, 0.5], [0.3, 1.5, -2.0]])
    for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        f = lambda a, order=order: np.linalg.norm(a, order)
        got = fg.grad(f)(a)
        for k in np.ndindex(a.shape):
            step = np.zeros_like(a)
            step[k] = 1e-6
            np.testing.assert_allclose(got[k], (f(a + step) - f(a - step)) / 2e-6, atol=1e-7)
    for axis in (0, -1, (-2, -1), (1, 0)):
        f = lambda a, axis=axis: np.linalg.norm(a, axis=axis)
        np.testing.assert_allclose(fg.jacrev(f)(a), fg.jacfwd(f)(a), rtol=1e-12)
