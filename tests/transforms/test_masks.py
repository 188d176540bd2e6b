"""Selections of elements under `jit`: the number may be another one on every call."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import AbstractValueError

VALUES = [
    np.array(v)
    for v in ([1.0, -2, 3], [1.0, 2, 3], [1.0, 1.5, 3], [-1.0, 1, 3], [-1.0, -2, -1], [1.0, -2, 3])
]


def two_masks(x):
    """The second mask is one of what the first has selected."""
    y = x[x > 0]
    z = y[y < 2]
    return np.sum(y**2) + np.prod(z)


def written(x):
    b = fnp.zeros(3)
    b[x > 0] = x[0]
    b[x < 0] += 2 * x[1]
    b[x > 1] *= 3.0
    b[x < 2] = x[x < 2] ** 2
    return (b**2).sum()


PROGRAMS = {
    "two masks": two_masks,
    "written": written,
    "of rows": lambda x: np.sum(np.outer(x, x)[x > 0]),
    "of columns": lambda x: np.sum(np.outer(x, x)[:, x > 0] ** 2),
    "of a matrix": lambda x: np.sum(np.outer(x, x)[np.outer(x, x) > 1] ** 2),
    "without axes": lambda x: np.sum(x[x[0] > 0] ** 2),
    "median": lambda x: np.median(np.append(x[x > 0], 0.5)),
    "nonzero": lambda x: np.sum(x[np.nonzero(x > 0)] ** 2),
    "where": lambda x: np.sum(x[np.where(x > 0)] ** 2),
    "flatnonzero": lambda x: np.sum(x[np.flatnonzero(x > 0)] ** 2),
    "argwhere": lambda x: np.sum(x[np.argwhere(x > 0)] ** 2),
    "extract": lambda x: np.sum(np.extract(x > 0, x) ** 2),
    "compress": lambda x: np.sum(np.compress(x > 0, x) ** 2),
    "piecewise": lambda x: np.piecewise(
        x, [x < 0, x >= 2], [lambda v: v**2, lambda v: v**3, lambda v: np.sum(v) * v]
    ).sum(),
}
OF_VALUES = {
    "distinct": lambda x: np.sum(np.unique(np.round(x / 2) * x) ** 3),
    "distinct lines": lambda x: np.sum(np.unique(np.outer(x > 0, x), axis=0) ** 2),
    "counts": lambda x: np.sum(x) * np.unique(x > 0, return_counts=True)[1][-1],
    "inverse": lambda x: np.sum(np.unique(x > 0, return_inverse=True)[1] * x),
    "in both": lambda x: np.sum(np.intersect1d(x, [1.0, 3.0, -2.0]) ** 2),
    "in one": lambda x: np.sum(np.setdiff1d(x, [1.0]) ** 2) + np.sum(np.setxor1d(x, [3.0]) ** 3),
    "in either": lambda x: np.sum(np.union1d(x, [1.0]) ** 2),
    "trimmed": lambda x: np.sum(np.trim_zeros(np.maximum(x, 0.0)) ** 2),
    "trimmed behind": lambda x: np.trim_zeros(np.where(x < 2, x, 0.0), "b").sum() ** 2,
    "repeated": lambda x: np.sum(np.repeat(x, (x > 0) + np.arange(3)) ** 2),
    "repeated by one number": lambda x: np.prod(np.repeat(x, np.sum(x > 0)) + 2),
    "repeated and selected": lambda x: (
        np.sum(np.repeat(x, np.floor(np.abs(x)).astype(int)))
        * np.sum(x[np.nonzero(np.floor(np.abs(x)).astype(int))])
    ),
    "repeated columns": lambda x: np.sum(np.repeat(np.outer(x, x), x > 0, axis=1) ** 2),
    "bins": lambda x: (
        np.sum(np.bincount(np.abs(x).astype(int), x))
        * np.sum(np.bincount((x > 0).astype(np.uint8), minlength=4) * x[0])
    ),
    "roots": lambda x: np.sum(np.abs(np.emath.sqrt(x) + np.emath.log(x)) ** 2),
    "arc": lambda x: np.sum(np.imag(np.emath.arccos(x))),
}
PROGRAMS |= OF_VALUES
WAYS = {
    "jit of grad": lambda f: fg.jit(fg.value_and_grad(f)),
    "grad of jit": lambda f: fg.value_and_grad(fg.jit(f)),
    "grad of jit in jit": lambda f: fg.jit(fg.value_and_grad(fg.jit(f))),
    "hessian of jit": lambda f: fg.hessian(fg.jit(f)),
    "jit of hessian": lambda f: fg.jit(fg.hessian(f)),
    "jit of grad of checkpoint": lambda f: fg.jit(fg.value_and_grad(fg.checkpoint(f))),
    "vmap over tangents": lambda f: fg.jacfwd(fg.jit(f)),
}


@pytest.mark.filterwarnings("error::funcgrad.errors.ObjectArrayWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_any_number_of_elements(name, way):
    f = PROGRAMS[name]
    made = WAYS[way](f)
    if "hessian" in way:
        direct = fg.hessian(f)
    else:
        direct = fg.jacfwd(f) if "tangents" in way else fg.value_and_grad(f)
    for x in VALUES:
        for got, want in zip(fg.tree.leaves(made(x)), fg.tree.leaves(direct(x)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_a_number_is_traced_once():
    traced = itertools.count()

    def f(x):
        next(traced)
        return two_masks(x)

    made = fg.jit(fg.grad(f))
    for x in VALUES:
        made(x)
    before = next(traced)
    for x in VALUES[::-1] + VALUES:
        np.testing.assert_array_equal(made(x), fg.grad(two_masks)(x))
    assert next(traced) == before + 1


def repeated(x, counts):
    return np.repeat(x, counts)


def test_examples_repeat_as_often_as_each_other():
    x, counts = np.arange(6.0).reshape(2, 3), np.array([[1, 2, 0], [0, 0, 3]])
    want = np.stack([np.repeat(*pair) for pair in zip(x, counts)])
    for run in (fg.vmap(repeated), fg.jit(fg.vmap(repeated)), fg.vmap(fg.jit(repeated))):
        np.testing.assert_array_equal(run(x, counts), want)
    with pytest.raises(AbstractValueError, match=r"repeat\(\) gives differs .* \(2 to 3\)"):
        fg.vmap(repeated)(x, np.array([[1, 2, 0], [0, 0, 2]]))


@pytest.mark.parametrize("counts", [[1, -1, 3], [1, 2], [[1, 2, 3]], [1.0, 2.0, 3.0], [1, 2, 3, 4]])
def test_wrong_numbers_of_repetitions(counts):
    x, counts = np.arange(3.0), np.array(counts)
    with pytest.raises((TypeError, ValueError)) as theirs:
        np.repeat(x, counts)
    with pytest.raises(theirs.type):
        fg.jit(repeated)(x, counts)


BINS = [
    (np.array([0, -1, 2]), {}),
    (np.array([0.0, 1.0, 2.0]), {}),
    (np.array([[0, 1, 2]]), {}),
    (np.array([0, 1, 2]), {"weights": np.ones(2)}),
    (np.array([0, 1, 2]), {"weights": np.ones((3, 1))}),
    (np.array([0, 1, 2]), {"minlength": -1}),
]


@pytest.mark.parametrize("x, options", BINS)
def test_wrong_numbers_to_count(x, options):
    with pytest.raises((TypeError, ValueError)) as theirs:
        np.bincount(x, **options)
    with pytest.raises(theirs.type):
        fg.jit(lambda x: np.bincount(x, **options))(x)


def test_a_negative_number_to_count_that_comes_later():
    made = fg.jit(np.bincount)
    for x in ([0, 2, 1], [1, 1, 1], [0, 0, 5], []):
        got, want = made(np.array(x, np.int32)), np.bincount(np.array(x, np.int32))
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    with pytest.raises(ValueError, match="no negative integers"):
        made(np.array([0, -3, 2], np.int32))


def test_negative_repetitions_of_a_known_sum():
    """The sum is that for which the function was traced; the numbers are not."""
    made = fg.jit(repeated)
    made(np.arange(3.0), np.array([1, 2, 0]))
    with pytest.raises(ValueError, match="negative"):
        made(np.arange(3.0), np.array([1, 4, -2]))


def test_an_inner_jit_sees_the_values_of_the_outer_one():
    inner = fg.jit(two_masks)
    outer = fg.jit(lambda x: inner(x) * 2)
    for x in VALUES:
        assert inner(x[::-1].copy()) == two_masks(x[::-1])
        assert outer(x) == 2 * two_masks(x)


def test_captured_values_select():
    data = np.array([1.0, -2.0, 3.0])

    def f(w):
        return np.sum(w * data[data > 0])

    made = fg.jit(fg.grad(f))
    assert made(1.0) == 4.0
    data[1] = 5.0
    assert made(1.0) == 9.0


def test_python_sees_how_many_there_are():
    made = fg.jit(lambda x: x[x > 0].sum() / len(x[x > 0]))
    for x in VALUES[:4]:
        assert made(x) == x[x > 0].mean()


def test_writing_a_number_where_a_mask_holds_takes_vmap():
    def f(x):
        b = fnp.zeros(3)
        b[x > 0] = x[0]
        return (b * x).sum()

    np.testing.assert_array_equal(
        fg.vmap(fg.grad(f))(np.array(VALUES)), [fg.grad(f)(x) for x in VALUES]
    )


@pytest.mark.parametrize("name", OF_VALUES)
def test_examples_that_select_as_many_are_mapped(name):
    f, rows = PROGRAMS[name], np.array([[1.0, -2, 3], [3.0, -2.5, 1]])
    wanted = [fg.value_and_grad(f)(x) for x in rows]
    one = fg.value_and_grad(f)
    for made in (fg.vmap(one), fg.jit(fg.vmap(one)), fg.vmap(fg.jit(one))):
        if name in ("in both", "trimmed behind"):  # one more in one of the examples
            with pytest.raises(AbstractValueError, match="differs between the examples"):
                made(rows)
            continue
        found = made(rows)
        for k, (value, gradient) in enumerate(wanted):
            np.testing.assert_allclose(found[0][k], value, rtol=1e-12)
            np.testing.assert_allclose(found[1][k], gradient, rtol=1e-12, atol=1e-12)


def test_examples_that_come_to_select_others_are_told():
    made = fg.jit(fg.vmap(lambda x: np.sum(x[x > 0])))
    np.testing.assert_array_equal(made(np.eye(3)), np.ones(3))
    np.testing.assert_array_equal(made(np.eye(3) + 1.0), np.full(3, 4.0))
    with pytest.raises(AbstractValueError, match=r"that a bool mask selects differs between"):
        made(np.tril(np.ones((3, 3))))
    np.testing.assert_array_equal(made(np.eye(3)), np.ones(3))


def test_results_are_complex_where_one_example_needs_it():
    rows = np.array([[1.0, 4.0], [-1.0, 9.0]])
    for made in (fg.vmap(np.emath.sqrt), fg.jit(fg.vmap(np.emath.sqrt))):
        np.testing.assert_array_equal(made(rows), np.emath.sqrt(rows))
        assert made(np.abs(rows)).dtype == float


@pytest.mark.parametrize(
    "x",
    [
        np.array([np.nan, 1.0, np.nan, 0.0]),
        np.zeros(0),
        np.array(3.0),
        np.array([[1.0, 0, 0], [0, 1, 0], [1, 0, 0]]),
        np.array([1 + 2j, np.nan, 1 + 2j, complex(0, np.nan)]),
        np.array([True, False, True]),
    ],
    ids=lambda x: f"{x.dtype}{list(x.shape)}",
)
def test_distinct_elements_are_numpys_where_values_are_not_known(x):
    for options in itertools.product([False, True], repeat=4):
        for axis in (None, *range(x.ndim)):

            def call(x, np, axis=axis, options=options):
                return np.unique(x, *options[:3], axis, equal_nan=options[3])

            wanted, found = call(x, np), fg.jit(lambda x, call=call: call(x, fnp))(x)
            for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_array_equal(a, b, strict=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda: fg.vmap(two_masks)(np.tril(np.ones((3, 3)))),
        lambda: fg.vmap(fg.jit(two_masks))(np.tril(np.ones((3, 3)))),
        lambda: fg.jit(fg.vmap(two_masks))(np.tril(np.ones((3, 3)))),
        lambda: fg.eval_shape(two_masks, fg.ShapeDtypeStruct((3,), float)),
    ],
)
def test_where_no_number_is_known_it_is_an_error(call):
    with pytest.raises(AbstractValueError, match=r"numbers? of elements.*; use where") as info:
        call()
    assert __file__ in str(info.value)


def test_shapes_for_values_at_hand():
    assert fg.eval_shape(lambda x: x[x > 0], VALUES[0]).shape == (2,)


def test_a_number_in_all_places_is_gathered():
    at = np.array([1, 2])
    made = fg.jit(lambda i: fnp.take(np.ones(3), i) * 2.0)
    np.testing.assert_array_equal(made(at), [2.0, 2.0])
    with pytest.raises(IndexError):
        made(at + 1)
