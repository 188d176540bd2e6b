"""The stub of `Tensor` for type checkers is that of the records of the operations."""

import ast
import functools
import subprocess
import sys

from funcgrad.torch import Tensor
from funcgrad.torch.names import NAMES
from funcgrad.torch.operations.write_methods import PATH


@functools.cache
def text():
    """The stub of a process of its own: classes of other tests change the methods of this one."""
    code = "from funcgrad.torch.operations.write_methods import text; print(text(), end='')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_the_stub_is_fresh():
    """Else: python -m funcgrad.torch.operations.write_methods"""
    assert PATH.read_text() == text()


def test_the_stub_has_every_method_that_is_installed():
    (methods,) = (n for n in ast.parse(text()).body if isinstance(n, ast.ClassDef))
    declared = {n.name for n in methods.body if isinstance(n, ast.FunctionDef)}
    here = {name for name in NAMES["torch.Tensor"].split() if hasattr(Tensor, name)}
    bodies = {name for base in Tensor.__mro__ for name in vars(base) if base is not Tensor}
    assert here - declared - bodies <= set(vars(Tensor))
    assert {"sum", "add_", "reshape", "split", "backward", "mT", "__matmul__"} <= declared


def test_an_overload_for_each_signature_and_numbers_one_by_one():
    lines = [line.strip() for line in text().splitlines() if "def reshape(" in line]
    assert lines == [
        "def reshape(self, shape: Int | Ints) -> Tensor: ...",
        "def reshape(self, *shape: Int) -> Tensor: ...",
    ]
