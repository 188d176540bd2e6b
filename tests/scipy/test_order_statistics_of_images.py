"""Medians, ranks, extrema and morphology of traced images: SciPy's bits, and derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import TracerConversionError
from funcgrad.testing import check_grads

sp = pytest.importorskip("scipy.ndimage")

import funcgrad.scipy.ndimage as ours  # noqa: E402

shuffle = np.random.default_rng(23).permutation
# elements are far apart, so that none takes the place of another where differences are taken
X, CUBE, ROW = (0.1 * shuffle(np.prod(s)).reshape(s) - 2.0 for s in ((6, 7), (3, 4, 5), (9,)))
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 1]])
HEIGHTS = 1.013 * shuffle(6).reshape(2, 3) - 2.0
MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-constant"]


def spread(window: Any, power: float = 1.0) -> Any:
    return (window.max() - window.min()) ** power


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *(("median_filter", (X, 3), {"mode": m, "cval": 0.3}) for m in MODES),
    *((n, (X, (2, 3)), {"mode": m}) for n in ("maximum_filter", "minimum_filter") for m in MODES),
    ("median_filter", (ROW, 4), {"origin": 1}),
    ("median_filter", (X.astype(np.float32),), {"footprint": CROSS}),
    ("median_filter", (CUBE, 3), {"axes": (0, -1)}),
    ("rank_filter", (X, 2), {"size": (3, 2), "origin": (-1, 0)}),
    ("rank_filter", (X, -2), {"footprint": CROSS}),
    ("rank_filter", (X, 0), {"size": 3}),
    ("rank_filter", (X, -1), {"footprint": CROSS}),
    ("percentile_filter", (X, 20), {"size": 3}),
    ("percentile_filter", (X, -40.5), {"size": 4}),
    ("percentile_filter", (X, 100), {"size": 3}),
    ("maximum_filter", (X,), {"footprint": CROSS, "origin": (0, 1), "mode": "constant"}),
    ("minimum_filter", (CUBE,), {"footprint": CROSS, "axes": (0, 2)}),
    ("maximum_filter", (CUBE, (3, 2)), {"axes": (2, 0), "mode": ("wrap", "mirror")}),
    ("maximum_filter1d", (X, 4), {"axis": 0, "origin": 1}),
    ("minimum_filter1d", (X, 5), {"mode": "constant", "cval": -0.5}),
    ("grey_dilation", (X, 3), {}),
    ("grey_dilation", (X, (2, 4)), {"origin": (0, 1)}),
    ("grey_dilation", (X,), {"footprint": CROSS}),
    ("grey_dilation", (X,), {"structure": HEIGHTS, "mode": "mirror"}),
    ("grey_erosion", (X,), {"structure": HEIGHTS, "footprint": HEIGHTS > -1}),
    ("grey_erosion", (X.astype(np.float32),), {"structure": HEIGHTS}),
    *(
        (n, (X,), {"structure": HEIGHTS})
        for n in ("grey_opening", "grey_closing", "morphological_gradient")
    ),
    *((n, (X, 3), {}) for n in ("morphological_laplace", "white_tophat", "black_tophat")),
    ("generic_filter", (X, spread, 3), {"mode": "wrap"}),
    ("generic_filter", (X, np.std), {"footprint": CROSS}),
    ("generic_filter", (X, spread, 2), {"extra_arguments": (2.0,)}),
    ("generic_filter", (X, spread, 2), {"extra_keywords": {"power": 3.0}, "origin": -1}),
    ("generic_laplace", (X, sp.sobel), {}),
    ("generic_gradient_magnitude", (X, sp.prewitt), {"mode": "nearest"}),
    ("uniform_filter", (CUBE, (2, 3)), {"axes": (0, 2)}),
]
IDS = [f"{n}-{k}" for k, (n, _, _) in enumerate(CALLS)]


@pytest.mark.parametrize(("name", "args", "keywords"), CALLS, ids=IDS)
def test_values_are_scipys(name: str, args: Any, keywords: Any) -> None:
    wanted = getattr(sp, name)(*args, **keywords)
    for function in (getattr(ours, name), getattr(sp, name)):
        call = lambda x, f=function: f(x, *args[1:], **keywords)
        found = fg.vjp(call, args[0])[0]
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_allclose(fg.jit(call)(args[0]), wanted, rtol=1e-5, atol=1e-10)
        stacked = np.stack([args[0], args[0][::-1]])
        np.testing.assert_allclose(fg.vmap(call)(stacked)[0], wanted, rtol=1e-5, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "args", "keywords"), [c for c in CALLS if c[1][0].dtype == float][::2]
)
def test_derivatives(name: str, args: Any, keywords: Any) -> None:
    constants = {k: v for k, v in keywords.items() if k != "structure"}
    moving = {k: v for k, v in keywords.items() if k == "structure"}

    def call(x: Any, more: Any) -> Any:
        return getattr(sp, name)(x, *args[1:], **more, **constants)

    check_grads(call, (args[0], moving), order=1)


def test_equal_elements_share_the_derivative() -> None:
    flat = np.ones((5, 5))
    for f in (sp.maximum_filter, sp.minimum_filter):
        found = fg.grad(lambda x, f=f: f(x, 3)[2, 2])(flat)
        np.testing.assert_allclose(found[1:4, 1:4], 1 / 9)
        assert found.sum() == pytest.approx(1.0)
    cross = fg.grad(lambda x: sp.maximum_filter(x, footprint=CROSS)[2, 2])(flat)
    np.testing.assert_allclose(cross[1:4, 1:4], CROSS / CROSS.sum())


@pytest.mark.parametrize(
    ("name", "args", "keywords"),
    [
        ("median_filter", (X,), {}),
        ("median_filter", (X, 3), {"origin": 2}),
        ("median_filter", (X, 3), {"mode": "odd"}),
        ("rank_filter", (X, 9), {"size": 3}),
        ("rank_filter", (X, 1.5), {"size": 3}),
        ("percentile_filter", (X, 101), {"size": 3}),
        ("maximum_filter", (X,), {"footprint": np.zeros((3, 3))}),
        ("maximum_filter", (X,), {"footprint": np.ones(3)}),
        ("maximum_filter1d", (X, 0), {}),
        ("grey_erosion", (X,), {}),
    ],
)
def test_errors_are_scipys(name: str, args: Any, keywords: Any) -> None:
    with pytest.raises(Exception) as theirs:
        getattr(sp, name)(*args, **keywords)
    with pytest.raises(type(theirs.value)):
        fg.vjp(lambda x: getattr(sp, name)(x, *args[1:], **keywords), args[0])


def test_a_size_beside_a_footprint_warns_at_the_callers_line() -> None:
    with pytest.warns(UserWarning, match="ignoring size") as seen:
        fg.vjp(lambda x: sp.maximum_filter(x, 3, CROSS), X)
    assert seen[0].filename == __file__


def test_output_is_a_dtype_or_an_array() -> None:
    narrow = X.astype(np.float32)
    for name, more in (("median_filter", {"size": 3}), ("gaussian_filter", {"sigma": 0.8})):
        f = getattr(sp, name)
        for x, dtype in ((narrow, np.float64), (X, "float32"), (narrow, np.float32)):
            wanted = f(x, output=dtype, **more)
            found = fg.vjp(lambda x, f=f, d=dtype, m=more: f(x, output=d, **m), x)[0]
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)

        def filled(x: Any, f: Any = f, more: Any = more) -> Any:
            out = fg.numpy.empty((6, 7))
            assert f(x, output=out, **more) is out
            return 2 * out

        np.testing.assert_array_equal(fg.vjp(filled, X)[0], 2 * f(X, **more))
        check_grads(filled, (X,), order=1)
        with pytest.raises(TracerConversionError, match=f"{name}: out= is a plain NumPy array"):
            fg.vjp(lambda x, f=f, m=more: f(x, output=np.empty((6, 7)), **m), X)


def test_a_mapping_of_places_may_be_traced() -> None:
    def mapping(o: Any, shift: Any, scale: Any = 1.0) -> Any:
        return o[0] * scale - shift, o[1] * 0.8

    for more in ({"order": 1}, {"mode": "mirror"}, {"output_shape": (4, 3)}):
        given = {"extra_arguments": (0.3,), "extra_keywords": {"scale": 0.9}, **more}
        wanted = sp.geometric_transform(X, mapping, **given)
        np.testing.assert_array_equal(
            fg.vjp(lambda x, g=given: sp.geometric_transform(x, mapping, **g), X)[0], wanted
        )

        def moved(x: Any, s: Any, more: Any = more) -> Any:
            return sp.geometric_transform(x, lambda o: mapping(o, s), **more)

        check_grads(moved, (X, 0.3), order=1)
        assert np.any(fg.jit(fg.grad(lambda s, f=moved: f(X, s).sum()))(0.3))
