"""Without llvmlite NumPy runs what is not compiled, and `jit` says what is missing."""

import os
import subprocess
import sys
import textwrap

PROGRAM = """
    import sys, warnings
    sys.modules["llvmlite"] = None
    import numpy as np, funcgrad as fg
    x = np.linspace(0.0, 1.0, 50_000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        print(np.allclose(fg.grad(lambda x: np.sum(np.tanh(x)))(x), 1 - np.tanh(x) ** 2, 1e-12))
    print(all("pip install llvmlite" in str(w.message) for w in caught), bool(caught))
    try:
        fg.jit(np.tanh)(x)
    except fg.errors.CompilerError as error:
        print("pip install llvmlite" in str(error))
"""


def test_gradients_run_in_numpy_and_jit_names_it(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True,
        env=os.environ | {"FUNCGRAD_CACHE_DIR": str(tmp_path)}, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["True"] * 4, done.stderr
