"""Object code placed without LLVM: the same results as LLVM's linker, or refused and left to it."""

import ctypes
import math
import os
import struct
import subprocess
import sys

import pytest

from funcgrad.compile.llvm import elf, objects, processor
from funcgrad.compile.llvm.target import host
from funcgrad.errors import CompilerError

pytestmark = pytest.mark.skipif(not elf.supported(), reason="for x86-64 Linux")

# Constants, zeroed and written memory, a pointer to a function, a table of jumps, an alias, calls
# of the C library and of a symbol that is given.
EVERYTHING = """
@table = internal constant [3 x double] [double 1.5, double 2.5, double 3.5]
@count = internal global i64 0
@step = global ptr @plus_one
@text = private constant [6 x i8] c"seven\\00"
@other = alias i64 (i64), ptr @plus_one

declare double @cos(double)
declare i64 @strlen(ptr)
declare double @given(double)

define i64 @plus_one(i64 %x) {
  %y = add i64 %x, 1
  ret i64 %y
}
define i64 @counted() {
  %old = load i64, ptr @count
  %f = load ptr, ptr @step
  %new = call i64 %f(i64 %old)
  store i64 %new, ptr @count
  ret i64 %new
}
define double @from_table(i64 %k) {
  %p = getelementptr [3 x double], ptr @table, i64 0, i64 %k
  %x = load double, ptr %p
  ret double %x
}
define i64 @length() {
  %n = call i64 @strlen(ptr @text)
  ret i64 %n
}
define double @outside(double %x) {
  %y = call double @given(double %x)
  %z = call double @cos(double %y)
  ret double %z
}
define ptr @where() {
  ret ptr @cos
}
define i64 @choose(i64 %k) {
  switch i64 %k, label %e [ i64 0, label %a
                            i64 1, label %b
                            i64 2, label %c
                            i64 3, label %d
                            i64 4, label %a ]
a:
  ret i64 11
b:
  ret i64 23
c:
  ret i64 35
d:
  ret i64 47
e:
  ret i64 59
}
"""
UNARY = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
HALF = UNARY(lambda x: x / 2)
SYMBOLS = {"given": ctypes.cast(HALF, ctypes.c_void_p).value}
INTEGER = ctypes.c_int64


def called(image, name, result, *types):
    return ctypes.CFUNCTYPE(result, *types)(image.lookup(name))


@pytest.mark.parametrize("optimize", [False, True])
def test_every_kind_of_reference(optimize):
    code = objects.build(EVERYTHING, optimize=optimize)
    image = elf.Image(code, SYMBOLS)
    count = called(image, "counted", INTEGER)
    assert [count(), count(), count()] == [1, 2, 3]
    assert [called(image, "from_table", ctypes.c_double, INTEGER)(k) for k in range(3)] == [
        1.5, 2.5, 3.5]  # fmt: skip
    assert called(image, "length", INTEGER)() == 5
    assert called(image, "outside", ctypes.c_double, ctypes.c_double)(0.5) == math.cos(0.25)
    assert called(image, "other", INTEGER, INTEGER)(6) == 7
    choose = called(image, "choose", INTEGER, INTEGER)
    assert [choose(k) for k in range(6)] == [11, 23, 35, 47, 11, 59]
    cos = UNARY(called(image, "where", ctypes.c_void_p)())
    assert cos(0.5) == math.cos(0.5)
    image.close()


def test_each_image_has_memory_of_its_own():
    code = objects.build(EVERYTHING)
    counts = [called(elf.Image(code, SYMBOLS), "counted", INTEGER) for _ in range(3)]
    assert [[count() for count in counts] for _ in range(2)] == [[1, 1, 1], [2, 2, 2]]


