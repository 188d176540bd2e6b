"""The array API standard (2024.12): its functions, with its parameters, on traced values.

The standard's own test suite is on no package index, so its lists stand here: each call is made
with NumPy, which conforms, and with the namespace that traced values answer with, in each
transform. Values, dtypes and shapes have to be the same.
"""

import itertools
import json
import math
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from amount import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import funcgrad as fg
import funcgrad.numpy as fnp


def words(text):
    return text.split()


UNARY = words("""
    abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1
    floor imag isfinite isinf isnan log log10 log1p log2 logical_not negative
    positive real reciprocal round sign signbit sin sinh sqrt square tan tanh trunc
""")
BINARY = words("""
    add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift
    bitwise_xor copysign divide equal floor_divide greater greater_equal hypot less
    less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply
    nextafter not_equal pow remainder subtract
""")

# Every other function with the parameters of the standard: x and y are real, of shape (3, 4), m is
# symmetric, z complex, v and w vectors, i integers, b bools, s a number.
CALLS = """
clip(x, min=-0.5, max=y)
clip(x, -0.5, None)
all(b, axis=0, keepdims=True)
any(x, axis=(0, 1))
argmax(x, axis=1, keepdims=True)
argmin(x)
argsort(x, axis=0, stable=True)
sort(x, axis=0, stable=True)
nonzero(x > 0)
count_nonzero(x > 0, axis=1, keepdims=True)
searchsorted(sort(v), w, side='right')
where(x > 0, x, y)
where(x > 0, x, 0.0)
max(x, axis=1, keepdims=True)
mean(x, axis=(0, 1), keepdims=True)
min(x)
prod(x, axis=0, dtype=float64)
std(x, axis=1, correction=1)
sum(x, axis=1, dtype=float64, keepdims=True)
var(x, correction=1.0, keepdims=True)
cumulative_sum(x, axis=1, dtype=float64, include_initial=True)
cumulative_prod(x, axis=0, include_initial=True)
diff(x, axis=1, n=2)
diff(x, axis=0, prepend=y[:1], append=y[:2])
broadcast_arrays(v, x)
broadcast_to(v, (3, 4))
concat((x, y), axis=1)
concat((x, y), axis=None)
expand_dims(x, axis=1)
flip(x, axis=(0, 1))
moveaxis(x, 0, -1)
permute_dims(x, axes=(1, 0))
repeat(x, 2, axis=1)
repeat(v, i[0] % 3)
reshape(x, (2, -1), copy=True)
roll(x, (1, 2), axis=(0, 1))
squeeze(x[:1], axis=0)
stack([x, y], axis=-1)
tile(x, (2, 1))
unstack(x, axis=1)
tril(x, k=1)
triu(x, k=-1)
meshgrid(v, w, indexing='ij')
matmul(x, y.T)
matrix_transpose(x)
tensordot(x, y, axes=((0, 1), (0, 1)))
tensordot(x, m @ x, axes=((0,), (0,)))
vecdot(x, y, axis=0)
vecdot(z, z)
take(x, i[0] % 4, axis=1)
take_along_axis(x, i % 3, axis=0)
astype(x, float32, copy=True)
astype(x, complex128)
can_cast(x.dtype, float32)
isdtype(x.dtype, ('real floating', 'complex floating'))
result_type(x, float32)
result_type(x, 1.0)
isin(x, y[0])
unique_all(v)
unique_counts(v)
unique_inverse(v)
unique_values(x)
asarray(x, dtype=float32)
asarray(x, copy=True)
asarray([s, 2.0 * s])
empty_like(x).shape
full_like(x, 2.0)
full((2, 3), s)
ones_like(x, dtype=float32)
zeros_like(x)
linspace(s, 2.0, 5, endpoint=False)
linspace(0.0, s, 3, dtype=float64)
arange(0.0, 3.0, 0.5)
eye(3, 4, k=1)
x.mT
x.T
x.shape
x.ndim
x.size
x.device
x.dtype
x.to_device('cpu')
linalg.cholesky(m, upper=True)
linalg.cross(x[:, :3], y[:, :3], axis=-1)
linalg.det(m)
linalg.diagonal(x, offset=1)
linalg.eigh(m).eigenvalues
linalg.eigvalsh(m)
linalg.eig(m + 0j).eigenvalues
linalg.eigvals(m + 0j)
linalg.inv(m)
linalg.matmul(m, x)
linalg.matrix_norm(x, keepdims=True, ord='fro')
linalg.matrix_norm(x, ord='nuc')
linalg.matrix_norm(x, ord=1)
linalg.matrix_power(m, -2)
linalg.matrix_rank(m)
linalg.matrix_transpose(x)
linalg.outer(v, w)
linalg.pinv(x, rtol=1e-10)
linalg.qr(m, mode='reduced').R
linalg.slogdet(m)
linalg.solve(m, x)
linalg.solve(m, v[:3])
linalg.svd(x, full_matrices=False).S
linalg.svdvals(x)
linalg.tensordot(x, y, axes=2)
linalg.trace(m, offset=1, dtype=float64)
linalg.vecdot(x, y, axis=0)
linalg.vector_norm(x, axis=1, keepdims=True, ord=3)
linalg.vector_norm(x)
fft.fft(z, n=5, axis=0, norm='ortho')
fft.ifft(z)
fft.fftn(z, s=(2, 3), axes=(0, 1), norm='forward')
fft.ifftn(z)
fft.rfft(x, n=6)
fft.irfft(z, axis=0)
fft.rfftn(x, axes=(0,))
fft.irfftn(z)
fft.hfft(z, n=5)
fft.ihfft(x)
fft.fftshift(x, axes=0)
fft.ifftshift(x)
""".strip().splitlines()
CONSTANTS = ["e", "inf", "nan", "newaxis", "pi"]
DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
)
PLAIN = words("""
    arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid
    ones ones_like tril triu zeros zeros_like astype can_cast finfo iinfo isdtype
    result_type broadcast_shapes __array_namespace_info__
""")

