"""Fixtures of the tests of entry points."""

import pytest
from entry_programs import Kernels

from funcgrad.compile.llvm.entry import Entry, native, python
from funcgrad.config import config


@pytest.fixture(scope="module")
def kernels():
    return Kernels()


@pytest.fixture(params=["native", "python"])
def entry(request, monkeypatch):
    """Makes an entry of programs."""
    if request.param == "python":
        monkeypatch.setattr(native, "native", lambda: None)
    elif native.native() is None:
        pytest.skip("no native entry points here")

    def make(*programs):
        made = Entry()
        for program in programs:
            made.add(program)
        assert isinstance(made._chain, native.Chain if request.param == "native" else python.Chain)
        return made

    return make


@pytest.fixture(autouse=True)
def restore(monkeypatch):
    """Each test leaves the number of threads as it was, and compiles to good code."""
    monkeypatch.setattr(config, "threads", config.threads)
    monkeypatch.setattr(config, "tiers", "second")
    monkeypatch.setenv("FUNCGRAD_TIERS", "second")
