"""Each function of the namespaces that come with the transforms has a place in the page's table."""

import pathlib
import re

import pytest
import write_compositions
from programs_of_names import PROGRAMS, TAKES_NO_ARRAYS
from write_compositions import MODULES, TRANSFORMS, names, outcomes

import funcgrad as fg

PAGE = pathlib.Path(__file__).parent.parent / "docs" / "transforms.md"


@pytest.mark.parametrize("module", MODULES)
def test_every_function_has_a_place(module):
    """Its program gives the same under each transform, or an error that the manual tells of."""
    found = outcomes(module)
    assert list(found) == list(names(module))
    refused = [n for n, said in found.items() if any("`" in each for each in said)]
    table = PAGE.read_text().split("What is particular:")[1]
    rows = re.findall(r"^\| `.*named error.*$", table, re.MULTILINE)
    assert set(refused) <= set(re.findall(r"\w+", " ".join(rows)))
    section = write_compositions.section(module)
    assert all(f"`{n}`" in section for n in found)


def test_a_function_without_a_place_is_told(monkeypatch):
    monkeypatch.setattr(fg.lax, "__all__", ["forgotten"])
    monkeypatch.setattr(fg.lax, "forgotten", lambda x: x, raising=False)
    with pytest.raises(LookupError, match=r"no program of lax\.forgotten"):
        outcomes("lax")


def test_what_only_looks_right_is_told(monkeypatch):
    """The table says yes of what agrees, and of nothing else."""
    monkeypatch.setattr(fg.image, "__all__", ["resize"])
    wrong = (lambda f, x: fg.vmap(f)(x + [[1.0], [0.0]]), TRANSFORMS["`vmap`"][1])
    monkeypatch.setitem(TRANSFORMS, "`vmap`", wrong)
    with pytest.raises(AssertionError, match=r"image\.resize"):
        outcomes("image")


@pytest.mark.parametrize("module", MODULES)
def test_no_program_is_left_over(module):
    known = {*PROGRAMS.get(module, ()), *TAKES_NO_ARRAYS.get(module, "").split()}
    assert known <= set(names(module))