RNG = np.random.default_rng(0)
M = RNG.normal(size=(3, 3))
REAL = {
    "x": RNG.normal(size=(3, 4)),
    "y": RNG.normal(size=(3, 4)),
    "m": M @ M.T + 3 * np.eye(3),
    "z": RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4)),
    "v": RNG.normal(size=4),
    "w": RNG.normal(size=4),
    "s": np.float64(0.7),
}
FIXED = {"i": np.arange(12).reshape(3, 4), "b": np.arange(12).reshape(3, 4) % 3 > 0}


def called(call, xp, values):
    """The value of a call, in which names of functions are those of the namespace `xp`."""
    return eval(call, {"__builtins__": {}}, _Names(xp, values))


class _Names(dict):
    def __init__(self, xp, values):
        super().__init__(values)
        self.xp = xp

    def __missing__(self, name):
        return getattr(self.xp, name)


def plain_leaves(y):
    return [fg.value(leaf) if isinstance(leaf, fg.core.tracer.Operand) else leaf
            for leaf in fg.tree.leaves(y)]  # fmt: skip


def version():
    """What NumPy's arrays take: NumPy 2.5 names a version that they refuse."""
    try:
        np.empty(0).__array_namespace__(api_version=np.__array_api_version__)
    except ValueError:
        return "2024.12"
    return np.__array_api_version__


VERSION = version()


def namespaced(call):
    """The call as a function of the traced values alone, in the namespace of one of them."""

    def f(values):
        xp = values["x"].__array_namespace__(api_version=VERSION)
        assert xp is fnp
        return called(call, xp, {**values, **FIXED})

    return f


def same(found, wanted, exact=True):
    found, wanted = fg.tree.leaves(found), fg.tree.leaves(wanted)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        if isinstance(b, (str, np.dtype, type, bool, int)):
            assert a == b
            continue
        assert np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype
        if exact:
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("call", CALLS)
def test_calls_of_the_standard_on_traced_values(call):
    wanted = called(call, np, {**REAL, **FIXED})
    seen = []

    def f(values):
        out = namespaced(call)(values)
        seen.append(plain_leaves(out))
        return 0.0 * fnp.sum(values["x"])

    with np.errstate(all="ignore"):
        fg.grad(f)(REAL)
        same(seen.pop(), plain_leaves(wanted))
        fg.jvp(f, (REAL,), (REAL,))
        same(seen.pop(), plain_leaves(wanted))


