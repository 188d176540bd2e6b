"""NEP 13 and NEP 18: keywords, methods of ufuncs, named errors; writing through views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad.numpy as fnp
from funcgrad import grad, jvp, value_and_grad
from funcgrad.errors import (
    AbstractValueError,
    FuncgradError,
    TracerConversionError,
    UnsupportedCallError,
)
from funcgrad.transforms.vmap import vmap

X = np.array([0.5, -1.5, 2.0, 0.3])
P = np.arange(1.0, 5.0)


def numeric(f: Callable[[Any], Any], x: Any, h: float = 1e-6) -> Any:
    out = np.zeros(x.shape)
    for k in np.ndindex(x.shape):
        e = np.zeros(x.shape)
        e[k] = h
        out[k] = (f(x + e) - f(x - e)) / (2 * h)
    return out


# Programs that write: written once, run plainly with NumPy's arrays and traced.


def p_zeros(m, x):
    b = m.zeros(3)
    v = b[:2]
    b[0] = x[0]
    v[1] = x[1] * x[2]
    return v.sum() + b[1] * b[0]


def p_out(m, x):
    b = m.empty(4)
    m.multiply(x, x, out=b)
    m.add(b, x, out=b)
    return m.sum(b * P)


def p_out_view(m, x):
    b = m.zeros((2, 4))
    m.sin(x, out=b[1])
    m.sum(b, axis=0, out=b[0])
    return m.sum(b * b)


def p_out_where(m, x):
    b = m.ones(4)
    m.exp(x, out=b, where=np.array([True, False, True, False]))
    return m.sum(b * P)


def p_at(m, x):
    b = m.zeros(3)
    np.add.at(b, [0, 2, 0, 0], x)
    np.subtract.at(b, [1], x[1])
    return m.sum(b * b)


def p_multiply_at(m, x):
    b = m.full(3, 2.0)
    np.multiply.at(b, [0, 2, 0, 0], x)
    return m.sum(b)


def p_reshape_view(m, x):
    b = m.zeros((2, 2))
    flat = b.reshape(-1)
    flat[3] = x[0] * x[0]
    b[0, 1] = x[1]
    return m.sum(flat * P)


def p_transpose_view(m, x):
    b = m.zeros((2, 3))
    b.T[2] = x[:2]
    np.swapaxes(b, 0, 1)[0, 1] = x[3]
    return m.sum(b * np.arange(6.0).reshape(2, 3))


def p_copies(m, x):
    b = m.array(x)
    c = b.copy()
    d = m.ravel(b[::2].reshape(1, 2).T)
    f = b.flatten()
    b[:] = 1.0
    return m.sum(c * P) + m.sum(f * f) + m.sum(d)


def p_reshape_copy(m, x):
    b = m.zeros((2, 2))
    t = b.T.reshape(-1)  # NumPy copies here
    t[0] = x[0]
    b[1, 0] = x[1]
    return m.sum(t) + 3 * m.sum(b)


def p_diagonal(m, x):
    b = m.zeros((3, 3))
    d = m.diagonal(b)
    b[1, 1] = x[0]
    m.fill_diagonal(b[:2, :2], x[1])
    return m.sum(d * np.arange(3.0)) + m.sum(b)


def p_flip(m, x):
    b = m.array(x)
    r = m.flip(b)
    r[0] = x[0] ** 2
    m.rot90(b.reshape(2, 2))[0, 0] *= 3.0
    return m.sum(b * P)


def p_split(m, x):
    b = m.zeros(4)
    left, right = m.split(b, 2)
    left[:] = x[2:]
    right += x[0]
    return m.sum(b * P)


def p_fill_sort(m, x):
    b = m.array(x) * 1.0 + 0.0
    b = m.array(b)
    b.sort()
    c = m.zeros(2)
    c.fill(x[1])
    return m.sum(b * P) + m.sum(c)


def p_copyto(m, x):
    b = m.ones(4)
    m.copyto(b, x, where=np.array([True, True, False, False]))
    m.put(b, [3], x[0] * x[1])
    m.putmask(b, np.array([False, True, False, False]), x[2])
    m.place(b, np.array([False, False, True, False]), [x[3]])
    return m.sum(b * P)


def p_put_along_axis(m, x):
    b = m.zeros((2, 2))
    m.put_along_axis(b, np.array([[1], [0]]), x[:2].reshape(2, 1), axis=1)
    return m.sum(b * P.reshape(2, 2))


def p_squeeze(m, x):
    b = m.zeros((1, 4))
    m.squeeze(b)[1:] = x[1:]
    m.expand_dims(b, 0)[0, 0, 0] = x[0] * x[1]
    m.atleast_2d(b)[0, 3] += 2.0
    return m.sum(b * P)


def p_complex(m, x):
    b = m.zeros(4, dtype=complex)
    b.real = x
    b.imag[1:] = x[1:] * x[0]
    return m.sum(m.abs(b) ** 2)


def p_flat(m, x):
    b = m.zeros((2, 2))
    b.flat = x
    b.flat[2] = x[0]
    return sum(v * w for v, w in zip(b.flat, P))


def p_loop(m, x):
    out = m.zeros_like(x)
    for i in range(len(x)):
        out[i] = x[i] * (out[i - 1] + 1.0)
    return out.sum()


def p_list(m, x):
    return m.sum(m.array([x[0], 2.0, x[1] * x[2]]) * m.stack([x[3], x[0], 1.0 * x[1]]))


def p_trace(m, x):
    return m.outer(x, x * 2.0).trace() + m.outer(x, x)[:2].trace(offset=1)


def p_augmented(m, x):
    b = m.ones(4)
    b *= x
    b[1:] += x[:-1]
    b[b > 0] **= 2
    b[[0, 2]] -= x[3]
    return m.sum(b * P)


PROGRAMS = [v for k, v in list(globals().items()) if k.startswith("p_")]


def value_of(p: Any, x: Any) -> float:
    return float(p(np, x.copy()))


@pytest.mark.parametrize("p", PROGRAMS, ids=lambda p: p.__name__[2:])
def test_program_that_writes(p: Any) -> None:
    value, gradient = value_and_grad(lambda x: p(fnp, x))(X)
    assert np.asarray(value).tobytes() == np.asarray(p(np, X.copy())).tobytes()
    np.testing.assert_allclose(gradient, numeric(lambda x: value_of(p, x), X), atol=1e-6)
    t = np.array([0.3, -0.2, 0.5, 0.7])
    _, moved = jvp(lambda x: p(fnp, x), (X,), (t,))
    np.testing.assert_allclose(moved, gradient @ t, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    "p",
    [p for p in PROGRAMS if p not in (p_augmented, p_multiply_at)],
    ids=lambda p: p.__name__[2:],
)
def test_program_that_writes_under_vmap(p: Any) -> None:
    rows = np.stack([X, X * 0.5, X + 0.1])
    found = vmap(grad(lambda x: p(fnp, x)))(rows)
    wanted = np.stack([grad(lambda x: p(fnp, x))(r) for r in rows])
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)


def test_written_argument_is_not_the_callers() -> None:
    def f(x):
        x[1] = 0.0
        np.multiply(x, 2.0, out=x)
        return x.sum()

    x = X.copy()
    value, gradient = value_and_grad(f)(x)
    assert value == 2 * (X[0] + X[2] + X[3])
    np.testing.assert_array_equal(gradient, [2.0, 0.0, 2.0, 2.0])
    np.testing.assert_array_equal(x, X)


def test_outside_of_a_transform_everything_is_numpys() -> None:
    for made in (fnp.zeros(3), fnp.arange(3.0), fnp.array([1.0, 2.0]), fnp.eye(2), fnp.sin(X)):
        assert type(made) is np.ndarray
    assert type(fnp.sum(X)) is np.float64
    out = np.empty(4)
    assert fnp.add(X, X, out=out) is out


def test_out_returns_the_array_given() -> None:
    def f(x):
        b = fnp.zeros(4)
        assert np.add(x, 1.0, out=b) is b
        assert fnp.cumsum(x, out=b) is b
        assert np.sum(x, 0, None, b[0:1].reshape(())) is not None
        return b.sum()

    assert np.isfinite(value_and_grad(f)(X)[0])


def test_0d_object_arrays_keep_the_gradient() -> None:
    f = lambda x: np.sin(np.asarray(x)) + np.exp(np.asarray(x) * 2.0)
    np.testing.assert_allclose(grad(f)(0.3), np.cos(0.3) + 2 * np.exp(0.6))
    g = lambda x: np.sum(np.array([x, x * x]) * np.array([2.0, 3.0]))
    np.testing.assert_allclose(grad(g)(0.3), 2.0 + 6.0 * 0.3)


def test_linspace_ends_and_sinc_second_order() -> None:
    second = grad(grad(np.sinc))
    np.testing.assert_allclose(second(0.0), -(np.pi**2) / 3, rtol=1e-14)
    assert grad(np.sinc)(0.0) == 0.0
    np.testing.assert_allclose(
        second(0.1), numeric(lambda v: float(grad(np.sinc)(float(v))), np.array(0.1)), rtol=1e-6
    )
    for x in (0.15, 0.16, 0.1591549):
        np.testing.assert_allclose(
            grad(np.sinc)(x), (np.cos(np.pi * x) - np.sinc(x)) / x, rtol=1e-12
        )


def test_clip_shares_the_gradient_at_a_bound() -> None:
    f = lambda x: np.sum(np.clip(x, -1.0, 1.0))
    np.testing.assert_array_equal(
        grad(f)(np.array([-2.0, -1.0, 0.0, 1.0, 2.0])), [0, 0.5, 1, 0.5, 0]
    )


@pytest.mark.parametrize("method", ["linear", "midpoint", "hazen"])
def test_quantile_by_q(method: str) -> None:
    if method == "linear":
        f = lambda q: np.sum(fnp.quantile(X, q, method=method))
        q = np.array([0.31, 0.8])
        np.testing.assert_allclose(grad(f)(q), numeric(f, q), rtol=1e-6)


# ---------------------------------------------------------------------------------- errors


# The programs are text, so that they have a file name of their own.
ERRORS = [
    (
        "out plain",
        "np.add(x, x, out=np.zeros(4))",
        TracerConversionError,
        "add: out= is a plain NumPy array",
    ),
    (
        "out plain sum",
        "np.sum(x, out=np.zeros(()))",
        TracerConversionError,
        "sum: out= is a plain NumPy array",
    ),
    ("copyto plain", "np.copyto(np.zeros(4), x)", TracerConversionError, "copyto: out= is a plain"),
    (
        "add.at plain",
        "np.add.at(np.zeros(4), [0], x[0])",
        TracerConversionError,
        "add.at: out= is a plain",
    ),
    (
        "setitem plain",
        "np.zeros(4).__setitem__(0, x[0])",
        TracerConversionError,
        "would cut its gradient",
    ),
    ("where alone", "np.exp(x, where=X > 0)", UnsupportedCallError, "where= without out="),
    (
        "reduceat",
        "np.add.reduceat(x, [0, 9])",
        IndexError,
        "index 9 out-of-bounds in add.reduceat",
    ),
    (
        "subtract.reduce",
        "np.subtract.reduce(np.outer(x, x), axis=None)",
        ValueError,
        "'subtract' is not reorderable",
    ),
    (
        "as_strided",
        "np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8))",
        UnsupportedCallError,
        "use sliding_window_view, broadcast_to or an index",
    ),
    (
        "writable windows",
        "np.lib.stride_tricks.sliding_window_view(x, 2, writeable=True)",
        UnsupportedCallError,
        "writeable=True",
    ),
    (
        "qr",
        'np.linalg.qr(np.outer(x, x)[:, :1], "raw")',
        UnsupportedCallError,
        "mode='raw' of 4 x 1 matrices has no derivative",
    ),
    ("packbits", "np.packbits(x)", UnsupportedCallError, "numpy.packbits is not supported"),
    ("order=", 'np.sort(x, order="f")', ValueError, "order when the array has no fields"),
    (
        "weights=",
        "np.quantile(x, 0.5, weights=P)",
        ValueError,
        "Only method 'inverted_cdf' supports weights.",
    ),
    ("method=", 'np.quantile(x, 0.5, method="my")', ValueError, "'my' is not a valid method"),
    ("pad mode", 'np.pad(x, 1, mode="bent")', ValueError, "mode 'bent' is not supported"),
    ("casting=", 'np.add(x, np.float32(1), casting="no")', TypeError, "casting rule 'no'"),
    ("einsum dtype", 'np.einsum("i->", x, dtype=np.float32)', TypeError, "cannot be cast"),
    ("matmul axes", "np.matmul(x, x, axes=[(0,)])", ValueError, "entry for all 3 inputs"),
    ("matmul axis", "np.matmul(x, x, axis=0)", TypeError, "single shared core dimension"),
    ("signature", 'np.exp(x, dtype=float, signature="d->d")', TypeError, "both 'signature' and"),
    ("item", "x[0].item()", TracerConversionError, ".item() of a traced value"),
    ("tolist", "x.tolist()", TracerConversionError, ".tolist() of a traced value"),
    ("float", "float(x[0])", TracerConversionError, "float() of a traced value"),
    ("asarray dtype", "np.asarray(x, float)", TracerConversionError, "numpy.asarray"),
    (".view dtype", "x.view(np.int64)", UnsupportedCallError, "view with another dtype"),
    (
        "reshape",
        "np.reshape(x, (3, 2))",
        ValueError,
        "cannot reshape array of size 4 into shape (3,2)",
    ),
    ("reshape -1", "x.reshape(-1, -1)", ValueError, "can only specify one unknown dimension"),
    (
        "axis",
        "np.sum(x, axis=1)",
        np.exceptions.AxisError,
        "axis 1 is out of bounds for array of dimension 1",
    ),
    ("axis method", "x.mean(axis=-2)", np.exceptions.AxisError, "axis -2 is out of bounds"),
    (
        "concatenate",
        "np.concatenate([x, np.ones((2, 2))])",
        ValueError,
        "at index 0 has 1 dimension(s)",
    ),
    ("stack", "np.stack([x, x[:2]])", ValueError, "all input arrays must have the same shape"),
    ("broadcast", "x + np.ones(3)", ValueError, "could not be broadcast"),
    ("broadcast_to", "np.broadcast_to(x, (3,))", ValueError, "requested shape (3,)"),
    ("squeeze", "np.squeeze(x, 0)", ValueError, "cannot select an axis to squeeze out"),
    ("transpose", "x.transpose(0, 1)", ValueError, "axes don't match array"),
    ("split", "np.split(x, 3)", ValueError, "does not result in an equal division"),
    ("matmul", "x @ np.ones(3)", ValueError, "mismatch"),
    ("dot", "np.dot(x, np.ones(3))", ValueError, "not aligned"),
    ("out shape", "np.add(x, x, out=fnp.zeros(3))", ValueError, "`out` argument of shape (3,)"),
    (
        "out dtype",
        "np.add(x, x, out=fnp.zeros(4, int))",
        TypeError,
        "`out` argument of dtype int64",
    ),
    ("average", "np.average(x, weights=x * 0.0)", ZeroDivisionError, "Weights sum to zero"),
    ("einsum terms", 'np.einsum("ij->", x)', ValueError, "does not fit an operand of 1 axes"),
    ("take", "np.take(x, [9])", IndexError, "out of bounds"),
    ("select", "np.select([x], [x])", TypeError, "should be boolean ndarray"),
]


@pytest.mark.parametrize("_name, source, kind, text", ERRORS, ids=[e[0] for e in ERRORS])
def test_error(_name: str, source: str, kind: type, text: str) -> None:
    f = eval(compile(f"lambda x: {source}", "program.py", "eval"), {**globals()})
    with pytest.raises(kind) as caught:
        grad(f)(X)
    chain, seen = caught.value, []
    while chain is not None:
        seen.append(str(chain))
        chain = chain.__cause__
    assert any(text in s for s in seen), seen
    if isinstance(caught.value, FuncgradError):
        assert 'File "program.py", line 1' in str(caught.value)
    assert np.isfinite(value_and_grad(lambda x: np.sum(np.sin(x)))(X)[0])


ABSTRACT = [
    ("histogram", lambda x: np.histogram(x, "auto")[0]),
]
SELECTING = [
    ("nonzero", lambda x: np.nonzero(x)[0], r"that are not 0 differs .*where\(mask, x, other\)"),
    ("mask", lambda x: x[x > 0], r"a bool mask selects differs .*where\(mask, x, other\)"),
    ("extract", lambda x: np.extract(x > 0, x), "that are not 0 differs"),
    ("union1d", lambda x: np.union1d(x, x), r"distinct elements differs .*\(1 to 2\).* np.sort"),
    ("repeat", lambda x: np.repeat(x, (x > 0) * 1), r"repeat\(\) gives differs .*\(0 to 2\)"),
    ("unique", np.unique, r"distinct elements differs .*\(1 to 2\).* np.sort"),
    ("trim_zeros", lambda x: np.trim_zeros(x), r"zeros at an end .*one example at a time"),
]


@pytest.mark.parametrize("_name, f, what", SELECTING, ids=[e[0] for e in SELECTING])
def test_examples_that_select_other_numbers_are_told(
    _name: str, f: Callable[[Any], Any], what: str
) -> None:
    with pytest.raises(AbstractValueError, match=what):
        vmap(f)(np.array([[0.0, 0.0], [1.0, 2.0]]))
    alike = np.array([[3.0, 1.0], [1.0, 2.0]])
    np.testing.assert_array_equal(vmap(f)(alike), [f(x) for x in alike])


@pytest.mark.parametrize("_name, f", ABSTRACT, ids=[e[0] for e in ABSTRACT])
def test_values_are_unknown_under_vmap(_name: str, f: Callable[[Any], Any]) -> None:
    with pytest.raises(AbstractValueError, match=r"traced by jit or|values are not known"):
        vmap(f)(X.reshape(2, 2))
