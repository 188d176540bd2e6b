"""A warning at the line that makes an object array of traced values, and a note on later errors."""

import inspect
import warnings

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import ObjectArrayWarning


def made(x):
    return np.array([x, 2.0 * x, 1.0])


def given(f, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f(*args)
    return [w for w in caught if w.category is ObjectArrayWarning]


LINE = inspect.getsourcelines(made)[1] + 1


@pytest.mark.parametrize(
    "way",
    [
        fg.grad(lambda x: np.sum(made(x))),
        fg.jit(lambda x: np.sum(made(x))),
        lambda x: fg.jvp(made, (x,), (x,)),
        fg.grad(lambda x: fg.grad(lambda y: np.sum(made(y)) * x)(x)),
    ],
)
def test_it_is_given_at_the_line(way):
    (warning,) = given(way, 2.0)
    assert (warning.filename, warning.lineno) == (__file__, LINE)
    assert "import funcgrad.numpy as np" in str(warning.message)


def test_once_for_an_array_and_once_for_a_line():
    (_,) = given(fg.grad(lambda x: np.sum(np.array([x * k for k in range(50)]))), 2.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            fg.grad(lambda x: np.sum(made(x)))(2.0)
    assert len(caught) == 1


def test_none_without_an_object_array():
    x = np.ones(3)
    for f in (
        lambda x: np.sum(fnp.array([x[0], 1.0])),
        lambda x: np.sum(np.stack([x, x])),
        lambda x: np.sum(fnp.asarray(x)),
        lambda x: np.arange(5)[np.array([1, 2])].sum() * x[0],
    ):
        assert not given(fg.grad(f), x)


def test_an_assignment_to_it_is_not_told_again():
    def f(x):
        a = np.array(x)
        a[1:] = x[0]
        return np.sum(a)

    assert len(given(fg.grad(f), np.ones(3))) == 1


def test_a_note_on_errors_of_the_program():
    def f(x):
        return {}[float(np.size(made(x)))]

    with pytest.warns(ObjectArrayWarning), pytest.raises(KeyError) as info:
        fg.grad(f)(1.0)
    (note,) = info.value.__notes__
    assert "import funcgrad.numpy as np" in note and f"line {LINE}" in note


def test_a_note_on_errors_of_ours():
    with pytest.warns(ObjectArrayWarning), pytest.raises(fg.errors.NonScalarOutputError) as info:
        fg.grad(lambda x: [made(x)])(1.0)
    assert f"line {LINE}" in info.value.__notes__[0]


def test_no_note_on_an_error_that_tells_it():
    with pytest.warns(ObjectArrayWarning), pytest.raises(fg.errors.UnsupportedCallError) as info:
        fg.grad(lambda x: np.sum(np.sin(made(x))))(1.0)
    assert "import funcgrad.numpy as np" in str(info.value)
    assert not getattr(info.value, "__notes__", [])


def test_it_may_be_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ObjectArrayWarning)
        with pytest.raises(ObjectArrayWarning):
            fg.grad(lambda x: np.sum(made(x)))(1.0)


HOLDERS = {
    "asarray": lambda t: np.asarray(t * t),
    "array": lambda t: np.array(t * t, dtype=object),
    "vectorize": lambda t: np.vectorize(lambda u: u * u)(t),
}


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")
@pytest.mark.parametrize("name", HOLDERS)
def test_the_gradient_of_an_array_that_holds_one_traced_value(name):
    """`grad` took such an array, which it had made itself, for a constant."""
    f = HOLDERS[name]
    assert fg.grad(f)(3.0) == fg.jit(fg.grad(f))(3.0) == fg.jvp(f, (3.0,), (1.0,))[1] == 6.0
    assert fg.hessian(f)(3.0) == 2.0
    assert fg.grad(lambda t: fg.cond(True, f, f, t))(3.0) == 6.0
    value, gradient = fg.value_and_grad(f)(3.0)
    assert type(value) is np.ndarray and value == 9.0 and gradient == 6.0
