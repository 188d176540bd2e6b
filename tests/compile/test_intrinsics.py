"""The vector mathematics inside functions compiled by Numba."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.references import operands
from benchmarks.vector_loops import ELEMENTS, compile_loops
from funcgrad.compile.llvm import target
from funcgrad.compile.llvm.mathematics import ARITY, FUNCTIONS, function_name

numba = pytest.importorskip("numba")
from funcgrad.compile.numba import intrinsics  # noqa: E402

WIDTHS = {"double": 64, "float": 32}


def loop_over(name):
    function = intrinsics.INTRINSICS[name]
    if ARITY[name] == 1:

        @numba.njit
        def loop(x, out):
            for i in range(x.size):
                out[i] = function(x[i])

    else:

        @numba.njit
        def loop(x, y, out):
            for i in range(x.size):
                out[i] = function(x[i], y[i])

    return loop


@pytest.fixture(scope="module")
def explicit():
    """The same functions in loops of our own, as wide as a register."""
    host = target.host()
    return {
        element: compile_loops(list(FUNCTIONS), element, host.vector_bits // bits, host)
        for element, bits in WIDTHS.items()
    }


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_loop_is_vectorised_and_gives_the_same_bits(name, element, explicit):
    loop = loop_over(name)
    points = tuple(np.resize(x, 256) for x in operands(name, element, 60))
    out = np.empty_like(points[0])
    loop(*points, out)
    np.testing.assert_array_equal(out, explicit[element][name](*points))
    lanes = target.host().vector_bits // WIDTHS[element]
    (text,) = loop.inspect_llvm().values()
    lines = [
        line for line in text.split("\n") if f"@{function_name(name, element, lanes)}(" in line
    ]
    assert any("call" in line for line in lines), "the loop calls the scalar function only"


def test_mixed_precision_is_vectorised():
    sin = intrinsics.sin

    @numba.njit
    def total(x, y):
        for i in range(x.size):
            y[i] = sin(x[i]) + np.float64(x[i])

    x = np.linspace(-3, 3, 1003, dtype=np.float32)
    y = np.empty(1003)
    total(x, y)
    np.testing.assert_allclose(y, np.sin(x) + x.astype(np.float64), rtol=1e-6, atol=1e-7)
    lanes = target.host().vector_bits // 64
    (text,) = total.inspect_llvm().values()
    assert f"@{function_name('sin', 'float', lanes)}(" in text


def test_types():
    exp, arctan2 = intrinsics.exp, intrinsics.arctan2

    @numba.njit
    def one(x):
        return exp(x)

    @numba.njit
    def two(x, y):
        return arctan2(x, y)

    for x in (2, True, 2.0, np.float32(2), np.int8(2)):
        assert one(x) == pytest.approx(np.exp(float(x)))
    assert two(np.float32(1), 2) == pytest.approx(np.arctan2(1.0, 2.0))
    assert two(np.float32(1), np.float32(2)) == pytest.approx(np.arctan2(1.0, 2.0))
    float_only = [s for s in two.nopython_signatures if s.args == (numba.float32,) * 2]
    assert [s.return_type for s in float_only] == [numba.float32]
    with pytest.raises(numba.TypingError, match="exp takes float32 and float64, not complex128"):
        one(1j)


def test_several_in_one_kernel():
    exp, log1p, tanh, sin = (intrinsics.INTRINSICS[n] for n in ("exp", "log1p", "tanh", "sin"))

    @numba.njit
    def chain(x, out):
        for i in range(x.size):
            out[i] = tanh(x[i]) * exp(-x[i] * x[i]) + log1p(x[i] * x[i]) + sin(x[i])

    x = np.random.default_rng(0).normal(size=5000) * 3
    out = np.empty_like(x)
    chain(x, out)
    expected = np.tanh(x) * np.exp(-x * x) + np.log1p(x * x) + np.sin(x)
    np.testing.assert_allclose(out, expected, rtol=1e-14, atol=1e-15)


def test_features_are_those_that_numba_compiles_for():
    """With AVX-512 off for Numba, LLVM is asked for no such instruction: it would abort."""
    code = """
import numba, numpy as np
from funcgrad.compile.numba.intrinsics import log
@numba.njit
def loop(x, out):
    for i in range(x.size):
        out[i] = log(x[i])
x = np.linspace(0.1, 9, 1000)
out = np.empty(1000)
loop(x, out)
np.testing.assert_allclose(out, np.log(x), rtol=4e-16, atol=1e-17)
"""
    host = target.without_avx512(target.host())
    environment = {"NUMBA_CPU_NAME": host.cpu, "NUMBA_CPU_FEATURES": host.features}
    subprocess.run([sys.executable, "-c", code], env=os.environ | environment, check=True)


def test_digest_follows_the_source(tmp_path, monkeypatch):
    assert len(intrinsics.DIGEST) == hashlib.sha256().digest_size * 2
    assert intrinsics._digest() == intrinsics.DIGEST
    changed = tmp_path / "emit.py"
    changed.write_text("# another")
    monkeypatch.setattr(intrinsics.emit, "__file__", str(changed))
    assert intrinsics._digest() != intrinsics.DIGEST


def test_importing_the_package_imports_no_numba():
    code = "import sys, funcgrad.compile.numba; print('numba' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
