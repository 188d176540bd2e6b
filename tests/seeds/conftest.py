"""Every statement is tested on both libraries."""

import importlib

import pytest


@pytest.fixture(params=["funcgrad.torch", pytest.param("torch", marks=pytest.mark.peers)])
def torch(request):
    if request.param == "torch":
        return pytest.importorskip("torch")
    return importlib.import_module("funcgrad.torch")
