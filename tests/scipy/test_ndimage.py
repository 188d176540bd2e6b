"""`scipy.ndimage` on traced images: SciPy's bits, derivatives, and errors.

`test_rules` has both modes, second order and batching of each record.
"""

import numpy as np
import pytest
import scipy.ndimage as sp

import funcgrad as fg
import funcgrad.scipy.ndimage as ours
from funcgrad.errors import UnsupportedCallError
from funcgrad.testing import check_grads

RNG = np.random.default_rng(17)
X = RNG.normal(size=(7, 6))
CUBE = RNG.normal(size=(3, 4, 5))
W, LINE = RNG.normal(size=(2, 3)), RNG.normal(size=4)
FILTER_MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-wrap"]
SPLINE_MODES = ["constant", "nearest", "mirror", "reflect", "grid-wrap", "wrap"]
PLACES = np.array([[0.3, 1.7, 5.2, -0.4, 6.3], [1.2, 0.4, 2.7, 0.2, 5.1]])
TURN = np.array([[0.9, 0.15], [-0.1, 0.8]])

CALLS = [
    *(
        (n, (X, W), {"mode": m, "cval": 1.5})
        for n in ("correlate", "convolve")
        for m in FILTER_MODES
    ),
    ("correlate", (X, W), {"origin": (0, 1)}),
    ("convolve", (X, W), {"origin": (-1, 1)}),
    ("convolve", (CUBE, W), {"axes": (0, 2)}),
    *(
        (n, (X, LINE), {"mode": m, "axis": 0})
        for n in ("correlate1d", "convolve1d")
        for m in FILTER_MODES[:3]
    ),
    ("convolve1d", (X, LINE), {"origin": 1}),
    ("gaussian_filter1d", (X, 1.3), {"axis": 0, "order": 1}),
    ("gaussian_filter1d", (X, 0.7), {"order": 3, "radius": 4}),
    ("gaussian_filter", (X, (1.0, 0.5)), {"mode": "wrap"}),
    ("gaussian_filter", (X, 1.2), {"order": (0, 2), "truncate": 3.0}),
    ("gaussian_filter", (CUBE, 0.8), {"axes": (1, 2)}),
    ("gaussian_laplace", (X, 1.0), {}),
    ("gaussian_gradient_magnitude", (X, 1.0), {}),
    ("uniform_filter", (X, 3), {}),
    ("uniform_filter", (X, (2, 1)), {"mode": "mirror"}),
    ("uniform_filter1d", (X, 4), {"axis": 0, "origin": 1}),
    *((n, (X,), {"mode": "mirror"}) for n in ("sobel", "prewitt", "laplace")),
    *(
        ("map_coordinates", (X, PLACES), {"order": o, "mode": m, "cval": 0.5})
        for o in (0, 1, 2, 3, 5)
        for m in SPLINE_MODES
    ),
    ("map_coordinates", (X, PLACES), {"prefilter": False}),
    ("map_coordinates", (X.astype(np.float32), PLACES), {}),
    ("spline_filter", (X,), {}),
    ("spline_filter1d", (X, 4, 0), {"mode": "reflect"}),
    *(("shift", (X, (0.3, -1.6)), {"order": o, "mode": m}) for o in (1, 3) for m in SPLINE_MODES),
    ("shift", (CUBE, 0.4), {}),
    *(("affine_transform", (X, TURN, np.array([0.23, 0.47])), {"order": o}) for o in (1, 3)),
    ("affine_transform", (X, np.array([0.8, 1.1])), {"output_shape": (4, 5), "mode": "mirror"}),
    ("affine_transform", (X, np.c_[TURN, [0.23, 0.47]]), {}),
    *(("zoom", (X, z), {"order": o, "mode": "mirror"}) for z in (0.6, (1.5, 2)) for o in (1, 3)),
    ("zoom", (X, 1.7), {"grid_mode": True, "mode": "grid-wrap"}),
]


def arrays(name, args):
    """The arguments that have derivatives, and how to put others in their place."""
    kinds = np.ndarray if name == "zoom" else (np.ndarray, float)
    at = [i for i, a in enumerate(args) if isinstance(a, kinds)]

    def put(xs):
        return [xs[at.index(i)] if i in at else a for i, a in enumerate(args)]

    return [args[i] for i in at], put


