"""`scipy.linalg` on traced values: SciPy's values bit for bit, derivatives, stacks, refusals.

`test_rules` has both modes, second order and batching of every record, from its samples.
"""

import warnings

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.linalg as sl

import funcgrad as fg
import funcgrad.scipy.linalg as ours
from funcgrad.errors import AbstractValueError, UnsupportedCallError
from funcgrad.testing import check_grads

rng = np.random.default_rng(0)
A = rng.normal(size=(3, 3)) + 3 * np.eye(3)
B = rng.normal(size=(3, 2))
V = rng.normal(size=3)
P = A @ A.T
LU, PIV = sl.lu_factor(A)

CASES = {
    "expm": (sl.expm, A),
    "logm": (sl.logm, A),
    "sqrtm": (sl.sqrtm, A),
    "cosm": (sl.cosm, A),
    "sinm": (sl.sinm, A),
    "tanm": (sl.tanm, A),
    "coshm": (sl.coshm, A),
    "sinhm": (sl.sinhm, A),
    "tanhm": (sl.tanhm, A),
    "solve": (sl.solve, A, B),
    "solve vector": (sl.solve, A, V),
    "solve transposed": (lambda a, b: sl.solve(a, b, transposed=True), A, B),
    "solve lower": (lambda a, b: sl.solve(a, b, assume_a="lower triangular"), A, B),
    "solve_triangular": (sl.solve_triangular, A, B),
    "solve_triangular T": (lambda a, b: sl.solve_triangular(a, b, "T", lower=True), A, V),
    "solve_triangular unit": (lambda a, b: sl.solve_triangular(a, b, unit_diagonal=True), A, V),
    "cho_solve": (lambda c, b: sl.cho_solve((c, True), b), sl.cholesky(P, lower=True), B),
    "lu_solve": (lambda c, b: sl.lu_solve((c, PIV), b), LU, B),
    "lu_solve T": (lambda c, b: sl.lu_solve((c, PIV), b, trans=1), LU, V),
    "solve_sylvester": (sl.solve_sylvester, A, A[:2, :2], B),
    "solve_continuous_lyapunov": (sl.solve_continuous_lyapunov, A, P),
    "solve_discrete_lyapunov": (sl.solve_discrete_lyapunov, A * 0.1, P),
    "solve_discrete_lyapunov bilinear": (
        lambda a, q: sl.solve_discrete_lyapunov(a, q, "bilinear"),
        A * 0.1,
        P,
    ),
    "solve_continuous_are": (
        lambda a, b, q: sl.solve_continuous_are(a, b, q @ q.T, np.eye(2)),
        A,
        B,
        A,
    ),
    "solve_discrete_are": (
        lambda a, b, q: sl.solve_discrete_are(a, b, np.eye(3), q @ q.T),
        A,
        B,
        A[:2, :2],
    ),
}


def same(found, wanted):
    found, wanted = ((x if isinstance(x, tuple) else (x,)) for x in (found, wanted))
    assert len(found) == len(wanted)
    for f, w in zip(found, wanted, strict=True):
        f, w = np.asarray(f), np.asarray(w)
        assert f.dtype == w.dtype
        assert np.ascontiguousarray(f).tobytes() == np.ascontiguousarray(w).tobytes()


@pytest.mark.parametrize("kind", [float, np.float32, complex, np.complex64])
@pytest.mark.parametrize("name", CASES)
def test_values_are_scipys_bit_for_bit(name, kind):
    function, *args = CASES[name]
    given = [a.astype(kind) for a in args]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted = function(*given)
        except (ValueError, NotImplementedError):  # unsymmetric, complex and transposed
            return
        same(fg.vjp(function, *given)[0], wanted)


@pytest.mark.parametrize("name", ["expm", "sqrtm", "cosm", "solve", "solve_triangular"])
def test_half_precision_is_computed_as_scipy_does(name):
    function, *args = CASES[name]
    given = [a.astype(np.float16) for a in args]
    same(fg.vjp(function, *given)[0], function(*given))


@pytest.mark.parametrize("name", CASES)
def test_derivatives_to_second_order(name):
    function, *args = CASES[name]
    check_grads(function, tuple(args), order=2)


