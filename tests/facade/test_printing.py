"""The text of tensors: fixed texts, and PyTorch's own on arrays that hypothesis makes."""

import contextlib

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from funcgrad.torch import dtypes, printing
from funcgrad.torch.printing import get_printoptions, printoptions, set_printoptions, tensor_text

from .both import ours, theirs

NAMES = (
    "float16", "float32", "float64", "complex64", "complex128",
    "uint8", "int8", "int16", "int32", "int64", "bool",
)  # fmt: skip
DEFAULTS = get_printoptions()


@pytest.fixture(autouse=True)
def options():
    yield
    set_printoptions(**DEFAULTS)
    dtypes.set_default_dtype(dtypes.float32)


def text(values, name="float32", **how):
    return tensor_text(np.asarray(values, name), getattr(dtypes, name), **how)


@pytest.mark.parametrize(
    ("values", "how", "expected"),
    [
        (27.0, {"grad_fn_name": "MeanBackward0"}, "tensor(27., grad_fn=<MeanBackward0>)"),
        (
            np.full((2, 2), 27.0),
            {"grad_fn_name": "MulBackward0"},
            "tensor([[27., 27.],\n        [27., 27.]], grad_fn=<MulBackward0>)",
        ),
        (np.full((2, 2), 4.5), {}, "tensor([[4.5000, 4.5000],\n        [4.5000, 4.5000]])"),
        (np.full((2, 2), 13.5), {}, "tensor([[13.5000, 13.5000],\n        [13.5000, 13.5000]])"),
        ([[0.4, 0.4]], {"requires_grad": True}, "tensor([[0.4000, 0.4000]], requires_grad=True)"),
        ([0.15], {"requires_grad": True}, "tensor([0.1500], requires_grad=True)"),
        (
            [[100.0, 5.0]],
            {"grad_fn_name": "CopySlices"},
            "tensor([[100.,   5.]], grad_fn=<CopySlices>)",
        ),
        ([[3.0, 1.5]], {}, "tensor([[3.0000, 1.5000]])"),
        ([6.0], {}, "tensor([6.])"),
        (1.0, {}, "tensor(1.)"),
        ([0.1, np.nan, -np.inf], {}, "tensor([0.1000,    nan,   -inf])"),
        ([1e-5, 1.0], {}, "tensor([1.0000e-05, 1.0000e+00])"),
        (np.zeros((0, 3)), {}, "tensor([], size=(0, 3))"),
        ([], {"name": "int64"}, "tensor([], dtype=torch.int64)"),
        ([1, -10], {"name": "int16"}, "tensor([  1, -10], dtype=torch.int16)"),
        ([True, False], {"name": "bool"}, "tensor([ True, False])"),
        ([1 - 2j, 0.5], {"name": "complex64"}, "tensor([1.0000-2.j, 0.5000+0.j])"),
        (0.1, {"name": "float64"}, "tensor(0.1000, dtype=torch.float64)"),
        ([1.0], {"prefix": "Sub(", "suffixes": ["a=1"]}, "Sub([1.], a=1)"),
        ([1.0], {"contents": "..."}, "tensor(...)"),
    ],
)
def test_fixed_texts(values, how, expected):
    assert text(values, **how) == expected


def test_of_large_tensors_the_edges_are_shown():
    assert text(np.arange(1001), "int64") == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    x = np.arange(1200.0).reshape(2, 600)
    assert text(x) == (
        "tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 5.9700e+02, 5.9800e+02,\n"
        "         5.9900e+02],\n"
        "        [6.0000e+02, 6.0100e+02, 6.0200e+02,  ..., 1.1970e+03, 1.1980e+03,\n"
        "         1.1990e+03]])"
    )


def test_options():
    set_printoptions(profile="short")
    assert text([0.123456]) == "tensor([0.12])"
    set_printoptions(precision=3, profile="short")
    assert text([0.123456]) == "tensor([0.123])"
    set_printoptions(profile="full")
    assert get_printoptions()["threshold"] == float("inf")
    set_printoptions(profile="default", sci_mode=True)
    assert text([0.5]) == "tensor([5.0000e-01])"
    set_printoptions(edgeitems=2)  # forgets the mode, as PyTorch does
    assert get_printoptions() == {**DEFAULTS, "edgeitems": 2}
    with pytest.raises(RuntimeError), printoptions(precision=1):
        assert text([0.123456]) == "tensor([0.1])"
        raise RuntimeError
    assert get_printoptions() == {**DEFAULTS, "edgeitems": 2}


def test_the_default_dtype_is_not_written():
    dtypes.set_default_dtype(dtypes.float64)
    assert text([0.5], "float64") == "tensor([0.5000])"
    assert text([0.5], "float32") == "tensor([0.5000], dtype=torch.float32)"
    assert text([0.5j], "complex128") == "tensor([0.+0.5000j])"


