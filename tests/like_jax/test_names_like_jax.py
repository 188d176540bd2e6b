"""Every public name of JAX is one of ours, or the page for those who come from JAX says why not."""

import fnmatch
import importlib
import pathlib
import re
import types

import numpy as np
import pytest

import funcgrad as fg

pytestmark = pytest.mark.peers
jax = pytest.importorskip("jax")

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "jax.md"
MODULES = {
    "jax": "funcgrad",
    **{
        f"jax.{name}": f"funcgrad.{name}"
        for name in [
            "image",
            "lax",
            "lax.linalg",
            "nn",
            "nn.initializers",
            "numpy",
            "numpy.fft",
            "numpy.linalg",
            "random",
            "tree",
            "tree_util",
            "flatten_util",
            "scipy.cluster",
            "scipy.fft",
            "scipy.integrate",
            "scipy.interpolate",
            "scipy.linalg",
            "scipy.ndimage",
            "scipy.optimize",
            "scipy.signal",
            "scipy.sparse",
            "scipy.special",
            "scipy.stats",
        ]
    },
}


def left_out():
    """For each module the patterns of the names that the page gives a reason for."""
    text = PAGE.read_text().split("## Names that are not here")[1].split("\n## ")[0]
    found = {}
    for row in re.findall(r"^\| (`jax.*)$", text, re.MULTILINE):
        module, names, why = (cell.strip() for cell in row.strip("| ").split(" | "))
        assert why
        found.setdefault(module.strip("`"), []).extend(re.findall(r"`([^`]+)`", names))
    return found


def public(module):
    """The names of a module that are its own, not those of what it imports."""
    for name in dir(module):
        value = getattr(module, name)
        imported = isinstance(value, types.ModuleType) and not value.__name__.startswith("jax")
        if not name.startswith("_") and not imported:
            yield name


def missing(theirs, ours):
    module = importlib.import_module(theirs)
    try:
        mine = importlib.import_module(ours)
    except ImportError:
        mine = None
    return [name for name in public(module) if not hasattr(mine, name)]


@pytest.mark.parametrize("theirs", MODULES)
def test_a_name_is_here_or_has_a_reason(theirs):
    patterns = left_out().get(theirs, [])
    lacking = missing(theirs, MODULES[theirs])
    unsaid = [n for n in lacking if not any(fnmatch.fnmatchcase(n, p) for p in patterns)]
    assert not unsaid
    stale = [p for p in patterns if not fnmatch.filter(lacking, p)]
    assert not stale, "they are here, or JAX has them no more"


def test_the_page_names_no_other_module():
    assert set(left_out()) <= set(MODULES)


def test_methods_of_distributions():
    """What is a module of functions in JAX is a distribution with methods in SciPy."""
    lacking = []
    for name in public(jax.scipy.stats):
        module = getattr(jax.scipy.stats, name)
        if isinstance(module, types.ModuleType):
            ours = getattr(fg.scipy.stats, name)
            lacking += [f"{name}.{n}" for n in public(module) if not hasattr(ours, n)]
    assert lacking == []


def test_every_number_function_of_jax_numpy_takes_traced_values():
    """A name is not enough: nothing of one argument is SciPy's or NumPy's on traced values."""
    refused = []
    for name in public(jax.numpy):
        f = getattr(fg.numpy, name, None)
        if isinstance(f, np.ufunc) or type(f) is type(np.sum):
            support = fg.supports(f)
            if not support and "no rule" in support.reason:
                refused.append(name)
    assert refused == []
