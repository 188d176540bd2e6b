"""A Numba that passes arguments otherwise than those that we know: noticed, and done without."""

import numba
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compile.numba import private, scalars
from funcgrad.errors import CompilerError, NativeCodeError
from funcgrad.extend import from_numba
from funcgrad.kernels import build


def test_the_numba_at_hand_is_known():
    assert private.is_known()


@pytest.fixture
def another(monkeypatch):
    """A Numba with one more argument in front."""
    form = private._form
    monkeypatch.setattr(private, "_form", lambda: f"ptr {form()}")
    private.is_known.cache_clear()
    yield
    private.is_known.cache_clear()


def test_what_numba_does_not_tell_is_not_known(monkeypatch):
    for problem in (AttributeError, ImportError, TypeError):

        def form(problem=problem):
            raise problem

        monkeypatch.setattr(private, "_form", form)
        private.is_known.cache_clear()
        assert not private.is_known()
    private.is_known.cache_clear()


@pytest.mark.usefixtures("another")
def test_functions_of_numba_are_called_by_numpy():
    @numba.njit
    def cubed(x):
        return x * x * x

    assert scalars.compiled(cubed, (np.dtype(float),)).foreign is None
    f = from_numba(cubed, [lambda x: 3.0 * x * x])
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(fg.jit(lambda x: f(x) + 1.0)(x), [2.0, 9.0])
    np.testing.assert_array_equal(fg.jit(fg.grad(lambda x: np.sum(f(x))))(x), [3.0, 12.0])


@pytest.mark.usefixtures("another")
def test_kernels_are_not_built():
    with pytest.raises(CompilerError, match="passes arguments otherwise"):
        build.build(None, None)


@pytest.mark.usefixtures("another")
def test_a_program_inside_numbas_code_is_refused():
    made = fg.jit(lambda x: np.sin(x) * x).njit
    with pytest.raises(NativeCodeError, match="does not pass arguments as those do that"):
        made(1.0)
