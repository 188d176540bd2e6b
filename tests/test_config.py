"""Settings and environment variables: a wrong name or value is told at once."""

import os
import pathlib
import subprocess
import sys

import pytest

import funcgrad as fg
from funcgrad.config import Config

WRONG = [
    ("backend", "lvm", r'config\.backend is "llvm" or "interpreter", not \'lvm\''),
    ("backend", None, r"config\.backend is"),
    ("kernels", "allways", r'config\.kernels is True or False or "always", not \'allways\''),
    ("tiers", "third", r'config\.tiers is "both" or "first" or "second", not \'third\''),
    ("kernels", 1, r"config\.kernels is"),
    ("threads", 0, r"config\.threads is a positive integer, not 0"),
    ("threads", True, r"config\.threads is"),
    ("threads", 2.0, r"config\.threads is"),
    ("debug", "off", r"config\.debug is True or False, not 'off'"),
    ("cache", 0, r"config\.cache is"),
    ("cache_size", -1, r"config\.cache_size is a whole number, not -1"),
    ("copy_limit", 1.5, r"config\.copy_limit is"),
    ("cache_directory", 3, r"config\.cache_directory is a text or a path or None, not 3"),
]


@pytest.mark.parametrize(("name", "given", "text"), WRONG)
def test_a_wrong_value(name, given, text):
    before = getattr(fg.config, name)
    with pytest.raises(ValueError, match=text):
        setattr(fg.config, name, given)
    assert getattr(fg.config, name) == before


def test_a_wrong_name():
    with pytest.raises(AttributeError, match="no setting 'bakend'; did you mean 'backend'"):
        fg.config.bakend = "llvm"
    with pytest.raises(AttributeError, match="no setting 'colour'"):
        fg.config.colour = 1


@pytest.mark.parametrize(("name", "given"), [("backend", "lvm"), ("bakend", "llvm")])
def test_the_traceback_of_a_wrong_setting_has_the_line_that_sets_it_alone(name, given, monkeypatch):
    monkeypatch.setattr(fg.config, "traceback", "program")
    with pytest.raises((AttributeError, ValueError)) as info:
        setattr(fg.config, name, given)
    assert [entry.path for entry in info.traceback] == [pathlib.Path(__file__)]
    monkeypatch.setattr(fg.config, "traceback", "full")
    with pytest.raises((AttributeError, ValueError)) as info:
        setattr(fg.config, name, given)
    assert len(info.traceback) > 1


def test_every_setting_takes_its_own_value(tmp_path):
    made = Config(cache_directory=tmp_path)
    for name in vars(made):
        setattr(made, name, getattr(made, name))
    made.backend, made.kernels = "interpreter", "always"


CODE = "import funcgrad as fg; print(fg.config.backend, fg.config.kernels, fg.config.cache)"


def run(**variables):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("FUNCGRAD_")}
    return subprocess.run(
        [sys.executable, "-c", CODE], env=kept | variables, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("BACKEND", "lvm", "FUNCGRAD_BACKEND=lvm is none of llvm, interpreter"),
        ("THREADS", "many", "FUNCGRAD_THREADS=many is no positive integer"),
        ("KERNELS", "allways", "FUNCGRAD_KERNELS=allways is none of on, 1"),
        ("TIERS", "third", "FUNCGRAD_TIERS=third is none of both, first, second"),
        ("CACHE", "maybe", "FUNCGRAD_CACHE=maybe is none of on, 1"),
    ],
)
def test_a_wrong_value_of_a_variable(name, given, text):
    found = run(**{f"FUNCGRAD_{name}": given})
    assert found.returncode
    assert f"ValueError: the environment variable {text}" in found.stderr
    lines = [line for line in found.stderr.splitlines() if line.startswith("  File")]
    assert lines == ['  File "<string>", line 1, in <module>']  # that of the import


def test_a_variable_that_is_no_setting():
    found = run(FUNCGRAD_BAKEND="interpreter")
    assert found.stdout == "llvm True True\n"
    assert "<string>:1: RuntimeWarning" in found.stderr
    assert "FUNCGRAD_BAKEND is no setting of funcgrad; did you mean" in found.stderr


def test_variables_that_are_settings():
    found = run(FUNCGRAD_BACKEND="Interpreter", FUNCGRAD_KERNELS="always", FUNCGRAD_CACHE="no")
    assert (found.stdout, found.stderr) == ("interpreter always False\n", "")