# Against PyTorch

FLAVOURS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "integral": lambda rng, shape: rng.integers(-1000, 1000, shape),
    "positive": lambda rng, shape: rng.integers(0, 5, shape),
    "tiny": lambda rng, shape: rng.normal(size=shape) * 1e-30,
    "huge": lambda rng, shape: rng.normal(size=shape) * 1e300,
    "large": lambda rng, shape: np.round(rng.normal(size=shape) * 1e9),
    "mixed": lambda rng, shape: rng.normal(size=shape) * 10.0 ** rng.integers(-6, 6, shape),
    "close": lambda rng, shape: 1 + rng.normal(size=shape) * 1e-5,
    "edges": lambda rng, shape: rng.choice([1e-4, 1e8, 1e5, 0.1, 0.5, 2.5, 1000.0], shape),
    "special": lambda rng, shape: rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 3.0], shape),
    "nothing": lambda rng, shape: rng.choice([np.nan, np.inf, 0.0, -0.0], shape),
    "limits": lambda rng, shape: rng.choice([5e-324, 1.7e308, 6e-8, 65504.0, 1e-45], shape),
}
REAL_OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.integers(0, 12),
        "threshold": st.sampled_from([0, 1, 5, 20, 1000, float("inf")]),
        "edgeitems": st.integers(0, 5),
        "linewidth": st.integers(1, 200),
        "profile": st.sampled_from(["default", "short", "full", "another"]),
        "sci_mode": st.booleans(),
    },
)
small_shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)
large_shapes = st.sampled_from(
    [
        (999,),
        (1000,),
        (1001,),
        (7, 150),
        (150, 7),
        (2, 3, 200),
        (4, 4, 8, 9),
        (6, 7, 5, 7),
        (40, 30),
    ]
)


@st.composite
def arrays(draw):
    name = draw(st.sampled_from(NAMES))
    shape = draw(small_shapes | large_shapes)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    make = FLAVOURS[draw(st.sampled_from(sorted(FLAVOURS)))]
    values = make(rng, shape)
    if name.startswith("complex"):
        part = FLAVOURS[draw(st.sampled_from(sorted(FLAVOURS)))](rng, shape)
        values = np.empty(shape, complex)
        values.real, values.imag = make(rng, shape), part
    elif name.startswith(("int", "uint")):
        limits = np.iinfo(name)
        values = rng.integers(limits.min, limits.max, shape, name, endpoint=True)
        values = values // draw(st.sampled_from([1, 10]))
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(name)


@contextlib.contextmanager
def both(torch, default_name, options):
    """The same settings here and there, for a while."""
    try:
        for library in (torch, dtypes):
            library.set_default_dtype(getattr(library, default_name))
        for library in (torch, printing):
            library.set_printoptions(**options)
        yield
    finally:
        for library in (torch, dtypes):
            library.set_default_dtype(library.float32)
        for library in (torch, printing):
            library.set_printoptions(**DEFAULTS)


@pytest.mark.peers
@settings(deadline=None)  # the first call imports half of PyTorch
@given(
    arrays(),
    REAL_OPTIONS,
    st.sampled_from(["none", "leaf", "node"]),
    st.sampled_from(["float32", "float32", "float64", "float16"]),
)
@example(np.ones((0, 2)), {}, "leaf", "float32")
@example(np.ones((3, 2)), {"edgeitems": 0, "threshold": 1}, "node", "float64")
@example(np.ones(3), {"edgeitems": 0}, "node", "float64")
def test_texts_are_torchs(values, options, gradient, default_name):
    torch = pytest.importorskip("torch")
    kind = dtypes.from_numpy_dtype(values.dtype)
    how = {}
    with both(torch, default_name, options):
        tensor = torch.from_numpy(values.copy())
        if gradient != "none" and values.dtype.kind in "fc":
            tensor.requires_grad_()
            how["requires_grad"] = True
            if gradient == "node":
                tensor = tensor.clone()
                how["grad_fn_name"] = "CloneBackward0"
        assert tensor_text(values, kind, **how) == repr(tensor)
        assert get_printoptions() == torch._tensor_str.get_printoptions()


@pytest.mark.peers
@settings(deadline=None)  # the first call imports half of PyTorch
@given(
    st.sampled_from(["float16", "float32", "float64"]).flatmap(
        lambda name: hnp.arrays(name, hnp.array_shapes(min_dims=0, max_dims=2, min_side=0))
    ),
    REAL_OPTIONS,
)
def test_texts_of_any_floats_are_torchs(values, options):
    torch = pytest.importorskip("torch")
    with both(torch, "float32", options):
        expected = repr(torch.from_numpy(values.copy()))
        assert tensor_text(values, dtypes.from_numpy_dtype(values.dtype)) == expected


