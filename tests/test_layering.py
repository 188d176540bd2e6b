"""The rooms import downwards only, and the package imports nothing heavy."""

import ast
import os
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
    {"scipy"},
    {"lax", "optimize", "torch", "testing", "debug", "extend"},
    {"flatten_util", "tree_util", "image", "random", "optim"},
    {"nn"},
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
        room = path.relative_to(PACKAGE).parts[0]
        extras = {"scipy"} if room in ("scipy", "compat", "random") else set()
        extras |= {"hypothesis"} if room == "testing" else set()
        for name in imports(path):
            assert name.split(".")[0] in allowed | extras, f"{path} imports {name}"


# Of the rooms that not every program needs: what comes with `import funcgrad`. All else comes with
# the first graph that is compiled, the first long program, the first tensor.
WITH_IMPORT = {
    "compile": "cache detached execute guards imports llvm llvm.elf llvm.emission llvm.objects "
    "llvm.pool llvm.processor llvm.target memory sources store",
    "passes": "constants cut partition rewrite templates",
    "scipy": "dispatch",
    "transforms.rolling": "",
    "compat": None,
    "extend": None,
    "lax": None,
    "optim": None,
    "testing": None,
    "torch": None,
}


def loaded_by(code, **settings):
    """The modules that a new process has after `code`."""
    code = f"import sys; {code}; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **settings}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_import_is_light():
    assert not loaded_by("import funcgrad") & {"numba", "llvmlite", "scipy", "pathlib"}


def test_import_brings_what_every_program_needs():
    loaded = loaded_by("import funcgrad")
    for room, names in WITH_IMPORT.items():
        allowed = {f"funcgrad.{room}.{name}" for name in (names or "").split()}
        if names is not None:
            allowed.add(f"funcgrad.{room}")
        found = {m for m in loaded if f"{m}.".startswith(f"funcgrad.{room}.")}
        assert found <= allowed, f"imported too early: {sorted(found - allowed)}"


def test_a_program_that_lies_on_disk_takes_no_compiler(tmp_path):
    code = "import numpy as np, funcgrad as fg; fg.jit(fg.grad(lambda x: np.sin(x) * x))(1.0)"
    compiler = {"llvmlite", "funcgrad.compile.executable", "funcgrad.passes.fuse"}
    place = {"FUNCGRAD_CACHE_DIR": str(tmp_path), "FUNCGRAD_TIERS": "second"}
    first, second = (loaded_by(code, **place) for _ in range(2))
    assert compiler <= first
    if sys.platform == "linux":
        assert not compiler & second
