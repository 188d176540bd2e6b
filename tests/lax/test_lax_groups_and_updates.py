"""`lax` where JAX has no rule to map or differentiate: by loops, factors, differences."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import lax
from funcgrad.testing import check_all, check_grads

ROWS = np.sin(np.arange(12.0)).reshape(4, 3)
MATRICES = np.cos(np.arange(18.0)).reshape(2, 3, 3)
A = np.array([[0.4, 1.3], [3.9, 0.4]])


def by_groups(x, w, sizes):
    """Each row with the matrix of its group."""
    found, start = np.zeros((len(x), w.shape[2])), 0
    for g, n in enumerate(sizes):
        found[start : start + n] = x[start : start + n] @ w[g]
        start += n
    return found


@pytest.mark.parametrize("sizes", [(2, 2), (0, 4), (1, 1), (4, 0), (0, 0), (3, 9)])
def test_ragged_dot_is_a_product_for_each_group(sizes):
    sizes = np.array(sizes)
    expected = by_groups(ROWS, MATRICES, np.minimum(sizes, 4))
    for f in (lax.ragged_dot, fg.jit(lax.ragged_dot)):
        np.testing.assert_allclose(f(ROWS, MATRICES, sizes), expected, rtol=1e-14, atol=1e-15)


def test_ragged_dot_in_all_modes():
    sizes = np.array([1, 2])
    check_all(lambda x, w: lax.ragged_dot(x, w, sizes), (ROWS, MATRICES))


def test_ragged_dot_of_sizes_that_are_mapped():
    sizes = np.array([[1, 3], [2, 1]])
    found = fg.vmap(lax.ragged_dot, (None, None, 0))(ROWS, MATRICES, sizes)
    expected = [by_groups(ROWS, MATRICES, each) for each in sizes]
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)


def test_ragged_dot_keeps_float32():
    found = lax.ragged_dot(ROWS.astype("f4"), MATRICES.astype("f4"), np.array([1, 1]))
    assert found.dtype == np.float32


def test_ragged_dot_errors():
    with pytest.raises(TypeError, match=r"rows \(4, 3\), matrices \(3, 3\)"):
        lax.ragged_dot(ROWS, MATRICES[0], np.array([1]))
    with pytest.raises(TypeError, match="do not fit"):
        lax.ragged_dot(ROWS, MATRICES, np.array([1.0, 2.0]))
    with pytest.raises(fg.errors.UnsupportedCallError, match="group_offset"):
        lax.ragged_dot(ROWS, MATRICES, np.array([1, 2]), group_offset=np.array([0]))


def test_an_updated_factor_is_that_of_the_updated_matrix():
    r = np.triu(MATRICES[0]) + 3.0 * np.eye(3)
    w = ROWS[0] + 1.0
    found = lax.linalg.cholesky_update(r, w)
    expected = np.linalg.cholesky(r.T @ r + np.outer(w, w)).T
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)
    check_grads(lambda r, w: np.triu(lax.linalg.cholesky_update(np.triu(r), w)), (r, w), 2)
    both = fg.vmap(lax.linalg.cholesky_update)(np.stack([r, 2 * r]), np.stack([w, w]))
    np.testing.assert_allclose(both[0], expected, rtol=1e-13, atol=1e-14)


def test_eigenvalues_and_vectors_have_derivatives():
    def f(a):
        values, left, right = lax.linalg.eig(a)
        # order and signs are LAPACK's
        return np.sum(np.real(values) ** 3 * np.abs(left[0]) * np.abs(right[1]))

    check_grads(f, (A,), 2)
    values, left, right = lax.linalg.eig(A)
    np.testing.assert_allclose(A @ right, right * values, atol=1e-14)
    np.testing.assert_allclose(left.conj().T @ A, values[:, None] * left.conj().T, atol=1e-14)


def test_schur_has_no_derivative_and_says_so():
    with pytest.raises(fg.errors.NotDifferentiableError):
        fg.grad(lambda a: lax.linalg.schur(a)[0][0, 0])(A)
    with pytest.raises(ValueError, match="have to be square, not of shape \\(2, 3\\)"):
        lax.linalg.schur(np.ones((2, 3)))
    with pytest.raises(ValueError, match="sort_eig_vals is not supported"):
        lax.linalg.schur(A, sort_eig_vals=True)


def test_reductions_of_matrices_compiled_and_mapped():
    stack = np.stack([A, A.T, A @ A])
    for f in (lax.linalg.schur, lax.linalg.hessenberg):
        for found in (f(stack), fg.jit(f)(stack), fg.vmap(f)(stack)):
            for k, part in enumerate(f(A.T)):
                np.testing.assert_allclose(found[k][1], part, atol=1e-14)


def test_hessenberg_form_by_its_reflections():
    a = ROWS.T @ ROWS + MATRICES[0]
    packed, taus = lax.linalg.hessenberg(a)
    q = np.eye(3)
    q[1:, 1:] = lax.linalg.householder_product(packed[1:, :-1], taus)
    np.testing.assert_allclose(q @ np.triu(packed, -1) @ q.T, a, atol=1e-14)


def test_reflections_have_derivatives():
    taus = np.array([0.3, 0.8])
    check_grads(lax.linalg.householder_product, (ROWS[:, :2], taus), 2)
    check_grads(lambda a, c: lax.linalg.ormqr(a, taus, c, left=False), (ROWS[:, :2], ROWS.T), 2)


def test_mulhi_of_every_pair_of_small_numbers():
    for kind in (np.int8, np.uint8):
        info = np.iinfo(kind)
        x = np.arange(info.min, info.max + 1, dtype=kind)[:, None]
        expected = (x.astype(int) * x.T.astype(int)) >> 8
        np.testing.assert_array_equal(lax.mulhi(x, x.T), expected)
    with pytest.raises(TypeError, match="is that of integers"):
        lax.mulhi(1.0, 2)


def test_local_filters_that_do_not_fit():
    with pytest.raises(ValueError, match=r"filters of 4 elements for places \[2\]"):
        lax.conv_general_dilated_local(np.ones((1, 1, 3)), np.ones((1, 4, 2)), (1,), "VALID", (2,))
