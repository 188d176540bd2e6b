"""The functions of the namespace that rearrange, index and multiply, on drawn arguments.

See `rule_checks` for what is checked.
"""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rule_checks import check
from strategies import backend, derandomized

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.testing.strategies import COMPLEX, REAL, arrays, broadcastable_shapes, indices, shapes

EXTENTS = st.integers(0, 4)


def rearrangements(data, x, s):
    """Functions of NumPy that move the elements of `x` about."""
    rank, size = x.ndim, x.size
    axis = data.draw(st.integers(-rank, rank - 1)) if rank else None
    other = data.draw(st.integers(-rank, rank - 1)) if rank else None
    order = data.draw(st.sampled_from("CF"))
    yield lambda x: s.reshape(x, (-1,), order=order)
    yield lambda x: s.ravel(x, order)
    yield lambda x: x.reshape(1, size)
    yield lambda x: s.transpose(x)
    yield lambda x: x.T
    yield lambda x: s.expand_dims(x, 0)
    yield lambda x: s.squeeze(x)
    yield lambda x: s.broadcast_to(x, (2, *x.shape))
    yield lambda x: s.tile(x, (2, 1))
    yield lambda x: s.roll(x, 2)
    yield lambda x: s.repeat(x, 2)
    yield lambda x: s.atleast_2d(x)
    yield lambda x: s.atleast_3d(x)
    yield lambda x: x.flatten(order)
    yield lambda x: s.stack([x, 2 * x])
    yield lambda x: s.append(x, [1.0])
    if rank:
        permutation = data.draw(st.permutations(range(rank)))
        yield lambda x: s.transpose(x, permutation)
        yield lambda x: s.moveaxis(x, axis, other)
        yield lambda x: s.swapaxes(x, axis, other)
        yield lambda x: s.flip(x, axis)
        yield lambda x: s.roll(x, -1, axis)
        yield lambda x: s.repeat(x, 2, axis)
        yield lambda x: s.repeat(x, np.arange(x.shape[axis]) % 3, axis)
        yield lambda x: s.concatenate([x, x * 2, x], axis)
        yield lambda x: s.stack([x, x], axis)
        yield lambda x: s.concatenate([x, np.ones(x.shape, int)], axis)
        yield lambda x: s.hstack([x, x])
        yield lambda x: s.vstack([x, x])
        yield lambda x: s.dstack([x, x])
        yield lambda x: s.column_stack([x, x]) if x.ndim < 3 else x
        yield lambda x: s.split(x, [1], axis)[-1]
        yield lambda x: s.array_split(x, 2, axis)[0]
        yield lambda x: s.pad(x, 1)
        yield lambda x: s.pad(x, [(0, 2)] * x.ndim, constant_values=1.5)
        yield lambda x: s.delete(x, slice(0, 1), axis)
        yield lambda x: s.insert(x, 0, 0.5, axis)
        yield lambda x: s.diff(x, axis=axis)
        if size:
            mode = data.draw(st.sampled_from(["edge", "reflect", "wrap", "symmetric"]))
            yield lambda x: s.pad(x, 1, mode=mode) if min(x.shape) > 1 else x
    if rank >= 2:
        k = data.draw(st.integers(-2, 2))
        yield lambda x: s.tril(x, k)
        yield lambda x: s.triu(x, k)
        yield lambda x: s.diagonal(x, k) if -x.shape[0] <= k <= x.shape[1] else x
        yield lambda x: s.trace(x)
        yield lambda x: s.rot90(x, k)
        yield lambda x: s.swapaxes(x, 0, 1).reshape(-1)


@derandomized(500)
@given(st.data())
def test_shapes(data):
    x = data.draw(arrays(shapes(), dtypes=REAL + COMPLEX))
    space = data.draw(st.sampled_from([np, fnp]))
    f = data.draw(st.sampled_from(list(rearrangements(data, x, space))))
    with np.errstate(all="ignore"):
        made = f(x)
    check(f if isinstance(made, np.ndarray | np.generic) else lambda x: f(x) * 1, x)


# ------------------------------------------------------------------------------- indices


def indexed(x, index):
    try:
        return x[index]
    except IndexError:  # a mask and integer arrays that do not broadcast
        assume(False)


@derandomized(500)
@given(st.data())
def test_indexing(data):
    x = data.draw(arrays(shapes(), dtypes=REAL + COMPLEX))
    index = data.draw(indices(x.shape))
    indexed(x, index)
    check(lambda x: x[index], x)


@derandomized(500)
@given(st.data())
def test_item_assignment(data):
    """Both the array written into and what is written are differentiated."""
    kinds = REAL + COMPLEX
    x = data.draw(arrays(shapes(1), dtypes=kinds))
    index = data.draw(indices(x.shape))
    part = indexed(x, index)
    cut = part.shape[data.draw(st.integers(0, part.ndim)) :]
    extents = tuple(1 if data.draw(st.integers(0, 4)) == 0 else n for n in cut)
    v = data.draw(arrays(extents, dtypes=kinds))
    assume(np.can_cast(v.dtype, x.dtype, "same_kind"))
    symbol = data.draw(st.sampled_from(["=", "+=", "*=", "add.at"]))

    def f(x, v):
        b = x.copy()
        if symbol == "=":
            b[index] = v
        elif symbol == "+=":
            b[index] += v
        elif symbol == "*=":
            b[index] *= v
        else:
            np.add.at(b, index, v)
        return b

    def buffered(x, v):
        b = fnp.zeros(x.shape, x.dtype)
        view = b[::-1]
        b[index] = v
        view[...] += x
        return b

    try:
        f(x, v)
    except ValueError:
        assume(False)
    check(data.draw(st.sampled_from([f, buffered])), x, v)


