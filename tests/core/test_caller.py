"""Errors name the function of `math`, or the assignment, that asked for a number."""

import cmath
import math
from math import exp
from math import sqrt as root

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import AbstractValueError, TracerConversionError

CALLS = {
    "math.sin": (lambda x: math.sin(x), "np.sin"),
    "a name": (lambda x: exp(x), "np.exp"),
    "another name": (lambda x: 2.0 * root(x + 1.0), "np.sqrt"),
    "math.atan2": (lambda x: math.atan2(1.0, x), "np.atan2"),
    "math.pow": (lambda x: math.pow(x, 2), "np.pow"),
    "math.erf": (lambda x: math.erf(x), "scipy.special.erf"),
    "math.lgamma": (lambda x: math.lgamma(x), "scipy.special.gammaln"),
    "math.hypot": (lambda x: math.hypot(x, 1.0), "np.hypot"),
    "math.isnan": (lambda x: math.isnan(x), "np.isnan"),
    "math.fsum": (lambda x: math.fsum([x, x]), "np.sum"),
    "cmath.exp": (lambda x: cmath.exp(x), "np.exp"),
    "nested": (lambda x: abs(math.log(math.sqrt(2.0) * x)), "np.log"),
    "over lines": (
        lambda x: math.cosh(
            x,
        ),
        "np.cosh",
    ),
}


def in_a_function(x):
    from math import tanh

    return tanh(x)


@pytest.mark.parametrize("name", CALLS)
def test_a_function_of_math_names_that_of_numpy(name):
    f, instead = CALLS[name]
    with pytest.raises(TracerConversionError, match=f"call {instead}, which") as info:
        fg.grad(f)(0.5)
    assert __file__ in str(info.value)
    with pytest.raises(AbstractValueError, match=f"call {instead}, which"):
        fg.jit(f)(0.5)


def test_a_local_name():
    with pytest.raises(TracerConversionError, match=r"math\.tanh\(\) of a .* call np\.tanh"):
        fg.grad(in_a_function)(0.5)


def test_other_conversions_keep_their_text():
    for f in (lambda x: float(x), lambda x: [*map(math.sin, [x])], lambda x: int(x)):
        with pytest.raises(TracerConversionError, match=r"leave it out, or say funcgrad\.value"):
            fg.grad(f)(0.5)


def by_element(x):
    y = np.zeros(3)
    for i in range(3):
        y[i] = x[i]
    return np.sum(y)


def by_slice(x):
    y = np.empty((2, 3))
    y[0] = x
    return np.sum(y)


def by_mask(x):
    y = np.ones(3)
    y[x > 1.0] = x[x > 1.0]
    return np.sum(y)


@pytest.mark.parametrize("f", [by_element, by_slice])
@pytest.mark.parametrize(
    ("transform", "kind"), [(fg.grad, TracerConversionError), (fg.jit, AbstractValueError)]
)
def test_storing_in_a_plain_array_names_zeros(f, transform, kind):
    with pytest.raises(
        kind, match=r"funcgrad\.numpy\.zeros .*import funcgrad\.numpy as np"
    ) as info:
        transform(f)(np.array([1.0, 2.0, 3.0]))
    assert f"in {f.__name__}" in str(info.value)


def test_storing_by_a_mask_names_zeros():
    with pytest.raises(TracerConversionError, match=r"funcgrad\.numpy\.zeros"):
        fg.grad(by_mask)(np.array([1.0, 2.0, 3.0]))
