"""Equal and missing values of matrices, and which half of them is read.

The numbers are those of the table of traps.
"""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp


def test_trap_15_equal_values():
    def of_vectors(a):
        return np.sum(np.linalg.eigh(a)[1] ** 3)

    a = np.eye(3)
    for f in (np.linalg.eigvalsh, np.linalg.svdvals):
        np.testing.assert_allclose(fg.grad(lambda a, f=f: np.sum(f(a) ** 2))(a), 2 * a, atol=1e-14)
    assert np.isnan(fg.grad(of_vectors)(a)).any()
    hessian = fg.hessian(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2))(a).reshape(9, 9)
    swap = np.eye(9).reshape(3, 3, 3, 3).swapaxes(0, 1).reshape(9, 9)
    np.testing.assert_allclose(hessian, np.eye(9) + swap, atol=1e-14)  # of a symmetric matrix


def test_vmap_of_solve_with_a_square_batch():
    a, b = np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    got = fg.vmap(lambda v: fnp.linalg.solve(a, v))(b)
    np.testing.assert_allclose(got, [np.linalg.solve(a, v) for v in b])


def test_trap_14_determinants_of_singular_matrices():
    """The gradient is the transposed adjugate, which is not 0 where one rank is missing."""
    a = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    minors = [
        [np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) * (-1) ** (i + j) for j in range(3)]
        for i in range(3)
    ]
    for f in (fg.grad(np.linalg.det), fg.jit(fg.grad(np.linalg.det)), fg.jacfwd(np.linalg.det)):
        np.testing.assert_allclose(f(a), minors, atol=1e-10)
    np.testing.assert_allclose(fg.grad(np.linalg.det)(np.zeros((3, 3))), 0.0, atol=1e-15)
    np.testing.assert_allclose(fg.grad(np.linalg.det)(np.zeros((2, 2))), 0.0, atol=1e-15)
    np.testing.assert_allclose(
        fg.grad(np.linalg.det)(np.diag([0.0, 3.0])), np.diag([3.0, 0.0]), atol=1e-15
    )


@pytest.mark.parametrize("uplo", ["L", "U"])
def test_trap_16_either_triangle(uplo):
    """Of what NumPy reads, the gradient is that of a symmetric matrix, spread over both halves."""
    a = np.array([[4.0, 0.3, -0.2], [0.3, 3.0, 0.5], [-0.2, 0.5, 5.0]])
    other = np.triu(np.full((3, 3), 7.0), 1)
    given = a + (other if uplo == "L" else other.T)  # in the half that is not read
    functions = [
        lambda a: np.sum(np.linalg.eigh(a, uplo)[0] ** 3),
        lambda a: np.sum(np.linalg.eigvalsh(a, uplo) ** 3),
        lambda a: np.sum(np.abs(np.linalg.eigh(a, uplo)[1][:, 0])),
        lambda a: np.sum(np.linalg.cholesky(a, upper=uplo == "U") ** 3),
    ]
    for f in functions:
        got = fg.grad(f)(given)
        np.testing.assert_allclose(got, got.T, rtol=1e-14)
        np.testing.assert_allclose(got, fg.grad(f)(a), rtol=1e-9)
        for i, j in np.ndindex(3, 3):
            step = np.zeros_like(a)
            step[i, j] += 0.5e-6
            step[j, i] += 0.5e-6
            np.testing.assert_allclose(got[i, j], (f(a + step) - f(a - step)) / 2e-6, atol=1e-6)
