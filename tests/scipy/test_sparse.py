"""Sparse matrices of traced values: SciPy's bits, dense matrices as the oracle, and errors."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spl

import funcgrad as fg
import funcgrad.scipy.sparse as ours
import funcgrad.scipy.sparse.linalg as solvers
from funcgrad.errors import UnsupportedCallError
from funcgrad.testing import check_grads

RNG = np.random.default_rng(11)
N = 6
DENSE = np.where(RNG.uniform(size=(N, N)) < 0.4, RNG.normal(size=(N, N)), 0.0) + 5 * np.eye(N)
SPD = DENSE @ DENSE.T
MATRIX, SYMMETRIC = sp.csr_array(DENSE), sp.csr_array(SPD)
X, B = RNG.normal(size=N), RNG.normal(size=(N, 3))


def traced(matrix):
    """The function from values to a sparse matrix of the same pattern."""
    return lambda data: ours.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def filled(matrix, data):
    """The same matrix as a dense array, by operations that have derivatives of their own."""
    out = fg.numpy.zeros(matrix.shape)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    out[rows, matrix.indices] = data
    return out


A = traced(MATRIX)


@pytest.mark.parametrize("x", [X, B], ids=["vector", "matrix"])
def test_products_have_scipys_bits_and_dense_derivatives(x):
    data = MATRIX.data
    for f, want in (
        (lambda d, x: A(d) @ x, MATRIX @ x),
        (lambda d, x: A(d).T @ x, MATRIX.T.tocsr() @ x),
        (lambda d, x: np.swapaxes(x, 0, -1) @ A(d), x.T @ MATRIX),
    ):
        np.testing.assert_array_equal(fg.vjp(f, data, x)[0], want)
        np.testing.assert_allclose(fg.jit(f)(data, x), want)
        check_grads(f, (data, x), order=2)
    loss = lambda d, x: np.sum((A(d) @ x) ** 3)
    dense = lambda d, x: np.sum((filled(MATRIX, d) @ x) ** 3)
    for i in (0, 1):
        np.testing.assert_allclose(fg.grad(loss, i)(data, x), fg.grad(dense, i)(data, x))
        np.testing.assert_allclose(
            fg.hessian(loss, i)(data, x), fg.hessian(dense, i)(data, x), atol=1e-9
        )


def test_scipys_own_matrix_as_a_constant():
    a = ours.as_sparse(MATRIX)
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(a @ x))(X), MATRIX.T @ np.ones(N))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_scipys_own_matrices_meet_traced_values(form):
    array = getattr(sp, f"{form}_array")(DENSE)
    matrix = getattr(sp, f"{form}_matrix")(DENSE)
    for f, want in (
        (lambda x: array @ x, DENSE @ X),
        (lambda x: matrix @ x, DENSE @ X),
        (lambda x: matrix * x, DENSE @ X),
        (lambda x: array.dot(x), DENSE @ X),
        (lambda x: x @ array, X @ DENSE),
        (lambda x: (array * x).sum(1), DENSE @ X),
        (lambda x: (x[0] * matrix) @ x, X[0] * (DENSE @ X)),
        (lambda x: spl.spsolve(array, x), np.linalg.solve(DENSE, X)),
        (lambda x: spl.gmres(array, x, rtol=1e-13, atol=0.0)[0], np.linalg.solve(DENSE, X)),
    ):
        np.testing.assert_allclose(fg.vjp(f, X)[0], want, rtol=1e-9)
        check_grads(f, (X,), order=1)
    with pytest.raises(UnsupportedCallError, match="cannot hold traced values; make it with"):
        fg.vjp(lambda d: type(array)((d, (np.arange(N), np.arange(N)))) @ X, X)


def test_forms_of_arguments():
    coo = MATRIX.tocoo()
    csc = MATRIX.tocsc()
    turned = np.argsort(RNG.uniform(size=coo.nnz))
    places = (coo.row[turned], coo.col[turned])
    many = (np.tile(coo.row, 2), np.tile(coo.col, 2))
    for make, data, scale in (
        (lambda d: ours.coo_array((d, places), shape=(N, N)), coo.data[turned], 1),
        (lambda d: ours.csr_array((d, places), shape=(N, N)), coo.data[turned], 1),
        (lambda d: ours.coo_array((d, many)), np.tile(coo.data, 2), 2),
        (lambda d: ours.csc_array((d, csc.indices, csc.indptr), shape=(N, N)), csc.data, 1),
        (lambda d: ours.as_sparse(MATRIX)._with(d), MATRIX.data, 1),
    ):
        np.testing.assert_allclose(make(data).toarray(), scale * DENSE)
        check_grads(lambda d, make=make: make(d) @ X, (data,), order=1)
    bands = [RNG.normal(size=N - 1), RNG.normal(size=N), RNG.normal(size=N - 2)]
    want = sp.diags_array(bands, offsets=[-1, 0, 2]).toarray()
    np.testing.assert_array_equal(ours.diags_array(bands, offsets=[-1, 0, 2]).toarray(), want)
    check_grads(lambda *b: ours.diags_array(list(b), offsets=[-1, 0, 2]) @ X, tuple(bands))


def test_what_matrices_can():
    data, other = MATRIX.data, sp.csr_array(np.eye(N)[::-1])
    cases = {
        "sum": (lambda a: a.sum(), DENSE.sum()),
        "rows": (lambda a: a.sum(1), DENSE.sum(1)),
        "columns": (lambda a: a.sum(0), DENSE.sum(0)),
        "diagonal": (lambda a: a.diagonal(), DENSE.diagonal()),
        "scaled": (lambda a: (2.0 * a / 3.0).toarray(), 2.0 * DENSE / 3.0),
        "multiplied": (lambda a: a.multiply(X).toarray(), DENSE * X),
        "added": (lambda a: (a + other).toarray(), DENSE + other.toarray()),
        "subtracted": (lambda a: (a - a).toarray(), 0 * DENSE),
        "dense": (lambda a: a + np.ones((N, N)), DENSE + 1),
        "powers": (lambda a: (-a).power(2).toarray(), DENSE**2),
        "elements": (lambda a: a.multiply(a).T.toarray(), (DENSE * DENSE).T),
    }
    for f, want in cases.values():
        np.testing.assert_allclose(f(A(data)), want, atol=1e-14)
        check_grads(lambda d, f=f: f(A(d)), (data,), order=1)


def test_a_sparse_matrix_is_a_tree():
    slope = fg.grad(lambda a: np.sum((a @ X) ** 2))(A(MATRIX.data))
    assert isinstance(slope, ours.SparseArray)
    np.testing.assert_allclose(
        slope.toarray(), 2 * np.outer(MATRIX @ X, X) * (DENSE != 0), atol=1e-12
    )
    np.testing.assert_allclose(fg.jit(lambda a: a @ X)(A(MATRIX.data)), MATRIX @ X)


@pytest.mark.parametrize("b", [X, B], ids=["vector", "matrix"])
def test_spsolve(b):
    f = lambda d, b: solvers.spsolve(A(d), b)
    np.testing.assert_array_equal(fg.vjp(f, MATRIX.data, b)[0], spl.spsolve(MATRIX, b))
    for matrix in (MATRIX, MATRIX.tocsc()):  # which SciPy factorises otherwise
        found = fg.vjp(lambda b, m=matrix: spl.spsolve(m, b), b)[0]
        np.testing.assert_array_equal(found, spl.spsolve(matrix, b))
    dense = lambda d, b: np.linalg.solve(filled(MATRIX, d), b)
    for i in (0, 1):
        np.testing.assert_allclose(
            fg.jacobian(f, i)(MATRIX.data, b), fg.jacobian(dense, i)(MATRIX.data, b), atol=1e-12
        )
        np.testing.assert_allclose(
            fg.jacfwd(f, i)(MATRIX.data, b), fg.jacrev(f, i)(MATRIX.data, b), atol=1e-12
        )
    stacked = np.stack([b, 2 * b])
    np.testing.assert_allclose(
        fg.vmap(lambda b: f(MATRIX.data, b))(stacked), [f(MATRIX.data, r) for r in stacked]
    )


@pytest.mark.parametrize("name", ["bicg", "bicgstab", "cg", "cgs", "gmres", "lgmres", "minres"])
def test_iterations(name):
    symmetric = name in ("cg", "minres")
    matrix = SYMMETRIC if symmetric else MATRIX
    exact = {"rtol": 1e-13, **({} if name == "minres" else {"atol": 0.0})}
    run, a = getattr(solvers, name), traced(matrix)
    twist = sp.csr_array(np.where(matrix.toarray() != 0, 1.0, 0.0)).data

    def f(s, b):  # symmetric matrices stay so
        return run(a(matrix.data + s * twist), b, **exact)[0]

    want, info = getattr(spl, name)(matrix, X, **exact)
    got, got_info = fg.vjp(lambda d, b: run(a(d), b, **exact), matrix.data, X)[0]
    np.testing.assert_array_equal(got, want)
    assert int(got_info) == info == 0
    check_grads(f, (0.1, X), order=2, rtol=1e-5, atol=1e-6)
    dense = lambda s, b: np.linalg.solve(filled(matrix, matrix.data + s * twist), b)
    np.testing.assert_allclose(
        fg.grad(lambda s: f(s, X)[0])(0.1), fg.grad(lambda s: dense(s, X)[0])(0.1), rtol=1e-8
    )
    of_dense = lambda m: run(m, X, **exact)[0]
    np.testing.assert_allclose(of_dense(matrix.toarray()), want, rtol=1e-9)
    assert fg.jacobian(of_dense)(matrix.toarray()).shape == (N, N, N)


def test_starts_and_preconditioners_are_constants():
    jacobi = sp.diags_array(1 / SPD.diagonal())
    f = lambda b: solvers.cg(SYMMETRIC, b, x0=np.ones(N), M=jacobi, rtol=1e-13, atol=0.0)[0]
    np.testing.assert_allclose(fg.jacobian(f)(X), np.linalg.inv(SPD), rtol=1e-8, atol=1e-10)


def test_errors():
    a = A(MATRIX.data)
    with pytest.raises(ValueError, match="dimension mismatch"):
        a @ np.ones(N + 1)
    with pytest.raises(ValueError, match="rhs dimension mismatch"):
        solvers.spsolve(a, np.ones(N + 1))
    with pytest.raises(ValueError, match="must be square"):
        solvers.spsolve(sp.csr_array(np.ones((2, 3))), np.ones(2))
    with pytest.raises(ValueError, match="Diagonal length"):
        ours.diags_array([np.ones(2), np.ones(5)], offsets=[0, 1])
    with pytest.raises(ValueError):
        ours.csr_array((np.ones(3), [0, 1], [0, 1, 2]))
    with pytest.raises(UnsupportedCallError, match="product of two sparse"):
        a @ a
    with pytest.raises(UnsupportedCallError, match="LinearOperator hides"):
        fg.vjp(lambda b: solvers.cg(spl.aslinearoperator(SYMMETRIC), b)[0], X)
    with pytest.raises(UnsupportedCallError, match="made of its parts"):
        ours.csr_array(DENSE)


@pytest.mark.parametrize("transform", [fg.grad, fg.jit])
def test_a_factor_in_compiled_code_takes_no_traced_values_by_name(transform):
    a = sp.csc_array(np.diag([2.0, 4.0]))
    for solve in (spl.splu(a).solve, spl.factorized(a)):
        with pytest.raises(UnsupportedCallError, match="compiled code, which takes no"):
            transform(lambda b, solve=solve: np.sum(solve(b)))(np.ones(2))


# ----------------------------------------------------------------------------- least squares

TALL = np.where(RNG.uniform(size=(8, 4)) < 0.6, RNG.normal(size=(8, 4)), 0.0) + np.eye(8, 4)
HEIGHTS = RNG.normal(size=8)
TIGHT = {"atol": 1e-15, "btol": 1e-15}


@pytest.mark.parametrize("name", ["lsqr", "lsmr"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_least_squares_have_scipys_bits(name, form):
    method, held = getattr(spl, name), sp.csr_array(TALL)
    ours_too = getattr(solvers, name)
    run = lambda d: (
        method(d, HEIGHTS, 0.1) if form == "dense" else ours_too(traced(held)(d), HEIGHTS, 0.1)
    )
    given = TALL if form == "dense" else held.data
    want = method(TALL if form == "dense" else held, HEIGHTS, 0.1)
    for x, y in zip(fg.vjp(run, given)[0], want, strict=True):
        np.testing.assert_array_equal(x, y)
    for x, y in zip(fg.jit(run)(given), want, strict=True):  # BLAS rounds by where memory begins
        np.testing.assert_allclose(x, y, rtol=1e-12)


@pytest.mark.parametrize("name", ["lsqr", "lsmr"])
@pytest.mark.parametrize("damp", [0.0, 0.7])
@pytest.mark.parametrize("shape", ["tall", "wide"])
def test_least_squares_are_differentiated_as_dense_ones(name, damp, shape):
    a, b = (TALL, HEIGHTS) if shape == "tall" else (TALL.T, HEIGHTS[:4])
    start = np.cos(np.arange(a.shape[1]))
    weights = np.sin(1.0 + np.arange(a.shape[1]))
    method = getattr(spl, name)

    def ours(a, b, x0):
        return weights @ method(a, b, damp, x0=x0, **TIGHT)[0] ** 2

    def dense(a, b, x0):
        whole = fg.numpy.concatenate([a, damp * np.eye(a.shape[1])]) if damp else a
        right = b - a @ x0
        right = fg.numpy.concatenate([right, np.zeros(a.shape[1])]) if damp else right
        return weights @ (x0 + np.linalg.pinv(whole) @ right) ** 2

    found, wanted = (fg.grad(f, argnums=(0, 1, 2))(a, b, start) for f in (ours, dense))
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-11)
    moved = fg.jvp(ours, (a, b, start), (0.1 * a, b, np.ones_like(start)))[1]
    assert abs(moved - fg.jvp(dense, (a, b, start), (0.1 * a, b, np.ones_like(start)))[1]) < 1e-9
    check_grads(lambda b: ours(a, b, start), (b,), order=2)


def test_lengths_of_residuals_are_differentiable_and_estimates_are_constants():
    f = lambda b: spl.lsqr(TALL, b, 0.3, **TIGHT)
    for part in (3, 4, 8):  # r1norm, r2norm, xnorm
        check_grads(lambda b: f(b)[part], (HEIGHTS,), order=1)
    check_grads(lambda b: spl.lsmr(TALL, b, 0.3, **TIGHT)[3], (HEIGHTS,), order=1)
    assert not np.any(fg.grad(lambda b: f(b)[6])(HEIGHTS))


def test_least_squares_that_are_refused():
    for call, told in (
        (lambda b: spl.lsqr(spl.aslinearoperator(TALL), b), "LinearOperator hides"),
        (lambda b: spl.lsqr(TALL, b, damp=b[0]), "add its rows"),
        (lambda b: spl.lsmr(TALL, b * 1j), "complex numbers"),
        (lambda b: spl.lsmr(TALL, b, show=True), "show="),
    ):
        with pytest.raises(UnsupportedCallError, match=told):
            fg.vjp(call, HEIGHTS)
    with pytest.raises(ValueError, match="dimension mismatch"):
        fg.vjp(lambda b: spl.lsqr(TALL, b[:5]), HEIGHTS)
