"""The processor as the code generator sees it."""

import subprocess
import sys

from funcgrad.compile.llvm.target import host, machine, without_avx512
from funcgrad.config import config


def test_host_is_frozen_and_described():
    target = host()
    assert target == host() and hash(target) == hash(host())
    assert target.triple and target.cpu and target.data_layout
    assert target.vector_bits == (512 if target.avx512 else target.vector_bits)
    for part in (target.triple, target.cpu, target.features, target.data_layout):
        assert part in target.description


def test_avx512_is_left_out_completely():
    target = without_avx512(host())
    present = [f for f in target.features.split(",") if f.startswith("+")]
    assert not target.avx512 and target.vector_bits <= 256
    assert not any("avx512" in f or "avx10" in f for f in present)
    assert without_avx512(target) == target
    assert machine(target).triple == target.triple


def test_config_chooses_the_target(monkeypatch):
    monkeypatch.setattr(config, "avx512", False)
    assert host() == without_avx512(host())


def test_no_compiler_is_imported_by_these_modules():
    code = (
        "import sys, funcgrad.compile.llvm.target, funcgrad.compile.llvm.objects;"
        "assert not {'llvmlite', 'numba'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
