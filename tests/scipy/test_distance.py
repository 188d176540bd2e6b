"""`scipy.spatial.distance` on traced points: SciPy's bits, slopes at coinciding points, errors.

`test_rules` has both modes, second order and batching of each record.
"""

import numpy as np
import pytest
import scipy.spatial.distance as sp

import funcgrad as fg
import funcgrad.scipy.spatial.distance as ours
from funcgrad.errors import UnsupportedCallError
from funcgrad.testing import check_grads

RNG = np.random.default_rng(19)
A, B = RNG.uniform(0.1, 2.0, (4, 3)), RNG.uniform(0.1, 2.0, (5, 3))
U, V, W = RNG.uniform(0.1, 2.0, (3, 3))
INVERSE = np.eye(3) + 0.2
METRICS = [
    *((m, {}) for m in ours.METRICS),
    *((m, {"w": W}) for m in ours.METRICS if m not in ("jensenshannon",)),
    *(("minkowski", {"p": p}) for p in (1, 1.5, 2, 3, np.inf)),
    *(("minkowski", {"p": p, "w": W}) for p in (1.5, 2)),
    ("mahalanobis", {"VI": INVERSE}),
    ("seuclidean", {"V": W}),
]


def same(found, wanted):
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("metric", "more"), METRICS)
def test_values_are_scipys(metric, more):
    for module in (ours, sp):  # SciPy's own functions come here
        same(
            fg.vjp(lambda a, b, m=module: m.cdist(a, b, metric, **more), A, B)[0],
            sp.cdist(A, B, metric, **more),
        )
        same(
            fg.vjp(lambda a, m=module: m.pdist(a, metric, **more), B)[0],
            sp.pdist(B, metric, **more),
        )
        one = getattr(module, metric)
        same(
            fg.vjp(lambda u, v, f=one: f(u, v, **more), U, V)[0], getattr(sp, metric)(U, V, **more)
        )
    staged = fg.jit(lambda a, b: ours.cdist(a, b, metric, **more))
    np.testing.assert_allclose(staged(A, B), sp.cdist(A, B, metric, **more), rtol=1e-12)


@pytest.mark.parametrize(("metric", "more"), METRICS[::2] + [("minkowski", {"p": 1.5, "w": W})])
def test_derivatives(metric, more):
    name, given = next(iter({k: v for k, v in more.items() if k != "p"}.items()), (None, None))
    fixed = {"p": more["p"]} if "p" in more else {}

    def f(a, b, *g):
        return ours.cdist(a, b, metric, **fixed, **({name: g[0]} if g else {}))

    far = 10 if metric == "chebyshev" else 1  # no two differences are nearly the largest
    check_grads(f, (far * A, far * B, *(() if name is None else (given,))), order=1)


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
def test_variances_of_the_points_are_differentiated(metric):
    x = RNG.normal(size=(6, 3))
    same(fg.vjp(lambda x: ours.pdist(x, metric), x)[0], sp.pdist(x, metric))
    check_grads(lambda x: ours.pdist(x, metric), (x,), order=1)


@pytest.mark.parametrize(
    ("metric", "more"),
    [
        ("euclidean", {}),
        ("sqeuclidean", {}),
        ("cityblock", {}),
        ("canberra", {}),
        ("jensenshannon", {}),
        ("seuclidean", {"V": W}),
        ("mahalanobis", {"VI": INVERSE}),
        *(("minkowski", {"p": p}) for p in (1, 1.5, 2, 3)),
    ],
)
def test_the_slope_is_0_where_points_coincide(metric, more):
    """Also beside others: a kernel matrix of points with themselves has no NaN."""
    slope = fg.grad(lambda a: np.sum(ours.cdist(a, A, metric, **more)))(A)
    assert np.isfinite(slope).all()
    others = ~np.eye(4, dtype=bool)
    apart = fg.grad(lambda a: np.sum(ours.cdist(a, A, metric, **more) * others))(A)
    np.testing.assert_allclose(slope, apart, atol=1e-12)
    np.testing.assert_array_equal(
        fg.grad(lambda u: getattr(ours, metric)(u, U, **more))(U), np.zeros(3)
    )


