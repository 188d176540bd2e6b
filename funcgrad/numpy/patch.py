"""`patch_numpy`: NumPy's own names answer with ours while a transform runs.

``np.array`` and its kin have no protocol by which a traced value could answer, so the code of other
packages, which calls them by NumPy's names, makes object arrays. On request these names are bound
to functions that look who calls: within a transform, and not in NumPy's code or ours, the function
of the namespace answers. The names are bound when the first transform of the process begins and
bound back when the last one ends, so that elsewhere NumPy is as it was, at no cost.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple, Self

from funcgrad.core.boundary import boundary
from funcgrad.core.tracer import patches, running
from funcgrad.errors import is_of_numpy

__all__ = ["patch_numpy"]

# What makes or converts arrays, and what takes lists, into which NumPy's protocols do not look.
_NAMES = {
    "numpy": (
        "array asarray asanyarray ascontiguousarray asfortranarray asarray_chkfinite copy zeros "
        "require ones empty full eye identity tri zeros_like ones_like empty_like full_like arange "
        "linspace logspace geomspace r_ c_ sum prod mean std var max min amax amin median cumsum "
        "cumprod dot inner outer cross vdot tensordot kron atleast_1d atleast_2d atleast_3d ravel "
        "reshape transpose concatenate stack vstack hstack dstack column_stack block append "
        "where diag average interp"
    ),
    "numpy.linalg": "norm det inv solve eigh eigvalsh cholesky svd qr pinv lstsq slogdet",
}


class _Name(NamedTuple):
    """A name in the dictionary of a module, what it leads to, and what it shall lead to."""

    space: dict[str, Any]
    name: str
    own: Any
    ours: Any


def _replaced(own: Any, ours: Any) -> Any:
    """What stands for the function `own` of NumPy while transforms run in some thread."""
    if not callable(own):
        return _Answering(own, ours)

    @functools.wraps(own)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not running.count or "like" in kwargs or is_of_numpy(sys._getframe(1)):
            return own(*args, **kwargs)
        return ours(*args, **kwargs)

    return call


class _Answering:
    """What stands for ``np.r_`` and ``np.c_``."""

    def __init__(self, own: Any, ours: Any) -> None:
        self.own, self.ours = own, ours

    def __getitem__(self, key: Any) -> Any:
        own = not running.count or is_of_numpy(sys._getframe(1))
        return self.own[key] if own else self.ours[key]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)

    def __len__(self) -> int:
        return len(self.own)


@functools.cache
def _replacements() -> list[tuple[ModuleType, str, Any, Any]]:
    found = []
    for theirs, names in _NAMES.items():
        module, space = (
            importlib.import_module(theirs),
            importlib.import_module(f"funcgrad.{theirs}"),
        )
        for name in names.split():
            own = getattr(module, name)
            found.append((module, name, own, _replaced(own, getattr(space, name))))
    return found


class _Patches:
    """Which names are bound to ours: `core.tracer` calls `begin` and `end` for each transform."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.wanted: list[patch_numpy] = []
        self.inside: set[int] = set()  # threads in which a transform runs
        self.planned: list[_Name] = []
        self.bound: list[_Name] = []

    def begin(self) -> None:
        """The outermost transform of this thread begins."""
        with self.lock:
            if self.wanted:
                self.inside.add(threading.get_ident())
                self.bind()

    def end(self) -> None:
        """It has ended."""
        with self.lock:
            self.inside.discard(threading.get_ident())
            if not self.inside:
                self.restore()

    def bind(self) -> None:
        if not self.bound:
            self.bound = self.planned  # first: what is interrupted here is bound back
            for space, name, _, ours in self.planned:
                space[name] = ours

    def restore(self) -> None:
        for space, name, own, ours in self.bound:
            if space.get(name) is ours:  # else somebody has bound it since
                space[name] = own
        self.bound = []

    def names(self) -> Iterator[_Name]:
        """Those of NumPy, and those that modules have taken from it."""
        known = {id(own): ours for _, _, own, ours in _replacements()}
        for module, name, own, ours in _replacements():
            if vars(module).get(name) is own:
                yield _Name(vars(module), name, own, ours)
        for module in {m: None for each in self.wanted for m in each.modules}:
            for name, thing in list(vars(module).items()):
                if id(thing) in known:
                    yield _Name(vars(module), name, thing, known[id(thing)])

    def change(self, change: Callable[[Any], None], what: patch_numpy) -> None:
        """Add or remove what is wanted, also in the midst of a transform."""
        with self.lock:
            self.restore()
            change(what)
            self.planned = list(self.names())
            patches.begin = self.begin if self.wanted else None
            patches.end = self.end if self.wanted else None
            if running.count:
                self.inside.add(threading.get_ident())
            if not self.wanted:
                self.inside.clear()
            elif self.inside:
                self.bind()


_patches = _Patches()


class patch_numpy:
    """Let ``np.array``, ``np.zeros`` and their kin answer with ours while a transform runs.

    Functions of other packages that are plain NumPy then differentiate as they are. It holds until
    `undo` is called, or to the end of a ``with`` block.

    Parameters
    ----------
    *modules : module or str
        Modules that have taken names out of NumPy (``from numpy import zeros``): there they are
        replaced as well.

    Methods
    -------
    undo()
        Take it back. Further calls do nothing.

    Notes
    -----
    While a transform runs, in any thread, NumPy's names are bound to functions that call NumPy's
    own in threads without a transform, and in the code of NumPy itself. Outside of transforms they
    are NumPy's own objects, so nothing is slower and pickles are as always. Patches nest.

    What asks for NumPy's type (``isinstance(x, np.ndarray)``) or calls code written in C still
    refuses traced values.

    Examples
    --------
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> def theirs(x):
    ...     y = np.zeros(2)
    ...     y[0] = x
    ...     return np.sin(np.array([y[0], 1.0])).sum()
    >>> with fg.patch_numpy():
    ...     fg.grad(theirs)(0.0)
    np.float64(1.0)
    """

    @boundary
    def __init__(self, *modules: ModuleType | str) -> None:
        self.modules = [importlib.import_module(m) if isinstance(m, str) else m for m in modules]
        _patches.change(_patches.wanted.append, self)

    def undo(self) -> None:
        """Take the patch back."""
        if self in _patches.wanted:
            _patches.change(_patches.wanted.remove, self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def __repr__(self) -> str:
        names = ", ".join(m.__name__ for m in self.modules)
        return f"<patch_numpy({names}){'' if self in _patches.wanted else ', undone'}>"
