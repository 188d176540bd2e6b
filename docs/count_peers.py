"""Count, by module, the names that can be differentiated here and in JAX, autograd and PyTorch.

python docs/count_peers.py

A name of NumPy's or SciPy's counts for a library where the library has a function (or class, or
distribution) of that name, of those that have a derivative at all; in autograd it needs a rule or
be a program of functions that have one. What a library has under another name does not count, but
for PyTorch's distributions.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

import funcgrad as fg
from funcgrad.numpy.ufuncs import LIBRARIES

PEERS = ("jax", "autograd", "torch")
TITLES = {"funcgrad": "funcgrad", "jax": "JAX", "autograd": "autograd", "torch": "PyTorch"}
MODULES = ["numpy", "numpy.linalg", "numpy.fft", "numpy.polynomial", *LIBRARIES]
SERIES = [name for name in LIBRARIES if name.startswith("numpy.polynomial.")]
OF_TORCH = {
    "numpy": "torch",
    "numpy.linalg": "torch.linalg",
    "numpy.fft": "torch.fft",
    "scipy.linalg": "torch.linalg",
    "scipy.special": "torch.special",
    "scipy.fft": "torch.fft",
    "scipy.sparse": "torch.sparse",
    "scipy.signal": "torch.signal",
}
DISTRIBUTIONS = (
    "norm uniform expon gamma beta t chi2 f cauchy laplace lognorm pareto poisson binom bernoulli "
    "geom nbinom gumbel_r halfnorm halfcauchy invgamma vonmises weibull_min multivariate_normal "
    "dirichlet multinomial wishart"
)
"""SciPy's names of what `torch.distributions` has."""


def _find(name: str) -> Any:
    """A module; None where there is none."""
    try:
        return importlib.import_module(name) if name else None
    except ImportError:
        return None


def names(module: str) -> list[str]:
    """The names of a module that can be differentiated here."""
    if module == "numpy.polynomial":
        return [n for part in SERIES for n in names(part)]
    theirs, ours = importlib.import_module(module), _find(LIBRARIES.get(module, ""))
    listed = getattr(theirs, "__all__", None) or dir(theirs)
    return [n for n in sorted(listed) if _has_derivative(getattr(theirs, n, None), n, ours)]


def _has_derivative(thing: Any, name: str, ours: Any) -> bool:
    if name.startswith("_") or not callable(thing) or isinstance(thing, type(np)):
        return False
    if isinstance(thing, type) or hasattr(thing, "logpdf") or hasattr(thing, "logpmf"):
        return name in getattr(ours, "__all__", ())  # a class, or a distribution
    return fg.supports(thing).kind == "differentiable"


def of_peer(peer: str, module: str, name: str) -> bool:
    """Whether `peer` has what a module of NumPy's or SciPy's calls `name`."""
    if peer == "torch":
        if module == "scipy.stats":
            return name in DISTRIBUTIONS.split()
        held = _find(OF_TORCH.get(module, ""))
        return callable(getattr(held, name, None))
    prefix = f"{peer}.{module}"
    found = getattr(_find(prefix), name, None) or _find(f"{prefix}.{name}")
    if peer == "jax" or found is None or not callable(found):
        return found is not None
    rules = importlib.import_module("autograd.core").primitive_vjps
    return found in rules if hasattr(found, "fun") else not isinstance(found, type)


def counts() -> dict[str, dict[str, int]]:
    """Module -> library -> number of names."""
    table = {}
    for module in MODULES:
        if module in SERIES or _find(module) is None:
            continue
        known = names(module)
        row = {"funcgrad": len(known)}
        for peer in PEERS:
            if _find(peer) is not None:
                row[peer] = sum(of_peer(peer, module, name) for name in known)
        table[module] = row
    return table


def section() -> str:
    """The section of the page on coverage."""
    table = counts()
    heads = list(next(iter(table.values())))
    told = (__doc__ or "").split("\n\n")[2].strip()
    lines = ["## Beside other libraries", "", told, ""]
    lines += [f"| module | {' | '.join(TITLES[h] for h in heads)} |", f"|---|{'---|' * len(heads)}"]
    lines += [f"| `{m}` | {' | '.join(str(row[h]) for h in heads)} |" for m, row in table.items()]
    sums = [sum(row[h] for row in table.values()) for h in heads]
    lines += [f"| all | {' | '.join(map(str, sums))} |", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    print(section())