LARGEST = np.array([[3.0, 1.0, 2.0, 1.0, np.nan], [0.0, -0.0, 5.0, 5.0, -1.0]])
BEYOND = {  # what the standard has and NumPy lacks -> the same of NumPy
    "sort(x, descending=True)": lambda x: np.flip(np.sort(x), -1),
    "sort(x, axis=0, descending=True, stable=True)": lambda x: np.flip(np.sort(x, axis=0), 0),
    "sort(x, axis=None, descending=True)": lambda x: np.sort(x, axis=None)[::-1],
    "argsort(x, descending=True)": lambda x: np.array([[4, 0, 2, 1, 3], [2, 3, 0, 1, 4]]),
    "argsort(x, axis=0, descending=False)": lambda x: np.argsort(x, axis=0),
    "clip(x, 1.0)": lambda x: np.clip(x, 1.0, None),
    "clip(x, 1.0, max=2.0)": lambda x: np.clip(x, 1.0, 2.0),
}


@pytest.mark.parametrize("call", BEYOND)
def test_parameters_of_the_standard_that_numpy_lacks(call):
    """SciPy takes them from wrappers of NumPy, which the traced values' namespace has not."""

    def f(x):
        return called(call, fnp, {"x": x})

    def traced(x):
        seen.append(fg.value(f(x)))
        return 0.0 * fnp.sum(x)

    for x in (LARGEST, np.array([[2, 1, 2, 1], [5, 5, 0, 3]])):
        wanted, seen = BEYOND[call](x), []
        if x is LARGEST or not call.startswith("argsort(x, descending"):
            assert f(x).dtype == wanted.dtype
            np.testing.assert_array_equal(f(x), wanted)
    for run in (fg.grad, lambda f: lambda x: fg.jvp(f, (x,), (x,))):
        run(traced)(LARGEST)
        same(seen.pop(), BEYOND[call](LARGEST))
    same(fg.jit(f)(LARGEST), BEYOND[call](LARGEST))
    both = fg.vmap(f)(np.stack([LARGEST, 2.0 - LARGEST]))
    same(both[0], BEYOND[call](LARGEST))


def test_the_derivative_of_the_largest_goes_to_the_largest():
    x = np.array([0.3, 2.0, 0.7])
    g = fg.grad(lambda x: fnp.sort(x, descending=True) @ np.array([1.0, 2.0, 3.0]))(x)
    np.testing.assert_array_equal(g, [3.0, 1.0, 2.0])


# What is an answer about a value, or has a shape that depends on it, is no result of these.
ABOUT = ("x.", "can_", "isd", "unique", "result", "nonzero", "repeat(v", "empty")


@pytest.mark.parametrize("call", [c for c in CALLS if not c.startswith(ABOUT)])
def test_calls_of_the_standard_under_jit_and_vmap(call):
    wanted = called(call, np, {**REAL, **FIXED})
    with np.errstate(all="ignore"):
        same(fg.jit(namespaced(call))(REAL), wanted, exact=False)
        if not call.startswith(("arange", "eye")):
            two = {k: np.stack([x, x]) for k, x in REAL.items()}
            rows = fg.vmap(namespaced(call))(two)
            same(fg.tree.map(lambda r: r[1], rows), wanted, exact=False)


def test_every_name_of_the_standard_is_there():
    assert fg.grad(lambda x: float(x.__array_namespace__() is fnp) * x)(1.0) == 1.0
    for name in (*UNARY, *BINARY, *CONSTANTS, *DTYPES.split(), *PLAIN):
        assert hasattr(fnp, name), name
    assert fnp.__array_namespace_info__().default_device() == "cpu"
    assert fnp.finfo(fnp.float32).eps == np.finfo(np.float32).eps


def test_namespaces_of_other_versions_are_refused_as_numpy_does():
    with pytest.raises(ValueError, match="is not supported"):
        fg.grad(lambda x: x.__array_namespace__(api_version="1999.01"))(1.0)


