"""Functions of Numba's that `.njit` calls are kept under the seal of the store."""

import os
import random
import subprocess
import sys

import numba
import pytest

from funcgrad.compile.numba import stored

COUNTING = """
import numpy as np, funcgrad as fg
from funcgrad.compile.numba import stored
loaded = []
load = stored.Sealed.load_overload
def counted(self, *given):
    found = load(self, *given)
    loaded.append(found is not None)
    return found
stored.Sealed.load_overload = counted
"""
REMAINDER = """
f = fg.jit(lambda n: np.fmod(n, 3)).njit
print(f(np.arange(-4, 4)).tobytes().hex(), sum(loaded))
"""
ELEMENTS = """
a = np.eye(70) * 9 + np.random.RandomState(0).randn(70, 70)
n = np.arange(-4, 4)
for f, a in [
    (lambda n: np.fmod(n, 3), n), (np.linalg.inv, a), (lambda a: np.linalg.solve(a, a[0]), a),
    (lambda a: np.linalg.eigvalsh(a + a.T), a), (lambda a: np.linalg.cholesky(a @ a.T), a),
]:
    np.testing.assert_allclose(fg.jit(f).njit(a), f(a), rtol=1e-9, atol=1e-9)
print("equal", sum(loaded))
"""


def run(place, code=REMAINDER):
    out = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COUNTING + code],
        capture_output=True, text=True, check=True,
        env=os.environ | {"FUNCGRAD_CACHE_DIR": str(place)},
    )  # fmt: skip
    bits, loaded = out.stdout.split()
    return bits, int(loaded)


def test_a_second_process_finds_them_and_a_damaged_one_is_made_again(tmp_path):
    rng = random.Random(1)
    bits, loaded = run(tmp_path)
    assert loaded == 0
    assert run(tmp_path) == (bits, 1)
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert not [p for p in files if p.suffix in (".nbi", ".nbc")]  # Numba's own have no seal
    for p in files:
        content = bytearray(p.read_bytes())
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        p.write_bytes(content)
    assert run(tmp_path) == (bits, 0)
    assert run(tmp_path) == (bits, 1)


def test_functions_written_for_operations_are_not_taken_for_each_other(tmp_path):
    """Neither in the process that makes them nor in the next."""
    assert run(tmp_path, ELEMENTS) == ("equal", 0)
    assert run(tmp_path, ELEMENTS) == ("equal", 5)


def test_a_name_that_does_not_tell_whose_code_it_is_keeps_nothing():
    def made(**given):
        exec("def alike(x):\n    return x", given)
        return numba.njit(given["alike"])

    with pytest.raises(ValueError, match="alike does not tell whose code"):
        stored.kept(made())
    first = stored.kept(made(__name__="test_njit_stored"))
    assert stored.kept(first) is first
    with pytest.raises(ValueError, match=r"test_njit_stored\.alike does not tell"):
        stored.kept(made(__name__="test_njit_stored"))
