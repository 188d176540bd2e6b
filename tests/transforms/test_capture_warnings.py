"""What cannot be followed is said once, and shown in the report; what can be is seen."""

import datetime
import logging
import sys
import threading
import warnings

import numpy as np
import pytest
from captured_programs import SEEN, UNSEEN
from scipy import interpolate, optimize

import funcgrad as fg


@pytest.fixture
def setting():
    yield
    fg.config.captures = "warn"


@pytest.mark.parametrize("make", SEEN, ids=lambda f: f.__name__)
@pytest.mark.parametrize("static", [False, True], ids=["captured", "static"])
def test_a_change_is_seen(make, static):
    f, change = make()
    if static:
        jitted = fg.jit(lambda g, x: g(x), static_argnums=0)
        run = lambda x: jitted(f, x)
    else:
        run = fg.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error", fg.CaptureWarning)
        before = f(2.0)
        assert [run(2.0) for _ in range(3)] == [before] * 3
        change()
        assert f(2.0) != before
        assert [run(2.0) for _ in range(3)] == [f(2.0)] * 3


@pytest.mark.parametrize("make", UNSEEN, ids=lambda f: f.__name__)
def test_what_cannot_be_followed_is_said_once_with_the_line(make):
    jitted = fg.jit(make()[0])
    with pytest.warns(fg.CaptureWarning, match=f'(?s).*File "{__file__}"') as caught:
        jitted(2.0)
        jitted(2.0)
        jitted([2.0][0] + 1j)
    assert len(caught) == 1
    assert jitted.report().count("not followed: ") == 1


def test_the_line_of_eval_is_named():
    jitted = fg.jit(lambda x: x * eval("2.0"))
    line = sys._getframe().f_lineno - 1
    with pytest.warns(fg.CaptureWarning, match=rf"line {line}\) calls eval\(\)"):
        jitted(2.0)


def test_the_setting(setting):
    fg.config.captures = "error"
    f = fg.jit(UNSEEN[0]()[0])
    with pytest.raises(fg.errors.CaptureError, match="calls eval"):
        f(2.0)
    fg.config.captures = "ignore"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(2.0) == 4.0
    assert "not followed" in f.report()
    with pytest.raises(ValueError, match=r"config\.captures"):
        fg.config.captures = "no"


def test_more_objects_than_are_looked_at_are_said(monkeypatch):
    monkeypatch.setattr("funcgrad.transforms.walk.MANY", 500)
    held = [[k] for k in range(600)]
    with pytest.warns(fg.CaptureWarning, match="more than 500 objects"):
        fg.jit(lambda x: x * held[0][0])(2.0)


def scipy_program():
    spline = interpolate.CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])
    polynomial = np.polynomial.Polynomial([1.0, 2.0])

    def f(x):
        return np.sum(np.exp(-x) * spline(1.5)) + polynomial(2.0) + np.linalg.norm(x)

    fg.jit(fg.grad(f))(np.ones(3))
    optimize.minimize(fg.jit(fg.value_and_grad(f)), np.ones(3), jac=True)


class Model:
    """A model as users write them."""

    scale = 2.0

    def __init__(self):
        self.w, self.log, self.lock = np.ones(3), [], threading.Lock()
        self.logger = logging.getLogger(__name__)
        self.started = datetime.datetime.now()

    @property
    def weights(self):
        return self.scale * self.w

    def loss(self, x):
        with self.lock:
            self.logger.debug("loss")
            return np.sum((self.weights * x) ** 2) / len(x)

    def train(self, x):
        step = fg.jit(fg.grad(self.loss))
        for _ in range(3):
            self.w = self.w - 0.1 * step(x)
            self.log.append(float(np.sum(self.w)))
        return self.log


@pytest.mark.filterwarnings("error::funcgrad.CaptureWarning")
def test_ordinary_programs_warn_nowhere():
    scipy_program()
    assert len(Model().train(np.ones(3))) == 3
