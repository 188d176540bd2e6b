"""Functions of Numba's that `.njit` calls are kept under the seal of the store."""

import os
import random
import subprocess
import sys

CODE = """
import sys, numpy as np, funcgrad as fg, numba
from numba.core import compiler
f = fg.jit(lambda a, b: np.linalg.solve(a, b)).njit
a, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
from funcgrad.compile.numba import stored
loaded = []
load = stored.Sealed.load_overload
def counted(self, *given):
    found = load(self, *given)
    loaded.append(found is not None)
    return found
stored.Sealed.load_overload = counted
print(f(a, b).tobytes().hex(), sum(loaded))
"""


def run(place):
    out = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CODE],
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