@pytest.mark.parametrize("name", CASES)
def test_under_jit_and_vmap_and_on_stacks(name):
    function, *args = CASES[name]
    wanted = function(*args)
    same(fg.jit(function)(*args), wanted)

    def total(*given):
        return np.sum(function(*given)) if not isinstance(wanted, tuple) else function(*given)[0]

    first = fg.grad(total)(*args)
    np.testing.assert_allclose(fg.jit(fg.grad(total))(*args), first, rtol=1e-10, atol=1e-12)
    stacks = [np.stack([a, a * 0.9]) for a in args]
    for lane, each in zip(fg.vmap(fg.grad(total))(*stacks), range(2), strict=True):
        alone = fg.grad(total)(*[s[each] for s in stacks])
        np.testing.assert_allclose(lane, alone, rtol=1e-9, atol=1e-11)


# ------------------------------------------------------------------------- matrix functions


@pytest.mark.parametrize("name", ["expm", "logm", "sqrtm", "cosm", "sinm"])
@pytest.mark.parametrize(
    "a",
    [
        np.array([[1.0, 1.0], [0.0, 1.0]]),  # it cannot be diagonalised
        2.0 * np.eye(2),  # equal eigenvalues
        np.array([[1.0, 1e-9], [1e-9, 1.0]]),  # nearly equal
        np.array([[3.0, 100.0], [0.0, 2.0]]),  # far from normal
    ],
    ids=["defective", "equal", "near", "far from normal"],
)
def test_derivatives_of_matrix_functions_against_mpmath(name, a):
    e = np.array([[0.3, -1.0], [0.5, 0.7]])
    with mpmath.workdps(50):
        h = mpmath.mpf(10) ** -15
        f = getattr(mpmath, name)
        exact_a, exact_e = mpmath.matrix(a), mpmath.matrix(e)
        wanted = (f(exact_a + h * exact_e) - f(exact_a - h * exact_e)) / (2 * h)
        wanted = np.array(wanted.tolist(), complex).real
    found = fg.jvp(getattr(sl, name), (a,), (e,))[1]
    assert np.abs(found - wanted).max() <= 1e-12 * np.abs(wanted).max()


def test_expm_against_jax():
    weights = rng.normal(size=(3, 3))
    found = fg.grad(lambda a: np.sum(weights * sl.expm(a)))(A)
    with jax.enable_x64(True):
        wanted = jax.grad(lambda a: jnp.sum(weights * jax.scipy.linalg.expm(a)))(A)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_complex_logarithm_of_a_real_matrix():
    a = np.array([[-1.0, 0.0], [0.0, 2.0]])
    assert fg.vjp(sl.logm, a)[0].dtype == complex
    found = fg.grad(lambda a: np.real(np.trace(sl.logm(a))))(a)
    np.testing.assert_allclose(found, [[-1.0, 0.0], [0.0, 0.5]], atol=1e-14)
    with pytest.raises(AbstractValueError, match="pass a complex matrix"):
        fg.jit(sl.logm)(a)


def test_the_logarithm_leaves_numpys_random_numbers_alone():
    before = np.random.get_state()[1].copy()
    fg.grad(lambda a: np.trace(sl.logm(a)))(A)
    assert np.array_equal(before, np.random.get_state()[1])


@pytest.mark.parametrize("name", ["expm", "logm", "sqrtm", "sinm", "coshm"])
def test_errors_of_shape_are_scipys(name):
    with pytest.raises(ValueError):
        getattr(sl, name)(B)
    with pytest.raises(ValueError, match="square"):
        fg.grad(lambda b: np.sum(getattr(sl, name)(b)))(B)


# --------------------------------------------------------------------------------- solvers


@pytest.mark.parametrize("structure", ["pos", "sym", "her"])
def test_the_gradient_of_a_symmetric_matrix_is_spread_over_both_triangles(structure):
    found = fg.grad(lambda a: np.sum(sl.solve(a, V, assume_a=structure)))(P)
    general = fg.grad(lambda a: np.sum(np.linalg.solve(a, V)))(P)
    np.testing.assert_allclose(found, (general + general.T) / 2, rtol=1e-9)


def test_what_a_triangular_solver_does_not_read_has_the_gradient_zero():
    found = fg.grad(lambda a: np.sum(sl.solve_triangular(a, V, lower=True)))(A)
    assert not np.triu(found, 1).any()
    assert found[np.tril_indices(3)].all()


def test_riccati_with_a_descriptor_matrix_is_refused():
    with pytest.raises(UnsupportedCallError, match="e= and s="):
        fg.grad(lambda a: np.sum(sl.solve_continuous_are(a, B, P, np.eye(2), e=np.eye(3))))(A)


def test_every_public_name_is_scipys():
    assert set(ours.__all__) <= set(sl.__all__)
