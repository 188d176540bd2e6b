"""Complex numbers: the convention, holomorphic functions, Wirtinger's derivatives, Jacobians."""

import functools

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import InputTypeError, NonScalarOutputError, NotDifferentiableError
from funcgrad.testing import check_grads

Z = np.array([0.5 + 0.3j, 1.0 - 2.0j])
X = np.array([0.5, 1.2, -0.7])
MODES = {"jacfwd": fg.jacfwd, "jacrev": fg.jacrev, "jacobian": fg.jacobian}


@pytest.fixture(scope="module")
def jax():
    module = pytest.importorskip("jax")
    before = module.config.read("jax_enable_x64")
    module.config.update("jax_enable_x64", True)
    yield module
    module.config.update("jax_enable_x64", before)


def of_parts(f):
    """`f` of the real and the imaginary part."""
    return lambda x, y: f(x + 1j * y)


# ------------------------------------------------------------------------------ the convention

REAL = [
    lambda np_, z: np_.sum(np_.abs(z) ** 2),
    lambda np_, z: np_.real(z[0] * np_.conj(z[1]) * z[1]),
    lambda np_, z: np_.sum(np_.imag(np_.exp(z) * np_.conj(z))) + np_.abs(z[0] - z[1]),
    lambda np_, z: np_.sum(np_.angle(z) * np_.real(z)),
]


@pytest.mark.parametrize("f", REAL)
def test_the_gradient_is_that_of_the_parts(f):
    """∂f/∂x − i ∂f/∂y, so that a step along its conjugate goes up."""
    f = functools.partial(f, np)
    of_x, of_y = fg.grad(of_parts(f), (0, 1))(Z.real, Z.imag)
    np.testing.assert_allclose(fg.grad(f)(Z), of_x - 1j * of_y, rtol=1e-12)
    assert f(Z + 1e-3 * np.conj(fg.grad(f)(Z))) > f(Z)
    check_grads(f, (Z,))


@pytest.mark.peers
@pytest.mark.parametrize("f", REAL)
def test_the_gradient_is_that_of_jax(f, jax):
    wanted = jax.grad(functools.partial(f, jax.numpy))(Z)
    np.testing.assert_allclose(fg.grad(functools.partial(f, np))(Z), wanted, rtol=1e-12)


@pytest.mark.parametrize("f", [np.exp, np.conj, lambda z: z * np.conj(z[::-1]), np.abs])
def test_tangents_and_cotangents_are_dual(f):
    """Re⟨vjp g, t⟩ = Re⟨g, jvp t⟩, without a conjugate."""
    t = np.array([0.3 - 1j, 0.2 + 0.5j])
    y, moved = fg.jvp(f, (Z,), (t,))
    g = (np.array([0.7 + 0.1j, -0.4j]) if np.iscomplexobj(y) else X[:2]).astype(y.dtype)
    back = fg.vjp(f, Z)[1](g)[0]
    np.testing.assert_allclose(np.sum(back * t).real, np.sum(g * moved).real, rtol=1e-12)


# ------------------------------------------------------------------------- holomorphic functions

HOLOMORPHIC = [
    (lambda z: z**3 + np.exp(z), lambda z: 3 * z**2 + np.exp(z)),
    (lambda z: np.sin(z) / z, lambda z: np.cos(z) / z - np.sin(z) / z**2),
    (lambda z: np.log(z) * np.sqrt(z), lambda z: np.sqrt(z) / z + np.log(z) / (2 * np.sqrt(z))),
]


@pytest.mark.parametrize("f, df", HOLOMORPHIC)
def test_the_derivative_of_a_holomorphic_function(f, df):
    z = 0.4 + 0.9j
    np.testing.assert_allclose(fg.grad(f, holomorphic=True)(z), df(z), rtol=1e-13)
    value, found = fg.value_and_grad(f, holomorphic=True)(z)
    assert value == f(z) and found == fg.grad(f, 0, False, True)(z)
    second = fg.grad(fg.grad(f, holomorphic=True), holomorphic=True)(z)
    np.testing.assert_allclose(second, fg.grad(df, holomorphic=True)(z), rtol=1e-12)
    compiled = fg.jit(fg.grad(f, holomorphic=True))(z)
    np.testing.assert_allclose(compiled, df(z), rtol=1e-13)
    mapped = fg.vmap(fg.grad(f, holomorphic=True))(Z)
    np.testing.assert_allclose(mapped, df(Z), rtol=1e-13)
    check_grads(f, (z,))


