"""Arrays that are more than their numbers: what they mean is kept, or there is an error."""

import enum

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.torch as torch
from funcgrad.errors import NonScalarOutputError, OperandError, TreeError


class Table:
    """An array with rules of its own, as data frames and other libraries' arrays have."""

    def __init__(self, numbers):
        self.numbers = np.array(numbers)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.numbers, dtype)

    def __mul__(self, other):
        return Table(self.numbers * other)

    __rmul__ = __mul__

    def sum(self):
        return self.numbers.sum() + 1.0


class Readable:
    """Data that can be read as an array, and do nothing else."""

    def __array__(self, dtype=None, copy=None):
        return np.arange(3.0)


class Unit(np.ndarray):
    def sum(self, *args, **kwargs):
        return 1000.0 * np.asarray(self).sum(*args, **kwargs)


class Named(np.ndarray):
    """It computes as any array does."""


def masked():
    return np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])


FOREIGN = {
    "masked": masked,
    "not masked yet": lambda: np.ma.array([1.0, 2.0, 3.0]),
    "matrix": lambda: np.matrix([[1.0, 2.0, 3.0]]),
    "unit": lambda: np.ones(3).view(Unit),
    "table": lambda: Table([1.0, 2.0, 3.0]),
}
TRANSFORMS = {
    "jit": lambda x: fg.jit(lambda y: y)(x),
    "grad": lambda x: fg.grad(np.sum)(x),
    "vjp": lambda x: fg.vjp(np.sin, x),
    "jvp": lambda x: fg.jvp(np.sin, (x,), (np.ones(3),)),
    "vmap": lambda x: fg.vmap(np.sin)(x),
    "jacobian": lambda x: fg.jacobian(np.sin)(x),
    "within a tree": lambda x: fg.jit(lambda y: y["a"])({"a": [x]}),
}
OPERATIONS = {
    "product": lambda t, x: t * x,
    "in place": lambda t, x: t.__iadd__(x),
    "ufunc": lambda t, x: np.multiply(t, x),
    "function": lambda t, x: np.where(t > 0.0, t, x),
    "compared": lambda t, x: np.sum(t) * (t < x),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("kind", FOREIGN)
def test_as_arguments_they_are_refused(kind, transform):
    with pytest.raises((TreeError, OperandError, TypeError), match=r"(?s)type '.*test_foreign"):
        TRANSFORMS[transform](FOREIGN[kind]())


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("around", [fg.grad, fg.jit])
def test_beside_traced_values_they_are_refused(around, kind, operation):
    x, f = FOREIGN[kind](), OPERATIONS[operation]
    with pytest.raises(OperandError, match=r"(?s)operand of type '.*test_foreign"):
        around(lambda t: np.sum(f(t * 1.0, x)))(np.ones(3))


def test_a_masked_array_that_computes_itself_keeps_its_mask():
    m, t = masked(), np.array([0.5, 0.6, 0.7])
    value, gradient = fg.value_and_grad(lambda t: (m * t).sum())(t)
    assert value == (m * t).sum()
    np.testing.assert_array_equal(gradient, [1.0, 0.0, 3.0])
    np.testing.assert_array_equal(
        fg.grad(lambda t: np.ma.array(t, mask=[0, 1, 0]).mean())(t), [0.5, 0.0, 0.5]
    )


@pytest.mark.parametrize("f", [lambda m, t: m.dot(t), np.ma.dot])
def test_a_result_of_another_class_has_no_gradient_zero(f):
    with pytest.raises(NonScalarOutputError, match="MaskedArray"):
        fg.grad(lambda t: f(masked(), t))(np.ones(3))


def test_what_only_holds_numbers_is_taken(tmp_path):
    x = np.array([1.0, 2.0, 3.0])
    mapped = np.memmap(tmp_path / "numbers", float, "w+", shape=3)
    mapped[:] = x
    frozen = x.copy()
    frozen.flags.writeable = False
    for y in (x.view(Named), mapped, frozen, np.rec.array(x), x.astype(">f8")):
        np.testing.assert_array_equal(fg.jit(lambda y: y * 2.0)(y), 2.0 * x)
        np.testing.assert_array_equal(fg.grad(lambda y: np.sum(y**2))(y), 2.0 * x)
        assert fg.grad(lambda t, y=y: np.sum(t * y))(1.0) == 6.0
    np.testing.assert_array_equal(fg.jit(lambda y: y + 1.0)(Readable()), np.arange(1.0, 4.0))
    np.testing.assert_array_equal(fg.jacobian(np.square)(Readable()), np.diag([0.0, 2.0, 4.0]))


@pytest.mark.parametrize("dtype", ["f2", "g", "G", ">f4", "u8", "?", "i1"])
def test_other_dtypes_are_those_of_numpy(dtype):
    x = np.array([1, 0, 3]).astype(dtype)
    for f in (lambda x: x * x, lambda x: np.sum(x), lambda x: x + np.longdouble(1e-19)):
        expected, found = f(x), fg.jit(f)(x)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_objects_that_are_numbers():
    x = np.array([1.0, 2.0], object)
    np.testing.assert_array_equal(fg.grad(lambda t: np.sum(t * x))(2.0), 3.0)
    large = np.array([10**30, 1], object)
    for call in (fg.jit(np.sum), fg.jit(lambda t: np.sum(t * large)), fg.grad(np.sum)):
        with pytest.raises((OperandError, TreeError), match="beyond 64 bits"):
            call(large)


class Length(float):
    pass


class Count(enum.IntEnum):
    TWO = 2


@pytest.mark.parametrize("number", [Length(2.5), Count.TWO])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, n: x * n,
        lambda x, n: n - x,
        lambda x, n: np.power(x, n),
        lambda x, n: np.where(x > n, x, n),
        lambda x, n: np.clip(x, None, n),
    ],
)
def test_numbers_of_classes_of_their_own(f, number):
    """NumPy takes them for its own numbers: float32 times one of them is float64."""
    x = np.array([1.0, 2.0, 3.0], np.float32)
    want = f(x, number)
    for got in (
        fg.jit(lambda x: f(x, number))(x),
        fg.jit(f)(x, number),
        fg.vjp(lambda x: f(x, number), x)[0],
        fg.vmap(lambda x: f(x, number))(x),
    ):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, 1e-6)