BOUNDARIES = {
    "ratio of 1000": [1.5, 1500.0],
    "ratio above 1000": [1.5, 1500.5],
    "largest fixed": [1e8],
    "beyond the largest fixed": [1e8 + 1],
    "smallest fixed": [1e-4],
    "below the smallest fixed": [np.nextafter(1e-4, 0)],
    "ratio beyond the largest number": [5e-324, 1e300],
    "as many as the threshold": np.arange(1000) / 8,
    "one more than the threshold": np.arange(1001) / 8,
    "three edges on both sides": np.arange(1200).reshape(6, 200) / 8,
    "one more than the edges": np.arange(1400).reshape(7, 200) / 8,
    "columns as wide as the edges": np.arange(1200).reshape(200, 6) / 8,
    "zeros of both signs": [0.0, -0.0],
    "zeros beside fractions": [0.0, -0.0, 0.5],
    "halves": [0.5, 1.5, 2.5, 0.00005, 0.00015],
    "no number": [np.nan, np.inf, -np.inf, 0.0],
    "no number beside integers": [np.nan, np.inf, -np.inf, 100.0],
}


@pytest.mark.peers
@pytest.mark.parametrize("values", BOUNDARIES.values(), ids=BOUNDARIES)
@pytest.mark.parametrize("name", ["float32", "float64", "complex64", "complex128"])
def test_texts_at_the_boundaries_are_torchs(name, values):
    torch = pytest.importorskip("torch")
    with np.errstate(over="ignore"):
        x = np.asarray(values).astype(name)
    assert text(x, name) == repr(torch.from_numpy(x.copy()))
    if x.dtype.kind == "c":
        x.real, x.imag = x.real[::-1].copy(), -x.real
        assert text(x, name) == repr(torch.from_numpy(x.copy()))


@pytest.mark.peers
@pytest.mark.parametrize("name", ["float32", "int64", "bool", "complex64"])
def test_rows_break_where_torchs_do(name):
    torch = pytest.importorskip("torch")
    x = (np.arange(40).reshape(2, 20) / (3 if name in ("float32", "complex64") else 1)).astype(name)
    for width in range(1, 130):
        with both(torch, "float32", {"linewidth": width}):
            assert text(x, name) == repr(torch.from_numpy(x.copy())), width


@pytest.mark.peers
@pytest.mark.parametrize("size", [1, 2, 8, 9, 30])
def test_suffixes_break_where_torchs_do(size):
    torch = pytest.importorskip("torch")
    x = np.linspace(0, 1, size)
    for length in range(1, 90):
        sub = type("S" * length, (torch.Tensor,), {})
        tensor = torch.from_numpy(x).as_subclass(sub).requires_grad_()
        how = {"prefix": f"{sub.__name__}(", "requires_grad": True}
        assert tensor_text(x, dtypes.float64, **how) == repr(tensor)
        contents = "x" * length + "\n" * (size % 2) + "y" * (length // 2)
        assert tensor_text(x, dtypes.float64, contents=contents, **how) == tensor.__repr__(
            tensor_contents=contents
        )


@pytest.mark.peers
def test_tangents_are_torchs():
    torch = pytest.importorskip("torch")
    ad = torch.autograd.forward_ad
    x = np.arange(3.0, dtype="float32")
    with ad.dual_level():
        expected = repr(ad.make_dual(torch.tensor(x), torch.tensor(2 * x)))
    tangent = tensor_text(2 * x, dtypes.float32)
    assert tensor_text(x, dtypes.float32, suffixes=[f"tangent={tangent}"]) == expected


TRANSFORMED = {
    "grad": lambda t, f: t.func.grad(f)(t.tensor([1.0, 2.5])),
    "vmap": lambda t, f: t.func.vmap(f)(t.ones(2, 3)),
    "vmap of grad": lambda t, f: t.func.vmap(t.func.grad(f))(t.ones(2, 3)),
    "grad of grad": lambda t, f: t.func.grad(lambda x: t.func.grad(f)(x).sum())(t.ones(2)),
    "jvp": lambda t, f: t.func.jvp(f, (t.ones(2),), (t.ones(2),)),
    "vjp": lambda t, f: t.func.vjp(f, t.ones(2, dtype=t.float64)),
    "grad of vmap": lambda t, f: t.func.grad(lambda x: t.func.vmap(f)(x).sum())(t.ones(2, 2)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TRANSFORMED)
def test_inside_transforms(name):
    def said(torch):
        lines = []

        def f(x):
            lines.extend((repr(x), str(x * 2)))
            return (x * x * x).sum()

        TRANSFORMED[name](torch, f)
        return lines

    pytest.importorskip("torch")
    assert said(ours) == said(theirs)