def test_what_is_said_to_be_holomorphic_is_complex():
    with pytest.raises(InputTypeError, match="said to be holomorphic, but an argument has dtype f"):
        fg.grad(lambda z: z**2, holomorphic=True)(1.0)
    with pytest.raises(NonScalarOutputError, match="not a complex scalar"):
        fg.grad(lambda z: abs(z), holomorphic=True)(1.0j)
    with pytest.raises(NonScalarOutputError, match="or say holomorphic=True if the function is"):
        fg.grad(lambda z: z**2)(1.0j)
    for mode in (*MODES.values(), fg.hessian):
        with pytest.raises(InputTypeError, match="said to be holomorphic"):
            mode(lambda z: z**2, holomorphic=True)(X)


# ------------------------------------------------------------------------ Wirtinger's derivatives


def wirtinger(f, z):
    """∂f/∂z and ∂f/∂z̄ of an elementwise function, from its derivatives along 1 and along i."""
    along = [fg.jvp(f, (z,), (np.full_like(z, unit),))[1] for unit in (1.0, 1.0j)]
    return (along[0] - 1j * along[1]) / 2, (along[0] + 1j * along[1]) / 2


@pytest.mark.parametrize("f, by_z, by_conjugate", [
    (lambda z: z**2 * np.conj(z), lambda z: 2 * abs(z) ** 2, lambda z: z**2),
    (lambda z: np.abs(z) ** 2, np.conj, lambda z: z),
    (np.exp, np.exp, np.zeros_like),
    (np.real, lambda z: 0.5 + 0 * z, lambda z: 0.5 + 0 * z),
    (np.sign, lambda z: 0.5 / np.abs(z), lambda z: -0.5 * z**2 / np.abs(z) ** 3),
])  # fmt: skip
def test_wirtingers_derivatives(f, by_z, by_conjugate):
    found = wirtinger(f, Z)
    np.testing.assert_allclose(found[0], by_z(Z), rtol=1e-12)
    np.testing.assert_allclose(found[1], by_conjugate(Z), rtol=1e-12, atol=1e-15)
    back = fg.vjp(lambda z: fnp.asarray(f(z)) + 0j, Z)[1](np.ones(2, complex))[0]
    np.testing.assert_allclose(back, found[0] + np.conj(found[1]), rtol=1e-12)


