"""Every sample of every record in native code, with its derivatives, against the interpreter."""

import numpy as np
import pytest
from native import assert_close, check, coarsest

import funcgrad as fg
import funcgrad.lax
import funcgrad.numpy
import funcgrad.torch
from funcgrad.compile.execute import executable
from funcgrad.core.primitive import PRIMITIVES
from funcgrad.core.tracer import bind, type_of
from funcgrad.graph.interpret import evaluate

# but for those that other tests add in the same process
RECORDS = {
    name: prim
    for name, prim in PRIMITIVES.items()
    if not name.startswith(("numba.", "test_", "special_"))  # of tests, and of SciPy
}
SAMPLES = [
    pytest.param(prim, s, id=f"{name}-{k}")
    for name, prim in sorted(RECORDS.items())
    if prim.sample is not None and prim.form != "higher_order"
    for k, s in enumerate(prim.sample())
]


@pytest.mark.parametrize(("prim", "sample"), SAMPLES)
def test_values(prim, sample):
    def f(*xs):
        return bind(prim, xs, sample.params)

    args = [np.asarray(a) if isinstance(a, np.ndarray) else a for a in sample.args]
    check(fg.make_graph(f)(*args), *args, ulp=32)


def real_weight(leaf):
    """Squares, each weighed otherwise: the plain sum of those of a normalised row is constant."""
    y = np.real(leaf) + np.imag(leaf) if type_of(leaf).dtype.kind == "c" else leaf
    kind = type_of(y)
    weights = np.linspace(0.5, 1.5, kind.size, dtype=kind.dtype if kind.dtype.kind == "f" else None)
    return np.sum(y * y * weights.reshape(kind.shape)) if kind.dtype.kind == "f" else 0.0


@pytest.mark.parametrize(("prim", "sample"), SAMPLES)
def test_gradients(prim, sample):
    if not prim.differentiable:
        pytest.skip("locally constant")
    which = tuple(
        k for k, a in enumerate(sample.args) if type_of(a).dtype.kind == "f" and np.size(a)
    )
    outputs = prim.type_rule([type_of(a) for a in sample.args], sample.params)
    kinds = {t.dtype.kind for t in (outputs if prim.multiple else (outputs,))}
    if not which or not kinds & set("fc"):
        pytest.skip("nothing to differentiate")

    def loss(*xs):
        return sum(real_weight(leaf) for leaf in fg.tree.leaves(bind(prim, xs, sample.params)))

    check(fg.make_graph(fg.grad(loss, which))(*sample.args), *sample.args, ulp=4096)


def layouts(x):
    """The same numbers, laid out otherwise in memory."""
    back = (slice(None, None, -1),) * x.ndim
    yield x[back].copy()[back]
    yield np.repeat(x, 2, axis=-1)[..., ::2]
    yield np.asfortranarray(x)
    window = np.zeros(tuple(n + 2 for n in x.shape), x.dtype)[(slice(1, -1),) * x.ndim]
    window[...] = x
    yield window
    yield np.frombuffer(b"." + x.tobytes(), x.dtype, x.size, 1).reshape(x.shape)  # misaligned
    yield x.astype(x.dtype.newbyteorder("S"))


def repeated(x):
    """Other numbers: the first ones along each axis in turn, with steps of no bytes."""
    for axis in range(x.ndim):
        yield np.broadcast_to(x[(slice(None),) * axis + (slice(0, 1),)], x.shape)


LAID_OUT = [
    pytest.param(prim, sample, id=f"{name}-{k}")
    for name, prim in sorted(RECORDS.items())
    if prim.sample is not None and prim.form != "higher_order"
    for k, sample in enumerate(prim.sample()[:4])
    if any(isinstance(a, np.ndarray) and a.ndim and a.size for a in sample.args)
]


@pytest.mark.parametrize(("prim", "sample"), LAID_OUT)
def test_layouts(prim, sample):
    def f(*xs):
        return bind(prim, xs, sample.params)

    jitted = fg.jit(f)
    arrays = [k for k, a in enumerate(sample.args) if isinstance(a, np.ndarray) and a.size]
    arrays = [k for k in arrays if sample.args[k].ndim]
    ways = [list(zip(*(layouts(sample.args[k]) for k in arrays), strict=True))]
    if prim.form == "elementwise":  # others need more of their operands than a shape
        ways.append(list(zip(*(repeated(sample.args[k]) for k in arrays), strict=False)))
    for laid_out in (way for some in ways for way in some):
        args = list(sample.args)
        for k, x in zip(arrays, laid_out, strict=True):
            args[k] = x
        graph = fg.make_graph(f)(*args)
        with np.errstate(all="ignore"):
            want = evaluate(graph, *args)
        for g, w in zip(fg.tree.leaves(jitted(*args)), want, strict=True):
            assert_close(g, w, 64, coarsest(graph))


def takes_floats(prim):
    try:
        prim.ufunc.resolve_dtypes((np.dtype(float),) * prim.ufunc.nin + (None,))
    except TypeError:
        return False
    return prim.name not in ("polygamma", "zeta")  # of a whole order


ELEMENTWISE = sorted(
    name for name, prim in RECORDS.items() if prim.form == "elementwise" and takes_floats(prim)
)
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, 1.5, 100.3]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_every_combination_of_special_values(name, dtype):
    """NaN, infinities and the signs of zeros are NumPy's; denormals and the largest numbers too."""
    sample = PRIMITIVES[name].sample()[0]
    limits = np.finfo(dtype)
    ends = [limits.max, limits.tiny, limits.smallest_subnormal]
    values = np.array([*SPECIAL, *ends, *(-x for x in ends)], dtype)
    values = values if len(sample.args) < 3 else values[:9]
    args = [g.ravel() for g in np.meshgrid(*[values] * len(sample.args), indexing="ij")]
    graph = fg.make_graph(lambda *xs: bind(PRIMITIVES[name], xs, sample.params))(*args)
    with np.errstate(all="ignore"):
        (want,) = evaluate(graph, *args)
    (got,) = executable(graph)(*args)
    assert got.dtype == want.dtype
    if want.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want)
        return
    small = 8 * limits.eps if name in ("lgamma", "digamma") else 4 * limits.smallest_subnormal
    np.testing.assert_allclose(got, want, 64 * limits.eps, small)  # those two cancel at their zeros
    zero = (got == 0) & (name != "scale")  # whose zeros have the sign of one operand or of both
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))
