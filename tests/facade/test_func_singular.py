"""Forward mode of `torch.func` at singular points: 0 times infinity is NaN, as in PyTorch."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.torch as facade

torch = pytest.importorskip("torch")

PROGRAMS = {
    "where": lambda t, x: t.sqrt(t.where(x > 0, x, t.zeros_like(x))),
    "index_fill": lambda t, x: t.sqrt(x.index_fill(0, t.tensor([0]), 0.0)),
    "pad": lambda t, x: t.sqrt(t.nn.functional.pad(x[1:], (1, 0))),
    "masked_fill": lambda t, x: t.sqrt(x.masked_fill(x <= 0, 0.0)),
    "tril": lambda t, x: t.sqrt(t.tril(x[:, None] * x)),
    "cat": lambda t, x: t.sqrt(t.cat([x[1:], t.zeros(1)])),
    "diag": lambda t, x: t.sqrt(t.diag(x)).sum(0),
    "squares": lambda t, x: t.sqrt(t.where(x > 2, x, t.zeros_like(x)) ** 2),
    "branch": lambda t, x: t.where(x > 0, t.sqrt(x), t.zeros_like(x)),
}
MODES = {
    "jvp": lambda t, f, x, v: t.func.jvp(f, (x,), (v,))[1],
    "linearize": lambda t, f, x, v: t.func.linearize(f, x)[1](v),
    "jacfwd": lambda t, f, x, v: t.func.jacfwd(f)(x),
    "jacrev": lambda t, f, x, v: t.func.jacrev(f)(x),
    "mapped": lambda t, f, x, v: t.func.vmap(lambda w: t.func.jvp(f, (x,), (w,))[1])(t.eye(3)),
    "hessian": lambda t, f, x, v: t.func.hessian(lambda y: f(y).sum())(x),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_zero_times_infinity(program, mode):
    want, got = (
        np.array(
            MODES[mode](
                t,
                lambda x, t=t: PROGRAMS[program](t, x),
                t.tensor([0.0, 1.0, 4.0]),
                t.tensor([1.0, 0.0, 2.0]),
            ).numpy()
        )
        for t in (torch, facade)
    )
    np.testing.assert_allclose(got, want, rtol=1e-5)


def root_of_positive(x):
    return np.where(x > 0, np.sqrt(x), 0.0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("made", [lambda f: f, fg.checkpoint, fg.jit])
def test_transforms_of_the_core_inside(made):
    """They follow no absent elements there, and do elsewhere."""
    f = made(root_of_positive)
    x = facade.tensor([0.0, 1.0])
    want = [np.nan, 0.5]
    np.testing.assert_array_equal(facade.func.grad(lambda x: f(x).sum())(x).numpy(), want)
    root = made(lambda x: np.sqrt(np.where(x > 0, x, 0.0)))
    np.testing.assert_array_equal(facade.func.jvp(root, (x,), (facade.ones(2),))[1].numpy(), want)
    plain = fg.grad(lambda x: np.sum(f(x)))(np.array([0.0, 1.0]))
    np.testing.assert_array_equal(plain, [0.0, 0.5])
