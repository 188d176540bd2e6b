"""Native code finds the largest elements of windows, takes them and puts cotangents back."""

import numpy as np
import pytest
from amount import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.torch as torch
from funcgrad.kernels import pooling as kernels

F = torch.nn.functional
POOLS = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}


@st.composite
def pools(draw):
    """An image whose elements are often equal, and numbers of a window that meets it."""
    axes = draw(
        st.lists(
            st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(0, 6)),
            min_size=1, max_size=3,
        )
    )  # fmt: skip
    kernel, stride, dilation, more = zip(*axes, strict=True)
    size = [(k - 1) * d + 1 + m for k, d, m in zip(kernel, dilation, more, strict=True)]
    padding = tuple(draw(st.integers(0, k // 2)) for k in kernel)
    values = draw(st.sampled_from([[0, 1, 2], [0, -np.inf], [-np.inf], [0, 1, np.nan, np.inf]]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    x = rng.choice(values, (2, 3, *size)).astype(dtype)
    return x, (kernel, stride, padding, dilation, draw(st.booleans()))


def pooled(x, numbers):
    x = torch.tensor(x).requires_grad_()
    y, at = POOLS[len(numbers[0])](x, *numbers, True)
    g = np.arange(1, 1 + y.numel(), dtype=x.numpy(force=True).dtype).reshape(y.shape)
    y.backward(torch.tensor(g))
    return [a.numpy(force=True) for a in (y, at, x.grad)]


@settings(max_examples=examples(80), deadline=None)
@given(pools())
def test_every_window_has_the_bits_of_the_operations_of_numpy(case):
    found = pooled(*case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fg.config, "kernels", False)
        expected = pooled(*case)
    for one, two in zip(found, expected, strict=True):
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)


def test_the_number_of_threads_changes_no_bit_of_a_pool(monkeypatch):
    for name in ("GRAIN", "SHARED"):
        monkeypatch.setattr(kernels, name, 1)
    x = np.random.default_rng(0).normal(size=(4, 5, 9, 9))
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(fg.config, "threads", threads)
        found.append(pooled(x, ((3, 3), (2, 2), (1, 1), (1, 1), False)))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("function", [F.max_pool2d_with_indices, F.max_pool2d])
def test_indices_that_are_written_over_do_not_lead_the_way_back(function):
    x = torch.arange(64.0).reshape(1, 1, 8, 8).requires_grad_()
    y, at = function(x, 2, return_indices=True)
    at.fill_(10**9)
    y.sum().backward()
    assert float(x.grad.sum()) == 16.0


def test_a_window_in_the_border_alone_reads_no_foreign_memory():
    x = torch.zeros(1, 1, 8, 1)
    y, at = F.max_pool2d(x, (1, 3), (2, 3), (0, 1), (2, 2), True, True)
    assert int(at.min()) >= 0 and int(at.max()) < 8


def test_second_derivatives_of_a_pool_are_those_of_picking():
    x = torch.arange(16.0, dtype=torch.float64).reshape(1, 1, 4, 4).requires_grad_()
    (first,) = torch.autograd.grad((F.max_pool2d(x, 2) ** 3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    largest = first.detach() != 0
    np.testing.assert_array_equal(second.numpy(), np.where(largest, 6 * x.detach().numpy(), 0))
