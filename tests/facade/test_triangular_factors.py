"""LU factors, what is solved with them, and reflections, beside PyTorch."""

import numpy as np
import pytest

import funcgrad.torch as ours

from .both import same, same_derivatives

SHAPES = {"square": (3, 3), "tall": (4, 2), "wide": (2, 4), "batch": (2, 3, 3), "one": (1, 1)}


def matrix(shape, complex_=False):
    rng = np.random.default_rng(sum(shape))
    x = rng.normal(size=shape) + 2 * np.eye(*shape[-2:])[::-1]
    return x + 1j * rng.normal(size=shape) if complex_ else x


def solved(left, adjoint):
    def function(torch, a, b):
        lu, pivots = torch.linalg.lu_factor(a)
        return torch.linalg.lu_solve(lu, pivots, b, left=left, adjoint=adjoint)

    return function


def product(torch, a, tau):
    return torch.linalg.householder_product(a, tau)


def applied(left, transpose):
    return lambda torch, a, tau, b: torch.ormqr(a, tau, b, left, transpose)


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_factors(shape, complex_):
    a = matrix(SHAPES[shape], complex_)
    for function in (
        lambda t, a: t.linalg.lu(a), lambda t, a: t.linalg.lu_factor(a),
        lambda t, a: t.linalg.lu_factor_ex(a),
        lambda t, a: t.lu_unpack(*t.linalg.lu_factor(a)),
        lambda t, a: t.lu_unpack(*t.linalg.lu_factor(a), unpack_pivots=False)[1:],
    ):  # fmt: skip
        same_derivatives(lambda t, a, f=function: tuple(f(t, a)), a)


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_solutions(left, adjoint, complex_):
    for a, b in (((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 2)), ((2, 3, 3), (3, 2))):
        right = matrix(b, complex_)
        right = right if left else np.swapaxes(right, -1, -2).copy()
        same_derivatives(solved(left, adjoint), matrix(a, complex_), right)


@pytest.mark.parametrize("complex_", [False, True])
def test_products_of_reflections(complex_):
    for shape in ((3, 3), (4, 2), (2, 3, 2)):
        a, tau = matrix(shape, complex_), matrix(shape, complex_)[..., 0, :].copy()
        same_derivatives(product, a, tau)
        same_derivatives(lambda t, a, tau: t.orgqr(a, tau[..., :1]), a, tau)


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
def test_reflections_of_matrices(left, transpose, complex_):
    a, b = matrix((3, 2), complex_), matrix((3, 2), complex_)
    b = b if left else b.T.copy()
    same_derivatives(applied(left, transpose), a, a[0].copy(), b)


def said(torch, say):
    linalg, eye = torch.linalg, torch.eye(2)
    some = torch.stack([eye, torch.ones(2, 2)])
    pivots = torch.tensor([1, 2], dtype=torch.int32)
    for call in (
        lambda: linalg.lu_factor(some), lambda: linalg.lu_factor_ex(some, check_errors=True),
        lambda: linalg.lu_factor_ex(some), lambda: linalg.lu(some), lambda: linalg.lu(eye[0]),
        lambda: linalg.lu(eye.int()), lambda: linalg.lu_factor(eye, pivot=False),
        lambda: linalg.lu_factor(eye[0]), lambda: linalg.lu(torch.zeros(0, 3)),
        lambda: linalg.lu_factor_ex(torch.zeros(2, 0, 0)), lambda: linalg.lu(eye, 1),
        lambda: torch.lu_unpack(eye, torch.tensor([1, 2])), lambda: torch.lu_unpack(eye[0], pivots),
        lambda: torch.lu_unpack(torch.ones(2, 3), pivots),
        lambda: torch.lu_unpack(torch.ones(3, 2), pivots),
        lambda: torch.lu_unpack(eye, pivots, unpack_data=False),
        lambda: torch.lu_unpack(eye, pivots + 5), lambda: torch.lu_unpack(eye),
        lambda: linalg.lu_solve(eye, torch.tensor([1, 2]), eye),
        lambda: linalg.lu_solve(eye, pivots, torch.ones(3, 1)),
        lambda: linalg.lu_solve(eye, pivots, eye[0]),
        lambda: linalg.lu_solve(eye, pivots, eye.double()),
        lambda: linalg.lu_solve(torch.ones(2, 3), pivots, eye),
        lambda: linalg.lu_solve(eye, pivots[:1], eye), lambda: linalg.lu_solve(eye, pivots),
        lambda: linalg.householder_product(torch.ones(2, 3), torch.ones(2)),
        lambda: linalg.householder_product(torch.ones(3, 2), torch.ones(3)),
        lambda: linalg.householder_product(torch.ones(3, 2), torch.ones(2).double()),
        lambda: linalg.householder_product(torch.ones(3), torch.ones(2)),
        lambda: linalg.householder_product(torch.ones(3, 2), torch.ones(2, 2)),
        lambda: torch.ormqr(torch.ones(3, 2), torch.ones(2), torch.ones(2, 3)),
        lambda: torch.geqrf(torch.ones(3)), lambda: torch.geqrf(eye.int()),
        lambda: torch.geqrf(eye.requires_grad_())[0].sum().backward(), lambda: torch.orgqr(eye),
        lambda: torch.ormqr(eye, eye[0]), lambda: eye.geqrf(1), lambda: linalg.lu(),
    ):  # fmt: skip
        try:
            say(call())
        except (RuntimeError, TypeError, NotImplementedError) as error:
            say(type(error).__name__, error)
    out = tuple(torch.empty(0) for _ in range(3))
    found = linalg.lu(torch.tensor([[1.0, 2.0], [4.0, 2.0]]), out=out)
    say(out, [f is o for f, o in zip(found, out)])
    a = torch.eye(2, requires_grad=True)
    say(linalg.lu(a), linalg.lu_factor(a), torch.lu_unpack(a, pivots), torch.geqrf(a))
    say(linalg.lu_solve(a, pivots, a))
    say(linalg.householder_product(a, torch.ones(2)).grad_fn.name())


def test_refusals_empty_matrices_and_nodes():
    same(said)


def test_transforms_and_compiled_programs():
    stack = ours.tensor(matrix((2, 3, 3)))
    function = lambda a: tuple(ours.linalg.lu(a))
    for found in (ours.vmap(function)(stack), ours.compile(function)(stack)):
        for part, expected in zip(found, function(stack), strict=True):
            np.testing.assert_allclose(part.numpy(), expected.numpy(), rtol=1e-12)
