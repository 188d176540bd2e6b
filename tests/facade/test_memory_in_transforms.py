"""Views and copies of reshaped memory: the same in steps that are compiled, and within `vmap`.

Whether `reshape` gives a view, which a write goes through, depends on how a tensor lies in memory.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import theirs

NUMBERS = np.arange(12, dtype=np.float32).reshape(3, 4) / 10


def of_transposed(torch, x):
    y = x.t().reshape(-1)
    return y.mul_(2), x + 0


def of_new(torch, x):
    z = x + 1
    y = z.t().reshape(-1)
    return y.mul_(2), z + 0


def of_what_is_computed_transposed(torch, x):
    z = x.t() + 1
    y = z.reshape(-1)
    return y.mul_(2), z + 0


def in_the_order_of_memory(torch, x):
    z = x.t() + 1
    y = z.t().reshape(-1)
    return y.mul_(2), z + 0


def of_contiguous(torch, x):
    z = x.t().contiguous()
    z.add_(1)
    y = z.reshape(-1)
    return y.mul_(2), z + 0, x + 0


def of_contiguous_itself(torch, x):
    z = x + 1
    y = z.contiguous()
    return y.mul_(2), z + 0


def of_new_made_contiguous(torch, x):
    z = x.t() + 1
    y = z.contiguous()
    return y.mul_(2), z + 0


def of_a_clone_of_gaps(torch, x):
    z = x[:, ::2].clone()
    y = z.reshape(-1)
    return y.mul_(2), z + 0, x + 0


def of_a_clone_of_transposed(torch, x):
    z = x.t().clone()
    y = z.reshape(-1)
    return y.mul_(2), z + 0


def of_expanded(torch, x):
    z = x.sum(0, keepdim=True).t().expand(4, 3)
    y = z.reshape(-1)
    return y.mul_(2), z + 0


def of_a_clone_of_expanded(torch, x):
    z = x.unsqueeze(0).expand(2, 3, 4).clone()
    y = z.view(-1)
    return y.mul_(2), z + 0


def of_a_product(torch, x):
    z = x.t() @ x
    y = z.flatten()
    return y.mul_(2), z + 0


def where_it_was_written(torch, x):
    z = x + 0
    z.copy_((x * 3).t().t())
    y = z.reshape(2, 6)
    return y.mul_(2), z + 0


PROGRAMS = [
    of_transposed, of_new, of_what_is_computed_transposed, in_the_order_of_memory, of_contiguous,
    of_contiguous_itself, of_new_made_contiguous, of_a_clone_of_gaps, of_a_clone_of_transposed,
    of_expanded, of_a_clone_of_expanded, of_a_product, where_it_was_written,
]  # fmt: skip


def found(torch, program, wrap, x):
    return [y.numpy() for y in wrap(lambda t: program(torch, t))(torch.tensor(x))]


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_a_view_in_a_compiled_step(program):
    expected = found(ours, program, lambda f: f, NUMBERS)
    if theirs is not None:
        for e, t in zip(expected, found(theirs, program, lambda f: f, NUMBERS), strict=True):
            np.testing.assert_allclose(e, t, rtol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a step that cannot be compiled warns
        got = found(ours, program, ours.compile, NUMBERS)
    for e, g in zip(expected, got, strict=True):
        np.testing.assert_array_equal(g, e)


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_a_view_of_each_example(program):
    many = np.stack([NUMBERS, NUMBERS + 1])
    got = found(ours, program, ours.func.vmap, many)
    expected = [found(ours, program, lambda f: f, x) for x in many]
    for k, g in enumerate(got):
        np.testing.assert_array_equal(g, np.stack([e[k] for e in expected]))


def test_strides_within_a_transform_are_those_of_an_example():
    seen = []

    def program(x):
        seen.append((x.t().stride(), x.t().is_contiguous(), x.is_contiguous()))
        return x

    ours.func.vmap(program)(ours.zeros(2, 3, 4))
    ours.func.grad(lambda x: program(x).sum())(ours.zeros(3, 4))
    assert seen == [((1, 4), False, True)] * 2


def test_attention_of_several_heads_is_compiled():
    ours.manual_seed(0)
    attention, x = ours.nn.MultiheadAttention(4, 2), ours.randn(3, 2, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = ours.compile(lambda v: attention(v, v, v)[0].sum())(x)
    ours.testing.assert_close(got, attention(x, x, x)[0].sum())
