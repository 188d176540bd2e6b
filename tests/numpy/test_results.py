"""What a result is: a NumPy scalar or an array without axes, memory of its own or a view.

NumPy has its own mind in each function; the same program in plain NumPy is the oracle.
"""

import inspect

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

# of a number, or an array without axes
OF_NUMBERS = {
    "where": lambda m, x: m.where(True, x, 0.0),
    "where not": lambda m, x: m.where(x > 100, 0.0, x),
    "select": lambda m, x: m.select([np.True_], [x]),
    "select array": lambda m, x: m.select([np.array(True)], [x]),
    "copy": lambda m, x: m.copy(x),
    "array": lambda m, x: m.array(x),
    "array of dtype": lambda m, x: m.array(x, np.float32),
    "asarray": lambda m, x: m.asarray(x),
    "asanyarray": lambda m, x: m.asanyarray(x),
    "ascontiguousarray": lambda m, x: m.ascontiguousarray(x),
    "require": lambda m, x: m.require(x, None, "CW"),
    "broadcast_to": lambda m, x: m.broadcast_to(x, ()),
    "broadcast_arrays": lambda m, x: m.broadcast_arrays(x, 1.0)[0],
    "full": lambda m, x: m.full((), x),
    "full_like": lambda m, x: m.full_like(x, x),
    "ones_like": lambda m, x: m.ones_like(x) * x,
    "reshape": lambda m, x: m.reshape(x, ()),
    "transpose": lambda m, x: m.transpose(x),
    "squeeze": lambda m, x: m.squeeze(x),
    "expand_dims": lambda m, x: m.expand_dims(x, ()),
    "ravel": lambda m, x: m.ravel(x),
    "atleast_1d": lambda m, x: m.atleast_1d(x),
    "flip": lambda m, x: m.flip(x),
    "roll": lambda m, x: m.roll(x, 0),
    "roll 1": lambda m, x: m.roll(x, 1),
    "tile": lambda m, x: m.tile(x, ()),
    "pad": lambda m, x: m.pad(x, 0),
    "imag": lambda m, x: m.imag(x) + x,
    "imag only": lambda m, x: m.imag(x),
    "real": lambda m, x: m.real(x),
    "conj": lambda m, x: m.conj(x),
    "conjugate": lambda m, x: m.conjugate(x),
    "positive": lambda m, x: m.positive(x),
    "add": lambda m, x: m.add(x, 0.0),
    "clip": lambda m, x: m.clip(x, -9, 9),
    "clip none": lambda m, x: m.clip(x, None, None),
    "nan_to_num": lambda m, x: m.nan_to_num(x),
    "sinc": lambda m, x: m.sinc(x),
    "sum": lambda m, x: m.sum(x),
    "sum axes": lambda m, x: m.sum(x, axis=()),
    "sum keepdims": lambda m, x: m.sum(x, keepdims=True),
    "mean": lambda m, x: m.mean(x),
    "prod": lambda m, x: m.prod(x),
    "max": lambda m, x: m.max(x),
    "var": lambda m, x: m.var(x),
    "std keepdims": lambda m, x: m.std(x, keepdims=True),
    "ptp": lambda m, x: m.ptp(x),
    "median": lambda m, x: m.median(x),
    "median keepdims": lambda m, x: m.median(x, keepdims=True),
    "quantile": lambda m, x: m.quantile(x, 0.5),
    "quantile keepdims": lambda m, x: m.quantile(x, 0.5, keepdims=True),
    "percentile array": lambda m, x: m.percentile(x, np.array(50.0)),
    "cumsum": lambda m, x: m.cumsum(x),
    "dot": lambda m, x: m.dot(x, x),
    "inner": lambda m, x: m.inner(x, x),
    "multiply": lambda m, x: m.multiply(x, x),
    "outer": lambda m, x: m.outer(x, x),
    "tensordot": lambda m, x: m.tensordot(x, x, 0),
    "einsum": lambda m, x: m.einsum(",->", x, x),
    "einsum view": lambda m, x: m.einsum("->", x),
    "take": lambda m, x: m.take(x, 0),
    "take array": lambda m, x: m.take(x, np.array(0)),
    "choose": lambda m, x: m.choose(0, [x]),
    "repeat": lambda m, x: m.repeat(x, 1),
    "stack": lambda m, x: m.stack([x, x])[0],
    "piecewise": lambda m, x: m.piecewise(x, [x > -100], [lambda y: y * 2]),
    "interp": lambda m, x: m.interp(x, [0.0, 9.0], [0.0, 3.0]),
    "angle": lambda m, x: m.angle(x),
    "round": lambda m, x: m.round(x, 2),
    "fix": lambda m, x: m.fix(x),
    "real_if_close": lambda m, x: m.real_if_close(x),
    "norm": lambda m, x: m.linalg.norm(x),
    "average": lambda m, x: m.average(x),
    "nansum": lambda m, x: m.nansum(x),
    "nanmean": lambda m, x: m.nanmean(x),
    "polyval": lambda m, x: m.polyval([1.0, 2.0], x),
    "heaviside": lambda m, x: m.heaviside(x, 1.0),
    "linspace": lambda m, x: m.linspace(x, 2.0, 3)[0],
    "trapezoid": lambda m, x: m.trapezoid(m.stack([x, x])),
    "index": lambda m, x: m.stack([x, x])[1],
    "index with dots": lambda m, x: m.stack([x, x])[..., 1],
    "index by an array": lambda m, x: m.stack([x, x])[np.array(1)],
    "x + 0": lambda m, x: x + 0,
    "-x": lambda m, x: -x,
    "+x": lambda m, x: +x,
    "x ** 2": lambda m, x: x**2,
    "abs": lambda m, x: abs(x),
}
METHODS = {
    "copy()": lambda m, x: x.copy(),
    "astype": lambda m, x: x.astype(np.float32),
    "astype same": lambda m, x: x.astype(x.dtype),
    "conj()": lambda m, x: x.conj(),
    "real": lambda m, x: x.real,
    "imag": lambda m, x: x.imag,
    "T": lambda m, x: x.T,
    "sum()": lambda m, x: x.sum(),
    "reshape()": lambda m, x: x.reshape(()),
    "flatten()": lambda m, x: x.flatten(),
    "squeeze()": lambda m, x: x.squeeze(),
    "x[()]": lambda m, x: x[()],
    "x[...]": lambda m, x: x[...],
    "x[None]": lambda m, x: x[None],
    "clip()": lambda m, x: x.clip(-9, 9),
    "round()": lambda m, x: x.round(1),
    "transpose()": lambda m, x: x.transpose(),
    "mean()": lambda m, x: x.mean(),
    "cumsum()": lambda m, x: x.cumsum(),
}
# NumPy has no protocol for these: it asks for the elements of a traced value
UNSEEN = ("array", "asarray", "asanyarray", "ascontiguousarray", "array of dtype", "full")
UNSEEN += ("require", "array view", "asarray of dtype")
NUMBERS = {"scalar": np.float64(0.75), "array": np.array(0.75), "single": np.float32(0.75)}