# ------------------------------------------------------------------------------------ Jacobians


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [
    lambda x: np.exp(1j * x) * x[0],
    lambda x: np.sum(np.exp(1j * x)),
    lambda x: [np.fft.fft(x), x**2],
    lambda x: np.stack([np.exp(1j * x), x * (1.0 + 0j)]),
])  # fmt: skip
def test_complex_values_of_real_arguments_keep_both_parts(mode, f):
    found = MODES[mode](f)(X)
    parts = [MODES[mode](lambda x, p=p: fg.tree.map(p, f(x)))(X) for p in (np.real, np.imag)]
    for a, re, im in zip(*map(fg.tree.leaves, (found, *parts)), strict=True):
        np.testing.assert_allclose(a, re + 1j * im, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [
    lambda z: np.abs(z) ** 2 * np.real(z[0]),
    lambda z: np.sum(np.abs(z)),
    lambda z: {"a": np.imag(z * z[::-1]), "b": np.angle(z[:1])},
])  # fmt: skip
def test_real_values_of_complex_arguments_have_the_entries_of_gradients(mode, f):
    found = MODES[mode](f)(Z)
    by_parts = fg.jacrev(of_parts(f), (0, 1))(Z.real, Z.imag)
    leaves = fg.tree.leaves(by_parts)  # for each output the pair of both
    for a, of_x, of_y in zip(fg.tree.leaves(found), leaves[::2], leaves[1::2], strict=True):
        np.testing.assert_allclose(a, of_x - 1j * of_y, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("mode", [*MODES, "hessian"])
def test_one_matrix_is_refused_where_two_are_needed(mode):
    transform = getattr(fg, mode)
    with pytest.raises(NotDifferentiableError, match="say holomorphic=True if it is, or use jvp"):
        transform(lambda z: z * np.conj(z))(Z)
    with pytest.raises(NotDifferentiableError, match=r"test_complex\.py"):
        transform(lambda z: [np.abs(z), z])(Z)


@pytest.mark.parametrize("mode", MODES)
def test_arguments_of_both_kinds(mode):
    f = lambda p: np.real(p["z"]) * p["x"] + np.abs(p["z"])
    found = MODES[mode](f)({"x": X[:2], "z": Z})
    np.testing.assert_allclose(found["x"], np.diag(Z.real), atol=1e-15)
    assert found["x"].dtype == float
    np.testing.assert_allclose(found["z"], np.diag(X[:2] + np.conj(Z) / np.abs(Z)), atol=1e-15)


@pytest.mark.parametrize("mode", MODES)
def test_single_precision_stays_single(mode):
    assert MODES[mode](lambda x: np.exp(1j * x))(X.astype(np.float32)).dtype == np.complex64
    assert MODES[mode](lambda z: np.abs(z))(Z.astype(np.complex64)).dtype == np.complex64


@pytest.mark.peers
def test_holomorphic_jacobians_and_hessians_are_those_of_jax(jax):
    f = lambda z: z**2 * z[0] + z[::-1]
    g = lambda z: z[0] ** 3 * z[1]
    for name, mode in MODES.items():
        wanted = getattr(jax, name.replace("jacobian", "jacrev"))(f, holomorphic=True)(Z)
        np.testing.assert_allclose(mode(f, holomorphic=True)(Z), wanted, rtol=1e-13)
    wanted = jax.hessian(g, holomorphic=True)(Z)
    np.testing.assert_allclose(fg.hessian(g, holomorphic=True)(Z), wanted, rtol=1e-13)
    compiled = fg.jit(fg.hessian(g, holomorphic=True))(Z)
    np.testing.assert_allclose(compiled, wanted, rtol=1e-13)


# ----------------------------------------------------------------- linear algebra and transforms

R = np.random.default_rng(3)
A = R.normal(size=(3, 3)) + 1j * R.normal(size=(3, 3)) + 3 * np.eye(3)
B = R.normal(size=(3, 2)) + 1j * R.normal(size=(3, 2))


def hermitian(np_, a):
    return a @ np_.conj(a.T) + 2 * np_.eye(3)


def weighted(np_, y):
    """A real number of a complex array, in which no part cancels."""
    y = np_.ravel(y)
    w = np.cos(np.arange(y.shape[0])) + 1j * np.sin(2.0 + np.arange(y.shape[0]))
    return np_.real(np_.sum(w * y))


LINEAR = {
    "inv": lambda np_, a: np_.linalg.inv(a),
    "solve": lambda np_, a: np_.linalg.solve(a, B * a[0, 0]),
    "det": lambda np_, a: np_.linalg.det(a),
    "slogdet": lambda np_, a: np_.linalg.slogdet(a)[0] * np_.linalg.slogdet(a)[1],
    "cholesky": lambda np_, a: np_.linalg.cholesky(hermitian(np_, a)),
    "eigh values": lambda np_, a: np_.linalg.eigh(hermitian(np_, a))[0],
    "eigh projections": lambda np_, a: projection(np_, np_.linalg.eigh(hermitian(np_, a))[1]),
    "eigvalsh": lambda np_, a: np_.linalg.eigvalsh(hermitian(np_, a)),
    "svd values": lambda np_, a: np_.linalg.svd(a, compute_uv=False),
    "svd projections": lambda np_, a: projection(np_, np_.linalg.svd(a)[0]),
    "svd product": lambda np_, a: svd_product(np_, np_.linalg.svd(a, full_matrices=False)),
    "qr product": lambda np_, a: np_.linalg.qr(a)[0] @ np_.conj(np_.linalg.qr(a)[1]),
    "pinv": lambda np_, a: np_.linalg.pinv(a[:2]),
    "norm": lambda np_, a: np_.linalg.norm(a),
    "nuclear norm": lambda np_, a: np_.linalg.norm(a, ord="nuc"),
    "matrix power": lambda np_, a: np_.linalg.matrix_power(a, -2),
    "eigvals": lambda np_, a: np_.sort(np_.real(np_.linalg.eigvals(a))) if np_ is np else None,
    "fft": lambda np_, a: np_.abs(np_.fft.fft(a, axis=0)) * np_.fft.fftn(a * a),
    "irfft": lambda np_, a: np_.fft.irfft(a) ** 2,
    "rfft": lambda np_, a: np_.fft.rfft(np_.abs(a)) ** 2,
    "hfft": lambda np_, a: np_.fft.hfft(a) ** 2,
}


def projection(np_, v):
    """What does not depend on the phase that a vector is given."""
    return v[:, :1] @ np_.conj(v[:, :1].T)


def svd_product(np_, parts):
    u, s, v = parts
    return (u * np_.exp(-s)) @ v


@pytest.mark.parametrize("name", LINEAR)
def test_complex_linear_algebra_to_the_second_order(name):
    f = lambda a: weighted(np, LINEAR[name](np, a))
    check_grads(f, (A,), order=2, rtol=1e-6, atol=1e-6)


@pytest.mark.peers
@pytest.mark.parametrize("name", [n for n in LINEAR if n != "eigvals"])
def test_complex_linear_algebra_is_that_of_jax(name, jax):
    ours = lambda a: weighted(np, LINEAR[name](np, a))
    theirs = lambda a: weighted(jax.numpy, LINEAR[name](jax.numpy, a))
    np.testing.assert_allclose(fg.grad(ours)(A), jax.grad(theirs)(A), rtol=1e-9, atol=1e-10)
    second, wanted = (
        m.grad(lambda a, f=f, m=m: weighted(np if m is fg else jax.numpy, m.grad(f)(a)))(A)
        for m, f in ((fg, ours), (jax, theirs))
    )
    np.testing.assert_allclose(second, wanted, rtol=1e-8, atol=1e-9)
