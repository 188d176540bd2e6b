"""Infinities, NaN and zeros among usual numbers, behind masks and without them."""

import numpy as np
import pytest
from native import check

import funcgrad as fg
from funcgrad.config import config

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -1.0]


def masked(x):
    """Partials are infinite or NaN where the cotangent is 0."""
    return np.where(x > 0, np.sqrt(x) * np.log(x) / x, 0.0).sum()


def of_rows(x):
    inside = np.where(x > 0, np.sqrt(x) * np.log(x), 0.0)
    return np.sum(np.log1p(np.sum(inside * inside, 1)) * np.sqrt(np.abs(x).max(1)))


def of_columns(x):
    inside = np.where(x > 0, np.sqrt(x) * np.log(x), 0.0)
    return np.sum((inside - inside.mean(0)) ** 2 * np.exp(-inside))


def chosen_by_a_gradient(x):
    """What is compared and chosen hides the NaN behind it."""
    g = fg.grad(masked)(x) * 2.0
    return np.sum(np.where(g > 0, g * np.sqrt(x), 1.0) + np.isnan(g))


def wide(x):
    """A cotangent of one dtype and a partial of another."""
    y = np.where(x > 0, np.sqrt(x), 0).astype(np.float32) * np.float32(3.0)
    return np.sum(np.sqrt(y.astype(np.float64)) * x)


PROGRAMS = [masked, of_rows, of_columns, chosen_by_a_gradient, wide]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("avx512", [True, False])
def test_rare_values_among_usual_ones(f, dtype, avx512, monkeypatch):
    monkeypatch.setattr(config, "avx512", avx512)
    rng = np.random.default_rng(0)
    for shape in ((3, 5), (40, 70), (300, 33)):
        x = (rng.random(shape) + 0.1).astype(dtype)
        graph = fg.make_graph(fg.value_and_grad(f))(x)
        check(graph, x, ulp=2048)
        for special in SPECIAL:  # one lane of one vector
            y = x.copy()
            y[shape[0] // 2, shape[1] // 2] = special
            check(graph, y, ulp=2048)
        y = x.copy()
        y.reshape(-1)[rng.permutation(y.size)[: y.size // 3]] = 0.0
        check(graph, y, ulp=2048)


@pytest.mark.parametrize("avx512", [True, False])
def test_zeros_of_masked_branches_are_exact(avx512, monkeypatch):
    monkeypatch.setattr(config, "avx512", avx512)
    x = np.linspace(-1.0, 1.0, 2001)
    g = fg.jit(fg.grad(masked))(x)
    np.testing.assert_array_equal(g[x <= 0], 0.0)
    assert np.isfinite(g).all()
