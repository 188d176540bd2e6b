"""What a call of a transform does around the function: counted in calls, which no load changes."""

import gc
import sys

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.transforms import recorders


@pytest.fixture(autouse=True)
def _written_at_once(monkeypatch):
    """Operations are on the path that later calls take."""
    monkeypatch.setattr(recorders, "PATIENCE", 0)


def calls(f, *args):
    """How many functions of Python and C run while `f` does."""
    f(*args)
    count = 0

    def note(_, event, __):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    gc.disable()  # what others do after a collection is no cost of the call
    sys.setprofile(note)
    try:
        f(*args)
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


@pytest.mark.parametrize(
    ("f", "x", "most"),
    [
        (lambda x: x * x, 2.0, 90),
        (lambda x: x * x, np.float64(2.0), 92),
        (lambda x: np.sum(x * x), np.ones(3), 108),
        (lambda p: p["w"] * p["b"][0], {"w": 2.0, "b": [3.0]}, 220),
    ],
    ids=["number", "numpy_number", "vector", "tree"],
)
def test_what_a_gradient_costs_beside_the_function(f, x, most):
    assert calls(fg.grad(f), x) <= most
    assert calls(fg.value_and_grad(f), x) <= most + 2


def test_an_operation_on_a_small_vector_costs_few_calls_forward_and_backward():
    def chain(count):
        def f(x):
            y = x
            for _ in range(count):
                y = y * x
            return np.sum(y)

        return fg.grad(f)

    x = np.array([0.5, 0.7])
    assert calls(chain(120), x) - calls(chain(20), x) <= 100 * 9
