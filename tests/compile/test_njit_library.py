"""Factorisations, sorting and searching inside functions that Numba compiles, against NumPy."""

import importlib.util

import numba
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import NativeCodeError

pytestmark = pytest.mark.costly

RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 4)) + 3 * np.eye(4)
S = A @ A.T
B = RNG.normal(size=(4, 2))
STACK = np.stack([A, A.T * 2])
SHORT = A.copy()
SHORT[1] = 2 * SHORT[0]  # of rank 3
X = RNG.normal(size=7)
SPECIAL = np.array([1.0, np.nan, -np.inf, 3.0, np.nan, 1.0, 0.0, np.inf])
KNOTS = np.arange(4.0)
DIVIDENDS = np.array([-1.0, 1.0, np.nan, np.inf, -0.0, 0.3, 2.1, 1e300])

CASES = {
    "solve": (fg.grad(lambda a, b: np.sum(np.linalg.solve(a, b) ** 2), (0, 1)), A, B),
    "solve one column": (fg.grad(lambda a, b: np.sum(np.linalg.solve(a, b)), (0, 1)), A, B[:, 0]),
    "solve a stack": (lambda a, b: np.linalg.solve(a, b), STACK, B),
    "second derivative": (
        fg.hessian(lambda x: np.sum(np.linalg.solve(S + np.outer(x, x), x))), X[:4]),
    "inverse": (fg.grad(lambda a: np.sum(np.linalg.inv(a) ** 2)), A),
    "inverse of what is not in order": (lambda a: np.linalg.inv(a.T[::-1]), A),
    "determinant": (fg.value_and_grad(np.linalg.det), A),
    "determinant of 3 rows": (fg.value_and_grad(np.linalg.det), A[:3, :3]),
    "determinant of a singular matrix": (fg.value_and_grad(np.linalg.det), SHORT),
    "determinant of rank 2": (fg.grad(np.linalg.det), np.outer(X[:5], X[2:]) + np.ones((5, 5))),
    "logarithm of it": (fg.value_and_grad(lambda a: np.linalg.slogdet(a)[1]), -STACK[1]),
    "not a number": (lambda a: np.linalg.det(a / a), A * (1 - np.eye(4))),
    "cholesky": (fg.value_and_grad(lambda a: np.sum(np.linalg.cholesky(a) ** 3)), S),
    "cholesky of a stack": (lambda a: np.linalg.cholesky(a), np.stack([S, 2 * S])),
    "cholesky from above": (lambda a: np.linalg.cholesky(np.triu(a), upper=True), S),
    "eigenvalues": (fg.grad(lambda a: np.sum(np.linalg.eigvalsh(a) ** 3)), S),
    "eigenvalues from above": (lambda a: np.linalg.eigvalsh(a, "U"), A),
    "eigenvectors": (fg.grad(lambda a: np.sum(np.linalg.eigh(a)[1] ** 4)), S),
    "singular values": (fg.grad(lambda a: np.sum(np.linalg.svd(a, False)[1] ** 3)), A[:, :3]),
    "singular values alone": (lambda a: np.linalg.svd(a, compute_uv=False), A[:, :3]),
    "sort": (fg.grad(lambda x: np.sum(np.sort(x) * np.arange(7.0))), X),
    "sort columns": (lambda a: (np.sort(a, axis=0), np.argsort(a, axis=0)), A),
    "sort special values": (lambda x: (np.sort(x), np.argsort(x, kind="stable")), SPECIAL),
    "median": (fg.grad(lambda x: np.median(x)), X),
    "search": (lambda x, p: (np.searchsorted(p, x), np.searchsorted(p, x, "right")),
               np.array([0.0, 1.0, 2.5, np.nan, -1.0, 9.0]), np.append(KNOTS, np.nan)),
    "interpolation": (fg.grad(lambda x, p: np.sum(np.interp(x, p, p**2))), X, KNOTS),
    "convolution": (fg.grad(lambda x, w: np.sum(np.convolve(x, w, "same") ** 2), (0, 1)), X, KNOTS),
    "valid convolution": (lambda x, w: np.convolve(w, x, "valid"), X, KNOTS),
    "bits": (lambda n: (n & 3, n | 4, n ^ 5, ~n), np.arange(-4, 4)),
    "integer quotients": (lambda n: (n // 2, n % 3, np.fmod(n, 3)), np.arange(-4, 4)),
    "quotients": (lambda x: (x // 0.3, x % 0.3, np.fmod(x, 0.3), x // 0.0), DIVIDENDS),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_numpy(name):
    f, *args = CASES[name]
    before = [a.copy() for a in args]
    with np.errstate(all="ignore"):
        want = f(*args)
    got = fg.jit(f).njit(*args)
    for a, b in zip(fg.tree.leaves(got), fg.tree.leaves(want), strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    for a, b in zip(args, before, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_sizes_are_known_when_the_code_runs(n):
    """One function of Numba's for all shapes, in single precision too."""
    solve = fg.jit(lambda a, b: np.linalg.solve(a, b)).njit
    rng = np.random.default_rng(n)
    a = (rng.normal(size=(n, n)) + n * np.eye(n)).astype(np.float32)
    b = rng.normal(size=(n, 3)).astype(np.float32)
    found = solve(a, b)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.linalg.solve(a, b), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda a: np.linalg.inv(a), "singular"),
        (lambda a: np.linalg.cholesky(a - 9 * np.eye(3)), "positive definite"),
        (lambda a: np.linalg.eigvalsh(a + np.nan), "converge"),
    ],
)
def test_what_cannot_be_factorised_is_an_error(f, message):
    f = fg.jit(f).njit

    @numba.njit
    def guarded(a):
        try:
            f(a)
        except Exception:
            return False
        return True

    with pytest.raises(np.linalg.LinAlgError, match=message):
        f(np.zeros((3, 3)))
    assert not guarded(np.zeros((3, 3)))


def test_without_scipy_the_error_names_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    f = fg.jit(lambda a: np.linalg.eigvalsh(a)).njit
    with pytest.raises(NativeCodeError, match=r"(?s)eigvalsh.*SciPy.*test_njit_library"):
        f(np.eye(2))
    np.testing.assert_allclose(fg.jit(lambda a: np.linalg.inv(a)).njit(np.eye(2)), np.eye(2))


def test_what_has_no_native_form_is_named_with_its_line():
    with pytest.raises(NativeCodeError, match=r"(?s)complex.*test_njit_library.*line"):
        fg.jit(lambda x: np.real(np.exp(1j * x))).njit(X)


def test_a_list_is_named_as_what_cannot_be_given():
    with pytest.raises(NativeCodeError, match=r"argument a\[0\] has Numba's type .*list"):
        fg.jit(lambda x: x * 2).njit([1.0, 2.0])


def test_static_arguments_are_named_with_the_users_line():
    with pytest.raises(NativeCodeError, match=r"(?s)static arguments.*test_njit_library"):
        _ = fg.jit(lambda x, n: x**n, static_argnums=1).njit
