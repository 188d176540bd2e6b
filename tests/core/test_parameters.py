"""The names of parameters, and what importing the package leaves for later."""

import functools
import inspect
import subprocess
import sys

import numpy as np
import pytest

from funcgrad.core.parameters import names_of


def wrapped(f):
    return functools.wraps(f)(lambda *args, **kwargs: f(*args, **kwargs))


def plain(a, b, /, c, *, out=None):
    local = a, b, c, out
    return local


def spread(a, *rest, out=None, **more):
    return a, rest, out, more


@pytest.mark.parametrize(
    "f",
    [plain, spread, wrapped(plain), wrapped(spread), functools.partial(plain, 1), [].sort, np.dot]
    + [lambda: 0, lambda *, k: k, lambda *a: a, lambda _y, x: x],
)
def test_names_are_those_of_the_signature(f):
    try:
        found = inspect.signature(f).parameters.values()
    except ValueError:
        pytest.skip("no signature in this version of NumPy")
    names = names_of(f)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    assert names.positional == tuple(p.name for p in found if p.kind in kinds)
    assert names.keywords == tuple(p.name for p in found if p.kind is p.KEYWORD_ONLY)
    assert names.spread == any(p.kind is p.VAR_POSITIONAL for p in found)


def test_importing_looks_for_no_misspelt_name_and_reads_no_build_configuration():
    code = "import sys, numpy; had = {*sys.modules}; import funcgrad; print({*sys.modules} - had)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for name in ("difflib", "sysconfig", "signal", "string", "queue"):
        assert f"'{name}'" not in found.stdout, name


def test_a_module_is_no_package():
    import funcgrad.errors

    with pytest.raises(AttributeError, match="__path__"):
        _ = funcgrad.errors.__path__
