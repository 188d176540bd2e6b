"""What the package shows: its public names, and nothing else."""

import subprocess
import sys
import types

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

LATER = "lax nn optim random scipy testing torch".split()  # noqa: SIM905


def test_dir_shows_what_is_public():
    shown = dir(fg)
    assert shown == sorted({*fg.__all__, *fg._LATER, "Tensor", "__version__"})
    assert {*LATER} < {*shown}
    assert not {"core", "ops", "kernels", "compile", "transforms", "graph", "passes"} & {*shown}


def test_modules_are_imported_on_first_use():
    code = (
        "import sys, funcgrad as fg\n"
        "for name in dir(fg):\n"
        "    before = 'funcgrad.' + name in sys.modules\n"
        "    assert getattr(fg, name) is not None, name\n"
        "print(fg.nn.relu(2.0), fg.random.key(0).shape, fg.lax.scan is fg.scan)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "2.0 () True\n"


@pytest.mark.parametrize("name", LATER)
def test_a_module_on_first_use_is_that_module(name):
    assert isinstance(getattr(fg, name), types.ModuleType)
    assert getattr(fg, name) is sys.modules[f"funcgrad.{name}"]


def test_a_misspelt_name_tells_the_right_one():
    with pytest.raises(AttributeError, match=r"no attribute 'randm'; did you mean 'random'\?"):
        fg.randm
    with pytest.raises(AttributeError, match="did you mean 'value_and_grad'"):
        fg.value_and_gard
    with pytest.raises(AttributeError, match=r"no attribute 'qqq'$"):
        fg.qqq


TRANSFORMS = {
    "grad": lambda f: fg.grad(f)(np.ones(3)),
    "jvp": lambda f: fg.jvp(f, (np.ones(3),), (np.ones(3),)),
    "vmap": lambda f: fg.vmap(f)(np.ones((2, 3))),
    "jit": lambda f: fg.jit(f)(np.ones(3)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_traced_values_show_the_names_of_arrays(name):
    def f(x):
        for value in (x, x[1:], x.sum(), fnp.zeros(3) + x, fnp.zeros(2)):
            shown = {n for n in dir(value) if not n.startswith("_")}
            assert shown <= {*dir(np.ndarray), "at"}
            assert {"shape", "dtype", "sum", "T", "reshape", "astype", "copy"} <= shown
        return x.sum()

    TRANSFORMS[name](f)
