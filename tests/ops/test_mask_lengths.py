"""Masks whose lengths fit and masks whose lengths do not: NumPy's elements, or NumPy's error."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import backend, derandomized

import funcgrad as fg
import funcgrad.numpy as fnp
import funcgrad.torch as torch

SHAPES = [(5,), (2, 3), (3, 2, 2), (1,), (4, 1)]


def read(x, index):
    return x[index]


def written(x, index):
    b = x * 1.0
    b[index] = 3.0
    return b


def added(x, index):
    b = x * 1.0
    np.add.at(b, index, 3.0)
    return b


USES = [read, written, added]


@st.composite
def masks(draw, shape):
    """A mask over some axes, now and then of another length than the axis has."""
    extents = [n + draw(st.sampled_from([0, 0, 0, 0, 1, -1])) for n in shape]
    size = int(np.prod(extents))
    return np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), bool).reshape(
        extents
    )


@st.composite
def indices(draw):
    """A shape, and an index for it with at least one mask."""
    shape = draw(st.sampled_from(SHAPES))
    items, left = [], list(shape)
    while left:
        kind = draw(st.sampled_from(["mask", "mask", "slice", "integer", "list", "none", "stop"]))
        if kind == "stop":
            break
        wide = draw(st.integers(1, len(left))) if kind == "mask" else int(kind != "none")
        taken, left = left[:wide], left[wide:]
        items.append(
            {
                "mask": lambda taken=taken: draw(masks(taken)),
                "slice": lambda: slice(None, None, draw(st.sampled_from([None, -1]))),
                "integer": lambda: draw(st.sampled_from([0, np.int64(-1), np.uint8(0)])),
                "list": lambda: [0, -1],
                "none": lambda: None,
            }[kind]()
        )
    if not any(isinstance(i, np.ndarray) for i in items):
        items = [draw(masks(shape))]
    items.insert(draw(st.integers(0, len(items))), ...) if draw(st.booleans()) else None
    return shape, items[0] if len(items) == 1 and draw(st.booleans()) else tuple(items)


def result(f, *arguments):
    """What a call returns, or the class of its error and the first line of the text."""
    try:
        return f(*arguments)
    except Exception as error:
        return type(error), str(error).split("\n")[0].strip()


def check(got, want):
    if isinstance(want, tuple):
        assert got == want
    else:
        assert not isinstance(got, tuple), got
        np.testing.assert_array_equal(got, want)


@derandomized(150)
@given(indices(), st.sampled_from(USES))
def test_known_masks(case, use):
    shape, index = case
    x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    want = result(use, x, index)
    pair = np.stack([x, x + 1.0])
    with backend("interpreter"):
        check(result(lambda: fg.vjp(lambda x: use(x, index), x)[0]), want)
        check(result(lambda: fg.jvp(lambda x: use(x, index), (x,), (x,))[0]), want)
        check(result(fg.jit(lambda x: use(x, index)), x), want)
        mapped = result(fg.vmap(lambda x: use(x, index)), pair)
    check(mapped, want if isinstance(want, tuple) else np.stack([use(row, index) for row in pair]))


def with_traced_masks(use, items):
    """`use` with the masks of an index as arguments."""
    whole = items if isinstance(items, tuple) else (items,)
    at = [k for k, i in enumerate(whole) if isinstance(i, np.ndarray)]

    def f(x, *given):
        index = list(whole)
        for k, mask in zip(at, given, strict=True):
            index[k] = mask
        return use(x, tuple(index))

    return f, [whole[k] for k in at]


@derandomized(100)
@given(indices(), st.sampled_from(USES))
def test_traced_masks(case, use):
    shape, index = case
    x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    want = result(use, x, index)
    f, given = with_traced_masks(use, index)
    with backend("interpreter"):
        check(result(fg.jit(f), x, *given), want)
        check(result(lambda: fg.vjp(lambda x, *m: f(x, *m), x, *given)[0]), want)
        check(result(fg.checkpoint(f), x, *given), want)


def test_the_error_names_the_line_of_the_user():
    short = np.array([True, False])
    programs = [
        lambda a: np.sum(a[short]),
        lambda a: np.sum(np.outer(a, a)[:, short]),
        lambda a: np.sum(a[a[:2] > 0]),
        lambda a: np.sum(written(a, short)),
        lambda a: np.sum(written(a, a[:2] > 0)),
        lambda a: np.sum(added(a, short)),
    ]
    for f in programs:
        for call in (fg.grad(f), fg.jit(f), fg.jit(fg.grad(f))):
            with pytest.raises(IndexError, match=r"boolean index did not match") as info:
                call(np.arange(5.0))
            assert __file__ in str(info.value)


def test_a_wrong_length_is_seen_before_a_mask_that_is_not_known():
    for f in (lambda a: a[a[:2] > 0], lambda a: written(a, a[:2] > 0)):
        with pytest.raises(IndexError, match="size of axis is 5 but size of corresponding"):
            fg.vmap(f)(np.ones((3, 5)))


def test_a_mask_of_the_facade():
    x = torch.arange(5.0).requires_grad_()
    for index in (torch.tensor([True, False]), (slice(None), torch.tensor([True]))):
        with pytest.raises(IndexError):
            x[index]
        with pytest.raises(IndexError):
            x.detach().clone()[index] = 1.0


@pytest.mark.parametrize("short", [np.array([True, False]), np.ones((2, 3), bool), np.array([1])])
def test_place_and_putmask_want_as_many_elements(short):
    for function in (np.place, np.putmask):

        def f(x, function=function):
            b = x * 1.0
            function(b, short, np.array([7.0, 8.0]))
            return b

        x = np.arange(5.0)
        check(result(lambda f=f, x=x: fg.vjp(f, x)[0]), result(f, x))
    six = np.ones((2, 3), bool)
    np.testing.assert_array_equal(
        fg.grad(lambda x: (np.putmask(b := x * 1.0, six, x[:1]), b.sum())[1])(np.arange(6.0)),
        [6.0, 0, 0, 0, 0, 0],
    )


def test_take_and_put_read_bools_as_numbers():
    flags = np.array([True, False, True])
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(fg.vjp(lambda x: np.take(x, flags), x)[0], np.take(x, flags))

    def put(x):
        b = fnp.array(x)
        np.put(b, flags, 5.0 * x)
        return b

    np.testing.assert_array_equal(fg.vjp(put, x)[0], [10.0, 5.0])


def test_an_index_out_of_bounds_is_named_as_numpy_names_it():
    x = np.ones((3, 4))
    for index in ((slice(None), np.array([7])), (np.array([0]), np.array([1, -5])), ([3],)):
        check(result(lambda i=index: fg.vjp(lambda x: x[i], x)[0]), result(lambda i=index: x[i]))
    with pytest.raises(IndexError, match="index 9223372036854775809 is out of bounds for axis 0"):
        fg.grad(lambda x: x[np.array([2**63 + 1], np.uint64)].sum())(x)
