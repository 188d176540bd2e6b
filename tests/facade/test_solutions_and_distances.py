"""Least squares, exponentials, older names of solutions, and distances of rows, beside PyTorch."""

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same, same_derivatives

ORDERS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, np.inf]
ROWS = np.array([[0.0, 1.0], [1.0, 2.5], [0.3, -1.0], [2.0, 1.0]])


def matrix(*shape, complex_=False):
    rng = np.random.default_rng(sum(shape))
    x = rng.normal(size=shape)
    return x + 1j * rng.normal(size=shape) if complex_ else x


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("driver", [None, "gels", "gelsd", "gelss"])
def test_least_squares(driver, complex_):
    def function(torch, a, b):
        found = torch.linalg.lstsq(a, b, driver=driver)
        return (
            found.solution,
            found.rank,
            found.singular_values,
            *((found.residuals,) if found.residuals.numel() else ()),
        )

    for a, b in (((4, 2), (4, 3)), ((2, 4), (2, 1)), ((2, 4, 3), (2, 4, 2)), ((2, 4, 3), (2, 4)),
                 ((4, 2), (4,)), ((3, 3), (3, 1))):  # fmt: skip
        same_derivatives(function, matrix(*a, complex_=complex_), matrix(*b, complex_=complex_))


@pytest.mark.parametrize("complex_", [False, True])
def test_exponentials_and_older_names(complex_):
    a, b = (matrix(2, 3, k, complex_=complex_) for k in (3, 2))
    low = np.tril(a, -1) + np.eye(3) * (2 + np.abs(a))
    same_derivatives(lambda t, a: t.linalg.matrix_exp(a), a)
    same_derivatives(lambda t, a: t.matrix_exp(a[0]), a)
    for upper in (False, True):
        factor = np.swapaxes(low, -1, -2).copy() if upper else low
        # PyTorch gives a gradient to the triangle that is not read, too
        part = "triu" if upper else "tril"
        same_derivatives(
            lambda t, f, u=upper, p=part: t.cholesky_inverse(getattr(f, p)(), u), factor
        )
        same_derivatives(
            lambda t, f, b, u=upper, p=part: t.cholesky_solve(b, getattr(f, p)(), u), factor, b
        )
        for turned in (False, True):
            same_derivatives(
                lambda t, b, f, u=upper, v=turned: t.triangular_solve(b, f, u, v)[0], b, factor
            )


@pytest.mark.parametrize("p", ORDERS)
def test_distances(p):
    """Of the second order only where PyTorch has it: not of `pdist`, and not of all norms."""
    mine, other = ROWS, ROWS[:3] + 0.2

    def first(torch, x, y):
        x, y = torch.tensor(x, requires_grad=True), torch.tensor(y, requires_grad=True)
        outs = torch.cdist(x, y, p), torch.pdist(torch.cat([x, x[:1]]), p)
        loss = sum((o * o).sum() for o in outs)
        grads = torch.autograd.grad(loss, (x, y)) if loss.requires_grad else ()
        return [o.detach().numpy() for o in (*outs, *grads)]

    from .both import theirs

    if theirs is None:
        pytest.skip("PyTorch is not installed")
    for e, g in zip(first(theirs, mine, other), first(ours, mine, other), strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-12, atol=1e-12)
    x = ours.tensor(mine + 0.1 * matrix(4, 2), requires_grad=True)
    if p in (1.5, 2.0, 3.0):
        ours.autograd.gradgradcheck(lambda x: ours.cdist(x, ours.tensor(other), p), x)
        ours.autograd.gradgradcheck(lambda x: ours.pdist(x, p), x)


def test_euclidean_distances_by_a_product():
    x, y = matrix(2, 30, 4), matrix(5, 4)
    for mode in ("use_mm_for_euclid_dist", "use_mm_for_euclid_dist_if_necessary"):
        same_derivatives(lambda t, x, y, m=mode: t.cdist(x, y, compute_mode=m), x, y)
    x = ours.tensor(x[0], requires_grad=True)
    ours.cdist(x, x).sum().backward()
    assert x.grad.isfinite().all()


def test_equal_rows_have_a_gradient_of_zero():
    x = ours.ones(3, 2, requires_grad=True)
    (ours.cdist(x, x).sum() + ours.nn.functional.pdist(x).sum()).backward()
    assert (x.grad == 0).all()


def said(torch, say):
    linalg, eye = torch.linalg, torch.eye(2)
    for call in (
        lambda: linalg.lstsq(torch.eye(3, 2), torch.ones(3, 1), driver="x"),
        lambda: linalg.lstsq(torch.eye(3, 2), torch.ones(2, 1)),
        lambda: linalg.lstsq(eye[0], torch.ones(3)), lambda: linalg.lstsq(eye),
        lambda: linalg.lstsq(torch.eye(3, 2), torch.ones(3, 1).double()),
        lambda: linalg.lstsq(torch.ones(2, 3, 2), torch.ones(2, 3, 1), driver="gels"),
        lambda: linalg.lstsq(torch.zeros(0, 2), torch.zeros(0, 1)),
        lambda: linalg.lstsq(torch.eye(3, 2), torch.ones(3), driver="gelsd"),
        lambda: linalg.matrix_exp(torch.ones(3, 2)), lambda: linalg.matrix_exp(eye.int()),
        lambda: linalg.matrix_exp(eye[0]), lambda: linalg.matrix_exp(torch.zeros(0, 0)),
        lambda: torch.cholesky_inverse(torch.ones(3, 2)), lambda: torch.cholesky_inverse(0 * eye),
        lambda: torch.cholesky_solve(torch.ones(2), eye),
        lambda: torch.cholesky_solve(torch.ones(3, 1), eye),
        lambda: torch.cdist(torch.ones(3, 2), torch.ones(3, 3)),
        lambda: torch.cdist(torch.ones(3), eye), lambda: torch.cdist(eye, torch.ones(3)),
        lambda: torch.cdist(eye, eye, p=-1), lambda: torch.cdist(eye, eye, compute_mode="a"),
        lambda: torch.cdist(eye, eye.double()), lambda: torch.cdist(eye.int(), eye),
        lambda: torch.cdist(eye.half(), eye.half()), lambda: torch.cdist(eye * 1j, eye),
        lambda: torch.cdist(torch.ones(2, 3, 2), torch.ones(3, 5, 2)),
        lambda: torch.cdist(torch.ones(2, 3, 2), torch.ones(4, 1, 5, 2)).shape,
        lambda: torch.cdist(torch.zeros(0, 2), eye), lambda: torch.cdist(eye[:, :0], eye[:, :0]),
        lambda: torch.cdist(eye[:, :0], eye[:, :0], float("inf")),
        lambda: torch.pdist(torch.zeros(1, 2)), lambda: torch.pdist(torch.zeros(3, 0)),
        lambda: torch.pdist(eye[0]), lambda: torch.pdist(eye, p=-1),
        lambda: torch.pdist(eye.int()), lambda: torch.pdist(), lambda: torch.matrix_exp(eye, 1),
        lambda: torch.pdist(eye.requires_grad_()), lambda: torch.cdist(eye, eye),
        lambda: linalg.matrix_exp(eye), lambda: torch.cholesky_inverse(eye).grad_fn.name(),
    ):  # fmt: skip
        try:
            say(call())
        except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
            say(type(error).__name__, error)


def test_refusals_empty_matrices_and_nodes():
    same(said)
