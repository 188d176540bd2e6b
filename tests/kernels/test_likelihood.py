"""The likelihood of classes: kernels have the bits of NumPy, whatever the form of the operands."""

import math

import numpy as np
import pytest
from amount import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.kernels import explain, likelihood, load
from funcgrad.kernels.choice import entries
from funcgrad.ops.likelihood import nll_loss
from funcgrad.testing import check_grads

IGNORED = 1


@pytest.fixture
def any_size(monkeypatch):
    monkeypatch.setattr(likelihood, "FEWEST", 1)


def differentiated(x, target, weight, reduction, kernels):
    """The loss and its gradient."""
    fg.config.kernels = "always" if kernels else False
    try:
        with np.errstate(all="ignore"):
            loss, pull = fg.vjp(
                lambda x: nll_loss(x, target, *weight, reduction=reduction, ignore=IGNORED), x
            )
            g = np.arange(1.0, loss.size + 1).reshape(loss.shape).astype(loss.dtype)
            return loss, pull(g[()])[0]
    finally:
        fg.config.kernels = True


@given(
    shape=st.sampled_from([(4,), (1, 3), (50, 10), (0, 3), (3, 5, 7), (2, 4, 3, 5), (3, 4, 0)]),
    dtype=st.sampled_from([np.float64, np.float32]),
    kind=st.sampled_from([np.int64, np.uint8]),
    reduction=st.sampled_from(["mean", "sum", "none"]),
    weighted=st.booleans(),
    special=st.booleans(),
    strided=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_kernels_have_the_bits_of_numpy(
    any_size, shape, dtype, kind, reduction, weighted, special, strided, seed
):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape).astype(dtype)
    if special and x.size:
        x.reshape(-1)[:: max(1, x.size // 5)] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
    x = np.asfortranarray(x) if strided else x
    classes = shape[0] if len(shape) == 1 else shape[1]
    target = rng.integers(0, classes, (*shape[:1], *shape[2:])[len(shape) == 1 :]).astype(kind)
    weight = (rng.uniform(0.5, 2, classes).astype(dtype),) if weighted else ()
    one = differentiated(x, target, weight, reduction, True)
    other = differentiated(x, target, weight, reduction, False)
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("shape", [(40000, 5), (4, 5, 10000)])
def test_large_ones_run_functions_of_numba(shape, monkeypatch):
    import numba

    before = {k: e.calls for k, e in entries.items()}
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype(np.float32)
    target = rng.integers(0, 5, (shape[0], *shape[2:]))
    one = differentiated(x, target, (), "mean", True)
    other = differentiated(x, target, (), "mean", False)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)
    for name in ("nll_elements", "nll_scatter"):
        ran = [e for k, e in entries.items() if e.name == name and e.calls > before.get(k, 0)]
        assert ran and isinstance(load.dispatcher(name), numba.core.dispatcher.Dispatcher), (
            explain()
        )


def test_a_class_that_is_none_is_an_error_of_numpy(any_size):
    x = np.zeros((10, 4))
    with pytest.raises(IndexError):
        nll_loss(x, np.full(10, 7))


def test_derivative_by_the_weights():
    rng = np.random.default_rng(0)
    x, target, w = rng.normal(size=(6, 3)), np.array([0, 1, 2, 2, 1, 0]), rng.uniform(1, 2, 3)
    for reduction in ("mean", "sum"):
        check_grads(
            lambda w, how=reduction: nll_loss(x, target, w, reduction=how, ignore=IGNORED), (w,)
        )
    assert math.isfinite(fg.grad(lambda w: nll_loss(x, target, w))(w).sum())
