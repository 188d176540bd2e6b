"""`patch_numpy`: code of other packages that is plain NumPy differentiates as it is."""

import pickle
import threading
import types

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(6, 2))
Y = RANDOM.normal(size=6)
HALF = np.full((6, 2), 0.5)
MATRIX = np.array([[2.0, 0.3], [0.3, 1.5]])


def mixture():
    return pytest.importorskip("sklearn.mixture._gaussian_mixture")


def huber(w):
    """scikit-learn: the loss of `HuberRegressor` and its own gradient."""
    theirs = pytest.importorskip("sklearn.linear_model._huber")
    loss, gradient = theirs._huber_loss_and_gradient(w, X, Y, 1.35, 0.1, np.ones(6))
    return np.append(gradient, loss)


def mixture_densities(means):
    pair = np.stack([MATRIX, np.eye(2)])
    return mixture()._estimate_log_gaussian_prob(X, means, pair, "full")


def mixture_covariances(x):
    means = np.ones((2, 2))
    return mixture()._estimate_gaussian_covariances_full(HALF, x, np.full(2, 3.0), means, 1e-3)


def mixture_precisions(a):
    return mixture()._compute_precision_cholesky(np.stack([a @ a.T, np.eye(2)]), "full")


def mixture_parameters(x):
    return mixture()._estimate_gaussian_parameters(x, HALF, 1e-3, "full")[2]


def contrast_of_logcosh(x):
    return pytest.importorskip("sklearn.decomposition._fastica")._logcosh(x * 1.0, {})[1]


def taylor(a):
    """SciPy: a polynomial fitted to exp(a t)."""
    theirs = pytest.importorskip("scipy.interpolate").approximate_taylor_polynomial
    return theirs(lambda t: np.exp(a * t), 0.0, 3, 1.0).coef


def slerp(t):
    theirs = pytest.importorskip("scipy.spatial").geometric_slerp
    return theirs(np.array([1.0, 0.0]), np.array([0.0, 1.0]), t)


def yeo_johnson(lam):
    return pytest.importorskip("scipy.stats").yeojohnson_llf(lam, Y)


def bilinear(b):
    return pytest.importorskip("scipy.signal").bilinear(b, np.array([1.0, 0.5, 0.2]))[0]


def rosenbrock_hessian(x):
    return pytest.importorskip("scipy.optimize").rosen_hess(x)


def autocorrelation(x):
    """statsmodels: it asks for a row of float64 in C order by ``np.require``."""
    return pytest.importorskip("statsmodels.tsa.stattools").acf(x, nlags=3)


def least_squares(y):
    theirs = pytest.importorskip("statsmodels.regression.linear_model")
    return theirs.OLS(y, np.column_stack([np.ones(6), X])).fit().params


def likelihood_of_counts(b):
    theirs = pytest.importorskip("statsmodels.discrete.discrete_model")
    return theirs.Poisson(np.arange(6), np.column_stack([np.ones(6), X])).loglike(b)


def similarities(x):
    return pytest.importorskip("sklearn.metrics.pairwise").rbf_kernel(x)


def required(x):
    return np.require(x, np.float64, ["C", "O", "W"]) * np.require(x, requirements="F")


FUNCTIONS = [
    (autocorrelation, Y),
    (least_squares, Y),
    (likelihood_of_counts, np.array([0.1, 0.2, 0.3])),
    (similarities, X),
    (required, X),
    (huber, np.array([0.1, 0.2, 1.5])),
    (mixture_densities, RANDOM.normal(size=(2, 2))),
    (mixture_covariances, X),
    (mixture_precisions, np.array([[1.4, 0.2], [0.1, 1.2]])),
    (mixture_parameters, X),
    (contrast_of_logcosh, X),
    (taylor, np.array(0.5)),
    (slerp, np.array([0.2, 0.4])),
    (yeo_johnson, np.array(0.3)),
    (bilinear, np.array([0.4, -0.3, 0.7])),
    (rosenbrock_hessian, Y),
]


def weighted(f):
    def total(x):
        y = f(x)
        return np.sum(y * np.cos(np.arange(np.size(y))).reshape(np.shape(y)))

    return total


def differences(f, x, h=1e-5):
    found = np.zeros(x.size)
    for k in range(x.size):
        step = np.zeros(x.size)
        step[k] = h
        step = step.reshape(x.shape)
        found[k] = (f(x + step) - f(x - step)) / (2 * h)
    return found.reshape(x.shape)


@pytest.mark.parametrize(("f", "x"), FUNCTIONS, ids=lambda f: getattr(f, "__name__", ""))
def test_a_function_of_another_package_differentiates(f, x):
    total = weighted(f)
    value = total(x.copy())
    with fg.patch_numpy():
        found, gradient = fg.value_and_grad(total)(x.copy())
        assert total(x.copy()) == value
    assert found == value
    np.testing.assert_allclose(gradient, differences(total, x), rtol=1e-6, atol=1e-7)


# ---------------------------------------------------------------------------- what it changes


def theirs(x):
    y = np.zeros(2)
    y[0] = x
    return np.sin(np.array([y[0], 1.0])).sum() * np.max([x, 0.5])


def slope(x):
    return np.cos(x) * x + np.sin(x) + np.sin(1.0)


WAYS = {
    "grad": fg.grad(theirs),
    "jvp": lambda x: fg.jvp(theirs, (x,), (1.0,))[1],
    "jit of grad": fg.jit(fg.grad(theirs)),
    "grad of jit": fg.grad(fg.jit(theirs)),
    "vmap": lambda x: fg.vmap(fg.grad(theirs))(np.array([x, x]))[1],
    "checkpoint": fg.grad(fg.checkpoint(theirs)),
    "twice": lambda x: fg.grad(lambda y: fg.grad(theirs)(y) * y)(x) - x * fg.hessian(theirs)(x),
}


