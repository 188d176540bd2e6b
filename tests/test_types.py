"""Type checkers see the arguments of a function through its transforms, and misspelt names."""

import pathlib
import re
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).with_name("typed_program.py")
ROOT = PROGRAM.parent.parent


@pytest.mark.slow
def test_mypy_sees_what_is_wrong_and_nothing_else(tmp_path):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"),
               "--no-error-summary", "--hide-error-context", str(PROGRAM)]  # fmt: skip
    cache = ROOT / ".mypy_cache"
    command += ["--cache-dir", str(cache if cache.exists() else tmp_path)]
    out = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    found = re.findall(r"typed_program.py:(\d+): error: .*\[([\w-]+)\]", out.stdout)
    wanted = [
        (str(k), line.split("# wrong: ")[1])
        for k, line in enumerate(PROGRAM.read_text().split("\n"), 1)
        if "# wrong: " in line
    ]
    assert found == wanted, out.stdout + out.stderr