@derandomized(100)
@given(st.data())
def test_an_array_of_a_list(data):
    """`array` of a list of rows is one array, whichever namespace it comes from."""
    x = data.draw(arrays(shapes(1, 3, 1), dtypes=REAL + COMPLEX))
    weights = np.linspace(0.5, 2.0, 2 * x[0].size).reshape(2, *x.shape[1:])
    space = data.draw(st.sampled_from([np, fnp]))
    form = data.draw(st.sampled_from([space.array, space.asarray, space.stack]))
    f = lambda x: fnp.multiply(form([x[0], x[-1]]), weights)
    if form in (np.array, np.asarray) and x.dtype not in (np.float64, np.complex128):
        # of these NumPy makes Python objects, which next to `weights` promote otherwise
        with pytest.raises(fg.errors.UnsupportedCallError):
            fg.vjp(f, x)
    else:
        check(f, x)


@derandomized(200)
@given(st.data())
def test_byte_order(data):
    """An array in the other byte order has values and a gradient in that byte order."""
    x = data.draw(arrays(shapes(1, 2), 0.4, 1.6, REAL))
    x = x.astype(x.dtype.newbyteorder(">"))
    options = [
        np.sin,
        np.sum,
        lambda x: x * 2.0,
        lambda x: x[::-1],
        lambda x: x.T,
        lambda x: x @ x.T,
    ]
    options += [lambda x: x[np.array([], int)], lambda x: np.cumsum(x), lambda x: x + x, np.copy]
    check(data.draw(st.sampled_from(options)), x)


@derandomized(200)
@given(st.data())
def test_taking(data):
    x = data.draw(arrays(shapes(1, 3, 1), dtypes=REAL + COMPLEX))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    n = x.shape[axis]
    at = rng.integers(-n, n, data.draw(shapes(0, 2)))
    space = data.draw(st.sampled_from([np, fnp]))
    mode = data.draw(st.sampled_from(["raise", "wrap", "clip"]))
    along = np.argsort(rng.random(x.shape), axis)
    f = data.draw(
        st.sampled_from(
            [
                lambda x: space.take(x, at, axis, mode=mode),
                lambda x: space.take(x, at % x.size),
                lambda x: space.take_along_axis(x, along, axis),
                lambda x: space.compress(np.arange(n) % 2 == 0, x, axis),
                lambda x: x.take(at, axis),
            ]
        )
    )
    check(f, x)


# ------------------------------------------------------------------------------ products


@derandomized(500)
@given(st.data())
def test_products(data):
    n, m, k = (data.draw(EXTENTS) for _ in range(3))
    lead, tail = data.draw(broadcastable_shapes(2))
    s = data.draw(st.sampled_from([np, fnp]))
    options = {
        "matmul": (s.matmul, (*lead, n, m), (*tail, m, k)),
        "vector @ matrix": (s.matmul, (m,), (*tail, m, k)),
        "matrix @ vector": (s.matmul, (*lead, n, m), (m,)),
        "vector @ vector": (lambda x, y: x @ y, (m,), (m,)),
        "dot": (s.dot, (*lead, n, m), (*tail, m, k)),
        "dot with vector": (s.dot, (*lead, m), (m,)),
        "dot with scalar": (s.dot, (*lead, m), ()),
        "inner": (s.inner, (*lead, m), (k, m)),
        "outer": (s.outer, (n, m), (k,)),
        "vdot": (s.vdot, (n, m), (n, m)),
        "kron": (s.kron, (n, m), (k,)),
        "tensordot 1": (lambda x, y: s.tensordot(x, y, 1), (n, m), (m, k)),
        "tensordot 2": (lambda x, y: s.tensordot(x, y, ((0, 1), (1, 0))), (n, m), (m, n)),
        "tensordot 0": (lambda x, y: s.tensordot(x, y, 0), (n,), (m, k)),
        "einsum batch": (
            lambda x, y: s.einsum("...ij,...jk->...ik", x, y),
            (*lead, n, m),
            (*tail, m, k),
        ),
        "einsum implicit": (lambda x, y: s.einsum("ij,jk", x, y), (n, m), (m, k)),
        "einsum transposed": (lambda x, y: s.einsum("ij,kj->ki", x, y), (n, m), (k, m)),
        "einsum sum": (lambda x, y: s.einsum("ij,k->j", x, y), (n, m), (k,)),
        "einsum diagonal": (lambda x, y: s.einsum("ii,i->i", x, y), (n, n), (n,)),
        "einsum trace": (lambda x, y: s.einsum("ii,j->", x, y), (n, n), (m,)),
        "einsum scalar": (lambda x, y: s.einsum("ij,ij->", x, y), (n, m), (n, m)),
    }
    f, one, two = options[data.draw(st.sampled_from(list(options)))]
    kinds = data.draw(st.sampled_from([REAL, REAL[:2] + COMPLEX]))
    x, y = data.draw(arrays(one, dtypes=kinds)), data.draw(arrays(two, dtypes=kinds))
    check(f, x, y, size=f(np.abs(x), np.abs(y)))


PROPERTIES = [test_shapes, test_indexing, test_item_assignment, test_taking, test_products]


@pytest.mark.parametrize("test", PROPERTIES, ids=lambda test: test.__name__[5:])
@derandomized(8)
@given(data=st.data())
def test_native_code(test, data):
    with backend("llvm"):
        test.hypothesis.inner_test(data)
