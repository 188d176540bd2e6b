"""Which elements are absent is followed only where a derivative has a NaN, or cannot be seen."""

import numpy as np
import pytest

import funcgrad as fg

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

X = np.array([-1.0, 0.0, 4.0])
ONES = np.ones(3)
WAYS = {
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (ONES,))[1],
    "jacfwd": lambda f: lambda x: np.diagonal(fg.jacfwd(f)(x)),
    "jacrev": lambda f: lambda x: np.diagonal(fg.jacrev(f)(x)),
    "vmap of grad": lambda f: fg.vmap(fg.grad(f)),
    "vmap of jvp": lambda f: fg.vmap(lambda v: fg.jvp(f, (v,), (1.0,))[1]),
}


def root(x):
    return np.sqrt(np.where(x > 0, x, 0.0))


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize(("at", "calls"), [(X + 2, 1), (X, 2)])
@pytest.mark.parametrize("way", ["jvp", "jacfwd"])
def test_the_function_is_called_again_where_there_is_a_nan(way, at, calls):
    count = []

    def f(x):
        count.append(x)
        return root(x)

    got = WAYS[way](f)(at)
    assert len(count) == calls
    np.testing.assert_array_equal(got, np.where(at > 0, 0.5 / np.sqrt(at), 0.0))


@pytest.mark.parametrize("way", WAYS)
def test_what_is_traced_further_out_is_followed_from_the_start(way):
    """The first derivative of x^1.5 is finite at 0, the second is not."""

    def f(x):
        return np.where(x > 0, np.where(x > 0, x, 0.0) ** 1.5, 0.0)

    def g(x):
        return np.sum(WAYS[way](f)(x))

    want = [0.0, 0.0, 0.375]
    for outer in (fg.grad, fg.jacfwd, fg.jacrev, lambda g: fg.jit(fg.grad(g))):
        np.testing.assert_allclose(outer(g)(X), want)


@pytest.mark.parametrize("way", ["jvp", "jacfwd"])
def test_captured_values_of_an_outer_transform_are_followed(way):
    def g(w):
        return np.sum(WAYS[way](lambda x: x * np.where(w > 0, w**1.5, 0.0))(ONES))

    np.testing.assert_allclose(fg.grad(g)(X), [0.0, 0.0, 3.0])
    np.testing.assert_allclose(fg.jit(fg.grad(g))(X), [0.0, 0.0, 3.0])


@pytest.mark.parametrize("way", ["jvp", "jacfwd"])
@pytest.mark.parametrize("refuses", [True, False])
def test_rules_of_users_see_no_nan_of_absent_elements(way, refuses):
    @fg.custom_jvp
    def twice(x):
        return 2.0 * x

    @twice.defjvp
    def _(primals, tangents):
        (t,) = tangents
        if refuses and way == "jvp" and np.isnan(np.asarray(t)).any():
            raise ValueError("a NaN")
        return twice(*primals), 2.0 * np.where(np.isnan(t), 7.0, t)

    def f(x):
        return twice(np.sqrt(np.where(x > 0, x, 0.0)))

    np.testing.assert_array_equal(WAYS[way](f)(X), [0.0, 0.0, 0.5])


def test_errors_of_the_function_are_its_own():
    def f(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        fg.jvp(f, (X,), (ONES,))


@pytest.mark.parametrize("zero", [0.0, np.float64(0.0), np.zeros(3), np.float32(0.0)])
def test_zeros_of_any_kind_beside_a_tangent_are_not_chosen(zero):
    def f(x):
        return np.sum(np.where(x > 0, np.sqrt(x), zero) * x)

    for h in (fg.hessian(f), fg.jit(fg.hessian(f)), fg.jacfwd(fg.jit(fg.grad(f)))):
        np.testing.assert_allclose(h(X), np.diag([0.0, 0.0, 0.375]))