def test_devices():
    def f(x):
        assert x.device == "cpu" and x.to_device("cpu") is x
        with pytest.raises(ValueError, match="Unsupported device"):
            x.to_device("cuda")
        with pytest.raises(ValueError, match="stream"):
            x.to_device("cpu", stream=1)
        with pytest.raises(fg.errors.TracerConversionError, match="__dlpack__"):
            np.from_dlpack(x)
        return x.sum()

    fg.grad(f)(np.ones(2))


def test_asarray_of_a_list_is_new_and_may_be_written_into():
    plain = np.ones(3)

    def f(x):
        assert fnp.asarray(plain) is plain
        y = fnp.asarray([1.0, 2.0])
        y[0] = x
        return (y * y).sum()

    assert fg.grad(f)(3.0) == 6.0 == fg.jit(fg.grad(f))(3.0)


# ------------------------------------------------------------------------- elementwise functions

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e300, 1e-310, math.inf, -math.inf, math.nan]
KINDS = words("""
    bool int8 int64 uint16 float32 float64 complex64 complex128
""")


def numbers(dtype):
    kind = np.dtype(dtype).kind
    if kind in "fc":
        parts = st.sampled_from(SPECIAL)
        return parts if kind == "f" else st.builds(complex, parts, parts)
    return st.booleans() if kind == "b" else st.integers(0 if kind == "u" else -7, 7)


def _cast(x, dtype):
    return np.asarray(x).astype(dtype)[()]


@st.composite
def arrays(draw, count):
    """Arrays of shapes that broadcast, of dtypes that the standard promotes."""
    dtypes = [draw(st.sampled_from(KINDS))]
    while len(dtypes) < count:
        dtypes.append(draw(st.sampled_from([d for d in KINDS if d == dtypes[0]] + ["float64"])))
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=count, max_dims=3, max_side=3))
    with np.errstate(all="ignore"):
        return [
            draw(hnp.arrays(d, s, elements=numbers(d).map(lambda x, d=d: _cast(x, d))))
            for d, s in zip(dtypes, shapes.input_shapes, strict=True)
        ]  # fmt: skip


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
@given(data=st.data())
@settings(max_examples=examples(24), deadline=None)
def test_elementwise_functions_at_special_values(name, data):
    xs = data.draw(arrays(1 if name in UNARY else 2))
    with np.errstate(all="ignore"):
        try:
            wanted = getattr(np, name)(*xs)
        except (TypeError, ValueError):  # a dtype or a power that the function does not have
            return
        same(getattr(fnp, name)(*xs), wanted)
        inexact = [k for k, x in enumerate(xs) if x.dtype.kind in "fc"]
        for k in itertools.chain.from_iterable(
            itertools.combinations(inexact, r) for r in range(1, len(inexact) + 1)
        ):
            seen = []

            def f(*moved, k=k, seen=seen):
                args = list(xs)
                for j, x in zip(k, moved, strict=True):
                    args[j] = x
                seen.append(fg.value(getattr(moved[0].__array_namespace__(), name)(*args)))
                return fnp.zeros(())

            fg.vjp(f, *(xs[j] for j in k))
            same(seen[0], wanted)


# ---------------------------------------------------------------------------- SciPy's functions


def test_scipys_functions_for_any_array_library(request):
    pytest.importorskip("scipy", minversion="1.17")
    program = pathlib.Path(__file__).parent.parent / "scipy" / "array_api_calls.py"
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": str(request.config.rootpath)}
    out = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, env=environment, check=True
    )
    found = json.loads(out.stdout)
    assert [name for name, what in found.items() if what.startswith(("wrong", "another"))] == []
    right = {name for name, what in found.items() if what in ("right", "constant")}
    page = pathlib.Path(__file__).parent.parent.parent / "docs" / "array_api.md"
    rows = [r.split("|")[1:-1] for r in page.read_text().splitlines() if r.startswith("| `scipy.")]
    for module, count, total, without in ([c.strip(" `–") for c in row] for row in rows):
        mine = {n for n in found if n.rpartition(".")[0] == module}
        listed = {f"{module}.{n.strip(' `')}" for n in without.split(",") if n}
        assert mine - right <= listed and (int(count), int(total)) == (
            len(mine) - len(listed), len(mine)
        )  # fmt: skip
    assert {n.rpartition(".")[0] for n in found} == {row[0].strip(" `") for row in rows}
