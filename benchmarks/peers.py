"""The libraries that are compared, each behind one small interface: a namespace and a gradient.

A library that is not installed is left out; one may be installed for another interpreter
(`elsewhere.py`). Everybody computes in double precision and in eager
mode, takes a NumPy array or a Python number, and returns the value and the gradient as NumPy's.
"""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.elsewhere import interpreter

Function = Callable[[Any], Any]
Gradient = Callable[[Any], tuple[Any, Any]]


@dataclass(frozen=True)
class Peer:
    """A library: its namespace with NumPy's names, and its `value_and_grad`."""

    name: str
    version: str
    numpy: Any
    value_and_grad: Callable[[Function], Gradient] | None  # None: compiled workloads only


def funcgrad() -> Peer:
    import funcgrad as fg
    import funcgrad.numpy as fnp

    return Peer("funcgrad", fg.__version__, fnp, fg.value_and_grad)


def funcgrad_np() -> Peer:
    """The same, but the function is written with plain `np.*` calls."""
    import funcgrad as fg

    return Peer("funcgrad-np", fg.__version__, np, fg.value_and_grad)


def torch() -> Peer:
    import torch

    def value_and_grad(function: Function) -> Gradient:
        def run(x: Any) -> tuple[Any, Any]:
            leaf = torch.tensor(x, dtype=torch.float64, requires_grad=True)
            value = function(leaf)
            (gradient,) = torch.autograd.grad(value, leaf)
            return value.item(), gradient.numpy()

        return run

    return Peer("torch", torch.__version__, torch, value_and_grad)


def autograd() -> Peer:
    import autograd
    import autograd.numpy

    version = importlib.metadata.version("autograd")
    return Peer("autograd", version, autograd.numpy, autograd.value_and_grad)


def jax() -> Peer:
    import jax
    import jax.numpy

    jax.config.update("jax_enable_x64", True)

    def value_and_grad(function: Function) -> Gradient:
        gradient = jax.value_and_grad(function)
        return lambda x: jax.block_until_ready(gradient(x))

    return Peer("jax", jax.__version__, jax.numpy, value_and_grad)


def mygrad() -> Peer:
    import mygrad

    def value_and_grad(function: Function) -> Gradient:
        def run(x: Any) -> tuple[Any, Any]:
            leaf = mygrad.tensor(x)
            value = function(leaf)
            value.backward()
            return value.item(), leaf.grad

        return run

    return Peer("mygrad", importlib.metadata.version("mygrad"), mygrad, value_and_grad)


def torch_compile() -> Peer:
    import torch

    if not (shutil.which("g++") or shutil.which("clang++")):
        raise ImportError("torch.compile needs a C++ compiler")
    return Peer("torch-compile", torch.__version__, None, None)


def pytensor() -> Peer:
    """In an environment of its own, or in this one."""
    show = "import pytensor; print(pytensor.__version__)"
    command = [interpreter("pytensor") or sys.executable, "-c", show]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise ImportError(run.stderr)
    return Peer("pytensor", run.stdout.strip(), None, None)


LOADERS: dict[str, Callable[[], Peer]] = {
    "funcgrad": funcgrad,
    "funcgrad-np": funcgrad_np,
    "torch": torch,
    "autograd": autograd,
    "jax": jax,
    "mygrad": mygrad,
    "torch-compile": torch_compile,
    "pytensor": pytensor,
}


def load(names: Iterable[str]) -> tuple[list[Peer], list[str]]:
    """The peers that are installed, and the names of those that are not."""
    installed, missing = [], []
    for name in names:
        try:
            installed.append(LOADERS[name]())
        except ImportError:
            missing.append(name)
    return installed, missing
