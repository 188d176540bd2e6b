"""`debug.nans` and `debug.infs`: the operation that makes one, and its line."""

import threading

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

X = np.array([4.0, 0.0, 9.0])


def root_of_less(x):
    y = x * 2.0
    return np.sum(np.sqrt(y - 1.0))


def root_squared(x):
    y = x * 2.0
    z = np.sqrt(y)
    return np.sum(z**2)


def wheres(x):
    return np.sum(np.where(x > 0, np.sqrt(x), 0.0))


def reciprocal(x):
    return np.sum(1.0 / x)


def line(f, k):
    return f'{__file__}", line {f.__code__.co_firstlineno + k}, in {f.__name__}'


FORWARD = {
    "grad": lambda f: fg.grad(f)(X),
    "jvp": lambda f: fg.jvp(f, (X,), (X,)),
    "jit": lambda f: fg.jit(f)(X),
    "jit of grad": lambda f: fg.jit(fg.grad(f))(X),
    "grad of jit": lambda f: fg.grad(fg.jit(f))(X),
    "vmap": lambda f: fg.vmap(f)(X),
    "scan": lambda f: fg.jit(lambda x: fg.scan(lambda c, v: (c + f(v), None), 0.0, x)[0])(X),
}


@pytest.mark.parametrize("way", FORWARD)
def test_a_nan_of_the_function_is_found(way):
    with pytest.raises(FloatingPointError) as info, fg.debug.nans():
        FORWARD[way](root_of_less)
    said = [str(info.value), *getattr(info.value, "__notes__", ())]
    entries = info.traceback
    told = any(line(root_of_less, 2) in text for text in said)
    shown = any(
        e.path.name == "test_debug.py" and e.lineno == root_of_less.__code__.co_firstlineno + 1
        for e in entries
    )
    assert told or shown
    FORWARD[way](root_of_less)  # and nothing is left behind


@pytest.mark.parametrize("transform", [lambda f: f, fg.value_and_grad])
def test_a_nan_of_the_backward_pass_is_found(transform):
    text = "the derivative of sqrt has made NaN"
    with pytest.raises(FloatingPointError, match=text) as info, fg.debug.nans():
        fg.grad(root_squared)(X)
    assert line(root_squared, 2) in str(info.value)
    with pytest.raises(FloatingPointError, match="sqrt has made an infinity"), fg.debug.infs():
        fg.grad(lambda x: np.sum(np.sqrt(x)))(X)


def test_a_compiled_gradient():
    f = fg.jit(fg.grad(root_squared))
    assert np.isnan(f(X)[1])
    with pytest.raises(FloatingPointError), fg.debug.nans():
        f(X)
    assert np.isnan(f(X)[1])


def test_infinities_are_found():
    for call in (fg.grad(reciprocal), fg.jit(reciprocal)):
        with pytest.raises(FloatingPointError, match="divide by zero"), fg.debug.infs():
            call(X)
        with fg.debug.nans():
            call(X)


def test_what_is_absent_is_no_alarm():
    with fg.debug.nans(), fg.debug.infs():
        np.testing.assert_array_equal(fg.grad(wheres)(X)[[0, 2]], [0.25, 1 / 6])
        assert fg.grad(root_of_less)(X + 1.0).shape == (3,)


@pytest.mark.parametrize("call", [lambda f: fg.jit(fg.grad(f)), lambda f: fg.grad(fg.jit(f))])
def test_what_is_absent_in_compiled_gradients_is_no_nan(call):
    with fg.debug.nans():
        np.testing.assert_array_equal(call(wheres)(X)[[0, 2]], [0.25, 1 / 6])


def test_results_are_those_without():
    def f(x):
        b = fnp.zeros(3)
        b[1:] = np.tanh(x[:-1]) * x[0]
        return np.sum(b * b[::-1]) + np.linalg.norm(x)

    with fg.debug.nans(), fg.debug.infs():
        found = fg.value_and_grad(f)(X), fg.hessian(f)(X), fg.jit(f)(X)
    np.testing.assert_allclose(found[0][1], fg.grad(f)(X), rtol=1e-14)
    np.testing.assert_allclose(found[1], fg.hessian(f)(X), rtol=1e-13)


def test_a_nan_that_was_given_is_no_alarm():
    with fg.debug.nans():
        assert np.isnan(fg.grad(lambda x: np.sum(x * x))(X * np.nan)).all()
        assert np.isnan(fg.jit(lambda x: np.sum(x * x))(X * np.nan))


def test_it_is_of_one_thread_and_nests():
    seen = []

    def other():
        with np.errstate(all="ignore"):
            seen.append(fg.grad(root_squared)(X))

    with fg.debug.nans():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        with fg.debug.infs():
            pass
        with pytest.raises(FloatingPointError):
            fg.grad(root_squared)(X)
    assert np.isnan(seen[0][1])


@fg.debug.nans()
def decorated(x):
    return fg.grad(root_squared)(x)


def test_as_a_decorator():
    with pytest.raises(FloatingPointError, match="derivative of sqrt"):
        decorated(X)


@pytest.mark.parametrize("make", [lambda f: fg.jit(fg.grad(f)), lambda f: fg.grad(fg.jit(f))])
def test_a_compiled_backward_pass_names_the_line_of_the_operation(make):
    g = make(root_squared)
    g(X)  # compiled before somebody looks
    with pytest.raises(FloatingPointError) as info, fg.debug.nans():
        g(X)
    said = [str(info.value), *getattr(info.value, "__notes__", ())]
    assert any(line(root_squared, 2) in text for text in said)