@pytest.mark.parametrize("way", WAYS)
def test_under_every_transform(way):
    with fg.patch_numpy():
        np.testing.assert_allclose(WAYS[way](0.7), slope(0.7), rtol=1e-12)


def names():
    return [np.array, np.asarray, np.zeros, np.max, np.r_, np.linalg.norm]


def test_numpy_is_itself_outside_of_transforms():
    before, seen = names(), []

    def f(x):
        seen.append(names())
        return x

    patch = fg.patch_numpy()
    assert all(a is b for a, b in zip(before, names()))
    fg.grad(f)(1.0)
    assert all(a is b for a, b in zip(before, names()))
    assert not any(a is b for a, b in zip(before, seen[0]))
    patch.undo()
    patch.undo()
    fg.grad(f)(1.0)
    assert all(a is b for a, b in zip(before, seen[1]))


def test_patches_nest_and_end_with_an_exception():
    before = names()
    with fg.patch_numpy():
        with pytest.raises(ZeroDivisionError), fg.patch_numpy():
            fg.grad(lambda x: theirs(x) * (1 // 0))(1.0)
        assert all(a is b for a, b in zip(before, names()))
        assert fg.grad(theirs)(0.7) == pytest.approx(slope(0.7))
    with pytest.raises(fg.errors.TracerConversionError):
        fg.grad(theirs)(0.7)


def test_within_a_transform():
    def f(x):
        with fg.patch_numpy():
            first = theirs(x)
        assert np.zeros is own
        return first

    own = np.zeros
    assert fg.grad(f)(0.7) == pytest.approx(slope(0.7))


def test_a_generator_that_outlives_the_transform():
    def steps(x):
        yield theirs(x)
        yield type(np.zeros(2))

    left = []

    def f(x):
        left.append(steps(x))
        return next(left[0])

    with fg.patch_numpy():
        assert fg.grad(f)(0.7) == pytest.approx(slope(0.7))
        assert next(left[0]) is np.ndarray


def test_other_threads_have_numpys_functions():
    begun, done, seen = threading.Event(), threading.Event(), []

    def other():
        begun.wait(60)
        seen.append((type(np.zeros(3)), type(np.array([1.0])), np.r_[1, 2].tolist()))
        done.set()

    def f(x):
        begun.set()
        done.wait(60)
        return theirs(x)

    thread = threading.Thread(target=other)
    thread.start()
    with fg.patch_numpy():
        assert fg.grad(f)(0.7) == pytest.approx(slope(0.7))
    thread.join()
    assert seen == [(np.ndarray, np.ndarray, [1, 2])]


def test_many_threads_leave_numpy_as_it_was():
    before, wrong = names(), []

    def work():
        for _ in range(30):
            if abs(fg.grad(theirs)(0.7) - slope(0.7)) > 1e-12:
                wrong.append(1)

    with fg.patch_numpy():
        threads = [threading.Thread(target=work) for _ in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong
    assert all(a is b for a, b in zip(before, names()))


def test_a_module_that_has_taken_the_names():
    module = types.ModuleType("taken")
    exec("from numpy import array, zeros\ndef f(x): return array([x, 1.0])[0] * 2.0", vars(module))
    own = module.zeros
    with fg.patch_numpy(module):
        assert fg.grad(module.f)(3.0) == 2.0
        assert module.zeros is own
    with pytest.warns(fg.errors.ObjectArrayWarning):
        fg.grad(module.f)(3.0)


def test_pickles_are_as_always():
    def f(x):
        made = pickle.loads(pickle.dumps((np.zeros, np.ones(2), np.float64(1.0))))
        assert type(made[1]) is not np.ndarray or made[1].sum() == 2.0
        return x

    before = pickle.dumps((np.zeros, np.ones(2)))
    with fg.patch_numpy():
        assert pickle.dumps((np.zeros, np.ones(2))) == before
        fg.grad(f)(1.0)


def test_a_jitted_function_is_traced_once():
    f = fg.jit(theirs)
    with fg.patch_numpy():
        for x in (0.7, 0.9):
            assert f(x) == pytest.approx(theirs(x))
    assert f.report().count("\n") == 0


def test_joined_by_index_expressions():
    x = np.array([0.3, 0.7])
    for xp in (np, fnp):
        with fg.patch_numpy():
            found = fg.jacobian(lambda x: np.sin(xp.r_[x, 1.0, 2:4]))(x)
            pair = fg.jacobian(lambda x: xp.c_[x, np.ones(2)])(x)
        np.testing.assert_allclose(found[:2], np.diag(np.cos(x)))
        assert not found[2:].any()
        np.testing.assert_array_equal(pair[:, 0], np.eye(2))
    assert type(fnp.r_[x, 1.0]) is np.ndarray


@pytest.mark.parametrize("make", ["from_rotvec", "from_matrix"])
def test_compiled_code_of_scipy_is_named(make):
    rotation = getattr(pytest.importorskip("scipy.spatial.transform").Rotation, make)
    x = np.eye(3) if make == "from_matrix" else np.ones(3)
    with fg.patch_numpy(), pytest.raises(fg.errors.UnsupportedCallError) as info:
        fg.grad(lambda q: np.sum(rotation(q).apply([1.0, 0.0, 0.0])))(x)
    text = str(info.value)
    assert "is compiled code, which takes no traced values" in text
    assert "custom_vjp around funcgrad.pure_callback" in text
    assert __file__ in text
