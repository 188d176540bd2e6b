"""What a row has but once, computed for many rows at once: the values of the interpreter."""

import numpy as np
import pytest
from by_loops import evaluate, plan_of
from native import check

import funcgrad as fg
from funcgrad.compile.execute import executable

rng = np.random.default_rng(0)


def scaled(x, y):
    """Rows of y times what takes long and depends on the row alone."""
    return y * (np.exp(-np.abs(x)) / (1.0 + x * x))[:, None]


def is_early(graph):
    """Whether a kernel begins with a loop over its rows."""
    return "local row" in executable(graph).show()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 31, 32, 1000, 1024, 1025, 5000])
def test_any_number_of_rows(rows, dtype):
    x, y = rng.standard_normal(rows).astype(dtype), rng.standard_normal((rows, 5)).astype(dtype)
    y = np.concatenate([y, y, y], axis=1)
    graph = fg.make_graph(scaled)(x, y)
    check(graph, x, y)
    assert is_early(graph) or rows == 1
    check(fg.make_graph(fg.value_and_grad(lambda *a: scaled(*a).sum(), (0, 1)))(x, y), x, y)


def test_the_loops_in_plain_python():
    x, y = rng.standard_normal(20), rng.standard_normal((20, 9))
    graph = fg.make_graph(lambda x, y: (scaled(x, y), np.exp(x), np.tanh(y).sum(1) * np.sin(x)))(
        x, y
    )
    found, held = evaluate(graph, x, y, plan=plan_of(graph))
    assert held
    for a, b in zip(found, (scaled(x, y), np.exp(x), np.tanh(y).sum(1) * np.sin(x)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_results_sums_and_positions_of_rows():
    x, y = rng.standard_normal(300), rng.standard_normal((300, 12))
    at = rng.integers(0, 300, 300)

    def f(x, y):
        early = np.exp(-x[at]) * np.sin(x)
        row = y * early[:, None]
        return row, early, early.sum(), row.sum(1) / early, row.sum(0)

    check(fg.make_graph(f)(x, y), x, y)
    far = at.copy()
    far[17] = 300
    with pytest.raises(IndexError):
        fg.jit(lambda x, y, at: y * np.exp(x[at])[:, None])(x, y, far)


def test_strides_and_infinities():
    x, y = rng.standard_normal((100, 3)), rng.standard_normal((50, 40))
    x[3, 1], x[5, 1], x[7, 1], x[9, 1] = np.nan, np.inf, -np.inf, -0.0
    f = fg.jit(lambda x, y: scaled(x[::2, 1], y.T[:, ::-1].T) * 1.0)
    with np.errstate(all="ignore"):
        want = scaled(x[::2, 1], y[::-1])
    np.testing.assert_allclose(f(x, y), want, rtol=1e-14)
    assert np.array_equal(np.isnan(f(x, y)), np.isnan(want))


@pytest.mark.parametrize("count", [40, 500])
def test_hessian_of_logistic_regression(count):
    w, x = rng.standard_normal(30), rng.standard_normal((count, 30))

    def loss(w, x):
        z = x @ w
        return np.mean(np.log1p(np.exp(-np.abs(z))) + np.maximum(z, 0.0))

    p = 1.0 / (1.0 + np.exp(-(x @ w)))
    want = (x * (p * (1.0 - p))[:, None]).T @ x / count
    np.testing.assert_allclose(fg.jit(fg.hessian(loss))(w, x), want, rtol=1e-12, atol=1e-15)


def test_the_bits_are_the_same_for_any_number_of_threads():
    x, y = rng.standard_normal(200_000), rng.standard_normal((200_000, 9))
    f = fg.jit(fg.value_and_grad(lambda x, y: scaled(x, y).sum(), (0, 1)))
    before = fg.config.threads
    try:
        found = []
        for fg.config.threads in (1, 2, 5):
            value, (a, b) = f(x, y)
            found.append((value.tobytes(), a.tobytes(), b.tobytes()))
    finally:
        fg.config.threads = before
    assert len(set(found)) == 1
