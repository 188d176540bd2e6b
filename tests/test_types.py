"""Type checkers see the arguments of a function through its transforms, and misspelt names."""

import functools
import importlib
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import types

import pytest

import funcgrad as fg

PROGRAM = pathlib.Path(__file__).with_name("typed_program.py")
ROOT = PROGRAM.parent.parent

MODULES = [
    *("", "compat", "debug", "errors", "extend", "flatten_util", "image", "lax", "lax.linalg"),
    *("nn", "nn.initializers", "numpy", "numpy.fft", "numpy.linalg", "optim", "random", "scipy"),
    *("scipy.fft", "scipy.integrate", "scipy.interpolate", "scipy.linalg", "scipy.ndimage"),
    *("scipy.cluster", "scipy.cluster.vq", "scipy.differentiate", "scipy.optimize"),
    *("scipy.signal", "scipy.signal.windows", "scipy.sparse", "scipy.sparse.linalg"),
    *("scipy.spatial", "scipy.spatial.distance", "scipy.special", "scipy.stats", "testing"),
    *("testing.strategies", "torch", "torch.autograd", "torch.distributions", "torch.fft"),
    *("torch.func", "torch.linalg", "torch.nn", "torch.nn.functional", "torch.nn.init"),
    *("torch.optim", "torch.optim.lr_scheduler", "torch.special", "torch.utils", "tree"),
    "tree_util",
]
# What NumPy has on some systems or in some versions only.
SOMETIMES = {"complex192", "complex256", "complex512", "float80", "float96", "float128", "float256"}
SOMETIMES |= {"core", "f2py", "row_stack", "sctypeDict", "test"}


def names_of(module):
    """The public names of a module, and our submodules under it."""
    space = importlib.import_module(f"funcgrad.{module}".rstrip("."))
    names = getattr(space, "__all__", None) or vars(space)
    if module.startswith("numpy"):
        names = dir(space)
    for name in names:
        value = getattr(space, name)
        foreign = getattr(value, "__module__", "funcgrad").partition(".")[0] != "funcgrad"
        private = name.startswith("_") or name in SOMETIMES
        helper = isinstance(value, types.ModuleType) or name in ("absent", "annotations")
        typing_only = not hasattr(space, "__all__") and (foreign or helper)
        if not private and not (typing_only and not module.startswith("numpy")):
            yield name


def methods_of_tensors():
    from funcgrad.torch.names import NAMES

    return [name for name in NAMES["torch.Tensor"].split() if hasattr(fg.torch.Tensor, name)]


@functools.cache
def written(folder):
    """The programs: that beside this file, one that says each public name, one of misspelt names.

    They stand where no folder of the suite is taken for a package of that name.
    """
    program = folder / PROGRAM.name
    program.write_text(PROGRAM.read_text())
    every, wrong = folder / "every_name.py", folder / "misspelt.py"
    lines = [f"fg.{m}.{n}".replace("..", ".") for m in MODULES for n in sorted(names_of(m))]
    lines += ["x = fg.torch.ones(1)", *(f"x.{name}" for name in methods_of_tensors())]
    every.write_text("\n".join(["import funcgrad as fg", *lines]) + "\n")
    lines = [f"fg.{m}.{next(iter(names_of(m)))}_qq".replace("..", ".") for m in MODULES]
    wrong.write_text("\n".join(["import funcgrad as fg", *lines]) + "\n")
    return program, every, wrong


def by_mypy(folder):
    pytest.importorskip("mypy")
    cache = ROOT / ".mypy_cache"
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"),
               "--no-error-summary", "--hide-error-context", *map(str, written(folder)),
               "--cache-dir", str(cache if cache.exists() else folder)]  # fmt: skip
    out = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    found = re.findall(r"(\w+)\.py:(\d+): error: .*\[([\w-]+)\]", out.stdout)
    programs = [program.stem for program in written(folder)]  # not ours with another NumPy's types
    return [error for error in found if error[0] in programs]


# pyright's names of mypy's kinds of errors
RULES = {
    "reportArgumentType": "arg-type",
    "reportCallIssue": "call-arg",
    "reportAttributeAccessIssue": "attr-defined",
}


def by_pyright(folder):
    if importlib.util.find_spec("basedpyright") is None:
        pytest.skip("basedpyright, which is pyright with its runtime in a wheel, is not installed")
    settings = {
        "include": list(map(str, written(folder))),
        "extraPaths": [str(ROOT)],
        "typeCheckingMode": "standard",
        "reportMissingModuleSource": False,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "-p", str(folder), "--outputjson",
               "--pythonpath", sys.executable]  # fmt: skip
    out = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    return [
        (pathlib.Path(d["file"]).stem, str(d["range"]["start"]["line"] + 1), RULES[d["rule"]])
        for d in json.loads(out.stdout)["generalDiagnostics"]
        if d["severity"] == "error"
    ]


@pytest.mark.slow
@pytest.mark.costly(cases=1)
@pytest.mark.parametrize("checker", [by_mypy, by_pyright])
def test_a_checker_sees_what_is_wrong_and_nothing_else(checker, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    found = checker(folder)
    wanted = [
        (PROGRAM.stem, str(k), line.split("# wrong: ")[1])
        for k, line in enumerate(PROGRAM.read_text().split("\n"), 1)
        if "# wrong: " in line
    ]
    wanted += [("misspelt", str(k), "attr-defined") for k in range(2, len(MODULES) + 2)]
    assert sorted(found) == sorted(wanted)