def test_a_kernel_matrix_to_second_order():
    def f(x):
        return np.sum(np.exp(-ours.squareform(ours.pdist(x, "sqeuclidean"))) ** 2)

    def plain(x):
        gaps = x[:, None, :] - x[None, :, :]
        return np.sum(np.exp(-np.sum(gaps**2, -1)) ** 2)

    np.testing.assert_allclose(fg.grad(f)(A), fg.grad(plain)(A), atol=1e-12)
    np.testing.assert_allclose(fg.hessian(f)(A), fg.hessian(plain)(A), atol=1e-11)


def test_squareform_both_ways():
    d = sp.pdist(A)
    same(fg.vjp(ours.squareform, d)[0], sp.squareform(d))
    same(fg.vjp(ours.squareform, sp.squareform(d))[0], d)
    np.testing.assert_array_equal(
        fg.grad(lambda m: np.sum(ours.squareform(m)))(sp.squareform(d)), np.triu(np.ones((4, 4)), 1)
    )
    same(fg.jit(lambda d: ours.squareform(ours.squareform(d)))(d), d)


def test_a_function_as_metric():
    metric = lambda u, v: np.sum(np.abs(u - v) ** 3)
    for f, want in (
        (lambda a, b: ours.cdist(a, b, metric), sp.cdist(A, B, metric)),
        (lambda a, b: ours.pdist(a, metric), sp.pdist(A, metric)),
    ):
        np.testing.assert_allclose(fg.vjp(f, A, B)[0], want)
        check_grads(f, (A, B), order=1)


def test_jensenshannon_along_axes():
    for more in ({"axis": 1}, {"axis": 0, "base": 2.0, "keepdims": True}):
        same(
            fg.vjp(lambda p: ours.jensenshannon(p, A[::-1], **more), A)[0],
            sp.jensenshannon(A, A[::-1], **more),
        )
    check_grads(lambda p, q: ours.jensenshannon(p, q, axis=1), (A, A[::-1].copy()), order=2)


def test_under_vmap():
    stacked = np.stack([A, 2 * A, A[::-1]])
    np.testing.assert_array_equal(
        fg.vmap(lambda a: ours.cdist(a, B))(stacked), [sp.cdist(a, B) for a in stacked]
    )
    slopes = fg.vmap(fg.grad(lambda a: np.sum(ours.pdist(a))))(stacked)
    want = [fg.grad(lambda a: np.sum(ours.pdist(a)))(a) for a in stacked]
    np.testing.assert_allclose(slopes, want, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "args", "keywords"),
    [
        ("cdist", (A, B[:, :2]), {}),
        ("cdist", (A[0], B), {}),
        ("cdist", (A, B, "furthest"), {}),
        ("cdist", (A, B), {"w": -W}),
        ("cdist", (A, B), {"V": W}),
        ("pdist", (A[0],), {}),
        ("pdist", (A[:3], "mahalanobis"), {}),
        ("euclidean", (A, B), {}),
        ("euclidean", (U, V[:2]), {}),
        ("minkowski", (U, V, 0), {}),
        ("seuclidean", (U, V, W[:2]), {}),
        ("squareform", (np.ones(4),), {}),
        ("squareform", (np.ones((2, 3)),), {}),
        ("squareform", (np.ones((3, 3)),), {}),
        ("squareform", (np.ones(3), "tovector"), {}),
    ],
)
def test_errors_are_scipys(name, args, keywords):
    with pytest.raises(Exception) as theirs:
        getattr(sp, name)(*args, **keywords)
    with pytest.raises(type(theirs.value)):
        fg.vjp(lambda x: getattr(ours, name)(x, *args[1:], **keywords), args[0])


def test_what_counts_has_no_derivative():
    with pytest.raises(UnsupportedCallError, match="'hamming' counts elements"):
        fg.vjp(lambda a: ours.cdist(a, B, "hamming"), A)
