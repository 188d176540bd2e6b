"""A misspelt name of each public module is told which one was meant, in one way."""

import importlib
import os
import pathlib
import subprocess
import sys
import types

import pytest

import funcgrad as fg

ONE_WORD_EACH = {
    "funcgrad": ["gradd", "vmapp", "randm"],
    "funcgrad.compat": ["autogradd"],
    "funcgrad.compat.autograd": ["elementwise_gra"],
    "funcgrad.compat.autograd.numpy": ["sinn"],
    "funcgrad.debug": ["prnt"],
    "funcgrad.errors": ["TreError"],
    "funcgrad.extend": ["elementwis"],
    "funcgrad.flatten_util": ["ravel_pytre"],
    "funcgrad.image": ["resiz"],
    "funcgrad.lax": ["dynamic_slise", "psumm"],
    "funcgrad.lax.linalg": ["cholesk"],
    "funcgrad.nn": ["reluu", "soft_max"],
    "funcgrad.nn.initializers": ["glorot_unifrom"],
    "funcgrad.numpy": ["sinn"],
    "funcgrad.numpy.fft": ["ffft"],
    "funcgrad.numpy.linalg": ["invv"],
    "funcgrad.numpy.polynomial": ["polynomia"],
    "funcgrad.optim": ["adamm"],
    "funcgrad.random": ["normel"],
    "funcgrad.scipy": ["specal"],
    "funcgrad.scipy.cluster": ["vqq"],
    "funcgrad.scipy.cluster.vq": ["vqs"],
    "funcgrad.scipy.differentiate": ["jacobiann"],
    "funcgrad.scipy.fft": ["dctt"],
    "funcgrad.scipy.integrate": ["trapezoidd"],
    "funcgrad.scipy.interpolate": ["CubicSplin"],
    "funcgrad.scipy.linalg": ["exppm"],
    "funcgrad.scipy.ndimage": ["gaussian_filte"],
    "funcgrad.scipy.optimize": ["minimise"],
    "funcgrad.scipy.signal": ["convolv"],
    "funcgrad.scipy.signal.windows": ["hanning"],
    "funcgrad.scipy.sparse": ["csr_matrx"],
    "funcgrad.scipy.sparse.linalg": ["gmre"],
    "funcgrad.scipy.spatial": ["distanc"],
    "funcgrad.scipy.spatial.distance": ["cdst"],
    "funcgrad.scipy.special": ["gamaln"],
    "funcgrad.scipy.stats": ["nrm"],
    "funcgrad.testing": ["check_grad", "strategie"],
    "funcgrad.testing.strategies": ["arrys"],
    "funcgrad.torch": ["sinn"],
    "funcgrad.torch.nn": ["Linea"],
    "funcgrad.torch.nn.functional": ["reluu"],
    "funcgrad.torch.optim": ["Adamm"],
    "funcgrad.tree": ["mapp"],
    "funcgrad.tree_util": ["tree_mapp"],
}


@pytest.fixture(autouse=True)
def shown(monkeypatch):
    monkeypatch.setattr(fg.config, "traceback", "program")


@pytest.mark.parametrize("module", ONE_WORD_EACH)
def test_the_name_that_was_meant(module):
    space = importlib.import_module(module)
    for name in ONE_WORD_EACH[module]:
        text = rf"has no attribute '{name}'.*; did you mean '"
        with pytest.raises(AttributeError, match=text) as e:
            getattr(space, name)
        assert not hasattr(space, name)
        assert [entry.path for entry in e.traceback] == [pathlib.Path(__file__)]


def test_a_misspelt_name_is_told_once():
    """Python does not guess what was meant a second time."""
    for text in ("fg.gradd", "fg.errors.TreError", "fg.torch.tensr", "fg.numpy.sinn"):
        run = subprocess.run(
            [sys.executable, "-c", f"import funcgrad as fg\n{text}"],
            capture_output=True, text=True, env={**os.environ, "FUNCGRAD_TRACEBACK": "program"},
        )  # fmt: skip
        assert run.stderr.lower().count("did you mean") == 1
        assert run.stderr.count("  File") == 1
        assert "not shown" not in run.stderr


def test_no_public_module_is_forgotten():
    """Those that `dir` shows, and theirs."""
    public = {"funcgrad"}
    for name in dir(fg):
        held = getattr(fg, name)
        if isinstance(held, types.ModuleType):
            public.add(held.__name__)
            within = (vars(held).get(n) for n in getattr(held, "__all__", ()))
            public |= {m.__name__ for m in within if isinstance(m, types.ModuleType)}
    ours = {name for name in public if not name.startswith("funcgrad.torch")}
    assert ours <= set(ONE_WORD_EACH)


def test_names_that_only_scipy_has_are_told_why():
    for path, told in {
        "integrate.cubature": "it calls a function of yours",
        "signal.czt": "funcgrad has no derivative of SciPy's",
    }.items():
        module, name = path.split(".")
        with pytest.raises(AttributeError, match=f"has no attribute '{name}': {told}"):
            getattr(importlib.import_module(f"funcgrad.scipy.{module}"), name)


def test_private_names_have_no_hint():
    with pytest.raises(AttributeError, match=r"'funcgrad.lax' has no attribute '__path_of__'$"):
        _ = fg.lax.__path_of__
