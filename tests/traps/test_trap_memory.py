"""Memory layouts, containers and captures.

The numbers are those of the table of traps.
"""

import copy
import dataclasses
import pickle
import warnings

import numpy as np
import pytest
from captured_programs import SEEN, UNSEEN
from layouts import exact

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import errors


def reads_in_memory_order(x):
    return np.ravel(x.T, order="A") + np.ravel(x.T, order="K")


def writes_through_a_view(x):
    t = np.sin(x.T).T.ravel()
    t *= 2.0
    y = x.reshape(6)
    y[0] = 9.0
    return x


def writes_into_a_copy(x):
    t = x.T.ravel()
    t *= 2.0
    return x


def writes_into_what_is_seen_of_a_scalar(x):
    s = np.sum(x)
    for t in (s[None], s[...], s.view()):
        t *= 2.0
    return s


def writes_into_an_array_without_axes(x):
    y = z = np.where(x[0, 0] > 0, x[0, 1], 1.0)
    z *= 2.0
    return y + 0.0


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "program",
    [
        reads_in_memory_order,
        writes_through_a_view,
        writes_into_a_copy,
        writes_into_what_is_seen_of_a_scalar,
        writes_into_an_array_without_axes,
    ],
)
def test_trap_35_memory_layouts_and_scalars(program, order):
    x = np.arange(6.0).reshape(2, 3).copy(order)
    want = program(x.copy("K"))
    np.testing.assert_array_equal(fg.vjp(program, x)[0], want)
    np.testing.assert_array_equal(fg.jit(program)(x), want)
    xs = np.stack([x, x], -1)
    found = fg.vmap(program, in_axes=-1)(xs)
    for k in range(2):
        np.testing.assert_array_equal(found[k], program(exact(xs[..., k])))


@pytest.mark.parametrize("transform", [fg.jit, lambda f: fg.jit(fg.value_and_grad(f))])
def test_trap_36_order_of_dictionaries_and_keywords(transform):
    def f(d, **given):
        first, *_ = d.values()
        name, *_ = given
        return first * given[name]

    run = transform(f)
    for d in ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}) * 2:
        for given in ({"x": 3.0, "y": 5.0}, {"y": 5.0, "x": 3.0}):
            got = run(d, **given)
            assert (got[0] if isinstance(got, tuple) else got) == f(d, **given)


@pytest.mark.parametrize("make", [*SEEN, *UNSEEN], ids=lambda f: f.__name__)
def test_trap_37_captures(make):
    f, change = make()
    run = fg.jit(f)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", fg.CaptureWarning)
        run(2.0)
        change()
        got = run(2.0)
    assert caught or got == f(2.0)


def test_slices_and_writes_share_memory():
    def earlier_slice(x):
        b = fnp.zeros(3)
        v = b[:2]
        b[0] = x
        return fnp.sum(v)

    def through_slice(x):
        b = fnp.zeros(3)
        v = b[1:]
        v[0] = x
        return b[1]

    def augmented(x):
        b = fnp.zeros((2, 2))
        row = b[1]
        row += x
        b *= 2.0
        return b.sum() + row[0]

    assert fg.value_and_grad(earlier_slice)(3.0) == (3.0, 1.0)
    assert fg.value_and_grad(through_slice)(3.0) == (3.0, 1.0)
    assert fg.value_and_grad(augmented)(3.0) == (18.0, 6.0)


def test_augmented_assignment_reaches_every_alias():
    def f(x):
        y = x * 1.0
        z = y
        z += x
        return fnp.sum(y)

    np.testing.assert_array_equal(fg.grad(f)(np.ones(3)), [2, 2, 2])


def test_trap_36_sets_and_dictionaries_keyed_by_traced_values():
    for f, x in (
        (lambda x: x * (x in {0.5}), 0.5),
        (lambda x: x * {0.5: 3.0}.get(x, 1.0), 0.5),
        (lambda x: np.sum(x) * len({*x}), np.array([0.5, 0.5])),
    ):
        with pytest.raises(errors.UnhashableTracerError):
            fg.grad(f)(x)


@pytest.mark.parametrize("around", [fg.grad, lambda f: fg.jit(fg.grad(f)), fg.jacfwd])
def test_trap_36_copies_inside_a_function(around):
    @dataclasses.dataclass
    class Pair:
        a: object
        b: object

    def f(x):
        deep = copy.deepcopy({"x": x})["x"]
        part = copy.copy(x[:1])
        part *= 5.0
        return np.sum(deep * dataclasses.asdict(Pair(x, 1.0))["a"]) + np.sum(x[:1])

    np.testing.assert_allclose(around(f)(np.array([2.0, 3.0])), [5.0, 6.0])
    with pytest.raises(errors.FuncgradError):
        around(lambda x: np.sum(pickle.loads(pickle.dumps(x))))(np.ones(2))
