"""Configuration of the manual: ``python -m sphinx -W -b html docs docs/_build/html``."""

import contextlib
import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parent.parent / "tests"))  # programs of names

from draw_performance import main as draw_performance
from write_compositions import page as page_of_compositions
from write_coverage import page
from write_torch_names import page as page_of_names

import funcgrad
import funcgrad.torch
from funcgrad.numpy.ufuncs import Ufunc

project = "funcgrad"
author = "The funcgrad developers"
copyright = author
release = funcgrad.__version__
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3


def summaries(space: Any) -> list[tuple[str, str]]:
    """The public functions of a module or a class, each with the first line of its docstring."""
    return [
        (name, (made.__doc__ or "").strip().partition("\n")[0])
        for name, made in sorted(vars(space).items())
        if not name.startswith("_") and callable(made) and not isinstance(made, type)
    ]


autosummary_generate = True
autosummary_context = {
    "operations": summaries(funcgrad.torch),
    "methods": [name for name, _ in summaries(funcgrad.torch.Tensor)],
    "ufuncs": [
        (name, made.__doc__.partition("operands. ")[2] or "Locally constant.")
        for name, made in sorted(vars(funcgrad.numpy).items())
        if isinstance(made, Ufunc)
    ],
}
autosummary_ignore_module_all = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = (
    True  # else an attribute that a docstring lists and autodoc finds is there twice
)
suppress_warnings = [
    "ref.python"
]  # words for types in docstrings, as "shape", that are attributes too

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_title = f"funcgrad {release}"
html_theme_options = {"navigation_with_keys": True}


def borrowed_from(name: str, text: str | None) -> str | None:
    """Whose docstring it is, NumPy's or SciPy's; None if it is our own."""
    module, _, short = name.removeprefix("funcgrad.").rpartition(".")
    for space in (module, "numpy"):  # `funcgrad.lax` hands on some functions of NumPy's
        owner = {"numpy": "NumPy", "scipy": "SciPy"}.get(space.partition(".")[0])
        with contextlib.suppress(ImportError):
            theirs = vars(importlib.import_module(space)).get(short) if owner and text else None
            if theirs is not None and text == inspect.getdoc(theirs):
                return owner
    return None


def shorten_borrowed(
    app: Any, what: str, name: str, obj: object, options: Any, lines: list[str]
) -> None:
    """Of a docstring that is NumPy's or SciPy's keep the summary: its references lead nowhere."""
    owner = borrowed_from(name, inspect.getdoc(obj))
    if owner:
        short = name.rpartition(".")[2]
        paragraphs = "\n".join(lines).strip().split("\n\n")
        summary = next((p for p in paragraphs if not p.startswith(short)), "")
        end = f"Parameters and result are those of {owner}."
        lines[:] = [*summary.splitlines(), "", end, ""]


def generate(app: Any) -> None:
    """The pages on coverage, from the records of this version, and the pictures of performance."""
    source = Path(app.srcdir)
    generated = source / "generated"
    generated.mkdir(exist_ok=True)
    (generated / "coverage.md").write_text(page())
    (generated / "compositions.md").write_text(page_of_compositions())
    (generated / "torch_names.md").write_text(page_of_names())
    draw_performance(source / "performance.md", generated)


def setup(app: Any) -> None:
    app.connect("builder-inited", generate)
    app.connect("autodoc-process-docstring", shorten_borrowed, priority=100)
