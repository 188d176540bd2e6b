"""Write the page on coverage from what `funcgrad.supports` says of each public function.

python docs/write_coverage.py page.md
"""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import count_peers
import numpy as np

import funcgrad as fg
from funcgrad.numpy.ufuncs import LIBRARIES

HEAD = """# Coverage

What traced values may meet, by the records that compute it; in a program `funcgrad.supports(f)`
answers for one function. A result that is locally constant has the derivative 0. What has no
derivative is a named error on traced values, with the reason given here. "In reverse, forward"
stands for functions whose results depend on values, as the number of distinct elements does: under
`jit` and `vmap` these are not known.

The classes of `numpy.polynomial` with derivatives are those of `funcgrad.numpy.polynomial`.
"""

MODULES = ["numpy", "numpy.linalg", "numpy.fft", "numpy.emath", "numpy.lib.stride_tricks"]


def functions(module: Any) -> list[tuple[str, Any]]:
    """The public functions of a module, in the order of the alphabet."""
    names = getattr(module, "__all__", None) or dir(module)
    found = [(n, getattr(module, n)) for n in sorted(names) if not n.startswith("_")]
    return [(n, f) for n, f in found if callable(f) and not isinstance(f, type)]


def methods() -> list[tuple[str, Any]]:
    """The methods of arrays."""
    found = [(n, getattr(np.ndarray, n)) for n in dir(np.ndarray) if not n.startswith("_")]
    return [(n, f) for n, f in found if callable(f)]


def section(title: str, named: list[tuple[str, Any]]) -> str:
    """One module: a sentence that counts, and a list for each answer."""
    answers: dict[str, list[str]] = {}
    kinds: Counter[str] = Counter()
    for name, function in named:
        found = fg.supports(function)
        kinds[found.kind] += 1
        label = found.kind
        if found and len(found.transforms) < 4:
            label += f", in {', '.join(found.transforms)}"
        elif not found:
            label += f": {found.reason}"
        answers.setdefault(label, []).append(f"`{name}`")
    counts = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
    lines = [f"## {title}", "", f"{len(named)} functions: {counts}.", ""]
    for label in sorted(answers, key=lambda a: (a.startswith("no"), a)):
        lines += [f"**{label[0].upper()}{label[1:]}.** {', '.join(answers[label])}", ""]
    return "\n".join(lines)


def page() -> str:
    """The text of the page."""
    parts = [HEAD]
    for name in MODULES:
        module = np.emath if name == "numpy.emath" else importlib.import_module(name)
        parts.append(section(name, functions(module)))
    parts.append(section("Methods of arrays", methods()))
    for name in LIBRARIES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        parts.append(section(name, functions(module)))
    parts.append(count_peers.section())
    return "\n".join(parts)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page())
