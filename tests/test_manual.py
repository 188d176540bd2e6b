"""What the README and the manual show is what the programs print."""

import doctest
import importlib
import pathlib
import re
import typing

import check_examples
import pytest

import funcgrad.numpy as fnp
from funcgrad.numpy.ufuncs import Ufunc

ROOT = pathlib.Path(__file__).parent.parent
MANUAL = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted([*MANUAL.glob("*.md"), *MANUAL.glob("how_to/*.md")])]

# ordinary programs hold nothing that a compiled function cannot follow
pytestmark = pytest.mark.filterwarnings("error::funcgrad.CaptureWarning")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_examples_print_what_is_shown(page):
    assert check_examples.failures(page) == []


def test_the_readme_has_an_example_with_output_and_two_commands():
    text = (ROOT / "README.md").read_text()
    blocks = check_examples.examples(text)
    assert any(b.output and 10 <= len(b.source.splitlines()) <= 20 for b in blocks)
    commands = re.findall(r"^```sh\n(.*)\n```$", text, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:  # each stands alone on a fresh machine
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install -q '.[")


NAMESPACES = (
    "", "lax", "lax.linalg", "tree", "tree_util", "flatten_util", "nn", "nn.initializers",
    "random", "optim", "debug", "testing",
)  # fmt: skip


def documented(namespace):
    """The public functions and classes of a namespace: no modules, and no aliases for checkers."""
    module = importlib.import_module(f"funcgrad.{namespace}".rstrip("."))
    for name in module.__all__:
        public = getattr(module, name)
        if callable(public) and typing.get_origin(public) is None:
            yield name, public


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_every_public_name_has_a_docstring_with_an_example(namespace):
    missing = [n for n, public in documented(namespace) if ">>> " not in (public.__doc__ or "")]
    assert missing == []


def test_every_public_function_stands_in_a_table_of_the_page_on_transforms():
    rows = [r for r in (MANUAL / "transforms.md").read_text().split("\n") if r.startswith("|")]
    named = set(re.findall(r"`(\w+)`", "\n".join(rows)))
    classes = {n for n, public in documented("") if isinstance(public, type)}
    assert {n for n, _ in documented("")} - classes - named == set()


def test_examples_of_ufuncs_run():
    """What a doctest of the modules does not find: docstrings of objects, made by a rule."""
    finder, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    for name, public in {**dict(documented("lax")), **vars(fnp)}.items():
        if isinstance(public, Ufunc):
            runner.run(finder.get_doctest(public.__doc__, {}, name, None, None))
    assert runner.failures == 0
    assert runner.tries > 150
