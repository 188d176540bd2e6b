"""What the README and the manual show is what the programs print."""

import pathlib
import re

import check_examples
import pytest

import funcgrad as fg

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


def test_every_public_name_has_a_docstring_with_an_example():
    missing = []
    for name in fg.__all__:
        public = getattr(fg, name)
        if callable(public) and not isinstance(public, type(fg)):
            doc = public.__doc__ or ""
            if ">>> " not in doc:
                missing.append(name)
    assert missing == []
