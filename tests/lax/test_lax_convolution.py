"""`lax.conv_general_dilated` against JAX, in its values and in both gradients."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import lax

RNG = np.random.default_rng(0)
CASES = {
    "plain": ((2, 3, 6, 5), (4, 3, 3, 2), ((1, 1), "VALID"), {}),
    "same": ((2, 3, 6, 5), (4, 3, 3, 2), ((2, 1), "SAME"), {}),
    "same-lower": ((2, 3, 6, 5), (4, 3, 2, 2), ((2, 3), "SAME_LOWER"), {"rhs_dilation": (2, 1)}),
    "cut": ((1, 2, 6, 5), (4, 2, 3, 2), ((1, 2), ((-1, 2), (1, -1))), {}),
    "groups": ((2, 4, 6), (6, 2, 3), ((1,), "SAME"), {"feature_group_count": 2}),
    "batches": ((4, 2, 6), (6, 2, 3), ((1,), "VALID"), {"batch_group_count": 2}),
    "dilated": ((1, 2, 4, 3), (3, 2, 3, 3), ((1, 2), ((2, 2), (1, 0))),
                {"lhs_dilation": (2, 3), "rhs_dilation": (1, 2)}),
    "last": ((2, 6, 5, 3), (3, 2, 3, 4), ((2, 1), "SAME"),
             {"dimension_numbers": ("NHWC", "HWIO", "NHWC")}),
    "turned": ((6, 5, 3, 2), (3, 4, 2, 3), ((1, 1), "VALID"),
               {"dimension_numbers": ("HWCN", "IOWH", "CWHN")}),
    "none": ((3, 4), (2, 4), ((), ()), {}),
}  # fmt: skip


@pytest.mark.peers
@pytest.mark.parametrize("name", CASES)
def test_like_jax(name):
    jax = pytest.importorskip("jax")
    x_shape, w_shape, args, options = CASES[name]
    x, w = (RNG.normal(size=s).astype(np.float32) for s in (x_shape, w_shape))
    expected, pull = jax.vjp(
        lambda x, w: jax.lax.conv_general_dilated(x, w, *args, **options), x, w
    )
    found, back = fg.vjp(lambda x, w: lax.conv_general_dilated(x, w, *args, **options), x, w)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
    g = RNG.normal(size=found.shape).astype(np.float32)
    for one, other in zip(back(g), pull(g), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=5e-5)


def test_every_transform():
    x, w = RNG.normal(size=(3, 1, 2, 5, 4)), RNG.normal(size=(2, 2, 2, 2))
    f = lambda x, w: (lax.conv(x, w, (1, 2), "SAME") ** 2).sum()
    each = np.stack([fg.grad(f)(v, w) for v in x])
    np.testing.assert_allclose(fg.vmap(fg.grad(f), (0, None))(x, w), each, rtol=1e-12)
    np.testing.assert_allclose(fg.jit(fg.vmap(fg.grad(f), (0, None)))(x, w), each, rtol=1e-12)
    hessian = fg.jacfwd(fg.jacrev(lambda w: f(x[0], w)))(w).reshape(16, 16)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-10, atol=1e-10)
    tangent = fg.jvp(lambda w: fg.grad(f, 1)(x[0], w), (w,), (w,))[1]
    np.testing.assert_allclose(tangent, fg.grad(f, 1)(x[0], w), rtol=1e-10)


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda: lax.conv(np.ones((1, 1, 3)), np.ones((1, 1, 3), np.float32), (1,), "SAME"),
         TypeError, "need the same dtype, got float64 and float32"),
        (lambda: lax.conv(np.ones((1, 1, 3)), np.ones((1, 1)), (1,), "SAME"),
         ValueError, "same number of axes"),
        (lambda: lax.conv(np.ones((1, 2, 3)), np.ones((1, 1, 3)), (1,), "SAME"),
         ValueError, "2 channels and 1 filters of 1 channels do not fit in 1 groups"),
        (lambda: lax.conv(np.ones((1, 1, 3)), np.ones((1, 1, 3)), (0,), "SAME"),
         ValueError, "window_strides needs 1 positive numbers"),
        (lambda: lax.conv(np.ones((1, 1, 3)), np.ones((1, 1, 3)), (1,), "FULL"),
         ValueError, "not 'FULL'"),
        (lambda: lax.conv(np.ones((1, 1, 3)), np.ones((1, 1, 3)), (1,), ()),
         ValueError, "padding needs 1 pairs"),
        (lambda: lax.conv_general_dilated(np.ones((1, 1, 3)), np.ones((1, 1, 3)), (1,), "SAME",
                                          dimension_numbers=("NHC", "HIO", "NWC")),
         ValueError, "dimension_numbers needs strings"),
    ],
)  # fmt: skip
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text.replace("(", r"\(")):
        call()
