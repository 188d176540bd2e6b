"""The modules of `funcgrad.compat.autograd`: every name of autograd's is there, and works."""

import importlib
import subprocess
import sys

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.compat.autograd.numpy as np_
from funcgrad.compat.autograd import elementwise_grad, grad, jacobian
from funcgrad.compat.autograd.misc import const_graph
from funcgrad.compat.autograd.test_util import check_grads

DENSITIES = ["pdf", "logpdf", "cdf"]
# Of each module what programs import.
NAMES = {
    "": [
        "checkpoint", "deriv", "elementwise_grad", "grad", "grad_and_aux", "grad_named", "hessian",
        "hessian_tensor_product", "hessian_vector_product", "holomorphic_grad", "jacobian",
        "make_ggnvp", "make_hvp", "make_jvp", "make_vjp", "multigrad_dict", "primitive",
        "tensor_jacobian_product", "value_and_grad", "vector_jacobian_product",
    ],
    ".builtins": ["dict", "isinstance", "list", "tuple", "type"],
    ".core": ["VSpace", "make_jvp", "make_vjp", "vspace"],
    ".differential_operators": ["grad", "make_jvp_reversemode"],
    ".extend": [
        "Box", "VSpace", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums", "defvjp",
        "defvjp_argnum", "defvjp_argnums", "notrace_primitive", "primitive", "vspace",
    ],
    ".misc": ["const_graph", "flatten"],
    ".misc.fixed_points": ["fixed_point"],
    ".misc.flatten": ["flatten", "flatten_func"],
    ".misc.optimizers": ["adam", "rmsprop", "sgd"],
    ".misc.tracers": ["const_graph"],
    ".numpy": [n for n in np.__all__ if callable(getattr(np, n))] + ["make_diagonal"],
    ".numpy.fft": np.fft.__all__,
    ".numpy.linalg": np.linalg.__all__,
    ".numpy.numpy_boxes": ["ArrayBox"],
    ".numpy.random": np.random.__all__,
    ".scipy": ["integrate", "linalg", "signal", "special", "stats"],
    ".scipy.integrate": ["odeint"],
    ".scipy.linalg": ["solve_banded", "solve_sylvester", "solve_triangular", "sqrtm"],
    ".scipy.signal": ["convolve"],
    ".scipy.special": [
        "beta", "betainc", "betaln", "digamma", "erf", "erfc", "erfcinv", "erfinv", "expit",
        "gamma", "gammainc", "gammaincc", "gammaln", "gammasgn", "i0", "i1", "iv", "ive", "j0",
        "j1", "jn", "logit", "logsumexp", "multigammaln", "polygamma", "psi", "rgamma", "y0",
        "y1", "yn",
    ],
    ".scipy.stats.beta": DENSITIES,
    ".scipy.stats.chi2": DENSITIES,
    ".scipy.stats.dirichlet": ["pdf", "logpdf"],
    ".scipy.stats.gamma": DENSITIES,
    ".scipy.stats.multivariate_normal": ["pdf", "logpdf", "entropy"],
    ".scipy.stats.norm": [*DENSITIES, "logcdf", "sf", "logsf"],
    ".scipy.stats.poisson": ["cdf", "logpmf", "pmf"],
    ".scipy.stats.t": DENSITIES,
    ".test_util": ["check_grads", "combo_check"],
    ".tracer": ["Box", "getval", "isbox", "notrace_primitive"],
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_name_of_autograds_modules_is_here(name):
    pytest.importorskip("scipy")
    ours = importlib.import_module(f"funcgrad.compat.autograd{name}")
    assert [n for n in NAMES[name] if not hasattr(ours, n)] == []


@pytest.mark.peers
@pytest.mark.parametrize("name", NAMES)
def test_the_names_are_autograds(name):
    theirs = pytest.importorskip(f"autograd{name}")
    lazy = {"make_jvp_reversemode"} | set(np.__all__) | set(np.random.__all__)
    assert [n for n in NAMES[name] if n not in lazy and not hasattr(theirs, n)] == []


def test_numpys_modules_are_imported_when_they_are_asked_for():
    code = (
        "import sys, funcgrad.compat.autograd.numpy;"
        "heavy = ('scipy', 'numpy.f2py', 'numpy.testing', 'autograd');"
        "print([m for m in heavy if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_names_are_funcgrads_or_numpys():
    assert np_.sin is fg.numpy.sin and np_.linalg.inv is fg.numpy.linalg.inv
    assert np_.random.RandomState is np.random.RandomState
    assert np_.float64 is np.float64 and np_.bool_ is np.bool_
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        print(np_.nothing)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        print(np_.linalg.nothing)


def test_make_diagonal():
    rows = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(np_.make_diagonal(rows, 0, -1, -2)[1], np.diag(rows[1]))
    check_grads(np_.make_diagonal)(rows)
    with pytest.raises(NotImplementedError):
        np_.make_diagonal(rows, 1)


# -------------------------------------------------------------------------------------- signal

CONVOLUTIONS = [
    ((5,), (3,), None, ((), ())),
    ((3,), (5,), None, ((), ())),
    ((4,), (4,), None, ((), ())),
    ((2, 5, 6), (2, 3, 2), ((1, 2), (1, 2)), ((0,), (0,))),
    ((2, 3, 5, 6), (3, 4, 2, 2), ((2, 3), (2, 3)), ((1,), (0,))),
    ((5, 3, 6, 2), (2, 4, 3), ((0, 2), (0, 2)), ((), ())),
    ((2, 4), (5, 3), ((1,), (0,)), ((), ())),
]


@pytest.mark.peers
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_convolve_is_autograds(case, mode):
    signal = pytest.importorskip("autograd.scipy.signal")
    autograd = pytest.importorskip("autograd")
    from funcgrad.compat.autograd.scipy.signal import convolve

    a_shape, b_shape, axes, dot_axes = case
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=a_shape), rng.normal(size=b_shape)

    def outcome(f):
        return f(a, b, axes=axes, dot_axes=dot_axes, mode=mode)

    wanted = outcome(signal.convolve)
    weights = rng.normal(size=wanted.shape)
    np.testing.assert_allclose(outcome(convolve), wanted, atol=1e-13)
    for k in (0, 1):
        found, theirs = (
            make(lambda *ab, f=f: (f(*ab, axes, dot_axes, mode) * weights).sum(), k)(a, b)
            for make, f in ((grad, convolve), (autograd.grad, signal.convolve))
        )
        np.testing.assert_allclose(found, theirs, atol=1e-13)


def test_convolve_refuses_sizes_that_cross():
    from funcgrad.compat.autograd.scipy.signal import convolve

    with pytest.raises(ValueError, match="larger along all axes"):
        convolve(np.ones((2, 5)), np.ones((3, 4)), mode="valid")
    with pytest.raises(ValueError, match="mode is"):
        convolve(np.ones(2), np.ones(3), mode="whole")


# --------------------------------------------------------------------------------------- misc


def test_odeint_to_the_second_order():
    from funcgrad.compat.autograd.scipy.integrate import odeint

    times = np.array([0.0, 0.3, 1.0])

    def last(rate):
        decay = lambda y, t, k: -k * y
        return odeint(decay, np.array([2.0]), times, (rate,), rtol=1e-11, atol=1e-11)[-1, 0]

    exact = 2.0 * np.exp(-0.7)
    for f, wanted in ((last, exact), (grad(last), -exact), (grad(grad(last)), exact)):
        assert abs(f(0.7) - wanted) < 1e-7


def test_odeint_of_several_arguments_of_which_one_is_traced():
    from funcgrad.compat.autograd.scipy.integrate import odeint

    def last(rate):
        decay = lambda y, t, k, c: -k * y + c
        return odeint(decay, np.array([2.0]), np.array([0.0, 1.0]), (rate, 0.0))[-1, 0]

    assert abs(grad(last)(0.7) + 2.0 * np.exp(-0.7)) < 1e-5


def test_const_graph():
    g = const_graph(lambda scale, x: np_.sin(x) * scale, 2.0)
    x = np.linspace(0, 1, 4)
    g(x)
    np.testing.assert_allclose(g(2 * x), np.sin(2 * x) * 2.0)
    np.testing.assert_allclose(elementwise_grad(g)(x), 2.0 * np.cos(x))


def test_fixed_points_of_containers():
    from funcgrad.compat.autograd.misc.fixed_points import fixed_point

    def halfway(p):
        return lambda x: (0.5 * x[0] + p["a"], 0.25 * x[1] + p["b"])

    def solved(p):
        distance = lambda x, y: max(np.max(abs(s - t)) for s, t in zip(x, y, strict=True))
        x = fixed_point(halfway, p, (np.zeros(2), 0.0), distance, 1e-14)
        return np_.sum(x[0] ** 2) * x[1]

    found = grad(solved)({"a": np.array([1.0, 2.0]), "b": 3.0})
    np.testing.assert_allclose(found["a"], 8 * np.array([1.0, 2.0]) * 4.0, rtol=1e-12)
    np.testing.assert_allclose(found["b"], 20.0 * 4 / 3, rtol=1e-12)


def test_jacobians_of_solutions():
    a = np.array([[2.0, 0.3], [-0.5, 1.0]])
    np.testing.assert_allclose(
        jacobian(lambda b: np_.linalg.solve(a, b))(np.ones(2)), np.linalg.inv(a)
    )
