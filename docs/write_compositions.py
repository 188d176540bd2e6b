"""Write the page that shows what becomes of each function under each transform.

python docs/write_compositions.py page.md
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from programs_of_names import TAKES_NO_ARRAYS, function, program

import funcgrad as fg

HEAD = """# Names under transforms

Each function of `lax`, `nn`, `random`, `optim`, `image` and `tree` in a program of its own, which
was put under the transforms when this page was made. "Yes" is a result that is also that of the
other mode, of a loop over the examples, or of the program without the transform; 0 is a derivative
that vanishes, as of what is locally constant; "refused" leads to the error that is raised. A draw
without parameters is multiplied with the argument, as initial values are; of an optimiser it is the
update by a gradient.
The functions of `funcgrad` itself stand on the page {doc}`/transforms`, those of NumPy and SciPy on
the page {doc}`coverage`.
"""
Way = Callable[[Callable[..., Any], Any], Any]
MODULES = ("lax", "lax.linalg", "nn", "nn.initializers", "random", "optim", "image", "tree")


def names(module: str) -> Iterator[str]:
    """The public functions of a module."""
    space = importlib.import_module(f"funcgrad.{module}")
    for name in space.__all__:
        public = getattr(space, name)
        if callable(public) and not isinstance(public, type) and not _is_alias(public):
            yield name


def _is_alias(public: Any) -> bool:
    return hasattr(public, "__origin__")  # a type for checkers


def _real(f: Callable[..., Any]) -> Callable[..., Any]:
    """A scalar of all that `f` returns and that has a derivative."""

    def total(x: Any) -> Any:
        found = 0.0 * x.sum()
        for leaf in map(fg.numpy.asarray, fg.tree.leaves(f(x))):
            if leaf.dtype.kind in "fc":
                weights = np.cos(np.arange(leaf.size)).reshape(leaf.shape)
                found = found + fg.numpy.real(leaf * weights).sum()
        return found

    return total


def _twice(x: Any) -> Any:
    return np.stack([x, 0.9 * x + 0.01])


def _examples(f: Callable[..., Any], x: Any) -> Any:
    """What `f` gives for two points, as `vmap` hands it out."""
    return fg.tree.map(lambda *each: np.stack(each), *(f(one) for one in _twice(x)))


def _gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    return fg.grad(_real(f))


def _moved(f: Callable[..., Any], x: Any) -> Any:
    return fg.jvp(_real(f), (x,), (np.cos(x),))[1]


# Each transform, and what its result has to agree with
TRANSFORMS: dict[str, tuple[Way, Way | None]] = {
    "`grad`": (lambda f, x: (_gradient(f)(x) * np.cos(x)).sum(), _moved),
    "`jvp`": (_moved, None),
    "`jet`": (lambda f, x: fg.jet(_real(f), (x,), ([np.cos(x), x],))[1][0], _moved),
    "`vmap`": (lambda f, x: fg.vmap(f)(_twice(x)), _examples),
    "`jit`": (lambda f, x: fg.jit(f)(x), lambda f, x: f(x)),
    "`grad` of `grad`": (
        lambda f, x: fg.grad(lambda v: (_gradient(f)(v) * np.cos(v)).sum())(x),
        lambda f, x: fg.jacfwd(lambda v: (_gradient(f)(v) * np.cos(v)).sum())(x),
    ),
    "`vmap` of `grad`": (
        lambda f, x: fg.vmap(_gradient(f))(_twice(x)),
        lambda f, x: _examples(_gradient(f), x),
    ),
    "`jit` of `vmap` of `grad`": (
        lambda f, x: fg.jit(fg.vmap(_gradient(f)))(_twice(x)),
        lambda f, x: _examples(_gradient(f), x),
    ),
}
_OF_FIRST_ORDER = ("`grad`", "`jvp`")


def outcome(transform: str, f: Callable[..., Any], x: Any) -> str:
    """What a table says of one function under one transform.

    Raises
    ------
    AssertionError
        The result is not the one that another transform gives.
    """
    made, same = TRANSFORMS[transform]
    try:
        found = made(f, x)
        wanted = found if same is None else same(f, x)
    except fg.errors.FuncgradError as error:
        return f"`{type(error).__name__}`"
    leaves = [np.asarray(leaf) for leaf in fg.tree.leaves(found)]
    for a, b in zip(leaves, fg.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7, err_msg=transform)
    zero = transform in _OF_FIRST_ORDER and not any(leaf.any() for leaf in leaves)
    return "0" if zero else "yes"


def outcomes(module: str) -> dict[str, tuple[str, ...]]:
    """What becomes of each function of a module; empty of what takes no arrays.

    Raises
    ------
    LookupError
        Where a function has no program.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name in names(module):
        if name in TAKES_NO_ARRAYS.get(module, "").split():
            found[name] = ()
            continue
        written = program(module, name)
        if written is None:
            raise LookupError(f"docs/programs_of_names.py has no program of {module}.{name}")
        f, x = function(written[0]), written[1]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                found[name] = tuple(outcome(t, f, x) for t in TRANSFORMS)
            except AssertionError as error:
                raise AssertionError(f"{module}.{name}: {error}") from error
    return found


def section(module: str) -> str:
    """The table of a module: functions of which the same is true share a line."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, said in outcomes(module).items():
        alike.setdefault(said, []).append(f"`{name}`")
    head = ["", *TRANSFORMS]
    lines = [f"## {module}", "", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for said, listed in sorted(alike.items(), key=lambda a: -len(a[1])):
        if said:
            lines.append(f"| {', '.join(listed)} | {' | '.join(map(_cell, said))} |")
    if () in alike:
        lines += ["", f"Of shapes and types alone: {', '.join(alike[()])}."]
    return "\n".join([*lines, ""])


def _cell(said: str) -> str:
    """An error leads to its section: its name is wider than a column."""
    return f"[refused](/errors.md#{said.strip('`').lower()})" if said.startswith("`") else said


def page() -> str:
    """The text of the page."""
    return "\n".join([HEAD, *map(section, MODULES)])


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    Path(sys.argv[1]).write_text(page())
