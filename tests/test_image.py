"""`funcgrad.image`: the numbers of `jax.image`, derivatives, and errors."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.testing import check_grads

IMAGE = np.sin(np.arange(35.0)).reshape(7, 5)
METHODS = ["nearest", "linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area"]


def jax_image():
    jax = pytest.importorskip("jax")
    return jax, jax.enable_x64(True)


@pytest.mark.peers
@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_resize_is_that_of_jax(method, antialias):
    jax, wide = jax_image()
    with wide:
        for shape in [(3, 9), (7, 2), (14, 5)]:
            expected = jax.image.resize(IMAGE, shape, method, antialias)
            found = fg.image.resize(IMAGE, shape, method, antialias)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.peers
@pytest.mark.parametrize("method", METHODS[1:])
def test_moved_images_and_their_derivatives_are_those_of_jax(method):
    jax, wide = jax_image()
    scale, move = np.array([0.8, 1.3]), np.array([0.4, -0.7])

    def of(m):
        f = lambda x, s, t: m.image.scale_and_translate(x, (5, 6), (0, 1), s, t, method)
        weighed = lambda *given: (f(*given) * np.cos(np.arange(30.0)).reshape(5, 6)).sum()
        return f, m.grad(weighed, (0, 1, 2))

    with wide:
        for ours, theirs in zip(of(fg), of(jax), strict=True):
            pairs = zip(
                fg.tree.leaves(ours(IMAGE, scale, move)),
                jax.tree.leaves(theirs(IMAGE, scale, move)),
                strict=True,
            )
            for found, expected in pairs:
                np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_derivatives_of_every_kind(method):
    check_grads(lambda x: fg.image.resize(x, (3, 6), method), (IMAGE,), 1)


def test_integers_become_floats_but_not_by_choosing_the_nearest():
    x = np.arange(4, dtype=np.int16)
    assert fg.image.resize(x, (2,), "nearest").dtype == np.int16
    assert fg.image.resize(x, (2,), "linear").dtype == np.float64
    assert fg.image.resize(x.astype("f4"), (2,), "linear").dtype == np.float32


def test_an_axis_that_stays_is_not_touched():
    assert fg.image.resize(IMAGE, (7, 5), "cubic").tobytes() == IMAGE.tobytes()


def test_compiled_and_mapped():
    f = lambda x: fg.image.resize(x, (4, 8), "cubic")
    stack = np.stack([IMAGE, 2.0 * IMAGE])
    expected = np.stack([f(x) for x in stack])
    np.testing.assert_allclose(fg.jit(fg.vmap(f))(stack), expected, rtol=1e-12, atol=1e-12)


def test_errors():
    with pytest.raises(ValueError, match="there is no method 'sharp'; there are nearest, linear"):
        fg.image.resize(IMAGE, (3, 3), "sharp")
    with pytest.raises(ValueError, match=r"a shape \(3,\) for an image of shape \(7, 5\)"):
        fg.image.resize(IMAGE, (3,), "linear")
    with pytest.raises(ValueError, match="cannot be 'nearest'"):
        fg.image.scale_and_translate(IMAGE, (7, 5), (0,), [1.0], [0.0], "nearest")
    with pytest.raises(ValueError, match=r"1 scales and 2 translations for the axes \[0\]"):
        fg.image.scale_and_translate(IMAGE, (7, 5), (0,), [1.0], [0.0, 0.0], "linear")
