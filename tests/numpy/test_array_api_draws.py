"""The array API standard's functions on arrays of any shape and dtype, in each transform.

NumPy says the values; a gradient has the type of its operand and a tangent that of its value.
Without axes, without elements, and beside numbers and integers is where they go wrong.
"""

import math

import numpy as np
import pytest
from amount import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import funcgrad as fg
import funcgrad.numpy as fnp

DTYPES = ("float32", "float64", "complex64", "complex128", "float16")
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3)
FLOATS = st.sampled_from([0.0, -0.0, 1.0, -2.5, 0.75, 3.0, math.inf, -math.inf, math.nan])


def one_axis(draw, x, more=()):
    assume(x.ndim or None in more)
    axes = [*range(-x.ndim, x.ndim), *more]
    return draw(st.sampled_from(axes))


def axes(draw, x):
    """None, one axis, or some of them."""
    if not x.ndim:
        return draw(st.sampled_from([None, ()]))
    return draw(
        st.none() | st.integers(-x.ndim, x.ndim - 1) | hnp.valid_tuple_axes(x.ndim, min_size=0)
    )


def reduced(draw, x):
    return (), {"axis": axes(draw, x), "keepdims": draw(st.booleans())}


def extreme(draw, x):
    assume(x.size and x.dtype.kind == "f")
    return reduced(draw, x)


def whole(draw, n, dtype=np.int64):
    """Integers below n, of which some count from the end."""
    sides = hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=3)
    return draw(hnp.arrays(dtype, draw(sides), elements=st.integers(-n, n - 1)))


def number(draw):
    return draw(st.sampled_from([0.0, -1.5, 2, True, 1]))


def flip(draw, x):
    return (), {"axis": axes(draw, x)}


def roll(draw, x):
    axis = one_axis(draw, x, (None,))
    return (draw(st.integers(-5, 5)),), {"axis": axis}


def expand_dims(draw, x):
    return (), {"axis": draw(st.integers(-x.ndim - 1, x.ndim))}


def squeeze(draw, x):
    units = [k for k, n in enumerate(x.shape) if n == 1]
    return (tuple(draw(st.lists(st.sampled_from(units), unique=True))) if units else (),), {}


def permute_dims(draw, x):
    return (tuple(draw(st.permutations(range(x.ndim)))),), {}


def moveaxis(draw, x):
    return (one_axis(draw, x), one_axis(draw, x)), {}


def reshape(draw, x):
    shape = [n for n in draw(st.permutations(x.shape)) if n != 1 or draw(st.booleans())]
    if shape and x.size and draw(st.booleans()):
        shape[draw(st.integers(0, len(shape) - 1))] = -1
    return (tuple(shape),), {}


def repeat(draw, x):
    axis = one_axis(draw, x, (None,))
    n = x.size if axis is None else x.shape[axis]
    several = hnp.arrays(np.int64, (n,), elements=st.integers(0, 2))
    return (draw(st.integers(0, 2) | several),), {"axis": axis}


def tile(draw, x):
    return (tuple(draw(st.lists(st.integers(0, 2), max_size=3))),), {}


def along(draw, x):
    return (), {"axis": one_axis(draw, x)}


def take(draw, x):
    axis = one_axis(draw, x)
    assume(x.shape[axis])
    return (whole(draw, x.shape[axis]),), {"axis": axis}


def take_along_axis(draw, x):
    axis = one_axis(draw, x)
    assume(x.shape[axis])
    shape = list(x.shape)
    shape[axis] = draw(st.integers(0, 4))
    chosen = hnp.arrays(np.int64, tuple(shape), elements=st.integers(0, x.shape[axis] - 1))
    return (draw(chosen),), {"axis": axis}


def cumulative(draw, x):
    return (), {"axis": one_axis(draw, x), "include_initial": draw(st.booleans())}


def diff(draw, x):
    axis = one_axis(draw, x)
    ends = {k: x for k in ("prepend", "append") if draw(st.booleans())}
    return (), {"axis": axis, "n": draw(st.integers(0, 3)), **ends}


def ordered(draw, x):
    return (), {"axis": one_axis(draw, x), "stable": True}


def triangle(draw, x):
    assume(x.ndim >= 2)
    return (), {"k": draw(st.integers(-3, 3))}


def broadcast_to(draw, x):
    lead = draw(st.lists(st.integers(0, 2), max_size=2))
    return ((*lead, *(2 if n == 1 and draw(st.booleans()) else n for n in x.shape)),), {}


def matrices(draw, x):
    assume(x.ndim >= 2)
    return (), {}


def nothing(draw, x):
    return (), {}


def clip(draw, x):
    assume(x.dtype.kind == "f")
    return (), {draw(st.sampled_from(["min", "max"])): number(draw)}


