"""The largest and smallest elements of long lines: those that sorting all of them would give."""

import numpy as np
import pytest

import funcgrad.torch as ours
from funcgrad.torch.operations.outermost_elements import outermost, pays

torch = pytest.importorskip("torch")


def sorted_positions(x, axis, k, largest):
    """By a stable sort of everything."""
    lines = np.moveaxis(x, axis, -1)
    if largest:
        n = lines.shape[-1]
        order = (n - 1 - np.argsort(lines[..., ::-1], -1, kind="stable"))[..., ::-1]
    else:
        order = np.argsort(lines, -1, kind="stable")
    return np.moveaxis(order[..., :k], -1, axis)


def drawn(kind, shape, seed):
    rng = np.random.default_rng(seed)
    if kind == "ties":
        return rng.integers(0, 5, shape).astype(float)
    x = rng.normal(size=shape)
    if kind == "nan":
        x[rng.random(shape) < 0.05] = np.nan
        x[..., -40:, :] = np.nan
    if kind == "infinite":
        x[rng.random(shape) < 0.3] = np.inf
        x[rng.random(shape) < 0.3] = -np.inf
    return (x * 1000).astype(kind) if kind in ("int64", "int8", "uint8") else x


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("kind", ["plain", "ties", "nan", "infinite", "int64", "int8", "uint8"])
def test_positions_are_those_of_a_stable_sort(kind, largest):
    for seed, (shape, axis) in enumerate([((300, 3), 0), ((2, 64, 5), 1), ((4, 100, 128), -1)]):
        x = drawn(kind, shape, seed)
        for k in (1, 7, shape[axis] // 4):
            assert pays(x, axis, k)
            expected = sorted_positions(x, axis % x.ndim, k, largest)
            np.testing.assert_array_equal(outermost(x, axis, k, largest), expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
@pytest.mark.parametrize("largest", [True, False])
def test_topk_of_long_lines_beside_pytorch(dtype, largest):
    x = np.random.default_rng(1).permutation(900).reshape(3, 300).astype(dtype)
    for t in (x, x[:, ::2], x.T.copy().T):
        for axis in (0, 1):
            k = 5 if axis else 2
            mine = ours.from_numpy(t).topk(k, axis, largest)
            theirs = torch.from_numpy(t).topk(k, axis, largest)
            np.testing.assert_array_equal(mine.values.numpy(), theirs.values.numpy())
            np.testing.assert_array_equal(mine.indices.numpy(), theirs.indices.numpy())


def test_gradients_go_to_the_elements_that_were_taken():
    x = np.random.default_rng(2).normal(size=(4, 500))
    g = np.random.default_rng(3).normal(size=(4, 6))
    found = []
    for t in (ours, torch):
        leaf = t.from_numpy(x).requires_grad_()
        leaf.topk(6).values.backward(t.from_numpy(g))
        found.append(leaf.grad.numpy())
    np.testing.assert_array_equal(*found)