def attribute():
    x = np.ones(3).view(Named)
    x.scale = 2.0
    return x


CHANGES = {
    "a mask": (masked, lambda x: x.sum(), lambda x: x.__setitem__(0, np.ma.masked)),
    "the first mask": (
        lambda: np.ma.array([1.0, 2.0]),
        lambda x: x.sum(),
        lambda x: x.__setitem__(1, np.ma.masked),
    ),
    "a mask of many": (
        lambda: np.ma.array(np.ones(20_000), mask=np.zeros(20_000, bool)),
        lambda x: x.sum(),
        lambda x: x.__setitem__(7, np.ma.masked),
    ),
    "numbers below a mask": (masked, lambda x: x.sum(), lambda x: x.__setitem__(0, 9.0)),
    "an attribute": (attribute, lambda x: x.scale, lambda x: setattr(x, "scale", 5.0)),
    "an object": (
        lambda: np.array([1.0, "a"], object),
        lambda x: x[0],
        lambda x: x.__setitem__(0, 9.0),
    ),
    "a table": (
        lambda: Table([1.0, 2.0]),
        lambda x: np.asarray(x).sum(),
        lambda x: x.numbers.__setitem__(0, 9.0),
    ),
    "dates": (
        lambda: np.array(["2020-01-01"], "M8[D]"),
        lambda x: x.astype(int)[0],
        lambda x: x.__setitem__(0, np.datetime64("2021-01-01")),
    ),
    "a field": (
        lambda: np.zeros(2, [("a", float), ("b", int)]),
        lambda x: x["a"][1],
        lambda x: x["a"].__setitem__(1, 3.0),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_captured_ones_are_looked_at(change):
    make, read, write = CHANGES[change]
    x = make()
    f = fg.jit(lambda t: t * read(x))
    for _ in range(3):
        assert f(2.0) == 2.0 * read(x)
    write(x)
    for _ in range(3):
        assert f(2.0) == 2.0 * read(x)


def test_tensors_have_no_mask():
    for make in (torch.from_numpy, torch.tensor, torch.as_tensor):
        with pytest.raises(TypeError, match="masked"):
            make(masked())
        x = make(np.matrix([[1.0, 2.0], [3.0, 4.0]]))
        assert (x * x).tolist() == [[1.0, 4.0], [9.0, 16.0]]
