"""The emitter: its text is right IR, and means what its methods say."""

import ctypes

import numpy as np
import pytest

from funcgrad.compile.llvm import objects, target
from funcgrad.compile.llvm.body import GENERIC, Body
from funcgrad.compile.llvm.emit import Emitter
from funcgrad.compile.llvm.mathematics.avx512 import exponent

CTYPES = {"double": ctypes.c_double, "float": ctypes.c_float}
DTYPES = {"double": np.float64, "float": np.float32}


def run(write, x, element="double", lanes=4, machine=None):
    """What `write(emitter, value)` makes of the vector x."""
    machine = target.host() if machine is None else machine
    e = Emitter(element, lanes, machine)
    kind = e.type_of(element)
    e.lines.append(f"  %x = load {kind}, ptr %in, align 4")
    result = write(e, e.value("%x"))
    e.lines.append(f"  store {result.typed}, ptr %out, align 4")
    code = "\n".join(["entry:", *e.lines, "  ret void"])
    function = f"define void @f(ptr %in, ptr %out) {{\n{code}\n}}"
    text = "\n".join([*e.body.definitions.values(), function, *e.declarations])
    library = objects.load(objects.build(text, target=machine))
    x = np.asarray(x, DTYPES[element])
    assert x.shape == (lanes,)
    out = np.empty_like(x) if result.element == element else np.empty(lanes, np.int64)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(library.address("f"))
    call(x.ctypes.data, out.ctypes.data)
    return out


X = [1.5, -2.0, 0.0, 7.25]
CUBIC = [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda e, x: 2.0 * x + 1.0 - x, lambda x: 2 * x + 1 - x),
        (lambda e, x: 1.0 / (x + 0.5), lambda x: 1 / (x + 0.5)),
        (lambda e, x: -x, lambda x: -x),
        (lambda e, x: e.fused(x, x, x), lambda x: x * x + x),
        (lambda e, x: e.multiply_add(x, 2.0, 1.0), lambda x: 2 * x + 1),
        (lambda e, x: e.absolute(x), np.abs),
        (lambda e, x: e.square_root(x), lambda x: np.sqrt(np.maximum(x, 0)) + 0 * np.sqrt(x)),
        (lambda e, x: e.copy_sign(3.0, x), lambda x: np.copysign(3, x)),
        (lambda e, x: e.select(x > 0.0, x, 9.0), lambda x: np.where(x > 0, x, 9)),
        (lambda e, x: e.at_most(e.at_least(x, -1.0), 2.0), lambda x: np.clip(x, -1, 2)),
        (lambda e, x: e.intrinsic("floor", x), np.floor),
        (lambda e, x: e.from_bits(e.bits(x)), lambda x: x),
        (lambda e, x: e.polynomial(CUBIC, x), lambda x: 1 + x * (2 + x * (3 + 4 * x))),
        (lambda e, x: e.estrin(CUBIC, x), lambda x: 1 + x * (2 + x * (3 + 4 * x))),
        (lambda e, x: e.select(x.equals(0.0), 1.0, x), lambda x: np.where(x == 0, 1, x)),
        (lambda e, x: e.select(e.is_nan(x) | (x >= 7.0), 1.0, x), lambda x: np.where(x >= 7, 1, x)),
    ],
)  # fmt: skip
def test_operations(write, expected, element):
    with np.errstate(all="ignore"):
        wanted = expected(np.array(X, DTYPES[element]))
    np.testing.assert_array_equal(run(write, X, element), wanted)


@pytest.mark.parametrize("lanes", [1, 4, 8, 16, 32])
@pytest.mark.parametrize("element", DTYPES)
def test_instructions_of_a_register_serve_several(element, lanes):
    if not target.host().avx512 or lanes * 64 < (512 if element == "double" else 1024):
        pytest.skip("no whole registers of AVX-512")
    x = np.arange(1.0, lanes + 1)
    out = run(exponent, x, element, lanes)
    np.testing.assert_array_equal(out, np.floor(np.log2(x)))


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("path", ["host", "generic"])
def test_a_rare_branch_is_taken_for_the_vector_that_needs_it(lanes, path):
    machine = target.host() if path == "host" else target.without_avx512(target.host())

    def write(e, x):
        negative = x < 0.0
        return e.rarely(negative, [x], lambda: [e.select(negative, x * 10.0, x)])[0] + 1.0

    np.testing.assert_array_equal(run(write, X[:lanes], "double", lanes, machine),
                                  [2.5, -19.0, 1.0, 8.25][:lanes])  # fmt: skip


def test_blocks_are_told():
    e = Emitter("double", 2, body=Body(block="loop"))
    x = e.value("%x")
    assert e.body.block == "loop"
    (y,) = e.rarely(x < 0.0, [x], lambda: [-x])
    assert e.body.block.startswith("joined")
    assert f"{e.body.block}:" in e.lines
    assert "%loop ]" in e.lines[-1] and y.element == "double"


def test_constants_are_rounded_to_the_element():
    assert str(Emitter("float").constant(0.1)) == "0x3FB99999A0000000"
    assert str(Emitter("double").constant(0.1)) == "0x3FB999999999999A"
    assert str(Emitter("float").constant(1e300)) == "0x7FF0000000000000"
    assert str(Emitter("double", 2).constant(float("nan"))).startswith("splat (double 0x7FF8")
    assert str(Emitter("float", 4).mask(True)) == "splat (i1 1)"


def test_an_emitter_of_no_floats_is_refused():
    with pytest.raises(ValueError, match="'double' or 'float', not 'i64'"):
        Emitter("i64")


def test_emitters_of_two_elements_share_a_body():
    e = Emitter("float", 4, GENERIC)
    wide = e.of("double")
    y = wide.convert("fpext", wide.value("%x", "float"), "double")
    assert y.typed == "<4 x double> %t1" and e.body is wide.body
    assert e.value("%z").typed == "<4 x float> %z"