FUNCTIONS = {
    **dict.fromkeys(["sum", "prod", "mean", "std", "var", "all", "any"], reduced),
    **dict.fromkeys(["max", "min"], extreme),
    **dict.fromkeys(["cumulative_sum", "cumulative_prod"], cumulative),
    **dict.fromkeys(["sort", "argsort"], ordered),
    **dict.fromkeys(["tril", "triu"], triangle),
    **dict.fromkeys(["unique_values", "abs", "sign", "positive", "square", "real"], nothing),
    "broadcast_to": broadcast_to,
    "clip": clip,
    "diff": diff,
    "expand_dims": expand_dims,
    "flip": flip,
    "matrix_transpose": matrices,
    "moveaxis": moveaxis,
    "permute_dims": permute_dims,
    "repeat": repeat,
    "reshape": reshape,
    "roll": roll,
    "squeeze": squeeze,
    "take": take,
    "take_along_axis": take_along_axis,
    "tile": tile,
    "unstack": along,
}


@st.composite
def arrays(draw):
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    parts = FLOATS if dtype.kind == "f" else st.builds(complex, FLOATS, FLOATS)
    return draw(hnp.arrays(dtype, draw(SHAPES), elements=parts))


def results(y):
    return list(y) if isinstance(y, tuple) else [y]


def same(found, wanted, exact=True):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype
        if exact:
            np.testing.assert_array_equal(a, b)
            if np.asarray(b).dtype.kind == "f":
                number = np.equal(b, b)
                np.testing.assert_array_equal(np.signbit(a)[number], np.signbit(b)[number])
        else:
            close = (
                64 * np.finfo(np.asarray(b).dtype).eps if np.asarray(b).dtype.kind in "fc" else 0
            )
            np.testing.assert_allclose(a, b, rtol=close, atol=close)


def check(f, x, jit=True):
    """Values, gradients' and tangents' types of ``f(namespace, x)``."""
    wanted = results(f(np, x.copy()))
    moving = [np.asarray(w).dtype.kind in "fc" for w in wanted]
    seen = []

    def g(x):
        y = results(f(fnp, x))
        seen[:] = map(fg.value, y)
        return tuple(v for v, m in zip(y, moving, strict=True) if m)

    outs, pull = fg.vjp(g, x)
    same(seen, wanted)
    (gradient,) = pull(tuple(map(np.ones_like, outs)))
    assert np.shape(gradient) == x.shape and gradient.dtype == x.dtype
    values, tangents = fg.jvp(g, (x,), (np.ones_like(x),))
    same(seen, wanted)
    for y, t in zip(values, tangents, strict=True):
        assert np.shape(t) == np.shape(y) and np.asarray(t).dtype == np.asarray(y).dtype
    if jit:
        same(results(fg.jit(lambda x: f(fnp, x))(x)), wanted, exact=False)


def drawn(test):
    return settings(max_examples=examples(30), deadline=None)(
        given(x=arrays(), data=st.data())(test)
    )


@pytest.mark.parametrize("name", FUNCTIONS)
@drawn
def test_functions_of_one_array(name, x, data):
    more, keywords = FUNCTIONS[name](data.draw, x)
    with np.errstate(all="ignore"):
        check(
            lambda m, x: getattr(m, name)(x, *more, **keywords),
            x,
            # compiled, distinct elements are in order, and float16 is computed in float32
            jit=name != "unique_values" and (x.dtype != np.float16 or not name.startswith("c")),
        )


OTHERS = (np.bool_, np.int8, np.uint16, np.float32, np.complex64)
PAIRS = {
    "where": lambda m, c, x, y: m.where(c, x, y),
    "where not": lambda m, c, x, y: m.where(c, y, x),
    "concat": lambda m, c, x, y: m.concat([m.reshape(x, (-1,)), m.asarray([y])]),
    "concat all": lambda m, c, x, y: m.concat([x, m.full(x.shape, y)], axis=None),
    "stack": lambda m, c, x, y: m.stack([x, m.full(x.shape, y)], axis=-1),
    "multiply": lambda m, c, x, y: m.multiply(x, y),
    "add": lambda m, c, x, y: m.add(y, x),
}


@pytest.mark.parametrize("name", PAIRS)
@drawn
def test_functions_of_an_array_and_what_does_not_move(name, x, data):
    c = data.draw(hnp.arrays(np.bool_, x.shape))
    y = data.draw(st.sampled_from([0.0, 1, True, *(d(1) for d in OTHERS)]))
    with np.errstate(all="ignore"):
        check(lambda m, x: PAIRS[name](m, c, x, y), x, jit=x.dtype != np.float16)


@drawn
def test_indices(x, data):
    key = data.draw(hnp.basic_indices(x.shape, allow_newaxis=True))
    check(lambda m, x: x[key], x)


@drawn
def test_writes(x, data):
    key = data.draw(hnp.basic_indices(x.shape, allow_newaxis=False))
    value = data.draw(st.sampled_from([0.0, 2, True, np.int8(1), np.float32(0.5)]))

    def f(m, x):
        y = m.array(x, copy=True)
        y[key] = value
        return y

    check(f, x)
