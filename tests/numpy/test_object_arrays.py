"""Arrays of Python objects that NumPy makes of traced values: right, or an error of ours."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import AbstractValueError, UnsupportedCallError

X = np.array([0.3, 0.7, 1.1])


def written(x):
    a = np.array(x)
    a[1:] = 0.3
    return np.sin(a)


def written_with_a_traced_value(x):
    a = np.array(x)
    a[1:] = x[0]
    return np.sin(a)


WORKS = {
    "array": lambda x: np.sin(np.array(x)),
    "asarray": lambda x: np.exp(np.asarray(x)),
    "a list": lambda x: np.sin(np.array([x[0], x[1] * 2.0])),
    "rows": lambda x: np.cos(np.array([x, x[::-1]])),
    "r_": lambda x: np.sin(np.r_[x, x]),
    "numbers between": lambda x: np.array([x[0], 1.0]) * 2.0 + np.array([1.0, x[1]]),
    "a sum": lambda x: np.sum(np.array([x[0], 1.0, x[2]])),
    "a product": lambda x: np.array([x[0], 1.0]) @ np.array([2.0, 3.0]),
    "a norm": lambda x: np.linalg.norm(np.array([x[0], 1.0])),
    "written": written_with_a_traced_value,
}
REFUSED = {
    "a function": lambda x: np.sin(np.array([x[0], 1.0])),
    "of two": lambda x: np.hypot(np.array([x[0], 1.0]), 2.0),
    "rows": lambda x: np.exp(np.array([x, np.ones(3)])),
    "r_": lambda x: np.sin(np.r_[x, 1.0]),
    "c_": lambda x: np.sin(np.c_[x, np.ones(3)]),
    "written": written,
    "a determinant": lambda x: np.linalg.det(np.array([[x[0], 0.0], [1.0, x[1]]])),
}
WAYS = {
    "grad": lambda f: fg.vjp(f, X)[0],
    "jvp": lambda f: fg.jvp(f, (X,), (X,))[0],
    "jit": lambda f: fg.jit(f)(X),
    "checkpoint": lambda f: fg.checkpoint(f)(X),
    "jit of grad": lambda f: fg.jit(lambda x: fg.vjp(f, x)[0])(X),
    "grad of jit": lambda f: fg.vjp(fg.jit(f), X)[0],
    "vmap": lambda f: fg.vmap(f)(np.stack([X, X]))[0],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", WORKS)
def test_it_works(name, way):
    f = WORKS[name]
    found = WAYS[way](f)
    assert np.asarray(found).dtype == float
    np.testing.assert_allclose(found, f(X), rtol=1e-15)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", REFUSED)
def test_it_is_an_error_of_ours(name, way):
    f = REFUSED[name]
    with pytest.raises(UnsupportedCallError, match=r"make the array with\s+funcgrad") as info:
        WAYS[way](f)
    line = written.__code__.co_firstlineno + 1 if f is written else f.__code__.co_firstlineno
    assert f'{__file__}", line {line}' in str(info.value)  # where the array was made
    assert isinstance(info.value.__cause__, (TypeError, AttributeError))  # what NumPy said
    # what it tells to write instead
    assert fg.grad(lambda x: np.sum(np.sin(fnp.array([x, 1.0]))))(0.0) == 1.0


SEARCHES = [np.argmax, np.argsort, np.sort, np.max, np.argmin]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("shape", [(3,), (2, 3), (20,)])
def test_a_search_in_an_array_of_abstract_objects(search, shape):
    """NumPy compares the elements; along an axis it went on after the error, a SystemError."""
    x = np.arange(np.prod(shape), dtype=float).reshape(shape)
    for f in (lambda x: search(np.array(x), axis=-1), lambda x: search(np.asarray(x), axis=0)):
        np.testing.assert_array_equal(fg.vjp(f, x)[0], f(x))
        for transform in (fg.jit, fg.vmap, lambda f: fg.jit(fg.vmap(f))):
            with pytest.raises(AbstractValueError, match=r"^NumPy compares objects") as info:
                transform(f)(x if transform is fg.jit else np.stack([x, x]))
            assert "Python branch" not in str(info.value)  # there is none
            assert "funcgrad.numpy.array" in str(info.value)
            assert __file__ in str(info.value)


def test_a_branch_on_an_object_is_told_to_be_one():
    def f(x):
        a = np.array(x)
        return a[0] if a[0] > 0.5 else a[1]

    with pytest.raises(AbstractValueError, match=r"^the truth of a value.*Python branch"):
        fg.jit(f)(X)


def test_a_search_in_code_that_has_run_often():
    """Python's specialised instructions have other places."""

    def f(x):
        return max(np.array(x))

    for _ in range(50):
        assert fg.vjp(f, X)[0] == f(X) == 1.1
    with pytest.raises(AbstractValueError, match=r"^NumPy compares objects"):
        fg.jit(f)(X)


def test_errors_of_other_calls_stay_numpys():
    for program in (lambda x: len(5), lambda x: x.colour, lambda x: np.array([x]) + {}):
        with pytest.raises((TypeError, AttributeError)) as info:
            fg.grad(program)(1.0)
        assert not isinstance(info.value, UnsupportedCallError)
    with pytest.raises(ZeroDivisionError):
        fg.grad(lambda x: np.array([x, 1.0])[0] * (1 / 0))(1.0)


@pytest.mark.parametrize("transform", [lambda f: lambda x: fg.vjp(f, x), fg.jit, fg.jacrev])
def test_fields_that_hold_traced_values_are_an_error(transform):
    """NumPy makes records of objects: their derivative would be lost."""
    with pytest.raises(TypeError, match="holds things that are no numbers"):
        transform(lambda x: np.rec.fromarrays([x, x]))(np.ones(3))


CONVERSIONS = {
    "asfortranarray": np.asfortranarray,
    "ascontiguousarray": np.ascontiguousarray,
    "asarray": np.asarray,
    "order F": lambda x: np.asarray(x, order="F"),
    "require": lambda x: np.require(x, requirements="F"),
    "array": lambda x: np.array(x, order="F", copy=None),
}


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", CONVERSIONS)
def test_writes_into_what_numpy_made_reach_the_array_or_are_refused(name, turned):
    """NumPy copies elements where it would copy the array: only then they may be written."""

    def f(x):
        x = (x * 1.0).T if turned else x * 1.0
        made = CONVERSIONS[name](x)
        made[0] = 9.0
        return np.sum(x)

    a = np.arange(6.0).reshape(2, 3)
    for transform in (
        lambda: fg.vjp(f, a)[0],
        lambda: fg.jit(f)(a),
        lambda: fg.vmap(f)(a[None])[0],
    ):
        try:
            found = transform()
        except ValueError as error:
            assert "read-only" in str(error)
            assert CONVERSIONS[name](a.T if turned else a).base is not None or f(a) != np.sum(a)
        else:
            assert found == f(a) == np.sum(a)
