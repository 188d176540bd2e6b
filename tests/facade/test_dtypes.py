"""The dtypes: against fixed values, and against PyTorch for all pairs and categories."""

import copy
import itertools
import pickle

import numpy as np
import pytest

from funcgrad.torch import dtypes
from funcgrad.torch.dtypes import Operand

NAMES = (
    "float16", "float32", "float64", "complex64", "complex128",
    "uint8", "int8", "int16", "int32", "int64", "bool",
)  # fmt: skip
ALIASES = {
    "half": "float16", "float": "float32", "double": "float64",
    "cfloat": "complex64", "cdouble": "complex128",
    "short": "int16", "int": "int32", "long": "int64",
}  # fmt: skip
FLOATING = ("float16", "float32", "float64")
NUMBERS = {"bool": True, "int64": 2, "float64": 2.0, "complex128": 2j}

every = pytest.mark.parametrize("name", NAMES)


def ours(name):
    return getattr(dtypes, name)


@pytest.fixture
def torch():
    torch = pytest.importorskip("torch")
    yield torch
    torch.set_default_dtype(torch.float32)


@pytest.fixture(autouse=True)
def default():
    yield
    dtypes.set_default_dtype(dtypes.float32)


def outcome(function, *args):
    """A result or an error as text, in which PyTorch's complex32 is complex64."""
    try:
        return repr(function(*args)).replace("complex32", "complex64")
    except (TypeError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"


@every
def test_singletons(name):
    kind = ours(name)
    assert repr(kind) == str(kind) == f"torch.{name}"
    assert kind.numpy == np.dtype(name)
    assert pickle.loads(pickle.dumps(kind)) is kind
    assert copy.copy(kind) is copy.deepcopy([kind])[0] is kind
    assert {kind: 1}[kind] == 1
    assert dtypes.from_numpy_dtype(np.zeros(2, name).dtype) is kind
    assert dtypes.from_type_name(dtypes.type_name(kind)) is kind


def test_aliases():
    for alias, name in ALIASES.items():
        assert ours(alias) is ours(name)


def test_dtypes_can_be_neither_made_nor_changed():
    with pytest.raises(TypeError, match=r"(?m)^cannot create 'torch.dtype' instances$"):
        dtypes.dtype()
    with pytest.raises(AttributeError, match=r"'is_signed' of 'torch.dtype' objects is not writ"):
        dtypes.int8.is_signed = False
    with pytest.raises(AttributeError, match=r"'torch.dtype' object has no attribute 'color'"):
        dtypes.int8.color = "red"


def test_numpy_dtypes_of_equal_layout_are_found():
    assert dtypes.from_numpy_dtype(np.longlong) is dtypes.int64
    assert dtypes.from_numpy_dtype("=f4") is dtypes.float32


@pytest.mark.parametrize("held", [np.uint16, np.clongdouble, "U3", "O", "M8[s]", "i4,i4"])
def test_numpy_dtypes_that_are_not_supported(held):
    message = r"^can't convert np.ndarray of type numpy\.\w+\. The only supported types are: float6"
    with pytest.raises(TypeError, match=message):
        dtypes.from_numpy_dtype(held)


def test_foreign_byte_order():
    with pytest.raises(ValueError, match="has byte order different from the native byte order"):
        dtypes.from_numpy_dtype(np.dtype("f4").newbyteorder())


def test_default():
    assert dtypes.get_default_dtype() is dtypes.float32
    for name in FLOATING:
        dtypes.set_default_dtype(ours(name))
        assert dtypes.get_default_dtype() is ours(name)
        assert dtypes.number_dtype(1.0) is ours(name)
        assert dtypes.floating_dtype(dtypes.int8) is ours(name)
        assert dtypes.floating_dtype(dtypes.float16) is dtypes.float16
        assert dtypes.finfo().dtype == name


def test_numbers():
    for value in (True, np.True_):
        assert dtypes.number_dtype(value) is dtypes.bool
    for value in (3, np.uint8(3)):
        assert dtypes.number_dtype(value) is dtypes.int64
    for value in (3.0, np.float64(3)):
        assert dtypes.number_dtype(value) is dtypes.float32
    for value in (3j, np.complex64(3)):
        assert dtypes.number_dtype(value) is dtypes.complex64
    with pytest.raises(TypeError, match="A number is needed, not str"):
        dtypes.number_dtype("3")


def test_no_operands():
    with pytest.raises(ValueError, match="At least one operand is needed"):
        dtypes.result_dtype([])


def test_type_name_that_does_not_exist():
    with pytest.raises(ValueError, match=r"^invalid type: 'torch.FooTensor'$"):
        dtypes.from_type_name("torch.FooTensor")


def test_limits_compare_and_are_not_hashed():
    assert dtypes.finfo(dtypes.float32) == dtypes.finfo(dtypes.complex64)
    assert dtypes.finfo(dtypes.float32) != dtypes.finfo(dtypes.float64)
    assert dtypes.iinfo(dtypes.int8) != 3
    with pytest.raises(TypeError):
        hash(dtypes.iinfo(dtypes.int8))


# Against PyTorch


@pytest.mark.peers
@every
def test_attributes_are_torchs(torch, name):
    a, b = ours(name), getattr(torch, name)
    for attribute in ("is_floating_point", "is_complex", "is_signed", "itemsize", "abbr"):
        assert getattr(a, attribute) == getattr(b, attribute)
    for method in ("to_real", "to_complex"):
        assert outcome(getattr(a, method)) == outcome(getattr(b, method))
    assert dtypes.type_name(a) == torch.zeros(2, dtype=b).type()


@pytest.mark.peers
@every
def test_names_in_messages_are_torchs(torch, name):
    kind = getattr(torch, name)
    if name != "bool":
        message = f"result type {dtypes.scalar_name(ours(name))} can't be cast to the desired"
        with pytest.raises(RuntimeError, match=f"^{message} output type Bool$"):
            torch.ones(2, dtype=torch.bool).add_(torch.ones(2, dtype=kind))
    other = dtypes.int8 if name == "int64" else dtypes.int64
    names = [dtypes.c_name(ours(name)), dtypes.c_name(other)]
    with pytest.raises(RuntimeError) as error:
        torch.ones(2, 2, dtype=kind) @ torch.ones(2, 2, dtype=getattr(torch, str(other)[6:]))
    assert str(error.value).endswith(" != ".join(names))


@pytest.mark.peers
@pytest.mark.parametrize("info", ["finfo", "iinfo"])
@every
def test_limits_are_torchs(torch, info, name):
    a = outcome(getattr(dtypes, info), ours(name))
    assert a == outcome(getattr(torch, info), getattr(torch, name))
    if "Error" in a:
        return
    a, b = getattr(dtypes, info)(ours(name)), getattr(torch, info)(getattr(torch, name))
    for attribute in dir(b):
        if not attribute.startswith("_"):
            assert getattr(a, attribute) == getattr(b, attribute)


@pytest.mark.peers
@pytest.mark.parametrize("value", ["x", None, float, *NAMES])
def test_setting_the_default_is_torchs(torch, value):
    pair = (ours(value), getattr(torch, value)) if value in NAMES else (value, value)
    assert outcome(dtypes.set_default_dtype, pair[0]) == outcome(torch.set_default_dtype, pair[1])
    assert repr(dtypes.get_default_dtype()) == repr(torch.get_default_dtype())


@pytest.mark.peers
def test_wrong_arguments_are_torchs(torch):
    for function in ("promote_types", "can_cast"):
        for args in ((1, 2), ("float32", None)):
            assert outcome(getattr(dtypes, function), *args) == outcome(
                getattr(torch, function), *args
            )
        a = outcome(getattr(dtypes, function), dtypes.int8, 2)
        assert a == outcome(getattr(torch, function), torch.int8, 2)
    for function in ("finfo", "iinfo"):
        assert outcome(getattr(dtypes, function), "a") == outcome(getattr(torch, function), "a")


@pytest.mark.peers
@every
def test_pairs_are_torchs(torch, name):
    for other in NAMES:
        for function in ("promote_types", "can_cast"):
            a = outcome(getattr(dtypes, function), ours(name), ours(other))
            b = outcome(getattr(torch, function), getattr(torch, name), getattr(torch, other))
            assert a == b, (function, name, other)


def operands(torch):
    """All operands there are, each with PyTorch's own."""
    for name in NAMES:
        kind = getattr(torch, name)
        yield Operand(ours(name), "tensor"), torch.ones(2, dtype=kind, device="meta")
        yield Operand(ours(name), "scalar"), torch.ones((), dtype=kind, device="meta")
    for name, value in NUMBERS.items():
        yield Operand(ours(name), "number"), value
        yield Operand(dtypes.number_dtype(value), "number"), value


@pytest.mark.peers
@pytest.mark.parametrize("default_name", FLOATING)
def test_results_of_two_operands_are_torchs(torch, default_name):
    dtypes.set_default_dtype(ours(default_name))
    torch.set_default_dtype(getattr(torch, default_name))
    for (a, x), (b, y) in itertools.product(operands(torch), repeat=2):
        expected = outcome(torch.result_type, x, y)
        assert outcome(dtypes.result_dtype, [a, b]) == expected, (a, b)


@pytest.mark.peers
def test_results_of_three_operands_are_torchs(torch):
    tensors = [(a, x) for a, x in operands(torch) if a.category != "number"]
    for (a, x), (b, y), (c, z) in itertools.product(tensors, repeat=3):
        expected = outcome(lambda: torch.addcmul(x, y, z).dtype)
        assert outcome(dtypes.result_dtype, [a, b, c]) == expected, (a, b, c)


@pytest.mark.peers
@pytest.mark.parametrize("default_name", FLOATING)
@every
def test_floating_results_are_torchs(torch, default_name, name):
    dtypes.set_default_dtype(ours(default_name))
    torch.set_default_dtype(getattr(torch, default_name))
    expected = torch.sin(torch.ones(2, dtype=getattr(torch, name), device="meta")).dtype
    assert repr(dtypes.floating_dtype(ours(name))) == repr(expected)
