"""Plain errors name their section of the manual too: in the text, or in a note below NumPy's."""

import pathlib
import re
import traceback

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import errors

X = np.arange(3.0)
PAGE = (pathlib.Path(__file__).parent.parent / errors.PAGE).read_text()
SECTIONS = [h.lower().replace(" ", "-") for h in re.findall(r"^## (.*)$", PAGE, re.MULTILINE)]

IN_A_TRANSFORM = {
    "a shape": lambda x: np.reshape(x, 4),
    "a join": lambda x: np.stack([x, x[:2]]),
    "a product": lambda x: x @ np.ones(4),
    "a sum": lambda x: x + np.ones(4),
    "an index": lambda x: x[5],
    "an axis": lambda x: np.sum(x, axis=3),
    "a word": lambda x: np.pad(x, 1, mode="outward"),
    "einsum": lambda x: np.einsum("ij->i", x),
    "a draw": lambda x: x * fg.random.normal(fg.random.key(0), (3,), int),
    "lax": lambda x: fg.lax.top_k(x, 5)[0],
    "a branch": lambda x: fg.cond(x > 0, np.sin, np.cos, x),
    "a loop": lambda x: fg.scan(lambda c, v: (c, v), x, None),
}
TRANSFORMS = {"grad": fg.grad, "jit": fg.jit, "vmap": lambda f: lambda x: fg.vmap(f)(x[None])}
CALLS = {
    "argnums": lambda: fg.grad(np.sum, argnums=7)(X),
    "no function": lambda: fg.jit(3),
    "too many arguments": lambda: fg.grad(lambda x: x)(1.0, 2.0),
    "no pair": lambda: fg.grad(lambda x: x, has_aux=True)(1.0),
    "no tuples": lambda: fg.jvp(np.sin, 1.0, 1.0),
    "a draw": lambda: fg.random.normal(fg.random.key(0), (3,), int),
    "a layer": lambda: fg.nn.glu(X),
    "a tree": lambda: fg.tree.reduce_associative(np.add, {}),
}


def section(error):
    """The one section that an error names."""
    text = "\n".join(["", str(error), *getattr(error, "__notes__", ())])
    (found,) = re.findall(r"\n  see docs/errors\.md#(\S+)", text)
    return found


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", IN_A_TRANSFORM)
def test_what_a_function_cannot_take(name, transform):
    f = IN_A_TRANSFORM[name]
    with pytest.raises(Exception) as info:
        TRANSFORMS[transform](lambda x: np.sum(f(x)))(X)
    assert section(info.value) in SECTIONS
    assert section(info.value) == "wrong-arguments" or isinstance(info.value, errors.FuncgradError)


@pytest.mark.parametrize("name", CALLS)
def test_what_a_transform_cannot_take(name):
    with pytest.raises((TypeError, ValueError)) as info:
        CALLS[name]()
    assert section(info.value) == "wrong-arguments"


def test_errors_of_the_program_are_left_alone():
    def refuses(x):
        raise ValueError("mine")

    for transform in TRANSFORMS.values():
        with pytest.raises(ValueError, match="mine") as info:
            transform(refuses)(X)
        assert str(info.value) == "mine"
        assert not getattr(info.value, "__notes__", ())


def test_an_error_that_is_said_again_is_not_shown_twice(monkeypatch):
    monkeypatch.setattr(fg.config, "traceback", "program")
    with pytest.raises(ValueError, match="reshape") as info:
        fg.grad(lambda x: np.sum(np.reshape(x, 4)))(X)
    assert "".join(traceback.format_exception(info.value)).count("cannot reshape array") == 1


def test_outside_of_transforms_errors_are_numpys(monkeypatch):
    monkeypatch.setattr(fg.config, "traceback", "program")
    with pytest.raises(ValueError) as wanted:
        np.reshape(X, 4)
    with pytest.raises(ValueError, match="cannot reshape") as info:
        fnp.reshape(X, 4)
    assert str(info.value) == str(wanted.value)
    assert not any(
        "funcgrad/" in e.filename for e in traceback.extract_tb(info.value.__traceback__)
    )


def test_warnings_name_a_section_too():
    import time

    with pytest.warns(RuntimeWarning) as caught:
        fg.jit(lambda x: x * time.time())(1.0)
        fg.jit(lambda x: x * np.random.rand())(1.0)
    page = "docs/sharp_bits.md#side-effects-and-random-numbers"
    assert [str(w.message).endswith(f"  see {page}") for w in caught] == [True, True]
    heading = "\n## Side effects and random numbers\n"
    assert heading in (pathlib.Path(__file__).parent.parent / "docs/sharp_bits.md").read_text()
