"""Programs of tutorials on PyTorch's autograd, with only the import line changed.

Beside each program stands what torch 2.13 prints for it: its output, its warnings and the error
with which it ends. Where torch is installed, it is run as well, with the original import line.
"""

import contextlib
import importlib.util
import io
import pathlib
import warnings

import pytest

PROGRAMS = sorted((pathlib.Path(__file__).parent / "programs").glob("*.py"))


def printed(source, path):
    """Everything that a program prints, warns and raises."""
    out = io.StringIO()

    def show(message, category, filename, lineno, file=None, line=None):
        assert filename == str(path)  # a warning points to the user's line
        print(f"WARNING {category.__name__}: {message}")

    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        try:
            exec(compile(source, str(path), "exec"), {"__name__": "__main__"})
        except Exception as error:
            print(f"RAISED {type(error).__name__}: {error}")
    return out.getvalue()


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_program(path):
    assert printed(path.read_text(), path) == path.with_suffix(".txt").read_text()


@pytest.mark.peers
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_torch_prints_the_same(path):
    source = path.read_text().replace("import funcgrad.torch as torch", "import torch")
    text = printed(source.replace("from funcgrad.torch", "from torch"), path)
    text = "\n".join(line.split(" (Triggered internally")[0] for line in text.splitlines())
    assert text == path.with_suffix(".txt").read_text().rstrip("\n")
