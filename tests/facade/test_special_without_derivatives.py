"""Bessel and Airy functions and orthogonal polynomials of `torch.special`, beside PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

import funcgrad.torch as ours

from .both import same, theirs

ONE = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0",
    "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0",
]  # fmt: skip
CHEBYSHEV = [f"chebyshev_polynomial_{letter}" for letter in "tuvw"]
POLYNOMIALS = [
    *CHEBYSHEV, *(f"shifted_{name}" for name in CHEBYSHEV), "hermite_polynomial_h",
    "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
]  # fmt: skip
SCIPY = {
    "airy_ai": lambda x: sp.airy(x)[0],
    "bessel_j0": sp.j0, "bessel_j1": sp.j1, "bessel_y0": sp.y0, "bessel_y1": sp.y1,
    "modified_bessel_i0": sp.i0, "modified_bessel_i1": sp.i1, "modified_bessel_k0": sp.k0,
    "modified_bessel_k1": sp.k1, "scaled_modified_bessel_k0": sp.k0e,
    "scaled_modified_bessel_k1": sp.k1e,
    "spherical_bessel_j0": lambda x: sp.spherical_jn(0, x),
}  # fmt: skip
# around the places where the series of the kernels meet
POINTS = [0.0, -0.0, 3e-20, 1e-8, 0.3, 1.7, 2.1, 4.0, 5.1, 8.8, 25.0, 50.0, 104.0, -1.0, -3.3]
DEGREES = [-3, -1, 0, 1, 2, 3, 4, 5, 7, 9, 10, 13, 30]


def values(torch, name, *operands):
    return getattr(torch.special, name)(*map(torch.tensor, operands)).numpy()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ONE)
def test_values_are_those_of_scipy_and_pytorch(name, dtype):
    x = np.array([*POINTS, np.nan], dtype)
    got = values(ours, name, x)
    expected = SCIPY[name](x).astype(dtype)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got, expected, rtol=8 * eps, atol=8 * eps)
    if theirs is None:
        pytest.skip("PyTorch is not installed")
    other = values(theirs, name, x)
    assert (got.dtype, got.shape) == (other.dtype, other.shape)
    # just above 5 PyTorch's kernels of J and Y have six digits
    close = 2e-5 if dtype == "float32" else 1e-6 if name.startswith("bessel") else 1e-9
    np.testing.assert_allclose(got, other, rtol=close, atol=close)


def test_the_ends_are_those_of_pytorch():
    def program(torch, say):
        x = torch.tensor([np.inf, -np.inf, 800.0])
        for name in ONE:
            if "modified_bessel_i" not in name:  # the limit, where PyTorch has NaN
                say(name, getattr(torch.special, name)(x))

    same(program)
    x = ours.tensor([np.inf, -np.inf])
    assert ours.special.modified_bessel_i1(x).tolist() == [np.inf, -np.inf]


@pytest.mark.skipif(theirs is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("part", [0.0, 0.5], ids=["whole", "float"])
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_are_those_of_pytorch(name, part):
    x = np.array([-1.0, 1.0, 0.0, 0.5, 0.3, -0.7, 2.0, -3.0, -2.5, 0.999])[:, None]
    n = np.array(DEGREES) + part if part else np.array(DEGREES)
    got, expected = (values(torch, name, x, n) for torch in (ours, theirs))
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    largest = np.abs(expected).max(0)  # of each degree
    assert (np.abs(got - expected) <= 1e-13 * largest).all()


def test_degrees_that_are_too_high_and_nan():
    def program(torch, say):
        high = torch.tensor([127, 128, 129, 512, 513])
        for name in ("hermite_polynomial_h", "hermite_polynomial_he"):
            f = getattr(torch.special, name)
            for dtype in (torch.float32, torch.float64):
                say(f(torch.tensor(0.5, dtype=dtype), high).isfinite())
            say(f(torch.tensor(0.5), torch.tensor([np.nan, np.inf, -np.inf])))
        for name in POLYNOMIALS:
            f = getattr(torch.special, name)
            say(name, f(torch.tensor(np.nan), torch.tensor([-1, 0, 1, 4])))

    same(program)


def test_dtypes_numbers_and_shapes_are_those_of_pytorch():
    def program(torch, say):
        x, n = torch.tensor([0.5, -0.25]), torch.tensor([[2], [3]])
        for name in POLYNOMIALS:
            f = getattr(torch.special, name)
            for result in (
                f(x, n), f(x, 2), f(x, 2.5), f(0.5, n), f(1, n), f(x.double(), n), f(n, n),
                f(x, n.double()), f(n > 2, n), f(x, n.int()), f(x, n, out=torch.empty(2, 2)),
            ):  # fmt: skip
                say(name, result.dtype, result.shape, result.round(decimals=4))
        for name in ONE:
            f = getattr(torch.special, name)
            for result in (f(n), f(n > 2), f(x.abs(), out=torch.empty(2)), f(torch.ones(2, 0))):
                say(name, result.dtype, result.shape, result.round(decimals=4))

    same(program)


REFUSED = {
    "half": lambda torch, f, n: f(torch.ones(2, dtype=torch.float16), *n),
    "complex": lambda torch, f, n: f(torch.ones(2, dtype=torch.complex64), *n),
    "numbers": lambda torch, f, n: f(1.0, *(2 for _ in n)),
    "too many": lambda torch, f, n: f(torch.ones(2), *n, 3),
    "out": lambda torch, f, n: f(torch.ones(2), *n, out=torch.ones(2, dtype=torch.int32)),
    "no operand": lambda torch, f, n: f(),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_calls_are_refused_in_pytorchs_words(case):
    def program(torch, say):
        for name in (*ONE, *POLYNOMIALS):
            n = () if name in ONE else (torch.ones(2, dtype=torch.int64),)
            try:
                REFUSED[case](torch, getattr(torch.special, name), n)
            except Exception as error:
                say(type(error).__name__, str(error).split("\n")[0])
            else:
                raise AssertionError(name)

    same(program)


def test_there_is_no_derivative_and_a_result_does_not_require_grad():
    def program(torch, say):
        x = torch.tensor([0.5, 2.0], requires_grad=True)
        for name in (*ONE, *POLYNOMIALS):
            n = () if name in ONE else (torch.tensor(2.0, requires_grad=True),)
            y = getattr(torch.special, name)(x, *n)
            say(name, y.requires_grad, y.grad_fn, y.is_leaf)
            try:
                y.sum().backward()
            except RuntimeError as error:
                say(error)
            (g,) = torch.autograd.grad((x * y.detach() + y).sum(), x)
            say(torch.allclose(g, y))
        whole = torch.tensor([1, 2])
        say(torch.special.bessel_j0(whole).requires_grad)

    same(program)


@pytest.mark.parametrize("name", ["bessel_y1", "modified_bessel_i0", "airy_ai"])
def test_functions_of_one_tensor_under_vmap_and_compile(name):
    f = getattr(ours.special, name)
    x = ours.tensor([[0.5, 1.5], [2.5, 3.5]])
    assert ours.equal(ours.func.vmap(f)(x), f(x))
    compiled = ours.compile(lambda x: f(x) * x)
    for _ in range(3):
        np.testing.assert_allclose(compiled(x).numpy(), (f(x) * x).numpy(), rtol=1e-6)


def test_polynomials_under_vmap_over_degrees():
    x, n = ours.tensor([0.25, 0.5]), ours.arange(6)
    for name in POLYNOMIALS:
        f = getattr(ours.special, name)
        found = ours.func.vmap(lambda n, f=f: f(x, n))(n)
        assert ours.equal(found, f(x, n[:, None]))