def identical(got, want):
    assert type(got) is type(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("space", [np, fnp])
@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("name", [*OF_NUMBERS, *METHODS])
def test_a_number_gives_what_numpy_gives(name, kind, space):
    if space is np and (name == "array of dtype" or (kind == "single" and name in UNSEEN)):
        pytest.skip("refused: it would cut the gradient, or forget the precision")
    f, x = {**OF_NUMBERS, **METHODS}[name], NUMBERS[kind]
    want = f(np, x)
    identical(fg.vjp(lambda x: f(space, x), x)[0], want)
    identical(fg.jvp(lambda x: f(space, x), (x,), (x,))[0], want)
    identical(fg.value_and_grad(lambda x: (x * 1.0, f(space, x)), has_aux=True)(x)[0][1], want)


@pytest.mark.parametrize("space", [np, fnp])
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_a_python_number_gives_what_numpy_gives(name, space):
    if space is np and name == "array of dtype":
        pytest.skip("refused: it would cut the gradient")
    f = OF_NUMBERS[name]
    want = f(np, 0.75)
    got = fg.vjp(lambda x: f(space, x), 0.75)[0]
    assert type(got) is type(want)
    if isinstance(want, float):
        assert got == want
    else:
        identical(got, want)


# of an array: does a write into the result show in the operand, and the other way round?
OF_ARRAYS = {
    **{k: f for k, f in OF_NUMBERS.items() if k not in ("interp", "piecewise", "choose")},
    **METHODS,
    "broadcast_to": lambda m, x: m.broadcast_to(x, x.shape),
    "full": lambda m, x: m.full(x.shape, x),
    "reshape": lambda m, x: m.reshape(x, x.shape),
    "reshape()": lambda m, x: x.reshape(x.shape),
    "reshape flat": lambda m, x: m.reshape(x, -1),
    "reshape F": lambda m, x: m.reshape(x, (3, 2), order="F"),
    "ravel F": lambda m, x: m.ravel(x, "F"),
    "ravel K": lambda m, x: m.ravel(x, "K"),
    "flip axis": lambda m, x: m.flip(x, 0),
    "flipud": lambda m, x: m.flipud(x),
    "rot90": lambda m, x: m.rot90(x),
    "rot90 0": lambda m, x: m.rot90(x, 0),
    "tile": lambda m, x: m.tile(x, (1, 1)),
    "einsum": lambda m, x: m.einsum("ij->", x),
    "einsum view": lambda m, x: m.einsum("ij->ij", x),
    "einsum transposed": lambda m, x: m.einsum("ij->ji", x),
    "einsum of all axes": lambda m, x: m.einsum("...->...", x),
    "einsum diagonal": lambda m, x: m.einsum("ii->i", x[:, :2]),
    "einsum implicit": lambda m, x: m.einsum("ba", x),
    "einsum reduced": lambda m, x: m.einsum("ij->i", x),
    "inner": lambda m, x: m.inner(x, x),
    "dot": lambda m, x: m.dot(x, x.T),
    "outer": lambda m, x: m.outer(x, x),
    "take": lambda m, x: m.take(x, [0, 1], 0),
    "moveaxis": lambda m, x: m.moveaxis(x, 0, 1),
    "swapaxes": lambda m, x: m.swapaxes(x, 0, 1),
    "rollaxis": lambda m, x: m.rollaxis(x, 1),
    "matrix_transpose": lambda m, x: m.matrix_transpose(x),
    "atleast_2d": lambda m, x: m.atleast_2d(x),
    "atleast_3d": lambda m, x: m.atleast_3d(x),
    "split": lambda m, x: m.split(x, 2)[0],
    "hsplit": lambda m, x: m.hsplit(x, 3)[1],
    "array_split": lambda m, x: m.array_split(x, 1)[0],
    "unstack": lambda m, x: m.unstack(x)[0],
    "concatenate": lambda m, x: m.concatenate([x]),
    "vstack": lambda m, x: m.vstack([x]),
    "column_stack": lambda m, x: m.column_stack([x]),
    "block": lambda m, x: m.block([x]),
    "append": lambda m, x: m.append(x, []),
    "insert": lambda m, x: m.insert(x, [], 0.0, 0),
    "delete": lambda m, x: m.delete(x, [], 0),
    "repeat": lambda m, x: m.repeat(x, 1, 0),
    "resize": lambda m, x: m.resize(x, (2, 3)),
    "diagonal": lambda m, x: m.diagonal(x),
    "diag": lambda m, x: m.diag(x),
    "diag of a vector": lambda m, x: m.diag(x[0]),
    "diagflat": lambda m, x: m.diagflat(x),
    "tril": lambda m, x: m.tril(x, 9),
    "triu": lambda m, x: m.triu(x, -9),
    "roll axis": lambda m, x: m.roll(x, 0, 0),
    "roll full turn": lambda m, x: m.roll(x, 3, 1),
    "roll axes": lambda m, x: m.roll(x, (0, 3), (0, 1)),
    "sort": lambda m, x: m.sort(x),
    "partition": lambda m, x: m.partition(x, 1),
    "unique": lambda m, x: m.unique(x),
    "diff 0": lambda m, x: m.diff(x, 0),
    "meshgrid": lambda m, x: m.meshgrid(x[0])[0],
    "meshgrid view": lambda m, x: m.meshgrid(x[0], copy=False)[0],
    "astype view": lambda m, x: x.astype(x.dtype, copy=False),
    "np.astype": lambda m, x: m.astype(x, x.dtype),
    "array view": lambda m, x: m.array(x, copy=None),
    "asarray of dtype": lambda m, x: m.asarray(x, x.dtype),
    "view": lambda m, x: x.view(),
    "x[:]": lambda m, x: x[:],
    "x[0]": lambda m, x: x[0],
    "x[[0]]": lambda m, x: x[[0]],
    "x[True]": lambda m, x: x[np.True_],
    "compress": lambda m, x: m.compress([True, True], x, 0),
    "extract": lambda m, x: m.extract(np.ones((2, 3), bool), x),
    "real setter": lambda m, x: x.real,
    "sum of no axes": lambda m, x: m.sum(x, axis=()),
    "max of no axes": lambda m, x: m.max(x, axis=()),
    "mean of no axes": lambda m, x: m.mean(x, axis=()),
    "cumsum axis": lambda m, x: m.cumsum(x, 0),
    "linalg.matrix_power": lambda m, x: m.linalg.matrix_power(x[:, :2], 1),
    "linalg.diagonal": lambda m, x: m.linalg.diagonal(x),
    "linalg.multi_dot": lambda m, x: m.linalg.multi_dot([x, x.T]),
    "matmul": lambda m, x: m.matmul(x, x.T),
    "copysign": lambda m, x: m.copysign(x, 1.0),
    "maximum": lambda m, x: m.maximum(x, -9),
    "flat": lambda m, x: x.flat[:],
    "ediff1d": lambda m, x: m.ediff1d(x),
    "nansum": lambda m, x: m.nansum(x, axis=()),
}
for _name in ("linspace", "trapezoid", "index", "index with dots", "index by an array", "stack"):
    OF_ARRAYS[_name] = OF_NUMBERS[_name]


def shares(f, m, x):
    """Whether writes into `x` show in ``f(x)``, whether that can be written, and shows in `x`."""
    y = f(m, x)
    before = np.sum(fg.value(m.multiply(y, 1)))
    x[...] = x * 1 + 1
    forth = bool(np.sum(fg.value(m.multiply(y, 1))) != before)
    seen = np.sum(fg.value(x * 1))
    try:
        y[...] = 7.25
    except (ValueError, TypeError):
        return forth, "read-only"
    return forth, bool(np.sum(fg.value(x * 1)) != seen)


MATRIX = np.array([[0.5, 1.25, 2.0], [3.5, 4.75, 5.0]])


@pytest.mark.parametrize("space", [np, fnp])
@pytest.mark.parametrize("name", OF_ARRAYS)
def test_memory_is_shared_where_numpy_shares_it(name, space):
    f = OF_ARRAYS[name]
    if space is np and name in UNSEEN:
        pytest.skip("NumPy has no protocol for it")
    if np.ndim(f(np, MATRIX.copy())) == 0:
        pytest.skip("a scalar")
    want = shares(f, np, MATRIX.copy())
    found = []

    def traced(x):
        found.append(shares(f, space, x.copy()))
        return x

    fg.vjp(traced, MATRIX)
    fg.jvp(traced, (MATRIX,), (MATRIX,))

    def boxed(x):
        b = fnp.zeros((2, 3))
        b[...] = MATRIX
        found.append(shares(f, space, b))
        return x

    fg.vjp(boxed, MATRIX)
    assert found == [want] * 3


@pytest.mark.parametrize("equal_nan", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_distinct_elements_come_in_numpys_order(dtype, equal_nan):
    """Without an order asked for NumPy gives that of its hashes, which we gave sorted."""
    unsorted = [0.5, -0.25, 0.5, np.nan, 3.0, np.nan, -0.0, 0.0]
    x = np.array(unsorted, dtype) * (1 if np.dtype(dtype).kind == "f" else 1 - 1j)
    options = {"sorted": False} if "sorted" in inspect.signature(np.unique).parameters else {}
    for find in (
        np.unique_values,
        fnp.unique_values,
        lambda x: fnp.unique(x, equal_nan=equal_nan, **options),
    ):
        want, pull = find(x), fg.vjp(find, x)
        np.testing.assert_array_equal(pull[0], want)
        (g,) = pull[1](np.arange(1.0, want.size + 1).astype(dtype))
        for k, v in enumerate(want):
            places = np.flatnonzero((x == v) | ((v != v) & (x != x)))
            assert k + 1 in g[places]
