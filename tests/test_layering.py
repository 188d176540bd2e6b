"""The rooms import downwards only, and the package imports nothing heavy."""

import ast
import pathlib
import subprocess
import sys

import pytest

import funcgrad

PACKAGE = pathlib.Path(funcgrad.__file__).parent
# A room may import those to its left, and itself.
ORDER = [
    {"errors", "config", "tree"},
    {"core"},
    {"ops"},
    {"graph"},
    {"passes"},
    {"compile"},
    {"kernels"},
    {"transforms"},
    {"numpy"},
    {"scipy", "lax", "nn", "random", "optim", "optimize", "torch", "testing", "debug",
     "extend"},
    {"compat"},
    {"distributed"},
]  # fmt: skip
RANK = {room: k for k, rooms in enumerate(ORDER) for room in rooms}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            if node.module == "funcgrad":
                yield from (f"funcgrad.{a.name}" for a in node.names)
            elif node.module:
                yield node.module
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names)


FILES = sorted(p for p in PACKAGE.rglob("*.py") if p.parent != PACKAGE or p.stem != "__init__")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_rooms_import_downwards(path):
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "funcgrad" or len(parts) == 1:
            continue
        other = parts[1]
        assert other in RANK, f"{name} is in no room"
        assert (
            other == room
            or RANK[other] < RANK[room]
            or (RANK[other] == RANK[room] and RANK[room] == 0)
        ), f"{path} imports {name}"


def test_runtime_imports_are_declared():
    allowed = {"numpy", "numba", "llvmlite", "funcgrad"} | set(sys.stdlib_module_names)
    for path in FILES:
        extras = {"scipy"} if path.relative_to(PACKAGE).parts[0] in ("scipy", "compat") else set()
        for name in imports(path):
            assert name.split(".")[0] in allowed | extras, f"{path} imports {name}"


def test_import_is_light():
    heavy = "('numba', 'llvmlite', 'scipy')"
    code = f"import sys, funcgrad; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
