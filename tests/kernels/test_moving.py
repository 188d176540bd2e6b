"""Joins, zeros, reversals and repeated numbers by several threads: NumPy's elements, everywhere."""

import numpy as np
import pytest

import funcgrad.numpy as fnp
import funcgrad.torch as ft
from funcgrad import grad
from funcgrad.kernels import copies

DTYPES = [np.float32, np.float64]


@pytest.fixture(params=[1, 2])
def threads(request):
    before = ft.get_num_threads()
    ft.set_num_threads(request.param)
    yield request.param
    ft.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("extra", [0, 1, 7, 17, 40])
def test_reversals_read_every_element_once(threads, dtype, extra):
    x = np.arange((1 << 16) + extra, dtype=dtype)
    made = copies.backwards(x)
    assert made is None or np.array_equal(made, x[::-1])
    assert (made is None) == (threads == 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3,), (1 << 16,), (257, 300), (2, 1 << 20)])
def test_zeros_are_zeros_where_memory_was_used_before(threads, dtype, shape):
    used = np.empty(shape, dtype)
    used.fill(7)
    for _ in range(3):
        made = copies.zeros(shape, np.dtype(dtype))
        assert made.shape == shape and made.dtype == dtype and not made.any()
        made.fill(5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_joins_of_large_parts_are_those_of_numpy(threads, dtype, axis):
    shapes = [(1, 3, 50_000), (1, 3, 50_000)]
    xs = [np.random.default_rng(k).normal(size=s).astype(dtype) for k, s in enumerate(shapes)]
    expected = np.concatenate(xs, axis)
    assert np.array_equal(fnp.concatenate(xs, axis), expected)
    made = copies.joined(xs, axis)
    assert (made is None) == (axis == 2) and (made is None or np.array_equal(made, expected))


def test_joins_leave_to_numpy_what_does_not_fit():
    x, y = np.ones((2, 1 << 17)), np.ones((2, 1 << 18))
    assert copies.joined([x, y], 0) is None
    assert copies.joined([x, x.astype(np.float32)], 0) is None
    assert copies.joined([x, x[:, ::-1]], 0).shape == (4, 1 << 17)  # gaps are NumPy's to copy
    with pytest.raises(ValueError):
        fnp.concatenate([x, y], 0)


@pytest.mark.parametrize("index", [slice(1, None), slice(None, None, 2), slice(None, None, -1)])
def test_what_surrounds_a_slice_is_zero(threads, index):
    x = np.linspace(0.0, 1.0, 1 << 18)
    for _ in range(3):
        found = grad(lambda x: fnp.sum(x[index] * 3.0))(x)
        expected = np.zeros_like(x)
        expected[index] = 3.0
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("size", [1 << 16, 100_003, 1 << 18])
@pytest.mark.parametrize("mean", [False, True])
def test_gradients_of_sums_are_arrays_of_the_caller(threads, size, mean):
    """The cotangent is repeated as a view, which must not be what the leaf keeps."""
    x = ft.ones(size, dtype=ft.float32).requires_grad_()
    g = ft.tensor(2.0)
    for _ in range(70):  # a recipe, too
        x.grad = None
        (x.mean() if mean else x.sum()).backward(g)
    g.fill_(7.0)
    expected = np.float32(2.0) / np.float32(size) if mean else np.float32(2.0)
    assert (x.grad.numpy() == expected).all()
    x.grad[0] = 5.0
    assert x.grad[1].item() == expected


@pytest.mark.parametrize("size", [1 << 16, 1 << 18])
def test_clones_of_large_tensors_have_memory_of_their_own(threads, size):
    x = ft.arange(size, dtype=ft.float64).requires_grad_()
    for _ in range(70):
        made = x.clone()
    assert np.array_equal(made.detach().numpy(), x.detach().numpy())
    assert made.data_ptr() != x.data_ptr()


def test_stacks_of_large_tensors_along_any_dimension(threads):
    xs = [ft.arange(1 << 17, dtype=ft.float32) + k for k in range(2)]
    for dim in (0, 1, -1):
        made = ft.stack(xs, dim).numpy()
        assert np.array_equal(made, np.stack([x.numpy() for x in xs], dim))
