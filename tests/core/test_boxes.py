"""Untraced arrays inside a transform: what is computed of them can be written into, too."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

X = np.array([0.5, -1.5, 2.0])


def base():
    b = fnp.zeros(3)
    b[...] = [1.0, 2.0, 3.0]
    return b


# each makes a new array of 3 numbers of an array that nothing traced went into
COMPUTED = {
    "operators": lambda b: b * 0.5 + 1,
    "swapped operators": lambda b: 1 - b,
    "unary": lambda b: -b,
    "abs": lambda b: abs(b),
    "matmul": lambda b: np.eye(3) @ b,
    "rmatmul": lambda b: b @ np.eye(3),
    "power": lambda b: b**2,
    "divmod": lambda b: divmod(b, 2.0)[1],
    "index array": lambda b: b[[0, 1, 2]],
    "mask": lambda b: b[b > 0],
    "ufunc": lambda b: np.sin(b),
    "ufunc of fnp": lambda b: fnp.sin(b),
    "ufunc with a keyword": lambda b: np.add(b, 1.0, dtype=float),
    "function": lambda b: np.cumsum(b),
    "function of fnp": lambda b: fnp.concatenate([b[:1], b[1:]]),
    "method": lambda b: b.copy(),
    "astype": lambda b: b.astype(np.float64),
    "reduction": lambda b: np.sum(fnp.stack([b, b]), axis=0),
    "einsum": lambda b: np.einsum("i,i->i", b, b),
    "several outputs": lambda b: np.linalg.eigh(np.eye(3) * b)[0],
    "modf": lambda b: np.modf(b)[1],
    "grad": lambda b: fg.grad(lambda y: np.sum(y * y))(b),
    "value and grad": lambda b: fg.value_and_grad(lambda y: np.sum(y * y))(b)[1],
    "aux": lambda b: fg.grad(lambda y: (np.sum(y), y * 2), has_aux=True)(b)[1],
    "vjp": lambda b: fg.vjp(np.sin, b)[0],
    "pullback": lambda b: fg.vjp(np.sin, b)[1](b)[0],
    "jvp": lambda b: fg.jvp(np.sin, (b,), (b,))[0],
    "tangent": lambda b: fg.jvp(np.sin, (b,), (b,))[1],
    "vmap": lambda b: fg.vmap(lambda y: y * 2)(b),
    "vmap of the identity": lambda b: fg.vmap(lambda y: y)(b),
    "vmap of a constant": lambda b: fg.vmap(lambda y: 1.0)(b),
    "jit": lambda b: fg.jit(lambda y: y * 2)(b),
    "checkpoint": lambda b: fg.checkpoint(lambda y: y * 2)(b),
    "hvp": lambda b: fg.hvp(lambda y: np.sum(y**3), (b,), (b,)),
    "linearize": lambda b: fg.linearize(np.sin, b)[1](b),
    "jacobian": lambda b: fg.jacrev(lambda y: y * y)(b)[0],
    "jacfwd": lambda b: fg.jacfwd(lambda y: y * y)(b)[0],
    "hessian": lambda b: fg.hessian(lambda y: np.sum(y**3))(b)[1],
    "fnp of a plain array": lambda b: fnp.sin(np.ones(3)),
    "fnp reduction of a plain array": lambda b: fnp.sum(np.ones((2, 3)), axis=0),
    "fnp eigh of a plain array": lambda b: fnp.linalg.eigh(np.eye(3))[0],
    "ufunc of a plain array and a box": lambda b: np.add(np.ones(3), b),
    "plain array and a box": lambda b: np.ones(3) + b,
}


def close(f, want):
    np.testing.assert_allclose(fg.grad(f)(X), want, rtol=1e-15)
    t = np.array([0.3, 0.2, -0.7])
    np.testing.assert_allclose(fg.jvp(f, (X,), (t,))[1], np.dot(want, t), rtol=1e-14)


@pytest.mark.parametrize("name", COMPUTED)
def test_traced_values_go_into_what_was_computed(name):
    def f(x):
        c = COMPUTED[name](base())
        view = c[1:]
        c[0] = x[0]
        c[1:] += x[1:]
        return np.sum(c * view[0])

    def plain(x):
        c = np.asarray(fg.value(COMPUTED[name](np.array([1.0, 2.0, 3.0])))).copy()
        c[0] = x[0]
        c[1:] += x[1:]
        return np.sum(c * c[1])

    step = [plain_slope(plain, k) for k in range(3)]
    np.testing.assert_allclose(fg.grad(f)(X), step, rtol=1e-12)
    assert fg.value_and_grad(f)(X)[0] == plain(X)


def plain_slope(f, k):
    """A quadratic function: central differences are exact up to rounding."""
    h = np.zeros(3)
    h[k] = 0.5
    return f(X + h) - f(X - h)


def test_augmented_writes_at_an_index():
    def f(x):
        b = base()
        b[[0, 0, 2]] += x[0]
        b[b > 1.5] *= x[1]
        return np.sum(b)

    def by_hand(x):
        return (1 + x[0]) + 2 * x[1] + (3 + x[0]) * x[1]

    close(f, [1 + X[1], 2 + 3 + X[0], 0.0])
    assert fg.value_and_grad(f)(X)[0] == pytest.approx(by_hand(X))


def test_a_masked_list_is_added_to_an_untraced_array():
    def f(x):
        b = base()
        b[np.array([False, True, False])] += [x[0]]
        return np.sum(b * b)

    close(f, [2 * (2.0 + X[0]), 0.0, 0.0])


def test_integers_and_bools_stay_plain():
    def f(x):
        b = base()
        assert type(b > 1) is np.ndarray
        assert type(np.argsort(b)) is np.ndarray
        assert type(fnp.arange(3) * 2) is np.ndarray
        return np.sum(x)

    fg.grad(f)(X)


def test_a_view_of_a_plain_array_stays_one():
    plain = np.zeros(4)

    def f(x):
        part = fnp.reshape(plain, (2, 2))
        assert type(part) is np.ndarray
        part[0, 0] = 7.0
        with pytest.raises((TypeError, ValueError)):
            part[0, 1] = x[0]
        return np.sum(x)

    fg.grad(f)(X)
    assert plain[0] == 7.0


def test_an_array_handed_through_keeps_its_names():
    """What an inner transform hands back in aux is the array that was put there."""

    def f(x):
        b = base()
        _, c = fg.grad(lambda y: (y * y, b), has_aux=True)(x[0])
        c[0] = x[1]
        return np.sum(b * b)

    close(f, [0.0, 2 * X[1], 0.0])


def test_results_outside_of_transforms_are_numpys():
    for f in (fg.grad(np.sum), fg.vmap(np.sin), fg.jit(np.sin), lambda x: fg.vjp(np.sin, x)[0]):
        assert type(f(X)) is np.ndarray


def test_a_result_of_vmap_shares_no_memory_with_the_argument():
    a = np.ones((2, 3))
    b = fg.vmap(lambda row: row)(a)
    b[...] = 0.0
    np.testing.assert_array_equal(a, np.ones((2, 3)))
