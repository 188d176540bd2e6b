"""IR text to object code to addresses: right, verified, and given back when no longer used."""

import ctypes
import gc
import math
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

from funcgrad.compile.llvm import objects
from funcgrad.compile.llvm.target import host, without_avx512
from funcgrad.errors import CompilerError

SCALE = """
@factors = internal constant [2 x double] [double 3.0, double 4.0]
declare double @sin(double)
declare double @given(double)

define void @scale(ptr %x, i64 %n) #0 {
entry:
  %v = load <8 x double>, ptr %x, align 8
  %p = getelementptr [2 x double], ptr @factors, i64 0, i64 %n
  %f = load double, ptr %p
  %one = insertelement <8 x double> poison, double %f, i64 0
  %all = shufflevector <8 x double> %one, <8 x double> poison, <8 x i32> zeroinitializer
  %y = fmul <8 x double> %v, %all
  store <8 x double> %y, ptr %x, align 8
  ret void
}
define double @sine(double %x) { %y = call double @sin(double %x)
  ret double %y }
define double @both(double %x) { %y = call double @given(double %x)
  ret double %y }
attributes #0 = { nounwind "prefer-vector-width"="512" }
"""
UNARY = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
HALF = UNARY(lambda x: x / 2)
SYMBOLS = {"given": ctypes.cast(HALF, ctypes.c_void_p).value}


@pytest.mark.parametrize("target", [host(), without_avx512(host())], ids=["host", "no avx512"])
@pytest.mark.parametrize("optimize", [False, True])
def test_code_runs(target, optimize):
    code = objects.build(SCALE, optimize=optimize, target=target)
    library = objects.load(code, SYMBOLS)
    x = np.arange(8.0)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(library.address("scale"))(
        x.ctypes.data, 1
    )
    assert (x == 4 * np.arange(8.0)).all()
    assert UNARY(library.address("sine"))(0.5) == math.sin(0.5)
    assert UNARY(library.address("both"))(3.0) == 1.5


def test_the_same_text_gives_the_same_object():
    assert objects.build(SCALE) == objects.build(SCALE)


def test_object_code_depends_on_no_address():
    code = objects.build(SCALE)
    out = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from funcgrad.compile.llvm import objects;"
            "code = sys.stdin.buffer.read();"
            "import ctypes; lib = objects.load(code, {'given': 0});"
            "print(ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lib.address('sine'))(0.5))",
        ],
        input=code,
        capture_output=True,
        check=True,
    )
    assert float(out.stdout) == math.sin(0.5)


def test_a_parse_error_names_the_line():
    text = "define i64 @f(i64 %x) {\n  %y = add i64 %x, 1\n  ret i32 %y\n}"
    with pytest.raises(CompilerError, match=r"parser.*line 3, column 11.*i32") as caught:
        objects.build(text)
    assert re.search(r"> +3 \|   ret i32 %y", str(caught.value))
    assert "defect of funcgrad" in str(caught.value)


def test_a_verifier_error_names_the_line():
    text = """define void @f(ptr %p) {
  %a = load i64, ptr %p
  br label %q
q:
  %c = add i64 %d, 1
  %d = add i64 %c, 1
  ret void
}"""
    with pytest.raises(CompilerError, match=r"verifier.*line [56].*dominate"):
        objects.build(text)


def test_damaged_objects_and_missing_symbols_are_errors(capfd):
    code = objects.build(SCALE)
    for damaged in (b"", b"no object", code[:200]):
        with pytest.raises(CompilerError, match="cannot be linked"):
            objects.load(damaged)
    library = objects.load(code, SYMBOLS)
    with pytest.raises(CompilerError, match="no symbol 'nothing'"):
        library.address("nothing")
    with pytest.raises(CompilerError, match="needs one that is not there"):
        objects.load(code).address("both")
    capfd.readouterr()  # LLVM names the missing symbol on stderr


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_memory_comes_back():
    def compile_once(k):
        text = SCALE.replace("3.0", f"{k}.0")
        library = objects.load(objects.build(text), SYMBOLS)
        return library.address("scale")

    for k in range(100):
        compile_once(k)
    before, count = _resident(), 250
    for k in range(count):
        compile_once(k)
    gc.collect()
    # A library takes 40 KiB while it lives; what LLVM's allocator keeps in hand is not per library.
    assert (_resident() - before) / count < 4096


def test_libraries_outlive_their_linker():
    code = objects.build(SCALE)
    kept = [objects.load(code, SYMBOLS) for _ in range(3 * objects._LIBRARIES_PER_LINKER)]
    addresses = [library.address("sine") for library in kept]
    assert len(set(addresses)) == len(addresses)
    del kept[1::2]
    gc.collect()
    assert all(UNARY(a)(0.5) == math.sin(0.5) for a in addresses[::2])


def test_code_stays_at_the_exit_of_the_process():
    program = """
import atexit, gc
def last():
    global library
    del library
    gc.collect()
    print(sine(0.5))
atexit.register(last)  # before the module's own, so after it
from test_objects import SCALE, SYMBOLS, UNARY, objects
library = objects.load(objects.build(SCALE), SYMBOLS)
sine = UNARY(library.address("sine"))
cycle = [objects.load(objects.build(SCALE), SYMBOLS)]
cycle.append(cycle)
"""
    out = subprocess.run(
        [sys.executable, "-c", program],
        cwd=os.path.dirname(__file__),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert (out.returncode, out.stderr) == (0, "") and float(out.stdout) == math.sin(0.5)


def test_threads_compile_at_once():
    failures = []

    def work(k):
        try:
            for j in range(10):
                text = f"define i64 @f(i64 %x) {{ %y = add i64 %x, {100 * k + j}\n ret i64 %y }}"
                library = objects.load(objects.build(text, optimize=bool(j % 2)))
                f = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.address("f"))
                assert f(1) == 100 * k + j + 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_while_others_compile_can_compile():
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            objects.load(objects.build(SCALE), SYMBOLS).address("scale")

    threads = [threading.Thread(target=churn) for _ in range(2)]
    [t.start() for t in threads]
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                try:
                    library = objects.load(objects.build(SCALE), SYMBOLS)
                    sine = UNARY(library.address("sine"))
                    os._exit(0 if sine(0.5) == math.sin(0.5) else 1)
                finally:
                    os._exit(2)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        [t.join() for t in threads]