@pytest.mark.parametrize(("name", "args", "keywords"), CALLS)
def test_values_are_scipys(name, args, keywords):
    wanted = getattr(sp, name)(*args, **keywords)
    xs, put = arrays(name, args)
    for function in (getattr(ours, name), getattr(sp, name)):  # SciPy's own function comes here
        found = fg.vjp(lambda *xs, f=function: f(*put(xs), **keywords), *xs)[0]
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    close = {"rtol": 1e-5, "atol": 1e-5} if wanted.dtype == np.float32 else {"atol": 1e-10}
    if not name.startswith("gaussian"):
        staged = fg.jit(lambda *xs: getattr(ours, name)(*put(xs), **keywords))
        np.testing.assert_allclose(staged(*xs), wanted, **close)


@pytest.mark.parametrize(
    ("name", "args", "keywords"),
    [c for c in CALLS if c[0][:5] in ("gauss", "shift", "affin", "zoom", "sobel", "lapla")][::2]
    + [("map_coordinates", (X, PLACES), {"order": 3, "mode": m}) for m in SPLINE_MODES],
)
def test_derivatives(name, args, keywords):
    xs, put = arrays(name, args)
    check_grads(lambda *xs: getattr(ours, name)(*put(xs), **keywords), tuple(xs), order=1)


def test_a_shift_is_found_by_its_gradient():
    image = sp.gaussian_filter(RNG.normal(size=(16, 16)), 2.0)
    moved = sp.shift(image, (0.4, -0.7), mode="grid-wrap")
    loss = lambda s: np.sum((ours.shift(image, s, mode="grid-wrap") - moved) ** 2)
    s = np.zeros(2)
    for _ in range(8):
        s = s - np.linalg.solve(fg.hessian(loss)(s), fg.grad(loss)(s))
    np.testing.assert_allclose(s, (0.4, -0.7), atol=1e-6)


def test_under_vmap():
    stacked = np.stack([X, 2 * X, X[::-1]])
    for f in (
        lambda x: ours.gaussian_filter(x, 1.0),
        lambda x: ours.map_coordinates(x, PLACES),
        lambda x: ours.convolve(x, W),
    ):
        np.testing.assert_array_equal(fg.vmap(f)(stacked), [f(x) for x in stacked])


@pytest.mark.parametrize(
    ("name", "args", "keywords"),
    [
        ("correlate", (X, LINE), {}),
        ("correlate", (X, W), {"mode": "odd"}),
        ("correlate", (X, W), {"origin": 5}),
        ("correlate1d", (X, np.ones(0)), {}),
        ("correlate1d", (X, LINE), {"axis": 5}),
        ("gaussian_filter1d", (X, 1.0), {"order": -1}),
        ("gaussian_filter", (X, (1.0, 2.0, 3.0)), {}),
        ("uniform_filter1d", (X, 0), {}),
        ("uniform_filter1d", (X, 3), {"origin": 3}),
        ("map_coordinates", (X, PLACES[:1]), {}),
        ("map_coordinates", (X, PLACES), {"order": 6}),
        ("affine_transform", (X, np.ones((3, 2))), {}),
    ],
)
def test_errors_are_scipys(name, args, keywords):
    with pytest.raises(Exception) as theirs:
        getattr(sp, name)(*args, **keywords)
    with pytest.raises(type(theirs.value)):
        fg.vjp(lambda x: getattr(ours, name)(x, *args[1:], **keywords), args[0])


def test_what_is_not_supported_says_so():
    for f, text in (
        (lambda x: ours.convolve(x, W, output=np.int64), "which has no derivative"),
        (lambda x: ours.shift(x, 1, mode="grid-constant"), "mode='grid-constant' is not supported"),
        (lambda x: ours.sobel(x + 1j), "complex images are not supported"),
        (lambda x: ours.shift(np.ones((3, 3), int), x[0, :2]), "which has no derivative"),
    ):
        with pytest.raises(UnsupportedCallError, match=text):
            fg.vjp(f, X)
    with pytest.raises(fg.errors.AbstractValueError, match="the radius of a Gaussian filter"):
        fg.jit(lambda s: ours.gaussian_filter(X, s))(1.0)