def test_memory_is_never_writable_and_executable():
    image = elf.Image(objects.build(EVERYTHING), SYMBOLS)
    found = set()
    with open("/proc/self/maps") as file:
        for line in file:
            span, access, *_ = line.split()
            start, end = (int(x, 16) for x in span.split("-"))
            if start < image._start + image._size and end > image._start:
                found.add(access[:3])
    assert found == {"r-x", "rw-"}


def test_what_is_not_known_is_refused():
    code = objects.build(EVERYTHING)
    at = code.index(b".rela.text")
    for damaged in (b"", b"\x7fELF", code[:64], code[: len(code) // 2], code[:at]):
        with pytest.raises(elf.Refused):
            elf.Image(damaged, SYMBOLS)
    other = bytearray(code)
    struct.pack_into("<H", other, 18, 183)  # the machine: AArch64
    with pytest.raises(elf.Refused, match="x86-64"):
        elf.Image(bytes(other), SYMBOLS)
    with pytest.raises(elf.Refused, match="no symbol 'given'"):
        elf.Image(code, {})
    local = (
        "@x = thread_local global i64 3\ndefine i64 @f() {\n %v = load i64, ptr @x\n ret i64 %v\n}"
    )
    with pytest.raises(elf.Refused, match="section"):
        elf.Image(objects.build(local), {})


def test_what_is_refused_is_linked_by_llvm(monkeypatch):
    def refuse(*args):
        raise elf.Refused("for a test")

    code = objects.build(EVERYTHING)
    here = objects.load(code, SYMBOLS)
    monkeypatch.setattr(objects, "Image", refuse)
    there = objects.load(code, SYMBOLS)
    for library in (here, there):
        outside = UNARY(library.address("outside"))
        assert outside(0.5) == math.cos(0.25)
        with pytest.raises(CompilerError, match="no symbol 'nothing'"):
            library.address("nothing")


def test_the_processor_has_one_name_on_every_core():
    found = set()
    for core in os.sched_getaffinity(0):
        program = "from funcgrad.compile.llvm import processor; print(processor.identity())"
        pinned = f"import os; os.sched_setaffinity(0, [{core}]); {program}"
        out = subprocess.run([sys.executable, "-c", pinned], capture_output=True, check=True)
        found.add(out.stdout.decode().strip())
    assert found == {processor.identity()} and None not in found


SECOND = """
import sys
import numpy as np
import funcgrad as fg
from funcgrad.compile.llvm import tiering

def f(x):
    return np.sum(np.sin(x) * np.exp(-x))

value, gradient = fg.jit(fg.value_and_grad(f))(np.linspace(0.0, 1.0, 50))
tiering.settle()
print(repr(float(value)), gradient.tobytes().hex(), "llvmlite" in sys.modules)
"""


def test_a_second_process_runs_what_is_kept_without_llvm(tmp_path):
    environment = {
        **os.environ,
        "FUNCGRAD_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    said = []
    for _ in range(2):
        out = subprocess.run(
            [sys.executable, "-c", SECOND], env=environment, capture_output=True, text=True
        )
        assert (out.returncode, out.stderr) == (0, "")
        said.append(out.stdout.split())
    (*first, built), (*second, again) = said
    assert first == second
    assert (built, again) == ("True", "False")


def test_what_llvm_said_of_another_processor_is_not_taken(tmp_path, monkeypatch):
    from funcgrad.compile.llvm import target
    from funcgrad.config import config

    monkeypatch.setattr(config, "cache_directory", str(tmp_path))
    keys = []
    for name in ("one", "another"):
        monkeypatch.setattr(target, "identity", lambda name=name: name)
        keys.append(target._key())
        target._detect.__wrapped__()
    assert None not in keys and len(set(keys)) == 2
    kept = [path.read_bytes() for path in tmp_path.rglob("objects-*/*")]
    assert len(kept) == 2 and all(host().triple.encode() in x for x in kept)
    assert target._detect.__wrapped__() == target._ask()
    monkeypatch.setattr(target, "identity", lambda: None)
    assert target._key() is None
